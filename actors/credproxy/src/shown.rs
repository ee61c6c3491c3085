//! The fingerprints that the scanner was shown, and the version that it searches for already: a scanner that asks for a newer
//! version than one has that one. A person's command never waits long for a scanner that is gone.

use ipc_proto::credproxy::Fingerprints;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// How long a look for new fingerprints waits.
const WATCHED: Duration = Duration::from_secs(20);
/// How long a new secret waits for the scanner to search for it. A scanner that is down passes no text at all, and one
/// that comes up asks before its first scan; so nothing is let through by waiting no longer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The fingerprints, and the newest that the scanner is known to search for.
#[derive(Clone)]
pub(crate) struct Shown {
    live: watch::Receiver<Arc<Fingerprints>>,
    searched: Arc<watch::Sender<u64>>,
}

impl Shown {
    pub(crate) fn new(live: watch::Receiver<Arc<Fingerprints>>) -> Self {
        Self { live, searched: Arc::new(watch::Sender::new(0)) }
    }

    /// The fingerprints once they are others than `known`, or as they are when that has taken 20 s.
    pub(crate) async fn newer(&self, known: Option<u64>) -> Fingerprints {
        let mut live = self.live.clone();
        let current = live.borrow().version;
        // A version of an earlier life says nothing of this one's secrets.
        if known == Some(current) {
            self.searched.send_replace(current);
        }
        let fresh = live.wait_for(|now| Some(now.version) != known);
        if let Ok(Ok(fresh)) = tokio::time::timeout(WATCHED, fresh).await {
            return Fingerprints::clone(&fresh);
        }
        Fingerprints::clone(&self.live.borrow())
    }

    /// Returns once the scanner searches for the secrets as they are now, so that a person who stored one may rely on that;
    /// after 2 s in any case.
    pub(crate) async fn searched_for(&self) {
        let current = self.live.borrow().version;
        let mut searched = self.searched.subscribe();
        let reached = searched.wait_for(|searched| *searched >= current);
        if tokio::time::timeout(PATIENCE, reached).await.is_err() {
            tracing::warn!("the scanner has not asked for the newest secret yet");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::List;
    use tokio::time::Instant;

    fn version(version: u64) -> Arc<Fingerprints> {
        Arc::new(Fingerprints { version, key: [0; 32], prints: List::default() })
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_of_the_newest_fingerprints_waits_for_newer_ones() {
        let (sender, live) = watch::channel(version(1));
        let shown = Shown::new(live);
        assert_eq!(shown.newer(None).await.version, 1);
        assert_eq!(shown.newer(Some(9)).await.version, 1, "another life's version is no reason to wait");
        let before = Instant::now();
        assert_eq!(shown.newer(Some(1)).await.version, 1);
        assert_eq!(before.elapsed(), WATCHED);
        let change = async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            sender.send_replace(version(2));
        };
        let (found, ()) = tokio::join!(shown.newer(Some(1)), change);
        assert_eq!(found.version, 2);
    }

    // Holds P8-09.
    #[tokio::test(start_paused = true)]
    async fn a_new_secret_waits_for_the_scanner_and_never_for_ever() {
        let (sender, live) = watch::channel(version(1));
        let shown = Shown::new(live);
        let before = Instant::now();
        shown.searched_for().await;
        assert_eq!(before.elapsed(), PATIENCE, "nobody asked");
        sender.send_replace(version(2));
        let scanner = async {
            // It has the first; that it asks for what is newer says nothing of the second.
            assert_eq!(shown.newer(Some(1)).await.version, 2);
            tokio::time::sleep(Duration::from_millis(300)).await;
            let _ = tokio::time::timeout(Duration::from_millis(1), shown.newer(Some(2))).await;
        };
        let before = Instant::now();
        let waits = async {
            shown.searched_for().await;
            before.elapsed()
        };
        let (waited, ()) = tokio::join!(waits, scanner);
        assert_eq!(waited, Duration::from_millis(300));
    }
}
