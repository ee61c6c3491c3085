//! `verify` and `witness`: verify a log by itself, against a checkpoint that was stored elsewhere, or against a copy.

use super::OfflineFault;
use super::args::Args;
use super::export::time;
use crate::check::{self, Fault, Findings, Kind, SavedCheckpoint};
use crate::folder::Folder;
use crate::hash::{hex, unhex};
use crate::keys::PUBLIC;
use crate::log::CHECKPOINT;
use crate::note::Checkpoint;
use ipc_proto::audit::{Late, NOTE, UNSIGNED_MS};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// How often a log that changed while it was read, and seemed broken, is read again.
const AGAIN: u32 = 3;

/// Verifies.
pub(crate) fn verify(args: &Args) -> Result<ExitCode, OfflineFault> {
    let (folder, key, saved) = (args.dir()?, args.text("key")?, saved(args)?);
    let known = saved.as_deref().map(SavedCheckpoint::Note).or(tree(args)?);
    let mut found = settled(&folder, key.as_deref(), known);
    if let (Some(other), Ok(findings)) = (args.get("against"), &mut found) {
        against(&folder, Path::new(other), key.as_deref(), findings);
    }
    let own = args.get("key").is_none();
    let (ok, document) = document(&found, own);
    if args.has("json") {
        writeln!(std::io::stdout(), "{document}")?;
    } else {
        writeln!(std::io::stdout(), "{}", text(&found, own))?;
    }
    Ok(ExitCode::from(u8::from(!ok)))
}

/// The checkpoint that was stored elsewhere: the last one in a witness's file.
pub(crate) fn saved(args: &Args) -> Result<Option<String>, OfflineFault> {
    let file = args.get("checkpoint").zip(args.text("checkpoint")?);
    file.map(|(file, text)| last(file, &text)).transpose()
}

/// The tree that another host witnessed, as `SIZE:ROOT`.
fn tree(args: &Args) -> Result<Option<SavedCheckpoint<'static>>, OfflineFault> {
    let read = |word: &str| {
        let (size, root) = word.split_once(':')?;
        Some(SavedCheckpoint::Tree(size.parse().ok()?, unhex(root)?))
    };
    let bad = || OfflineFault::Usage("--tree: a size and a root in hex, as SIZE:ROOT".to_owned());
    args.get("tree").map(|word| read(word).ok_or_else(bad)).transpose()
}

/// Verifies; again where a host wrote meanwhile and that may explain a fault.
fn settled(folder: &Path, key: Option<&str>, saved: Option<SavedCheckpoint<'_>>) -> Result<Findings, Fault> {
    let files = Folder::new(folder);
    let read = || files.read_text(CHECKPOINT, NOTE).ok().flatten();
    let mut found = check::run(folder, key, saved);
    for _ in 0..AGAIN {
        let before = read();
        let holds = found.as_ref().is_ok_and(|findings| findings.faults.number == 0);
        if holds {
            break;
        }
        let again = check::run(folder, key, saved);
        let same = match (&found, &again) {
            (Ok(one), Ok(other)) => one.faults.listed == other.faults.listed,
            (one, other) => one.is_err() == other.is_err(),
        };
        found = again;
        if same && read() == before {
            break;
        }
    }
    found
}

/// Verifies a copy as well, and looks for where the two differ.
fn against(folder: &Path, other: &Path, key: Option<&str>, findings: &mut Findings) {
    let note = Folder::new(other).read_text(CHECKPOINT, NOTE).ok().flatten();
    let origin = note.as_deref().and_then(Checkpoint::unchecked).map(|checkpoint| checkpoint.origin);
    if let Some(origin) = origin.filter(|origin| *origin != findings.origin) {
        let what = format!("{}: its checkpoint", other.display());
        findings.faults.add(check::other(&what, &origin, &findings.origin));
        return;
    }
    match check::fork(folder, other) {
        Some(index) => {
            let message =
                format!("the two logs differ from entry {index} on; entries below {index} are the same");
            findings.faults.add(Fault::new(Kind::Fork, index, message));
        }
        None => match settled(other, key, None) {
            Ok(copy) => {
                let faults = copy.faults.listed.into_iter().map(|fault| Fault {
                    message: format!("in {}: {}", other.display(), fault.message),
                    ..fault
                });
                findings.faults.number += copy.faults.number;
                findings.faults.listed.extend(faults);
            }
            Err(fault) => findings.faults.add(fault),
        },
    }
}

fn error(fault: &Fault) -> Value {
    json!({ "type": fault.kind.word(), "message": fault.message, "index": fault.index })
}

