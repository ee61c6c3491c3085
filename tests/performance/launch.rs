//! From the request for a runner to one that is sealed in its jail with its workspace and says hello; from work to a file
//! that a runner which waited has written; a hundred at once; and what one that waits weighs.

use crate::figure::Figure;
use crate::floors;
use crate::jailed::{Jailed, Jails};
use crate::rivals;
use crate::spread::Samples;
use ipc_proto::channel::{FILE_PIECE, SENT_BYTES};
use ipc_proto::egress;
use ipc_proto::engine::{EngineEvent, STATE, Token};
use ipc_proto::gate::RelayError;
use ipc_proto::ids::CallId;
use ipc_proto::model::{Message, ModelName, Piece, Request, StreamId};
use ipc_proto::router::{Input, STEERING_BOUND, STEERING_MESSAGES, Task};
use ipc_proto::runner_gate::{
    CompletionState, EffectState, Ending, FRAME_BOUND, GateError, NetworkError, RunnerGate, Work,
};
use ipc_proto::tool::ToolResult;
use ipc_proto::{Blob, List, Text, mcp};
use manifest::Process;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};
use tarpc::context::Context;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

const ROUNDS: usize = 20;
/// Launches of one kind in a round.
const LAUNCHES: usize = 10;
/// From one to the next where they are spaced.
const SPACED: Duration = Duration::from_millis(20);
/// Sessions that begin at once.
const AT_ONCE: usize = 100;
/// Runners that wait: the default of `host.warm_runners`.
const WARM: usize = 8;
/// Until a runner that waits has settled.
const SETTLED: Duration = Duration::from_secs(1);
/// The file that is written into the workspace.
const FILE: &str = "written";
const BYTES: &[u8] = b"by a runner";

/// Its figures. To be the first of all sets: a thread that another left would keep this process out of a jail's mounts.
pub(crate) fn measure() -> io::Result<Vec<Figure>> {
    let mut jails = Jails::prepare()?;
    let first = at_once(&mut jails)?;
    let mut figures = cold(&mut jails)?;
    let (jails, bound) = kit::bench::run(warm(jails))?;
    figures.extend(bound?);
    figures.extend(together(jails, &first)?);
    Ok(figures)
}

/// One by one, at once and spaced, beside what others take for the same.
fn cold(jails: &mut Jails) -> io::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    let rivals: Vec<_> =
        rivals::all(&jails.workspace()).into_iter().filter(rivals::Rival::is_there).collect();
    for (pause, how) in [(Duration::ZERO, "one after the other"), (SPACED, "20 ms apart")] {
        let [mut ours, mut spawn] = <[Samples; 2]>::default();
        let mut theirs: Vec<Samples> = rivals.iter().map(|_| Samples::default()).collect();
        for round in 0..=ROUNDS {
            let mut launched = Samples::default();
            for _ in 0..LAUNCHES {
                jails.rest()?;
                std::thread::sleep(pause);
                launched.add_millis(one(jails)?);
            }
            let spawned = floors::spawn(LAUNCHES)?;
            for (rival, samples) in rivals.iter().zip(&mut theirs) {
                samples.append(rival.measure(if round == 0 { 1 } else { LAUNCHES }, pause)?);
            }
            if round > 0 {
                ours.append(launched);
                spawn.append(spawned);
            }
        }
        let name = format!("cold launch, to a sealed runner with its workspace, {how}");
        figures.push(Figure::new(name, "ms", &ours).floor("posix_spawn of /bin/true, to its end", &spawn));
        for (rival, samples) in rivals.iter().zip(&theirs) {
            let floor = format!("{}, the same mounts, to the end of /bin/true", rival.name);
            let figure = Figure::new(format!("– the same beside {}", rival.name), "ms", &ours);
            figures.push(figure.floor(floor, samples).at_most_times_floor(rival.share));
        }
    }
    Ok(figures)
}

fn one(jails: &mut Jails) -> io::Result<Duration> {
    let began = Instant::now();
    let mut runner = jails.launch(0)?;
    jails.bind(&runner)?;
    runner.ready()?;
    Ok(began.elapsed())
}

/// Runners that waited, each given one thing to do.
async fn warm(mut jails: Jails) -> (Jails, io::Result<Vec<Figure>>) {
    let figures = bound(&mut jails).await;
    (jails, figures)
}

async fn bound(jails: &mut Jails) -> io::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (pause, how) in [(Duration::ZERO, "one after the other"), (SPACED, "20 ms apart")] {
        let [mut attached, mut written] = <[Samples; 2]>::default();
        for round in 0..=ROUNDS {
            let waiting = (0..WARM).map(|slot| jails.launch(slot)).collect::<io::Result<Vec<_>>>()?;
            tokio::time::sleep(SPACED).await;
            for runner in waiting {
                if !pause.is_zero() {
                    tokio::time::sleep(pause).await;
                }
                let (bind, all) = given(jails, runner).await?;
                if round > 0 {
                    attached.add_millis(bind);
                    written.add_millis(all);
                }
            }
        }
        let name = format!("warm: bound, its work asked for and a file written, {how}");
        figures.push(Figure::new(name, "ms", &written).at_most(0.3));
        figures.push(Figure::new("– of it until it has its workspace", "ms", &attached));
    }
    Ok(figures)
}

