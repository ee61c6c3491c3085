//! Second pass over `[engine.NAME]` and `agent.NAME.engine`: the built-in programs, and the owner's own. Data and checks; nothing is
//! run here.

use crate::problem::{Problems, listed, nearest, quoted};
use crate::view::View;
use ipc_proto::engine::{Engine, Format, Input, TOKEN};
use ipc_proto::router::Profile;
use ipc_proto::{List, Name, Text};
use std::collections::BTreeMap;

/// The host's own loop.
pub const NATIVE: &str = "native";

/// A built-in program.
struct Known {
    name: &'static str,
    command: &'static [&'static str],
    resume: &'static [&'static str],
    format: Format,
    input: Input,
    profile: Profile,
    keeps: &'static [&'static str],
}

/// The built-in programs. Each reads its prompt from standard input; only the one that reads lines of JSON there accepts further
/// messages while it works.
const KNOWN: [Known; 3] = [
    Known {
        name: "codex",
        command: &["codex", "exec", "--json", "--skip-git-repo-check", "-"],
        resume: &["resume", TOKEN],
        format: Format::Codex,
        input: Input::Text,
        profile: Profile::Codex,
        keeps: &[".codex/sessions"],
    },
    Known {
        name: "claude-code",
        command: &[
            "claude",
            "-p",
            "--input-format",
            "stream-json",
            "--output-format",
            "stream-json",
            "--replay-user-messages",
            "--verbose",
            "--include-partial-messages",
        ],
        resume: &["--resume", TOKEN],
        format: Format::ClaudeCode,
        input: Input::StreamJson,
        profile: Profile::ClaudeCode,
        keeps: &[".claude/projects"],
    },
    Known {
        name: "opencode",
        command: &["opencode", "run", "--format", "json"],
        resume: &["--session", TOKEN],
        format: Format::Opencode,
        input: Input::Text,
        profile: Profile::Opencode,
        keeps: &[".local/share/opencode/opencode.db", ".local/share/opencode/opencode.db-wal"],
    },
];

/// Every engine, by its name. The time that it may be silent is a limit of its agent.
#[must_use]
pub fn resolve(file: &View<'_>, problems: &mut Problems) -> BTreeMap<String, Engine> {
    let mut engines: BTreeMap<String, Engine> =
        KNOWN.iter().map(|known| (known.name.to_owned(), built_in(known))).collect();
    let own = file.table("engine");
    for name in own.names() {
        let view = own.named("NAME", name);
        if name == NATIVE {
            let what = format!("{} is the host's own loop", quoted(NATIVE));
            problems.add(view.line(""), &view.key(""), what, "another name");
            continue;
        }
        engines.insert(name.to_owned(), written(name, &view, problems));
    }
    engines
}

fn built_in(known: &Known) -> Engine {
    Engine {
        name: Name::clip(known.name),
        command: texts(known.command),
        resume: texts(known.resume),
        format: known.format,
        input: known.input,
        profile: known.profile,
        keeps: texts(known.keeps),
        idle_seconds: 0,
    }
}

fn written(name: &str, view: &View<'_>, problems: &mut Problems) -> Engine {
    let words = |key: &str| view.texts(key).into_iter().map(|(_, word)| word).collect::<Vec<String>>();
    let (command, resume) = (words("command"), words("resume"));
    if command.is_empty() && view.given("command").is_some() && !view.wrong("command") {
        problems.add(view.line("command"), &view.key("command"), "there is no program", "a program first");
    }
    if !resume.is_empty() && !view.wrong("resume") && !resume.iter().any(|word| word.contains(TOKEN)) {
        let what = format!("{TOKEN} does not occur in it");
        problems.add(
            view.line("resume"),
            &view.key("resume"),
            what,
            format!("arguments with {TOKEN} in one"),
        );
    }
    Engine {
        name: Name::clip(name),
        command: texts(&command),
        resume: texts(&resume),
        format: match view.word("format").as_str() {
            "codex" => Format::Codex,
            "claude-code" => Format::ClaudeCode,
            "opencode" => Format::Opencode,
            _ => Format::Text,
        },
        input: if view.word("input") == "stream-json" { Input::StreamJson } else { Input::Text },
        profile: match view.word("profile").as_str() {
            "codex" => Profile::Codex,
            "claude-code" => Profile::ClaudeCode,
            "opencode" => Profile::Opencode,
            _ => Profile::Plain,
        },
        keeps: texts(&words("keeps")),
        idle_seconds: 0,
    }
}

fn texts<const N: usize, const M: usize>(words: &[impl AsRef<str>]) -> List<Text<N>, M> {
    List::clip(words.iter().map(|word| Text::clip(word.as_ref())))
}

/// The engine of an agent; none for the host's own loop.
#[must_use]
pub fn of_agent(
    agent: &View<'_>,
    engines: &BTreeMap<String, Engine>,
    problems: &mut Problems,
) -> Option<Engine> {
    let name = agent.word("engine");
    if name == NATIVE {
        return None;
    }
    let Some(engine) = engines.get(&name) else {
        let names: Vec<&str> = std::iter::once(NATIVE).chain(engines.keys().map(String::as_str)).collect();
        let what = format!("there is no engine {}{}", quoted(&name), nearest(&name, &names));
        problems.add(agent.line("engine"), &agent.key("engine"), what, listed(&names));
        return None;
    };
    Some(Engine { idle_seconds: agent.table("limits").number("idle_seconds"), ..engine.clone() })
}
