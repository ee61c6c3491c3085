//! Discord and Slack.

use super::{Network, Sent};
use serde_json::{Value, json};
use tests::discord::Discord;
use tests::slack::Slack;
use tests::{Host, Setup, discord, slack};

pub(super) struct OnDiscord(Discord);

impl OnDiscord {
    pub(super) fn start() -> Self {
        Self(Discord::start())
    }
}

impl Network for OnDiscord {
    const CHANNEL: &'static str = "discord:main";

    fn host(&self, keys: &str) -> Host {
        self.0.host(Setup::default(), keys)
    }

    fn send(&self, owner: bool, text: &str, files: &[Sent]) {
        let person = if owner { discord::ANN } else { 6 };
        let file = |file: &Sent| self.0.file(file.name, &file.bytes, file.way, file.size);
        let files: Vec<Value> = files.iter().map(file).collect();
        let message = json!({ "content": text, "channel_type": 1, "attachments": files });
        self.0.message(discord::direct(person), person, &message);
    }

    fn asked(&self) -> Option<(usize, usize)> {
        Some((self.0.given().asked().len(), self.0.given().elsewhere()))
    }

    fn said(&self) -> Vec<String> {
        self.0.sent(discord::direct(discord::ANN)).iter().map(|one| one.text().to_owned()).collect()
    }

    fn got(&self) -> Vec<(String, usize)> {
        let sent = self.0.sent(discord::direct(discord::ANN));
        let file = |one: &discord::SentMessage| {
            let (name, bytes) = (one.body["file"]["name"].as_str()?, one.body["file"]["bytes"].as_u64()?);
            Some((name.to_owned(), usize::try_from(bytes).ok()?))
        };
        sent.iter().filter_map(file).collect()
    }
}

pub(super) struct OnSlack(Slack);

impl OnSlack {
    pub(super) fn start() -> Self {
        Self(Slack::start())
    }
}

impl Network for OnSlack {
    const CHANNEL: &'static str = "slack:main";

    fn host(&self, keys: &str) -> Host {
        // Slack has no sign of typing, and takes the key all the same.
        self.0.host(Setup::default(), keys)
    }

    fn send(&self, owner: bool, text: &str, files: &[Sent]) {
        let person = if owner { slack::ANN } else { "U6EVE" };
        let file = |file: &Sent| self.0.file(file.name, &file.bytes, file.way, file.size);
        let listed: Vec<Value> = files.iter().map(file).collect();
        let message = if listed.is_empty() {
            json!({ "text": text })
        } else {
            json!({ "subtype": "file_share", "text": text, "files": listed })
        };
        self.0.message(&slack::direct(person), person, &message);
    }

    fn asked(&self) -> Option<(usize, usize)> {
        Some((self.0.given().asked().len(), self.0.given().elsewhere()))
    }

    fn said(&self) -> Vec<String> {
        self.0.sent(&slack::direct(slack::ANN)).iter().map(|one| one.text().to_owned()).collect()
    }

    fn got(&self) -> Vec<(String, usize)> {
        let files = self.0.files(&slack::direct(slack::ANN));
        files.into_iter().map(|(name, bytes)| (name, bytes.len())).collect()
    }
}
