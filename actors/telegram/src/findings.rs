//! The findings of a look at a bot: its token, its privacy mode, and a hook that stands in the way of polls.

use crate::reply::{Failure, poll_fault};
use ipc_proto::channel::Finding;
use ipc_proto::{Name, Text};
use serde_json::Value;

/// Updates that may wait at Telegram while all is well.
const BACKLOG: u64 = 100;

fn finding(id: &str, well: bool, said: &str) -> Finding {
    Finding { id: Name::clip(id), well, said: Text::clip(said) }
}

/// The findings of `getMe`.
pub(crate) fn of_me(me: &Result<Value, Failure>, account: &str) -> Vec<Finding> {
    let me = match me {
        Ok(me) => me,
        Err(failure) => return vec![finding("token", false, &poll_fault(failure, account).reason)],
    };
    let reads_all = me.get("can_read_all_group_messages").and_then(Value::as_bool).unwrap_or_default();
    let privacy = if reads_all {
        "privacy mode is off: in groups the bot is shown every message"
    } else {
        "privacy mode is on: in groups the bot is shown what names or answers it; /setprivacy at @BotFather changes that"
    };
    vec![finding("token", true, "Telegram accepts the token"), finding("privacy", true, privacy)]
}

/// The findings of `getWebhookInfo`.
pub(crate) fn of_hook(hook: Option<&Value>) -> Vec<Finding> {
    let Some(hook) = hook else {
        return vec![finding("hook", false, "Telegram does not say if a webhook is set; try again")];
    };
    let is_set = hook.get("url").and_then(Value::as_str).is_some_and(|url| !url.is_empty());
    let waiting = hook.get("pending_update_count").and_then(Value::as_u64).unwrap_or_default();
    let hook = if is_set {
        finding(
            "hook",
            false,
            "a webhook is set, so nothing can be polled; delete it by deleteWebhook of the Bot API, or make a new bot",
        )
    } else {
        finding("hook", true, "no webhook is set")
    };
    let said = format!("{waiting} updates wait at Telegram");
    vec![hook, finding("backlog", waiting <= BACKLOG, &said)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ill(findings: &[Finding]) -> Vec<&str> {
        findings.iter().filter(|finding| !finding.well).map(|finding| finding.id.as_str()).collect()
    }

    #[test]
    fn a_hook_a_backlog_and_a_dead_token_need_a_person() {
        assert!(ill(&of_hook(Some(&json!({ "url": "", "pending_update_count": 3 })))).is_empty());
        assert_eq!(
            ill(&of_hook(Some(&json!({ "url": "https://a.b/", "pending_update_count": 101 })))),
            ["hook", "backlog"]
        );
        assert_eq!(ill(&of_hook(None)), ["hook"]);
        let refusal = json!({ "ok": false, "error_code": 401, "description": "Unauthorized" }).to_string();
        let dead = of_me(&crate::reply::read(401, refusal.as_bytes()), "main");
        assert_eq!(ill(&dead), ["token"]);
        assert!(dead[0].said.contains("agentctl channel add telegram main"));
        assert!(ill(&of_me(&Ok(json!({ "id": 1 })), "main")).is_empty());
        let lost = of_me(&Err(channel::Lost::Unknown.into()), "main");
        assert!(lost[0].said.contains("cannot be reached"), "{lost:?}");
    }
}
