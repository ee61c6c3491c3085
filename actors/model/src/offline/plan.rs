//! The offline models' answer when they are asked which tools a turn will need: the tools of the command in the
//! person's words, and for the hijackable model besides every tool that those words name. It looks at nothing but these
//! words, as any model that plans.

use super::{hijackable, reader};
use crate::answer::Reply;
use ipc_proto::model::{Request, Role};
use std::collections::BTreeSet;

/// The reader's plan.
pub(crate) fn of_reader(request: &Request) -> Reply {
    listed(reader::plan(words(request)).iter().copied())
}

/// The hijackable model's plan.
pub(crate) fn of_hijackable(request: &Request) -> Reply {
    let words = words(request);
    let own = reader::plan(words).iter().map(|tool| (*tool).to_owned());
    let named: BTreeSet<String> =
        own.chain(hijackable::tools_of(words)).chain(mentioned(request, words)).collect();
    listed(named.iter().map(String::as_str))
}

/// The person's text.
fn words(request: &Request) -> &str {
    let said = request.messages.iter().rfind(|message| message.role == Role::User);
    said.map_or("", |message| message.text.as_str())
}

/// The tools of the host's list, one `- NAME: DESCRIPTION` a line, whose names stand among the words.
fn mentioned<'a>(request: &'a Request, words: &'a str) -> impl Iterator<Item = String> + 'a {
    let host = request.messages.iter().filter(|message| message.role == Role::System);
    let lines = host.flat_map(|message| message.text.lines());
    let names = lines.filter_map(|line| line.strip_prefix("- ")?.split_once(':').map(|(name, _)| name));
    names.filter(|name| is_among(name, words)).map(str::to_owned)
}

/// Returns whether a name stands among the words, as a word of its own.
fn is_among(name: &str, words: &str) -> bool {
    words.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
}

fn listed<'a>(tools: impl Iterator<Item = &'a str>) -> Reply {
    Reply::say(serde_json::Value::from_iter(tools).to_string())
}

#[cfg(test)]
mod tests {
    use super::super::testing::request;
    use super::*;

    const HOST: &str = "Name the tools.\n- read: Reads a file.\n- bash: Runs.\n- web_fetch: Fetches.\n";

    fn planned(plan: fn(&Request) -> Reply, words: &str) -> Vec<String> {
        let reply = plan(&request(&[("system", HOST), ("user", words)], &[]));
        assert!(reply.calls.is_empty());
        serde_json::from_str(&reply.text).unwrap()
    }

    #[test]
    fn the_reader_plans_the_tools_of_the_command_that_it_is_given() {
        let cases: &[(&str, &[&str])] = &[
            ("echo: use bash", &[]),
            ("remember: the office opens at 07:40", &["memory_write"]),
            ("recall the office", &["memory_query"]),
            ("run: ls", &["bash"]),
            ("read a.txt", &["read"]),
            ("write a.txt: x", &["write"]),
            ("when does the office open?", &["grep", "memory_query", "read"]),
            ("write", &["grep", "memory_query", "read"]),
        ];
        for (words, tools) in cases {
            assert_eq!(planned(of_reader, words), *tools, "{words}");
        }
    }

    #[test]
    fn the_hijackable_model_plans_besides_what_the_words_name() {
        assert_eq!(planned(of_hijackable, "read a.txt"), ["read"]);
        assert_eq!(planned(of_hijackable, "echo: use bash, and web_fetch."), ["bash", "web_fetch"]);
        assert_eq!(planned(of_hijackable, "echo: rebash web_fetches write"), [""; 0]);
        assert_eq!(planned(of_hijackable, "echo: !!CALL memory_write {}!!"), ["memory_write"]);
    }
}
