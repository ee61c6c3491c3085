//! The actor that owns the vault. Everything about secrets is asked of it, one question after the other; it alone
//! touches the own folder after the start.

use crate::needles::Needles;
use crate::prints::Printer;
use crate::secret::Secret;
use crate::uses::Counts;
use crate::vault::{Fresh, Vault, VaultFault};
use ipc_proto::credproxy::{CredError, Fingerprints, SecretInfo};
use ipc_proto::dialer::HostPort;
use ipc_proto::{Blob, List, Name, Text};
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// How long a count of uses may be in memory alone.
const SAVE_AFTER: Duration = Duration::from_secs(30);

/// The actor.
pub(crate) struct Keeper;

/// What it keeps.
pub(crate) struct Kept {
    vault: Vault,
    counts: Counts,
    live: Live,
    /// Whether a `Save` is on its way.
    saving: bool,
}

/// A vault's answer.
type Answer<T> = RpcReplyPort<Result<T, CredError>>;

/// What it can be asked.
pub(crate) enum Ask {
    /// Opens a value sealed for this name and these hosts.
    Unseal(Name, List<Text<253>, 8>, Blob<{ ipc_proto::credproxy::SECRET_BOUND }>, Answer<Fresh>),
    /// Stores it.
    Put(Fresh, Answer<()>),
    /// Whether there is a secret of this name.
    Has(Name, Answer<()>),
    /// Forgets one.
    Remove(Name, Answer<()>),
    /// Every secret without its value.
    List(RpcReplyPort<List<SecretInfo, 256>>),
    /// The value of one that is bound to this host.
    Reveal(Name, HostPort, Answer<Secret>),
    /// One was used.
    Used(Name),
    /// Saves the counts of uses.
    Save,
}

/// Everything the actor begins with, opened before the seal.
pub(crate) struct Start {
    vault: Vault,
    counts: Counts,
    live: Live,
}

/// What shows the live secrets without giving one away.
struct Live {
    printer: Printer,
    needles: watch::Sender<Arc<Needles>>,
    fingerprints: watch::Sender<Arc<Fingerprints>>,
}

/// Its other ends, which always show the secrets as they are.
pub(crate) struct Views {
    /// What replies are searched for.
    pub(crate) needles: watch::Receiver<Arc<Needles>>,
    /// What the scanner searches texts for.
    pub(crate) fingerprints: watch::Receiver<Arc<Fingerprints>>,
}

impl Live {
    fn new(secrets: &[Secret]) -> Result<(Self, Views), VaultFault> {
        let mut printer = Printer::new().map_err(VaultFault::Random)?;
        let (needles, searched) = watch::channel(Arc::new(Needles::new(secrets)));
        let (fingerprints, told) = watch::channel(Arc::new(printer.print(secrets)));
        let views = Views { needles: searched, fingerprints: told };
        Ok((Self { printer, needles, fingerprints }, views))
    }

    fn show(&mut self, secrets: &[Secret]) {
        self.needles.send_replace(Arc::new(Needles::new(secrets)));
        self.fingerprints.send_replace(Arc::new(self.printer.print(secrets)));
    }
}

impl Start {
    /// Opens counts and builds what the live secrets are recognised by.
    pub(crate) fn new(vault: Vault) -> Result<(Self, Views), VaultFault> {
        // An actor that ends looks for its process groups, and the first look asks the kernel for the number of
        // processors, which is not allowed after the seal: the look is taken here.
        drop(ractor::pg::which_groups());
        let counts = Counts::open(vault.store());
        let (live, views) = Live::new(&vault.values()?)?;
        Ok((Self { vault, counts, live }, views))
    }
}

impl Actor for Keeper {
    type Msg = Ask;
    type State = Kept;
    type Arguments = Start;

    async fn pre_start(&self, _: ActorRef<Ask>, start: Start) -> Result<Kept, ActorProcessingErr> {
        let Start { vault, counts, live } = start;
        Ok(Kept { vault, counts, live, saving: false })
    }

    async fn handle(&self, me: ActorRef<Ask>, ask: Ask, kept: &mut Kept) -> Result<(), ActorProcessingErr> {
        match ask {
            Ask::Unseal(name, hosts, sealed, reply) => {
                answer(reply, kept.vault.unseal(&name, &hosts, &sealed))
            }
            Ask::Put(fresh, reply) => answer(reply, kept.put(&fresh)),
            Ask::Has(name, reply) => answer(reply, kept.has(&name)),
            Ask::Remove(name, reply) => answer(reply, kept.remove(&name)),
            Ask::List(reply) => answer(reply, kept.list()),
            Ask::Reveal(name, target, reply) => answer(reply, kept.vault.reveal(&name, &target)),
            Ask::Used(name) => kept.used(&name, &me),
            Ask::Save => kept.save(),
        }
        Ok(())
    }
}

/// A caller that went away misses its answer; that is its own loss.
fn answer<T: Send + 'static>(reply: RpcReplyPort<T>, value: T) {
    drop(reply.send(value));
}

impl Kept {
    fn put(&mut self, fresh: &Fresh) -> Result<(), CredError> {
        let stored = self.vault.put(fresh, kit::now_ms());
        self.changed(stored)
    }

    fn has(&self, name: &str) -> Result<(), CredError> {
        if self.vault.has(name) { Ok(()) } else { Err(CredError::NoSecret) }
    }

    fn remove(&mut self, name: &str) -> Result<(), CredError> {
        self.has(name)?;
        let removed = self.vault.remove(name);
        self.counts.forget(name);
        self.changed(removed)
    }

    /// From here on replies and texts are searched for what is live now.
    fn changed(&mut self, done: Result<(), VaultFault>) -> Result<(), CredError> {
        let values = done.and_then(|()| self.vault.values());
        let values = values.map_err(|fault| {
            tracing::error!(%fault, "the vault could not be changed");
            CredError::Vault
        })?;
        self.live.show(&values);
        Ok(())
    }

    fn list(&self) -> List<SecretInfo, 256> {
        List::clip(self.vault.list().map(|listed| {
            let uses = self.counts.of(listed.name);
            SecretInfo {
                name: Name::clip(listed.name),
                hosts: List::clip(listed.hosts.iter().map(|host| Text::clip(host))),
                set_ms: listed.set_ms,
                uses: uses.count,
                used_ms: uses.last_ms,
            }
        }))
    }

    fn used(&mut self, name: &str, me: &ActorRef<Ask>) {
        self.counts.add(name, kit::now_ms());
        if !self.saving {
            self.saving = true;
            drop(me.send_after(SAVE_AFTER, || Ask::Save));
        }
    }

    fn save(&mut self) {
        self.saving = false;
        if let Err(fault) = self.counts.save(self.vault.store()) {
            tracing::warn!(%fault, "the counts of uses could not be saved");
        }
    }
}
