//! `audit --offline verify --dir DIR [--json]`: checks a copy of the record with no host. `agentctl audit verify
//! --dir` executes this.

use crate::line;
use crate::log::{self, FILE};
use serde_json::json;
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: u8 = 64;

/// Runs offline.
pub(crate) fn run(words: impl Iterator<Item = String>) -> ExitCode {
    let words: Vec<String> = words.collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["verify", "--dir", folder] => verify(&PathBuf::from(folder), false),
        ["verify", "--dir", folder, "--json"] => verify(&PathBuf::from(folder), true),
        _ => {
            say(&mut std::io::stderr(), "usage: audit --offline verify --dir DIR [--json]");
            ExitCode::from(USAGE)
        }
    }
}

fn verify(folder: &std::path::Path, as_json: bool) -> ExitCode {
    let path = folder.join(FILE);
    let report = File::open(&path).and_then(|file| log::verify(BufReader::new(file)));
    let (ok, document, text) = match report {
        Err(error) => {
            let message = format!("{}: {error}", path.display());
            (false, json!({"ok": false, "error": {"type": "unreadable", "message": message}}), message)
        }
        Ok(report) => match (report.broken_at, &report.fault) {
            (None, _) => {
                let text = format!("{} entries hold; head {}", report.entries, line::hex(&report.head));
                (true, json!({"ok": true, "entries": report.entries, "head": line::hex(&report.head)}), text)
            }
            (Some(at), fault) => {
                let fault = fault.as_ref().map_or("", |fault| fault.as_str());
                let message = format!("entry {at} does not hold: {fault}; the {at} before it do");
                let error = json!({"type": "broken", "message": message, "index": at});
                (false, json!({"ok": false, "entries": report.entries, "error": error}), message)
            }
        },
    };
    say(&mut std::io::stdout(), &if as_json { document.to_string() } else { text });
    ExitCode::from(u8::from(!ok))
}

fn say(out: &mut impl Write, line: &str) {
    drop(writeln!(out, "{line}"));
}
