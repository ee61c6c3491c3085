//! A person's own command in the jail: its output passed on as it comes, its exit status given back.

use crate::RunnerFault;
use crate::gate::Gate;
use crate::places::Places;
use ipc_proto::Text;
use ipc_proto::runner_gate::Ending;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};

/// Bytes of output that are passed on; what is over is read and dropped, so that the command does not hang.
const OUTPUT: usize = 1_000_000;
/// Bytes of one piece.
const PIECE: usize = 32 * 1024;
const CUT: &[u8] = b"\n[... output cut at 1000000 bytes]\n";

/// Runs it.
pub(crate) async fn run(
    gate: &Gate,
    argv: &[Text<8192>],
    places: &Places,
    wall_ms: u32,
) -> Result<Ending, RunnerFault> {
    let Some(mut child) = start(argv, places) else { return Ok(Ending::NotStarted) };
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let wall = Duration::from_millis(wall_ms.into());
    let ended = tokio::time::timeout(wall, async {
        let (out, err, status) = tokio::join!(pass(gate, false, out), pass(gate, true, err), child.wait());
        out.and(err).and(status.map_err(RunnerFault::Runtime))
    });
    match ended.await {
        Ok(status) => Ok(Ending::Exited { status: code(status?) }),
        // The jail ends with this process, and everything in it.
        Err(_) => Ok(Ending::TimedOut),
    }
}

fn start(argv: &[Text<8192>], places: &Places) -> Option<Child> {
    let (program, arguments) = argv.split_first()?;
    #[expect(clippy::disallowed_methods, reason = "a person's own command, in the jail")]
    let mut command = std::process::Command::new(program.as_str());
    command
        .args(arguments.iter().map(Text::as_str))
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
        .env("HOME", &places.tmp)
        .env("TMPDIR", &places.tmp)
        .env("LANG", "C.UTF-8")
        .current_dir(&places.workspace)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Command::from(command).spawn().ok()
}

/// Passes a stream on until its end.
async fn pass(gate: &Gate, error: bool, stream: Option<impl AsyncRead + Unpin>) -> Result<(), RunnerFault> {
    let Some(mut stream) = stream else { return Ok(()) };
    let (mut buffer, mut left) = (vec![0; PIECE], OUTPUT);
    loop {
        let length = stream.read(&mut buffer).await?;
        let piece = buffer.get(..length.min(left)).unwrap_or_default();
        if length == 0 {
            return Ok(());
        }
        if !piece.is_empty() {
            gate.output(error, piece).await?;
        }
        if left > 0 && length >= left {
            gate.output(error, CUT).await?;
        }
        left = left.saturating_sub(length);
    }
}

/// As a shell says it: 128 and the signal's number if one ended it.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    u8::try_from(code).unwrap_or(u8::MAX)
}
