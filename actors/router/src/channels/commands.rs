//! Chat commands: read by router from the sender's own text alone, before any model. They begin with `/`, or with `!`, which no client
//! takes for itself.

use ipc_proto::Text;
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
    /// `/link`: asks for a code.
    AskLink,
    /// `/approve CODE` and `/deny CODE`, with the code where there is one, and six digits behind it.
    Approval(Reply, Option<String>, Option<Text<16>>),
    /// `/usage`.
    Usage,
}

/// The answer to `/help`.
const HELP: &str = "Write a message, or one of these:\n\
    /new begins a new conversation\n\
    /stop ends the answer under way and what waits behind it\n\
    /status shows what runs and what waits\n\
    /whoami shows who you are here\n\
    /link makes a code, and /link CODE from your other account makes it yours here\n\
    /approve CODE and /deny CODE answer a question\n\
    /usage shows your tokens and their cost today";

/// The answer to `/help`, with the mark that this platform's clients leave to others.
pub(crate) fn help(mark: char) -> String {
    HELP.replace('/', mark.encode_utf8(&mut [0; 4]))
}

/// The command in a message; `None` for a message to the agent.
pub(crate) fn parse(inbound: &Inbound) -> Option<Command> {
    let [part] = &inbound.parts[..] else { return None };
    if part.kind != PartKind::Own || !inbound.attachments.is_empty() {
        return None;
    }
    let mut tokens = part.text.split_whitespace();
    let name = tokens.next()?.strip_prefix(['/', '!'])?;
    // Telegram writes `/stop@name_of_the_bot` in groups.
    let name = name.split('@').next().unwrap_or_default().to_ascii_lowercase();
    let argument = tokens.next();
    match (name.as_str(), argument) {
        // A link of the form https://t.me/BOT?start=CODE comes as `/start CODE`.
        ("link" | "start", Some(code)) => Some(Command::Link(code.to_owned())),
        ("help" | "start", None) => Some(Command::Help),
        ("link", None) => Some(Command::AskLink),
        ("approve", code) => Some(Command::Approval(Reply::Once, code.map(str::to_owned), digits(tokens))),
        ("deny", code) => Some(Command::Approval(Reply::Deny, code.map(str::to_owned), None)),
        ("status", None) => Some(Command::Status),
        ("new", None) => Some(Command::New),
        ("stop", None) => Some(Command::Stop),
        ("whoami", None) => Some(Command::WhoAmI),
        ("usage", None) => Some(Command::Usage),
        _ => None,
    }
}

/// The digits behind a code, which people also write in groups.
fn digits<'a>(tokens: impl Iterator<Item = &'a str>) -> Option<Text<16>> {
    let digits: String = tokens.collect();
    if digits.is_empty() { None } else { Text::new(digits).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channels::admission::tests::inbound;
    use ipc_proto::List;
    use ipc_proto::channel::InboundPart;
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
            ("/link", Some(Command::AskLink)),
            (" /Stop@cordon_bot ", Some(Command::Stop)),
            ("/new", Some(Command::New)),
            ("!new", Some(Command::New)),
            ("!important", None),
            ("/new plan for the week", None),
            ("/approve K7", Some(Command::Approval(Reply::Once, Some("K7".into()), None))),
            (
                "/approve K7 123 456",
                Some(Command::Approval(Reply::Once, Some("K7".into()), Some(Text::clip("123456")))),
            ),
            ("/Deny", Some(Command::Approval(Reply::Deny, None, None))),
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
            prop_assert!(command.is_none() || text.trim_start().starts_with(['/', '!']));
        }
    }
}
