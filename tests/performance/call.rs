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
        Verdict {
            judgement: scanner::Judgement::Pass,
            score: 0,
            rules,
            canary_leaked: false,
            class,
            redacted: None,
        }
    }

    async fn hold_back(self, _: Context, pending: Text<SCAN_BOUND>, _: bool, _: Option<Name>) -> Release {
        Release { text: pending, consumed: 0, canary_leaked: false, redactions: 0 }
    }
}

enum Rt {
    Set(tokio::runtime::Runtime, LocalSet),
    Local(tokio::runtime::LocalRuntime),
}
impl Rt {
    fn block_on<F: std::future::Future + 'static>(&self, f: F) -> F::Output
    where
        F::Output: 'static,
    {
        let spawned = async move {
            if std::env::var("SPAWN").is_ok() { tokio::task::spawn_local(f).await.unwrap() } else { f.await }
        };
        match self {
            Rt::Set(r, l) => l.block_on(r, spawned),
            Rt::Local(r) => r.block_on(spawned),
        }
    }
}
fn runtime() -> io::Result<Rt> {
    let mut b = tokio::runtime::Builder::new_current_thread();
    b.enable_all();
    let rt = if std::env::var("LOCAL").is_ok() {
        Rt::Local(b.build_local(Default::default())?)
    } else {
        Rt::Set(b.build()?, LocalSet::new())
    };
    if std::env::var("BEAT").is_ok() {
        rt.block_on(async {
            tokio::task::spawn_local(async {
                let mut t = tokio::time::interval(std::time::Duration::from_secs(1));
                loop {
                    t.tick().await;
                }
            });
        });
    }
    Ok(rt)
}

fn watched(stream: UnixStream) -> io::Result<tokio::net::UnixStream> {
    stream.set_nonblocking(true)?;
    tokio::net::UnixStream::from_std(stream)
}

/// The serving process.
pub(crate) fn serve(stream: UnixStream) -> io::Result<()> {
    kit::bench::log();
    runtime()?.block_on(async move {
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
    let runtime = runtime()?;
    let link = runtime
        .block_on(async move { Ok::<_, io::Error>(kit::bench::link(watched(stream)?, Process::Gate)) })?;
    let (mut one, mut one_floor) = (Samples::default(), Samples::default());
    let (mut deep, mut deep_floor) = (Samples::default(), Samples::default());
    for round in 0..=ROUNDS {
        let here_floor = floor.one_by_one(CALLS)?;
        let here = runtime.block_on(one_by_one(link.clone(), CALLS))?;
        let here_deep_floor = floor.batched(DEEP_CALLS)?;
        let here_deep = runtime.block_on(deeply(link.clone(), DEEP_CALLS))?;
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

async fn one_by_one(link: Link<ScannerClient>, calls: usize) -> io::Result<Samples> {
    let (text, mut samples) = (message()?, Samples::default());
    for _ in 0..calls {
        let began = Instant::now();
        ask(&link, &text).await?;
        samples.add_micros(began.elapsed());
    }
    Ok(samples)
}

/// Calls a second with [`DEPTH`] of them under way.
async fn deeply(link: Link<ScannerClient>, calls: usize) -> io::Result<f64> {
    let text = message()?;
    let began = Instant::now();
    let mut answers = futures::stream::iter(0..calls).map(|_| ask(&link, &text)).buffer_unordered(DEPTH);
    while let Some(answer) = answers.next().await {
        answer?;
    }
    Ok(role::per_second(calls, began.elapsed()))
}
