//! The question that a person answers about a call. The same call makes the same question again, to the byte.

use crate::state::context::GateContext;
use ipc_proto::Text;
use ipc_proto::approval::Question;
use ipc_proto::ids::ApprovalId;
use ipc_proto::router::Why;
use ipc_proto::tool::ToolCall;
use policy::{Call, Verdict};
use serde_json::{Map, Value};

/// How long a question of an unattended turn waits, seconds: somebody will look in within a day.
const UNATTENDED_S: u32 = 86_400;

/// The time at which a question that is asked now expires, unix ms.
pub(crate) fn expiry(gate: &GateContext, unattended: bool) -> u64 {
    let seconds = if unattended { UNATTENDED_S } else { gate.settings.policy.approval_seconds };
    kit::now_ms().saturating_add(u64::from(seconds).saturating_mul(1000))
}

/// The question about a call, or `None` if its action is too long to be shown whole. Its id is the action's nonce, and `why`
/// keeps the label, the version and the expiry, so that the same question can be made again to the byte.
pub(crate) fn question(
    gate: &GateContext,
    id: ApprovalId,
    call: &ToolCall,
    args: &Map<String, Value>,
    verdict: &Verdict,
    why: &Why,
) -> Option<Question> {
    let (target, reason) = (verdict.target.as_deref(), verdict.reason.as_str());
    let asked = asked(gate, id, call, args, (target, verdict.irreversible, reason), why)?;
    Some(Question {
        scope: verdict.scope,
        declassifies: verdict.declassifies,
        grantable: verdict.grantable,
        owner_only: verdict.owner_only,
        ..asked
    })
}

/// The same where no policy asks: the answer grants and declassifies nothing. What the person says cannot be taken back.
pub(crate) fn plain(
    gate: &GateContext,
    id: ApprovalId,
    call: &ToolCall,
    args: &Map<String, Value>,
    reason: &str,
    why: &Why,
) -> Option<Question> {
    asked(gate, id, call, args, (None, true, reason), why)
}

fn asked(
    gate: &GateContext,
    id: ApprovalId,
    call: &ToolCall,
    args: &Map<String, Value>,
    (target, irreversible, reason): (Option<&str>, bool, &str),
    why: &Why,
) -> Option<Question> {
    let (action, hash) = canonical(id, call, args, (target, irreversible), why);
    let preview = policy::preview(&gate.catalogue(), &Call { tool: &call.tool, args });
    Some(Question {
        id,
        call: call.id,
        tool: call.tool.clone(),
        action: Text::new(action).ok()?,
        hash,
        scope: [0; 32],
        preview: Text::clip(&preview),
        reason: Text::clip(reason),
        policies: why.policies.clone(),
        label: why.label.clone(),
        declassifies: false,
        grantable: false,
        owner_only: false,
        expires_ms: why.expires_ms,
    })
}

pub(crate) fn canonical(
    id: ApprovalId,
    call: &ToolCall,
    args: &Map<String, Value>,
    target: (Option<&str>, bool),
    why: &Why,
) -> (String, [u8; 32]) {
    policy::canonical(&call.tool, args, target, &why.label, &why.version, &id.to_string(), why.expires_ms)
}

pub(crate) fn args_of(call: &ToolCall) -> Option<Map<String, Value>> {
    match toolset::parse_args(&call.args) {
        Ok(Value::Object(args)) => Some(args),
        _ => None,
    }
}
