//! `agentctl channel test`: waits until the messenger has accepted the account, or sends one line of the host's own to a
//! conversation that the account admits.

use super::{document, fetch, state};
use crate::app::{App, Outcome};
use ipc_proto::channel::{DeliveryId, DeliveryInfo, DeliveryState, Link};
use ipc_proto::control::method;
use ipc_proto::{Name, Text};
use serde_json::json;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The longest wait for the first contact with the platform.
const CONTACT: Duration = Duration::from_secs(20);
/// The longest wait for the outcome of a line.
const ARRIVAL: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(500);

/// Waits until the messenger has accepted or refused the account.
pub(super) async fn contact(app: &App, name: &Name) -> Outcome {
    let begun = Instant::now();
    let info = loop {
        let info = fetch(app, name).await?.info;
        let undecided = matches!(info.link, Link::Connecting | Link::Down) && !info.paused;
        if !undecided || begun.elapsed() >= CONTACT {
            break info;
        }
        tokio::time::sleep(PAUSE).await;
    };
    let well = info.link == Link::Up && !info.paused;
    let sentence = match (well, info.reason.is_empty()) {
        (true, _) => format!("{name}: {} accepts the account", info.platform.name()),
        (false, true) => format!("{name} is {}", state(&info)),
        (false, false) => format!("{name} is {}: {}", state(&info), info.reason),
    };
    let mut fields = json!({ "ok": well, "channel": document(&info), "accepted": well });
    if let Some(map) = fields.as_object_mut().filter(|_| !well) {
        map.insert("error".to_owned(), json!({ "type": "channel", "message": sentence.clone() }));
    }
    app.out.done(fields, &sentence)?;
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Sends a line to a conversation, and waits for its outcome.
pub(super) async fn line(app: &App, name: &Name, to: Text<128>) -> Outcome {
    let sent =
        app.link.ask(&method::test_channel, async |c, cx| c.test_channel(cx, name.clone(), to.clone()).await);
    let id = sent.await?;
    let info = outcome(app, id).await?;
    let state = info.as_ref().map_or(DeliveryState::Ready, |info| info.state);
    let why = info.map(|info| info.why.to_string()).unwrap_or_default();
    let sentence = match state {
        DeliveryState::Sent => format!("{name}: sent to {to}"),
        DeliveryState::Refused => format!("{name}: refused: {why}"),
        DeliveryState::Unknown => format!("{name}: it may have arrived; look there, or send another"),
        DeliveryState::Expired => format!("{name}: not sent in time"),
        DeliveryState::Ready | DeliveryState::Sending => {
            format!("{name}: not sent yet; agentctl channel show {name} says how the channel is")
        }
    };
    let fields = json!({ "channel": name, "to": to, "delivery": id.0, "state": state.name(), "why": why });
    app.out.done(fields, &sentence)?;
    Ok(if state == DeliveryState::Sent { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The delivery once it is over, or as it is after the longest wait.
async fn outcome(app: &App, id: DeliveryId) -> Result<Option<DeliveryInfo>, crate::failure::Failure> {
    let begun = Instant::now();
    loop {
        let all =
            app.link.ask(&method::deliveries, async |c, cx| c.deliveries(cx, None, false).await).await?;
        let found = all.into_vec().into_iter().find(|info| info.id == id);
        if found.as_ref().is_some_and(|info| info.state.is_final()) || begun.elapsed() >= ARRIVAL {
            return Ok(found);
        }
        tokio::time::sleep(PAUSE).await;
    }
}
