//! One jail's requests: each is held to the decision on its place, to the turn's bounds and to the labels of now, and goes out by
//! egress.

use crate::network::bounds::{Bounds, HELD_IN_ALL, bound};
use crate::network::decision::{self, Show, away, refused};
use crate::network::session::{By, NEXT, Outbound, Place, is_canonical};
use crate::network::{canary, secret, service};
use crate::state::context::GateContext;
use crate::turn::labels;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::credproxy::Reply;
use ipc_proto::egress::{self, EgressError, Head, Origin, Piece, ReplyId, Request};
use ipc_proto::label::Label;
use ipc_proto::runner_gate::NetworkError;
use ipc_proto::{Fault, Text};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::watch;

/// How long a request waits for a decision before the program's proxy asks again.
const WAIT: Duration = Duration::from_secs(20);

/// The way out of one jail.
#[derive(Clone)]
pub(crate) struct Network(pub(super) Rc<State>);

pub(super) struct State {
    pub(super) gate: GateContext,
    /// The scope within which egress uses connections again.
    scope: u64,
    show: Show,
    /// Set once the work was given out.
    outbound: RefCell<Option<Outbound>>,
    decided: RefCell<HashMap<Place, Decided>>,
    pub(super) bounds: RefCell<Bounds>,
    pub(super) replies: RefCell<HashMap<ReplyId, Open>>,
    pub(super) used: RefCell<HashMap<Place, Used>>,
    /// The replies that credproxy has, and how many there were.
    of_services: RefCell<HashMap<ReplyId, Reply>>,
    numbered: Cell<u64>,
}

/// The decision on a place, made or under way, and the label that it was made for.
#[derive(Clone)]
struct Decided {
    label: Label,
    standing: watch::Receiver<Option<Result<(), NetworkError>>>,
}

/// An open reply.
pub(super) struct Open {
    pub(super) place: Place,
    bytes: u64,
}

/// A request that is held.
pub(super) struct Held {
    network: Network,
    body: usize,
    /// Its turn counts it.
    counted: Cell<bool>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.network.0.gate.bodies_of_jails.fetch_sub(self.body as u64, Ordering::Relaxed);
        if self.counted.get() {
            self.network.0.bounds.borrow_mut().let_go(self.body);
        }
    }
}

/// The use of a place in a turn.
#[derive(Clone, Copy, Default)]
pub(super) struct Used {
    requests: u64,
    pub(super) sent: u64,
    received: u64,
}

impl Network {
    pub(crate) fn new(gate: GateContext, show: Show) -> Self {
        Self(Rc::new(State {
            gate,
            scope: getrandom::u64().unwrap_or_default(),
            show,
            outbound: RefCell::default(),
            decided: RefCell::default(),
            bounds: RefCell::default(),
            replies: RefCell::default(),
            used: RefCell::default(),
            of_services: RefCell::default(),
            numbered: Cell::default(),
        }))
    }

    /// Sets the turn when its work is given out.
    pub(crate) fn begin(&self, outbound: Outbound) {
        self.0.outbound.replace(Some(outbound));
    }

    /// Sends a request out.
    ///
    /// # Errors
    /// [`NetworkError`].
    pub(crate) async fn request(&self, request: Request) -> Result<Head, NetworkError> {
        let outbound = self.outbound(&request.origin)?;
        if let Some(turn) = outbound.turn_of_browser() {
            self.0.bounds.borrow_mut().begin_turn(turn);
        }
        let place = Place::of(&outbound, &request);
        is_canonical(&request.origin)?;
        if outbound.mixes_sites(&request) {
            let next = "have the agent open it by browser_navigate, which launches the browser anew";
            return Err(refused(&place, "this browser shows pages of one site a launch", next));
        }
        let agent = outbound.agent();
        let keyed = secret::keyed(&self.0.gate.settings.services, outbound.sender(agent.as_ref()), &request);
        let keyed = keyed.map_err(|(rule, next)| refused(&place, &rule, &next))?;
        if request.websocket && (keyed.is_some() || outbound.carried(&self.0.gate).is_some()) {
            return Err(refused(&place, "a WebSocket carries no secret of a service", "use plain requests"));
        }
        let place = match &keyed {
            Some(keyed) => place.with_secret(&outbound, keyed.service.clone()),
            None => place,
        };
        let held = self.hold(request.body.len())?;
        let label = self.label(&outbound, &place).await?;
        self.stand(&outbound, &place, label).await?;
        self.keep_in(&outbound, &place, canary::holds(&request, &outbound.facts.canary)).await?;
        let sent = request.body.len();
        self.0.bounds.borrow_mut().send(sent)?;
        let replied = match keyed {
            Some(keyed) => service::send(&self.0.gate, (&place, NEXT), &keyed.request)
                .await
                .map(|sent| self.numbered(sent)),
            None => self.send(&outbound, &place, request).await,
        };
        drop(held);
        self.count(place, sent, replied)
    }

