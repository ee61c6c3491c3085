//! The request to a provider: a conversation as the chat protocol writes it, and the HTTP request around it. Pure
//! data; the key is not in it, only where credproxy puts it.

use crate::answer::asked;
use ipc_proto::config::{Provider, ProviderModel};
use ipc_proto::credproxy::{self, CredError, Header, Placement};
use ipc_proto::model::{Asked, Message, ModelError, Request, Role};
use ipc_proto::tool::ToolSpec;
use ipc_proto::{Blob, List, Name, Text};
use serde::Serialize;
use serde_json::Value;

/// The provider that no longer takes `max_tokens`, and the only one that requires its successor.
const RENAMED: &str = "https://api.openai.com/";
/// HTTP's word for a body that is too large.
const TOO_LARGE: u16 = 413;

/// A request to a provider.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    /// What credproxy sends.
    pub(crate) http: credproxy::Request,
    /// An estimate of its tokens, for providers that do not count.
    pub(crate) tokens: u32,
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<Said<'a>>,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    // An empty list is an error to some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Said<'a> {
    role: Role,
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<String>,
}

#[derive(Serialize)]
struct Call<'a> {
    id: String,
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: &'a str,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: Described<'a>,
}

#[derive(Serialize)]
struct Described<'a> {
    name: &'a str,
    description: &'a str,
    parameters: Value,
}

/// The request to this provider's model.
///
/// # Errors
/// [`ModelError::Rejected`] if it is larger than credproxy takes; [`ModelError::Credentials`] if the configured
/// address cannot be one.
pub(crate) fn ask(
    provider: &Provider,
    model: &str,
    known: ProviderModel,
    request: &Request,
) -> Result<Ask, ModelError> {
    let too_large = ModelError::Rejected { status: TOO_LARGE };
    let bad_url = ModelError::Credentials(CredError::BadUrl);
    let url = format!("{}/chat/completions", provider.base_url.trim_end_matches('/'));
    let body = body(model, known, request, url.starts_with(RENAMED));
    let body = serde_json::to_vec(&body).map_err(|_| too_large)?;
    let header = |name: &str, value: &str| Header { name: Name::clip(name), value: Text::clip(value) };
    let headers = [header("content-type", "application/json"), header("accept", "text/event-stream")];
    let secret = provider.secret.as_ref().map(|secret| Placement {
        secret: Name::clip(secret),
        header: Name::clip("authorization"),
        prefix: Text::clip("Bearer "),
    });
    let http = credproxy::Request {
        post: true,
        url: Text::new(url).map_err(|_| bad_url)?,
        headers: List::clip(headers),
        body: Blob::new(body).map_err(|_| too_large)?,
        secret,
    };
    Ok(Ask { http, tokens: asked(request) })
}

fn body<'a>(model: &'a str, known: ProviderModel, request: &'a Request, renamed: bool) -> Body<'a> {
    let asked_for = if request.max_output == 0 { known.output } else { request.max_output.min(known.output) };
    let bound = (asked_for > 0).then_some(asked_for);
    Body {
        model,
        messages: request.messages.iter().map(said).collect(),
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        max_tokens: bound.filter(|_| !renamed),
        max_completion_tokens: bound.filter(|_| renamed),
        temperature: request.temperature.map(|thousandths| f64::from(thousandths) / 1000.0),
        tools: request.tools.iter().map(described).collect(),
    }
}

fn said(message: &Message) -> Said<'_> {
    let silent = message.text.is_empty() && !message.calls.is_empty();
    Said {
        role: message.role,
        content: (!silent).then_some(message.text.as_str()),
        tool_calls: message.calls.iter().map(call).collect(),
        tool_call_id: message.answers.map(|id| id.to_string()),
    }
}

fn call(call: &Asked) -> Call<'_> {
    let function = Function { name: &call.tool, arguments: &call.args };
    Call { id: call.id.to_string(), r#type: "function", function }
}

