//! The laws of the messages API, over requests and events.

use crate::testing::*;
use ipc_proto::config::{ProviderKind, ProviderModel};
use ipc_proto::model::{Choice, Finish, Message, ModelError, Piece, Request, Role, Usage};
use ipc_proto::{List, Text};
use proptest::prelude::*;
use serde_json::{Value, json};

const ANTHROPIC: ProviderKind = ProviderKind::Anthropic;

fn decode(data: &[&str]) -> Result<Vec<Piece>, ModelError> {
    events(ANTHROPIC, data)
}

const BEGIN: &str = r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"stop_reason":null,"usage":{"input_tokens":7,"cache_creation_input_tokens":2,"cache_read_input_tokens":5,"output_tokens":1}}}"#;
const STOP: &str = r#"{"type":"message_stop"}"#;

fn ended(reason: &str) -> String {
    json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 3}})
        .to_string()
}

#[test]
fn a_conversation_with_calls_is_written_as_turns_of_blocks() {
    let (ask, body) = asked(ANTHROPIC, known(), &talk());
    assert_eq!(ask.http.url.as_str(), "https://host/v1/messages");
    let shown =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}});
    let kept = json!({"type": "ephemeral"});
    assert_eq!(
        body,
        json!({
            "model": "m/1", "stream": true, "max_tokens": 400, "temperature": 0.7, "stop_sequences": ["END"],
            "system": [{"type": "text", "text": "Be brief.", "cache_control": kept}],
            "messages": [
                {"role": "user", "content": [shown, {"type": "text", "text": "What is it?"}]},
                {"role": "assistant", "content": [
                    {"type": "tool_use", "id": FIRST, "name": "bash", "input": {"command": "ls"}},
                    {"type": "tool_use", "id": SECOND, "name": "bash", "input": {}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": FIRST, "content": "a.txt"},
                    {"type": "tool_result", "tool_use_id": SECOND, "content": "b.png"},
                    shown,
                ]},
                {"role": "assistant", "content": [{"type": "text", "text": "An image."}]},
                {"role": "user", "content": [{"type": "text", "text": "And this?", "cache_control": kept}]},
            ],
            "tools": [{"name": "bash", "description": "A tool.", "input_schema": {"type": "object"}}],
            "tool_choice": {"type": "tool", "name": "bash"},
        })
    );
}

#[test]
fn the_key_goes_where_the_provider_looks_for_it_and_the_version_is_told() {
    let (ask, _) = asked(ANTHROPIC, known(), &talk());
    let placed = ipc_proto::credproxy::Placement::header("key", "x-api-key", "");
    assert_eq!(ask.http.secret, Some(placed));
    let version = ask.http.headers.iter().find(|header| header.name.as_str() == "anthropic-version");
    assert_eq!(version.unwrap().value.as_str(), "2023-06-01");
}

#[test]
fn what_the_provider_or_the_model_refuses_is_not_asked() {
    let mut request = talk();
    (request.temperature, request.choice) = (Some(1500), Choice::Some);
    let body = |known, request: &Request| asked(ANTHROPIC, known, request).1;
    let warm = body(known(), &request);
    assert_eq!((&warm["temperature"], &warm["tool_choice"]), (&json!(1.0), &json!({"type": "any"})));
    assert!(warm.get("top_p").is_none(), "of both it takes neither");
    request.temperature = None;
    assert_eq!(body(known(), &request)["top_p"], json!(0.9));
    let stern = body(ProviderModel { sampling: false, forced: false, ..known() }, &request);
    assert!(stern.get("top_p").is_none() && stern.get("tool_choice").is_none());
    assert_eq!(stern["stop_sequences"], json!(["END"]));
}

#[test]
fn blank_texts_are_left_out_and_neighbours_are_one_turn() {
    let said =
        [(Role::User, "a"), (Role::User, " "), (Role::User, "b"), (Role::Assistant, ""), (Role::User, "c")];
    let request = request(said.iter().map(|(role, text)| Message::text(*role, text)).collect());
    let (_, body) = asked(ANTHROPIC, known(), &request);
    let words = |text: &str| json!({"type": "text", "text": text});
    assert_eq!(body["messages"], json!([{"role": "user", "content": [words("a"), words("b"), words("c")]}]));
    assert!(body.get("system").is_none());
}

