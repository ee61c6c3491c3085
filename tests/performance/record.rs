//! The record: a durable append through two processes, one by one and many at once, and how fast a log is verified and
//! in how much memory. The other process is audit's own code, unsealed and without agentd.

use crate::call::{self, Calls};
use crate::figure::Figure;
use crate::floors::{self, DEPTH};
use crate::person;
use crate::role::{self, Cores, Peer, Role};
use crate::spread::Samples;
use audit::bench::{self, Served};
use futures::StreamExt;
use ipc_proto::audit::{AuditClient, Serial, method};
use kit::Link;
use manifest::Process;
use sha2::{Digest, Sha256};
use std::cell::Cell;
use std::fs;
use std::hint::black_box;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Rounds, floor and figure in turn.
const ROUNDS: usize = 20;
/// Appends in a round, one by one.
const APPENDS: usize = 100;
/// Appends in a round, [`DEPTH`] at once, and calls of its floor.
const DEEP_APPENDS: usize = 25_600;
/// Edges that they come over.
const EDGES: usize = 8;
/// Entries of the log that is verified, and of the one whose memory is its floor.
const ENTRIES: u64 = 1_000_000;
const FEW: u64 = 10_000;
/// Bytes of one of its entries: what its floor hashes.
const ENTRY: usize = 480;
/// Times that the log is verified.
const PASSES: usize = 5;
/// How often a process is looked at whose memory is measured.
const LOOK: Duration = Duration::from_millis(2);
/// The socket that the serving process waits at, in the folder that it is told.
const SOCKET: &str = "edges";

/// The serving process: it is told a folder, and serves whoever connects to the socket in it.
pub(crate) fn serve(mut stream: UnixStream) -> io::Result<()> {
    let mut folder = String::new();
    BufReader::new(stream.try_clone()?).read_line(&mut folder)?;
    let folder = Path::new(folder.trim_end()).to_owned();
    kit::bench::run(async move {
        let listener = tokio::net::UnixListener::bind(folder.join(SOCKET))?;
        let served = Rc::new(Served::open(&folder.join("audit")).await?);
        stream.write_all(b"\n")?;
        loop {
            let (edge, served) = (listener.accept().await?.0, Rc::clone(&served));
            tokio::task::spawn_local(async move { served.serve(edge, Process::Gate).await });
        }
    })?
}

/// Its figures.
pub(crate) fn measure() -> io::Result<Vec<Figure>> {
    let mut figures = kit::bench::run(async { Bench::start()?.figures().await })??;
    let dir = tempfile::tempdir()?;
    figures.extend(verifying(dir.path())?);
    Ok(figures)
}

/// Audit at the end of some edges, and what its floors need.
struct Bench {
    dir: TempDir,
    peer: Peer,
    links: Vec<Link<AuditClient>>,
    calls: Calls,
    number: Cell<u64>,
}

#[derive(Default)]
struct Sums {
    append: Samples,
    append_floor: Samples,
    spread: Samples,
    spread_floor: Samples,
    rate: Samples,
    rate_floor: Samples,
}

impl Bench {
    fn start() -> io::Result<Self> {
        let dir = tempfile::tempdir()?;
        fs::create_dir(dir.path().join("audit"))?;
        let (mut stream, peer) = role::start(Role::Record)?;
        writeln!(stream, "{}", dir.path().display())?;
        BufReader::new(stream).read_line(&mut String::new())?;
        let link = |_| {
            let stream = call::watched(UnixStream::connect(dir.path().join(SOCKET))?)?;
            Ok(kit::bench::link(stream, Process::Gate))
        };
        let links = (0..EDGES).map(link).collect::<io::Result<_>>()?;
        Ok(Self { dir, peer, links, calls: Calls::start()?, number: Cell::new(0) })
    }

    async fn figures(self) -> io::Result<Vec<Figure>> {
        let mut sums = Sums::default();
        self.round(&mut Sums::default()).await?; // Caches and buffers are warm from here on.
        for _ in 0..ROUNDS {
            self.round(&mut sums).await?;
        }
        let append = "append of 256 bytes with fdatasync";
        Ok(vec![
            Figure::new("durable append, both processes on one core", "ms", &sums.append)
                .floor(append, &sums.append_floor)
                .at_most_times_floor(1.6),
            Figure::new("durable append, cores as they come", "ms", &sums.spread)
                .floor(append, &sums.spread_floor),
            Figure::new("durable appends, 64 at once over 8 edges, 2 cores", "thousand/s", &sums.rate)
                .floor("calls of a link, 64 at once", &sums.rate_floor)
                .at_least_times_floor(0.3),
        ])
    }

