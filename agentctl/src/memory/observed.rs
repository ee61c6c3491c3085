//! What only an observation has, as options: the same where one is made and where one is revised.

use crate::failure::Failure;
use ipc_proto::memory::{FilePath, LISTED, Observation};
use ipc_proto::{List, Text};

/// What only an observation has. What is not given stays as it is.
#[derive(clap::Args)]
pub(super) struct Observed {
    /// The title of an observation; a new one without it begins as its text does
    #[arg(long, value_parser = crate::cli::text::<200>)]
    title: Option<Text<200>>,
    /// What stands under the title of an observation
    #[arg(long, value_parser = crate::cli::text::<400>)]
    subtitle: Option<Text<400>>,
    /// A fact of an observation; may be given again
    #[arg(long = "fact", value_name = "TEXT", value_parser = crate::cli::text::<512>)]
    facts: Vec<Text<512>>,
    /// A file that an observation changed; may be given again
    #[arg(long = "file", value_name = "PATH", value_parser = crate::cli::text::<256>)]
    files: Vec<FilePath>,
    /// A file that an observation read; may be given again
    #[arg(long = "read", value_name = "PATH", value_parser = crate::cli::text::<256>)]
    read: Vec<FilePath>,
}

impl Observed {
    /// Nothing of it, where the memory is of another kind.
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
            Some((option, _)) => Err(Failure::Usage(format!("only an observation has what {option} says"))),
            None => Ok(()),
        }
    }

    /// Puts what was given into an observation.
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

/// A list in the place of another, unless it is empty.
fn listed<T>(option: &'static str, into: &mut List<T, LISTED>, given: Vec<T>) -> Result<(), Failure> {
    if !given.is_empty() {
        *into = List::new(given).map_err(|why| Failure::TooLong { what: option, why })?;
    }
    Ok(())
}
