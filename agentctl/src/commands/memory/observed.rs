//! Options of observations alone: the same when one is made and when one is revised.

use crate::failure::Failure;
use ipc_proto::memory::{FilePath, LISTED, Observation};
use ipc_proto::{List, Text};

/// The fields that only an observation has. A field that is not given stays as it is.
#[derive(clap::Args)]
pub(super) struct Observed {
    /// The title of an observation; by default the beginning of its text
    #[arg(long, value_parser = crate::arguments::text::<200>)]
    title: Option<Text<200>>,
    /// The subtitle of an observation
    #[arg(long, value_parser = crate::arguments::text::<400>)]
    subtitle: Option<Text<400>>,
    /// A fact of an observation; may be given again
    #[arg(long = "fact", value_name = "TEXT", value_parser = crate::arguments::text::<512>)]
    facts: Vec<Text<512>>,
    /// A file that an observation changed; may be given again
    #[arg(long = "file", value_name = "PATH", value_parser = crate::arguments::text::<256>)]
    files: Vec<FilePath>,
    /// A file that an observation read; may be given again
    #[arg(long = "read", value_name = "PATH", value_parser = crate::arguments::text::<256>)]
    read: Vec<FilePath>,
}

impl Observed {
    /// No options, for a memory of another kind.
    ///
    /// # Errors
    /// The first option that was given.
    pub(super) fn none(&self) -> Result<(), Failure> {
        let given = [
            ("--title", self.title.is_some()),
            ("--subtitle", self.subtitle.is_some()),
            ("--fact", !self.facts.is_empty()),
            ("--file", !self.files.is_empty()),
            ("--read", !self.read.is_empty()),
        ];
        match given.into_iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => Err(Failure::Usage(format!("{option} is for an observation"))),
            None => Ok(()),
        }
    }

    /// Sets the given fields of an observation.
    ///
    /// # Errors
    /// An option was given more often than it may be.
    pub(super) fn put(self, seen: &mut Observation) -> Result<(), Failure> {
        seen.title = self.title.unwrap_or_else(|| seen.title.clone());
        seen.subtitle = self.subtitle.unwrap_or_else(|| seen.subtitle.clone());
        listed("--fact", &mut seen.facts, self.facts)?;
        listed("--file", &mut seen.files_modified, self.files)?;
        listed("--read", &mut seen.files_read, self.read)
    }
}

/// Replaces a list by another, unless that is empty.
fn listed<T>(option: &'static str, into: &mut List<T, LISTED>, given: Vec<T>) -> Result<(), Failure> {
    if !given.is_empty() {
        *into = List::new(given).map_err(|why| Failure::TooLong { what: option, why })?;
    }
    Ok(())
}
