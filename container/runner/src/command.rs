//! A person's own command in the jail: its output is passed on as it comes, and its exit status is the result.

use crate::RunnerFault;
use crate::egress;
use crate::gate::Gate;
use crate::places::Places;
use ipc_proto::Text;
use ipc_proto::runner_gate::{Ending, Work};
use nix::errno::Errno;
use runner::tools::{WayOut, limit, network};
use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;

/// Bytes of output that are passed on; more is read and dropped, so that the command does not hang.
const OUTPUT: usize = 1_000_000;
/// Bytes of one piece.
pub(crate) const PIECE: usize = 32 * 1024;
/// Pieces that wait to be passed on: a slow gate slows the command, not the memory.
pub(crate) const WAITING: usize = 8;
/// How long the output of a command that has ended may pause before it is over.
const LINGER: Duration = Duration::from_millis(500);
/// Where programs are looked up.
pub(crate) const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
/// As shells and env(1) end for a program that is not there, and for one that cannot be run.
const NOT_FOUND: u8 = 127;
const NOT_RUNNABLE: u8 = 126;
const CUT: &[u8] = b"\n[... output cut at 1000000 bytes]\n";

/// A piece of output; `true` for standard error.
pub(crate) type Piece = (bool, Vec<u8>);

/// Runs it.
pub(crate) async fn run(
    gate: &Gate,
    argv: &[Text<8192>],
    places: &Places,
    work: &Work,
) -> Result<Ending, RunnerFault> {
    limit::begin();
    let way_out = egress::for_commands(gate, work, places).await?;
    let mut child = match start(argv, places, way_out.as_ref()) {
        Ok(child) => child,
        Err(cause) => {
            let program = argv.first().map_or("", Text::as_str);
            return not_run(gate, program, &cause, "\n").await;
        }
    };
    let (pieces, heard) = channel(WAITING);
    read(false, child.stdout.take(), pieces.clone())?;
    read(true, child.stderr.take(), pieces)?;
    let ends = tokio::task::spawn_blocking(move || child.wait());
    let mut tail = network::Tail::default();
    let passed = tokio::select! {
        status = pass(gate, heard, ends, &mut tail) => Some(status?),
        () = wall(work, way_out.as_ref()) => None,
    };
    match passed {
        Some(status) => {
            let status = code(status);
            // One with a way out was told by the proxy.
            if let Some(sentence) = tail.explain(status).filter(|_| way_out.is_none()) {
                gate.output(true, format!("{sentence}\n").as_bytes()).await?;
            }
            if let Some(reached) = limit::reached(status.into()) {
                gate.output(true, format!("\n[ended because {}]\n", reached.sentence()).as_bytes()).await?;
            }
            Ok(Ending::Exited { status })
        }
        // The jail ends with this process, and everything in it.
        None => Ok(Ending::TimedOut),
    }
}

/// Ends when the command's time is over. Time in which a person is asked is not the command's.
async fn wall(work: &Work, way_out: Option<&WayOut>) {
    let end = Instant::now() + Duration::from_millis(work.wall_ms.into());
    loop {
        let waited = way_out.map_or(Duration::ZERO, |way_out| way_out.events.waited());
        let left = (end + waited).saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        tokio::time::sleep(left).await;
    }
}

/// Says which program could not be run and why, and ends as it would have.
pub(crate) async fn not_run(
    gate: &Gate,
    program: &str,
    cause: &io::Error,
    line_end: &str,
) -> Result<Ending, RunnerFault> {
    let Some((status, why)) = unrunnable(cause) else { return Ok(Ending::NotStarted) };
    gate.output(true, format!("{program}: {why}{line_end}").as_bytes()).await?;
    Ok(Ending::Exited { status })
}

/// The status that shells and env(1) end with for a program that the kernel says this of, 127 where there is none and 126
/// where it is none that can be run, and why in words. Anything else is of this jail and not of the program.
pub(crate) fn unrunnable(cause: &io::Error) -> Option<(u8, &'static str)> {
    match cause.raw_os_error().map(Errno::from_raw)? {
        Errno::ENOENT => Some((NOT_FOUND, "no such program, or what it is run by is not there")),
        Errno::EACCES | Errno::ENOTDIR | Errno::ELOOP | Errno::ENAMETOOLONG => {
            Some((NOT_RUNNABLE, "it cannot be run: it is no program, or may not be run"))
        }
        Errno::ENOEXEC => Some((NOT_RUNNABLE, "it cannot be run: it is no program of this machine's")),
        _ => None,
    }
}

fn start(argv: &[Text<8192>], places: &Places, way_out: Option<&WayOut>) -> io::Result<Child> {
    let (program, arguments) = argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    #[expect(clippy::disallowed_methods, reason = "a person's own command, in the jail")]
    let mut command = Command::new(program.as_str());
    command
        .args(arguments.iter().map(Text::as_str))
        .env_clear()
        .env("PATH", PATH)
        .env("HOME", &places.tmp)
        .env("TMPDIR", &places.tmp)
        // By its own name: the kernel reports the place where it is mounted.
        .env("PWD", &places.workspace)
        .env("LANG", "C.UTF-8")
        .envs(network::variables(way_out))
        .current_dir(&places.workspace)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn()
}

/// Reads a stream to its end on a thread of its own.
pub(crate) fn read(
    error: bool,
    stream: Option<impl Read + Send + 'static>,
    pieces: Sender<Piece>,
) -> Result<(), RunnerFault> {
    let Some(mut stream) = stream else { return Ok(()) };
    let reading = move || {
        let mut buffer = vec![0; PIECE];
        while let Ok(length @ 1..) = stream.read(&mut buffer) {
            let piece = buffer.get(..length).unwrap_or_default().to_vec();
            if pieces.blocking_send((error, piece)).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new().spawn(reading)?;
    Ok(())
}

/// Passes output on until both streams have ended; returns the command's exit. A process that it left may hold its
/// streams open for as long as it likes: then until nothing has come for a while. `tail` gets the end of the output.
async fn pass(
    gate: &Gate,
    mut heard: Receiver<Piece>,
    mut ends: JoinHandle<io::Result<ExitStatus>>,
    tail: &mut network::Tail,
) -> Result<ExitStatus, RunnerFault> {
    let (mut left, mut status) = ([OUTPUT; 2], None);
    loop {
        let piece = tokio::select! {
            biased;
            piece = heard.recv() => piece,
            ended = &mut ends, if status.is_none() => {
                status = Some(ended.map_err(io::Error::other)??);
                continue;
            }
            () = tokio::time::sleep(LINGER), if status.is_some() => None,
        };
        match (piece, status) {
            (Some(piece), _) => {
                tail.push(&piece.1);
                give(gate, &mut left, &piece).await?;
            }
            (None, Some(status)) => return Ok(status),
            (None, None) => return Ok(ends.await.map_err(io::Error::other)??),
        }
    }
}

/// Passes a piece on, each stream up to its bound.
async fn give(gate: &Gate, left: &mut [usize; 2], (error, piece): &Piece) -> Result<(), RunnerFault> {
    let [out, err] = left;
    let left = if *error { err } else { out };
    let kept = piece.get(..piece.len().min(*left)).unwrap_or_default();
    if !kept.is_empty() {
        gate.output(*error, kept).await?;
    }
    if *left > 0 && piece.len() >= *left {
        gate.output(*error, CUT).await?;
    }
    *left = left.saturating_sub(piece.len());
    Ok(())
}

/// As a shell says it: 128 and the signal's number if one ended it.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    u8::try_from(code).unwrap_or(u8::MAX)
}