fn described(tool: &ToolSpec) -> Tool<'_> {
    // A schema that cannot be read is one that allows anything: the gate checks the arguments all the same.
    let parameters =
        serde_json::from_str(&tool.schema).unwrap_or_else(|_| serde_json::json!({ "type": "object" }));
    Tool {
        r#type: "function",
        function: Described { name: &tool.name, description: &tool.description, parameters },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{Reply, Wanted};
    use crate::offline::testing::{Asking, request};
    use serde_json::json;

    fn provider(base_url: &str) -> Provider {
        Provider { base_url: base_url.to_owned(), secret: Some("key".to_owned()), models: [].into() }
    }

    fn asked_of(base_url: &str, request: &Request) -> (credproxy::Request, Value) {
        let known = ProviderModel { context: 8000, output: 500 };
        let ask = ask(&provider(base_url), "m/1", known, request).unwrap();
        let body = serde_json::from_slice(&ask.http.body).unwrap();
        (ask.http, body)
    }

    #[test]
    fn a_conversation_with_calls_is_written_as_the_protocol_has_it() {
        let mut asking = Asking::new(request(&[("system", "Be brief."), ("user", "x")], &["bash"]));
        let wanted = Wanted::new("bash", &json!({ "command": "ls" }));
        asking.took(&Reply::ask(vec![wanted]), |_| "a.txt".to_owned());
        asking.request.temperature = Some(700);
        asking.request.max_output = 400;
        let id = asking.request.messages[2].calls[0].id.to_string();
        let (http, body) = asked_of("https://host/v1/", &asking.request);
        assert_eq!(http.url.as_str(), "https://host/v1/chat/completions");
        assert_eq!(
            body,
            json!({
                "model": "m/1", "stream": true, "stream_options": {"include_usage": true},
                "max_tokens": 400, "temperature": 0.7,
                "messages": [
                    {"role": "system", "content": "Be brief."},
                    {"role": "user", "content": "x"},
                    {"role": "assistant", "content": null, "tool_calls": [
                        {"id": id, "type": "function", "function": {"name": "bash", "arguments": "{\"command\":\"ls\"}"}}
                    ]},
                    {"role": "tool", "content": "a.txt", "tool_call_id": id},
                ],
                "tools": [{"type": "function", "function":
                    {"name": "bash", "description": "A tool.", "parameters": {"type": "object"}}}],
            })
        );
    }

    #[test]
    fn the_key_is_named_and_never_there() {
        let (http, _) = asked_of("https://host/v1", &request(&[("user", "x")], &[]));
        let secret = http.secret.unwrap();
        assert_eq!([&secret.secret, &secret.header], [&Name::clip("key"), &Name::clip("authorization")]);
        assert_eq!(secret.prefix.as_str(), "Bearer ");
        assert!(http.headers.iter().all(|header| header.name.as_str() != "authorization"));
    }

    #[test]
    fn the_bound_of_output_is_the_models_own_at_most_and_goes_by_the_name_its_provider_knows() {
        let mut request = request(&[("user", "x")], &[]);
        request.max_output = 9000;
        for (base, key) in [
            ("https://api.openai.com/v1", "max_completion_tokens"),
            ("https://api.openai.com.evil/v1", "max_tokens"),
            ("http://127.0.0.1:11434/v1", "max_tokens"),
        ] {
            let (_, body) = asked_of(base, &request);
            assert_eq!(body[key], json!(500), "{base}");
            assert!(body.get("tools").is_none());
        }
    }

    #[test]
    fn a_conversation_that_is_too_large_is_refused_here() {
        let long = "\u{1}".repeat(1024 * 1024);
        let request = request(&[("user", long.as_str())], &[]);
        let known = ProviderModel { context: 1, output: 1 };
        let refused = ask(&provider("https://host"), "m", known, &request).unwrap_err();
        assert_eq!(refused, ModelError::Rejected { status: 413 });
    }
}
