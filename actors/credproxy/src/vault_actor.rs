//! The actor that owns the vault. It serves every request about secrets, one after the other, and it alone touches the own
//! folder after the start.

mod keys;

use crate::binding::Wanted;
use crate::fingerprints::FingerprintMaker;
use crate::login_value;
use crate::sealing_key::SealingKey;
use crate::secret::Secret;
use crate::secret_patterns::SecretPatterns;
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
pub(crate) struct VaultActor;

/// Its state.
pub(crate) struct VaultState {
    store: Arc<Store>,
    held: Held,
    sealing_key: SealingKey,
    counts: Counts,
    live: Live,
    /// True if a `Save` is on its way.
    saving: bool,
}

/// The port for an answer.
type Answer<T> = RpcReplyPort<Result<T, CredError>>;

/// A request. A change comes in two requests, so that it is put on the record in between.
pub(crate) enum VaultRequest {
    /// Opens a value sealed for this name, this binding and this lease.
    Unseal(Name, Binding, Lease, Blob<SECRET_BOUND>, Answer<Fresh>),
    /// Stores it.
    Put(Fresh, Answer<()>),
    /// Puts another value, the second, in the place of the first, which stays what it is otherwise.
    Renew(Name, Secret, Secret, Answer<()>),
    /// Checks that this binding and lease are no wider than those that hold.
    Narrower(Name, Binding, Lease, Answer<Narrower>),
    /// Binds one to less.
    Narrow(Narrower, Answer<()>),
    /// Checks that there is a secret of this name.
    Has(Name, Answer<()>),
    /// Revokes one.
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
    /// The value of one, to compare a sender's proof with.
    Compare(Name, RpcReplyPort<Result<Secret, CredError>>),
    /// One was used.
    Used(Name),
    /// Saves the counts of uses.
    Save,
    /// The vault as a whole.
    Info(Answer<VaultInfo>),
    /// Checks that a sealed passphrase opens the vault; `None` if it is open already.
    Unlock(Blob<PARCEL_BOUND>, Answer<Option<Unlocked>>),
    /// Opens it.
    Enter(Unlocked, Answer<()>),
    /// The key of another passphrase, sealed together with the present one or the key file; `None` if it is the present one.
    Passphrase(Blob<PARCEL_BOUND>, Answer<Option<Rekeying>>),
    /// New data keys, and a new key where that is a file.
    Rotation(Answer<Rekeying>),
    /// Puts the vault under it.
    Rekey(Rekeying, Answer<()>),
    /// Every secret with its value, sealed to a person who can open the vault.
    Export(Blob<PARCEL_BOUND>, Answer<Blob<EXPORT_BOUND>>),
}

/// Everything the actor begins with, opened before the seal.
pub(crate) struct Start {
    store: Arc<Store>,
    held: Held,
    sealing_key: SealingKey,
    counts: Counts,
    live: Live,
}

/// The views of the live secrets, none of which gives a value away.
struct Live {
    maker: FingerprintMaker,
    patterns: watch::Sender<Arc<SecretPatterns>>,
    fingerprints: watch::Sender<Arc<Fingerprints>>,
    locked: watch::Sender<bool>,
    /// The public part of those that are logins, by name.
    logins: HashMap<String, LoginInfo>,
}

/// The receiving ends of the views, which always show the secrets as they are.
pub(crate) struct Views {
    /// The forms that replies are searched for.
    pub(crate) patterns: watch::Receiver<Arc<SecretPatterns>>,
    /// The hashes that the scanner searches texts for.
    pub(crate) fingerprints: watch::Receiver<Arc<Fingerprints>>,
    /// True while the vault waits for its passphrase.
    pub(crate) locked: watch::Receiver<bool>,
}

impl Live {
    fn new(vault: Option<&Vault>) -> Result<(Self, Views), VaultFault> {
        let (secrets, logins) = vault.map_or_else(|| Ok(Default::default()), opened)?;
        let mut maker = FingerprintMaker::new().map_err(VaultFault::Random)?;
        let (patterns, searched) = watch::channel(Arc::new(SecretPatterns::new(&secrets)));
        let (fingerprints, searched_by_scanner) = watch::channel(Arc::new(maker.make(&secrets)));
        let (locked, is_locked) = watch::channel(vault.is_none());
        let views = Views { patterns: searched, fingerprints: searched_by_scanner, locked: is_locked };
        Ok((Self { maker, patterns, fingerprints, locked, logins }, views))
    }

    fn show(&mut self, vault: &Vault) -> Result<(), VaultFault> {
        let (secrets, logins) = opened(vault)?;
        self.patterns.send_replace(Arc::new(SecretPatterns::new(&secrets)));
        self.fingerprints.send_replace(Arc::new(self.maker.make(&secrets)));
        self.logins = logins;
        Ok(())
    }
}

/// Every value, and the public part of those that are logins.
fn opened(vault: &Vault) -> Result<(Vec<Secret>, HashMap<String, LoginInfo>), VaultFault> {
    let values = vault.values()?;
    // Both are by name.
    let named = vault.list().zip(&values);
    let logins =
        named.filter_map(|(listed, value)| Some((listed.name.to_owned(), login_value::standing(value)?)));
    let logins = logins.collect();
    Ok((values, logins))
}

