//! The steps from one version of the database to the next: data alone, applied by `migration`.

/// The steps, in order. A released step is never edited: a change comes as a further one.
pub(crate) const STEPS: &[&str] = &[include_str!("schema1.sql")];
