//! The actor that owns the vault. Everything about secrets is asked of it, one question after the other; it alone
//! touches the own folder after the start.

mod keys;

use crate::binding::Wanted;
use crate::door::Door;
use crate::login;
use crate::needles::Needles;
use crate::prints::Printer;
use crate::secret::Secret;
use crate::store::Store;
use crate::uses::Counts;
use crate::vault::{Fresh, Held, Listed, Narrower, Rekeying, Unlocked, Vault, VaultFault};
use ipc_proto::credproxy::{
    At, Binding, CredError, EXPORT_BOUND, Fingerprints, Lease, LoginInfo, PARCEL_BOUND, SECRET_BOUND,
    SecretInfo, VaultInfo,
};
use ipc_proto::{Blob, List, Name};
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// How long a count of uses may be in memory alone.
const SAVE_AFTER: Duration = Duration::from_secs(30);

/// The actor.
pub(crate) struct Keeper;

/// What it keeps.
pub(crate) struct Kept {
    store: Arc<Store>,
    held: Held,
    door: Door,
    counts: Counts,
    live: Live,
    /// True if a `Save` is on its way.
    saving: bool,
}

/// A vault's answer.
type Answer<T> = RpcReplyPort<Result<T, CredError>>;

/// What it can be asked. What changes something comes in two questions, so that it is on the record in between.
pub(crate) enum Ask {
    /// Opens a value sealed for this name, this binding and this lease.
    Unseal(Name, Binding, Lease, Blob<SECRET_BOUND>, Answer<Fresh>),
    /// Stores it.
    Put(Fresh, Answer<()>),
    /// Puts another value, the second, in the place of the first, which stays what it is otherwise.
    Renew(Name, Secret, Secret, Answer<()>),
    /// Whether this is no wider than what holds.
    Narrower(Name, Binding, Lease, Answer<Narrower>),
    /// Binds one to less.
    Narrow(Narrower, Answer<()>),
    /// Whether there is a secret of this name.
    Has(Name, Answer<()>),
    /// Has one be used no more.
    Revoke(Name, Answer<()>),
    /// Forgets one.
    Remove(Name, Answer<()>),
    /// Every secret without its value.
    List(Answer<List<SecretInfo, 256>>),
    /// Where in a request one goes: the first place of its binding.
    Place(Name, Answer<Option<At>>),
    /// The value of one for this use, which is counted.
    Reveal(Name, Wanted, Answer<Secret>),
    /// The value as it is by now, for a use that was counted already.
    Again(Name, Wanted, Answer<Secret>),
    /// One was used.
    Used(Name),
    /// Saves the counts of uses.
    Save,
    /// The vault as a whole.
    Info(Answer<VaultInfo>),
    /// Whether a sealed passphrase opens the vault; `None` if it is open already.
    Unlock(Blob<PARCEL_BOUND>, Answer<Option<Unlocked>>),
    /// Opens it.
    Enter(Unlocked, Answer<()>),
    /// The key of another passphrase, sealed with what opens the vault now; `None` if it has that one already.
    Passphrase(Blob<PARCEL_BOUND>, Answer<Option<Rekeying>>),
    /// New data keys, and a new key where that is a file.
    Rotation(Answer<Rekeying>),
    /// Puts the vault under it.
    Rekey(Rekeying, Answer<()>),
    /// Every secret with its value, sealed to who shows what opens the vault.
    Export(Blob<PARCEL_BOUND>, Answer<Blob<EXPORT_BOUND>>),
}

/// Everything the actor begins with, opened before the seal.
pub(crate) struct Start {
    store: Arc<Store>,
    held: Held,
    door: Door,
    counts: Counts,
    live: Live,
}

/// What shows the live secrets without giving one away.
struct Live {
    printer: Printer,
    needles: watch::Sender<Arc<Needles>>,
    fingerprints: watch::Sender<Arc<Fingerprints>>,
    locked: watch::Sender<bool>,
    /// What may be known of those that are logins, by name.
    logins: HashMap<String, LoginInfo>,
}

