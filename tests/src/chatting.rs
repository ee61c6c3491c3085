//! Turns that go on while a test does something else: what they ask a person, and how they end.

use crate::Host;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};

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
