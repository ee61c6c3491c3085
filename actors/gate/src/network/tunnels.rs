//! Connections whose bytes pass as they are: tunnels to the places that the owner lists as opaque, and WebSockets. A tunnel is decided on
//! like a request; the bytes of both are counted, and pass only under the label that the decision was made for.

use crate::network::decision::{away, refused};
use crate::network::requests::{Network, flat};
use crate::network::session::{By, Outbound, Place, is_canonical};
use ipc_proto::List;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::egress::{self, EgressError, Head, Origin, Piece, ReplyId};
use ipc_proto::runner_gate::NetworkError;

impl Network {
    /// Opens a tunnel.
    ///
    /// # Errors
    /// [`NetworkError`].
    pub(crate) async fn tunnel(&self, origin: Origin) -> Result<ReplyId, NetworkError> {
        let outbound = self.outbound(&origin)?;
        is_canonical(&origin)?;
        let place = Place::of_tunnel(&outbound, origin);
        if !outbound.is_opaque(&place.origin) {
            return Err(refused(
                &place,
                "the owner's list of opaque hosts has no such place",
                &next(&outbound),
            ));
        }
        let held = self.hold(0)?;
        let label = self.label(&outbound, &place).await?;
        self.stand(&outbound, &place, label).await?;
        self.keep_in(&outbound, &place, false).await?;
        self.0.bounds.borrow_mut().send(0)?;
        let opened = self.0.gate.egress.call(&egress::method::tunnel, |egress, rpc| {
            let origin = place.origin.clone();
            async move { egress.tunnel(rpc, origin).await }
        });
        let opened = flat(opened.await);
        drop(held);
        let head = |reply| Head {
            reply,
            status: 200,
            headers: List::default(),
            length: None,
            first: Piece::default(),
        };
        self.count(place, 0, opened.map(head)).map(|head| head.reply)
    }

    /// Sends bytes into a tunnel or a WebSocket. What a session has read meanwhile is asked about before they pass.
    ///
    /// # Errors
    /// [`NetworkError`]; but for [`NetworkError::Asking`] it is over.
    pub(crate) async fn push(&self, reply: ReplyId, piece: Piece) -> Result<(), NetworkError> {
        let place = self.0.replies.borrow().get(&reply).map(|open| open.place.clone());
        let place = place.ok_or(NetworkError::Egress(EgressError::NoReply))?;
        match self.pass(&place, reply, piece).await {
            Ok(()) => Ok(()),
            Err(NetworkError::Asking) => Err(NetworkError::Asking),
            Err(error) => {
                self.close(reply).await;
                Err(error)
            }
        }
    }

    async fn pass(&self, place: &Place, reply: ReplyId, piece: Piece) -> Result<(), NetworkError> {
        let outbound = self.outbound(&place.origin)?;
        let label = self.label(&outbound, place).await?;
        self.stand(&outbound, place, label).await?;
        let length = piece.bytes.len();
        self.0.bounds.borrow_mut().pass(length)?;
        if let Some(used) = self.0.used.borrow_mut().get_mut(place) {
            used.sent = used.sent.saturating_add(length as u64);
        }
        let sent = self.0.gate.egress.call(&egress::method::send, |egress, rpc| {
            let piece = piece.clone();
            async move { egress.send(rpc, reply, piece).await }
        });
        let sent = flat(sent.await);
        if sent == Err(NetworkError::Egress(EgressError::OtherName)) {
            let event = Event::new(Action::NetworkDecided, Result3::Blocked).about(&place.subject());
            let event = outbound.mark(event).because("its TLS names another host, or there is none");
            self.0.gate.record(event).await.map_err(|_| away(place, "audit"))?;
        }
        sent
    }
}

fn next(outbound: &Outbound) -> String {
    match &outbound.by {
        By::Turn { agent, .. } => format!("the owner adds it to `opaque` in [agent.{agent}.network]"),
        By::Server(instance) => format!("the owner adds it to `opaque` in [mcp.{}]", instance.terms.server),
        By::Browser(_) => "pages reach nothing but by requests that the host reads".to_owned(),
    }
}
