//! `audit --offline …`: the commands that work on a log's folder without a host. `agentctl audit … --dir` executes
//! this. It reads the given folder, and writes nothing but the file of a witness or of a forwarder's position.

mod args;
mod entries;
mod export;
mod position;
mod prove;
mod show;
mod verify;

use crate::counts::value;
use args::Args;
use ipc_proto::Name;
use ipc_proto::audit::Filter;
use serde_json::json;
use std::io::Write;
use std::process::ExitCode;

const USAGE: u8 = 64;
const HELP: &str = "usage: audit --offline COMMAND --dir DIR [--json]
  verify  [--key FILE] [--checkpoint FILE | --tree SIZE:ROOT] [--against DIR]
  witness --file FILE [--key FILE]
  prove   INDEX [--checkpoint FILE]
  query   [--from INDEX] [--action A] [--category C] [--result R] [--severity S] [--witness W]
          [--subject NAME] [--session ID] [--since MS] [--until MS]
  export  [--format jsonl|journal|ocsf|syslog] [--from INDEX] [--position FILE] [--follow]
  stats";

/// The reasons for which a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OfflineFault {
    #[error("{0}")]
    Usage(String),
    #[error("{file}: {cause}")]
    File { file: String, cause: std::io::Error },
    #[error("{file} is no checkpoint, nor does it end with one: {what}")]
    NoCheckpoint { file: String, what: &'static str },
    #[error("{0}")]
    Log(String),
    #[error("standard output: {0}")]
    Output(#[from] std::io::Error),
}

impl OfflineFault {
    /// The fixed word of it, as it stands in `error.type`.
    const fn kind(&self) -> &'static str {
        match self {
            Self::Usage(_) => "usage",
            Self::File { .. } | Self::NoCheckpoint { .. } => "file",
            Self::Log(_) => "record",
            Self::Output(_) => "output",
        }
    }

    /// Prints the fault: as a document where JSON was asked for.
    fn print(&self, json: bool) {
        if json && !matches!(self, Self::Output(_)) {
            let error = json!({ "type": self.kind(), "message": self.to_string() });
            drop(writeln!(std::io::stdout(), "{}", json!({ "ok": false, "error": error })));
        } else {
            drop(writeln!(std::io::stderr(), "audit: {self}"));
        }
    }
}

/// Runs offline.
pub(crate) fn run(args: impl Iterator<Item = String>) -> ExitCode {
    let args: Vec<String> = args.collect();
    let json = args.iter().any(|word| word == "--json");
    let done = Args::read(args.into_iter()).and_then(|args| match args.command.as_str() {
        "verify" => verify::verify(&args),
        "witness" => verify::witness(&args),
        "prove" => prove::prove(&args),
        "query" => show::query(&args),
        "stats" => show::stats(&args),
        "export" => export::export(&args),
        other => Err(OfflineFault::Usage(format!("no command {other}\n{HELP}"))),
    });
    match done {
        Ok(code) => code,
        Err(OfflineFault::Output(cause)) if cause.kind() == std::io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(fault) => {
            fault.print(json);
            ExitCode::from(if matches!(fault, OfflineFault::Usage(_)) { USAGE } else { 1 })
        }
    }
}

/// The filter that the arguments state.
fn filter(args: &Args) -> Result<Filter, OfflineFault> {
    fn closed<T: serde::de::DeserializeOwned>(args: &Args, option: &str) -> Result<Option<T>, OfflineFault> {
        let found = args.get(option);
        let read =
            |word: &str| value(word).ok_or_else(|| OfflineFault::Usage(format!("--{option}: no {word}")));
        found.map(read).transpose()
    }
    let session = args.get("session").map(str::parse).transpose();
    Ok(Filter {
        action: closed(args, "action")?,
        category: closed(args, "category")?,
        result: closed(args, "result")?,
        severity: closed(args, "severity")?,
        witness: args.get("witness").map(Name::clip),
        subject: args.get("subject").map(Name::clip),
        session: session.map_err(|cause| OfflineFault::Usage(format!("--session: {cause}")))?,
        since_ms: args.number("since")?,
        until_ms: args.number("until")?,
    })
}
