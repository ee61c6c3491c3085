//! Numerical libraries that compute in one thread. It changes two variables of this process's own environment and nothing else.

use crate::sys;
use std::io;

/// Variables from which numerical libraries read their number of threads, each time that they divide work. If they are not set, the
/// libraries look through `/proc` and `/sys`, which a sealed process may not read.
const THREADS: [&str; 2] = ["RAYON_NUM_THREADS", "CANDLE_NUM_THREADS"];

/// Makes numerical libraries compute in the calling thread. Must be called while the process has one thread.
///
/// # Errors
/// There are more threads already, or their number cannot be read.
#[expect(clippy::disallowed_methods, reason = "a library is told in the one way in which it asks")]
pub fn compute_alone() -> io::Result<()> {
    if sys::threads()? != 1 {
        return Err(io::Error::other("there is more than one thread"));
    }
    for name in THREADS {
        // SAFETY: this is the one thread of the process, so that nobody reads or changes the environment meanwhile.
        unsafe { std::env::set_var(name, "1") };
    }
    Ok(())
}
