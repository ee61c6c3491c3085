//! The lock of data that requests share.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks shared data. No holder of a lock here can panic; if one did, the data would still be whole.
pub(crate) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
