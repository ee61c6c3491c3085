//! The laws of Ollama's chat, over requests and lines.

use crate::testing::*;
use ipc_proto::Name;
use ipc_proto::config::{ProviderKind, ProviderModel};
use ipc_proto::model::{Choice, Finish, Message, ModelError, Piece, Role, Usage};
use proptest::prelude::*;
use serde_json::json;

const OLLAMA: ProviderKind = ProviderKind::Ollama;

fn decode(lines: &[&str]) -> Result<Vec<Piece>, ModelError> {
    let stream: String = lines.iter().map(|line| format!("{line}\n")).collect();
    read(OLLAMA, &[stream.as_bytes()])
}

const DONE: &str = r#"{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":7,"eval_count":3}"#;

#[test]
fn a_conversation_with_calls_is_written_as_the_server_has_it() {
    let (ask, body) = asked(OLLAMA, known(), &talk());
    assert_eq!(ask.http.url.as_str(), "https://host/v1/api/chat");
    let call = |args| json!({"function": {"name": "bash", "arguments": args}});
    assert_eq!(
        body,
        json!({
            "model": "m/1", "stream": true,
            "options": {"num_ctx": 8000, "num_predict": 400, "temperature": 0.7, "top_p": 0.9, "stop": ["END"]},
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "What is it?", "images": ["iVBORw=="]},
                {"role": "assistant", "content": "", "tool_calls": [call(json!({"command": "ls"})), call(json!({}))]},
                {"role": "tool", "content": "a.txt", "tool_name": "bash"},
                {"role": "tool", "content": "b.png", "tool_name": "bash"},
                {"role": "user", "content": "", "images": ["iVBORw=="]},
                {"role": "assistant", "content": "An image."},
                {"role": "user", "content": "And this?"},
            ],
            "tools": [{"type": "function", "function":
                {"name": "bash", "description": "A tool.", "parameters": {"type": "object"}}}],
        })
    );
}

#[test]
fn the_window_is_what_the_conversation_needs_and_the_model_has() {
    let window = |words: usize, known: ProviderModel| {
        let request = request(vec![Message::text(Role::User, &"word".repeat(words))]);
        asked(OLLAMA, known, &request).1["options"]["num_ctx"].clone()
    };
    let large = ProviderModel { context: 100_000, ..known() };
    assert_eq!(window(1, large), json!(4096));
    assert_eq!(window(4000, large), json!(8192));
    assert_eq!(window(70_000, large), json!(100_000));
    let request = request(vec![Message::text(Role::User, &"word".repeat(8001))]);
    let refused = crate::ask(&provider(OLLAMA, "http://h"), "m", known(), &request).unwrap_err();
    assert_eq!(refused, ModelError::TooLong { context: 8000 }, "the server would cut it in silence");
}

#[test]
fn the_choice_of_a_tool_is_made_by_what_is_offered() {
    let mut request = talk();
    request.choice = Choice::Never;
    assert!(asked(OLLAMA, known(), &request).1.get("tools").is_none());
    request.choice = Choice::This(Name::clip("other"));
    assert!(asked(OLLAMA, known(), &request).1.get("tools").is_none());
}

#[test]
fn words_thoughts_calls_and_tokens_are_told() {
    let lines = [
        r#"{"model":"m","message":{"role":"assistant","content":"","thinking":"hm"},"done":false}"#,
        r#"{"model":"m","message":{"role":"assistant","content":"Hello"},"done":false}"#,
        r#"{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"x","arguments":{"k":1}}},{"id":"2","function":{"index":1,"name":"y"}}]},"done":false}"#,
        DONE,
    ];
    let expected = [
        thought("hm"),
        text("Hello"),
        start(0, "x"),
        delta(0, r#"{"k":1}"#),
        start(1, "y"),
        delta(1, "{}"),
        Piece::CallEnd { index: 0 },
        Piece::CallEnd { index: 1 },
        Piece::Usage(Usage { input: 7, output: 3, ..Usage::default() }),
        Piece::Done(Finish::ToolUse),
    ];
    assert_eq!(decode(&lines).unwrap(), expected);
    let whole = r#"{"message":{"content":"hi"},"done":true,"done_reason":"length"}"#;
    assert_eq!(without_usage(decode(&[whole])), [text("hi"), Piece::Done(Finish::MaxTokens)]);
    assert_eq!(without_usage(read(OLLAMA, &[whole.as_bytes()])).len(), 2, "without its line end");
}

#[test]
fn what_is_counted_of_one_side_counts_and_the_other_side_is_estimated() {
    let ended = |counted: &str| {
        let line =
            format!(r#"{{"message":{{"content":"12345"}},"done":true,"done_reason":"stop",{counted}}}"#);
        decode(&[&line]).unwrap()
    };
    for (counted, input, output) in [
        (r#""eval_count":7"#, 9, 7),
        (r#""prompt_eval_count":30"#, 30, 2),
        (r#""prompt_eval_count":-1,"eval_count":7"#, 9, 7),
    ] {
        let usage = Usage { input, output, estimated: true, ..Usage::default() };
        assert_eq!(ended(counted)[1..], [Piece::Usage(usage), Piece::Done(Finish::Stop)], "{counted}");
    }
}

#[test]
fn an_error_ends_the_answer_and_an_end_that_is_missing_is_truncated() {
    let word = r#"{"message":{"content":"a"},"done":false}"#;
    for (lines, expected) in [
        (&[word, r#"{"error":"the model stopped"}"#][..], ModelError::Server { status: 500 }),
        (&[word], ModelError::Truncated),
        (&[], ModelError::Truncated),
        (&["<html>"], ModelError::InvalidJson),
        (&["[]"], ModelError::InvalidJson),
        (
            &[r#"{"message":{"tool_calls":[{"function":{"name":"x","arguments":"{}"}}]}}"#],
            ModelError::InvalidJson,
        ),
    ] {
        assert_eq!(decode(lines), Err(expected), "{lines:?}");
    }
    assert_eq!(read(OLLAMA, &[br#"{"message":{"cont"#]), Err(ModelError::Truncated));
}

proptest! {
    #[test]
    fn any_lines_are_decoded_without_panic(lines in prop::collection::vec("(\\{\"message\":\\{|\"content\":\"x\"|\\}|\\PC){0,12}", 0..4)) {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let _ = decode(&lines);
    }
}
