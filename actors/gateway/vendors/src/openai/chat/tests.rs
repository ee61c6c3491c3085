//! Chat completions: what a client may send, and every shape of what it is answered.

use super::*;
use crate::answer::testing::{call, stream, whole};
use crate::fault::{Dialect, Kind};
use ipc_proto::model::{Choice, Finish};
use serde_json::json;

fn chat(body: &Value) -> Result<ChatRequest, Fault> {
    body::decode::<Ask>(body.to_string().as_bytes())?.chat()
}

fn asked(messages: Value) -> Value {
    json!({"model": "a/b", "messages": messages})
}

#[test]
fn a_conversation_with_tools_and_images_arrives_as_it_was_sent() {
    let chat = chat(&json!({
        "model": "a/b", "max_tokens": 9, "max_completion_tokens": 7, "temperature": 0.5, "stop": ["x", "y"],
        "tool_choice": "required", "parallel_tool_calls": true, "user": "u-1", "seed": 3,
        "tools": [{"type": "function", "function": {"name": "read", "description": "reads", "strict": true,
            "parameters": {"type": "object"}}}],
        "messages": [
            {"role": "developer", "content": "be brief"},
            {"role": "user", "name": "ann", "content": [
                {"type": "text", "text": "look"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AQID", "detail": "low"}},
                {"type": "text", "text": "here"},
            ]},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "own-1", "type": "function", "function": {"name": "read", "arguments": "{\"p\":1}"}},
            ]},
            {"role": "tool", "tool_call_id": "own-1", "content": [{"type": "text", "text": "found"}]},
        ],
    }))
    .unwrap();
    let request = chat.request;
    let roles: Vec<Role> = request.messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::System, Role::User, Role::Assistant, Role::Tool]);
    assert_eq!(request.messages[1].text.as_str(), "look\nhere");
    assert_eq!((request.images[0].message, request.images[0].bytes.len()), (1, 3));
    assert_eq!(request.messages[3].answers, Some(request.messages[2].calls[0].id));
    assert_eq!((request.max_output, request.temperature, request.stop.len()), (7, Some(500), 2));
    assert_eq!((&request.choice, request.tools[0].name.as_str()), (&Choice::Some, "read"));
    assert_eq!(chat.conversation.as_deref(), Some("u-1"));
}

#[test]
fn what_cannot_be_done_is_refused_by_the_name_of_its_field() {
    let user = json!([{"role": "user", "content": "x"}]);
    let with = |field: &str, value: Value| {
        let mut body = asked(user.clone());
        body[field] = value;
        body
    };
    let image = json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x/y.png"}}]}]);
    for (body, param) in [
        (json!({"messages": user}), "model"),
        (json!({"model": "a/b"}), "messages"),
        (asked(json!([])), "messages"),
        (asked(json!([{"role": "king", "content": "x"}])), "messages[0].role"),
        (
            asked(json!([{"role": "user", "content": [{"type": "input_audio"}]}])),
            "messages[0].content[0].type",
        ),
        (asked(image), "messages[0].content[0].image_url.url"),
        (asked(json!([{"role": "tool", "content": "x"}])), "messages[0].tool_call_id"),
        (asked(json!([["user", "x", null, null]])), "messages[0]"),
        (asked(json!([{"role": "user", "content": [["text", "x", null, null]]}])), "messages[0].content[0]"),
        (with("tools", json!([["function", {"name": "t"}]])), "tools[0]"),
        (with("tools", json!([{"type": "function", "function": ["t", null, null]}])), "tools[0].function"),
        (
            with("tools", json!([{"type": "function", "function": {"name": "t", "parameters": 3}}])),
            "tools[0].function.parameters",
        ),
        (with("stream_options", json!([true])), "stream_options"),
        (asked(json!([{"role": "user", "content": null}])), "messages[0].content"),
        (asked(json!([{"role": "user", "content": [{"type": "text"}]}])), "messages[0].content[0].text"),
        (asked(json!([{"role": "tool", "tool_call_id": "c", "content": "x"}])), "messages[0]"),
        (
            asked(json!([{"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": [
                {"id": "c", "type": "function", "function": {"name": "t"}}]}])),
            "messages[1]",
        ),
        (with("n", json!(2)), "n"),
        (with("max_completion_tokens", json!(0)), "max_completion_tokens"),
        (with("stop", json!([""])), "stop"),
        (with("functions", json!([{"name": "t"}])), "functions"),
        (with("tool_choice", json!("required")), "tool_choice"),
        (with("response_format", json!({"type": "json_schema"})), "response_format.json_schema.schema"),
        (with("temperature", json!(3)), "temperature"),
        (with("temperature", json!("warm")), "temperature"),
        (with("max_tokens", json!(0)), "max_tokens"),
        (with("tool_choice", json!("any")), "tool_choice"),
        (with("tools", json!([{"type": "web_search"}])), "tools[0].type"),
        (with("tools", json!([{"type": "function"}])), "tools[0].function"),
        (with("response_format", json!({"type": "xml"})), "response_format"),
    ] {
        let fault = chat(&body).unwrap_err();
        assert_eq!(fault.kind(), Kind::Bad);
        assert_eq!(fault.json(Dialect::OpenAi, "")["error"]["param"], param, "{body}");
    }
}

