//! Engines: the known ones, the owner's own, and what is said of what is neither.

use crate::common::check;
use ipc_proto::engine::{Engine, Format, Input, TOKEN};
use ipc_proto::router::Profile;

fn engine(text: &str) -> Option<Engine> {
    check(text).unwrap().router.agents["default"].engine.clone()
}

#[test]
fn an_agent_is_answered_by_the_host_s_own_loop_unless_it_names_an_engine() {
    assert_eq!((engine(""), engine("agent.default.engine = 'native'")), (None, None));
    for (name, format, input, profile) in [
        ("codex", Format::Codex, Input::Text, Profile::Codex),
        ("claude-code", Format::ClaudeCode, Input::StreamJson, Profile::ClaudeCode),
        ("opencode", Format::Opencode, Input::Text, Profile::Opencode),
    ] {
        let known = engine(&format!("agent.default.engine = '{name}'")).unwrap();
        assert_eq!((known.name.as_str(), known.format, known.profile), (name, format, profile));
        assert_eq!(known.input, input, "what can be told more on its way takes lines of JSON");
        assert!(known.resume.iter().any(|word| word.as_str() == TOKEN) && !known.keeps.is_empty());
        assert_eq!(known.idle_seconds, 600);
    }
}

#[test]
fn an_engine_in_the_file_is_taken_as_written_and_replaces_a_known_one() {
    let own = engine(
        "[agent.default]\nengine = 'opencode'\nlimits.idle_seconds = 30\n[engine.opencode]\n\
         command = ['./node_modules/.bin/opencode', 'run']\nformat = 'opencode'\nprofile = 'opencode'\nkeeps = ['.x/y']",
    )
    .unwrap();
    let words: Vec<&str> = own.command.iter().map(|word| word.as_str()).collect();
    assert_eq!(words, ["./node_modules/.bin/opencode", "run"]);
    assert_eq!((own.idle_seconds, own.resume.len(), own.keeps[0].as_str()), (30, 0, ".x/y"));
    assert_eq!(own.input, Input::Text);
    let own =
        engine("agent.default.engine = 'e'\n[engine.e]\ncommand = ['x']\ninput = 'stream-json'").unwrap();
    assert_eq!(own.input, Input::StreamJson);
}

// Holds P1-39.
#[test]
fn an_engine_that_there_is_not_is_told_with_those_that_there_are() {
    for (text, told) in [
        (
            "[agent.x]\nengine = 'codx'",
            "2: agent.x.engine: there is no engine \"codx\", nearest is codex; valid: native, claude-code, codex, opencode",
        ),
        (
            "[agent.x]\nengine = 'mine'\n[engine.other]\ncommand = ['x']",
            "2: agent.x.engine: there is no engine \"mine\"; valid: native, claude-code, codex, opencode, other",
        ),
        (
            "[engine.native]\ncommand = ['x']",
            "1: engine.native: \"native\" is the host's own loop; valid: another name",
        ),
        ("[engine.e]\ncommand = []", "2: engine.e.command: there is no program; valid: a program first"),
        (
            "[engine.e]\ncommand = ['x']\nresume = ['--last']",
            "3: engine.e.resume: {token} does not occur in it; valid: arguments with {token} in one",
        ),
        (
            "[engine.e]\ncommand = ['x']\nkeeps = ['../.ssh']",
            "3: engine.e.keeps[0]: \"../.ssh\" is not of this form; valid: a path beneath the home, of at most 256 \
             bytes, without `.` and `..`",
        ),
    ] {
        assert_eq!(check(text).unwrap_err(), format!("f:{told}\n"));
    }
}