    async fn round(&self, sums: &mut Sums) -> io::Result<()> {
        for (cores, append, floor) in [
            (Cores::One, &mut sums.append, &mut sums.append_floor),
            (Cores::All, &mut sums.spread, &mut sums.spread_floor),
        ] {
            role::place(&[&self.peer], cores)?;
            floor.append(floors::append(self.dir.path(), APPENDS)?);
            for link in self.links.iter().cycle().take(APPENDS) {
                let began = Instant::now();
                self.append(link).await?;
                append.add_millis(began.elapsed());
            }
        }
        sums.rate_floor.add(self.calls.deep(DEEP_APPENDS).await? / 1e3);
        let began = Instant::now();
        let links = self.links.iter().cycle().take(DEEP_APPENDS);
        let mut receipts = futures::stream::iter(links).map(|link| self.append(link)).buffer_unordered(DEPTH);
        while let Some(receipt) = receipts.next().await {
            receipt?;
        }
        sums.rate.add(role::per_second(DEEP_APPENDS, began.elapsed()) / 1e3);
        Ok(())
    }

    async fn append(&self, link: &Link<AuditClient>) -> io::Result<()> {
        let number = self.number.get() + 1;
        self.number.set(number);
        let ask = |audit: AuditClient, context| async move {
            audit.append(context, Serial { life: 1, number }, bench::event(number)).await
        };
        let receipt = link.call(&method::append, ask).await.map_err(io::Error::other)?;
        receipt.map(drop).map_err(io::Error::other)
    }
}

/// The offline program on a log of a million entries.
fn verifying(dir: &Path) -> io::Result<Vec<Figure>> {
    let (large, small) = (dir.join("large"), dir.join("small"));
    bench::fill(&large, ENTRIES)?;
    bench::fill(&small, FEW)?;
    let [mut rate, mut floor, mut memory, mut memory_floor] = <[Samples; 4]>::default();
    peak(&large)?; // From here on the log is in the kernel's cache.
    for _ in 0..PASSES {
        let began = Instant::now();
        verify(&large, |_| Ok(()))?;
        rate.add(thousands(began.elapsed()));
        let began = Instant::now();
        for _ in 0..ENTRIES {
            black_box(Sha256::digest(black_box([7_u8; ENTRY])));
        }
        floor.add(thousands(began.elapsed()));
        memory.add(peak(&large)?);
        memory_floor.add(peak(&small)?);
    }
    Ok(vec![
        Figure::new("verify of 1 million entries, one core", "thousand/s", &rate)
            .floor(format!("SHA-256 of {ENTRY} bytes"), &floor)
            .at_least(1000.0),
        Figure::new("verify of 1 million entries, most memory", "MiB", &memory)
            .floor("verify of 10 thousand", &memory_floor)
            .at_most_times_floor(1.5),
    ])
}

/// Verifies a log, and looks at the process until it ends.
fn verify(folder: &Path, mut look: impl FnMut(&Child) -> io::Result<()>) -> io::Result<()> {
    let mut command = Command::new(person::programs()?.join("audit"));
    command.args(["--offline", "verify", "--json", "--dir"]).arg(folder).stdout(Stdio::null());
    let mut child = command.spawn()?;
    look(&child)?;
    let status = child.wait()?;
    if status.success() { Ok(()) } else { Err(io::Error::other("a log that holds was refused")) }
}

/// The most memory that verifying a log takes, MiB: the kernel's high-water mark, which only rises.
fn peak(folder: &Path) -> io::Result<f64> {
    let mut most = 0.0_f64;
    verify(folder, |child| {
        // A process that has ended has no memory, and stays until it is waited for.
        while let Some(now) = high_water(child.id())? {
            most = most.max(now);
            sleep(LOOK);
        }
        Ok(())
    })?;
    Ok(most)
}

fn high_water(pid: u32) -> io::Result<Option<f64>> {
    let text = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    Ok(line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok()).map(|kib| kib / 1024.0))
}

/// Entries a second, in thousands.
fn thousands(took: Duration) -> f64 {
    role::per_second(usize::try_from(ENTRIES).unwrap_or(usize::MAX), took) / 1e3
}
