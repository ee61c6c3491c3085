//! Credproxy's methods: each hands on to the proxy. The record and the dialler are reached from here.

use crate::accounts::Accounts;
use crate::login_turns::Turns;
use crate::master_key::KeyStore;
use crate::poll_leases::PollLeases;
use crate::pool::Pool;
use crate::proxy::{AT_ONCE, Outside, Proxy, Shares, shares};
use crate::replies::Replies;
use crate::shown::Shown;
use crate::store::Store;
use crate::stream_table::Streams;
use crate::tls;
use crate::upstream::Limits;
use crate::vault::{self, Sources};
use crate::vault_actor::{Start, VaultActor, Views};
use crate::verify::Proofs;
use ipc_proto::audit::Event;
use ipc_proto::credproxy::{
    Binding, Chunk, CredError, Credproxy as _, EXPORT_BOUND, FRAME_BOUND, Fingerprints, GIVEN_BOUND, Head,
    Incoming, Lease, Opening, Outgoing, PARCEL_BOUND, Proof, Reply, Request, SECRET_BOUND, SIGNED_BOUND,
    SecretInfo, Stream, VaultInfo, Verb, Verdict,
};
use ipc_proto::dialer::{DialerClient, HostPort, NoHost};
use ipc_proto::{Blob, List, Name, Text, config};
use kit::{Dial, Edge, Host, Link, OpenFault, Place, Recorder};
use manifest::Process;
use manifest::command::{Frame, Kind};
use rustls::ClientConfig;
use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use tarpc::context::Context;
use tokio::sync::Semaphore;

/// The process.
pub(crate) struct Credproxy {
    proxy: Rc<Proxy<Peers>>,
    shown: Shown,
}

/// The state that is opened before the seal.
pub(crate) struct Opened {
    start: Start,
    views: Views,
    tls: Arc<ClientConfig>,
    plain_http: BTreeSet<HostPort>,
    shares: Shares,
    accounts: Accounts,
}

impl kit::Actor for Credproxy {
    const PROCESS: Process = Process::Credproxy;
    type Config = config::Credproxy;
    type Opened = Opened;

    fn open(config: config::Credproxy, place: &Place) -> Result<Opened, OpenFault> {
        let store = Store::open(&place.own()).map_err(|fault| OpenFault::new("the own folder", fault))?;
        let tls =
            tls::client(&store).map_err(|fault| OpenFault::new("the certificate authorities", fault))?;
        let vault = |fault| OpenFault::new("the vault", fault);
        let (store, key_store) = (Arc::new(store), KeyStore::new(place.page()));
        let sources = Sources::new(config.key, place.credential()).map_err(vault)?;
        let held = vault::open(Arc::clone(&store), sources, key_store).map_err(vault)?;
        let (start, views) = Start::new(store, held).map_err(vault)?;
        let plain_http = config.plain_http.iter().map(|text| text.parse()).collect::<Result<_, NoHost>>();
        let plain_http = plain_http.map_err(|fault| OpenFault::new("[credproxy] plain_http", fault))?;
        let accounts = Accounts::new(&config.channels);
        let accounts = accounts.map_err(|fault| OpenFault::new("the hosts of a channel", fault))?;
        Ok(Opened { start, views, tls, plain_http, shares: shares(&config), accounts })
    }

    async fn start(opened: Opened, host: Host) -> Self {
        let Opened { start, views, tls, plain_http, shares, accounts } = opened;
        let Views { patterns, fingerprints, locked } = views;
        // agentd hears each time that the vault is locked or opened.
        let frame = |locked: &bool| Frame::new(Kind::Locked, Process::Credproxy).with(&[u64::from(*locked)]);
        tokio::task::spawn_local(host.supervisor().keep_reported(locked, frame));
        // An actor fails to start when its name is taken or its own start fails; this one has neither.
        let vault_actor = match ractor::Actor::spawn(None, VaultActor, start).await {
            Ok((vault_actor, _)) => vault_actor,
            Err(_) => std::process::abort(),
        };
        let outside = Peers { recorder: host.recorder(), dial: Dial::new(&host), dialer: host.link() };
        let proxy = Proxy {
            outside,
            vault_actor,
            patterns,
            tls,
            plain_http,
            shares,
            accounts,
            poll_leases: PollLeases::default(),
            proofs: Proofs::default(),
            pool: Pool::default(),
            logins: Turns::default(),
            slots: Arc::new(Semaphore::new(AT_ONCE)),
            limits: Limits::USUAL,
        };
        Self { proxy: Rc::new(proxy), shown: Shown::new(fingerprints) }
    }

    async fn serve(&self, edge: Edge) {
        let server = CredproxyServer {
            caller: edge.caller(),
            proxy: Rc::clone(&self.proxy),
            replies: Replies::default(),
            streams: Streams::default(),
            shown: self.shown.clone(),
        };
        edge.serve(FRAME_BOUND, server.serve()).await;
    }

