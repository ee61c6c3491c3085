//! A call over an edge of kit, 1 KiB each way, between two processes: gate asks scanner, which answers with the
//! text it was given. The text crosses as bytes with one length before them, as a `Blob` does, and is looked at
//! for UTF-8 besides.

use crate::figure::Figure;
use crate::floors::{DEPTH, MESSAGE, PingPong};
use crate::role::{self, Role};
use crate::spread::Samples;
use futures::StreamExt;
use ipc_proto::scanner::{self, Direction, Release, SCAN_BOUND, Scanner, ScannerClient, Verdict, method};
use ipc_proto::{Name, Text};
use kit::Link;
use manifest::Process;
use std::io;
use std::os::unix::net::UnixStream;
use std::time::Instant;
use tarpc::context::Context;
use tokio::task::LocalSet;

/// Rounds, floor and figure in turn, so that what else the machine does meets both.
const ROUNDS: usize = 20;
/// Calls in a round, one by one.
const CALLS: usize = 5_000;
/// Calls in a round, [`DEPTH`] at once.
const DEEP_CALLS: usize = 64_000;

/// Answers with what it was given.
#[derive(Clone)]
struct Mirror;

impl Scanner for Mirror {
    async fn scan(self, _: Context, _: Direction, _: Text<SCAN_BOUND>, _: Option<Name>) -> Verdict {
        let class = ipc_proto::label::Class::Public;
        let rules = ipc_proto::List::default();
        Verdict { judgement: scanner::Judgement::Pass, score: 0, rules, canary_leaked: false, class, redacted: None }
    }

    async fn hold_back(self, _: Context, pending: Text<SCAN_BOUND>, _: bool, _: Option<Name>) -> Release {
        Release { text: pending, consumed: 0, canary_leaked: false, redactions: 0 }
    }
}

fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

fn watched(stream: UnixStream) -> io::Result<tokio::net::UnixStream> {
    stream.set_nonblocking(true)?;
    tokio::net::UnixStream::from_std(stream)
}

/// The serving process.
pub(crate) fn serve(stream: UnixStream) -> io::Result<()> {
    kit::bench::log();
    LocalSet::new().block_on(&runtime()?, async {
        let edge = kit::bench::edge(watched(stream)?, Process::Scanner, Process::Gate);
        edge.serve(scanner::FRAME_BOUND, Mirror.serve()).await;
        Ok(())
    })
}

/// Both figures.
pub(crate) fn measure() -> io::Result<Vec<Figure>> {
    kit::bench::log();
    let mut floor = PingPong::start()?;
    let (stream, _peer) = role::start(Role::Edge)?;
    let (local, runtime) = (LocalSet::new(), runtime()?);
    let link = local.block_on(&runtime, async { Ok::<_, io::Error>(kit::bench::link(watched(stream)?, Process::Gate)) })?;
    let (mut one, mut one_floor) = (Samples::default(), Samples::default());
    let (mut deep, mut deep_floor) = (Samples::default(), Samples::default());
    for round in 0..=ROUNDS {
        let here_floor = floor.one_by_one(CALLS)?;
        let here = local.block_on(&runtime, one_by_one(&link, CALLS))?;
        let here_deep_floor = floor.batched(DEEP_CALLS)?;
        let here_deep = local.block_on(&runtime, deeply(&link, DEEP_CALLS))?;
        if round == 0 {
            continue; // Caches, buffers and clocks of the processor are warm from here on.
        }
        one_floor.append(here_floor);
        one.append(here);
        deep_floor.add(here_deep_floor / 1e3);
        deep.add(here_deep / 1e3);
    }
    Ok(vec![
        Figure::new("call, 1 KiB each way, caller checked", "us", &one)
            .floor("blocking ping-pong over a Unix socket", &one_floor)
            .at_most_times_floor(2.2),
        Figure::new("calls, 64 at once, 2 processes", "thousand/s", &deep)
            .floor("blocking ping-pong, 64 messages a write", &deep_floor)
            .at_least(200.0),
    ])
}

async fn ask(link: &Link<ScannerClient>, text: &Text<SCAN_BOUND>) -> io::Result<()> {
    let reply = link.call(&method::hold_back, |scanner, context| {
        let text = text.clone();
        async move { scanner.hold_back(context, text, true, None).await }
    });
    let release = reply.await.map_err(io::Error::other)?;
    if release.text == *text { Ok(()) } else { Err(io::Error::other("another text came back")) }
}

fn message() -> io::Result<Text<SCAN_BOUND>> {
    Text::new("m".repeat(MESSAGE)).map_err(io::Error::other)
}

async fn one_by_one(link: &Link<ScannerClient>, calls: usize) -> io::Result<Samples> {
    let (text, mut samples) = (message()?, Samples::default());
    for _ in 0..calls {
        let began = Instant::now();
        ask(link, &text).await?;
        samples.add_micros(began.elapsed());
    }
    Ok(samples)
}

/// Calls a second with [`DEPTH`] of them under way.
async fn deeply(link: &Link<ScannerClient>, calls: usize) -> io::Result<f64> {
    let text = message()?;
    let began = Instant::now();
    let mut answers = futures::stream::iter(0..calls).map(|_| ask(link, &text)).buffer_unordered(DEPTH);
    while let Some(answer) = answers.next().await {
        answer?;
    }
    Ok(role::per_second(calls, began.elapsed()))
}
