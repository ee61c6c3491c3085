//! A field of a request that cannot be honoured is refused by name before any model is asked, in the words of its own API; one that
//! and can be done is not passed over.

use super::client::Way;
use super::{new_key, on_tcp, said};
use serde_json::{Value, json};
use tests::{Host, Setup};

const MODEL: &str = "offline/reader";

// Holds P3-17.
#[test]
fn an_impossible_field_is_refused_by_name_in_each_api_unasked() {
    let host = Host::start();
    let way = Way::unix(&host);
    let calls = json!([{"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}]);
    let result =
        json!([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "x"}]}]);
    let of = |field: &str, value: Value, rest: Value| {
        let mut body = json!({"model": MODEL});
        body.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        body[field] = value;
        body
    };
    let chat = || json!({"messages": said("x")});
    let second = || json!({"messages": said("x"), "max_tokens": 9});
    let answers = json!([{"role": "tool", "tool_call_id": "c", "content": "x"}]);
    let asks = json!([{"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": calls}]);
    for (path, body, param) in [
        ("/v1/chat/completions", of("messages", answers, json!({})), "messages[0]"),
        ("/v1/chat/completions", of("messages", asks, json!({})), "messages[1]"),
        ("/v1/chat/completions", of("tool_choice", json!("required"), chat()), "tool_choice"),
        ("/v1/chat/completions", of("functions", json!([{"name": "f"}]), chat()), "functions"),
        ("/v1/chat/completions", of("max_completion_tokens", json!(0), chat()), "max_completion_tokens"),
        ("/v1/responses", of("max_output_tokens", json!(0), json!({"input": "x"})), "max_output_tokens"),
        ("/v1/responses", of("metadata", json!("m"), json!({"input": "x"})), "metadata"),
        ("/v1/embeddings", of("encoding_format", json!("int8"), json!({"input": "x"})), "encoding_format"),
        ("/v1/messages", of("messages", result, second()), "messages.0.content.0"),
        (
            "/v1/messages",
            of("messages", json!([{"role": "user"}]), second()),
            "messages.0.content: Field required",
        ),
        ("/v1/messages", of("temperature", json!(1.5), second()), "temperature"),
        ("/v1/messages", of("stop_sequences", json!([""]), second()), "stop_sequences"),
        (
            "/v1/messages",
            of("output_config", json!({"format": {"type": "xml"}}), second()),
            "output_config.format",
        ),
    ] {
        let answer = way.post(path, &body);
        let error = &answer.document()["error"];
        assert_eq!(
            (answer.status, &error["type"]),
            (400, &json!("invalid_request_error")),
            "{body}: {error}"
        );
        let named = if path == "/v1/messages" { &error["message"] } else { &error["param"] };
        assert!(named.as_str().is_some_and(|named| named.starts_with(param)), "{body}: {error}");
    }
    let coded =
        way.post_with("/v1/chat/completions", "Content-Encoding: gzip\r\n", &of("n", json!(1), chat()));
    assert_eq!(
        (coded.status, &coded.document()["error"]["code"]),
        (415, &json!("unsupported_content_encoding"))
    );
    let unreadable = way.get("/v1/models/%ff");
    assert_eq!(
        (unreadable.status, &unreadable.document()["error"]["code"]),
        (404, &json!("model_not_found"))
    );
    assert!(host.recorded("model_decided").is_empty());
}

// Holds P3-17.
#[test]
fn a_client_that_takes_one_call_at_most_is_given_one_and_any_other_all() {
    let host = Setup::default().start();
    let call = |city: &str| json!({"call": {"tool": "look", "args": {"city": city}}});
    host.script("pair", &[json!({"pieces": [call("Oslo"), call("Rome")]})]);
    let way = Way::unix(&host);
    let schema = json!({"type": "object"});
    let given = |alone: bool, stream: bool| -> [usize; 3] {
        let chat = json!({"model": "scripted/pair", "messages": said("x"), "parallel_tool_calls": !alone, "stream": stream,
            "tools": [{"type": "function", "function": {"name": "look", "parameters": schema}}]});
        let responses = json!({"model": "scripted/pair", "input": "x", "parallel_tool_calls": !alone, "stream": stream,
            "tools": [{"type": "function", "name": "look", "parameters": schema}]});
        let messages = json!({"model": "scripted/pair", "messages": said("x"), "max_tokens": 99, "stream": stream,
            "tools": [{"name": "look", "input_schema": schema}],
            "tool_choice": {"type": "auto", "disable_parallel_tool_use": alone}});
        [("/v1/chat/completions", chat), ("/v1/responses", responses), ("/v1/messages", messages)].map(
            |(path, body)| {
                let answer = way.post(path, &body);
                assert_eq!(answer.status, 200, "{}", answer.body);
                ["Oslo", "Rome"].iter().filter(|city| answer.body.contains(**city)).count()
            },
        )
    };
    for stream in [false, true] {
        assert_eq!((given(true, stream), given(false, stream)), ([1; 3], [2; 3]), "stream: {stream}");
    }
}

// Holds P3-18.
#[test]
fn tokens_are_counted_for_the_agents_of_a_key_and_for_no_other() {
    let (host, way) = on_tcp("[agent.other]\n", &[]);
    let Way::Tcp(port, _) = way else { panic!() };
    let bound = Way::Tcp(port, new_key(&host, "bound", &["--agent", "default"]));
    let count = |model: &str| {
        let answer =
            bound.post("/v1/messages/count_tokens", &json!({"model": model, "messages": said("hello")}));
        (answer.status, answer.document())
    };
    assert_eq!(count("agent/default").0, 200);
    for model in ["agent/other", "agent/nobody"] {
        let (status, told) = count(model);
        assert_eq!((status, &told["error"]["type"]), (404, &json!("not_found_error")));
        assert!(told.to_string().contains("agent/default"), "{told}");
    }
}