    /// The owner of the requests to this origin, if its jail has a way out.
    pub(super) fn outbound(&self, origin: &Origin) -> Result<Outbound, NetworkError> {
        let outbound = self.0.outbound.borrow().clone().filter(Outbound::has_network);
        outbound.ok_or_else(|| self.no_network(origin))
    }

    /// Holds a request with a body of this many bytes, until what is given back is dropped.
    pub(super) fn hold(&self, body: usize) -> Result<Held, NetworkError> {
        let all = &self.0.gate.bodies_of_jails;
        let before = all.fetch_add(body as u64, Ordering::Relaxed);
        // Dropped, it gives back what did not fit.
        let held = Held { network: self.clone(), body, counted: Cell::new(false) };
        if before.saturating_add(body as u64) > HELD_IN_ALL {
            return Err(bound("bytes of all jails at once", HELD_IN_ALL, "try again"));
        }
        self.0.bounds.borrow_mut().hold(body)?;
        held.counted.set(true);
        Ok(held)
    }

    /// Counts a request and its reply.
    pub(super) fn count(
        &self,
        place: Place,
        sent: usize,
        replied: Result<Head, NetworkError>,
    ) -> Result<Head, NetworkError> {
        {
            let mut used = self.0.used.borrow_mut();
            let used = used.entry(place.clone()).or_default();
            used.requests += 1;
            used.sent += sent as u64;
        }
        match replied {
            Err(error) => Err(error),
            Ok(head) => {
                self.0.bounds.borrow_mut().open();
                self.0.replies.borrow_mut().insert(head.reply, Open { place, bytes: 0 });
                self.receive(head.reply, &head.first)?;
                Ok(head)
            }
        }
    }

    /// Counts a piece of a reply. One over a bound is let go.
    fn receive(&self, reply: ReplyId, piece: &Piece) -> Result<(), NetworkError> {
        let counted = {
            let mut replies = self.0.replies.borrow_mut();
            let open = replies.get_mut(&reply).ok_or(NetworkError::Egress(EgressError::NoReply))?;
            open.bytes = open.bytes.saturating_add(piece.bytes.len() as u64);
            if let Some(used) = self.0.used.borrow_mut().get_mut(&open.place) {
                used.received = used.received.saturating_add(piece.bytes.len() as u64);
            }
            self.0.bounds.borrow_mut().receive(piece.bytes.len(), open.bytes)
        };
        if piece.last || counted.is_err() {
            self.let_go(reply);
        }
        counted
    }

    fn let_go(&self, reply: ReplyId) {
        self.0.of_services.borrow_mut().remove(&reply);
        if self.0.replies.borrow_mut().remove(&reply).is_some() {
            self.0.bounds.borrow_mut().end();
        }
    }

    /// The next piece of a reply.
    ///
    /// # Errors
    /// [`NetworkError`].
    pub(crate) async fn next(&self, reply: ReplyId) -> Result<Piece, NetworkError> {
        // Replies are numbered by egress: one of another jail is none of this one's.
        if !self.0.replies.borrow().contains_key(&reply) {
            return Err(NetworkError::Egress(EgressError::NoReply));
        }
        let known = self.of_service(reply);
        let piece = self.piece(reply).await.inspect_err(|_| self.let_go(reply))?;
        if let Err(error) = self.receive(reply, &piece) {
            self.close_outside(reply, known).await;
            return Err(error);
        }
        Ok(piece)
    }

    /// Lets a reply go.
    pub(crate) async fn close(&self, reply: ReplyId) {
        if self.0.replies.borrow().contains_key(&reply) {
            let known = self.of_service(reply);
            self.let_go(reply);
            self.close_outside(reply, known).await;
        }
    }

    /// The next piece, from where the reply is.
    async fn piece(&self, reply: ReplyId) -> Result<Piece, NetworkError> {
        let gate = &self.0.gate;
        if let Some(known) = self.of_service(reply) {
            let place = self.0.replies.borrow().get(&reply).map(|open| open.place.clone());
            let place = place.ok_or(NetworkError::Egress(EgressError::NoReply))?;
            return service::next(gate, &place, known).await;
        }
        let piece = gate
            .egress
            .call(&egress::method::next, |egress, rpc| async move { egress.next(rpc, reply).await });
        flat(piece.await)
    }

    /// Credproxy's number of a reply that it has.
    fn of_service(&self, reply: ReplyId) -> Option<Reply> {
        self.0.of_services.borrow().get(&reply).copied()
    }

    async fn close_outside(&self, reply: ReplyId, known: Option<Reply>) {
        if let Some(known) = known {
            return service::close(&self.0.gate, known).await;
        }
        let closed = self
            .0
            .gate
            .egress
            .call(&egress::method::close, |egress, rpc| async move { egress.close(rpc, reply).await });
        if closed.await.is_err() {
            tracing::debug!("a reply could not be let go; it ends by itself");
        }
    }

