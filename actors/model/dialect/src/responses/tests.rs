//! The laws of the responses API, over requests and events.

use crate::testing::*;
use ipc_proto::config::{ProviderKind, ProviderModel};
use ipc_proto::model::{Choice, Finish, ModelError, Piece, Usage};
use proptest::prelude::*;
use serde_json::{Value, json};

const RESPONSES: ProviderKind = ProviderKind::Responses;

fn decode(data: &[&str]) -> Result<Vec<Piece>, ModelError> {
    events(RESPONSES, data)
}

const COMPLETED: &str = r#"{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":7,"input_tokens_details":{"cached_tokens":5},"output_tokens":3}}}"#;

#[test]
fn a_conversation_with_calls_is_written_as_unstored_items() {
    let (ask, body) = asked(RESPONSES, known(), &talk());
    assert_eq!(ask.http.url.as_str(), "https://host/v1/responses");
    let shown = json!({"type": "input_image", "image_url": "data:image/png;base64,iVBORw=="});
    assert_eq!(
        body,
        json!({
            "model": "m/1", "stream": true, "store": false,
            "max_output_tokens": 400, "temperature": 0.7, "top_p": 0.9,
            "input": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": [{"type": "input_text", "text": "What is it?"}, shown]},
                {"type": "function_call", "call_id": FIRST, "name": "bash", "arguments": "{\"command\":\"ls\"}"},
                {"type": "function_call", "call_id": SECOND, "name": "bash", "arguments": "{}"},
                {"type": "function_call_output", "call_id": FIRST, "output": "a.txt"},
                {"type": "function_call_output", "call_id": SECOND, "output": "b.png"},
                {"role": "user", "content": [shown]},
                {"role": "assistant", "content": "An image."},
                {"role": "user", "content": "And this?"},
            ],
            "tools": [{"type": "function", "name": "bash", "description": "A tool.",
                "parameters": {"type": "object"}, "strict": false}],
            "tool_choice": {"type": "function", "name": "bash"},
        })
    );
}

#[test]
fn options_that_a_model_refuses_are_left_out_and_the_least_bound_is_kept() {
    let mut request = talk();
    (request.max_output, request.choice) = (3, Choice::Never);
    let (_, body) = asked(RESPONSES, ProviderModel { sampling: false, ..known() }, &request);
    assert!(body.get("temperature").is_none() && body.get("top_p").is_none());
    assert_eq!((&body["max_output_tokens"], &body["tool_choice"]), (&json!(16), &json!("none")));
}

#[test]
fn an_answer_ends_at_the_texts_that_the_provider_is_not_told_of() {
    let (ask, _) = asked(RESPONSES, known(), &talk());
    let mut reader = ask.reader();
    let said = |text: &str| {
        let event = json!({"type": "response.output_text.delta", "output_index": 0, "delta": text});
        format!("data: {event}\n\n")
    };
    reader.feed(said("before E").as_bytes()).unwrap();
    assert_eq!(reader.ready(), [text("before ")]);
    reader.feed(said("ND after").as_bytes()).unwrap();
    assert!(reader.is_last());
    assert_eq!(without_usage(reader.end()), [Piece::Done(Finish::StoppedAt(0))]);
}

#[test]
fn words_reasoning_calls_and_tokens_are_told() {
    let data = [
        r#"{"type":"response.created","response":{"status":"in_progress"}}"#,
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"r","summary":[]}}"#,
        r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"hm"}"#,
        r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"message","id":"m","content":[]}}"#,
        r#"{"type":"response.content_part.added","output_index":1,"content_index":0,"part":{"type":"output_text","text":""}}"#,
        r#"{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"Hel"}"#,
        r#"{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"lo"}"#,
        r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"message","content":[{"type":"output_text","text":"Hello"}]}}"#,
        r#"{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","call_id":"c","name":"read","arguments":""}}"#,
        r#"{"type":"response.function_call_arguments.delta","output_index":2,"delta":"{\"a\""}"#,
        r#"{"type":"response.function_call_arguments.delta","output_index":2,"delta":":1}"}"#,
        r#"{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","call_id":"c","name":"read","arguments":"{\"a\":1}"}}"#,
        COMPLETED,
    ];
    let usage = Usage { input: 7, output: 3, cache_read: 5, ..Usage::default() };
    let expected = [
        thought("hm"),
        text("Hel"),
        text("lo"),
        start(0, "read"),
        delta(0, "{\"a\""),
        delta(0, ":1}"),
        Piece::CallEnd { index: 0 },
        Piece::Usage(usage),
        Piece::Done(Finish::ToolUse),
    ];
    assert_eq!(decode(&data).unwrap(), expected);
}

#[test]
fn what_fragments_leave_out_is_taken_from_the_item_when_it_is_done() {
    let data = [
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"hi"}]}}"#,
        r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","name":"x","arguments":"{}"}}"#,
        COMPLETED,
    ];
    let expected = [
        text("hi"),
        start(0, "x"),
        delta(0, "{}"),
        Piece::CallEnd { index: 0 },
        Piece::Done(Finish::ToolUse),
    ];
    assert_eq!(without_usage(decode(&data)), expected);
}

// Holds P9-01.
#[test]
fn an_answer_in_the_last_event_is_read_once() {
    let last = r#"{"type":"response.completed","response":{"status":"completed","output":[
        {"type":"message","content":[{"type":"output_text","text":"hi"}]},
        {"type":"function_call","name":"x","arguments":"{}"}],"usage":{"input_tokens":7,"output_tokens":3}}}"#;
    let last = last.replace('\n', " ");
    let expected = [
        text("hi"),
        start(0, "x"),
        delta(0, "{}"),
        Piece::CallEnd { index: 0 },
        Piece::Usage(Usage { input: 7, output: 3, ..Usage::default() }),
        Piece::Done(Finish::ToolUse),
    ];
    assert_eq!(decode(&[&last]).unwrap(), expected);
    let said = r#"{"type":"response.output_text.delta","output_index":0,"delta":"hi"}"#;
    let counted = Piece::Usage(Usage { input: 7, output: 3, ..Usage::default() });
    assert_eq!(decode(&[said, &last]).unwrap(), [text("hi"), counted, Piece::Done(Finish::Stop)]);
}