/// From work for a runner to its file: until it has its workspace, and until it has said that it is done.
async fn given(jails: &mut Jails, runner: Jailed) -> io::Result<(Duration, Duration)> {
    let path = jails.workspace().join(FILE);
    drop(std::fs::remove_file(&path));
    let began = Instant::now();
    jails.bind(&runner)?;
    let bind = began.elapsed();
    let edge =
        kit::bench::edge(crate::call::watched(runner.gate.try_clone()?)?, Process::Gate, Process::Runner);
    let (done, mut heard) = unbounded_channel();
    tokio::task::spawn_local(async move { edge.serve(FRAME_BOUND, OneFile(done).serve()).await });
    let said = heard.recv().await;
    let kept = std::fs::read(&path).is_ok_and(|kept| kept == BYTES);
    match (said, kept) {
        (Some((Ending::Exited { status: 0 }, at)), true) => Ok((bind, at.duration_since(began))),
        (said, _) => Err(io::Error::other(format!("the runner wrote nothing: {said:?}"))),
    }
}

/// A hundred requests in one moment, some of which find a runner that waits.
fn together(mut jails: Jails, first: &Burst) -> io::Result<Vec<Figure>> {
    let mut sums = Burst::default();
    for _ in 0..ROUNDS {
        sums.append(at_once(&mut jails)?);
    }
    let weights = weigh(&mut jails)?;
    Ok(vec![
        Figure::new("100 at once, 8 of them warm: p99 of a launch", "ms", &sums.p99).at_most(150.0),
        Figure::new("– launches a second", "1/s", &sums.rate).at_least(600.0),
        Figure::new("– p99 where no slot was ever used before", "ms", &first.p99),
        Figure::new("PSS of a runner that waits, one of 8", "MiB", &weights).at_most(1.5),
    ])
}

/// The result of one or more bursts.
#[derive(Default)]
struct Burst {
    p99: Samples,
    rate: Samples,
}

impl Burst {
    fn append(&mut self, other: Self) {
        self.p99.append(other.p99);
        self.rate.append(other.rate);
    }
}

#[expect(clippy::cast_precision_loss, reason = "a hundred")]
fn at_once(jails: &mut Jails) -> io::Result<Burst> {
    jails.slots(WARM)?;
    let mut warm = (0..WARM).map(|slot| jails.launch(slot)).collect::<io::Result<Vec<_>>>()?;
    for runner in &mut warm {
        runner.ready()?;
    }
    let (began, mut launched, mut took) = (Instant::now(), Vec::new(), Samples::default());
    for runner in warm {
        jails.bind(&runner)?;
        took.add_millis(began.elapsed());
        launched.push((runner, true));
    }
    for slot in WARM..AT_ONCE {
        jails.slots(slot + 1)?;
        let runner = jails.launch(slot)?;
        jails.bind(&runner)?;
        launched.push((runner, false));
        look(&mut launched, began, &mut took, PollTimeout::ZERO)?;
    }
    while launched.iter().any(|(_, ready)| !ready) {
        look(&mut launched, began, &mut took, PollTimeout::NONE)?;
    }
    let mut burst = Burst::default();
    burst.rate.add(AT_ONCE as f64 / began.elapsed().as_secs_f64());
    burst.p99.add(took.spread().map_or(f64::NAN, |spread| spread.p99));
    Ok(burst)
}

/// Notes which of them have said hello by now.
fn look(
    launched: &mut [(Jailed, bool)],
    began: Instant,
    took: &mut Samples,
    patience: PollTimeout,
) -> io::Result<()> {
    let mut open: Vec<&mut (Jailed, bool)> = launched.iter_mut().filter(|(_, ready)| !ready).collect();
    let mut polled: Vec<PollFd<'_>> =
        open.iter().map(|(runner, _)| PollFd::new(runner.gate.as_fd(), PollFlags::POLLIN)).collect();
    poll(&mut polled, patience)?;
    let spoke: Vec<bool> =
        polled.iter().map(|fd| fd.revents().is_some_and(|events| !events.is_empty())).collect();
    for ((runner, ready), _) in
        open.iter_mut().map(|it| (&mut it.0, &mut it.1)).zip(spoke).filter(|(_, spoke)| *spoke)
    {
        runner.ready()?;
        *ready = true;
        took.add_millis(began.elapsed());
    }
    Ok(())
}

fn weigh(jails: &mut Jails) -> io::Result<Samples> {
    let mut waiting = (0..WARM).map(|slot| jails.launch(slot)).collect::<io::Result<Vec<_>>>()?;
    for runner in &mut waiting {
        runner.ready()?;
    }
    std::thread::sleep(SETTLED);
    let mut weights = Samples::default();
    for runner in &waiting {
        weights.add(runner.weight()?);
    }
    Ok(weights)
}

