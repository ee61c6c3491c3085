//! From the exec of agentd to `READY=1` at the socket that systemd would listen on, on a fresh state directory:
//! every process is sealed by then, and has the ends of its edges.

use crate::figure::Figure;
use crate::spread::Samples;
use crate::{floors, person};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 20;
/// Processes besides those of the table: agentd, and its configuration child.
const BESIDES: usize = 2;

/// Its figures.
pub(crate) fn measure() -> io::Result<Vec<Figure>> {
    // Embedder is started only where a model is configured, and a channel's process only where an account is.
    let started = |process| {
        manifest::is_actor(process) && process != manifest::Process::Embedder && !process.is_channel()
    };
    let actors = manifest::TABLE.iter().filter(|row| started(row.process)).count();
    let programs = person::programs()?;
    let (mut ready, mut floor) = (Samples::default(), Samples::default());
    for round in 0..=ROUNDS {
        let dir = tempfile::tempdir()?;
        let took = start(&programs, &dir.path().join("state"), None, Signal::SIGTERM)?;
        let began = Instant::now();
        floors::spawn(actors + BESIDES)?;
        if round > 0 {
            ready.add_millis(took);
            floor.add_millis(began.elapsed());
        }
    }
    Ok(vec![
        Figure::new("agentd from exec to READY", "ms", &ready)
            .floor(format!("posix_spawn of /bin/true, {} times", actors + BESIDES), &floor)
            .at_most(150.0),
    ])
}

/// Starts a host on a state directory, waits for its word, and ends it by this signal.
pub(crate) fn start(
    programs: &Path,
    state: &Path,
    config: Option<&Path>,
    end: Signal,
) -> io::Result<Duration> {
    let dir = tempfile::tempdir()?;
    let socket = UnixDatagram::bind(dir.path().join("notify"))?;
    socket.set_read_timeout(Some(Duration::from_secs(30)))?;
    let mut command = Command::new(programs.join("agentd"));
    command.arg("run").arg("--state-dir").arg(state);
    command.arg("--runtime-dir").arg(dir.path().join("run")).env("NOTIFY_SOCKET", dir.path().join("notify"));
    if let Some(config) = config {
        command.arg("--config").arg(config);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let began = Instant::now();
    let mut agentd = command.spawn()?;
    let heard = ready(&socket);
    let took = began.elapsed();
    if let Ok(pid) = i32::try_from(agentd.id()) {
        kill(Pid::from_raw(pid), end)?;
    }
    agentd.wait()?;
    heard.map(|()| took)
}

fn ready(socket: &UnixDatagram) -> io::Result<()> {
    let mut word = [0; 512];
    loop {
        let length = socket.recv(&mut word)?;
        if word.get(..length).is_some_and(|word| word.starts_with(b"READY=1")) {
            return Ok(());
        }
    }
}
