//! Messages: what a client may send, and every shape of what it is answered.

use super::*;
use crate::answer::testing::{call, events, stream, whole};
use crate::answer::{Call, Whole, Writer};
use crate::chat_request::ChatRequest;
use crate::fault::{Dialect, Kind};
use ipc_proto::ids::CallId;
use ipc_proto::model::{Choice, Finish, Role, Think, Thought, Usage};
use serde_json::Value;
use serde_json::json;

fn chat(body: &Value) -> Result<ChatRequest, Fault> {
    body::decode::<Ask>(body.to_string().as_bytes())?.chat()
}

fn asked(messages: Value) -> Value {
    json!({"model": "a/b", "max_tokens": 9, "messages": messages})
}

fn writer() -> Messages {
    Messages::new("a/b", &["END", "</a>"], false)
}

#[test]
fn a_conversation_with_tools_images_and_thoughts_arrives_as_it_was_sent() {
    let chat = chat(&json!({
        "model": "a/b", "max_tokens": 9, "top_k": 3, "stop_sequences": ["x"], "metadata": {"user_id": "u-1"},
        "system": [{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}],
        "thinking": {"type": "enabled", "budget_tokens": 1024}, "tool_choice": {"type": "tool", "name": "read"},
        "tools": [{"name": "read", "description": "reads", "input_schema": {"type": "object"}},
            {"type": "web_search_20250305", "name": "web_search"}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": "AQID"}}]},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "well"},
                {"type": "tool_use", "id": "toolu_own", "name": "read", "input": {"p": 1}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_own", "is_error": true,
                "content": [{"type": "text", "text": "no such file"}]}, {"type": "text", "text": "go on"}]},
            {"role": "assistant", "content": "done"},
        ],
    }))
    .unwrap();
    let request = chat.request;
    let said: Vec<(Role, &str)> =
        request.messages.iter().map(|message| (message.role, message.text.as_str())).collect();
    let expected = [
        (Role::System, "be brief"),
        (Role::User, "look"),
        (Role::Assistant, "well"),
        (Role::Tool, "error: no such file"),
        (Role::User, "go on"),
        (Role::Assistant, "done"),
    ];
    assert_eq!(said, expected);
    let asked = &request.messages[2].calls[0];
    assert_eq!((asked.args.as_str(), request.messages[3].answers), ("{\"p\":1}", Some(asked.id)));
    assert_eq!((request.images[0].message, request.tools.len(), request.max_output), (1, 1, 9));
    assert!(matches!(&request.choice, Choice::This(name) if name.as_str() == "read"));
    let thought = &request.messages[2].thoughts[0];
    assert_eq!((thought.text.as_str(), thought.seal.as_str(), thought.by.as_str()), ("hm", "s", "b"));
    assert_eq!(request.think, Think::Tokens(1024));
    assert_eq!(chat.conversation.as_deref(), Some("u-1"));
}

