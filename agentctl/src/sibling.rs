//! Programs of the same release: an actor in its offline mode, and the configuration child. They are installed beside
//! `agentctl` or in `../libexec/cordon`; `PATH` is not searched.

use crate::failure::Failure;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Output, Stdio};

/// Runs `name` with these arguments to its end.
///
/// # Errors
/// It is not installed, or cannot be run.
pub(crate) fn run(name: &'static str, arguments: &[&OsStr]) -> Result<Output, Failure> {
    let run = command(name)?.args(arguments).stdin(Stdio::null()).output();
    run.map_err(|error| Failure::Program { name, why: error.to_string() })
}

/// Runs `name` with these arguments to its end, with this process's own input and outputs, so that it reads and
/// answers line by line. Gives its exit status.
///
/// # Errors
/// It is not installed, or cannot be run, or was killed.
pub(crate) fn stream(name: &'static str, arguments: &[&OsStr]) -> Result<ExitCode, Failure> {
    reading(name, arguments, Stdio::inherit())
}

/// The same with another input.
///
/// # Errors
/// It is not installed, or cannot be run, or was killed.
pub(crate) fn reading(name: &'static str, arguments: &[&OsStr], input: Stdio) -> Result<ExitCode, Failure> {
    let status = command(name)?.args(arguments).stdin(input).status();
    let status = status.map_err(|error| Failure::Program { name, why: error.to_string() })?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.map(ExitCode::from).ok_or_else(|| Failure::Program { name, why: status.to_string() })
}

/// Runs two programs of which the second reads what the first prints; the first has this input, the second this process's own
/// output. Gives the exit status of the first that failed.
///
/// # Errors
/// One of them is not installed, or cannot be run, or was killed.
pub(crate) fn piped(
    (first, before): (&'static str, &[&OsStr]),
    (second, after): (&'static str, &[&OsStr]),
    input: Stdio,
) -> Result<ExitCode, Failure> {
    let failed = |name| move |error: std::io::Error| Failure::Program { name, why: error.to_string() };
    let source = command(first)?.args(before).stdin(input).stdout(Stdio::piped()).spawn();
    let mut source = source.map_err(failed(first))?;
    let between = source.stdout.take().map_or_else(Stdio::null, Stdio::from);
    let read = command(second)?.args(after).stdin(between).status().map_err(failed(second));
    // It ends when nobody reads it any more.
    let ended = source.wait().map_err(failed(first))?;
    let (name, status) = if ended.success() { (second, read?) } else { (first, ended) };
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.map(ExitCode::from).ok_or_else(|| Failure::Program { name, why: status.to_string() })
}

/// Runs `name` with these arguments to its end; what it prints goes into the file, and its complaints to this process's.
///
/// # Errors
/// It is not installed, or cannot be run, or did not end well.
pub(crate) fn into(name: &'static str, arguments: &[&OsStr], file: File) -> Result<(), Failure> {
    let failed = |why| Failure::Program { name, why };
    let status = command(name)?.args(arguments).stdin(Stdio::null()).stdout(file).status();
    let status = status.map_err(|error| failed(error.to_string()))?;
    if status.success() { Ok(()) } else { Err(failed(format!("it ended with {status}"))) }
}

/// Runs `name` with these arguments on this input, to its end.
///
/// # Errors
/// It is not installed, or cannot be run.
pub(crate) fn fed(name: &'static str, arguments: &[&OsStr], input: Vec<u8>) -> Result<Output, Failure> {
    let failed = |error: std::io::Error| Failure::Program { name, why: error.to_string() };
    let pipes = |command: &mut Command| -> std::io::Result<Child> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()
    };
    let mut child = pipes(command(name)?.args(arguments)).map_err(failed)?;
    let mut entry = child.stdin.take();
    // Beside the reading: a program that answers line by line stops at a full pipe. What it does not read, it answers less.
    let writing = std::thread::spawn(move || entry.as_mut().map(|entry| entry.write_all(&input)));
    let output = child.wait_with_output().map_err(failed);
    drop(writing.join());
    output
}

fn command(name: &'static str) -> Result<Command, Failure> {
    let program = find(name).ok_or(Failure::NoProgram { name })?;
    #[expect(
        clippy::disallowed_methods,
        reason = "an operator's own program, run as the operator, outside the host"
    )]
    Ok(Command::new(program))
}

/// The path of the program of this name, if it is installed.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let folder = std::env::current_exe().ok()?.parent()?.to_owned();
    let places = [folder.join(name), folder.join("../libexec/cordon").join(name)];
    places.into_iter().find(|place| place.is_file())
}