#[test]
fn words_thoughts_calls_and_tokens_are_told() {
    let end = ended("tool_use");
    let data = [
        BEGIN,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"abc"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"ping"}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hello"}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_1","name":"read","input":{}}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"a\": 1}"}}"#,
        r#"{"type":"content_block_stop","index":2}"#,
        r#"{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_2","name":"bare","input":{}}}"#,
        &end,
        STOP,
    ];
    let usage = Usage { input: 14, output: 3, cache_read: 5, cache_write: 2, ..Usage::default() };
    let block = block("hm", "abc", block_end("", false, false, 0));
    let rest = [
        text("Hello"),
        start(0, "read"),
        delta(0, "{\"a\": 1}"),
        start(1, "bare"),
        Piece::CallEnd { index: 0 },
        delta(1, "{}"),
        Piece::CallEnd { index: 1 },
        Piece::Usage(usage),
        Piece::Done(Finish::ToolUse),
    ];
    let expected: Vec<Piece> = [thought("hm")].into_iter().chain(block).chain(rest).collect();
    assert_eq!(decode(&data).unwrap(), expected);
}

// Holds P8-22.
#[test]
fn thoughts_keep_their_seal_and_are_written_back_unchanged() {
    let data = [
        BEGIN,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"opaque"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"Let me see."}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"a","name":"read","input":{}}}"#,
        r#"{"type":"content_block_stop","index":2}"#,
        r#"{"type":"content_block_start","index":3,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
        r#"{"type":"content_block_delta","index":3,"delta":{"type":"thinking_delta","thinking":"h"}}"#,
        r#"{"type":"content_block_delta","index":3,"delta":{"type":"thinking_delta","thinking":"m"}}"#,
        r#"{"type":"content_block_delta","index":3,"delta":{"type":"signature_delta","signature":"seal"}}"#,
        r#"{"type":"content_block_stop","index":3}"#,
        &ended("tool_use"),
        STOP,
    ];
    let stream: String = data.iter().map(|data| format!("data: {data}\n\n")).collect();
    let mut reader = crate::Reader::new(ANTHROPIC, 9, 8000).by("m/1");
    reader.feed(stream.as_bytes()).unwrap();
    let mut pieces = reader.ready();
    pieces.extend(reader.end().unwrap());
    let told: Vec<Piece> = pieces
        .into_iter()
        .filter(|piece| matches!(piece, Piece::Thought { .. } | Piece::ThoughtEnd { .. }))
        .collect();
    let hidden = block("", "opaque", block_end("m/1", true, false, 0));
    let later = block("hm", "seal", block_end("m/1", false, true, 1));
    assert_eq!(told, [hidden, later].concat());
    let mut request = talk();
    let mut messages = std::mem::take(&mut request.messages).into_vec();
    let thought = |by: &str, text: &str, seal: &str| ipc_proto::model::Thought {
        by: Text::clip(by),
        text: Text::clip(text),
        seal: Text::clip(seal),
        ..Default::default()
    };
    messages[2].text = Text::clip("Let me see.");
    messages[2].thoughts = List::clip([
        ipc_proto::model::Thought { hidden: true, ..thought("m/1", "", "opaque") },
        thought("", "known to be nobody's", "s"),
        thought("other", "another model's", "s"),
        ipc_proto::model::Thought { spoken: true, calls: 1, ..thought("m/1", "hm", "seal") },
        ipc_proto::model::Thought { spoken: true, calls: 2, ..thought("m/1", "at the end", "s") },
    ]);
    request.messages = List::clip(messages);
    let (_, body) = asked(ANTHROPIC, known(), &request);
    assert_eq!(
        body["messages"][1]["content"],
        json!([
            {"type": "redacted_thinking", "data": "opaque"},
            {"type": "thinking", "thinking": "known to be nobody's", "signature": "s"},
            {"type": "text", "text": "Let me see."},
            {"type": "tool_use", "id": FIRST, "name": "bash", "input": {"command": "ls"}},
            {"type": "thinking", "thinking": "hm", "signature": "seal"},
            {"type": "tool_use", "id": SECOND, "name": "bash", "input": {}},
        ])
    );
}

