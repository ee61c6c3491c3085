//! The platforms of `channel add`: the secrets of each, the hosts that they are bound to, and the words for a person.

use crate::failure::Failure;
use ipc_proto::credproxy::{At, Binding, Verb};
use ipc_proto::{List, Name, Text};

/// A platform.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Platform {
    /// Telegram, by a bot's token of @BotFather
    Telegram,
    /// Discord, by a bot's token of the developer portal
    Discord,
    /// Slack, by a bot's token and an app-level token for Socket Mode
    Slack,
    /// Matrix, by an access token of an account at --base-url
    Matrix,
    /// E-mail, by the password of a mailbox: --address, --imap and --smtp
    Email,
    /// Signal, by the HTTP daemon of your own signal-cli at --base-url
    Signal,
    /// WhatsApp, by a token, the app secret and a verify token of the Cloud API, and --number
    Whatsapp,
    /// Signed webhooks: messages come to [ingress], answers go to --base-url
    Webhook,
}

/// A secret of an account.
pub(super) struct Token {
    /// The key of the configuration that names it.
    pub(super) key: &'static str,
    /// The end of its name, after `PLATFORM-NAME`.
    pub(super) suffix: &'static str,
    /// The question at a terminal.
    pub(super) question: &'static str,
    /// The places of a request where it may stand.
    at: fn() -> List<At, 4>,
    /// The methods with which it may be sent.
    verbs: &'static [Verb],
}

impl Platform {
    /// Its name, as the configuration writes it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Telegram => "telegram",
            Self::Discord => "discord",
            Self::Slack => "slack",
            Self::Matrix => "matrix",
            Self::Email => "email",
            Self::Signal => "signal",
            Self::Whatsapp => "whatsapp",
            Self::Webhook => "webhook",
        }
    }

    /// The hosts of its own servers.
    pub(super) const fn hosts(self) -> &'static [&'static str] {
        match self {
            Self::Telegram => &["api.telegram.org"],
            Self::Discord => &["discord.com", "gateway.discord.gg"],
            Self::Slack => &["slack.com", "files.slack.com"],
            Self::Whatsapp => &["graph.facebook.com", "lookaside.fbsbx.com"],
            Self::Matrix | Self::Email | Self::Signal | Self::Webhook => &[],
        }
    }

    /// Its secrets, in the order in which they are asked for.
    pub(super) const fn tokens(self) -> &'static [Token] {
        match self {
            Self::Telegram => TELEGRAM,
            Self::Discord => DISCORD,
            Self::Slack => SLACK,
            Self::Matrix => MATRIX,
            Self::Email => EMAIL,
            Self::Signal => &[],
            Self::Whatsapp => WHATSAPP,
            Self::Webhook => WEBHOOK,
        }
    }

    /// The command that links a person's own account. Slack sends no message that begins with a slash, so the app has one of its own;
    /// nor do most clients of Matrix.
    pub(super) const fn link_command(self) -> &'static str {
        match self {
            Self::Slack => "/cordon link",
            Self::Matrix => "!link",
            _ => "/link",
        }
    }

    /// Where the message goes that links a person's own account.
    pub(super) const fn receiver(self) -> &'static str {
        match self {
            Self::Telegram | Self::Discord | Self::Slack => "to the bot",
            Self::Matrix => "to the account, in a room with nobody else",
            Self::Email => "to the mailbox",
            Self::Signal | Self::Whatsapp => "to the number",
            Self::Webhook => "to the hook, as the text of a message",
        }
    }
}

impl Token {
    /// The permitted use of it: to these hosts, at its places.
    ///
    /// # Errors
    /// A host is too long.
    pub(super) fn binding(&self, hosts: &[String]) -> Result<Binding, Failure> {
        let text = |host: &String| {
            Text::new(host.as_str()).map_err(|why| Failure::TooLong { what: "the host", why })
        };
        let hosts = hosts.iter().map(text).collect::<Result<Vec<_>, _>>()?;
        Ok(Binding {
            hosts: List::clip(hosts),
            verbs: List::clip(self.verbs.iter().copied()),
            paths: List::default(),
            at: (self.at)(),
        })
    }
}

fn header(prefix: &str) -> At {
    At::Header { name: Name::clip("authorization"), prefix: Text::clip(prefix) }
}

const TELEGRAM: &[Token] = &[Token {
    key: "secret",
    suffix: "",
    question: "Token of the bot, from @BotFather (not shown): ",
    at: || List::clip([At::Segment]),
    verbs: &[Verb::Get, Verb::Post],
}];
const DISCORD: &[Token] = &[Token {
    key: "secret",
    suffix: "",
    question: "Token of the bot, from the developer portal (not shown): ",
    at: || List::clip([header("Bot "), At::Field { name: Name::clip("token") }]),
    verbs: &[],
}];
const SLACK: &[Token] = &[
    Token {
        key: "secret",
        suffix: "",
        question: "Bot token, xoxb-… (not shown): ",
        at: || List::clip([header("Bearer ")]),
        verbs: &[Verb::Get, Verb::Post],
    },
    Token {
        key: "app_secret",
        suffix: "-app",
        question: "App-level token, xapp-… (not shown): ",
        at: || List::clip([header("Bearer ")]),
        verbs: &[Verb::Post],
    },
];
const MATRIX: &[Token] = &[Token {
    key: "secret",
    suffix: "",
    question: "Access token of the account (not shown): ",
    at: || List::clip([header("Bearer ")]),
    verbs: &[],
}];
const EMAIL: &[Token] = &[Token {
    key: "secret",
    suffix: "",
    question: "Password of the mailbox, best one for this program alone (not shown): ",
    at: || List::clip([At::Login]),
    verbs: &[],
}];

const WHATSAPP: &[Token] = &[
    Token {
        key: "secret",
        suffix: "",
        question: "Access token of the Cloud API (not shown): ",
        at: || List::clip([header("Bearer ")]),
        verbs: &[Verb::Get, Verb::Post],
    },
    Token {
        key: "app_secret",
        suffix: "-app",
        question: "App secret, by which hooks are signed (not shown): ",
        at: proof,
        verbs: &[],
    },
    Token {
        key: "verify_secret",
        suffix: "-verify",
        question: "Verify token, which you choose and give to WhatsApp (not shown): ",
        at: proof,
        verbs: &[],
    },
];
const WEBHOOK: &[Token] = &[Token {
    key: "secret",
    suffix: "",
    question: "Signing secret, whsec_… (not shown): ",
    at: proof,
    verbs: &[],
}];

/// No place of a request: the secret proves and signs, and is never sent.
fn proof() -> List<At, 4> {
    List::clip([At::Field { name: Name::clip("cordon_never_sent") }])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_secret_is_bound_to_its_hosts_and_its_places() {
        let hosts = ["a.b:1".to_owned()];
        for platform in [
            Platform::Telegram,
            Platform::Discord,
            Platform::Slack,
            Platform::Matrix,
            Platform::Email,
            Platform::Whatsapp,
            Platform::Webhook,
        ] {
            for token in platform.tokens() {
                let bound = token.binding(&hosts).unwrap();
                assert_eq!(bound.hosts.first().map(Text::as_str), Some("a.b:1"), "{}", platform.name());
                assert!(!bound.at.is_empty(), "{}", platform.name());
            }
        }
        assert_eq!(TELEGRAM[0].binding(&hosts).unwrap().at.first(), Some(&At::Segment));
        assert!(TELEGRAM[0].binding(&["x".repeat(300)]).is_err());
    }
}
