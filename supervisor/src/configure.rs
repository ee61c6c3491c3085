//! The configuration. A child that ends reads and checks it, so that no parser is ever linked here. Its output is a head of fixed
//! size and each process's section, which is passed on unread.

use crate::args::Options;
use crate::exit::Fault;
use crate::places;
use manifest::Process;
use manifest::settings::{self, Settings};
use std::env;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

/// The child's output.
#[derive(Debug)]
pub(crate) struct Configuration {
    /// agentd's own settings.
    pub(crate) settings: Settings,
    document: Vec<u8>,
}

impl Configuration {
    /// The section of `process`, in memory that nobody can change.
    pub(crate) fn section(&self, process: Process) -> Result<OwnedFd, Fault> {
        let (_, sections) =
            settings::decode(&self.document).map_err(|error| Fault::Config(error.to_string()))?;
        let bytes = sections.get(process).unwrap_or_default();
        confine::passing::sealed_memory(c"section", bytes)
            .map_err(|cause| Fault::Kernel("cannot make memory for a section", cause))
    }
}

/// The first part of `agentd check`: the child prints its findings.
pub(crate) fn check(options: &Options) -> Result<(), Fault> {
    let status = child(options, &["--check"])?.status();
    match status.map_err(|cause| Fault::Kernel("cannot run agentd-config", cause))?.success() {
        true => Ok(()),
        false => Err(Fault::Configuration),
    }
}

/// Reads the configuration.
pub(crate) fn read(options: &Options) -> Result<Configuration, Fault> {
    let kernel = |cause| Fault::Kernel("cannot read the configuration", cause);
    let memory = nix::sys::memfd::memfd_create(c"configuration", nix::sys::memfd::MFdFlags::MFD_CLOEXEC);
    let mut memory = File::from(memory.map_err(|error| kernel(error.into()))?);
    let output = memory.try_clone().map_err(kernel)?;
    let status = child(options, &[])?.stdout(output).status().map_err(kernel)?;
    if !status.success() {
        return Err(Fault::Configuration);
    }
    let mut document = Vec::new();
    memory.seek(SeekFrom::Start(0)).map_err(kernel)?;
    memory.take(settings::DOCUMENT_BOUND as u64 + 1).read_to_end(&mut document).map_err(kernel)?;
    let (settings, _) = settings::decode(&document).map_err(|error| Fault::Config(error.to_string()))?;
    Ok(Configuration { settings, document })
}

/// The command of the child, a program beside agentd's own, with nothing of agentd's environment.
fn child(options: &Options, words: &[&str]) -> Result<Command, Fault> {
    let own = env::current_exe().map_err(|cause| Fault::Kernel("cannot find agentd's own program", cause))?;
    #[expect(
        clippy::disallowed_methods,
        reason = "the one program that agentd runs outside a jail: it ends before any process starts"
    )]
    let mut command = Command::new(own.with_file_name("agentd-config"));
    command.env_clear().stdin(Stdio::null()).args(words);
    command.arg("--owner").arg(nix::unistd::getuid().to_string());
    command.arg("--state-dir").arg(places::find(options).state);
    if let Some(file) = places::find(options).config {
        command.arg("--config").arg(file);
    }
    Ok(command)
}