// Holds B-73.
#[test]
fn oversized_blocks_of_reasoning_are_dropped() {
    let stream = |seal: &str, blocks: u64| {
        let mut data = vec![BEGIN.to_owned()];
        for index in 0..blocks {
            let start = json!({"type": "thinking", "thinking": "x", "signature": seal});
            data.push(
                json!({"type": "content_block_start", "index": index, "content_block": start}).to_string(),
            );
            data.push(json!({"type": "content_block_stop", "index": index}).to_string());
        }
        data.extend([ended("end_turn"), STOP.to_owned()]);
        let told = decode(&data.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
        told.iter().filter(|piece| matches!(piece, Piece::ThoughtEnd { .. })).count()
    };
    use ipc_proto::model::{THOUGHT_BOUND, THOUGHTS};
    assert_eq!(stream("s", 20), THOUGHTS);
    assert_eq!(stream(&"s".repeat(THOUGHT_BOUND + 1), 1), 0);
    assert_eq!(stream(&"s".repeat(THOUGHT_BOUND), 3), 1, "half a megabyte of them, what they say included");
}

#[test]
fn how_much_a_model_is_to_think_is_said_in_the_provider_s_words() {
    use ipc_proto::model::Think;
    for (think, expected) in [
        (Think::ByItself, Value::Null),
        (Think::Never, json!({"type": "disabled"})),
        (Think::AsFit, json!({"type": "adaptive"})),
        (Think::Tokens(2048), json!({"type": "enabled", "budget_tokens": 2048})),
    ] {
        let (_, body) = asked(ANTHROPIC, known(), &Request { think, ..talk() });
        assert_eq!(body["thinking"], expected);
    }
}

// Holds B-58.
#[test]
fn what_the_provider_does_not_count_is_estimated_and_said_to_be() {
    let said = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"12345678"}}"#;
    let usage = |counted: Value| {
        let begin = json!({"type": "message_start", "message": {"usage": counted}}).to_string();
        let end = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": counted})
            .to_string();
        let pieces = decode(&[&begin, said, &end, STOP]).unwrap();
        pieces
            .into_iter()
            .find_map(|piece| if let Piece::Usage(usage) = piece { Some(usage) } else { None })
            .unwrap()
    };
    let of = |input, output, estimated| Usage { input, output, estimated, ..Usage::default() };
    assert_eq!(usage(json!({})), of(9, 2, true));
    assert_eq!(usage(json!({"input_tokens": 0, "output_tokens": 0})), of(9, 2, true));
    assert_eq!(usage(json!({"input_tokens": 4})), of(4, 2, true));
    assert_eq!(usage(json!({"input_tokens": 4, "output_tokens": 1})), of(4, 1, false));
}

#[test]
fn an_unreadable_count_loses_no_answer() {
    let data = [
        r#"{"type":"message_start","message":{"usage":{"input_tokens":20,"output_tokens":-1}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"12345"}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":null,"output_tokens":3.0}}"#,
        r#"{"type":"message_stop"}"#,
    ];
    let usage = Usage { input: 20, output: 3, ..Usage::default() };
    let expected = [text("12345"), Piece::Usage(usage), Piece::Done(Finish::Stop)];
    assert_eq!(decode(&data).unwrap(), expected);
}

#[test]
fn each_reason_has_its_meaning() {
    let finish = |reason: &str| decode(&[BEGIN, &ended(reason), STOP]).map(|pieces| pieces.last().cloned());
    for (reason, expected) in [
        ("end_turn", Ok(Some(Piece::Done(Finish::Stop)))),
        ("stop_sequence", Ok(Some(Piece::Done(Finish::Stop)))),
        ("max_tokens", Ok(Some(Piece::Done(Finish::MaxTokens)))),
        ("model_context_window_exceeded", Ok(Some(Piece::Done(Finish::MaxTokens)))),
        ("refusal", Err(ModelError::Rejected { status: 200 })),
    ] {
        assert_eq!(finish(reason), expected, "{reason}");
    }
    assert_eq!(decode(&[BEGIN]), Err(ModelError::Truncated));
}

// Holds P7-79.
#[test]
fn at_which_of_the_texts_an_answer_ended_is_told_in_a_stream_and_whole() {
    let request = Request { stop: List::clip([Text::clip("END"), Text::clip("</a>")]), ..talk() };
    let (ask, _) = asked(ANTHROPIC, known(), &request);
    let ended_at = |reason: &str, text: Value| {
        let end = json!({"stop_reason": reason, "stop_sequence": text});
        let said =
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a END b"}}"#;
        let delta = json!({"type": "message_delta", "delta": end}).to_string();
        let stream = [BEGIN, said, &delta, STOP].map(|data| format!("data: {data}\n\n")).concat();
        let content = json!([{"type": "text", "text": "a END b"}]);
        let whole =
            json!({"type": "message", "content": content, "stop_reason": reason, "stop_sequence": text});
        [stream, whole.to_string()].map(|body| {
            // Byte by byte, as a slow network gives it.
            let mut reader = ask.reader();
            let mut pieces = Vec::new();
            for byte in body.as_bytes() {
                reader.feed(&[*byte]).unwrap();
                pieces.extend(reader.ready());
            }
            pieces.extend(reader.end().unwrap());
            assert!(pieces.contains(&self::text("a END b")), "it is not looked for here: {pieces:?}");
            pieces.last().cloned().unwrap()
        })
    };
    let both = |finish| [Piece::Done(finish), Piece::Done(finish)];
    assert_eq!(ended_at("stop_sequence", json!("END")), both(Finish::StoppedAt(0)));
    assert_eq!(ended_at("stop_sequence", json!("</a>")), both(Finish::StoppedAt(1)));
    for unknown in [json!("other"), json!(""), Value::Null] {
        assert_eq!(ended_at("stop_sequence", unknown), both(Finish::Stop), "nobody asked for it");
    }
    assert_eq!(ended_at("end_turn", json!("END")), both(Finish::Stop));
    assert_eq!(ended_at("max_tokens", json!("END")), both(Finish::MaxTokens));
}

