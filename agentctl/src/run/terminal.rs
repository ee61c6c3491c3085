//! This end of a run: the person's terminal in raw mode, its size, and what is typed or piped in. The terminal itself is
//! never handed to anybody.

use crate::failure::Failure;
use ipc_proto::router::{Size, TYPED_CHUNK, Terminal, Typed};
use ipc_proto::{Blob, Text};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use std::io::{self, IsTerminal, Read, stdin, stdout};
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{Interval, interval};

/// How often the size of the terminal is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// Pieces that wait to be sent.
const WAITING: usize = 4;
/// A kind of terminal that every program knows, where this one does not say its own.
const USUAL: &str = "xterm-256color";

/// What the program is to be told of a terminal of its own: only where a person sits at both ends of this one.
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

/// The terminal in raw mode, for as long as this is kept: every key is the program's.
pub(super) struct Raw(Termios);

impl Raw {
    /// Puts it into raw mode.
    ///
    /// # Errors
    /// What the kernel says.
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
        // There is nothing better to do than to leave it as it is.
        let _ = tcsetattr(stdin(), OptionalActions::Drain, &self.0);
    }
}

/// What is typed, and the sizes that the terminal takes on.
pub(super) struct Keyboard {
    pieces: Receiver<Typed>,
    looks: Option<(Interval, Option<Size>)>,
}

impl Keyboard {
    /// Begins to read, on a thread of its own that ends with this program.
    ///
    /// # Errors
    /// What the kernel says.
    pub(super) fn begin(attended: bool) -> Result<Self, Failure> {
        let (sender, pieces) = channel(WAITING);
        std::thread::Builder::new().spawn(move || read(&sender)).map_err(Failure::Runtime)?;
        // The first look says the size to a program that was started at another terminal.
        Ok(Self { pieces, looks: attended.then(|| (interval(LOOK), None)) })
    }

    /// The next piece; none once nothing more comes.
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
