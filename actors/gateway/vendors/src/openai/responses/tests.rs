//! Responses: what a client may send, and every shape of what it is answered.

use super::*;
use crate::answer::Writer;
use crate::answer::testing::{call, events, stream, whole};
use crate::fault::{Dialect, Kind};
use ipc_proto::model::Finish;
use serde_json::json;

fn chat(body: &Value) -> Result<ChatRequest, Fault> {
    body::decode::<Ask>(body.to_string().as_bytes())?.chat()
}

fn writer() -> Responses {
    Responses::new(Echo { model: "a/b".into(), ..Echo::default() }, None)
}

#[test]
fn text_and_lists_of_items_arrive_as_they_were_sent() {
    let plain = chat(&json!({"model": "a/b", "instructions": "be brief", "input": "hello"})).unwrap();
    let said: Vec<(Role, &str)> =
        plain.request.messages.iter().map(|message| (message.role, message.text.as_str())).collect();
    assert_eq!(said, [(Role::System, "be brief"), (Role::User, "hello")]);
    let listed = chat(&json!({
        "model": "a/b", "max_output_tokens": 9, "previous_response_id": "resp_1", "store": false,
        "tools": [{"type": "function", "name": "read", "parameters": {}, "strict": false}, {"type": "web_search"}],
        "reasoning": {"effort": "low"}, "include": ["reasoning.encrypted_content"],
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "look"},
                {"type": "input_image", "image_url": "data:image/png;base64,AQID", "detail": "auto"}]},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "well"}]},
            {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"},
            {"type": "function_call", "call_id": "c2", "name": "read", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "one"},
            {"type": "function_call_output", "call_id": "c2", "output": [
                {"type": "input_text", "text": "two"},
                {"type": "input_image", "image_url": "data:image/png;base64,AQID"}]},
        ],
    }))
    .unwrap();
    let request = &listed.request;
    let roles: Vec<Role> = request.messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool, Role::Tool, Role::User]);
    let calls = &request.messages[1].calls;
    assert_eq!(calls.len(), 2);
    assert_eq!(request.messages[3].answers, Some(calls[1].id));
    let shown: Vec<u16> = request.images.iter().map(|image| image.message).collect();
    assert_eq!((shown, request.tools.len(), request.max_output), (vec![0, 4], 1, 9));
    assert_eq!(listed.previous.as_deref(), Some("resp_1"));
}

#[test]
fn what_cannot_be_done_is_refused_by_the_name_of_its_field() {
    for (body, param) in [
        (json!({"input": "x"}), "model"),
        (json!({"model": "a/b"}), "input"),
        (json!({"model": "a/b", "input": []}), "input"),
        (json!({"model": "a/b", "input": "x", "conversation": "conv_1"}), "conversation"),
        (json!({"model": "a/b", "input": [["message", "user", "x"]]}), "input[0]"),
        (json!({"model": "a/b", "input": "x", "text": [null]}), "text"),
        (json!({"model": "a/b", "input": "x", "tools": [3]}), "tools[0]"),
        (
            json!({"model": "a/b", "input": "x", "tools": [{"type": "function", "name": "t", "parameters": "p"}]}),
            "tools[0].parameters",
        ),
        (json!({"model": "a/b", "input": [{"content": "x"}]}), "input[0].role"),
        (json!({"model": "a/b", "input": [{"role": "user"}]}), "input[0].content"),
        (json!({"model": "a/b", "input": [{"type": "computer_call"}]}), "input[0].type"),
        (
            json!({"model": "a/b", "input": [{"type": "function_call_output", "output": "x"}]}),
            "input[0].call_id",
        ),
        (
            json!({"model": "a/b", "input": [{"role": "user", "content": [{"type": "input_file"}]}]}),
            "input[0].content[0].type",
        ),
        (json!({"model": "a/b", "input": "x", "text": {"format": {"type": "xml"}}}), "text.format"),
        (json!({"model": "a/b", "input": "x", "tools": [{"type": "function"}]}), "tools[0].name"),
        (json!({"model": "a/b", "input": 7}), "input"),
        (json!({"model": "a/b", "input": "x", "max_output_tokens": 0}), "max_output_tokens"),
        (json!({"model": "a/b", "input": "x", "metadata": "y"}), "metadata"),
        (json!({"model": "a/b", "input": [{"role": "tool", "content": "x"}]}), "input[0].role"),
        (
            json!({"model": "a/b", "input": [{"role": "user", "content": [{"type": "input_text"}]}]}),
            "input[0].content[0].text",
        ),
        (
            json!({"model": "a/b", "input": [{"type": "function_call_output", "call_id": "c", "output": "x"}]}),
            "input[0]",
        ),
        (
            json!({"model": "a/b", "input": [{"type": "function_call", "call_id": "c", "name": "t"}]}),
            "input[0]",
        ),
        (
            json!({"model": "a/b", "input": "x", "text": {"format": {"type": "json_schema"}}}),
            "text.format.schema",
        ),
    ] {
        let fault = chat(&body).unwrap_err();
        assert_eq!(fault.kind(), Kind::Bad);
        assert_eq!(fault.json(Dialect::OpenAi, "")["error"]["param"], param, "{body}");
    }
}

