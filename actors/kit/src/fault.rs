//! Fault points: named steps at which a test has a process end as by `kill -9`. Release builds have none.
//!
//! `agentd run --fault PROCESS:POINT` (a debug build's flag) arms one point for the first life of a process; the
//! hash of its name comes with the start frame.

use std::sync::atomic::{AtomicU64, Ordering};

static ARMED: AtomicU64 = AtomicU64::new(0);

/// FNV-1a of a point's name.
#[must_use]
pub const fn hash(name: &str) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut rest = name.as_bytes();
    while let [first, tail @ ..] = rest {
        hash = (hash ^ *first as u64).wrapping_mul(0x0100_0000_01b3);
        rest = tail;
    }
    hash
}

/// Arms the point with this hash; 0 arms none.
pub fn arm(point: u64) {
    ARMED.store(point, Ordering::Relaxed);
}

/// Ends the process at once if this point is armed: no destructor runs, nothing is flushed.
pub fn hit(point: u64) {
    if ARMED.load(Ordering::Relaxed) == point {
        std::process::abort();
    }
}

/// Names a step of a turn at which a test may end the process.
#[macro_export]
macro_rules! fault_point {
    ($name:literal) => {
        #[cfg(debug_assertions)]
        {
            const POINT: u64 = $crate::fault::hash($name);
            $crate::fault::hit(POINT);
        }
    };
}
