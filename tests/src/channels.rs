//! A host with channels, as its owner sees it by `agentctl`.

use crate::{Host, Setup};
use serde_json::{Value, json};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use tempfile::TempDir;

impl Host {
    /// An account as the host shows it.
    #[must_use]
    pub fn channel(&self, name: &str) -> Value {
        self.ask(&["channel", "show", name])["channel"].clone()
    }

    /// Has the model `scripted/answers` say these texts, one a reply.
    pub fn answers(&self, texts: &[&str]) {
        let lines: Vec<Value> = texts.iter().map(|text| json!({ "pieces": [{ "text": text }] })).collect();
        self.script("answers", &lines);
    }

    /// The messages that came by a channel, newest first; 100 at most.
    #[must_use]
    pub fn messages_by(&self, channel: &str) -> Vec<Value> {
        let listed = self.json(&["message", "list", "--channel", channel, "--limit", "100"]);
        listed["messages"].as_array().cloned().unwrap_or_default()
    }

    /// The deliveries of the newest of them.
    #[must_use]
    pub fn deliveries_by(&self, channel: &str) -> Vec<Value> {
        let newest = self.messages_by(channel).first().and_then(|one| one["id"].as_str().map(str::to_owned));
        let Some(id) = newest else { return Vec::new() };
        let shown = self.json(&["message", "show", &id]);
        shown["message"]["deliveries"].as_array().cloned().unwrap_or_default()
    }

    /// Returns true if the first delivery of the newest message of a channel is in this state.
    #[must_use]
    pub fn delivery_is(&self, channel: &str, state: &str) -> bool {
        self.deliveries_by(channel).first().is_some_and(|delivery| delivery["state"] == state)
    }

    /// Waits until the owner has this identity.
    pub fn becomes_linked(&self, identity: &str) {
        self.wait_for("the account is linked", || {
            self.json(&["user", "whoami"])["user"]["identities"].to_string().contains(identity)
        });
    }
}

/// A host whose account `main` was added by `agentctl channel add`.
pub struct Added {
    /// The host, started again with the configuration that the command wrote.
    pub host: Host,
    /// The code by which its owner links an account of their own.
    pub code: String,
    _folder: TempDir,
}

impl Added {
    /// Adds an account of a platform with these secrets, each a line, and starts the host again. The account is accepted then.
    ///
    /// # Panics
    /// If a step fails, or the configuration holds a secret.
    #[must_use]
    pub fn by_command(platform: &str, url: &str, secrets: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("its mode");
        let (state_dir, config) = (folder.path().join("state"), folder.path().join("mine.toml"));
        fs::write(&config, "[agent.default]\nmodel = \"scripted/answers\"\n").expect("the configuration");
        let mut host = Setup::default().state(&state_dir).start();
        let file = config.to_string_lossy().into_owned();
        let words = ["channel", "add", platform, "--base-url", url, "--config", &file];
        let input: String = secrets.iter().map(|secret| format!("{secret}\n")).collect();
        let added = host.ask_with(&words, &input);
        assert_eq!(added["ok"], true, "{added}\n{}", host.log());
        let written = fs::read_to_string(&config).expect("the configuration");
        assert!(secrets.iter().all(|secret| !written.contains(secret)), "the configuration holds no token");
        host.stop();
        let host = Setup::default().config(&written).state(&state_dir).start();
        let tested = host.ask(&["channel", "test", "main"]);
        assert_eq!(tested["accepted"], true, "{tested}\n{}", host.log());
        let code = added["link"].as_str().expect("a code").to_owned();
        Self { host, code, _folder: folder }
    }
}