#[test]
fn a_whole_completion_has_the_vendor_s_shape() {
    let mut chat = Chat::new("a/b", false, false);
    let body = whole(&mut chat, "hello", &[], Finish::Stop);
    assert!(body["id"].as_str().unwrap().starts_with("chatcmpl-"));
    assert_eq!((&body["object"], &body["model"]), (&json!("chat.completion"), &json!("a/b")));
    let expected = json!([{"index": 0, "logprobs": null, "finish_reason": "stop",
        "message": {"role": "assistant", "content": "hello", "refusal": null, "annotations": []}}]);
    assert_eq!(body["choices"], expected);
    assert_eq!(body["usage"]["total_tokens"], 16);
    let stopped = whole(&mut chat, "hello", &[], Finish::StoppedAt(0));
    assert_eq!(stopped["choices"], expected, "this vendor says no more");
    let body = whole(&mut chat, "", &[call()], Finish::ToolUse);
    let message = &body["choices"][0]["message"];
    assert_eq!(
        (&message["content"], &body["choices"][0]["finish_reason"]),
        (&Value::Null, &json!("tool_calls"))
    );
    let expected = json!([{"id": format!("call_{}", "07".repeat(16)), "type": "function",
        "function": {"name": "read", "arguments": "{\"path\":\"a\"}"}}]);
    assert_eq!(message["tool_calls"], expected);
}

// Holds P3-19.
#[test]
fn a_stream_begins_with_the_role_and_ends_with_reason_usage_and_done() {
    let events = stream(&mut Chat::new("a/b", true, false), &["he", "llo"], &[call()], Finish::ToolUse);
    let deltas: Vec<&Value> = events.iter().map(|(_, data)| &data["choices"][0]["delta"]).collect();
    let id = format!("call_{}", "07".repeat(16));
    let expected = [
        json!({"role": "assistant", "content": "", "refusal": null}),
        json!({"content": "he"}),
        json!({"content": "llo"}),
        json!({"tool_calls": [{"index": 0, "id": id, "type": "function",
            "function": {"name": "read", "arguments": ""}}]}),
        json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"path\":\"a\"}"}}]}),
        json!({}),
    ];
    assert_eq!(deltas[..6], expected.iter().collect::<Vec<_>>());
    let [.., (_, end), (_, cost), (_, done)] = &events[..] else { panic!("{events:?}") };
    assert_eq!((&end["choices"][0]["finish_reason"], &end["usage"]), (&json!("tool_calls"), &Value::Null));
    assert_eq!((&cost["choices"], &cost["usage"]["prompt_tokens"]), (&json!([]), &json!(11)));
    assert_eq!(done, "[DONE]");
    assert!(events.iter().all(|(name, _)| name.is_none()));
    let bare = stream(&mut Chat::new("a/b", false, false), &["x"], &[], Finish::Stop);
    assert!(bare.iter().all(|(_, data)| data.get("usage").is_none()), "{bare:?}");
}

proptest::proptest! {
    // Holds P3-20.
    #[test]
    fn any_body_is_a_request_or_refused_in_the_vendor_s_form(bytes: Vec<u8>, text in ".{0,80}") {
        for body in [bytes, text.clone().into_bytes(), json!({"model": text, "messages": [{"role": text}]}).to_string().into()] {
            let answer = body::decode::<Ask>(&body).and_then(Ask::chat);
            if let Err(fault) = answer {
                proptest::prop_assert!(fault.json(Dialect::OpenAi, "")["error"]["message"].is_string());
            }
        }
    }
}
