//! Deliveries of answers to their messengers, listed, shown and repeated.

use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::text;
use ipc_proto::channel::{DeliveryInfo, DeliveryState};
use ipc_proto::control::method;
use ipc_proto::ids::MessageId;
use ipc_proto::router::MessageView;
use serde_json::{Value, json};

/// The deliveries of a message's answer to its messenger; none for a message that did not come by one.
pub(super) async fn of(app: &App, view: &MessageView) -> Result<Vec<DeliveryInfo>, Failure> {
    let id = view.info.id;
    // A messenger's channel is named PLATFORM:NAME.
    if !view.info.channel.contains(':') {
        return Ok(Vec::new());
    }
    let found =
        app.link.ask(&method::deliveries, async |c, cx| c.deliveries(cx, Some(id), false).await).await?;
    Ok(found.into_vec())
}

pub(super) fn document(info: &DeliveryInfo) -> Value {
    json!({
        "delivery": info.id.0,
        "channel": info.channel,
        "state": info.state.name(),
        "pieces": info.pieces.0,
        "sent": info.pieces.1,
        "why": info.why,
        "made_ms": info.made_ms,
    })
}

pub(super) fn print(app: &App, deliveries: &[DeliveryInfo]) -> std::io::Result<()> {
    if deliveries.is_empty() {
        return Ok(());
    }
    app.out.line("")?;
    let row = |info: &DeliveryInfo| {
        let (pieces, sent) = info.pieces;
        vec![
            info.id.to_string(),
            info.state.name().to_owned(),
            format!("{sent} of {pieces}"),
            text::utc(info.made_ms),
            info.why.to_string(),
        ]
    };
    app.out.table(&["DELIVERY", "STATE", "SENT", "MADE", "WHY"], deliveries.iter().map(row).collect())?;
    if deliveries.iter().any(|info| info.state == DeliveryState::Unknown) {
        app.out.line(
            "an answer of unknown outcome may have arrived; `agentctl message resend` sends it again",
        )?;
    }
    Ok(())
}

/// Sends again what of an answer did not arrive.
pub(super) async fn resend(app: &App, id: MessageId) -> Outcome {
    let pieces = app.link.ask(&method::resend, async |c, cx| c.resend(cx, id).await).await?;
    let sentence = match pieces {
        0 => "nothing is left to send again".to_owned(),
        pieces => format!("{pieces} pieces are sent again"),
    };
    Ok(app.out.done(json!({ "message": id.to_string(), "pieces": pieces }), &sentence)?)
}

/// Lists deliveries of unknown outcome, newest first.
pub(super) async fn list_unknown(app: &App, limit: u16, channel: Option<&str>) -> Outcome {
    let found = app.link.ask(&method::deliveries, async |c, cx| c.deliveries(cx, None, true).await).await?;
    let of_channel = |info: &DeliveryInfo| channel.is_none_or(|wanted| wanted == info.channel.as_str());
    let found: Vec<DeliveryInfo> =
        found.into_vec().into_iter().filter(of_channel).take(limit.into()).collect();
    let head = ["DELIVERY", "MESSAGE", "CHANNEL", "SENT", "MADE"];
    let described = |info: &DeliveryInfo| {
        let mut fields = document(info);
        if let Some(fields) = fields.as_object_mut() {
            fields.insert("message".to_owned(), json!(info.message.map(|id| id.to_string())));
        }
        fields
    };
    let listed = app.out.list("deliveries", &found, described, &head, |info| {
        let message = info.message.map_or_else(|| "a notice of the host".to_owned(), |id| id.to_string());
        let (pieces, sent) = info.pieces;
        vec![
            info.id.to_string(),
            message,
            info.channel.to_string(),
            format!("{sent} of {pieces}"),
            text::utc(info.made_ms),
        ]
    })?;
    if !found.is_empty() {
        app.out.remark("each may have arrived; agentctl message resend MESSAGE sends it again");
    }
    Ok(listed)
}
