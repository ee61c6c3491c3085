//! `agentctl report`: writes a redacted report for a bug report. It has versions, the doctor's rows, the table, the state of
//! the host, the configuration's keys without their values, and log lines in which the scanner finds nothing.
//!
//! It needs no running host. It must never hold a message, a name that a person gave, a value of the configuration or a
//! secret, and never overwrite a file.

mod log;
mod redact;

use crate::app::{App, Outcome};
use crate::commands::{attest, doctor, rows, status};
use crate::failure::Failure;
use crate::{atomic_file, host, text};
use ipc_proto::PROTOCOL_VERSION;
use nix::sys::utsname::uname;
use serde_json::{Value, json};
use std::io;
use std::path::{Path, PathBuf};
use tar::{Builder, EntryType, Header};

/// The text at the head of the bundle, before the list of its members.
const ABOUT: &str = "A report about a Cordon host, made by `agentctl report` for whoever looks into a fault.\n\
    Left out: messages, sessions, memories, workspaces, the record, secrets, values of the configuration, and log lines\n\
    in which the scanner found anything. Paths beneath the home directory begin with ~.\n\
    Read it before you hand it on.\n\n";

/// `report`.
#[derive(clap::Args)]
pub(crate) struct Report {
    /// The tar archive to write, never over an existing file; by default one in the current directory
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The configuration file; the usual one by default
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// A member of the bundle: its name, what it is, and its text.
struct Member {
    name: String,
    is: &'static str,
    text: String,
}

impl Member {
    fn new(name: impl Into<String>, is: &'static str, text: impl Into<String>) -> Self {
        Self { name: name.into(), is, text: text.into() }
    }

    fn json(name: &str, is: &'static str, value: &Value) -> Self {
        Self::new(name, is, format!("{value:#}\n"))
    }

    /// A member with the host's answer, or with the reason why there is none.
    fn answer(name: &str, is: &'static str, answer: Result<Value, Failure>) -> Self {
        let value = answer.unwrap_or_else(|failure| json!({ "none": failure.kind() }));
        Self::json(name, is, &value)
    }
}

/// Makes a report.
pub(crate) async fn report(app: &App, report: &Report) -> Outcome {
    let usual = || PathBuf::from(format!("cordon-report-{}.tar", text::now_ms()));
    let file = report.out.clone().unwrap_or_else(usual);
    if file.symlink_metadata().is_ok() {
        return Err(Failure::File { path: file, cause: io::ErrorKind::AlreadyExists.into() });
    }
    let members = collect(app, report).await;
    let written = write(&file, &members);
    written.map_err(|cause| Failure::File { path: file.clone(), cause })?;
    let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
    let sentence = format!("{} holds {}; read it before you hand it on", file.display(), names.join(", "));
    Ok(app.out.done(json!({ "file": file.to_string_lossy(), "members": names }), &sentence)?)
}

async fn collect(app: &App, report: &Report) -> Vec<Member> {
    let status = host::status(app).await;
    let config = report.config.clone().or_else(doctor::config);
    let mut members = vec![
        Member::json("versions.json", "versions of the programs, the kernel and the system", &versions()),
        Member::json(
            "doctor.json",
            "what `agentctl doctor` finds",
            &doctor::rows(app, report.config.clone()).await,
        ),
        Member::json("manifest.json", "the table of privilege", &manifest()),
        Member::answer(
            "status.json",
            "the host and its processes",
            status.as_ref().map(status::document).map_err(none),
        ),
        Member::answer("attest.json", "the kernel's word beside the table's", attest::compared(app).await),
        Member::answer("queue.json", "what waits and what runs, in numbers", numbers(app).await),
        Member::new("config.txt", "keys of the configuration, without values", keys(config.as_deref())),
    ];
    members.extend(log::members(app, status.ok().as_ref()).await);
    for member in &mut members {
        member.text = redact::home(&member.text);
    }
    let list: String = members.iter().map(|it| format!("{:<20} {}\n", it.name, it.is)).collect();
    members.insert(0, Member::new("README", "this list", format!("{ABOUT}{list}")));
    members
}

/// The failure as a copy with its kind alone.
fn none(failure: &Failure) -> Failure {
    Failure::Turn { kind: failure.kind(), message: String::new() }
}

fn versions() -> Value {
    let system = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let of = |key: &str| {
        let value = system.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        value.map(|value| value.trim_matches('"').to_owned())
    };
    // Without the host name, which a person chose.
    let kernel = uname().ok().map(|name| {
        [name.sysname(), name.release(), name.version(), name.machine()]
            .map(|part| part.to_string_lossy().into_owned())
            .join(" ")
    });
    json!({
        "agentctl": env!("CARGO_PKG_VERSION"),
        "protocol": PROTOCOL_VERSION,
        "kernel": kernel,
        "system": of("PRETTY_NAME"),
        "systemd": Path::new("/run/systemd/system").exists(),
    })
}

fn manifest() -> Value {
    json!({ "processes": manifest::TABLE.iter().map(rows::row).collect::<Vec<_>>() })
}

async fn numbers(app: &App) -> Result<Value, Failure> {
    let queue = host::queue(app).await?;
    let paused_sessions = queue.paused_sessions.len();
    Ok(json!({
        "waiting": queue.waiting,
        "running": queue.running,
        "dead": queue.dead,
        "paused": queue.paused,
        "paused_sessions": paused_sessions,
    }))
}

fn keys(config: Option<&Path>) -> String {
    match config.map(std::fs::read_to_string) {
        None => "no file at the usual place; the defaults apply\n".to_owned(),
        Some(Ok(text)) => redact::keys(&text),
        Some(Err(error)) => format!("it cannot be read: {}\n", error.kind()),
    }
}

/// Writes the file whole or not at all, with mode 0600.
fn write(file: &Path, members: &[Member]) -> io::Result<()> {
    let mut archive = Builder::new(atomic_file::beside(file)?);
    for member in members {
        let mut head = Header::new_gnu();
        head.set_entry_type(EntryType::Regular);
        head.set_mode(0o600);
        head.set_mtime(text::now_ms() / 1000);
        head.set_size(member.text.len() as u64);
        archive.append_data(&mut head, &member.name, member.text.as_bytes())?;
    }
    let new = archive.into_inner()?;
    new.as_file().sync_all()?;
    new.persist_noclobber(file).map_err(|error| error.error)?;
    Ok(())
}
