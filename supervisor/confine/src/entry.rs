//! Where a program begins that is started anew for each turn: at C's `main`, and not at Rust's own, which first reads this
//! process's mappings in `/proc`, makes a second stack for the word that the first has overflowed, and looks whether its
//! first three descriptors are open: 0.1 ms for what a runner, which nobody hears but the gate, has no use for.
//!
//! It must do for the program what Rust's own does and the program counts on.

use nix::sys::signal::{SigHandler, Signal, signal};

/// Makes `$main`, a function that gives the program's exit status, what the program begins with. The program states
/// `#![no_main]`, and its dependencies must not count on a handler of overflowed stacks: the guard page ends it as well.
#[macro_export]
macro_rules! begins_with {
    ($main:path) => {
        #[expect(unsafe_code, reason = "the one name that the C library calls")]
        // SAFETY: no other function of the program has this name, which only its own main may have.
        #[unsafe(no_mangle)]
        extern "C" fn main() -> core::ffi::c_int {
            $crate::begin($main).into()
        }
    };
}

/// Prepares the process and runs its main.
#[doc(hidden)]
pub fn begin(main: fn() -> u8) -> u8 {
    // SAFETY: to ignore a signal runs nothing. A peer that is gone is an error of the write, not this process's end; that
    // it is refused is not possible for this signal.
    let _ = unsafe { signal(Signal::SIGPIPE, SigHandler::SigIgn) };
    main()
}
