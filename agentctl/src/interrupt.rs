//! Ctrl-C and other signals as events to wait for, so that they cancel a turn instead of ending this program.
//!
//! A signal is blocked and read from a descriptor; dropping this restores its usual meaning. A thread that was started
//! before keeps the usual one.

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::io;
use tokio::io::unix::AsyncFd;

/// Waits for signals.
pub(crate) struct Interrupt {
    descriptor: AsyncFd<SignalFd>,
    before: SigSet,
}

impl Interrupt {
    /// From now on only [`Self::pressed`] sees Ctrl-C.
    ///
    /// # Errors
    /// The kernel's error.
    pub(crate) fn new() -> io::Result<Self> {
        Self::of(&[Signal::SIGINT])
    }

    /// From now on only [`Self::came`] sees these signals.
    ///
    /// # Errors
    /// The kernel's error.
    pub(crate) fn of(signals: &[Signal]) -> io::Result<Self> {
        let mask: SigSet = signals.iter().copied().collect();
        let before = SigSet::thread_get_mask()?;
        mask.thread_block()?;
        let descriptor = SignalFd::with_flags(&mask, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
        Ok(Self { descriptor: watched(descriptor)?, before })
    }

    /// Returns when it was pressed.
    pub(crate) async fn pressed(&self) {
        self.came().await;
    }

    /// The next signal.
    pub(crate) async fn came(&self) -> Signal {
        while let Ok(mut ready) = self.descriptor.readable().await {
            // No signal must be told as would-block: only that has the event loop wait for the next one.
            let read = |descriptor: &AsyncFd<SignalFd>| {
                descriptor.get_ref().read_signal()?.ok_or(io::ErrorKind::WouldBlock.into())
            };
            match ready.try_io(read) {
                Ok(Ok(info)) => {
                    let number = i32::try_from(info.ssi_signo).ok();
                    return number.and_then(|it| Signal::try_from(it).ok()).unwrap_or(Signal::SIGINT);
                }
                Err(_would_block) => {}
                Ok(Err(_)) => break,
            }
        }
        // A descriptor that cannot be read presses nothing.
        std::future::pending().await
    }
}

#[expect(
    deprecated,
    reason = "the successor is unsafe; a SignalFd owns its descriptor, which is what that asks for"
)]
fn watched(descriptor: SignalFd) -> io::Result<AsyncFd<SignalFd>> {
    AsyncFd::new(descriptor)
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        // Without the old mask Ctrl-C would stay without effect; there is nothing better to do than go on.
        let _ = self.before.thread_set_mask();
    }
}