impl Start {
    /// Opens the counts and makes the sealing key, and builds the views of the live secrets.
    pub(crate) fn new(store: Arc<Store>, held: Held) -> Result<(Self, Views), VaultFault> {
        // An actor that ends looks for its process groups, and the first look asks the kernel for the number of
        // processors, which is not allowed after the seal: the look is taken here.
        drop(ractor::pg::which_groups());
        let (counts, sealing_key) = (Counts::open(&store), SealingKey::open(&store));
        let (live, views) = match &held {
            Held::Open(vault) => Live::new(Some(vault))?,
            Held::Locked(_) => Live::new(None)?,
        };
        Ok((Self { store, held, sealing_key, counts, live }, views))
    }
}

impl Actor for VaultActor {
    type Msg = VaultRequest;
    type State = VaultState;
    type Arguments = Start;

    async fn pre_start(
        &self,
        _: ActorRef<VaultRequest>,
        start: Start,
    ) -> Result<VaultState, ActorProcessingErr> {
        let Start { store, held, sealing_key, counts, live } = start;
        Ok(VaultState { store, held, sealing_key, counts, live, saving: false })
    }

    async fn handle(
        &self,
        me: ActorRef<VaultRequest>,
        request: VaultRequest,
        state: &mut VaultState,
    ) -> Result<(), ActorProcessingErr> {
        match request {
            VaultRequest::Unseal(name, bound, lease, sealed, reply) => {
                answer(reply, state.unseal(&name, &bound, lease, &sealed));
            }
            VaultRequest::Put(fresh, reply) => {
                answer(reply, state.change(|vault| vault.put(&fresh, kit::now_ms())))
            }
            VaultRequest::Renew(name, before, value, reply) => {
                answer(reply, state.change(|vault| vault.renew(&name, &before, &value)));
            }
            VaultRequest::Narrower(name, bound, lease, reply) => {
                answer(reply, state.vault().and_then(|vault| vault.narrower(&name, &bound, lease)));
            }
            VaultRequest::Narrow(narrower, reply) => {
                answer(reply, state.change(|vault| vault.narrow(narrower)))
            }
            VaultRequest::Has(name, reply) => answer(reply, state.has(&name)),
            VaultRequest::Revoke(name, reply) => answer(reply, state.change(|vault| vault.revoke(&name))),
            VaultRequest::Remove(name, reply) => answer(reply, state.remove(&name)),
            VaultRequest::List(reply) => answer(reply, state.list()),
            VaultRequest::Place(name, reply) => answer(reply, state.place(&name)),
            VaultRequest::Reveal(name, wanted, reply) => answer(reply, state.reveal(&name, &wanted)),
            VaultRequest::Again(name, wanted, reply) => {
                answer(reply, state.vault().and_then(|vault| vault.again(&name, &wanted, kit::now_ms())));
            }
            VaultRequest::Compare(name, reply) => {
                answer(reply, state.vault().and_then(|vault| vault.compared(&name, kit::now_ms())));
            }
            VaultRequest::Used(name) => state.used(&name, &me),
            VaultRequest::Save => state.save(),
            VaultRequest::Info(reply) => answer(reply, Ok(state.info())),
            VaultRequest::Unlock(sealed, reply) => answer(reply, state.unlock(&sealed)),
            VaultRequest::Enter(unlocked, reply) => answer(reply, state.enter(unlocked)),
            VaultRequest::Passphrase(sealed, reply) => answer(reply, state.passphrase(&sealed)),
            VaultRequest::Rotation(reply) => answer(reply, state.rotation()),
            VaultRequest::Rekey(rekeying, reply) => {
                answer(reply, state.change(|vault| vault.rekey(rekeying)))
            }
            VaultRequest::Export(sealed, reply) => answer(reply, state.export(&sealed)),
        }
        Ok(())
    }
}

/// Answers; a caller that went away misses its answer.
fn answer<T: Send + 'static>(reply: RpcReplyPort<T>, value: T) {
    drop(reply.send(value));
}

/// The error for a caller; the log has the faults that are not the caller's own.
fn reported(fault: VaultFault) -> CredError {
    let reported = fault.reported();
    if reported == CredError::Vault {
        tracing::error!(%fault, "the vault could not be used or changed");
    }
    reported
}

impl VaultState {
    fn vault(&mut self) -> Result<&mut Vault, CredError> {
        match &mut self.held {
            Held::Open(vault) => Ok(vault),
            Held::Locked(_) => Err(CredError::Locked),
        }
    }

    /// Changes the vault. From here on replies and texts are searched for what is live now.
    fn change(&mut self, act: impl FnOnce(&mut Vault) -> Result<(), VaultFault>) -> Result<(), CredError> {
        act(self.vault()?).map_err(reported)?;
        self.show()
    }

    fn show(&mut self) -> Result<(), CredError> {
        let Held::Open(vault) = &self.held else { return Err(CredError::Locked) };
        self.live.show(vault).map_err(reported)
    }

    fn unseal(
        &mut self,
        name: &str,
        bound: &Binding,
        lease: Lease,
        sealed: &[u8],
    ) -> Result<Fresh, CredError> {
        let plain = self.sealing_key.unseal(sealed)?;
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

    fn used(&mut self, name: &str, me: &ActorRef<VaultRequest>) {
        self.counts.add(name, kit::now_ms());
        if !self.saving {
            self.saving = true;
            drop(me.send_after(SAVE_AFTER, || VaultRequest::Save));
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
