//! This end of a run: the person's terminal in raw mode, its size, and typed or piped input. The terminal itself is never
//! handed over.

use crate::failure::Failure;
use ipc_proto::router::{Size, TYPED_CHUNK, Terminal, Typed};
use ipc_proto::{Blob, Text};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use std::io::{self, IsTerminal, Read, stdin, stdout};
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{Interval, interval};

/// The interval at which the size of the terminal is read.
const LOOK: Duration = Duration::from_millis(250);
/// Pieces of input that wait to be sent.
const WAITING: usize = 4;
/// The kind of terminal if this one does not name its own; every program knows it.
const USUAL: &str = "xterm-256color";

/// The terminal of the program, if a person sits at both ends of this one and the output is not JSON.
pub(super) fn of_this(json: bool) -> Option<Terminal> {
    let attended = !json && stdin().is_terminal() && stdout().is_terminal();
    let size = attended.then(size)??;
    let kind = std::env::var("TERM").ok().filter(|kind| !kind.is_empty());
    Some(Terminal { kind: Text::clip(kind.as_deref().unwrap_or(USUAL)), size })
}

fn size() -> Option<Size> {
    let size = tcgetwinsize(stdout()).ok()?;
    Some(Size { rows: size.ws_row, columns: size.ws_col })
}

/// The terminal in raw mode until this is dropped: every key goes to the program.
pub(super) struct Raw(Termios);

impl Raw {
    /// Puts it into raw mode.
    ///
    /// # Errors
    /// The kernel's error.
    pub(super) fn begin() -> Result<Self, Failure> {
        let kernel = |error: rustix::io::Errno| Failure::Output(error.into());
        let before = tcgetattr(stdin()).map_err(kernel)?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(stdin(), OptionalActions::Flush, &raw).map_err(kernel)?;
        Ok(Self(before))
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // An error leaves the terminal as it is.
        let _ = tcsetattr(stdin(), OptionalActions::Drain, &self.0);
    }
}

/// The terminal's input and its changes of size.
pub(super) struct Keyboard {
    pieces: Receiver<Typed>,
    looks: Option<(Interval, Option<Size>)>,
}

impl Keyboard {
    /// Begins to read, on a thread of its own that ends with this program.
    ///
    /// # Errors
    /// The kernel's error.
    pub(super) fn begin(attended: bool) -> Result<Self, Failure> {
        let (sender, pieces) = channel(WAITING);
        std::thread::Builder::new().spawn(move || read(&sender)).map_err(Failure::Runtime)?;
        // The first reading gives the size to a program that was started at another terminal.
        Ok(Self { pieces, looks: attended.then(|| (interval(LOOK), None)) })
    }

    /// The next piece; `None` at the end of input.
    pub(super) async fn next(&mut self) -> Option<Typed> {
        let Some((looks, known)) = &mut self.looks else { return self.pieces.recv().await };
        loop {
            tokio::select! {
                typed = self.pieces.recv() => return typed,
                _ = looks.tick() => {
                    let now = size();
                    if now != *known && let Some(size) = now {
                        *known = now;
                        return Some(Typed::Size(size));
                    }
                }
            }
        }
    }
}

fn read(pieces: &Sender<Typed>) {
    let (mut stdin, mut buffer) = (stdin().lock(), vec![0; TYPED_CHUNK]);
    loop {
        let typed = match stdin.read(&mut buffer) {
            Ok(length @ 1..) => {
                buffer.get(..length).and_then(|bytes| Blob::new(bytes).ok()).map(Typed::Bytes)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Ok(0) | Err(_) => None,
        };
        let over = typed.is_none();
        if pieces.blocking_send(typed.unwrap_or(Typed::End)).is_err() || over {
            return;
        }
    }
}
