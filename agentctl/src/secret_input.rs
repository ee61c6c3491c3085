//! Input of secrets: values and passphrases, from standard input or a prompt without echo.

use crate::failure::Failure;
use ipc_proto::bounded::TooLong;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use zeroize::Zeroizing;

/// Signals that end a program at a prompt.
const ENDS: [Signal; 4] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];

/// A value, from a prompt on a terminal, else all of standard input without the line break at its end.
///
/// # Errors
/// It is empty or too long, or the terminal is gone.
pub(crate) fn value(question: &str, bound: usize) -> Result<Zeroizing<Vec<u8>>, Failure> {
    // One byte more than may be, and a line break of two.
    let most = bound.saturating_add(3);
    let mut value = Zeroizing::new(Vec::with_capacity(most));
    if io::stdin().is_terminal() {
        hidden(question, &mut value, most)?;
    } else {
        read(&mut value, most, false, || Ok(()))?;
    }
    trim(&mut value);
    if value.is_empty() {
        return Err(Failure::Usage(
            "the value is empty: type it at the prompt, or write it to standard input".to_owned(),
        ));
    }
    fits(&value, bound)?;
    Ok(value)
}

/// A line: a passphrase, from a prompt on a terminal, else the next line of standard input. `again` asks a person for it
/// twice.
///
/// # Errors
/// It is empty or too long, the two are not the same, or the terminal is gone.
pub(crate) fn line(question: &str, bound: usize, again: bool) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let person = io::stdin().is_terminal();
    let ask = |question: &str| -> Result<Zeroizing<Vec<u8>>, Failure> {
        let most = bound.saturating_add(3);
        let mut line = Zeroizing::new(Vec::with_capacity(most));
        if person {
            hidden(question, &mut line, most)?;
        } else {
            read(&mut line, most, true, || Ok(()))?;
        }
        trim(&mut line);
        Ok(line)
    };
    let first = ask(question)?;
    if first.is_empty() {
        return Err(Failure::Usage(
            "the line is empty: type it at the prompt, or write it to standard input".to_owned(),
        ));
    }
    fits(&first, bound)?;
    if again && person && ask("the same again: ")? != first {
        return Err(Failure::Usage("the two passphrases are not the same".to_owned()));
    }
    Ok(first)
}

/// Checks that a value is within its bound.
///
/// # Errors
/// It is not.
pub(crate) fn fits(value: &[u8], bound: usize) -> Result<(), Failure> {
    if value.len() <= bound {
        return Ok(());
    }
    let why = TooLong { what: "bytes", given: value.len(), bound };
    Err(Failure::TooLong { what: "the value", why })
}

/// Without the line break at its end.
pub(crate) fn trim(value: &mut Vec<u8>) {
    for end in [b'\n', b'\r'] {
        if value.last() == Some(&end) {
            value.pop();
        }
    }
}

/// Reads standard input without a buffer of its own, so that no other copy of the value is left behind.
fn read(
    value: &mut Vec<u8>,
    most: usize,
    one_line: bool,
    waited: impl Fn() -> io::Result<()>,
) -> io::Result<()> {
    let mut byte = [0];
    while value.len() < most {
        waited()?;
        if nix::unistd::read(io::stdin(), &mut byte)? == 0 {
            break;
        }
        let [read] = byte;
        value.push(read);
        if one_line && read == b'\n' {
            break;
        }
    }
    Ok(())
}

/// Signals that wait. What came meanwhile has its usual meaning once this is dropped.
struct Held {
    came: SignalFd,
    before: SigSet,
}

impl Held {
    fn new() -> io::Result<Self> {
        let mask: SigSet = ENDS.into_iter().collect();
        let before = SigSet::thread_get_mask()?;
        mask.thread_block()?;
        Ok(Self { came: SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC)?, before })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Without the old mask a Ctrl-C would stay without effect; there is nothing better to do than go on.
        let _ = self.before.thread_set_mask();
    }
}

/// The terminal as it was, restored however the prompt ends: a signal that ends this program does so after that.
struct Quiet {
    before: Termios,
    held: Held,
}

impl Quiet {
    fn new() -> io::Result<Self> {
        let held = Held::new()?;
        let before = tcgetattr(io::stdin())?;
        let mut quiet = before.clone();
        quiet.local_flags.remove(LocalFlags::ECHO);
        quiet.local_flags.insert(LocalFlags::ECHONL);
        tcsetattr(io::stdin(), SetArg::TCSAFLUSH, &quiet)?;
        Ok(Self { before, held })
    }

    /// Waits until something was typed.
    fn typed(&self) -> io::Result<()> {
        let stdin = io::stdin();
        let wanted = |file| PollFd::new(file, PollFlags::POLLIN);
        let mut files = [wanted(stdin.as_fd()), wanted(self.held.came.as_fd())];
        while let Err(error) = poll(&mut files, PollTimeout::NONE) {
            if error != Errno::EINTR {
                return Err(error.into());
            }
        }
        let [_, came] = files;
        if came.any() == Some(true) { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // A terminal that cannot be set is gone.
        let _ = tcsetattr(io::stdin().as_fd(), SetArg::TCSAFLUSH, &self.before);
    }
}

/// Asks on the terminal for a line that is not shown while it is typed.
///
/// # Errors
/// There is no terminal.
pub(crate) fn hidden(question: &str, value: &mut Vec<u8>, most: usize) -> io::Result<()> {
    // Quiet first: whoever sees the question may type at once, and none of that is shown or lost.
    let quiet = Quiet::new()?;
    crate::out::Out::new(false).ask(question)?;
    read(value, most, true, || quiet.typed())
}
