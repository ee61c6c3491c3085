//! The laws of chat completions, over requests and over events as several providers write them.

use crate::answer::CALLS;
use crate::testing::*;
use crate::text::PIECE;
use ipc_proto::config::{ProviderKind, ProviderModel};
use ipc_proto::model::{Choice, Finish, Message, ModelError, Piece, Role, Usage};
use ipc_proto::tool::{ALL_ARGS_BOUND, ARGS_BOUND, OUTPUT_BOUND};
use proptest::prelude::*;
use serde_json::{Value, json};

const OPENAI: ProviderKind = ProviderKind::Openai;

fn decode(data: &[&str]) -> Result<Vec<Piece>, ModelError> {
    events(OPENAI, data)
}

fn pieces(data: &[&str]) -> Vec<Piece> {
    without_usage(decode(data))
}

#[test]
fn a_conversation_with_calls_is_written_as_the_protocol_has_it() {
    let (ask, body) = asked(OPENAI, known(), &talk());
    assert_eq!(ask.http.url.as_str(), "https://host/v1/chat/completions");
    let shown = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}});
    let call = |id: &str, args: &str| json!({"id": id, "type": "function", "function": {"name": "bash", "arguments": args}});
    assert_eq!(
        body,
        json!({
            "model": "m/1", "stream": true, "stream_options": {"include_usage": true},
            "max_tokens": 400, "temperature": 0.7, "top_p": 0.9, "stop": ["END"],
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": [{"type": "text", "text": "What is it?"}, shown]},
                {"role": "assistant", "content": null, "tool_calls": [call(FIRST, "{\"command\":\"ls\"}"), call(SECOND, "{}")]},
                {"role": "tool", "content": "a.txt", "tool_call_id": FIRST},
                {"role": "tool", "content": "b.png", "tool_call_id": SECOND},
                {"role": "user", "content": [shown]},
                {"role": "assistant", "content": "An image."},
                {"role": "user", "content": "And this?"},
            ],
            "tools": [{"type": "function", "function":
                {"name": "bash", "description": "A tool.", "parameters": {"type": "object"}}}],
            "tool_choice": {"type": "function", "function": {"name": "bash"}},
        })
    );
}

#[test]
fn what_a_model_refuses_is_not_asked_of_it() {
    let plain = |known| asked(OPENAI, known, &talk()).1;
    let reasoning = plain(ProviderModel { sampling: false, forced: false, ..known() });
    for key in ["temperature", "top_p", "stop", "tool_choice"] {
        assert!(reasoning.get(key).is_none(), "{key}");
    }
    let without = plain(ProviderModel { tools: false, ..known() });
    assert!(without.get("tools").is_none() && without.get("tool_choice").is_none());
}

#[test]
fn each_choice_of_a_tool_has_its_word() {
    for (choice, word) in
        [(Choice::Auto, Value::Null), (Choice::Never, json!("none")), (Choice::Some, json!("required"))]
    {
        let mut request = talk();
        request.choice = choice;
        assert_eq!(asked(OPENAI, known(), &request).1["tool_choice"], word);
    }
}

#[test]
fn the_bound_of_output_is_the_models_under_the_right_name() {
    let mut request = request(vec![Message::text(Role::User, "x")]);
    request.max_output = 9000;
    for (base, key) in [
        ("https://api.openai.com/v1", "max_completion_tokens"),
        ("https://api.openai.com.evil/v1", "max_tokens"),
        ("http://127.0.0.1:11434/v1", "max_tokens"),
    ] {
        let ask = crate::ask(&provider(OPENAI, base), "m", known(), &request).unwrap();
        let body: Value = serde_json::from_slice(&ask.http.body).unwrap();
        assert_eq!(body[key], json!(500), "{base}");
        assert!(body.get("tools").is_none());
    }
}

#[test]
fn words_reasoning_tokens_and_the_end_are_told() {
    let data = [
        r#"{"id":"x","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#,
        r#"{"choices":[{"delta":{"reasoning_content":"hm"}}]}"#,
        r#"{"choices":[{"delta":{"content":"Hel"}}]}"#,
        r#"{"choices":[{"delta":{"content":[{"type":"text","text":"lo"}]}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":null}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":5}}}"#,
        "[DONE]",
    ];
    let usage = Usage { input: 7, output: 2, cache_read: 5, ..Usage::default() };
    let expected = [thought("hm"), text("Hel"), text("lo"), Piece::Usage(usage), Piece::Done(Finish::Stop)];
    assert_eq!(decode(&data).unwrap(), expected);
}

