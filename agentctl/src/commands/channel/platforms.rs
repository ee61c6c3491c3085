//! The platforms of `channel add`: the secrets of each, the hosts that they are bound to, and the words for a person.

use crate::failure::Failure;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ipc_proto::credproxy::{At, Binding, Verb};
use ipc_proto::{List, Name, Text};
use zeroize::Zeroizing;

/// The beginning of a signing secret of Standard Webhooks, and the least bytes of the key behind it.
const SIGNING: (&[u8], usize) = (b"whsec_", 24);

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
    /// True if it is a signing secret of Standard Webhooks.
    signs: bool,
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
    /// Refuses a value that cannot be this secret, before it is stored.
    ///
    /// # Errors
    /// The form that it has, and where it comes from; nothing of the value.
    pub(super) fn check(&self, value: &[u8]) -> Result<(), Failure> {
        if !self.signs || is_signing(value) {
            return Ok(());
        }
        Err(Failure::Usage(
            "this is no signing secret of Standard Webhooks: that is `whsec_` and at least 24 bytes in base64; \
             copy it from the program that posts the hooks, or make one and give it to that program: \
             echo whsec_$(openssl rand -base64 32)"
                .to_owned(),
        ))
    }

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

fn is_signing(value: &[u8]) -> bool {
    let key = value.strip_prefix(SIGNING.0).and_then(|key| STANDARD.decode(key).ok()).map(Zeroizing::new);
    key.is_some_and(|key| key.len() >= SIGNING.1)
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
    signs: false,
}];
const DISCORD: &[Token] = &[Token {
    key: "secret",
    suffix: "",
    question: "Token of the bot, from the developer portal (not shown): ",
    at: || List::clip([header("Bot "), At::Field { name: Name::clip("token") }]),
    verbs: &[],
    signs: false,
}];
const SLACK: &[Token] = &[
    Token {
        key: "secret",
        suffix: "",
        question: "Bot token, xoxb-… (not shown): ",
        at: || List::clip([header("Bearer ")]),
        verbs: &[Verb::Get, Verb::Post],
        signs: false,
    },
    Token {
        key: "app_secret",
        suffix: "-app",
        question: "App-level token, xapp-… (not shown): ",
        at: || List::clip([header("Bearer ")]),
        verbs: &[Verb::Post],
        signs: false,
    },
];
const MATRIX: &[Token] = &[Token {
    key: "secret",
    suffix: "",
    question: "Access token of the account (not shown): ",
    at: || List::clip([header("Bearer ")]),
    verbs: &[],
    signs: false,
}];
const EMAIL: &[Token] = &[Token {
    key: "secret",
    suffix: "",
    question: "Password of the mailbox, best one for this program alone (not shown): ",
    at: || List::clip([At::Login]),
    verbs: &[],
    signs: false,
}];

const WHATSAPP: &[Token] = &[
    Token {
        key: "secret",
        suffix: "",
        question: "Access token of the Cloud API (not shown): ",
        at: || List::clip([header("Bearer ")]),
        verbs: &[Verb::Get, Verb::Post],
        signs: false,
    },
    Token {
        key: "app_secret",
        suffix: "-app",
        question: "App secret, by which hooks are signed (not shown): ",
        at: proof,
        verbs: &[],
        signs: false,
    },
    Token {
        key: "verify_secret",
        suffix: "-verify",
        question: "Verify token, which you choose and give to WhatsApp (not shown): ",
        at: proof,
        verbs: &[],
        signs: false,
    },
];
const WEBHOOK: &[Token] = &[Token {
    key: "secret",
    suffix: "",
    question: "Signing secret, whsec_… (not shown): ",
    at: proof,
    verbs: &[],
    signs: true,
}];

/// No place of a request: the secret proves and signs, and is never sent.
fn proof() -> List<At, 4> {
    List::clip([At::Field { name: Name::clip("cordon_never_sent") }])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_that_cannot_sign_hooks_is_refused_with_its_form() {
        let check = |value: &[u8]| WEBHOOK[0].check(value);
        assert!(check(b"whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3").is_ok());
        let wrong: [&[u8]; 4] = [
            b"a-password-like-any-other",
            b"whsec_%%%",
            b"whsec_MDEyMw==",
            b"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3",
        ];
        for value in wrong {
            let told = check(value).unwrap_err().to_string();
            assert!(told.contains("`whsec_` and at least 24 bytes in base64"), "{told}");
            assert!(told.contains("openssl rand"), "{told}");
            assert!(!told.contains("password") && !told.contains("MDEy"), "nothing of the value: {told}");
        }
        assert!(TELEGRAM[0].check(b"42:any").is_ok());
    }

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
