//! Turns that go on while a test does something else: what they ask a person, and how they end.

use crate::Host;
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Output, Stdio};

/// A call of a tool, as a script of [`Host::script`] asks for it.
#[must_use]
pub fn call(tool: &str, args: &Value) -> Value {
    json!({ "call": { "tool": tool, "args": args } })
}

/// A script that replies with these calls, one after another, and then an end.
#[must_use]
pub fn script(calls: &[Value]) -> Vec<Value> {
    let mut lines: Vec<Value> = calls.iter().map(|call| json!({ "pieces": [call] })).collect();
    lines.push(json!({ "pieces": [{ "text": "that is all" }] }));
    lines
}

/// The same after this plan.
#[must_use]
pub fn planned(plan: &[&str], calls: &[Value]) -> Vec<Value> {
    [vec![json!({ "plan": plan })], script(calls)].concat()
}

/// A message whose reply is still to come.
pub struct Chatting {
    child: Child,
    said: String,
}

impl Chatting {
    /// Waits for the end of its turn, whatever it is.
    #[must_use]
    pub fn ended(self) -> Value {
        let output = self.child.wait_with_output().expect("agentctl runs");
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{}: {error}: {output:?}", self.said))
    }
}

impl Host {
    /// Says something and does not wait for the reply.
    #[must_use]
    pub fn say(&self, session: &str, text: &str) -> Chatting {
        self.say_with(&["--session", session, "-m", text])
    }

    /// The same with `chat`'s arguments as they are given.
    #[must_use]
    pub fn say_with(&self, words: &[&str]) -> Chatting {
        let mut command = self.command(&["--json", "chat"]);
        command.args(words).stdout(Stdio::piped()).stderr(Stdio::null());
        Chatting { child: command.spawn().expect("agentctl starts"), said: words.join(" ") }
    }

    /// Says something whose turn meets an obstacle, and returns what its message waits for. The message is then stopped.
    #[must_use]
    pub fn waits_for(&self, session: &str, text: &str) -> String {
        let chatting = self.say(session, text);
        let mut reason = String::new();
        self.wait_for("the message waits", || {
            let newest =
                self.json(&["message", "list"])["messages"][0]["id"].as_str().unwrap_or_default().to_owned();
            let states = self.json(&["message", "trace", &newest])["states"].clone();
            let last = states.as_array().and_then(|states| states.last().cloned()).unwrap_or_default();
            reason = last["note"].as_str().unwrap_or_default().to_owned();
            last["state"] == "queued" && reason.starts_with("waits: ")
        });
        let _ = self.json(&["stop", "--session", session]);
        let _ = chatting.ended();
        reason
    }

    /// The questions that wait for a person, once there are `count` of them.
    #[must_use]
    pub fn questions(&self, count: usize) -> Vec<Value> {
        let mut waiting = Vec::new();
        self.wait_for(&format!("{count} questions"), || {
            let value = self.ask(&["approvals", "list"]);
            waiting = value["approvals"].as_array().cloned().unwrap_or_default();
            waiting.len() == count
        });
        waiting
    }

    /// The id of the only question that waits, once it does.
    #[must_use]
    pub fn question(&self) -> String {
        text(&self.questions(1)[0], "id")
    }

    /// Approves it as it is shown.
    pub fn approve(&self, id: &str) {
        let _ = self.json(&["approvals", "approve", id, "--yes"]);
    }

    /// Denies it.
    pub fn deny(&self, id: &str) {
        let _ = self.json(&["approvals", "deny", id]);
    }

    /// One approval as it is now.
    #[must_use]
    pub fn approval(&self, id: &str) -> Value {
        self.json(&["approvals", "show", id])["approval"].clone()
    }

    /// Puts a script of replies where the model `scripted/NAME` has it from.
    pub fn script(&self, name: &str, lines: &[Value]) {
        let path = self.state().join("model/scripts").join(name);
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        fs::write(&path, lines.join("\n")).expect("the script");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("its mode");
    }

    /// Keeps a secret, with these further words to `cred set`.
    pub fn keep(&self, name: &str, value: &str, words: &[&str]) {
        let stored = self.ask_with(&[&["cred", "set", name], words].concat(), value);
        assert_eq!(stored["ok"], true, "{stored}\n{}", self.log());
    }

    /// Runs `agentctl … --json` with this on its standard input, whatever it comes to.
    ///
    /// # Panics
    /// It gives no document.
    #[must_use]
    pub fn ask_with(&self, words: &[&str], input: &str) -> Value {
        let mut command = self.command(words);
        let mut child =
            command.arg("--json").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
        // A command that needs no input may be over before it is all written.
        drop(child.stdin.take().expect("its input").write_all(input.as_bytes()));
        let output = child.wait_with_output().expect("its end");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
            panic!("agentctl {words:?} --json: {error}: {output:?}\n{}", self.log());
        })
    }

    /// The entries of the record that are of this action.
    #[must_use]
    pub fn recorded(&self, action: &str) -> Vec<Value> {
        let tail = self.json(&["audit", "tail", "--from", "0"]);
        let records = tail["records"].as_array().cloned().unwrap_or_default();
        records.into_iter().filter(|record| record["action"] == action).collect()
    }
}

/// A text of a document.
///
/// # Panics
/// There is none of this name.
#[must_use]
pub fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_else(|| panic!("no {name}: {value}")).to_owned()
}

/// Tells a host what a hook of Claude Code does.
///
/// # Panics
/// The command does not run.
pub fn hook(host: &Host, told: &Value) {
    let _ = hook_of(host, &["claude-code"], told);
}

/// Tells a host what the hook that these words name does, and gives what it answers.
///
/// # Panics
/// The command does not run, or fails.
#[must_use]
pub fn hook_of(host: &Host, words: &[&str], told: &Value) -> Output {
    // As long as it needs: a hook that is late loses what it was told and fails nobody.
    let mut command = host.command(&[&["hook"][..], words, &["--timeout", "30000"]].concat());
    command.env("XDG_STATE_HOME", host.dir());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it runs");
    drop(child.stdin.take().expect("its input").write_all(told.to_string().as_bytes()));
    let output = child.wait_with_output().expect("its end");
    assert!(output.status.success(), "{output:?}: {}", host.log());
    output
}
