//! A call over an edge of kit, 1 KiB each way, between two processes: gate asks scanner, which answers with the
//! text it was given. The text crosses as bytes with one length before them, as a `Blob` does, and is looked at
//! for UTF-8 besides.

use crate::figure::Figure;
use crate::floors::{DEPTH, MESSAGE, PingPong};
use crate::role::{self, Cores, Peer, Role};
use crate::spread::Samples;
use futures::StreamExt;
use ipc_proto::scanner::{
    self, Judgement, Release, SCAN_BOUND, Scanner, ScannerClient, Subject, Verdict, method,
};
use ipc_proto::{List, Name, Text};
use kit::Link;
use manifest::Process;
use std::io;
use std::os::unix::net::UnixStream;
use std::time::Instant;
use tarpc::context::Context;

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
    async fn scan(self, _: Context, subject: Subject, _: Text<SCAN_BOUND>) -> Verdict {
        Verdict {
            judgement: Judgement::Pass,
            score: 0,
            rules: List::default(),
            canary_leaked: false,
            class: ipc_proto::label::Class::Public,
            redacted: None,
            threats: List::default(),
            spans: List::default(),
            held_secret: false,
            conversation: subject.conversation,
        }
    }

    async fn hold_back(self, _: Context, pending: Text<SCAN_BOUND>, _: bool, _: Option<Name>) -> Release {
        Release { text: pending, consumed: 0, canary_leaked: false, redactions: 0 }
    }
}

/// The serving process.
pub(crate) fn serve(stream: UnixStream) -> io::Result<()> {
    kit::bench::run(async {
        let edge = kit::bench::edge(watched(stream)?, Process::Scanner, Process::Gate);
        edge.serve(scanner::FRAME_BOUND, Mirror.serve()).await;
        Ok(())
    })?
}

pub(crate) fn watched(stream: UnixStream) -> io::Result<tokio::net::UnixStream> {
    stream.set_nonblocking(true)?;
    tokio::net::UnixStream::from_std(stream)
}

/// Its figures.
pub(crate) fn measure() -> io::Result<Vec<Figure>> {
    kit::bench::run(async { Bench::start()?.figures().await })?
}

/// Both kinds of peer.
struct Bench {
    floor: PingPong,
    calls: Calls,
}

/// A link, and the process at its other end.
pub(crate) struct Calls {
    link: Link<ScannerClient>,
    peer: Peer,
    text: Text<SCAN_BOUND>,
}

/// The result of one way of sharing the cores.
#[derive(Default)]
struct Sums {
    call: Samples,
    call_floor: Samples,
    rate: Samples,
    rate_floor: Samples,
}

impl Bench {
    fn start() -> io::Result<Self> {
        Ok(Self { floor: PingPong::start()?, calls: Calls::start()? })
    }

    async fn figures(mut self) -> io::Result<Vec<Figure>> {
        let (mut together, mut apart) = (Sums::default(), Sums::default());
        self.round(&mut Sums::default()).await?; // Caches, buffers and the processor's clock are warm from here on.
        for _ in 0..ROUNDS {
            self.place(Cores::One)?;
            self.round(&mut together).await?;
            self.place(Cores::All)?;
            self.round(&mut apart).await?;
        }
        let rate = "thousand/s";
        let (ping, pings) = ("blocking ping-pong", "blocking ping-pong, 64 messages a write");
        Ok(vec![
            Figure::new("call, 1 KiB each way, both ends on one core", "us", &together.call)
                .floor(ping, &together.call_floor)
                .at_most_times_floor(2.2),
            Figure::new("call, 1 KiB each way, cores as they come", "us", &apart.call)
                .floor(ping, &apart.call_floor),
            Figure::new("calls, 64 at once, 2 cores", rate, &apart.rate)
                .floor(pings, &apart.rate_floor)
                .at_least(200.0),
            Figure::new("calls, 64 at once, both ends on one core", rate, &together.rate)
                .floor(pings, &together.rate_floor),
        ])
    }

    fn place(&self, cores: Cores) -> io::Result<()> {
        role::place(&[&self.calls.peer, self.floor.peer()], cores)
    }

    async fn round(&mut self, sums: &mut Sums) -> io::Result<()> {
        sums.call_floor.append(self.floor.one_by_one(CALLS)?);
        for _ in 0..CALLS {
            let began = Instant::now();
            self.calls.ask().await?;
            sums.call.add_micros(began.elapsed());
        }
        sums.rate_floor.add(self.floor.batched(DEEP_CALLS)? / 1e3);
        sums.rate.add(self.calls.deep(DEEP_CALLS).await? / 1e3);
        Ok(())
    }
}

impl Calls {
    /// To be started by a task of the event loop.
    pub(crate) fn start() -> io::Result<Self> {
        let (stream, peer) = role::start(Role::Edge)?;
        let link = kit::bench::link(watched(stream)?, Process::Gate);
        let text = Text::new("m".repeat(MESSAGE)).map_err(io::Error::other)?;
        Ok(Self { link, peer, text })
    }

    /// Calls a second, [`DEPTH`] at once.
    pub(crate) async fn deep(&self, calls: usize) -> io::Result<f64> {
        let began = Instant::now();
        let mut answers = futures::stream::iter(0..calls).map(|_| self.ask()).buffer_unordered(DEPTH);
        while let Some(answer) = answers.next().await {
            answer?;
        }
        Ok(role::per_second(calls, began.elapsed()))
    }

    async fn ask(&self) -> io::Result<()> {
        let ask = |scanner: ScannerClient, context| {
            let text = self.text.clone();
            async move { scanner.hold_back(context, text, true, None).await }
        };
        let release = self.link.call(&method::hold_back, ask).await.map_err(io::Error::other)?;
        if release.text == self.text { Ok(()) } else { Err(io::Error::other("another text came back")) }
    }
}
