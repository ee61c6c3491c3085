//! Numbers that are worked on in one thread. It changes two variables of this process's own environment and nothing else.

use crate::sys;
use std::io;

/// What numerical libraries ask how many threads they may have, each time that they have something to share out; where it
/// is not there they look through `/proc` and `/sys`, which a sealed process may not.
const THREADS: [&str; 2] = ["RAYON_NUM_THREADS", "CANDLE_NUM_THREADS"];

/// Has numerical libraries compute in the thread that there is. To be called while there is one.
///
/// # Errors
/// There are more threads already, or how many there are cannot be seen.
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