/// The gate of a runner whose work is one file. It hands on how that ended, and when it heard so.
#[derive(Clone)]
struct OneFile(UnboundedSender<(Ending, Instant)>);

const NOTHING_ELSE: GateError = GateError::OutOfTurn;

impl RunnerGate for OneFile {
    async fn work(self, _: Context) -> Result<Work, GateError> {
        Ok(Work {
            task: Task::Put { path: Text::clip(FILE), bytes: Blob::new(BYTES).map_err(|_| NOTHING_ELSE)? },
            prompt: Text::default(),
            messages: List::default(),
            tools: List::default(),
            tool_calls: 0,
            tool_failures: 0,
            wall_ms: 60_000,
            tool_ms: List::default(),
            engine: None,
            files: List::default(),
            network: false,
            opaque: List::default(),
            placeholders: List::default(),
        })
    }

    async fn start_completion(
        self,
        _: Context,
        _: Text<131_072>,
        _: List<Message, 1024>,
    ) -> Result<List<Message, STEERING_MESSAGES>, GateError> {
        Err(NOTHING_ELSE)
    }

    async fn steering(self, _: Context) -> Result<List<Text<STEERING_BOUND>, STEERING_MESSAGES>, GateError> {
        Err(NOTHING_ELSE)
    }

    async fn poll_completion(self, _: Context) -> Result<CompletionState, GateError> {
        Err(NOTHING_ELSE)
    }

    async fn effect(
        self,
        _: Context,
        _: CallId,
        _: Option<Blob<SENT_BYTES>>,
    ) -> Result<EffectState, GateError> {
        Err(NOTHING_ELSE)
    }

    async fn inbox(self, _: Context, _: u8, _: u64) -> Result<Blob<FILE_PIECE>, GateError> {
        Err(NOTHING_ELSE)
    }

    async fn result(self, _: Context, _: ToolResult) -> Result<ToolResult, GateError> {
        Err(NOTHING_ELSE)
    }

    async fn progress(self, _: Context, _: CallId, _: Text<256>) -> Result<(), GateError> {
        Err(NOTHING_ELSE)
    }

    async fn output(self, _: Context, _: bool, _: Blob<32_768>) -> Result<(), GateError> {
        Err(NOTHING_ELSE)
    }

    async fn run_models(self, _: Context) -> Result<List<ModelName, 256>, RelayError> {
        Err(RelayError::NotInScope)
    }

    async fn run_ask(self, _: Context, _: Request) -> Result<StreamId, RelayError> {
        Err(RelayError::NotInScope)
    }

    async fn run_pull(self, _: Context, _: StreamId, _: u16) -> Result<List<Piece, 64>, RelayError> {
        Err(RelayError::NotInScope)
    }

    async fn run_end(self, _: Context, _: StreamId) {}

    async fn run_count(self, _: Context, _: Request) -> Result<u32, RelayError> {
        Err(RelayError::NotInScope)
    }

    async fn run_input(self, _: Context, _: u64) -> Result<Input, GateError> {
        Err(NOTHING_ELSE)
    }

    async fn net_request(self, _: Context, _: egress::Request) -> Result<egress::Head, NetworkError> {
        Err(NetworkError::Asking)
    }

    async fn net_next(self, _: Context, _: egress::ReplyId) -> Result<egress::Piece, NetworkError> {
        Err(NetworkError::Asking)
    }

    async fn net_tunnel(self, _: Context, _: egress::Origin) -> Result<egress::ReplyId, NetworkError> {
        Err(NetworkError::Asking)
    }

    async fn net_send(self, _: Context, _: egress::ReplyId, _: egress::Piece) -> Result<(), NetworkError> {
        Err(NetworkError::Asking)
    }

    async fn net_close(self, _: Context, _: egress::ReplyId) {}

    async fn server_terms(self, _: Context) -> Result<mcp::Terms, GateError> {
        Err(NOTHING_ELSE)
    }

    async fn server_report(self, _: Context, _: mcp::Report) -> Result<(), GateError> {
        Err(NOTHING_ELSE)
    }

    async fn server_next(self, _: Context) -> Result<Option<mcp::Request>, GateError> {
        Err(NOTHING_ELSE)
    }

    async fn server_reply(self, _: Context, _: u64, _: mcp::Reply) -> Result<(), GateError> {
        Err(NOTHING_ELSE)
    }

    async fn engine(self, _: Context, _: List<EngineEvent, 64>) -> Result<(), GateError> {
        Err(NOTHING_ELSE)
    }

    async fn save_engine_state(self, _: Context, _: Token, _: Blob<STATE>) -> Result<(), GateError> {
        Err(NOTHING_ELSE)
    }

    async fn finish(self, _: Context, ending: Ending) -> Result<(), GateError> {
        let _ = self.0.send((ending, Instant::now()));
        Ok(())
    }
}
