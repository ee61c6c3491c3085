//! The entry of a program that is started anew for each turn: C's `main` instead of Rust's own, which first reads this process's
//! mappings in `/proc`, makes a second stack for the report of an overflowed one, and checks if its first three descriptors are
//! open: 0.1 ms that a runner does not need.
//!
//! It must do for the program the parts of Rust's own that the program relies on.

use nix::sys::signal::{SigHandler, Signal, signal};

/// Makes `$main`, a function that returns the program's exit status, the program's entry. The program states `#![no_main]`, and its
/// dependencies must not rely on a handler of overflowed stacks: the guard page ends it as well.
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
    // SAFETY: to ignore a signal runs no code. A write to a peer that is gone is then an error and not this process's end;
    // the call cannot fail for this signal.
    let _ = unsafe { signal(Signal::SIGPIPE, SigHandler::SigIgn) };
    main()
}
