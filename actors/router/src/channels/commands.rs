//! Chat commands: read by router from the sender's own text alone, before any model.

use ipc_proto::approval::Reply;
use ipc_proto::channel::{Inbound, PartKind};

/// A chat command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// `/help`, and `/start`.
    Help,
    /// `/status`.
    Status,
    /// `/new`.
    New,
    /// `/stop`.
    Stop,
    /// `/whoami`.
    WhoAmI,
    /// `/link CODE`.
    Link(String),
    /// `/approve CODE` and `/deny CODE`, with the code where there is one.
    Approval(Reply, Option<String>),
    /// `/usage`.
    Usage,
}

/// The answer to `/help`.
pub(crate) const HELP: &str = "Write a message, or one of these:\n\
    /new begins a new conversation\n\
    /stop ends the answer under way and what waits behind it\n\
    /status shows what runs and what waits\n\
    /whoami shows who you are here\n\
    /link CODE links this account to a user of the host\n\
    /approve CODE and /deny CODE answer a question\n\
    /usage says where the usage is shown";

/// The command in a message; `None` for a message to the agent.
pub(crate) fn parse(inbound: &Inbound) -> Option<Command> {
    let [part] = &inbound.parts[..] else { return None };
    if part.kind != PartKind::Own || !inbound.attachments.is_empty() {
        return None;
    }
    let mut tokens = part.text.split_whitespace();
    let name = tokens.next()?.strip_prefix('/')?;
    // Telegram writes `/stop@name_of_the_bot` in groups.
    let name = name.split('@').next().unwrap_or_default().to_ascii_lowercase();
    let argument = tokens.next();
    match (name.as_str(), argument) {
        // A link of the form https://t.me/BOT?start=CODE comes as `/start CODE`.
        ("link" | "start", Some(code)) => Some(Command::Link(code.to_owned())),
        ("help" | "start" | "link", None) => Some(Command::Help),
        ("approve", code) => Some(Command::Approval(Reply::Once, code.map(str::to_owned))),
        ("deny", code) => Some(Command::Approval(Reply::Deny, code.map(str::to_owned))),
        ("status", None) => Some(Command::Status),
        ("new", None) => Some(Command::New),
        ("stop", None) => Some(Command::Stop),
        ("whoami", None) => Some(Command::WhoAmI),
        ("usage", None) => Some(Command::Usage),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channels::admission::tests::inbound;
    use ipc_proto::channel::InboundPart;
    use ipc_proto::{List, Text};
    use proptest::prelude::*;

    fn parsed(text: &str) -> Option<Command> {
        parse(&inbound("1", "7", text))
    }

    #[test]
    fn commands_are_read_in_any_case_and_with_the_name_of_the_bot() {
        let cases = [
            ("/help", Some(Command::Help)),
            ("/start", Some(Command::Help)),
            ("/START abc", Some(Command::Link("abc".into()))),
            ("/link ABC", Some(Command::Link("ABC".into()))),
            ("/link", Some(Command::Help)),
            (" /Stop@cordon_bot ", Some(Command::Stop)),
            ("/new", Some(Command::New)),
            ("/new plan for the week", None),
            ("/approve K7", Some(Command::Approval(Reply::Once, Some("K7".into())))),
            ("/Deny", Some(Command::Approval(Reply::Deny, None))),
            ("/usr/bin is full", None),
            ("stop", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parsed(text), expected, "{text}");
        }
    }

    // Holds P11-04.
    #[test]
    fn no_text_that_the_sender_did_not_write_is_a_command() {
        for kind in [PartKind::Forward, PartKind::Quote, PartKind::Subject, PartKind::Transcript] {
            let mut message = inbound("1", "7", "/stop");
            message.parts = List::clip([InboundPart { kind, text: Text::clip("/stop") }]);
            assert_eq!(parse(&message), None, "{kind:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "\\PC{0,64}") {
            let command = parsed(&text);
            prop_assert!(command.is_none() || text.trim_start().starts_with('/'));
        }
    }
}
