//! The keys of `[channel.NAME]`. It holds no logic.

use super::Key;
use crate::forms::{NAME, PLATFORM_ID, SECRET, SERVICE_URL};
use crate::kind::{Kind, Preset};
use manifest::Process::{Credproxy, Dialer, Router, Telegram};

/// The most senders or groups of one account that the file lists.
const LISTED: usize = 64;

/// The keys.
pub(super) const KEYS: &[Key] = &[
    Key {
        path: "channel.NAME.platform",
        kind: Kind::Word(&["telegram"]),
        preset: Preset::Required,
        seen_by: &[Router, Telegram],
        means: "The messaging platform of this account. All accounts of one platform share its process, which is started \
                only where there is one.",
    },
    Key {
        path: "channel.NAME.secret",
        kind: Kind::Text(&SECRET),
        preset: Preset::Required,
        seen_by: &[Telegram, Credproxy],
        means: "The name of the secret that the account signs in with. The secret itself never stands in this file.",
    },
    Key {
        path: "channel.NAME.base_url",
        kind: Kind::Text(&SERVICE_URL),
        preset: Preset::Nothing,
        seen_by: &[Telegram, Credproxy, Dialer],
        means: "A server in the place of the platform's own. The account reaches that host and no other.",
    },
    Key {
        path: "channel.NAME.agent",
        kind: Kind::Text(&NAME),
        preset: Preset::Text("default"),
        seen_by: &[Router],
        means: "The agent that answers. A conversation keeps the agent that it began with.",
    },
    Key {
        path: "channel.NAME.dm",
        kind: Kind::Word(&["owner_only", "pairing", "allowlist", "open", "disabled"]),
        preset: Preset::Text("owner_only"),
        seen_by: &[Router],
        means: "Admission to direct messages. `owner_only`: the identities of owners. `pairing`: those of users; anybody \
                else gets a code that an owner approves. `allowlist`: those of users and of `allow`. `open`: everybody, \
                as guests; it needs `open_to`. `disabled`: nobody.",
    },
    Key {
        path: "channel.NAME.open_to",
        kind: Kind::Word(&["everyone"]),
        preset: Preset::Nothing,
        seen_by: &[],
        means: "`everyone` confirms `dm = \"open\"`: strangers then use your models.",
    },
    Key {
        path: "channel.NAME.allow",
        kind: Kind::List { of: &Kind::Text(&PLATFORM_ID), max: LISTED },
        preset: Preset::List(&[]),
        seen_by: &[Router],
        means: "Senders that `dm = \"allowlist\"` admits as guests, by the platform's own ids and never by user names.",
    },
    Key {
        path: "channel.NAME.groups",
        kind: Kind::List { of: &Kind::Text(&PLATFORM_ID), max: LISTED },
        preset: Preset::List(&[]),
        seen_by: &[Router],
        means: "Groups in which the agent answers, by the platform's own ids. A group is a guest of its own: its members' \
                memory and sessions are never used in it.",
    },
    Key {
        path: "channel.NAME.members",
        kind: Kind::Flag,
        preset: Preset::Flag(false),
        seen_by: &[Router],
        means: "True if every member of these groups may speak to the agent; otherwise only users of the host may.",
    },
    Key {
        path: "channel.NAME.require_mention",
        kind: Kind::Flag,
        preset: Preset::Flag(true),
        seen_by: &[Router],
        means: "True if the account has to be mentioned in a group for its agent to answer.",
    },
    Key {
        path: "channel.NAME.dm_session",
        kind: Kind::Word(&["channel", "shared"]),
        preset: Preset::Text("channel"),
        seen_by: &[Router],
        means: "`channel`: direct messages of each account are sessions of their own. `shared`: a person's direct \
                messages by all accounts that say so are one session.",
    },
    Key {
        path: "channel.NAME.trust",
        kind: Kind::Word(&["verified", "user"]),
        preset: Preset::Text("verified"),
        seen_by: &[Router],
        means: "The trust in an owner's own direct messages. `user`: as if typed at a terminal of the host. It holds for \
                no group, no forward and no other person.",
    },
    Key {
        path: "channel.NAME.approve",
        kind: Kind::Word(&["off", "own", "all"]),
        preset: Preset::Text("off"),
        seen_by: &[Router],
        means: "Approvals in direct messages, by the person whose turn asks. `off`: none. `own`: what declassifies or is \
                the owner's alone can be denied there, and approved by `agentctl` alone. `all`: every approval. A \
                taken-over process of the platform can forge an answer.",
    },
    Key {
        path: "channel.NAME.guest_messages",
        kind: Kind::Number { min: 0, max: 100_000 },
        preset: Preset::Number(200),
        seen_by: &[Router],
        means: "The most messages of guests and groups of this account in a day (UTC); more are dropped.",
    },
    Key {
        path: "channel.NAME.streaming",
        kind: Kind::Word(&["off", "edit"]),
        preset: Preset::Text("edit"),
        seen_by: &[Telegram],
        means: "How an answer is shown while it comes. `off`: at the end. `edit`: one message is edited.",
    },
    Key {
        path: "channel.NAME.typing",
        kind: Kind::Flag,
        preset: Preset::Flag(true),
        seen_by: &[Telegram],
        means: "True if the agent is shown as typing while it works.",
    },
];