/// Its other ends, which always show the secrets as they are.
pub(crate) struct Views {
    /// What replies are searched for.
    pub(crate) needles: watch::Receiver<Arc<Needles>>,
    /// What the scanner searches texts for.
    pub(crate) fingerprints: watch::Receiver<Arc<Fingerprints>>,
    /// Whether the vault waits for its passphrase.
    pub(crate) locked: watch::Receiver<bool>,
}

impl Live {
    fn new(vault: Option<&Vault>) -> Result<(Self, Views), VaultFault> {
        let (secrets, logins) = vault.map_or_else(|| Ok(Default::default()), opened)?;
        let mut printer = Printer::new().map_err(VaultFault::Random)?;
        let (needles, searched) = watch::channel(Arc::new(Needles::new(&secrets)));
        let (fingerprints, told) = watch::channel(Arc::new(printer.print(&secrets)));
        let (locked, waits) = watch::channel(vault.is_none());
        let views = Views { needles: searched, fingerprints: told, locked: waits };
        Ok((Self { printer, needles, fingerprints, locked, logins }, views))
    }

    fn show(&mut self, vault: &Vault) -> Result<(), VaultFault> {
        let (secrets, logins) = opened(vault)?;
        self.needles.send_replace(Arc::new(Needles::new(&secrets)));
        self.fingerprints.send_replace(Arc::new(self.printer.print(&secrets)));
        self.logins = logins;
        Ok(())
    }
}

/// Every value, and what may be known of those that are logins.
fn opened(vault: &Vault) -> Result<(Vec<Secret>, HashMap<String, LoginInfo>), VaultFault> {
    let values = vault.values()?;
    // Both are by name.
    let named = vault.list().zip(&values);
    let logins = named.filter_map(|(listed, value)| Some((listed.name.to_owned(), login::standing(value)?)));
    let logins = logins.collect();
    Ok((values, logins))
}

impl Start {
    /// Opens counts and the door, and builds what the live secrets are recognised by.
    pub(crate) fn new(store: Arc<Store>, held: Held) -> Result<(Self, Views), VaultFault> {
        // An actor that ends looks for its process groups, and the first look asks the kernel for the number of
        // processors, which is not allowed after the seal: the look is taken here.
        drop(ractor::pg::which_groups());
        let (counts, door) = (Counts::open(&store), Door::open(&store));
        let (live, views) = match &held {
            Held::Open(vault) => Live::new(Some(vault))?,
            Held::Locked(_) => Live::new(None)?,
        };
        Ok((Self { store, held, door, counts, live }, views))
    }
}

impl Actor for Keeper {
    type Msg = Ask;
    type State = Kept;
    type Arguments = Start;

    async fn pre_start(&self, _: ActorRef<Ask>, start: Start) -> Result<Kept, ActorProcessingErr> {
        let Start { store, held, door, counts, live } = start;
        Ok(Kept { store, held, door, counts, live, saving: false })
    }

    async fn handle(&self, me: ActorRef<Ask>, ask: Ask, kept: &mut Kept) -> Result<(), ActorProcessingErr> {
        match ask {
            Ask::Unseal(name, bound, lease, sealed, reply) => {
                answer(reply, kept.unseal(&name, &bound, lease, &sealed));
            }
            Ask::Put(fresh, reply) => answer(reply, kept.change(|vault| vault.put(&fresh, kit::now_ms()))),
            Ask::Renew(name, before, value, reply) => {
                answer(reply, kept.change(|vault| vault.renew(&name, &before, &value)));
            }
            Ask::Narrower(name, bound, lease, reply) => {
                answer(reply, kept.vault().and_then(|vault| vault.narrower(&name, &bound, lease)));
            }
            Ask::Narrow(narrower, reply) => answer(reply, kept.change(|vault| vault.narrow(narrower))),
            Ask::Has(name, reply) => answer(reply, kept.has(&name)),
            Ask::Revoke(name, reply) => answer(reply, kept.change(|vault| vault.revoke(&name))),
            Ask::Remove(name, reply) => answer(reply, kept.remove(&name)),
            Ask::List(reply) => answer(reply, kept.list()),
            Ask::Place(name, reply) => answer(reply, kept.place(&name)),
            Ask::Reveal(name, wanted, reply) => answer(reply, kept.reveal(&name, &wanted)),
            Ask::Again(name, wanted, reply) => {
                answer(reply, kept.vault().and_then(|vault| vault.again(&name, &wanted, kit::now_ms())));
            }
            Ask::Used(name) => kept.used(&name, &me),
            Ask::Save => kept.save(),
            Ask::Info(reply) => answer(reply, Ok(kept.info())),
            Ask::Unlock(sealed, reply) => answer(reply, kept.unlock(&sealed)),
            Ask::Enter(unlocked, reply) => answer(reply, kept.enter(unlocked)),
            Ask::Passphrase(sealed, reply) => answer(reply, kept.passphrase(&sealed)),
            Ask::Rotation(reply) => answer(reply, kept.rotation()),
            Ask::Rekey(rekeying, reply) => answer(reply, kept.change(|vault| vault.rekey(rekeying))),
            Ask::Export(sealed, reply) => answer(reply, kept.export(&sealed)),
        }
        Ok(())
    }
}

