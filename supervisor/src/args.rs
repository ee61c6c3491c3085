//! agentd's command line: few words, read by hand so that no parser is linked.

use manifest::Process;
use std::ffi::OsString;
use std::path::PathBuf;

/// `agentd --help`.
pub(crate) const HELP: &str = "\
agentd: the supervisor of a Cordon host

usage: agentd run [--config FILE] [--state-dir DIR] [--runtime-dir DIR]
       agentd check [--config FILE] [--state-dir DIR]
       agentd --help | --version

run     start the host and stay in the foreground; DIR/control.sock and DIR/gateway.sock in the runtime directory are
        the sockets of agentctl and of the API
check   say whether this program would run the configuration and the state that are there, and what it would migrate;
        nothing is started and nothing is changed

Defaults: as root under systemd /etc/cordon/cordon.toml, /var/lib/cordon and /run/cordon; else the XDG
directories ($XDG_CONFIG_HOME, $XDG_STATE_HOME, $XDG_RUNTIME_DIR) with /cordon beneath.

exit status: 0 stopped as asked, 64 usage, 69 the host could not be started, 77 not allowed, 78 configuration
";

/// The command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Help,
    Version,
    Check(Options),
    Run(Options),
}

/// Its options.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) config: Option<PathBuf>,
    pub(crate) state: Option<PathBuf>,
    pub(crate) runtime: Option<PathBuf>,
    /// Debug builds: the fault point to arm in the first life of a process.
    pub(crate) fault: Option<(Process, u64)>,
    /// Debug builds: a row whose jails lack a layer, so that tests see `attest` and probes notice it.
    pub(crate) weaken: Option<Process>,
    /// Debug builds: a file with the offset of every process's wall clock from the machine's, ms.
    pub(crate) clock: Option<PathBuf>,
    /// Debug builds: the file to which every call is noted that a rule of the table allows.
    pub(crate) record: Option<PathBuf>,
}

/// Reads the command line.
pub(crate) fn parse(words: impl Iterator<Item = OsString>) -> Result<Command, String> {
    let mut words = words.peekable();
    let command = words.next().ok_or("a command is missing: run or check")?;
    let asks = words.peek().is_some_and(|word| word == "--help" || word == "-h");
    match command.to_str() {
        Some("run" | "check") if asks => Ok(Command::Help),
        Some("--help" | "-h" | "help") => Ok(Command::Help),
        Some("--version" | "-V") => Ok(Command::Version),
        Some("run") => options(words).map(Command::Run),
        Some("check") => options(words).map(Command::Check),
        _ => Err(format!("unknown command {}; there are run and check", command.display())),
    }
}

fn options(mut words: impl Iterator<Item = OsString>) -> Result<Options, String> {
    let mut options = Options::default();
    while let Some(word) = words.next() {
        let name = word.to_str().unwrap_or_default();
        let slot = match name {
            "--config" => &mut options.config,
            "--state-dir" => &mut options.state,
            "--runtime-dir" => &mut options.runtime,
            _ => {
                test_option(&mut options, name, words.next())?;
                continue;
            }
        };
        let value = words.next().ok_or_else(|| format!("{name} needs a path"))?;
        *slot = Some(PathBuf::from(value));
    }
    Ok(options)
}

/// Flags that only a debug build knows: they exist for the tests of recovery and of attest.
#[cfg(debug_assertions)]
fn test_option(options: &mut Options, name: &str, value: Option<OsString>) -> Result<(), String> {
    if name == "--record" {
        options.record = Some(PathBuf::from(value.ok_or("--record needs a file")?));
        return Ok(());
    }
    let value = value.and_then(|value| value.into_string().ok()).unwrap_or_default();
    let process = |text: &str| manifest::row_named(text).map(|row| row.process);
    match name {
        "--fault" => {
            let (text, point) = value.split_once(':').ok_or("--fault needs PROCESS:POINT")?;
            options.fault = Some((process(text).ok_or("--fault: no such process")?, hash(point)));
        }
        "--clock-offset" if !value.is_empty() => options.clock = Some(PathBuf::from(value)),
        "--weaken" => options.weaken = Some(process(&value).ok_or("--weaken: no such process")?),
        _ => return Err(format!("unknown option {name}")),
    }
    Ok(())
}

#[cfg(not(debug_assertions))]
fn test_option(_: &mut Options, name: &str, _: Option<OsString>) -> Result<(), String> {
    Err(format!("unknown option {name}"))
}

/// FNV-1a, as kit's fault points are named.
#[cfg(debug_assertions)]
fn hash(name: &str) -> u64 {
    name.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn every_documented_form_is_understood() {
        let run = Options {
            config: Some("/c".into()),
            state: Some("/s".into()),
            runtime: Some("/r".into()),
            ..Options::default()
        };
        assert_eq!(parsed("run --config /c --state-dir /s --runtime-dir /r"), Ok(Command::Run(run)));
        assert_eq!(parsed("check"), Ok(Command::Check(Options::default())));
        for line in ["--help", "run --help", "check -h"] {
            assert_eq!(parsed(line), Ok(Command::Help), "{line}");
        }
    }

    #[test]
    fn anything_else_says_what_is_wrong() {
        for line in ["", "walk", "run --config", "run --colour red", "run stray"] {
            assert!(parsed(line).is_err(), "{line}");
        }
    }
}
