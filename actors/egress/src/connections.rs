//! Connections that wait to be used again, each within its scope alone: a jail never gets one that another jail began.

use ipc_proto::egress::Origin;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use upstream::Conversation;

/// How long one waits; servers close theirs after a time of their own.
const KEPT: Duration = Duration::from_secs(15);
/// Connections that wait at once.
const AT_ONCE: usize = 64;

/// The scope and the server of a connection.
pub(crate) type Key = (u64, Origin);

/// The connections that wait.
#[derive(Default)]
pub(crate) struct Connections(HashMap<Key, Vec<(Instant, Conversation)>>);

impl Connections {
    /// One that waits for this server, the last that was used.
    pub(crate) fn take(&mut self, key: &Key) -> Option<Conversation> {
        self.sweep();
        let waiting = self.0.get_mut(key)?;
        let taken = waiting.pop();
        if waiting.is_empty() {
            self.0.remove(key);
        }
        taken.map(|(_, conversation)| conversation)
    }

    /// Keeps one whose reply was read to its end.
    pub(crate) fn keep(&mut self, key: Key, conversation: Conversation) {
        self.sweep();
        if self.0.values().map(Vec::len).sum::<usize>() < AT_ONCE && !conversation.is_over() {
            self.0.entry(key).or_default().push((Instant::now(), conversation));
        }
    }

    /// Closes those that are over or have waited for long enough.
    fn sweep(&mut self) {
        self.0.retain(|_, waiting| {
            waiting.retain(|(since, conversation)| since.elapsed() < KEPT && !conversation.is_over());
            !waiting.is_empty()
        });
    }

    /// Closes all.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