// Holds P7-79.
#[test]
fn the_stop_text_is_reported_where_a_server_names_it() {
    let (ask, _) = asked(OPENAI, known(), &talk());
    let ended = |choice: Value| {
        let mut reader = ask.reader();
        let event = json!({"choices": [choice]});
        reader.feed(format!("data: {event}\n\n").as_bytes()).unwrap();
        reader.end().unwrap().pop()
    };
    let choice = |more: Value| json!({"delta": {}, "finish_reason": "stop", "stop_reason": more});
    assert_eq!(ended(choice(json!("END"))), Some(Piece::Done(Finish::StoppedAt(0))));
    for other in [json!("other"), json!(128_009), Value::Null] {
        assert_eq!(ended(choice(other)), Some(Piece::Done(Finish::Stop)));
    }
    assert_eq!(ended(json!({"delta": {}, "finish_reason": "stop"})), Some(Piece::Done(Finish::Stop)));
    let other_name = |more: Value| json!({"delta": {}, "finish_reason": "stop", "matched_stop": more});
    assert_eq!(ended(other_name(json!("END"))), Some(Piece::Done(Finish::StoppedAt(0))));
    assert_eq!(ended(other_name(json!(128_009))), Some(Piece::Done(Finish::Stop)));
    let cut = json!({"delta": {}, "finish_reason": "length", "stop_reason": "END"});
    assert_eq!(ended(cut), Some(Piece::Done(Finish::MaxTokens)));
}