// Holds P8-22.
#[test]
fn reasoning_keeps_the_vendors_form_and_each_block_its_place() {
    let content = json!([
        {"type": "redacted_thinking", "data": "opaque"},
        {"type": "thinking", "thinking": "hm", "signature": "s1"},
        {"type": "text", "text": "well"},
        {"type": "thinking", "thinking": "so", "signature": "s2"},
        {"type": "tool_use", "id": format!("toolu_{}", "07".repeat(16)), "name": "read", "input": {"path": "a"}},
    ]);
    let result = json!({"type": "tool_result", "tool_use_id": content[4]["id"], "content": "found"});
    let sent = asked(json!([{"role": "user", "content": "x"}, {"role": "assistant", "content": content},
        {"role": "user", "content": [result]}]));
    let request = chat(&sent).unwrap().request;
    let thoughts: Vec<Thought> = request.messages[1].thoughts.iter().cloned().collect();
    let places: Vec<(bool, bool, u16)> = thoughts.iter().map(|it| (it.hidden, it.spoken, it.calls)).collect();
    assert_eq!(places, [(true, false, 0), (false, false, 0), (false, true, 0)]);
    let whole = Whole {
        text: "well".into(),
        calls: vec![call()],
        thoughts: thoughts.clone(),
        usage: Usage::default(),
        finish: Finish::ToolUse,
        by: None,
        over: None,
    };
    assert_eq!(writer().whole(&whole)["content"], content);
    let (mut writer, mut out) = (writer(), Vec::new());
    thoughts[..2].iter().for_each(|thought| writer.thought(thought, &mut out));
    writer.text("well", &mut out);
    writer.thought(&thoughts[2], &mut out);
    writer.call(&call(), &mut out);
    // As an official client puts a stream's blocks together.
    let mut blocks: Vec<Value> = Vec::new();
    for (_, event) in events(&out) {
        let delta = &event["delta"];
        match event["type"].as_str().unwrap() {
            "content_block_start" => blocks.push(event["content_block"].clone()),
            "content_block_delta" => {
                let block = &mut blocks[usize::try_from(event["index"].as_u64().unwrap()).unwrap()];
                for field in ["text", "thinking", "signature"] {
                    if let Some(part) = delta[field].as_str() {
                        block[field] = format!("{}{part}", block[field].as_str().unwrap()).into();
                    }
                }
                if let Some(input) = delta["partial_json"].as_str() {
                    block["input"] = serde_json::from_str(input).unwrap();
                }
            }
            _ => {}
        }
    }
    assert_eq!(Value::Array(blocks), content);
}

#[test]
fn how_much_a_model_is_to_think_is_one_of_the_vendor_s_words() {
    let thinking = |thinking: Value| {
        let mut body = asked(json!([{"role": "user", "content": "x"}]));
        body["thinking"] = thinking;
        chat(&body).map(|chat| chat.request.think)
    };
    assert_eq!(thinking(json!({"type": "adaptive"})).unwrap(), Think::AsFit);
    assert_eq!(thinking(json!({"type": "disabled"})).unwrap(), Think::Never);
    assert_eq!(thinking(Value::Null).unwrap(), Think::ByItself);
    for wrong in [json!({"type": "enabled"}), json!({"type": "hard"}), json!("yes")] {
        assert_eq!(thinking(wrong).unwrap_err().kind(), Kind::Bad);
    }
}

#[test]
fn an_image_that_a_tool_answers_with_is_shown_by_the_user() {
    let image =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AQID"}});
    let result = json!({"type": "tool_result", "tool_use_id": "t", "content": [image]});
    let used = json!({"type": "tool_use", "id": "t", "name": "look", "input": {}});
    let said = json!([{"role": "assistant", "content": [used]}, {"role": "user", "content": [result]}]);
    let request = chat(&asked(said)).unwrap().request;
    let roles: Vec<Role> = request.messages.iter().map(|message| message.role).collect();
    assert_eq!((roles, request.images[0].message), (vec![Role::Assistant, Role::Tool, Role::User], 2));
}