#[test]
fn an_error_inside_a_stream_is_the_providers() {
    for (kind, expected) in [
        ("overloaded_error", ModelError::RateLimited { retry_after_s: 30 }),
        ("rate_limit_error", ModelError::RateLimited { retry_after_s: 60 }),
        ("api_error", ModelError::Server { status: 500 }),
        ("authentication_error", ModelError::Auth),
        ("billing_error", ModelError::Rejected { status: 402 }),
        ("invalid_request_error", ModelError::Rejected { status: 400 }),
    ] {
        let error = json!({"type": "error", "error": {"type": kind, "message": "m"}}).to_string();
        assert_eq!(decode(&[BEGIN, &error]), Err(expected), "{kind}");
        assert_eq!(read(ANTHROPIC, &[error.as_bytes()]), Err(expected), "{kind}, as a whole reply");
    }
}

#[test]
fn what_is_not_the_protocol_is_an_error_and_what_is_new_is_passed_over() {
    for event in [
        "{",
        "[]",
        r#"{"type":"content_block_start","index":0}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#,
        r#"{"type":"content_block_delta","index":-1,"delta":{"type":"text_delta","text":"x"}}"#,
    ] {
        assert_eq!(decode(&[event]), Err(ModelError::InvalidJson), "{event}");
    }
    let end = ended("end_turn");
    let new = [
        BEGIN,
        r#"{"type":"something_new","delta":{"type":"x"}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","name":"search","input":{}}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"q\""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"new_delta","new":"x"}}"#,
        &end,
        STOP,
    ];
    assert_eq!(without_usage(decode(&new)), [Piece::Done(Finish::Stop)]);
}

#[test]
fn a_whole_reply_is_read_like_a_stream_of_one() {
    let reply = r#"{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"hi"},{"type":"tool_use","id":"t","name":"x","input":{"k":1}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}"#;
    let expected = [
        thought("hm"),
        Piece::Thought { seal: false, part: Text::clip("hm") },
        block_end("", false, false, 0),
        text("hi"),
        start(0, "x"),
        delta(0, "{\"k\":1}"),
        Piece::CallEnd { index: 0 },
        Piece::Done(Finish::ToolUse),
    ];
    assert_eq!(without_usage(read(ANTHROPIC, &[reply.as_bytes()])), expected);
    for broken in ["{", "[]", "{}", "{}x", r#"{"type":"completion"}"#] {
        assert_eq!(read(ANTHROPIC, &[broken.as_bytes()]), Err(ModelError::InvalidJson), "{broken}");
    }
}

#[test]
fn tokens_are_known_of_an_answer_that_breaks_off() {
    let mut reader = crate::Reader::new(ANTHROPIC, 9, 8000);
    assert_eq!(reader.spent(), None, "nothing came");
    reader.feed(format!("data: {BEGIN}\n\n").as_bytes()).unwrap();
    let said = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"12345678"}}"#;
    reader.feed(format!("data: {said}\n\n").as_bytes()).unwrap();
    assert_eq!(
        reader.spent(),
        Some(Usage {
            input: 14,
            output: 2,
            cache_read: 5,
            cache_write: 2,
            estimated: true,
            ..Usage::default()
        })
    );
}

proptest! {
    #[test]
    fn any_events_are_decoded_without_panic(
        data in prop::collection::vec(
            ("(message_start|content_block_start|content_block_delta|message_delta|message_stop|x)",
             "(text|tool_use|thinking|text_delta|input_json_delta|x)", 0u64..3, "[a-z{}]{0,6}"),
            0..6,
        )
    ) {
        let data: Vec<String> = data.into_iter().map(|(kind, what, index, text)| {
            let part: Value = json!({"type": what, "text": text, "partial_json": text, "name": text, "stop_reason": "end_turn"});
            json!({"type": kind, "index": index, "content_block": part, "delta": part}).to_string()
        }).collect();
        if let Ok(pieces) = decode(&data.iter().map(String::as_str).collect::<Vec<_>>()) {
            prop_assert!(matches!(pieces.last(), Some(Piece::Done(_))));
        }
    }
}