#[test]
fn a_whole_response_has_the_vendor_s_shape() {
    let body = whole(&mut writer(), "hello", &[call()], Finish::ToolUse);
    assert!(body["id"].as_str().unwrap().starts_with("resp_"));
    assert_eq!((&body["object"], &body["status"]), (&json!("response"), &json!("completed")));
    let [message, function] = &body["output"].as_array().unwrap()[..] else { panic!("{body}") };
    let expected = json!([{"type": "output_text", "text": "hello", "annotations": [], "logprobs": []}]);
    assert_eq!((&message["type"], &message["content"]), (&json!("message"), &expected));
    assert_eq!((&function["type"], &function["name"]), (&json!("function_call"), &json!("read")));
    assert_eq!(function["call_id"], format!("call_{}", "07".repeat(16)));
    assert_eq!(body["usage"]["input_tokens_details"]["cached_tokens"], 3);
    let stopped = whole(&mut writer(), "hel", &[], Finish::StoppedAt(0));
    assert_eq!((&stopped["status"], &stopped["incomplete_details"]), (&json!("completed"), &Value::Null));
    let cut = whole(&mut writer(), "hel", &[], Finish::MaxTokens);
    let why = json!({"reason": "max_output_tokens"});
    assert_eq!((&cut["status"], &cut["incomplete_details"]), (&json!("incomplete"), &why));
}

#[test]
fn a_response_says_of_its_request_what_was_asked() {
    let format = json!({"type": "json_schema", "name": "n", "schema": {"type": "object"}});
    let asked = json!({"model": "a/b", "input": "x", "user": "u-1", "metadata": {"k": "v"}, "text": {"format": format},
        "parallel_tool_calls": false});
    let echo = read(asked.to_string().as_bytes()).unwrap().writer;
    let mut writer = Responses::new(echo, None);
    let told = whole(&mut writer, "hel", &[], Finish::MaxTokens);
    assert_eq!((&told["text"]["format"], &told["user"]), (&format, &json!("u-1")));
    assert_eq!((&told["metadata"], &told["parallel_tool_calls"]), (&json!({"k": "v"}), &json!(false)));
    assert_eq!(told["output"][0]["status"], "incomplete", "what was cut is not whole");
    assert!(writer.takes_one_call());
}

#[test]
fn a_client_with_tools_of_the_vendor_s_own_goes_on_without_them() {
    let sent =
        json!({"model": "a/b", "input": "x", "tools": [{"type": "web_search"}], "tool_choice": "required"});
    assert_eq!(chat(&sent).unwrap().request.choice, ipc_proto::model::Choice::Auto);
}

// Holds P3-19.
#[test]
fn a_stream_is_the_vendor_s_sequence_of_typed_events() {
    let events = stream(&mut writer(), &["he", "llo"], &[call()], Finish::ToolUse);
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_deref().unwrap()).collect();
    let expected = [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.completed",
    ];
    assert_eq!(names, expected);
    for (number, (name, data)) in events.iter().enumerate() {
        assert_eq!((&data["sequence_number"], &data["type"]), (&json!(number), &json!(name)), "{data}");
    }
    let data = |at: usize| &events[at].1;
    assert_eq!((&data(5)["delta"], &data(6)["text"]), (&json!("llo"), &json!("hello")));
    assert_eq!((&data(9)["output_index"], &data(11)["arguments"]), (&json!(1), &json!("{\"path\":\"a\"}")));
    assert_eq!(data(4)["item_id"], data(2)["item"]["id"]);
    assert_eq!(data(13)["response"]["output"], json!([data(8)["item"], data(12)["item"]]));
}

#[test]
fn a_stream_that_says_nothing_fails_or_is_cut_still_has_its_end() {
    let silent = stream(&mut writer(), &[], &[], Finish::Stop);
    assert_eq!(silent.last().unwrap().1["response"]["output"].as_array().unwrap().len(), 1);
    let cut = stream(&mut writer(), &["x"], &[], Finish::MaxTokens);
    assert_eq!(cut.last().unwrap().0.as_deref(), Some("response.incomplete"));
    let (mut writer, mut out) = (writer(), Vec::new());
    writer.text("x", &mut out);
    writer.fail(&Fault::new(Kind::Late, "too late"), &mut out);
    let events = events(&out);
    let (name, data) = events.last().unwrap();
    assert_eq!(name.as_deref(), Some("response.failed"));
    assert_eq!(data["response"]["error"], json!({"code": "timeout", "message": "too late"}));
}

proptest::proptest! {
    // Holds P3-20.
    #[test]
    fn any_body_is_a_request_or_refused_in_the_vendor_s_form(bytes: Vec<u8>, text in ".{0,80}") {
        for body in [bytes, json!({"model": "m", "input": [{"type": text, "content": text}]}).to_string().into()] {
            if let Err(fault) = body::decode::<Ask>(&body).and_then(Ask::chat) {
                proptest::prop_assert!(fault.json(Dialect::OpenAi, "")["error"]["message"].is_string());
            }
        }
    }
}