#[test]
fn what_cannot_be_done_is_refused_with_its_place() {
    let user = |content: Value| asked(json!([{"role": "user", "content": content}]));
    let with = |field: &str, value: Value| {
        let mut body = user(json!("x"));
        body[field] = value;
        body
    };
    for body in [
        user(json!("")),
        user(json!([])),
        user(json!([{"type": "text"}])),
        user(json!([{"type": "tool_result", "tool_use_id": "toolu_1", "content": "x"}])),
        asked(json!([{"role": "user", "content": "x"}, {"role": "assistant", "content": [
            {"type": "tool_use", "id": "toolu_1", "name": "t", "input": {}}]}])),
        with("temperature", json!(1.5)),
        with("stop_sequences", json!([""])),
        with("thinking", json!({"type": "enabled", "budget_tokens": 5})),
        with("tools", json!([{"name": "t"}])),
        with("tool_choice", json!({"type": "any"})),
        with("output_config", json!({"format": {"type": "xml"}})),
        with("output_format", json!({"type": "json_schema"})),
        json!({"max_tokens": 9, "messages": []}),
        asked(json!([])),
        asked(json!([{"role": "king", "content": "x"}])),
        asked(json!([{"role": "user"}])),
        user(json!([{"type": "document"}])),
        user(json!([{"type": "image", "source": {"type": "url", "url": "https://x/y.png"}}])),
        user(json!([{"type": "tool_result", "content": "x"}])),
        json!({"model": "a/b", "messages": [{"role": "user", "content": "x"}], "tool_choice": {"type": "tool"}}),
        json!({"model": "a/b", "messages": [{"role": "user", "content": "x"}], "max_tokens": "many"}),
        json!({"model": "a/b", "messages": [["user", "x"]]}),
        user(json!([["text", "x"]])),
        user(json!([{"type": "image", "source": ["base64", "image/png", "AQID"]}])),
        json!({"model": "a/b", "messages": [{"role": "user", "content": "x"}],
            "tools": [{"name": "t", "input_schema": 3}]}),
    ] {
        let fault = chat(&body).unwrap_err();
        assert_eq!(fault.kind(), Kind::Bad);
        let shown = fault.json(Dialect::Anthropic, "req_1");
        assert_eq!(
            (&shown["type"], &shown["error"]["type"]),
            (&json!("error"), &json!("invalid_request_error"))
        );
    }
}

#[test]
fn what_is_wrong_with_a_tool_is_named_as_the_vendor_names_it() {
    let of = |schema: Value| {
        let mut body = asked(json!([{"role": "user", "content": "x"}]));
        body["tools"] = json!([{"name": "t", "input_schema": schema}]);
        chat(&body)
            .map(|_| ())
            .map_err(|fault| fault.json(Dialect::Anthropic, "")["error"]["message"].clone())
    };
    assert_eq!(of(json!({"type": "object"})), Ok(()));
    for wrong in [json!(3), json!({"description": "x".repeat(1 << 20)})] {
        let message = of(wrong).unwrap_err();
        assert!(message.as_str().unwrap().contains("tools.0.input_schema"), "{message}");
    }
}