fn document(found: &Result<Findings, Fault>, own: bool) -> (bool, Value) {
    match found {
        Err(fault) => {
            (false, json!({ "ok": false, "error": error(fault), "trustworthy": "nothing could be verified" }))
        }
        Ok(findings) => {
            let fault = findings.faults.first();
            let gaps = findings
                .gaps
                .iter()
                .map(|gap| json!({ "witness": gap.witness, "life": gap.life, "missing": gap.missing }));
            let mut document = json!({
                "ok": fault.is_none(),
                "entries": findings.entries,
                "head": hex(&findings.head),
                "origin": findings.origin,
                "signed": findings.vouched,
                "sealed": findings.sealed,
                "key_from": if own { "the record's own folder" } else { "given" },
                "gaps": gaps.collect::<Vec<_>>(),
            });
            if let (Some(map), Some(late)) = (document.as_object_mut(), &findings.late) {
                map.insert("late".to_owned(), json!(late));
            }
            if let (Some(map), Some(fault)) = (document.as_object_mut(), fault) {
                map.insert("error".to_owned(), error(fault));
                map.insert("faults".to_owned(), findings.faults.listed.iter().map(error).collect());
                map.insert("fault_count".to_owned(), json!(findings.faults.number));
                map.insert("trustworthy".to_owned(), json!(findings.trustworthy()));
            }
            (fault.is_none(), document)
        }
    }
}

/// The warning about entries that wait too long for a signature.
fn late(late: &Late) -> String {
    format!(
        "warning: {} entries since {} wait for a signature, longer than the {} s they may",
        late.entries,
        time(late.since_ms),
        UNSIGNED_MS / 1000
    )
}

fn text(found: &Result<Findings, Fault>, own: bool) -> String {
    let findings = match found {
        Err(fault) => return format!("the record does not hold ({}): {}", fault.kind.word(), fault.message),
        Ok(findings) => findings,
    };
    let mut lines = Vec::new();
    if findings.faults.number == 0 {
        lines.push(format!("the record of {} holds", findings.origin));
        lines.push(format!(
            "{} entries, {} of them signed, {} sealed",
            findings.entries, findings.vouched, findings.sealed
        ));
        lines.push(format!("head {}", hex(&findings.head)));
    } else {
        let faults = findings.faults.listed.iter();
        lines.extend(faults.map(|fault| format!("{}: {}", fault.kind.word(), fault.message)));
        lines.push(format!(
            "the record of {} does not hold: {} faults",
            findings.origin, findings.faults.number
        ));
        lines.push(format!("trustworthy: {}", findings.trustworthy()));
    }
    lines.extend(findings.late.as_ref().map(late));
    for gap in &findings.gaps {
        lines.push(format!(
            "note: {} of {}'s own count (life {}) are not here",
            gap.missing, gap.witness, gap.life
        ));
    }
    if own {
        lines.push(format!(
            "note: the key is the {PUBLIC} of the same folder; who can write one can write the other"
        ));
    }
    lines.join("\n")
}

/// Adds the log's checkpoint to a file, if the log holds and grew from the last that is there.
pub(crate) fn witness(args: &Args) -> Result<ExitCode, OfflineFault> {
    let folder = args.dir()?;
    let file = args.get("file").ok_or_else(|| OfflineFault::Usage("--file is needed".to_owned()))?.to_owned();
    let before = match std::fs::read_to_string(&file) {
        Ok(text) => Some(text),
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => None,
        Err(cause) => return Err(OfflineFault::File { file, cause }),
    };
    let last = before.as_deref().filter(|text| !text.is_empty()).map(|text| last(&file, text)).transpose()?;
    let found = settled(&folder, args.text("key")?.as_deref(), last.as_deref().map(SavedCheckpoint::Note));
    let (ok, document) = document(&found, args.get("key").is_none());
    let note = Folder::new(&folder).read_text(CHECKPOINT, NOTE).ok().flatten();
    if let (true, Some(note)) = (ok, note)
        && last.as_deref() != Some(&note)
    {
        let fault = |cause| OfflineFault::File { file: file.clone(), cause };
        let mut out = std::fs::OpenOptions::new().append(true).create(true).open(&file).map_err(fault)?;
        let separator = if before.is_some_and(|text| !text.is_empty()) { "\n" } else { "" };
        out.write_all(format!("{separator}{note}").as_bytes())
            .and_then(|()| out.sync_all())
            .map_err(fault)?;
    }
    writeln!(
        std::io::stdout(),
        "{}",
        if args.has("json") { document.to_string() } else { text(&found, false) }
    )?;
    Ok(ExitCode::from(u8::from(!ok)))
}

/// The last note of a file of notes: each is text, a blank line and its signatures, and a blank line divides them. The
/// verifier finds notes that were edited, or are of another log; this only refuses a text that never was a note.
fn last(file: &str, text: &str) -> Result<String, OfflineFault> {
    let parts: Vec<&str> = text.trim_end().split("\n\n").collect();
    let note = match parts.as_slice() {
        [.., text, signatures] => Some(format!("{text}\n\n{signatures}\n")),
        _ => None,
    };
    note.filter(|note| Checkpoint::unchecked(note).is_some()).ok_or_else(|| OfflineFault::NoCheckpoint {
        file: file.to_owned(),
        what: "it has no log's name, size and root above a signature, as `agentctl audit checkpoint` prints them",
    })
}
