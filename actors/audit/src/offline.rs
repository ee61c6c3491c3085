//! `audit --offline …`: what can be done with a log's folder and no host. `agentctl audit … --dir` executes this. It
//! reads the folder it is told, and writes nothing but the file of a witness or of a forwarder's position.

mod entries;
mod export;
mod position;
mod prove;
mod show;
mod verify;
mod words;

use crate::counts::value;
use ipc_proto::Name;
use ipc_proto::audit::Filter;
use serde_json::json;
use std::io::Write;
use std::process::ExitCode;
use words::Words;

const USAGE: u8 = 64;
const HELP: &str = "usage: audit --offline COMMAND --dir DIR [--json]
  verify  [--key FILE] [--checkpoint FILE | --tree SIZE:ROOT] [--against DIR]
  witness --file FILE [--key FILE]
  prove   INDEX [--checkpoint FILE]
  query   [--from INDEX] [--action A] [--category C] [--result R] [--severity S] [--witness W]
          [--subject NAME] [--session ID] [--since MS] [--until MS]
  export  [--format jsonl|journal|ocsf|syslog] [--from INDEX] [--position FILE] [--follow]
  stats";

/// Why a command came to nothing.
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

    /// Says it: as a document to whoever asked for one.
    fn tell(&self, json: bool) {
        if json && !matches!(self, Self::Output(_)) {
            let error = json!({ "type": self.kind(), "message": self.to_string() });
            drop(writeln!(std::io::stdout(), "{}", json!({ "ok": false, "error": error })));
        } else {
            drop(writeln!(std::io::stderr(), "audit: {self}"));
        }
    }
}

/// Runs offline.
pub(crate) fn run(words: impl Iterator<Item = String>) -> ExitCode {
    let words: Vec<String> = words.collect();
    let json = words.iter().any(|word| word == "--json");
    let done = Words::read(words.into_iter()).and_then(|words| match words.command.as_str() {
        "verify" => verify::verify(&words),
        "witness" => verify::witness(&words),
        "prove" => prove::prove(&words),
        "query" => show::query(&words),
        "stats" => show::stats(&words),
        "export" => export::export(&words),
        other => Err(OfflineFault::Usage(format!("no command {other}\n{HELP}"))),
    });
    match done {
        Ok(code) => code,
        Err(OfflineFault::Output(cause)) if cause.kind() == std::io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(fault) => {
            fault.tell(json);
            ExitCode::from(if matches!(fault, OfflineFault::Usage(_)) { USAGE } else { 1 })
        }
    }
}

/// The filter that the words state.
fn filter(words: &Words) -> Result<Filter, OfflineFault> {
    fn closed<T: serde::de::DeserializeOwned>(
        words: &Words,
        option: &str,
    ) -> Result<Option<T>, OfflineFault> {
        let found = words.get(option);
        let read =
            |word: &str| value(word).ok_or_else(|| OfflineFault::Usage(format!("--{option}: no {word}")));
        found.map(read).transpose()
    }
    let session = words.get("session").map(str::parse).transpose();
    Ok(Filter {
        action: closed(words, "action")?,
        category: closed(words, "category")?,
        result: closed(words, "result")?,
        severity: closed(words, "severity")?,
        witness: words.get("witness").map(Name::clip),
        subject: words.get("subject").map(Name::clip),
        session: session.map_err(|cause| OfflineFault::Usage(format!("--session: {cause}")))?,
        since_ms: words.number("since")?,
        until_ms: words.number("until")?,
    })
}