// Holds P3-17.
#[test]
fn the_form_that_is_wanted_is_asked_for_in_words_by_either_name() {
    let form = json!({"type": "json_schema", "schema": {"type": "integer"}});
    for (field, value) in [("output_config", json!({"format": form})), ("output_format", form)] {
        let mut body = asked(json!([{"role": "user", "content": "x"}]));
        body[field] = value;
        let request = chat(&body).unwrap().request;
        let last = request.messages.last().unwrap();
        assert!(last.role == Role::System && last.text.ends_with(r#"{"type":"integer"}"#), "{last:?}");
    }
    let mut effort = asked(json!([{"role": "user", "content": "x"}]));
    effort["output_config"] = json!({"effort": "low"});
    assert_eq!(chat(&effort).unwrap().request.messages.len(), 1);
}

#[test]
fn a_client_that_takes_one_call_at_most_is_given_the_first() {
    let mut body = asked(json!([{"role": "user", "content": "x"}]));
    body["tools"] = json!([{"name": "read", "input_schema": {}}]);
    body["tool_choice"] = json!({"type": "auto", "disable_parallel_tool_use": true});
    let mut writer = read(body.to_string().as_bytes()).unwrap().writer;
    let other = Call { id: CallId::from_bytes([8; 16]), ..call() };
    let told = whole(&mut writer, "", &[call(), other], Finish::ToolUse);
    assert_eq!(told["content"].as_array().unwrap().len(), 1, "{told}");
    assert_eq!(told["content"][0]["id"], format!("toolu_{}", "07".repeat(16)));
    assert!(writer.takes_one_call() && !self::writer().takes_one_call());
}

#[test]
fn a_whole_message_has_the_vendor_s_shape() {
    let body = whole(&mut writer(), "hello", &[call()], Finish::ToolUse);
    let id = format!("toolu_{}", "07".repeat(16));
    let expected = json!([{"type": "text", "text": "hello"},
        {"type": "tool_use", "id": id, "name": "read", "input": {"path": "a"}}]);
    assert_eq!((&body["type"], &body["content"]), (&json!("message"), &expected));
    assert_eq!(body["stop_reason"], "tool_use");
    let usage = json!({"input_tokens": 6, "output_tokens": 5, "cache_read_input_tokens": 3,
        "cache_creation_input_tokens": 2});
    assert_eq!(body["usage"], usage);
    let silent = whole(&mut writer(), "", &[], Finish::Stop);
    assert_eq!(silent["content"], json!([{"type": "text", "text": ""}]));
}

// Holds P3-19.
#[test]
fn a_stream_is_the_vendor_s_sequence_of_typed_events() {
    let events = stream(&mut writer(), &["he", "llo"], &[call()], Finish::ToolUse);
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_deref().unwrap()).collect();
    let expected = [
        "message_start",
        "ping",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ];
    assert_eq!(names, expected);
    assert!(events.iter().all(|(name, data)| data["type"] == json!(name)));
    let data = |at: usize| &events[at].1;
    assert_eq!(data(4)["delta"], json!({"type": "text_delta", "text": "llo"}));
    assert_eq!((&data(6)["index"], &data(6)["content_block"]["input"]), (&json!(1), &json!({})));
    assert_eq!(data(7)["delta"], json!({"type": "input_json_delta", "partial_json": "{\"path\":\"a\"}"}));
    assert_eq!(data(9)["delta"]["stop_reason"], "tool_use");
    let silent = stream(&mut writer(), &[], &[], Finish::Stop);
    assert!(silent.iter().any(|(name, _)| name.as_deref() == Some("content_block_start")));
}

// Holds P7-79.
#[test]
fn an_answer_that_ended_at_one_of_the_client_s_texts_says_at_which() {
    for (finish, reason, stop) in [
        (Finish::StoppedAt(0), "stop_sequence", json!("END")),
        (Finish::StoppedAt(1), "stop_sequence", json!("</a>")),
        (Finish::StoppedAt(2), "end_turn", Value::Null),
        (Finish::Stop, "end_turn", Value::Null),
        (Finish::MaxTokens, "max_tokens", Value::Null),
    ] {
        let body = whole(&mut writer(), "hello", &[], finish);
        assert_eq!((&body["stop_reason"], &body["stop_sequence"]), (&json!(reason), &stop));
        let events = stream(&mut writer(), &["hello"], &[], finish);
        let begun = &events[0].1["message"];
        assert_eq!((&begun["stop_reason"], &begun["stop_sequence"]), (&Value::Null, &Value::Null));
        let delta = &events[events.len() - 2].1["delta"];
        assert_eq!(delta, &json!({"stop_reason": reason, "stop_sequence": stop}));
    }
    let mut sent = asked(json!([{"role": "user", "content": "x"}]));
    sent["stop_sequences"] = json!(["x", "END"]);
    let mut writer = read(sent.to_string().as_bytes()).unwrap().writer;
    assert_eq!(whole(&mut writer, "hello", &[], Finish::StoppedAt(1))["stop_sequence"], "END");
}

#[test]
fn a_fault_in_a_stream_is_an_event_of_its_own() {
    let (mut writer, mut out) = (writer(), Vec::new());
    writer.fail(&Fault::new(Kind::Busy, "later"), &mut out);
    let [(name, data)] = &events(&out)[..] else { panic!() };
    assert_eq!((name.as_deref(), &data["error"]["type"]), (Some("error"), &json!("overloaded_error")));
}

proptest::proptest! {
    // Holds P3-20.
    #[test]
    fn any_body_is_a_request_or_refused_in_the_vendor_s_form(bytes: Vec<u8>, text in ".{0,80}") {
        let block = json!([{"role": "user", "content": [{"type": text, "text": text}]}]);
        for body in [bytes, asked(block).to_string().into()] {
            if let Err(fault) = body::decode::<Ask>(&body).and_then(Ask::chat) {
                proptest::prop_assert!(fault.json(Dialect::Anthropic, "")["error"]["message"].is_string());
            }
        }
    }
}
