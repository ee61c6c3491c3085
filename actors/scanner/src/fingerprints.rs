//! Keeps the search for the host's own secrets up to date: credproxy is asked, by a long poll, what they look like.
//! It holds keyed hashes alone, in memory alone, and must never log one.

use ipc_proto::credproxy::{CredproxyClient, Fingerprints, method};
use kit::{Host, Link};
use scanner::Held;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::watch;

/// How long the first scans wait for the first answer. Credproxy starts before scanner and answers at once, so only
/// a host whose credproxy is down waits this long, and only once.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long to wait before asking a credproxy again that did not answer.
const AGAIN: Duration = Duration::from_secs(1);

/// The search as it stands now.
#[derive(Clone)]
pub(crate) struct SecretSearch(watch::Receiver<State>);

#[derive(Clone)]
enum State {
    /// Nothing has been heard yet.
    Waiting,
    /// Nothing was heard in time, or what is known. What is known stays when credproxy goes away: the values of
    /// its secrets do not change by that.
    Known(Rc<Held>),
}

impl SecretSearch {
    /// Follows credproxy from now on.
    pub(crate) fn follow(host: &Host) -> Self {
        let (sender, receiver) = watch::channel(State::Waiting);
        let link = host.link::<CredproxyClient>();
        let sender = Rc::new(sender);
        tokio::task::spawn_local(give_up(Rc::clone(&sender)));
        tokio::task::spawn_local(follow(link, sender));
        Self(receiver)
    }

    /// The search to use now; before the first answer it waits, but not for ever.
    pub(crate) async fn now(&self) -> Rc<Held> {
        let mut receiver = self.0.clone();
        let known = receiver.wait_for(|state| matches!(state, State::Known(_))).await;
        match known.as_deref() {
            Ok(State::Known(held)) => Rc::clone(held),
            // The task that follows never ends, so its end of the channel never goes away.
            Ok(State::Waiting) | Err(_) => Rc::new(Held::nothing()),
        }
    }
}

/// Lets scans go on without the search when credproxy has not answered. Refusing them all would let one dead process
/// stop the host, and with credproxy down no secret of the host is in anybody's reach but its own.
async fn give_up(sender: Rc<watch::Sender<State>>) {
    tokio::time::sleep(PATIENCE).await;
    let gave_up = sender.send_if_modified(|state| {
        let waiting = matches!(state, State::Waiting);
        if waiting {
            *state = State::Known(Rc::new(Held::nothing()));
        }
        waiting
    });
    if gave_up {
        tracing::warn!("credproxy does not answer: texts are not searched for the host's own secrets");
    }
}

async fn follow(link: Link<CredproxyClient>, sender: Rc<watch::Sender<State>>) {
    let mut known = None;
    loop {
        match ask(&link, known).await {
            Some(fingerprints) if Some(fingerprints.version) == known => {}
            Some(fingerprints) => {
                known = Some(fingerprints.version);
                let held = Held::new(&fingerprints);
                tracing::info!(
                    secrets = fingerprints.prints.len(),
                    "texts are searched for the host's secrets"
                );
                sender.send_replace(State::Known(Rc::new(held)));
            }
            None => tokio::time::sleep(AGAIN).await,
        }
    }
}

async fn ask(link: &Link<CredproxyClient>, known: Option<u64>) -> Option<Fingerprints> {
    let asked = link.call(&method::fingerprints, |credproxy, context| async move {
        credproxy.fingerprints(context, known).await
    });
    asked.await.inspect_err(|fault| tracing::debug!(%fault, "credproxy was not asked")).ok()
}