    fn queue_depth(&self) -> u64 {
        u64::try_from(AT_ONCE.saturating_sub(self.proxy.slots.available_permits())).unwrap_or(0)
    }
}

/// Audit and dialer.
struct Peers {
    recorder: Recorder,
    dial: Dial,
    dialer: Link<DialerClient>,
}

impl Outside for Peers {
    async fn record(&self, event: Event) -> Result<(), CredError> {
        self.recorder.record(event).await.map(|_| ()).map_err(|_| CredError::NotRecorded)
    }

    async fn dial(&self, target: &HostPort) -> Result<OwnedFd, CredError> {
        self.dial.connect(target).await.map_err(CredError::Dial)
    }

    fn dials(&self) -> bool {
        self.dialer.is_up()
    }
}

/// One caller's view: its replies are its own.
#[derive(Clone)]
struct CredproxyServer {
    caller: Process,
    proxy: Rc<Proxy<Peers>>,
    replies: Replies,
    streams: Streams,
    shown: Shown,
}

impl ipc_proto::credproxy::Credproxy for CredproxyServer {
    async fn request(self, _: Context, request: Request) -> Result<Head, CredError> {
        self.proxy.admit(self.caller, &request).await?;
        self.proxy.request(&self.replies, request).await
    }

    async fn channel_request(self, _: Context, account: Name, request: Request) -> Result<Head, CredError> {
        self.proxy.channel_request((self.caller, account), &self.replies, request).await
    }

    async fn open_stream(self, _: Context, account: Name, opening: Opening) -> Result<Stream, CredError> {
        self.proxy.open_stream((self.caller, account), &self.streams, opening).await
    }

    async fn push(self, _: Context, stream: Stream, outgoing: Outgoing) -> Result<(), CredError> {
        self.proxy.push(self.caller, &self.streams, (stream, outgoing)).await
    }

    async fn pull(self, _: Context, stream: Stream) -> Result<Incoming, CredError> {
        self.proxy.pull((&self.streams, &self.replies), stream).await
    }

    async fn close_stream(self, _: Context, stream: Stream) {
        self.streams.close(stream);
    }

    async fn verify(
        self,
        _: Context,
        account: Name,
        secret: Name,
        proof: Proof,
        signed: Blob<SIGNED_BOUND>,
        given: Blob<GIVEN_BOUND>,
    ) -> Result<Verdict, CredError> {
        self.proxy.verify((self.caller, &account), (secret, proof), &signed, &given).await
    }

    async fn next(self, _: Context, reply: Reply, credit: u32) -> Result<Chunk, CredError> {
        self.proxy.next(&self.replies, reply, credit).await
    }

    async fn close(self, _: Context, reply: Reply) {
        self.replies.close(reply);
    }

    async fn sign(
        self,
        _: Context,
        account: Name,
        secret: Name,
        bytes: Blob<SIGNED_BOUND>,
    ) -> Result<[u8; 32], CredError> {
        self.proxy.sign((self.caller, &account), secret, &bytes).await
    }

    async fn set(
        self,
        _: Context,
        name: Name,
        binding: Binding,
        lease: Lease,
        sealed: Blob<SECRET_BOUND>,
    ) -> Result<(), CredError> {
        self.proxy.set(name, binding, lease, sealed).await?;
        self.shown.searched_for().await;
        Ok(())
    }

    async fn list(self, _: Context) -> Result<List<SecretInfo, 256>, CredError> {
        self.proxy.list().await
    }

    async fn remove(self, _: Context, name: Name) -> Result<(), CredError> {
        self.proxy.remove(name).await
    }

    async fn fingerprints(self, _: Context, known: Option<u64>) -> Fingerprints {
        self.shown.newer(known).await
    }

    async fn narrow(self, _: Context, name: Name, binding: Binding, lease: Lease) -> Result<(), CredError> {
        self.proxy.narrow(name, binding, lease).await
    }

    async fn revoke(self, _: Context, name: Name) -> Result<(), CredError> {
        self.proxy.revoke(name).await
    }

    async fn vault(self, _: Context) -> Result<VaultInfo, CredError> {
        self.proxy.vault().await
    }

    async fn unlock(self, _: Context, sealed: Blob<PARCEL_BOUND>) -> Result<(), CredError> {
        self.proxy.unlock(sealed).await?;
        self.shown.searched_for().await;
        Ok(())
    }

    async fn passphrase(self, _: Context, sealed: Blob<PARCEL_BOUND>) -> Result<(), CredError> {
        self.proxy.passphrase(sealed).await
    }

    async fn rotate(self, _: Context) -> Result<(), CredError> {
        self.proxy.rotate().await
    }

    async fn export(self, _: Context, sealed: Blob<PARCEL_BOUND>) -> Result<Blob<EXPORT_BOUND>, CredError> {
        self.proxy.export(sealed).await
    }

    async fn try_out(self, _: Context, name: Name, verb: Verb, url: Text<2048>) -> Result<u16, CredError> {
        self.proxy.try_out(name, verb, url).await
    }
}