    /// Lets every reply go when the program is gone, and puts what went out on the record.
    pub(crate) async fn end_all(&self) {
        let open: Vec<ReplyId> = self.0.replies.borrow().keys().copied().collect();
        for reply in open {
            self.close(reply).await;
        }
        let Some(outbound) = self.0.outbound.borrow().clone() else { return };
        let used = std::mem::take(&mut *self.0.used.borrow_mut());
        for (place, Used { requests, sent, received }) in used {
            let event = Event::new(Action::NetworkUsed, Result3::Success).about(&place.subject());
            let mut event = outbound.mark(event).because(&format!("{requests} requests, {sent} bytes sent"));
            event.bytes = received;
            if self.0.gate.record(event).await.is_err() {
                tracing::warn!("the requests of a turn could not be counted on the record");
            }
        }
    }

    async fn send(&self, outbound: &Outbound, place: &Place, request: Request) -> Result<Head, NetworkError> {
        if let Some(carried) = outbound.carried(&self.0.gate) {
            let sent = service::request(&self.0.gate, &carried, place, &request).await?;
            return Ok(self.numbered(sent));
        }
        let scope = self.0.scope;
        let sent = self.0.gate.egress.call(&egress::method::request, |egress, rpc| {
            let request = request.clone();
            async move { egress.request(rpc, scope, request).await }
        });
        flat(sent.await)
    }

    /// The head of a reply that credproxy has, under a number of its own.
    fn numbered(&self, (reply, head): (Reply, Head)) -> Head {
        // Egress's own numbers are lower.
        let number = self.0.numbered.get() + 1;
        self.0.numbered.set(number);
        let id = ReplyId(number | 1 << 63);
        self.0.of_services.borrow_mut().insert(id, reply);
        Head { reply: id, ..head }
    }

    /// The label that holds now.
    pub(super) async fn label(&self, outbound: &Outbound, place: &Place) -> Result<Label, NetworkError> {
        let label = match &outbound.by {
            By::Turn { turn, .. } => {
                labels::now(&self.0.gate, *turn).await.ok_or_else(|| away(place, "router"))?
            }
            By::Server(instance) | By::Browser(instance) => instance.label(),
        };
        Ok(outbound.facts.label.join(&label))
    }

    /// Waits for the decision on a place under this label; one that is not made in time is asked for again.
    pub(super) async fn stand(
        &self,
        outbound: &Outbound,
        place: &Place,
        label: Label,
    ) -> Result<(), NetworkError> {
        let known = self.0.decided.borrow().get(place).filter(|decided| decided.label == label).cloned();
        let mut decided = known.unwrap_or_else(|| self.begin_decision(outbound, place, label));
        let made = tokio::time::timeout(WAIT, decided.standing.wait_for(Option::is_some)).await;
        match made {
            Ok(Ok(standing)) => standing.clone().unwrap_or(Err(NetworkError::Asking)),
            Ok(Err(_)) => Err(away(place, "gate")),
            Err(_) => Err(NetworkError::Asking),
        }
    }

    /// Begins to decide; the other requests to the place wait for the same decision.
    fn begin_decision(&self, outbound: &Outbound, place: &Place, label: Label) -> Decided {
        let (made, standing) = watch::channel(None);
        let decided = Decided { label: label.clone(), standing };
        self.0.decided.borrow_mut().insert(place.clone(), decided.clone());
        let (gate, show) = (self.0.gate.clone(), Rc::clone(&self.0.show));
        let (outbound, place) = (outbound.clone(), place.clone());
        tokio::task::spawn_local(async move {
            let decision = decision::decide(&gate, &outbound, &place, &label, &show);
            tokio::select! {
                decision = decision => drop(made.send(Some(decision))),
                // The jail is gone, and with it everybody who waits.
                () = made.closed() => {}
            }
        });
        decided
    }

    fn no_network(&self, origin: &Origin) -> NetworkError {
        let agent = self.0.outbound.borrow().as_ref().and_then(|outbound| match &outbound.by {
            By::Turn { agent, .. } => Some(agent.to_string()),
            By::Server(_) | By::Browser(_) => None,
        });
        NetworkError::Refused {
            host: Text::clip(&origin.host_port()),
            rule: Text::clip("the agent's jails have no network"),
            next: Text::clip(&format!(
                "the owner sets mode = \"proxy\" in [agent.{}.network] and restarts the host",
                agent.as_deref().unwrap_or("NAME")
            )),
        }
    }
}

pub(super) fn flat<T>(reply: Result<Result<T, EgressError>, Fault>) -> Result<T, NetworkError> {
    let reply = reply.map_err(|fault| match fault {
        Fault::Deadline => EgressError::TimedOut,
        _ => EgressError::Down,
    });
    reply.and_then(|reply| reply).map_err(NetworkError::Egress)
}
