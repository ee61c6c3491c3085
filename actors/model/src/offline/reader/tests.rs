//! Tests of the reader: every command, its answer without a tool or with a failed one, and three questions over
//! documents with the tools run by the test.

use super::super::testing::{Asking, request};
use super::answer;
use crate::answer::{Reply, ToolCall};
use ipc_proto::model::Request;
use regex::RegexBuilder;
use serde_json::Value;

const ALL: &[&str] = &["read", "write", "grep", "bash", "memory_write", "memory_query"];

/// Documents of a workspace, and its memories.
struct Fixture {
    files: Vec<(String, String)>,
    memory: &'static str,
}

impl Fixture {
    /// The documents of this folder's tests, and the page of docs/ about its models for tests.
    fn documents() -> Self {
        let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = std::fs::read_dir(here.join("tests/documents")).unwrap();
        let fixtures = folder.map(|entry| entry.unwrap().path());
        let files = fixtures.chain([here.join("../../docs/reference/test-models.md")]);
        let named = files.map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(&path).unwrap())
        });
        Self { files: named.collect(), memory: "[]" }
    }

    fn run(&self, call: &ToolCall) -> String {
        let args: Value = serde_json::from_str(&call.args).unwrap();
        match call.tool.as_str() {
            "grep" => self.grep(&args),
            "read" => self.read(args["path"].as_str().unwrap()),
            "memory_query" => self.memory.to_owned(),
            other => panic!("{other}"),
        }
    }

    fn read(&self, path: &str) -> String {
        let found = self.files.iter().find(|(name, _)| name == path);
        found.map_or_else(|| format!("[ERROR] `{path}` does not exist"), |(_, text)| text.clone())
    }

    fn grep(&self, args: &Value) -> String {
        let pattern = args["pattern"].as_str().unwrap();
        let regex = RegexBuilder::new(pattern).case_insensitive(true).size_limit(1 << 20).build().unwrap();
        let most = args["maxResults"].as_u64().unwrap_or(500);
        let mut hits = Vec::new();
        for (name, text) in &self.files {
            for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| regex.is_match(line)) {
                hits.push(format!("{name}:{number}:{line}"));
            }
        }
        hits.truncate(usize::try_from(most).unwrap());
        if hits.is_empty() { "no line fits; 3 files searched".to_owned() } else { hits.join("\n") }
    }

    fn ask(&self, question: &str) -> (String, Vec<String>) {
        let mut asking = Asking::new(request(&[("system", "Base rules."), ("user", question)], ALL));
        let reply = asking.run(answer, |call| self.run(call));
        (reply.text, asking.asked())
    }

    /// The quoted passages of an answer stand in the files at the lines they name.
    fn check(&self, answer: &str) -> usize {
        let parts: Vec<&str> = answer.split("\n\n").collect();
        let quotes = parts.iter().filter(|part| part.starts_with('>'));
        quotes
            .map(|part| {
                let (quote, place) = part.rsplit_once('\n').unwrap();
                let (name, line) = place.trim_matches(['(', ')']).rsplit_once(':').unwrap();
                let text = self.read(name);
                let first = text.lines().nth(line.parse::<usize>().unwrap() - 1).unwrap();
                assert_eq!(
                    quote.lines().next().unwrap().trim_start_matches('>').trim(),
                    first.trim(),
                    "{place}"
                );
            })
            .count()
    }
}

fn says(command: &str, output: &str) -> (Reply, Reply) {
    let mut asking = Asking::new(request(&[("user", command)], ALL));
    let first = answer(&asking.request);
    asking.took(&first, |_| output.to_owned());
    (first, answer(&asking.request))
}

#[test]
fn echo_says_it_back_and_asks_for_nothing() {
    assert_eq!(answer(&request(&[("user", "Echo: hello\nyou")], ALL)), Reply::say("hello\nyou"));
}