#[test]
fn a_count_that_cannot_be_read_loses_no_answer() {
    let said = r#"{"type":"response.output_text.delta","output_index":0,"delta":"12345"}"#;
    let last = r#"{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":-1,"output_tokens":null}}}"#;
    let usage = Usage { input: 9, output: 2, estimated: true, ..Usage::default() };
    let expected = [text("12345"), Piece::Usage(usage), Piece::Done(Finish::Stop)];
    assert_eq!(decode(&[said, last]).unwrap(), expected);
}

#[test]
fn each_end_has_its_meaning() {
    let ended = |kind: &str, response: Value| {
        let event = json!({"type": kind, "response": response}).to_string();
        decode(&[&event]).map(|pieces| pieces.last().cloned())
    };
    let incomplete = |why: &str| json!({"status": "incomplete", "incomplete_details": {"reason": why}});
    let cases = [
        ("response.completed", json!({"status": "completed"}), Ok(Some(Piece::Done(Finish::Stop)))),
        ("response.incomplete", incomplete("max_output_tokens"), Ok(Some(Piece::Done(Finish::MaxTokens)))),
        ("response.incomplete", incomplete("content_filter"), Err(ModelError::Rejected { status: 200 })),
        (
            "response.failed",
            json!({"status": "failed", "error": {"code": "server_error", "message": "m"}}),
            Err(ModelError::Server { status: 500 }),
        ),
        (
            "response.failed",
            json!({"status": "failed", "error": {"code": "rate_limit_exceeded"}}),
            Err(ModelError::RateLimited { retry_after_s: 60 }),
        ),
        ("response.cancelled", json!({"status": "cancelled"}), Err(ModelError::Truncated)),
        ("response.completed", json!({}), Err(ModelError::InvalidJson)),
    ];
    for (kind, response, expected) in cases {
        assert_eq!(ended(kind, response.clone()), expected, "{kind} {response}");
    }
    let error = r#"{"type":"error","code":"context_length_exceeded","message":"m","sequence_number":1}"#;
    assert_eq!(decode(&[error]), Err(ModelError::TooLong { context: 8000 }));
}

#[test]
fn what_is_not_the_protocol_is_an_error_and_what_is_new_is_passed_over() {
    for event in [
        "{",
        "[]",
        r#"{"type":"response.completed"}"#,
        r#"{"type":"response.function_call_arguments.delta","output_index":4,"delta":"{}"}"#,
        r#"{"type":3}"#,
    ] {
        assert_eq!(decode(&[event]), Err(ModelError::InvalidJson), "{event}");
    }
    let new = r#"{"type":"response.something.new","delta":{"x":1},"item":{"type":"new"}}"#;
    assert_eq!(without_usage(decode(&[new, COMPLETED])), [Piece::Done(Finish::Stop)]);
}

#[test]
fn a_whole_reply_is_read_like_a_stream_of_one() {
    let reply = r#"{"object":"response","status":"completed","error":null,"output":[{"type":"reasoning"},{"type":"message","content":[{"type":"output_text","text":"hi"}]},{"type":"function_call","name":"x","arguments":"{}"}],"usage":{"input_tokens":1,"output_tokens":1}}"#;
    let expected = [
        text("hi"),
        start(0, "x"),
        delta(0, "{}"),
        Piece::CallEnd { index: 0 },
        Piece::Done(Finish::ToolUse),
    ];
    assert_eq!(without_usage(read(RESPONSES, &[reply.as_bytes()])), expected);
    let (ask, _) = asked(RESPONSES, known(), &talk());
    let stopped = r#"{"status":"completed","output":[{"type":"message","content":[{"text":"a END b"},{"text":"c"}]},{"type":"function_call","name":"x","arguments":"{}"},{"type":"message","content":[{"text":"d"}]}]}"#;
    let expected = [text("a "), Piece::Done(Finish::StoppedAt(0))];
    assert_eq!(without_usage(read_by(ask.reader(), &[stopped.as_bytes()])), expected);
    for broken in ["{", "[]", "{}", "{}x"] {
        assert_eq!(read(RESPONSES, &[broken.as_bytes()]), Err(ModelError::InvalidJson), "{broken}");
    }
    let told = read(RESPONSES, &[br#"{"error":{"code":"invalid_prompt"}}"#]);
    assert_eq!(told, Err(ModelError::Rejected { status: 400 }));
}

proptest! {
    #[test]
    fn any_events_are_decoded_without_panic(
        data in prop::collection::vec(
            ("(output_item.added|output_item.done|output_text.delta|function_call_arguments.delta|completed|x)",
             "(message|function_call|x)", 0u64..3, "[a-z{}]{0,6}"),
            0..6,
        )
    ) {
        let data: Vec<String> = data.into_iter().map(|(kind, item, index, text)| json!({
            "type": format!("response.{kind}"), "output_index": index, "delta": text,
            "item": {"type": item, "name": text, "arguments": text, "content": [{"text": text}]},
            "response": {"status": "completed"},
        }).to_string()).collect();
        if let Ok(pieces) = decode(&data.iter().map(String::as_str).collect::<Vec<_>>()) {
            prop_assert!(matches!(pieces.last(), Some(Piece::Done(_))));
        }
    }
}