/// A caller that went away misses its answer; that is its own loss.
fn answer<T: Send + 'static>(reply: RpcReplyPort<T>, value: T) {
    drop(reply.send(value));
}

/// What a caller is told of a fault; what is not its own doing is in the log.
fn told(fault: VaultFault) -> CredError {
    let told = fault.told();
    if told == CredError::Vault {
        tracing::error!(%fault, "the vault could not be used or changed");
    }
    told
}

impl Kept {
    fn vault(&mut self) -> Result<&mut Vault, CredError> {
        match &mut self.held {
            Held::Open(vault) => Ok(vault),
            Held::Locked(_) => Err(CredError::Locked),
        }
    }

    /// Changes the vault. From here on replies and texts are searched for what is live now.
    fn change(&mut self, act: impl FnOnce(&mut Vault) -> Result<(), VaultFault>) -> Result<(), CredError> {
        act(self.vault()?).map_err(told)?;
        self.show()
    }

    fn show(&mut self) -> Result<(), CredError> {
        let Held::Open(vault) = &self.held else { return Err(CredError::Locked) };
        self.live.show(vault).map_err(told)
    }

    fn unseal(
        &mut self,
        name: &str,
        bound: &Binding,
        lease: Lease,
        sealed: &[u8],
    ) -> Result<Fresh, CredError> {
        let plain = self.door.unseal(sealed)?;
        self.vault()?.judge(name, bound, lease, &plain)
    }

    fn has(&mut self, name: &str) -> Result<(), CredError> {
        if self.vault()?.has(name) { Ok(()) } else { Err(CredError::NoSecret) }
    }

    fn remove(&mut self, name: &str) -> Result<(), CredError> {
        self.has(name)?;
        self.counts.forget(name);
        self.change(|vault| vault.remove(name))
    }

    fn list(&mut self) -> Result<List<SecretInfo, 256>, CredError> {
        let Held::Open(vault) = &self.held else { return Err(CredError::Locked) };
        let login = |listed: &Listed<'_>| self.live.logins.get(listed.name).copied();
        Ok(List::clip(vault.list().map(|listed| info(&listed, login(&listed), &self.counts))))
    }

    fn place(&mut self, name: &str) -> Result<Option<At>, CredError> {
        let found = self.vault()?.list().find(|listed| listed.name == name);
        found.map(|listed| listed.binding.at.first().cloned()).ok_or(CredError::NoSecret)
    }

    fn reveal(&mut self, name: &str, wanted: &Wanted) -> Result<Secret, CredError> {
        self.vault()?.reveal(name, wanted, kit::now_ms())
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
        if let Err(fault) = self.counts.save(&self.store) {
            tracing::warn!(%fault, "the counts of uses could not be saved");
        }
    }
}

fn info(listed: &Listed<'_>, login: Option<LoginInfo>, counts: &Counts) -> SecretInfo {
    let uses = counts.of(listed.name);
    SecretInfo {
        name: Name::clip(listed.name),
        binding: listed.binding.clone(),
        lease: listed.lease,
        revoked: listed.revoked,
        set_ms: listed.set_ms,
        uses: uses.count,
        used_ms: uses.last_ms,
        login,
    }
}
