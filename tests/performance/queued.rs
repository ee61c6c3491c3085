//! Accepting a message, and a host that comes back with many of them waiting and a long record: from the exec of agentd
//! to its word that it is ready.

use crate::figure::Figure;
use crate::person::{self, Person};
use crate::spread::Samples;
use crate::{floors, ready};
use audit::bench;
use ipc_proto::control::method;
use nix::sys::signal::Signal;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tests::Setup;

/// Messages that wait.
const QUEUED: usize = 10_000;
/// How many of them are timed.
const TIMED: usize = 200;
/// After one that is timed: what is done with it after it was accepted is none of the next one's time.
const PAUSE: Duration = Duration::from_millis(25);
/// In how many sessions they wait.
const SESSIONS: usize = 20;
const CONFIG: &str = "[router]\nqueue_per_session = 1024\nqueue_total = 16384\n";
/// Entries of the record.
const ENTRIES: u64 = 1_000_000;
/// Times that the host comes back.
const ROUNDS: usize = 5;

/// Its figures.
pub(crate) fn measure() -> io::Result<Vec<Figure>> {
    let state = tempfile::tempdir()?;
    let folder = state.path().join("state");
    let [accept, floor] = kit::bench::run(queue(folder.clone()))??;
    lengthen(&folder.join("audit"))?;
    let back = come_back(state.path(), &folder)?;
    kit::bench::run(check(folder))??;
    Ok(vec![
        Figure::new("message: handed over, durable, acknowledged", "ms", &accept)
            .floor("append of 256 bytes with fdatasync", &floor)
            .at_most_times_floor(2.5),
        Figure::new(format!("agentd killed, to READY: {QUEUED} messages, 1 million entries"), "ms", &back)
            .at_most(2000.0),
    ])
}

/// Leaves a host's state with many messages waiting; how long it took to accept them.
async fn queue(state: PathBuf) -> io::Result<[Samples; 2]> {
    let host = Setup::default().programs(&person::programs()?).config(CONFIG).state(&state).start();
    let person = Person::connect(&host.socket()).await?;
    person.ask(&method::pause, async |control, context| control.pause(context, None, true).await).await?;
    let [mut accept, mut floor] = <[Samples; 2]>::default();
    for number in 0..QUEUED {
        let session = format!("s{}", number % SESSIONS);
        let began = Instant::now();
        person.submit(&session, None, "good morning, and what is new").await?;
        // The first ones make their sessions.
        if (SESSIONS..SESSIONS + TIMED).contains(&number) {
            accept.add_millis(began.elapsed());
            tokio::time::sleep(PAUSE).await;
            floor.append(floors::append(host.dir(), 1)?);
        }
    }
    Ok([accept, floor])
}

/// Adds entries to a host's record, as audit writes them, while the host is not there.
fn lengthen(folder: &Path) -> io::Result<()> {
    let owner = fs::metadata(folder)?;
    bench::fill(folder, ENTRIES)?;
    give(folder, owner.uid(), owner.gid())
}

/// Gives a folder and everything in it to the process that it is of.
fn give(path: &Path, uid: u32, gid: u32) -> io::Result<()> {
    chown(path, Some(uid), Some(gid))?;
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            give(&entry?.path(), uid, gid)?;
        }
    }
    Ok(())
}

fn come_back(dir: &Path, state: &Path) -> io::Result<Samples> {
    let config = dir.join("cordon.toml");
    fs::write(&config, CONFIG)?;
    let mut samples = Samples::default();
    for _ in 0..ROUNDS {
        let took = ready::start(&person::programs()?, state, Some(&config), Signal::SIGKILL)?;
        samples.add_millis(took);
    }
    Ok(samples)
}

/// Returns whether what was waited for was all there.
async fn check(state: PathBuf) -> io::Result<()> {
    let host = Setup::default().programs(&person::programs()?).config(CONFIG).state(&state).start();
    let person = Person::connect(&host.socket()).await?;
    let queue = person.ask(&method::queue, async |control, context| control.queue(context).await).await?;
    let stats =
        person.ask(&method::audit_stats, async |control, context| control.audit_stats(context).await).await?;
    let waiting = usize::try_from(queue.waiting).unwrap_or_default();
    if waiting == QUEUED && stats.entries > ENTRIES {
        return Ok(());
    }
    Err(io::Error::other(format!("{waiting} messages wait, and {} entries are there", stats.entries)))
}
