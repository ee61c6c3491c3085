//! A file of the workspace on its way to the conversation that the turn answers. The jail gives the bytes, and they leave only if they have
//! the digest that was decided on and hold no secret.

use crate::effects::outcome::{Effect, disconnected, done, failed};
use crate::inspection::scan::{alert, scan};
use crate::state::blocked_on;
use crate::state::context::GateContext;
use crate::turn::context::TurnContext;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::channel::SENT_BYTES;
use ipc_proto::router;
use ipc_proto::runner_gate::GateError;
use ipc_proto::scanner::{Crossing, SCAN_BOUND};
use ipc_proto::tool::ToolCall;
use ipc_proto::{Blob, Text};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// Bytes that two parts of a text which are scanned one after the other share.
const SHARED: usize = 4096;

/// Sends it.
pub(crate) async fn send(
    gate: &GateContext,
    context: &TurnContext,
    call: &ToolCall,
    (args, file): (&Map<String, Value>, Option<Blob<SENT_BYTES>>),
) -> Result<Effect, GateError> {
    let text = |name: &str| args.get(name).and_then(Value::as_str).unwrap_or_default();
    let Some(bytes) = file.filter(|bytes| !bytes.is_empty()) else {
        return Ok(failed("the file is empty, or nothing of it came out of the jail"));
    };
    if !has_digest(&bytes, text("sha256")) {
        return Ok(failed(
            "its bytes have another SHA-256 than the call names; compute it again and repeat the call",
        ));
    }
    if let Some(why) = withheld(gate, context, call, &bytes).await? {
        return Ok(failed(why));
    }
    let name = text("path").rsplit('/').next().unwrap_or_default();
    let (turn, length) = (context.turn.id, bytes.len());
    let sent = gate.router.call(&router::method::send_file, |router, rpc| {
        let (id, bytes) = (call.id, bytes.clone());
        let (name, caption) = (Text::clip(name), Text::clip(text("caption")));
        async move { router.send_file(rpc, turn, id, name, caption, bytes).await }
    });
    match blocked_on::during("router", sent).await {
        Ok(Ok(())) => Ok(done(format!("{length} bytes are on their way to the conversation"), None)),
        Ok(Err(error)) => Ok(failed(&error.to_string())),
        Err(fault) => Ok(disconnected("router", fault, false)),
    }
}

fn has_digest(bytes: &[u8], hex: &str) -> bool {
    let digest: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    digest.eq_ignore_ascii_case(hex)
}

/// The reason for which the file may not leave, if there is one. A text must hold no secret of any kind, and no file one of the host's own.
async fn withheld(
    gate: &GateContext,
    context: &TurnContext,
    call: &ToolCall,
    bytes: &[u8],
) -> Result<Option<&'static str>, GateError> {
    let is_text = std::str::from_utf8(bytes).is_ok();
    let readable = readable(bytes);
    for part in parts(&readable) {
        let found = scan(gate, context, Crossing::Answer, part).await?;
        if found.canary_leaked {
            let event = Event::new(Action::CanaryLeaked, Result3::Blocked);
            gate.record(event.in_turn(context.turn.session, context.turn.id)).await?;
            return Ok(Some("it holds what must not leave the prompt"));
        }
        if found.held_secret || (is_text && found.redacted.is_some()) {
            alert(gate, context, &call.tool, "a secret in a file").await?;
            return Ok(Some("it holds a secret; take that out and send it again"));
        }
    }
    Ok(None)
}

/// The readable part of a file: each run of bytes that are no UTF-8 is one space.
fn readable(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push(' ');
        }
    }
    text
}

/// A text in parts that the scanner takes; what stands across the end of one is whole in the next.
fn parts(text: &str) -> Vec<&str> {
    let (mut parts, mut from) = (Vec::new(), 0_usize);
    loop {
        let end = text.floor_char_boundary(from.saturating_add(SCAN_BOUND));
        parts.extend(text.get(from..end));
        if end >= text.len() {
            return parts;
        }
        from = text.floor_char_boundary(end.saturating_sub(SHARED));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds P11-53.
    #[test]
    fn a_file_is_what_its_digest_says() {
        let digest = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
        assert!(has_digest(b"hello", digest) && has_digest(b"hello", &digest.to_uppercase()));
        assert!(!has_digest(b"hello!", digest) && !has_digest(b"hello", ""));
    }

    // Holds P11-53.
    #[test]
    fn every_text_of_a_file_is_scanned_whole_somewhere() {
        assert_eq!(readable(b"\x89PNG\xff\xfekey=abc\xff"), " PNG  key=abc ");
        let text = "\u{e9}".repeat(SCAN_BOUND);
        let all = parts(&text);
        assert!(all.len() > 2 && all.iter().all(|part| part.len() <= SCAN_BOUND));
        let (first, second) = (all[0].len(), SHARED);
        assert!(
            all[1].len() > second && text.starts_with(all[0]) && text[first - second..].starts_with(all[1])
        );
        assert_eq!(parts(""), [""]);
    }
}
