//! `backup verify`: every member against the manifest, and the record by its own check. It needs no host.

use super::contents::Contents;
use super::keys::OpenWith;
use super::{read, record};
use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::failure::backup::{Broken, Fault};
use crate::text;
use serde_json::json;
use std::path::PathBuf;

/// `backup verify`.
#[derive(clap::Args)]
pub(crate) struct Verify {
    /// The backup
    file: PathBuf,
    #[command(flatten)]
    with: OpenWith,
}

/// Checks a backup.
pub(super) fn verify(app: &App, verify: &Verify) -> Outcome {
    let failed = |cause| Failure::File { path: std::env::temp_dir(), cause };
    let folder = tempfile::Builder::new().prefix("cordon-record-").tempdir().map_err(failed)?;
    // The record alone is needed outside of the file: another program checks it.
    let contents = read::read(&verify.file, &verify.with, folder.path(), &|_, member| {
        (member.path.split('/').next() == Some("audit")).then(|| PathBuf::from(&member.path))
    })?;
    let record = record::check(&folder.path().join("audit"))?;
    if let Some(why) = record.fault {
        let trustworthy =
            Some("every member is as it was sealed; the record was so when the copy was made".to_owned());
        return Err(Broken { fault: Fault::Record(why), trustworthy }.into());
    }
    if let Some(newer) = contents.newer() {
        return Err(Broken { fault: newer, trustworthy: Some("all of it".to_owned()) }.into());
    }
    let document = json!({
        "file": verify.file.to_string_lossy(),
        "made_ms": contents.made_ms,
        "cordon": contents.cordon,
        "secrets": contents.secrets,
        "members": contents.members.len(),
        "bytes": bytes(&contents),
        "schemas": contents.schemas,
        "record": { "entries": record.entries, "origin": record.origin },
        "left_out": contents.left_out,
    });
    Ok(app.out.facts(
        document,
        &[
            ("backup", "holds".to_owned()),
            ("made", text::utc(contents.made_ms)),
            ("by cordon", contents.cordon.clone()),
            ("members", format!("{} ({} bytes)", contents.members.len(), bytes(&contents))),
            ("secrets", if contents.secrets { "in it" } else { "not in it" }.to_owned()),
            ("record", format!("holds: {} entries of {}", record.entries, record.origin)),
            ("left out", contents.left_out.len().to_string()),
        ],
    )?)
}

/// Bytes of all files in the archive, without their holes.
pub(super) fn bytes(contents: &Contents) -> u64 {
    contents.members.iter().map(|member| member.stored).sum()
}
