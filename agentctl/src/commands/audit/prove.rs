//! `audit prove`, `checkpoint`, `digest` and `rotate-key`: proofs and signatures of the record.

use super::query::stream;
use super::verify::offline_arguments;
use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::text;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ipc_proto::control::method;
use serde_json::json;
use std::ffi::OsString;
use std::path::PathBuf;

/// Size and root of a checkpoint, as its second and third line have them.
pub(super) fn tree(note: &str) -> Option<(u64, Vec<u8>)> {
    let mut lines = note.lines().skip(1);
    Some((lines.next()?.parse().ok()?, STANDARD.decode(lines.next()?).ok()?))
}

/// The last note of a witness's file. Each note is text and signatures, and blank lines separate all of them.
fn last(notes: &str) -> &str {
    let ends: Vec<usize> = notes.trim_end().rmatch_indices("\n\n").map(|(at, _)| at).take(2).collect();
    ends.get(1).and_then(|at| notes.get(at + 2..)).unwrap_or(notes)
}

/// Refuses a checkpoint of another log.
fn same_log(stored: &str, own: &str) -> Result<(), Failure> {
    let name = |note: &str| text::begin(note.lines().next().unwrap_or_default(), 64);
    let (stored, own) = (name(stored), name(own));
    if stored == own { Ok(()) } else { Err(Failure::OtherLog { stored, own }) }
}

/// Prints the proof: JSON always, since it is for programs.
pub(crate) async fn prove(app: &App, index: u64, stored: Option<PathBuf>, dir: Option<PathBuf>) -> Outcome {
    if let Some(dir) = dir {
        let number = OsString::from(index.to_string());
        let arguments =
            offline_arguments("prove", &[("--dir", Some(&dir)), ("--checkpoint", stored.as_deref())]);
        return stream(app, arguments.iter().chain([&number]));
    }
    let named =
        stored.as_ref().map_or_else(|| "the record's own".to_owned(), |path| path.display().to_string());
    let stored = match stored {
        Some(path) => std::fs::read_to_string(&path).map_err(|cause| Failure::File { path, cause })?,
        None => current(app).await?,
    };
    let bad = || {
        let how = "give what `agentctl audit checkpoint` printed, or a witness's file";
        Failure::Usage(format!("{named} is no checkpoint; {how}"))
    };
    let stored = last(&stored);
    let (from, root) = tree(stored).ok_or_else(bad)?;
    let proof = app.link.ask(&method::audit_prove, async |c, cx| c.audit_prove(cx, index).await).await?;
    same_log(stored, &proof.checkpoint)?;
    let grown =
        app.link.ask(&method::audit_consistency, async |c, cx| c.audit_consistency(cx, from).await).await?;
    let hexes = |hashes: &[[u8; 32]]| hashes.iter().map(|hash| text::hex(hash)).collect::<Vec<_>>();
    app.out.document(json!({
        "index": proof.index,
        "entry": String::from_utf8_lossy(&proof.entry),
        "key": proof.key,
        "checkpoint": proof.checkpoint,
        "inclusion": hexes(&proof.inclusion),
        "consistency": {
            "from": grown.from,
            "from_root": text::hex(&root),
            "from_checkpoint": stored,
            "checkpoint": grown.checkpoint,
            "proof": hexes(&grown.proof),
        },
    }))?;
    Ok(std::process::ExitCode::SUCCESS)
}

async fn current(app: &App) -> Result<String, Failure> {
    let note = app.link.ask(&method::audit_checkpoint, async |c, cx| c.audit_checkpoint(cx).await).await?;
    Ok(note.into_string())
}

/// Prints the signed checkpoint.
pub(crate) async fn checkpoint(app: &App) -> Outcome {
    let note = current(app).await?;
    let size = tree(&note).map(|(size, _)| size);
    signed(app, json!({ "size": size, "checkpoint": note }), &note)
}

/// Prints a note unchanged: its bytes are signed.
fn signed(app: &App, document: serde_json::Value, note: &str) -> Outcome {
    if app.out.json {
        app.out.document(document)?;
    } else {
        app.out.raw(note.as_bytes(), false)?;
    }
    Ok(std::process::ExitCode::SUCCESS)
}

/// Prints the signed digest of a day.
pub(crate) async fn digest(app: &App, day: &str) -> Outcome {
    let number = days(day).ok_or_else(|| Failure::Usage(format!("{day} is not a day as YYYY-MM-DD")))?;
    let note = app.link.ask(&method::audit_digest, async |c, cx| c.audit_digest(cx, number).await).await?;
    signed(app, json!({ "day": day, "digest": note }), &note)
}

/// Days from 1970-01-01 to a date; years that begin in March, so that the leap day is the last.
fn days(date: &str) -> Option<u32> {
    let mut parts = date.splitn(3, '-').map(str::parse::<u32>);
    let (year, month, day) = (parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?);
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day;
    days.checked_sub(719_469)
}

/// Rotates the record's signing key.
pub(crate) async fn rotate(app: &App) -> Outcome {
    let done = app.link.ask(&method::audit_rotate_key, async |c, cx| c.audit_rotate_key(cx).await).await?;
    let sentence =
        format!("the record is signed with {} from here on; keep it where you kept the old one", done.key);
    Ok(app.out.done(json!({ "key": done.key, "note": done.note }), &sentence)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (date, day) in
            [("1970-01-01", 0), ("2000-02-29", 11_016), ("2000-03-01", 11_017), ("2026-11-21", 20_778)]
        {
            assert_eq!(days(date), Some(day), "{date}");
        }
        for wrong in ["", "2026", "2026-13-01", "1969-12-31", "2026-01-32", "x-1-1", "2026-11-21-1"] {
            assert_eq!(days(wrong), None, "{wrong}");
        }
    }
}
