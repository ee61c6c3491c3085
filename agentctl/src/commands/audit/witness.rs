//! `audit witness`: stores a checkpoint elsewhere, if the record verifies and extends the last one stored there.

use super::prove;
use super::verify::{folder, offline, offline_arguments};
use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::link::Link;
use crate::text;
use ipc_proto::Name;
use ipc_proto::audit::{Action, Filter, TreeHead};
use ipc_proto::control::{ControlClient, method};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Entries of the other host's record that are read at once, the latest first.
const WINDOW: u64 = 4096;

/// `audit witness`.
#[derive(clap::Args)]
#[command(
    group = clap::ArgGroup::new("to").required(true),
    override_usage = "agentctl audit witness [OPTIONS] --file <FILE>\n       \
        agentctl audit witness [OPTIONS] --command <PROGRAM>\n       \
        agentctl audit witness [OPTIONS] --host <SOCKET>"
)]
pub(crate) struct Witness {
    /// Add the checkpoint to this file, if the record verifies and extends the file's last one
    #[arg(long, value_name = "FILE", group = "to")]
    file: Option<PathBuf>,
    /// Pass the checkpoint to this program's standard input, if the record verifies
    #[arg(long, value_name = "PROGRAM", group = "to")]
    command: Option<PathBuf>,
    /// Put the checkpoint on the record of the host at this socket, if this record verifies and extends the last one
    /// there
    #[arg(long, value_name = "SOCKET", group = "to")]
    host: Option<PathBuf>,
    /// The record's public key from a safe place
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Read the record in this folder
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Keeps a checkpoint elsewhere, if the record holds.
pub(crate) async fn witness(app: &App, witness: Witness) -> Outcome {
    let none =
        || Failure::Usage("the record's folder cannot be read from here; name it with --dir".to_owned());
    let folder = folder(app, witness.dir).await?.ok_or_else(none)?;
    let (dir, key) = (("--dir", Some(folder.as_path())), ("--key", witness.key.as_deref()));
    match (witness.command, witness.host) {
        (Some(program), _) => {
            let code = offline(app, &offline_arguments("verify", &[dir, key]))?;
            if code == ExitCode::SUCCESS {
                let note = checkpoint(&folder)?;
                hand_over(&program, note.as_bytes())
                    .map_err(|cause| Failure::File { path: program, cause })?;
            }
            Ok(code)
        }
        (None, Some(socket)) => on_host(app, &folder, key, socket).await,
        (None, None) => {
            offline(app, &offline_arguments("witness", &[dir, key, ("--file", witness.file.as_deref())]))
        }
    }
}

fn checkpoint(folder: &Path) -> Result<String, Failure> {
    let path = folder.join("checkpoint");
    std::fs::read_to_string(&path).map_err(|cause| Failure::File { path, cause })
}

/// The tree head that a checkpoint states.
fn head(note: &str) -> Result<TreeHead, Failure> {
    let read = || {
        let (size, root) = prove::tree(note)?;
        Some(TreeHead { origin: Name::new(note.lines().next()?).ok()?, size, root: root.try_into().ok()? })
    };
    read().ok_or_else(|| Failure::Usage("the record's checkpoint is not one".to_owned()))
}

/// Posts the checkpoint to another host's record. It is the checkpoint from before the verification.
async fn on_host(app: &App, folder: &Path, key: (&str, Option<&Path>), socket: PathBuf) -> Outcome {
    let other = Link::new(socket);
    let head = head(&checkpoint(folder)?)?;
    let last = last(&other, &head.origin).await?;
    let tree = last.map(|(size, root)| PathBuf::from(format!("{size}:{}", text::hex(&root))));
    let dir = ("--dir", Some(folder));
    let code = offline(app, &offline_arguments("verify", &[dir, key, ("--tree", tree.as_deref())]))?;
    if code == ExitCode::SUCCESS && last != Some((head.size, head.root)) {
        let post = async |c: ControlClient, cx| c.audit_witness(cx, head.clone()).await;
        other.ask(&method::audit_witness, post).await?;
    }
    Ok(code)
}

/// The latest checkpoint of this log that the other host has on its record.
async fn last(other: &Link, origin: &Name) -> Result<Option<(u64, [u8; 32])>, Failure> {
    let filter = Filter {
        action: Some(Action::CheckpointWitnessed),
        subject: Some(origin.clone()),
        ..Filter::default()
    };
    let stats = other.ask(&method::audit_stats, async |c, cx| c.audit_stats(cx).await).await?;
    let mut end = stats.entries;
    while end > 0 {
        let begin = end.saturating_sub(WINDOW);
        let (mut from, mut found) = (Some(begin), None);
        while let Some(index) = from.filter(|index| *index < end) {
            let ask = async |c: ControlClient, cx| c.audit_query(cx, index, filter.clone()).await;
            let page = other.ask(&method::audit_query, ask).await?;
            found = page
                .records
                .last()
                .and_then(|record| Some((record.event.bytes, record.event.hash?)))
                .or(found);
            from = page.next;
        }
        if found.is_some() {
            return Ok(found);
        }
        end = begin;
    }
    Ok(None)
}

fn hand_over(program: &Path, note: &[u8]) -> std::io::Result<()> {
    #[expect(
        clippy::disallowed_methods,
        reason = "an operator's own program, run as the operator, outside the host"
    )]
    let mut child = Command::new(program).stdin(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(note)?;
    }
    let status = child.wait()?;
    if status.success() { Ok(()) } else { Err(std::io::Error::other(format!("it ended with {status}"))) }
}
