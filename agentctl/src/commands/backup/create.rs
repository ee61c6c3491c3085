//! `backup create`: every process stands still while the state is copied beside itself, and goes on before anything is
//! summed, sealed or written. A copy that may not be of one instant is thrown away.

use super::contents::{Contents, FORMAT};
use super::data::Stop;
use super::keys::SealWith;
use super::staging::{self, Copied, Staging};
use super::{verify, write};
use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::failure::backup::Fault;
use crate::interrupt::Interrupt;
use crate::link::Link;
use crate::{host, text};
use ipc_proto::control::method;
use manifest::schemas;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The longest time that the processes can stand still.
const STILL_MS: u32 = 30_000;
/// The deadline of the copy, before the processes go on by themselves.
const COPYING: Duration = Duration::from_millis(28_000);
/// Bytes of a database's log that are looked at for its version.
const LOG: u64 = 256 << 20;
/// Bytes of a signed note.
const NOTE: u64 = 1 << 16;

/// `backup create`.
#[derive(clap::Args)]
pub(crate) struct Create {
    /// The file to write; an existing file is never overwritten
    file: PathBuf,
    #[command(flatten)]
    seal: SealWith,
    /// Include the vault with its key, and the record's signing key
    #[arg(long)]
    with_secrets: bool,
}

/// Makes a backup.
pub(super) async fn create(app: &App, create: Create) -> Outcome {
    if create.file.symlink_metadata().is_ok() {
        return Err(Fault::Exists(create.file).into());
    }
    // Asked for before anything stands still.
    let lock = create.seal.lock()?;
    let host = host::status(app).await?;
    let state = PathBuf::from(&*host.state_dir);
    readable(&state)?;
    let staging = Staging::beside(&state)?;
    let (copied, still) = still(app, &state, staging.path(), create.with_secrets).await?;
    let contents = contents(copied, staging.path(), create.with_secrets)?;
    let bytes = write::write(&create.file, &lock, &contents, staging.path())?;
    for left in &contents.left_out {
        app.out.remark(&format!("not in the backup: {}: {}", left.path, left.why));
    }
    let millis = u64::try_from(still.as_millis()).unwrap_or(u64::MAX);
    let document = json!({
        "file": create.file.to_string_lossy(),
        "bytes": bytes,
        "members": contents.members.len(),
        "secrets": contents.secrets,
        "still_ms": millis,
        "left_out": contents.left_out,
    });
    let secrets = if contents.secrets { "with" } else { "without" };
    let sentence = format!(
        "{} holds {} members ({} bytes before sealing), {secrets} secrets; the host stood still for {millis} ms",
        create.file.display(),
        contents.members.len(),
        verify::bytes(&contents),
    );
    Ok(app.out.done(document, &sentence)?)
}

/// Only root, or the user whose host it is, can read what the processes keep from each other.
fn readable(state: &Path) -> Result<(), Failure> {
    let record = state.join("audit");
    match std::fs::read_dir(&record) {
        Ok(_) => Ok(()),
        Err(cause) => Err(Failure::File { path: record, cause }),
    }
}

/// Copies while every process stands still, and returns the time that they did. They go on even if the copy fails.
async fn still(
    app: &App,
    state: &Path,
    staging: &Path,
    secrets: bool,
) -> Result<(Copied, Duration), Failure> {
    let interrupt = Interrupt::new()?;
    let began = Instant::now();
    app.link.ask(&method::freeze, async |c, cx| c.freeze(cx, STILL_MS).await).await?;
    let copied = copy(state, staging, secrets, began + COPYING, &interrupt).await;
    let stood = thaw(&app.link).await;
    let took = began.elapsed();
    let copied = copied?;
    // Both the host and this clock must agree: another copy may have stopped the processes again since.
    if !stood? || took >= Duration::from_millis(STILL_MS.into()) {
        return Err(Fault::NotStill("they went on before it was finished".to_owned()).into());
    }
    Ok((copied, took))
}

async fn thaw(link: &Link) -> Result<bool, Failure> {
    link.ask(&method::thaw, async |c, cx| c.thaw(cx).await).await
}

/// Copies on another thread, so that Ctrl-C ends the copy: the processes must not stand still for nothing.
async fn copy(
    state: &Path,
    staging: &Path,
    secrets: bool,
    until: Instant,
    interrupt: &Interrupt,
) -> Result<Copied, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let (state, staging, stopped) = (state.to_owned(), staging.to_owned(), Arc::clone(&stop));
    let mut copying = tokio::task::spawn_blocking(move || {
        let go_on = || match (stopped.load(Ordering::Relaxed), Instant::now() > until) {
            (true, _) => Err(Stop::Interrupted),
            (_, true) => Err(Stop::Late),
            _ => Ok(()),
        };
        staging::copy(&state, &staging, secrets, &go_on)
    });
    let copied = tokio::select! {
        copied = &mut copying => copied,
        () = interrupt.pressed() => {
            stop.store(true, Ordering::Relaxed);
            copying.await
        }
    };
    copied.map_err(|error| Failure::Output(error.into()))?
}

/// Makes the manifest of a copy, after the processes go on: sums, versions, and the record's last signed note.
fn contents(copied: Copied, staging: &Path, secrets: bool) -> Result<Contents, Failure> {
    let Copied { mut members, left_out } = copied;
    write::sum(&mut members, staging)?;
    let mut schemas = BTreeMap::new();
    for database in schemas::DATABASES {
        let path = database.path();
        if let Some(version) = version(&staging.join(&path))? {
            schemas.insert(path, version);
        }
    }
    let checkpoint = head(&staging.join("audit/checkpoint"), NOTE)?;
    Ok(Contents {
        format: FORMAT,
        cordon: env!("CARGO_PKG_VERSION").to_owned(),
        made_ms: text::now_ms(),
        secrets,
        schemas,
        checkpoint: checkpoint.map(|note| String::from_utf8_lossy(&note).into_owned()),
        members,
        left_out,
    })
}

/// The version of a database; `None` if it is not there.
fn version(path: &Path) -> Result<Option<u32>, Failure> {
    let Some(first) = head(path, schemas::HEAD as u64)? else { return Ok(None) };
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let log = head(Path::new(&log), LOG)?.unwrap_or_default();
    Ok(schemas::version(&first, &log))
}

/// The first bytes of a file; `None` if it is not there.
fn head(path: &Path, most: u64) -> Result<Option<Vec<u8>>, Failure> {
    let failed = |cause| Failure::File { path: path.to_owned(), cause };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).map_err(failed)?;
    Ok(Some(bytes))
}
