//! Commands that run something else than what stands in them: in a directory of a person's own they ask, whatever the plan
//! says, and nowhere are they taken for harmless.

use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use tests::{Host, Setup, text};

/// One of each kind: a program or an option that is expanded, a variable that decides what runs, a mode, a setting of git's,
/// code in another language, a text that is put together.
const ATTACKS: [&str; 12] = [
    "$(cat s)",
    "x=rm; $x -rf y",
    "env LD_PRELOAD=./a.so ls",
    "export PATH=.; ls",
    "install -m 4755 s t",
    "git config core.hooksPath hooks",
    "git -c core.pager=./s log",
    "python3 -c 'import os'",
    "find . -exec {} ;",
    ". ./s",
    "sed '1e ./s' s",
    "for PATH in ./bin; do ls; done",
];
/// The daily work of a person's agent.
const ORDINARY: [&str; 6] =
    ["ls", "cargo test", "git status", "grep -r foo .", "sed -n 1,5p s", "for f in *; do wc -l \"$f\"; done"];

/// Why the first call of a turn was decided on as it was.
fn why(host: &Host, ended: &Value) -> Value {
    let call = ended["calls"][0]["call"].as_str().unwrap_or_else(|| panic!("no call: {ended}")).to_owned();
    host.json(&["policy", "explain", &call])
}

#[test]
fn a_command_that_is_not_understood_asks_in_an_attached_directory() {
    let host = Setup::default().config("[agent.default]\nprofile = \"standard\"\n").start();
    let folder = host.dir().join("mine");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    fs::write(folder.join("s"), "touch /workspace/ran\n").unwrap();
    let path = folder.to_str().unwrap();
    for command in ORDINARY {
        let said =
            host.json(&["chat", "--session", "w", "--workspace", path, "-m", &format!("run: {command}")]);
        assert_eq!(said["calls"][0]["verdict"], "run", "{command}: {said}");
    }
    for command in ATTACKS {
        let turn = host.say_with(&["--session", "w", "--workspace", path, "-m", &format!("run: {command}")]);
        let id = host.question();
        let asked = host.approval(&id);
        host.deny(&id);
        let ended = turn.ended();
        assert_eq!(ended["calls"][0]["verdict"], "refused", "{command}: {ended}");
        let policies = asked["policies"].to_string();
        assert!(
            policies.contains("command-not-understood") || policies.contains("danger"),
            "{command}: {asked}"
        );
        assert_eq!(text(&asked, "tool"), "bash", "{command}");
    }
    assert!(!folder.join("ran").exists());
    let own = host.json(&["chat", "--session", "own", "-m", "run: $(echo true)"]);
    assert_eq!(own["calls"][0]["verdict"], "run", "the jail's own folder holds what it does: {own}");
    assert_eq!(why(&host, &own)["command"], "not understood whole", "and it is not called harmless");
}
