//! `agentctl backup`: the whole state of one instant in one encrypted file, and its restore.
//!
//! A backup is a tar file whose first member is `manifest.json`, sealed as an age file: both are formats that other
//! tools read. A user who can read the state directory makes it; the host only stands still meanwhile. Checking and
//! restoring need no host. Secrets are in it only if asked for.

mod contents;
mod create;
mod data;
mod keys;
mod read;
mod record;
mod restore;
mod sparse;
mod staging;
#[cfg(test)]
mod tests;
mod verify;
mod write;

use crate::app::{App, Outcome};

/// The commands of `backup`.
#[derive(clap::Subcommand)]
pub(crate) enum Backup {
    /// Copy the whole state of one instant into an encrypted file
    Create(create::Create),
    /// Check every member of a backup, and its record
    Verify(verify::Verify),
    /// Restore a backup to an empty folder, for a host to start on
    Restore(restore::Restore),
}

/// Does what was asked.
pub(crate) async fn run(app: &App, command: Backup) -> Outcome {
    match command {
        Backup::Create(create) => create::create(app, create).await,
        Backup::Verify(verify) => verify::verify(app, &verify),
        Backup::Restore(restore) => restore::restore(app, &restore),
    }
}