#[test]
fn each_command_asks_for_its_tool_and_tells_what_came() {
    for (command, tool, args, output, told) in [
        (
            "remember: tea at five",
            "memory_write",
            r#"{"content":"tea at five"}"#,
            "id 1",
            "I will remember this: tea at five",
        ),
        (
            "recall tea",
            "memory_query",
            r#"{"limit":5,"query":"tea"}"#,
            r#"[{"id":"7","content":"tea at five"}]"#,
            "> tea at five\n(memory 7)",
        ),
        (
            "recall tea",
            "memory_query",
            r#"{"limit":5,"query":"tea"}"#,
            "[]",
            "I remember nothing about \"tea\".",
        ),
        (
            "run: false",
            "bash",
            r#"{"command":"false"}"#,
            "out\n[exit code 1]",
            "```\nout\n[exit code 1]\n```\nexit status 1",
        ),
        ("run: true", "bash", r#"{"command":"true"}"#, "", "```\n\n```\nexit status 0"),
        ("run: false", "bash", r#"{"command":"false"}"#, "[ERROR] out\n[exit code 1]", "exit status 1"),
        ("read a.txt", "read", r#"{"path":"a.txt"}"#, "one\n```\ntwo\n", "a.txt:\n````\none\n```\ntwo\n````"),
        (
            "write a.txt: hi",
            "write",
            r#"{"content":"hi","path":"a.txt"}"#,
            "created `a.txt`: 2 bytes",
            "Written: created `a.txt`",
        ),
    ] {
        let (first, second) = says(command, output);
        assert_eq!(first.calls.len(), 1, "{command}");
        let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        let call = &first.calls[0];
        assert_eq!((call.tool.as_str(), json(&call.args)), (tool, json(args)), "{command}");
        assert_eq!(second.calls, [], "{command}");
        assert!(second.text.contains(told), "{command}: {}", second.text);
    }
}

#[test]
fn a_failed_or_refused_tool_is_told_plainly() {
    for (command, output, told) in [
        (
            "remember: tea",
            "[BLOCKED] memory is off",
            "I could not remember this. The call of `memory_write` was refused: memory is off",
        ),
        ("recall tea", "[ERROR] the database cannot be read", "The tool `memory_query` failed: the database"),
        ("run: ls", "[UNKNOWN] the runner died", "Whether `bash` took effect is not known: the runner died"),
        ("read a", "[VALIDATION ERROR] read: `path`", "I could not read a. The tool `read` failed"),
        ("write a: b", "[ERROR] `a` is in a read-only place", "I could not write a. The tool `write` failed"),
        ("harbour office", "[BLOCKED] no", "The call of `grep` was refused: no"),
    ] {
        let (_, second) = says(command, output);
        assert!(second.calls.is_empty() && second.text.contains(told), "{command}: {}", second.text);
    }
}

#[test]
fn it_asks_only_for_tools_it_was_told_of() {
    for command in ["remember: x", "recall x", "run: x", "read x", "write x: y", "harbour office"] {
        let reply = answer(&request(&[("user", command)], &["glob"]));
        assert!(reply.calls.is_empty() && reply.text.contains("tool"), "{command}: {}", reply.text);
    }
    let reply = answer(&request(&[("user", "harbour office")], &["memory_query"]));
    assert_eq!(reply.calls.iter().map(|call| call.tool.as_str()).collect::<Vec<_>>(), ["memory_query"]);
}

#[test]
fn a_call_without_a_result_ends_in_words_and_not_in_another_call() {
    for command in ["remember: x", "recall x", "run: x", "read x", "write x: y", "harbour office"] {
        let mut asking = Asking::new(request(&[("user", command)], ALL));
        let first = answer(&asking.request);
        asking.took(&first, |_| String::new());
        let messages: Vec<_> = std::mem::take(&mut asking.request.messages).into_vec();
        let without = messages.into_iter().filter(|message| message.answers.is_none());
        asking.request.messages = ipc_proto::List::clip(without);
        let second = answer(&asking.request);
        assert!(
            second.calls.is_empty() && second.text.contains("gave nothing back"),
            "{command}: {}",
            second.text
        );
    }
}

#[test]
fn a_new_message_begins_a_new_turn() {
    let mut asking = Asking::new(request(&[("user", "run: ls")], ALL));
    asking.run(answer, |_| "a.txt".to_owned());
    let reply = Reply::say("```\na.txt\n```");
    asking.took(&reply, |_| String::new());
    let mut messages = std::mem::take(&mut asking.request.messages).into_vec();
    messages.push(ipc_proto::model::Message::text(ipc_proto::model::Role::User, "run: pwd"));
    asking.request.messages = ipc_proto::List::new(messages).unwrap();
    assert_eq!(answer(&asking.request).calls[0].args, r#"{"command":"pwd"}"#);
}

#[test]
fn three_questions_are_answered_from_the_files_with_file_and_line() {
    let fixture = Fixture::documents();
    for (question, words, place) in [
        ("When does the harbour office open on Tuesdays?", "07:40", "harbour.md"),
        ("How many MiB may a script have at most?", "4 MiB", "models.md"),
        ("Who may repair the lantern of the lighthouse, and who pays?", "keeper", "lighthouse.md"),
    ] {
        let (answer, asked) = fixture.ask(question);
        assert!(answer.contains(words) && answer.contains(place), "{question}\n{answer}");
        assert!(fixture.check(&answer) > 0, "{answer}");
        let first = answer.find('>').unwrap();
        assert!(answer[first..].split("\n\n").next().unwrap().contains(words), "best first: {answer}");
        assert!(asked.iter().filter(|tool| *tool == "read").count() <= 3, "{asked:?}");
    }
}

#[test]
fn a_rare_word_is_found_behind_more_lines_than_one_search_gives() {
    let mut fixture = Fixture::documents();
    fixture.files.insert(0, ("a.log".to_owned(), "the lantern burns\n".repeat(2000)));
    let (answer, asked) = fixture.ask("Which keeper of the lantern orders parts?");
    assert!(answer.contains("lighthouse.md:10") && !answer.contains("No file mentions"), "{answer}");
    assert_eq!(asked.iter().filter(|tool| *tool == "grep").count(), 6, "{asked:?}");
}

#[test]
fn a_passage_beyond_the_read_part_is_quoted_from_the_search() {
    let mut fixture = Fixture::documents();
    let log = format!("{}the zeppelin landed\n", "nothing today\n".repeat(50));
    fixture.files.push(("a.log".to_owned(), log));
    let mut asking = Asking::new(request(&[("user", "when did the zeppelin land")], ALL));
    let reply = asking.run(answer, |call| match call.tool.as_str() {
        "read" => "nothing today\nnothing today\n[... cut: the first 2 of 51 lines are shown ...]".to_owned(),
        _ => fixture.run(call),
    });
    assert!(reply.text.contains("> the zeppelin landed\n(a.log:51)"), "{}", reply.text);
}

#[test]
fn what_is_remembered_is_quoted_beside_the_files_and_only_if_it_fits() {
    let mut fixture = Fixture::documents();
    fixture.memory =
        r#"[{"id":"9","content":"the harbour master is Ines"},{"id":"8","content":"tea at five"}]"#;
    let (answer, _) = fixture.ask("Who is the harbour master?");
    assert!(
        answer.contains("> the harbour master is Ines\n(memory 9)") && !answer.contains("tea"),
        "{answer}"
    );
}

#[test]
fn nothing_found_is_said_plainly() {
    let (answer, asked) = Fixture::documents().ask("xylophone quartets?");
    assert!(answer.starts_with("I found nothing about this."), "{answer}");
    assert!(answer.contains("No file mentions \"xylophone\", \"quartets\"."), "{answer}");
    assert!(!asked.contains(&"read".to_owned()));
    let (answer, asked) = Fixture::documents().ask("hello!");
    assert!(answer.contains("not a chat model") && asked.is_empty(), "{answer}");
}

#[test]
fn files_that_cannot_be_read_are_quoted_as_the_search_gave_them() {
    let fixture = Fixture::documents();
    let mut asking = Asking::new(request(&[("user", "harbour office Tuesdays")], ALL));
    let reply = asking.run(answer, |call| match call.tool.as_str() {
        "read" => "[BLOCKED] not now".to_owned(),
        _ => fixture.run(call),
    });
    assert!(reply.text.contains("07:40") && fixture.check(&reply.text) > 0, "{}", reply.text);
    assert!(reply.text.contains("The call of `read` was refused: not now"), "{}", reply.text);
}

#[test]
fn a_long_output_is_cut_to_the_bound_of_the_answer_and_says_so() {
    let mut asking = Asking::new(request(&[("user", "read big.txt")], ALL));
    asking.request.max_output = 1000;
    let reply = asking.run(answer, |_| "x".repeat(100_000));
    assert!(
        reply.text.chars().count() <= 4000 && reply.text.contains("bytes cut here"),
        "{}",
        reply.text.len()
    );
}

proptest::proptest! {
    #[test]
    fn any_conversation_has_a_reply(command in "(read |run: |recall |write |remember: )?[a-z \n:\"\\[\\]é]{0,20}", output in "[a-z:0-9\n\\[\\]{}\" |#`é-]{0,200}") {
        let mut asking = Asking::new(request(&[("user", &command)], ALL));
        let reply = asking.run(answer as fn(&Request) -> Reply, |_| output.clone());
        proptest::prop_assert!(!reply.text.is_empty());
    }
}
