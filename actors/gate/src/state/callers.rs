//! The holders of keys and the users that router named last. It is a cache of names: it permits nothing.

use ipc_proto::api::{Caller, Holder};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Callers in the cache: as many as there are keys.
const CALLERS: usize = ipc_proto::api::KEYS;

/// The holders that router named last, by caller.
#[derive(Default)]
pub(crate) struct Callers(Mutex<HashMap<Caller, Holder>>);

impl Callers {
    /// The holder that router named last.
    pub(crate) fn of(&self, caller: Caller) -> Option<Holder> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&caller).cloned()
    }

    /// Stores the holder that router names; `None` removes the caller.
    pub(crate) fn learn(&self, caller: Caller, holder: Option<&Holder>) {
        let mut callers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(holder) = holder else {
            callers.remove(&caller);
            return;
        };
        if callers.get(&caller) == Some(holder) {
            return;
        }
        if callers.len() >= CALLERS {
            callers.clear();
        }
        callers.insert(caller, holder.clone());
    }
}
