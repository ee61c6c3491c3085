//! signal-cli's daemon over HTTP: JSON-RPC 2.0 at `/api/v1/rpc`, and a stream of events at `/api/v1/events`.

use crate::attachment::Data;
use channel::{Api, Lost, NoFile, Source, no_reply, of_status, refused};
use ipc_proto::Text;
use ipc_proto::channel::{Link, Outcome};
use ipc_proto::credproxy::{Request, Verb};
use kit::Pull;
use serde::Deserialize;
use serde_json::{Value, json};

/// The pause after Signal's own limit of messages.
const LIMITED_MS: u32 = 60_000;
/// signal-cli's code for that limit.
const RATE_LIMITED: i64 = -5;

/// The daemon.
pub(crate) struct Daemon {
    api: Api,
    server: String,
}

/// The reason for which a call has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It has no reply.
    Lost(Lost),
    /// The daemon refused it, with this code.
    Refused(i64),
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    result: Value,
    error: Option<Refusal>,
}

#[derive(Deserialize)]
struct Refusal {
    #[serde(default)]
    code: i64,
}

impl From<Lost> for Failure {
    fn from(lost: Lost) -> Self {
        Self::Lost(lost)
    }
}

impl Daemon {
    pub(crate) fn new(api: Api, server: &str) -> Self {
        Self { api, server: server.to_owned() }
    }

    fn request(&self, verb: Verb, path: &str, body: Option<Value>) -> Result<Request, Failure> {
        let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        let url = format!("{}/api/v1/{path}", self.server);
        Ok(channel::request(verb, &url, &[("content-type", "application/json")], body, None)?)
    }

    /// Calls a method.
    pub(crate) async fn call(&self, name: &str, parameters: Value) -> Result<Value, Failure> {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": name, "params": parameters });
        let reply = self.api.request(self.request(Verb::Post, "rpc", Some(body))?).await?;
        read(reply.status, &reply.body)
    }

    /// The stream of events.
    pub(crate) async fn events(&self) -> Result<Pull, Failure> {
        let (head, pull) = self.api.begin(self.request(Verb::Get, "events", None)?).await?;
        if head.status == 200 { Ok(pull) } else { Err(Failure::Refused(head.status.into())) }
    }

    /// Opens the file of this id, which the daemon keeps.
    ///
    /// # Errors
    /// [`NoFile`]
    pub(crate) async fn file(&self, id: &str) -> Result<Source, NoFile> {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "getAttachment", "params": { "id": id } });
        let asked = self.request(Verb::Post, "rpc", Some(body)).map_err(|_| NoFile::Later)?;
        let (head, pull) = self.api.begin(asked).await.map_err(|lost| no_reply(&lost))?;
        of_status(head.status)?;
        Ok(Source::Decoded(pull, Box::<Data>::default()))
    }
}

fn read(status: u16, body: &[u8]) -> Result<Value, Failure> {
    let answer: Answer = serde_json::from_slice(body).map_err(|_| Lost::Unknown)?;
    match answer.error {
        Some(refusal) => Err(Failure::Refused(refusal.code)),
        None if (200..300).contains(&status) => Ok(answer.result),
        None => Err(Lost::Unknown.into()),
    }
}

/// The outcome of `send`. Its result is the time by which the message is known, and each receiver's own outcome.
pub(crate) fn outcome(sent: &Result<Value, Failure>) -> Outcome {
    let result = match sent {
        Ok(result) => result,
        Err(Failure::Lost(lost)) => return lost.outcome(),
        Err(Failure::Refused(RATE_LIMITED)) => return Outcome::Unsent { after_ms: LIMITED_MS },
        Err(Failure::Refused(code)) => {
            return refused(&format!("signal-cli refused the message ({code})"));
        }
    };
    let failed = result["results"].as_array().is_some_and(|all| {
        !all.is_empty() && all.iter().all(|one| one["type"].as_str().is_some_and(|kind| kind != "SUCCESS"))
    });
    match result["timestamp"].as_u64() {
        Some(_) if failed => refused("Signal did not take the message for anybody"),
        Some(at) => Outcome::Sent { id: Text::clip(&at.to_string()) },
        None => Outcome::Unknown,
    }
}

/// The state of the connection after a failure, and the reason with what mends it.
pub(crate) fn fault(failure: Failure) -> (Link, &'static str) {
    match failure {
        Failure::Lost(_) => {
            (Link::Down, "signal-cli does not answer; start it: signal-cli daemon --http, and check base_url")
        }
        Failure::Refused(_) => {
            (Link::Refused, "signal-cli refuses; check that it has one account: signal-cli listAccounts")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_answer_says_if_the_message_was_sent() {
        let of = |status, body: &Value| outcome(&read(status, body.to_string().as_bytes()));
        let sent = json!({ "result": { "timestamp": 17, "results": [{ "type": "SUCCESS" }] } });
        assert_eq!(of(200, &sent), Outcome::Sent { id: Text::clip("17") });
        let none = json!({ "result": { "timestamp": 17, "results": [{ "type": "UNREGISTERED_FAILURE" }] } });
        assert!(matches!(of(200, &none), Outcome::Refused { .. }));
        assert_eq!(of(200, &json!({ "error": { "code": -5 } })), Outcome::Unsent { after_ms: 60_000 });
        assert!(matches!(of(200, &json!({ "error": { "code": -1 } })), Outcome::Refused { .. }));
        assert_eq!(of(500, &json!({})), Outcome::Unknown);
        assert_eq!(outcome(&read(200, b"<")), Outcome::Unknown);
    }
}