#[test]
fn tokens_are_estimated_where_the_provider_does_not_count() {
    let pieces = decode(&[r#"{"choices":[{"delta":{"content":"12345"},"finish_reason":"stop"}]}"#]).unwrap();
    assert!(pieces.contains(&Piece::Usage(Usage {
        input: 9,
        output: 2,
        estimated: true,
        ..Usage::default()
    })));
}

// Holds B-58.
#[test]
fn a_count_that_cannot_be_read_loses_no_answer_and_is_estimated() {
    for (count, output, estimated) in [
        (r#"{"prompt_tokens":null,"completion_tokens":3}"#, 3, true),
        (r#"{"prompt_tokens":-1,"completion_tokens":1.0}"#, 1, true),
        (r#"{"prompt_tokens":9,"completion_tokens":"3"}"#, 3, false),
        (r#"{"prompt_tokens":9,"completion_tokens":5000000000}"#, u32::MAX, false),
        (
            r#"{"prompt_tokens":9,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":-1}}"#,
            3,
            false,
        ),
    ] {
        let event = format!(
            r#"{{"choices":[{{"delta":{{"content":"12345"}},"finish_reason":"stop"}}],"usage":{count}}}"#
        );
        let usage = Usage { input: 9, output, estimated, ..Usage::default() };
        let expected = [text("12345"), Piece::Usage(usage), Piece::Done(Finish::Stop)];
        assert_eq!(decode(&[&event]).unwrap(), expected, "{count}");
    }
}

// Holds P9-01.
#[test]
fn half_of_a_character_is_a_mark_and_loses_no_answer() {
    let data = [
        r#"{"choices":[{"delta":{"content":"a\ud83d"}}]}"#,
        r#"{"choices":[{"delta":{"content":"\ude00b\ud83d\ude00"},"finish_reason":"stop"}]}"#,
    ];
    let expected = [text("a\u{fffd}"), text("\u{fffd}b😀"), Piece::Done(Finish::Stop)];
    assert_eq!(without_usage(decode(&data)), expected);
}

#[test]
fn the_one_call_of_an_older_server_is_a_call() {
    let data = [
        r#"{"choices":[{"delta":{"function_call":{"name":"x","arguments":"{\"a\":"}}}]}"#,
        r#"{"choices":[{"delta":{"function_call":{"arguments":"1}"}}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"function_call"}]}"#,
    ];
    let expected = [
        start(0, "x"),
        delta(0, "{\"a\":"),
        delta(0, "1}"),
        Piece::CallEnd { index: 0 },
        Piece::Done(Finish::ToolUse),
    ];
    assert_eq!(without_usage(decode(&data)), expected);
}

#[test]
fn an_older_field_that_is_filled_in_beside_calls_is_no_call_more() {
    for older in [r#"{"name":"","arguments":""}"#, r#"{"name":"x","arguments":"{}"}"#, "{}"] {
        let call = r#"{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}"#;
        let event = format!(
            r#"{{"choices":[{{"delta":{{"tool_calls":[{call}],"function_call":{older}}},"finish_reason":"tool_calls"}}]}}"#
        );
        let filler =
            format!(r#"{{"choices":[{{"delta":{{"content":"a","function_call":{}}}}}]}}"#, r#"{"name":""}"#);
        let expected = [
            text("a"),
            start(0, "x"),
            delta(0, "{}"),
            Piece::CallEnd { index: 0 },
            Piece::Done(Finish::ToolUse),
        ];
        assert_eq!(without_usage(decode(&[&filler, &event])), expected, "{older}");
    }
}

#[test]
fn calls_come_in_fragments_and_end_when_they_are_whole() {
    let data = [
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"read","arguments":""}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"x\"}"}},{"index":1,"id":"b","function":{"name":"bash"}}]}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
    ];
    let expected = [
        start(0, "read"),
        delta(0, r#"{"path":"#),
        delta(0, r#""x"}"#),
        start(1, "bash"),
        Piece::CallEnd { index: 0 },
        delta(1, "{}"),
        Piece::CallEnd { index: 1 },
        Piece::Done(Finish::ToolUse),
    ];
    assert_eq!(pieces(&data), expected);
}

#[test]
fn calls_are_told_apart_as_each_provider_numbers_them() {
    // Whole calls that all say index 0; calls without any index; arguments before the name, and as an object.
    let same = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}},{"index":0,"id":"b","function":{"name":"y","arguments":"{}"}}]},"finish_reason":"stop"}]}"#;
    let none = r#"{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"x","arguments":"{"}},{"function":{"arguments":"}"}},{"id":"b","function":{"arguments":{"k":1}}},{"id":"b","function":{"name":"y"}}]},"finish_reason":"tool_calls"}]}"#;
    let ends = [Piece::CallEnd { index: 0 }, Piece::CallEnd { index: 1 }, Piece::Done(Finish::ToolUse)];
    let mut first = vec![start(0, "x"), delta(0, "{}"), start(1, "y"), delta(1, "{}")];
    first.extend(ends.clone());
    assert_eq!(pieces(&[same]), first);
    let mut second = vec![start(0, "x"), delta(0, "{"), delta(0, "}"), start(1, "y"), delta(1, r#"{"k":1}"#)];
    second.extend(ends);
    assert_eq!(pieces(&[none]), second);
}

// Holds P9-01.
#[test]
fn a_call_on_part_of_its_arguments_never_ends() {
    let call = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{\"a"}}]}}]}"#;
    let ended = |reason: &str| format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":"{reason}"}}]}}"#);
    assert_eq!(decode(&[call, &ended("tool_calls")]), Err(ModelError::InvalidJson));
    assert_eq!(decode(&[call]), Err(ModelError::Truncated));
    let cut = pieces(&[call, &ended("length")]);
    assert_eq!(cut, [start(0, "x"), delta(0, "{\"a"), Piece::Done(Finish::MaxTokens)]);
    let array = call.replace(r#"{\"a"#, "[]");
    assert_eq!(decode(&[&array, "[DONE]"]), Err(ModelError::InvalidJson));
    let nameless = call.replace(r#""name":"x","#, "");
    assert_eq!(decode(&[&nameless, "[DONE]"]), Err(ModelError::InvalidJson));
}

#[test]
fn an_answer_that_breaks_off_is_truncated() {
    assert_eq!(decode(&[r#"{"choices":[{"delta":{"content":"a"}}]}"#]), Err(ModelError::Truncated));
    assert_eq!(decode(&[]), Err(ModelError::Truncated));
    assert!(decode(&["[DONE]"]).is_ok());
}

#[test]
fn what_is_not_the_protocol_is_an_error() {
    for event in [
        "{",
        "null",
        "3",
        "[]",
        "[[]]",
        r#"{"choices":3}"#,
        r#"{"choices":[{"delta":{"content":3}}]}"#,
        &"[".repeat(5000),
    ] {
        assert_eq!(decode(&[event]), Err(ModelError::InvalidJson), "{event}");
    }
}

// Holds B-92.
#[test]
fn every_bound_holds() {
    let half = format!(r#"{{"choices":[{{"delta":{{"content":"{}"}}}}]}}"#, "x".repeat(OUTPUT_BOUND / 2));
    let said = decode(&[&half, "[DONE]"]).unwrap();
    let length = |piece: &Piece| if let Piece::Text(text) = piece { text.len() } else { 0 };
    assert_eq!(said.iter().map(length).max(), Some(PIECE));
    assert_eq!(decode(&[&half, &half, &half, "[DONE]"]), Err(ModelError::Truncated));

    let call = |index: usize, name: &str, args: &str| {
        format!(
            r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":{index},"function":{{"name":"{name}","arguments":"{args}"}}}}]}}}}]}}"#
        )
    };
    let calls: Vec<String> = (0..=CALLS).map(|index| call(index, "x", "")).collect();
    let mut calls: Vec<&str> = calls.iter().map(String::as_str).collect();
    assert_eq!(decode(&calls), Err(ModelError::InvalidJson));
    calls[CALLS] = "[DONE]";
    assert!(decode(&calls).is_ok());
    assert_eq!(decode(&[&call(0, &"x".repeat(65), "")]), Err(ModelError::InvalidJson));
    assert_eq!(decode(&[&call(0, "x", &"y".repeat(ARGS_BOUND + 1))]), Err(ModelError::InvalidJson));
}

// Holds B-17.
#[test]
fn arguments_are_bounded_in_each_call_and_in_all_of_an_answer() {
    let call = |index: usize, bytes: usize| {
        let args = format!(r#"{{"a":"{}"}}"#, "y".repeat(bytes - 8));
        let call = json!({"index": index, "function": {"name": "x", "arguments": args}});
        json!({"choices": [{"delta": {"tool_calls": [call]}}]}).to_string()
    };
    let decoded = |calls: &[String]| {
        let data: Vec<&str> = calls.iter().map(String::as_str).chain(["[DONE]"]).collect();
        decode(&data)
            .map(|pieces| pieces.iter().filter(|piece| matches!(piece, Piece::CallEnd { .. })).count())
    };
    assert_eq!(decoded(&[call(0, ARGS_BOUND)]), Ok(1));
    assert_eq!(decoded(&[call(0, ARGS_BOUND + 1)]), Err(ModelError::InvalidJson));
    let full: Vec<String> = (0..ALL_ARGS_BOUND / ARGS_BOUND).map(|index| call(index, ARGS_BOUND)).collect();
    assert_eq!(decoded(&full), Ok(full.len()));
    let over = [full, vec![call(9, 8)]].concat();
    assert_eq!(decoded(&over), Err(ModelError::InvalidJson));
}

#[test]
fn an_error_inside_a_stream_is_the_providers() {
    let limited = decode(&[r#"{"error":{"message":"m","code":429}}"#]);
    assert_eq!(limited, Err(ModelError::RateLimited { retry_after_s: 60 }));
    let filtered = r#"{"choices":[{"delta":{},"finish_reason":"content_filter"}]}"#;
    assert_eq!(decode(&[filtered]), Err(ModelError::Rejected { status: 200 }));
    let inside = r#"{"choices":[{"delta":{},"finish_reason":"error","error":{"code":503}}]}"#;
    assert_eq!(decode(&[inside]), Err(ModelError::Server { status: 503 }));
}

// Holds P9-01.
#[test]
fn an_answer_reported_as_broken_is_never_whole() {
    let ended = |reason: &str| {
        decode(&[&format!(r#"{{"choices":[{{"delta":{{"content":"a"}},"finish_reason":"{reason}"}}]}}"#)])
    };
    for reason in ["error", "network_error", "insufficient_system_resource", "abort"] {
        assert_eq!(ended(reason), Err(ModelError::Truncated), "{reason}");
    }
    for (reason, finish) in
        [("model_length", Finish::MaxTokens), ("length", Finish::MaxTokens), ("eos", Finish::Stop)]
    {
        assert_eq!(ended(reason).unwrap().last(), Some(&Piece::Done(finish)), "{reason}");
    }
}

#[test]
fn a_whole_reply_is_read_like_a_stream_of_one() {
    let reply = r#"{"choices":[{"message":{"role":"assistant","content":"hi","tool_calls":[{"id":"a","type":"function","function":{"name":"x","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}"#;
    let pieces = read(OPENAI, &[reply.as_bytes()]).unwrap();
    assert_eq!(pieces[..3], [text("hi"), start(0, "x"), delta(0, "{}")]);
    assert_eq!(pieces.last(), Some(&Piece::Done(Finish::ToolUse)));
    let (ask, _) = asked(OPENAI, ProviderModel { sampling: false, ..known() }, &talk());
    let stopped = r#"{"choices":[{"message":{"content":"a END b","refusal":"c","tool_calls":[{"function":{"name":"x","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;
    let expected = [text("a "), Piece::Done(Finish::StoppedAt(0))];
    assert_eq!(without_usage(read_by(ask.reader(), &[stopped.as_bytes()])), expected);
    for broken in ["{", "[]", "{}", "{}x", r#"{"choices":[]}"#] {
        assert_eq!(read(OPENAI, &[broken.as_bytes()]), Err(ModelError::InvalidJson), "{broken}");
    }
}

proptest! {
    #[test]
    fn any_tree_that_looks_like_a_chunk_is_decoded_without_panic(
        index in prop::option::of(any::<u64>()),
        id in prop::option::of("[ab]"),
        name in prop::option::of("[a-z]{0,70}"),
        args in "\\PC{0,20}",
        reason in prop::option::of("(stop|length|tool_calls|x)"),
        repeat in 0usize..4,
    ) {
        let chunk = json!({"choices": [{
            "delta": {"content": args, "tool_calls": [{"index": index, "id": id, "function": {"name": name, "arguments": args}}]},
            "finish_reason": reason,
        }]});
        let text = chunk.to_string();
        if let Ok(pieces) = decode(&vec![text.as_str(); repeat]) {
            prop_assert!(matches!(pieces.last(), Some(Piece::Done(_))));
        }
    }
}
