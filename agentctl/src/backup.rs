//! `agentctl backup`: the whole state of one instant in one encrypted file, and back.
//!
//! A backup is a tar file whose first member is `manifest.json`, sealed as an age file: both are formats that other
//! tools read. It is made by whoever can read the state directory, without the host's help but for standing still; it
//! is checked and put back without a host. Secrets are in it only if asked for.

mod contents;
mod create;
mod fault;
mod keys;
mod read;
mod record;
mod restore;
mod staging;
#[cfg(test)]
mod tests;
mod verify;
mod write;

use crate::app::{App, Outcome};
pub(crate) use fault::{Broken, Fault};

/// The commands of `backup`.
#[derive(clap::Subcommand)]
pub(crate) enum Backup {
    /// Copy the whole state of one instant into an encrypted file
    Create(create::Create),
    /// Check a backup: every member of it, and the record in it
    Verify(verify::Verify),
    /// Put a backup into an empty folder, for a host to start on
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
