//! The keys of `[channel.NAME]`. It holds no logic.

use super::Key;
use crate::forms::{
    AUTHSERV, IMAP_URL, LOGIN, MAIL_ADDRESS, NAME, PLATFORM_ID, SECRET, SERVICE_URL, SMTP_URL,
};
use crate::kind::{Kind, Preset};
use manifest::Process::{
    Credproxy, Dialer, Discord, Email, Matrix, Router, Signal, Slack, Telegram, Webhook, Whatsapp,
};

/// The most senders or groups of one account that the file lists.
const LISTED: usize = 64;

/// The keys.
pub(super) const KEYS: &[Key] = &[
    Key {
        path: "channel.NAME.platform",
        kind: Kind::Word(&[
            "telegram", "discord", "slack", "matrix", "email", "signal", "whatsapp", "webhook",
        ]),
        preset: Preset::Required,
        seen_by: &[Router, Telegram, Discord, Slack, Matrix, Email, Signal, Whatsapp, Webhook],
        means: "The messaging platform of this account. All accounts of one platform share its process, which is started \
                only where there is one.",
    },
    Key {
        path: "channel.NAME.secret",
        kind: Kind::Text(&SECRET),
        preset: Preset::Nothing,
        seen_by: &[Telegram, Discord, Slack, Matrix, Email, Signal, Whatsapp, Webhook, Credproxy],
        means: "The name of the secret that the account signs in with; every platform but signal needs it. The secret itself \
                never stands in this file.",
    },
    Key {
        path: "channel.NAME.base_url",
        kind: Kind::Text(&SERVICE_URL),
        preset: Preset::Nothing,
        seen_by: &[Telegram, Discord, Slack, Matrix, Signal, Whatsapp, Webhook, Credproxy, Dialer],
        means: "A server in the place of the platform's own. The account reaches that host and no other. Matrix needs one; \
                signal, which is the HTTP daemon of signal-cli; and webhook, where answers are posted to.",
    },
    Key {
        path: "channel.NAME.app_secret",
        kind: Kind::Text(&SECRET),
        preset: Preset::Nothing,
        seen_by: &[Slack, Whatsapp, Credproxy],
        means: "Slack: the name of the secret that holds the app-level token, by which Socket Mode is opened. WhatsApp: that of \
                the app secret, by which hooks are signed.",
    },
    Key {
        path: "channel.NAME.verify_secret",
        kind: Kind::Text(&SECRET),
        preset: Preset::Nothing,
        seen_by: &[Whatsapp, Credproxy],
        means: "WhatsApp: the name of the secret that holds the verify token, by which the platform tries the address of the hook.",
    },
    Key {
        path: "channel.NAME.number",
        kind: Kind::Text(&PLATFORM_ID),
        preset: Preset::Nothing,
        seen_by: &[Whatsapp],
        means: "WhatsApp: the platform's id of the phone number, by which messages are sent.",
    },
    Key {
        path: "channel.NAME.address",
        kind: Kind::Text(&MAIL_ADDRESS),
        preset: Preset::Nothing,
        seen_by: &[Email],
        means: "E-mail: the address of the mailbox.",
    },
    Key {
        path: "channel.NAME.login",
        kind: Kind::Text(&LOGIN),
        preset: Preset::Nothing,
        seen_by: &[Email],
        means: "E-mail: the name that the mailbox signs in with; by default its address.",
    },
    Key {
        path: "channel.NAME.imap",
        kind: Kind::Text(&IMAP_URL),
        preset: Preset::Nothing,
        seen_by: &[Email, Credproxy, Dialer],
        means: "E-mail: the server that mail is read from. `imaps` begins with TLS, `imap` goes on with it after STARTTLS.",
    },
    Key {
        path: "channel.NAME.smtp",
        kind: Kind::Text(&SMTP_URL),
        preset: Preset::Nothing,
        seen_by: &[Email, Credproxy, Dialer],
        means: "E-mail: the server that mail is sent by. `smtps` begins with TLS, `smtp` goes on with it after STARTTLS.",
    },
    Key {
        path: "channel.NAME.authserv",
        kind: Kind::Text(&AUTHSERV),
        preset: Preset::Nothing,
        seen_by: &[Email],
        means: "E-mail: the name by which your own mail server signs its `Authentication-Results`. A sender is known only by \
                a passing DMARC result of that server; without this key nobody is.",
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
        path: "channel.NAME.approve_code",
        kind: Kind::Word(&["off", "totp"]),
        preset: Preset::Text("off"),
        seen_by: &[Router, Credproxy],
        means: "`totp`: an approval in direct messages also needs the current code of six digits, of the secret that \
                `agentctl channel totp` made. A taken-over process of the platform can then forge one answer for each code \
                that is typed.",
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
        kind: Kind::Word(&["off", "edit", "progress", "draft"]),
        preset: Preset::Text("edit"),
        seen_by: &[Telegram, Discord, Slack, Matrix, Email, Signal, Whatsapp, Webhook],
        means: "How an answer is shown while it comes. `off`: at the end. `edit`: one message is edited. `progress`: one \
                message is edited, with the names of the tools that run. `draft`: as a draft in Telegram's direct messages, \
                elsewhere as `edit`. Matrix is `off` unless this key is set.",
    },
    Key {
        path: "channel.NAME.typing",
        kind: Kind::Flag,
        preset: Preset::Flag(true),
        seen_by: &[Telegram, Discord, Slack, Matrix, Email, Signal, Whatsapp, Webhook],
        means: "True if the agent is shown as typing while it works.",
    },
];
