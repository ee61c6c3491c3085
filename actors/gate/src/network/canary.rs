//! Text of the prompt that must not leave: no request of a jail takes it out, in whatever part of it.

use crate::network::decision::{away, refused};
use crate::network::requests::Network;
use crate::network::session::{Outbound, Place};
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::egress::Request;
use ipc_proto::runner_gate::NetworkError;

impl Network {
    /// Refuses what `holds` text of the prompt that must not leave, or names it as its host.
    pub(super) async fn keep_in(
        &self,
        outbound: &Outbound,
        place: &Place,
        holds: bool,
    ) -> Result<(), NetworkError> {
        // A host is in lower case.
        let canary = outbound.facts.canary.to_ascii_lowercase();
        if !holds && (canary.is_empty() || !place.origin.host.contains(&canary)) {
            return Ok(());
        }
        let event = Event::new(Action::CanaryLeaked, Result3::Blocked).about(&place.subject());
        self.0.gate.record(outbound.mark(event)).await.map_err(|_| away(place, "audit"))?;
        Err(refused(place, "the request holds text of the prompt that must not leave", "leave it out"))
    }
}

/// Returns true if any part of a request holds this text.
pub(super) fn holds(request: &Request, text: &str) -> bool {
    let within = |bytes: &[u8]| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    !text.is_empty()
        && (within(request.path.as_bytes())
            || within(&request.body)
            || request
                .headers
                .iter()
                .any(|line| within(line.value.as_bytes()) || within(line.name.as_bytes())))
}
