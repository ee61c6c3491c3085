//! The decoder's laws, over events as several providers write them.

use super::*;
use proptest::prelude::*;

fn decode(events: &[&str]) -> Result<Vec<Piece>, ModelError> {
    let mut decoder = Decoder::default();
    for event in events {
        decoder.event(event)?;
    }
    decoder.end(9)
}

fn text(text: &str) -> Piece {
    Piece::Text(Text::clip(text))
}

fn start(index: u16, tool: &str) -> Piece {
    Piece::CallStart { index, tool: Name::clip(tool) }
}

fn delta(index: u16, args: &str) -> Piece {
    Piece::CallDelta { index, args: Text::clip(args) }
}

/// The pieces without the tokens.
fn pieces(events: &[&str]) -> Vec<Piece> {
    decode(events).unwrap().into_iter().filter(|piece| !matches!(piece, Piece::Usage(_))).collect()
}

#[test]
fn words_reasoning_tokens_and_the_end_are_told() {
    let events = [
        r#"{"id":"x","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#,
        r#"{"choices":[{"delta":{"reasoning_content":"hm"}}]}"#,
        r#"{"choices":[{"delta":{"content":"Hel"}}]}"#,
        r#"{"choices":[{"delta":{"content":[{"type":"text","text":"lo"}]}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":null}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":5}}}"#,
        "[DONE]",
    ];
    let usage = Usage { input: 7, output: 2, cache_read: 5, cache_write: 0 };
    let expected = [
        Piece::Reasoning(Text::clip("hm")),
        text("Hel"),
        text("lo"),
        Piece::Usage(usage),
        Piece::Done(Finish::Stop),
    ];
    assert_eq!(decode(&events).unwrap(), expected);
}

#[test]
fn tokens_are_estimated_where_the_provider_does_not_count() {
    let pieces = decode(&[r#"{"choices":[{"delta":{"content":"12345"},"finish_reason":"stop"}]}"#]).unwrap();
    assert!(pieces.contains(&Piece::Usage(Usage { input: 9, output: 2, cache_read: 0, cache_write: 0 })));
}

#[test]
fn calls_come_in_fragments_and_end_when_they_are_whole() {
    let events = [
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
    assert_eq!(pieces(&events), expected);
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

#[test]
fn every_bound_holds() {
    let mut decoder = Decoder::default();
    let text = format!(r#"{{"choices":[{{"delta":{{"content":"{}"}}}}]}}"#, "x".repeat(OUTPUT_BOUND / 2));
    decoder.event(&text).unwrap();
    let longest =
        decoder.ready().iter().map(|piece| if let Piece::Text(text) = piece { text.len() } else { 0 }).max();
    assert_eq!(longest, Some(PIECE));
    decoder.event(&text).unwrap();
    assert_eq!(decoder.event(&text), Err(ModelError::Truncated));

    let call = |index: usize, name: &str, args: &str| {
        format!(
            r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":{index},"function":{{"name":"{name}","arguments":"{args}"}}}}]}}}}]}}"#
        )
    };
    let mut decoder = Decoder::default();
    (0..CALLS).for_each(|index| decoder.event(&call(index, "x", "")).unwrap());
    assert_eq!(decoder.event(&call(CALLS, "x", "")), Err(ModelError::InvalidJson));
    assert_eq!(Decoder::default().event(&call(0, &"x".repeat(65), "")), Err(ModelError::InvalidJson));
    assert_eq!(
        Decoder::default().event(&call(0, "x", &"y".repeat(ARGS_BOUND + 1))),
        Err(ModelError::InvalidJson)
    );
}

#[test]
fn each_status_and_each_error_inside_a_stream_has_its_meaning() {
    for (status, expected) in [
        (200, None),
        (401, Some(ModelError::Auth)),
        (403, Some(ModelError::Auth)),
        (400, Some(ModelError::Rejected { status: 400 })),
        (404, Some(ModelError::Rejected { status: 404 })),
        (422, Some(ModelError::Rejected { status: 422 })),
        (302, Some(ModelError::Rejected { status: 302 })),
        (408, Some(ModelError::Timeout)),
        (429, Some(ModelError::RateLimited { retry_after_s: 60 })),
        (500, Some(ModelError::Server { status: 500 })),
        (529, Some(ModelError::Server { status: 529 })),
    ] {
        assert_eq!(refusal(status, None), expected, "{status}");
    }
    assert_eq!(refusal(429, Some(7)), Some(ModelError::RateLimited { retry_after_s: 7 }));
    for (error, expected) in [
        (r#"{"message":"m","code":429}"#, ModelError::RateLimited { retry_after_s: 60 }),
        (r#"{"code":"rate_limit_exceeded"}"#, ModelError::RateLimited { retry_after_s: 60 }),
        (r#"{"type":"authentication_error"}"#, ModelError::Auth),
        (r#"{"type":"invalid_request_error","code":null}"#, ModelError::Rejected { status: 400 }),
        (r#"{"code":"502"}"#, ModelError::Server { status: 502 }),
        (r#"{"type":"overloaded_error"}"#, ModelError::Server { status: 529 }),
        (r#""words""#, ModelError::Server { status: 500 }),
    ] {
        assert_eq!(decode(&[&format!(r#"{{"error":{error}}}"#)]), Err(expected), "{error}");
    }
    let filtered = r#"{"choices":[{"delta":{},"finish_reason":"content_filter"}]}"#;
    assert_eq!(decode(&[filtered]), Err(ModelError::Rejected { status: 200 }));
}

#[test]
fn a_whole_reply_is_read_like_a_stream_of_one() {
    let mut decoder = Decoder::default();
    let reply = r#"{"choices":[{"message":{"role":"assistant","content":"hi","tool_calls":[{"id":"a","type":"function","function":{"name":"x","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}"#;
    decoder.whole(reply).unwrap();
    let pieces = decoder.end(0).unwrap();
    assert_eq!(pieces[..3], [text("hi"), start(0, "x"), delta(0, "{}")]);
    assert_eq!(pieces.last(), Some(&Piece::Done(Finish::ToolUse)));
}

proptest! {
    #[test]
    fn any_text_is_decoded_without_panic(events in prop::collection::vec("\\PC{0,60}", 0..4)) {
        let events: Vec<&str> = events.iter().map(String::as_str).collect();
        let _ = decode(&events);
    }

    #[test]
    fn any_tree_that_looks_like_a_chunk_is_decoded_without_panic(
        index in prop::option::of(any::<u64>()),
        id in prop::option::of("[ab]"),
        name in prop::option::of("[a-z]{0,70}"),
        args in "\\PC{0,20}",
        reason in prop::option::of("(stop|length|tool_calls|x)"),
        repeat in 0usize..4,
    ) {
        let chunk = serde_json::json!({"choices": [{
            "delta": {"content": args, "tool_calls": [{"index": index, "id": id, "function": {"name": name, "arguments": args}}]},
            "finish_reason": reason,
        }]});
        let text = chunk.to_string();
        if let Ok(pieces) = decode(&vec![text.as_str(); repeat]) {
            prop_assert!(matches!(pieces.last(), Some(Piece::Done(_))));
        }
    }
}
