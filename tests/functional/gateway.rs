//! The API as a client sees it that knows HTTP and nothing else, through real processes. What official clients see is in
//! `tests/conformance`.

mod client;
mod fields;
mod images;
mod mcp;
mod paying;
mod ready;
mod relay;
mod revoked;
mod searching;
mod stops;

use client::{Way, send, until};
use reqwest::Method;
use serde_json::{Value, json};
use std::io::Write;
use std::time::Duration;
use tests::{Host, Setup, Upstream, free_port, get_over_tcp, text};

/// A host that listens on TCP too, and the way there with a key of its own.
fn on_tcp(config: &str, key: &[&str]) -> (Host, Way) {
    let port = free_port();
    let host =
        Setup::default().config(&format!("[gateway]\nlisten = \"127.0.0.1:{port}\"\n{config}")).start();
    let key = new_key(&host, "app", key);
    (host, Way::Tcp(port, key))
}

fn new_key(host: &Host, name: &str, more: &[&str]) -> String {
    text(&host.json(&[&["key", "create", name], more].concat()), "key")
}

fn said(text: &str) -> Value {
    json!([{"role": "user", "content": text}])
}

/// A script whose first reply asks for a tool and whose second quotes what came of it.
fn tool_script(host: &Host) {
    let first = json!({"pieces": [{"text": "I look. "}, {"call": {"tool": "read", "args": {"path": "a.txt"}}, "split": true}]});
    let second = json!({"pieces": [{"text": "It says "}, {"text": "hello"}]});
    host.script("tools", &[first, second]);
}

/// An engine that asks its model once, for a key of the API as for a person.
const ENGINE: &str = r#"
[agent.coder]
engine = "one"
model = "corp/small"
[engine.one]
command = ["/usr/bin/python3", "-c", """
import json, os, sys, urllib.request
asked = sys.stdin.read().splitlines()[-1]
body = {"model": os.environ["CORDON_MODEL"], "messages": [{"role": "user", "content": asked}]}
request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode())
print(json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"])
"""]
"#;

// Holds P1-33.
#[test]
fn an_agent_with_an_engine_is_served_like_any_other_and_its_key_pays() {
    let upstream = Upstream::answering("text/event-stream", |_| tests::answer("high water"));
    let at = format!("127.0.0.1:{}", upstream.port);
    let config = format!(
        "{ENGINE}[credproxy]\nplain_http = [\"{at}\"]\n[provider.corp]\nbase_url = \"http://{at}/v1\"\n\
         [provider.corp.models.small]\ninput_usd = 1\noutput_usd = 1\n"
    );
    let (host, way) = on_tcp(&config, &["--agent", "coder"]);
    let ask = json!({"model": "agent/coder", "messages": said("when is it?")});
    let answer = way.post("/v1/chat/completions", &ask).json();
    assert_eq!(
        answer["choices"][0]["message"]["content"].as_str().map(str::trim),
        Some("high water"),
        "{answer}\n{}",
        host.log()
    );
    assert_eq!(answer["usage"]["total_tokens"], 8, "{answer}");
    let usage = || host.json(&["model", "usage", "--by", "key"])["usage"].clone();
    host.wait_for("it is settled", || usage()[0]["cost_micros"] == 8);
}

// Holds P3-19.
#[test]
fn both_vendors_clients_speak_to_an_agent_whole_and_in_a_stream() {
    let host = Host::start();
    let way = Way::unix(&host);
    let chat = way.post(
        "/v1/chat/completions",
        &json!({"model": "agent/default", "messages": said("remember: the kettle is blue")}),
    );
    let message = &chat.json()["choices"][0]["message"];
    assert_eq!(message["role"], "assistant");
    assert!(!message["content"].as_str().unwrap().is_empty());
    assert!(chat.head.contains("x-request-id: req_"), "{}", chat.head);
    let stream = json!({"model": "agent/default", "stream": true, "messages": said("recall kettle")});
    let events = way.post("/v1/chat/completions", &stream).events();
    let spoken: String =
        events.iter().filter_map(|event| event["choices"][0]["delta"]["content"].as_str()).collect();
    assert!(spoken.contains("blue"), "{spoken}");
    assert_eq!(events.last().unwrap(), "[DONE]");
    let response =
        way.post("/v1/responses", &json!({"model": "agent/default", "input": "recall kettle"})).json();
    assert!(response["output"][0]["content"][0]["text"].as_str().unwrap().contains("blue"), "{response}");
    let ask = json!({"model": "agent/default", "max_tokens": 100, "messages": said("recall kettle")});
    let whole = way.post("/v1/messages?beta=true", &ask);
    assert!(whole.json()["content"][0]["text"].as_str().unwrap().contains("blue"), "{}", whole.body);
    assert!(whole.head.contains("request-id: req_"), "{}", whole.head);
    let stream = json!({"model": "agent/default", "max_tokens": 100, "stream": true, "messages": said("recall kettle")});
    let events = way.post("/v1/messages", &stream).events();
    let spoken: String = events.iter().filter_map(|event| event["delta"]["text"].as_str()).collect();
    assert!(spoken.contains("blue"), "{spoken}");
    assert_eq!(events.last().unwrap()["type"], "message_stop");
    assert_eq!(host.recorded("message_accepted").len(), 5, "each is a message like any other");
}

// Holds P3-19.
#[test]
fn a_model_is_passed_through_to_with_tools_both_ways_in_each_api() {
    let host = Host::start();
    tool_script(&host);
    let way = Way::unix(&host);
    let tool = json!({"name": "read", "description": "reads", "parameters": {"type": "object"}});
    let chat_tool = json!([{"type": "function", "function": tool}]);
    // Chat completions.
    let ask = json!({"model": "scripted/tools", "messages": said("read a.txt"), "tools": chat_tool});
    let reply = way.post("/v1/chat/completions", &ask).json();
    let choice = &reply["choices"][0];
    assert_eq!(
        (&choice["finish_reason"], &choice["message"]["content"]),
        (&json!("tool_calls"), &json!("I look. "))
    );
    let call = &choice["message"]["tool_calls"][0];
    assert_eq!(call["function"], json!({"name": "read", "arguments": "{\"path\":\"a.txt\"}"}));
    let again = json!({"model": "scripted/tools", "tools": chat_tool, "messages": [
        {"role": "user", "content": "read a.txt"}, choice["message"],
        {"role": "tool", "tool_call_id": call["id"], "content": "hello"}]});
    let reply = way.post("/v1/chat/completions", &again).json();
    assert_eq!(reply["choices"][0]["message"]["content"], "It says hello");
    assert!(reply["usage"]["prompt_tokens"].as_u64().unwrap() > 0, "{reply}");
    // Messages.
    let tools = json!([{"name": "read", "input_schema": {"type": "object"}}]);
    let ask =
        json!({"model": "scripted/tools", "max_tokens": 50, "messages": said("read a.txt"), "tools": tools});
    let reply = way.post("/v1/messages", &ask).json();
    assert_eq!(reply["stop_reason"], "tool_use");
    let used = &reply["content"][1];
    assert_eq!((&used["type"], &used["input"]), (&json!("tool_use"), &json!({"path": "a.txt"})));
    let again = json!({"model": "scripted/tools", "max_tokens": 50, "tools": tools, "messages": [
        {"role": "user", "content": "read a.txt"}, {"role": "assistant", "content": reply["content"]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": used["id"], "content": "hello"}]}]});
    assert_eq!(way.post("/v1/messages", &again).json()["content"][0]["text"], "It says hello");
    // Responses, as a stream.
    let tools = json!([{"type": "function", "name": "read", "parameters": {"type": "object"}}]);
    let ask = json!({"model": "scripted/tools", "stream": true, "input": "read a.txt", "tools": tools});
    let events = way.post("/v1/responses", &ask).events();
    let done = events.last().unwrap();
    assert_eq!(done["type"], "response.completed", "{done}");
    let call = &done["response"]["output"][1];
    assert_eq!(
        (&call["type"], &call["arguments"]),
        (&json!("function_call"), &json!("{\"path\":\"a.txt\"}"))
    );
    let again = json!({"model": "scripted/tools", "input": [{"role": "user", "content": "read a.txt"}, call,
        {"type": "function_call_output", "call_id": call["call_id"], "output": "hello"}]});
    let reply = way.post("/v1/responses", &again).json();
    assert_eq!(reply["output"][0]["content"][0]["text"], "It says hello");
    assert!(host.recorded("model_decided").len() >= 6, "each is decided on the record");
}

// Holds P3-16.
#[test]
fn a_key_reaches_what_its_scope_names_and_nothing_once_it_is_revoked() {
    let (host, way) = on_tcp("", &["--agent", "default", "--model", "offline/*"]);
    let Way::Tcp(port, key) = way.clone() else { panic!() };
    let wrong = Way::Tcp(port, "cdn_wrong".into());
    assert_eq!(wrong.get("/v1/models").document()["error"]["code"], "invalid_api_key");
    let anthropic = wrong.post("/v1/messages", &json!({}));
    assert_eq!(
        (anthropic.status, &anthropic.document()["error"]["type"]),
        (401, &json!("authentication_error"))
    );
    let listed = way.get("/v1/models").json();
    let names: Vec<&str> =
        listed["data"].as_array().unwrap().iter().filter_map(|it| it["id"].as_str()).collect();
    assert!(names.contains(&"agent/default") && names.contains(&"offline/reader"), "{names:?}");
    assert!(names.iter().all(|name| name.starts_with("agent/") || name.starts_with("offline/")), "{names:?}");
    assert_eq!(way.get("/v1/models/agent/default").json()["id"], "agent/default");
    assert_eq!(way.get("/v1/models/agent%2Fdefault").json()["object"], "model");
    let ask =
        |model: &str| way.post("/v1/chat/completions", &json!({"model": model, "messages": said("echo: x")}));
    assert_eq!(ask("offline/reader").status, 200);
    assert_eq!(ask("scripted/any").status, 403);
    let unknown = ask("offline/none");
    assert_eq!((unknown.status, &unknown.document()["error"]["code"]), (404, &json!("model_not_found")));
    assert!(unknown.body.contains("offline/reader"), "the valid names are said: {}", unknown.body);
    assert_eq!(ask("agent/none").status, 404);
    let again = || {
        let body = json!({"model": "offline/reader", "messages": said("echo: x")});
        way.post_with("/v1/chat/completions", "Idempotency-Key: k\r\n", &body).status
    };
    assert_eq!(again(), 200);
    assert_eq!(ask("offline/reader").status, 200);
    let _ = host.json(&["key", "revoke", "app"]);
    assert_eq!(ask("offline/reader").status, 401, "though gateway knew it a moment ago");
    assert_eq!(ask("agent/none").status, 401, "the names of its agents are not said any more");
    assert_eq!(again(), 401, "nor what was answered before");
    assert_eq!(way.get("/v1/models").status, 401, "at once, also where it would only be shown something");
    assert_eq!(ask("agent/default").status, 401);
    assert!(!host.log().contains(&key) && !host.log().contains("cdn_"), "no key is ever logged");
}

// Holds B-160.
#[test]
fn wrong_keys_are_told_to_wait_and_keep_no_right_key_out() {
    let (host, way) = on_tcp("", &[]);
    let Way::Tcp(port, _) = way.clone() else { panic!() };
    let asked = |key: &str| Way::Tcp(port, key.to_owned()).get("/v1/models").status;
    let served = || way.get("/v1/models").status;
    assert_eq!(served(), 200);
    for number in 0..20 {
        assert_eq!(asked(&format!("cdn_guess{number}")), 401);
    }
    let late = new_key(&host, "late", &[]);
    assert_eq!((asked("cdn_another"), asked(&late)), (429, 200), "a right key passes, served before or not");
    // Until what router said of it holds no longer.
    std::thread::sleep(Duration::from_millis(1100));
    assert_eq!(served(), 200);
}

// Holds B-160.
#[test]
fn half_sent_heads_keep_no_request_out() {
    let host = Host::start();
    let half = || {
        let mut stream = client::connect(&host);
        // Closed already, where others came after it.
        let _ = stream.write_all(b"GET /v1/models HTTP/1.1\r\nHost: x");
        stream
    };
    let held: Vec<_> = (0..100).map(|_| half()).collect();
    let begun = std::time::Instant::now();
    assert_eq!(Way::unix(&host).get("/v1/models").status, 200);
    assert!(begun.elapsed() < Duration::from_secs(5), "after {:?}", begun.elapsed());
    drop(held);
}

// Holds P3-15.
#[test]
fn over_tcp_only_this_host_s_names_and_configured_pages_are_served() {
    let (_host, way) = on_tcp("origins = [\"https://chat.lan\"]\n", &[]);
    let Way::Tcp(port, key) = &way else { panic!() };
    let asked = |host: &str, origin: &str| way.get_with("/v1/models", &format!("Host: {host}\r\n{origin}"));
    let own = format!("127.0.0.1:{port}");
    assert_eq!(asked(&own, "").status, 200);
    assert_eq!(asked(&format!("localhost:{port}"), "").status, 200);
    for foreign in ["evil.test", "127.0.0.1", "127.0.0.1:1", &format!("evil.test:{port}")] {
        assert_eq!(asked(foreign, "").status, 421, "{foreign}");
    }
    assert_eq!(asked(&own, "Origin: https://evil.test\r\n").status, 403);
    assert_eq!(asked(&own, "Origin: null\r\n").status, 403);
    let page = asked(&own, "Origin: https://chat.lan\r\n");
    assert_eq!(page.status, 200);
    assert!(page.head.contains("access-control-allow-origin: https://chat.lan"), "{}", page.head);
    // A key in an address is none.
    assert_eq!(get_over_tcp(*port, &format!("/v1/models?api_key={key}&key={key}"), None).0, 401);
}

// Holds B-149, B-152, P3-20.
#[test]
fn a_malformed_request_is_refused_in_the_apis_form_and_costs_only_itself() {
    let host = Setup::default().config("[gateway]\nmax_body = 65536\n").start();
    let way = Way::unix(&host);
    let raw = |body: &str| way.post_text("/v1/chat/completions", "", "application/json", body.to_owned());
    for (body, param) in [
        ("{", Value::Null),
        ("[]", Value::Null),
        ("{}", json!("model")),
        (r#"{"model":"a/b","messages":"x"}"#, json!("messages")),
        (
            r#"{"model":"a/b","messages":[{"role":"user","content":[{"type":"text","text":5}]}]}"#,
            json!("messages[0].content[0].text"),
        ),
    ] {
        let answer = raw(body);
        let error = answer.document()["error"].clone();
        assert_eq!(
            (answer.status, &error["type"], &error["param"]),
            (400, &json!("invalid_request_error"), &param),
            "{body}"
        );
    }
    assert_eq!(raw(&"x".repeat(65_537)).status, 413);
    // By hand: a library that is still sending when it is refused does not read why.
    let chunked = format!(
        "POST /v1/messages HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{}\r\n0\r\n\r\n",
        70_000,
        "y".repeat(70_000)
    );
    let (status, told) = send(&host, chunked.as_bytes());
    assert!(status == 413 && told.contains("\"type\":\"request_too_large\""), "{told}");
    let head = format!("GET /v1/models HTTP/1.1\r\nHost: x\r\nX-Long: {}\r\n\r\n", "z".repeat(70_000));
    assert_eq!(send(&host, head.as_bytes()).0, 431);
    assert_eq!(send(&host, b"\x16\x03\x01\x02\x00garbage\r\n\r\n").0, 400);
    assert_eq!(way.get("/v1/nothing").document()["error"]["code"], "unknown_url");
    assert_eq!(way.get("/v1/chat/completions").status, 405);
    assert_eq!(way.get("/healthz").body, "ok\n");
    assert_eq!(way.get("/readyz").status, 200);
}

// Holds P7-81, P7-82, P7-86.
#[test]
fn a_clients_conversations_are_sessions_and_a_repeated_message_is_one() {
    let (host, way) = on_tcp("", &[]);
    let ask = |headers: &str, text: &str| {
        way.post_with(
            "/v1/chat/completions",
            headers,
            &json!({"model": "agent/default", "messages": said(text)}),
        )
        .json()
    };
    let _ = ask("", "echo: one");
    let _ = ask("X-Session-Id: left\r\n", "echo: two");
    let first = ask("X-Session-Id: left\r\nIdempotency-Key: k-1\r\n", "echo: three");
    let second = ask("X-Session-Id: left\r\nIdempotency-Key: k-1\r\n", "echo: three");
    assert_eq!(first["id"], second["id"], "the same turn answers");
    let other = json!({"model": "agent/default", "messages": said("echo: four")});
    let other =
        way.post_with("/v1/chat/completions", "X-Session-Id: left\r\nIdempotency-Key: k-1\r\n", &other);
    assert_eq!((other.status, &other.document()["error"]["code"]), (400, &"idempotency_key_reused".into()));
    let sessions = host.json(&["session", "list"]);
    let names: Vec<String> =
        sessions["sessions"].as_array().unwrap().iter().map(|it| text(it, "name")).collect();
    for name in ["api:app:default", "api:app:default:left"] {
        assert!(names.iter().any(|found| found == name), "{names:?}");
    }
    assert_eq!(host.recorded("message_accepted").len(), 3);
    // A response's id leads back to its conversation.
    let response = way
        .post_with(
            "/v1/responses",
            "X-Session-Id: right\r\n",
            &json!({"model": "agent/default", "input": "echo: a"}),
        )
        .json();
    let next = json!({"model": "agent/default", "input": "echo: b", "previous_response_id": response["id"]});
    let _ = way.post("/v1/responses", &next).json();
    let shown = host.json(&["session", "show", "api:app:default:right"]);
    assert!(shown.to_string().contains("echo: b"), "{shown}");
    let unknown = json!({"model": "agent/default", "input": "x", "previous_response_id": "resp_none"});
    assert_eq!(
        way.post("/v1/responses", &unknown).document()["error"]["code"],
        "previous_response_not_found"
    );
}

// Holds P7-81.
#[test]
fn a_model_s_answer_that_an_idempotency_key_stands_for_is_not_asked_twice() {
    let host = Host::start();
    let way = Way::unix(&host);
    let body = json!({"model": "offline/reader", "messages": said("echo: x")});
    let ask = |key: &str, body: &Value| {
        way.post_with("/v1/chat/completions", &format!("Idempotency-Key: {key}\r\n"), body)
    };
    let first = ask("k", &body).json();
    assert_eq!(ask("k", &body).json()["id"], first["id"]);
    assert_ne!(ask("other", &body).json()["id"], first["id"]);
    let other = json!({"model": "offline/reader", "messages": said("echo: y")});
    assert_eq!(ask("k", &other).document()["error"]["code"], "idempotency_key_reused");
    assert_eq!(host.recorded("model_decided").len(), 2);
    // The same key and body by another route is another request, answered in that route's words.
    for path in ["/v1/chat/completions", "/v1/messages", "/v1/responses"] {
        let body = json!({"model": "offline/reader", "stream": true, "max_tokens": 9, "input": "echo: x",
            "messages": said("echo: x")});
        let ask = || way.post_with(path, "Idempotency-Key: routes\r\n", &body);
        let (first, again) = (ask(), ask());
        assert!(first.head.contains("text/event-stream") && again.head.contains("text/event-stream"));
        assert_eq!((first.events().len() > 1, &first.body), (true, &again.body), "{path}");
    }
    assert_eq!(host.recorded("model_decided").len(), 5);
}

// Holds P7-81.
#[test]
fn a_client_that_goes_away_ends_a_model_s_answer_and_no_agent_s_turn() {
    let host = Setup::default().config("[agent.slow]\nmodel = \"scripted/slow\"\n").start();
    let pieces = json!([{"text": "begun "}, {"delay_ms": 1500}, {"text": "ended"}]);
    host.script("slow", &[json!({ "pieces": pieces })]);
    let way = Way::unix(&host);
    let leave = |model: &str| {
        let body = json!({"model": model, "stream": true, "messages": said("go")});
        assert_eq!(way.begin("/v1/chat/completions", &body).status(), 200);
    };
    leave("agent/slow");
    host.wait_for("the turn is answered", || {
        let session = host.ask(&["session", "show", "api:peer:slow"]);
        session.to_string().contains("begun ended")
    });
    leave("scripted/slow");
    host.wait_for("the answer is ended on the record", || !host.recorded("model_ended").is_empty());
}

// Holds P3-19.
#[test]
fn faults_of_a_model_are_the_statuses_and_events_of_the_api() {
    let host = Setup::default().config("[agent.limited]\nmodel = \"scripted/limited\"\n").start();
    host.script("limited", &[json!({"pieces": [{"error": "rate_limited", "retry_after_s": 7}]})]);
    // More than the scanner holds back.
    let long = "One word after another. ".repeat(1000);
    let pieces = json!([{"text": long}, {"delay_ms": 300}, {"error": "truncated"}]);
    host.script("broken", &[json!({ "pieces": pieces })]);
    let way = Way::unix(&host);
    let ask = |path: &str, model: &str, streams: bool| {
        let body =
            json!({"model": model, "max_tokens": 9, "stream": streams, "messages": said("x"), "input": "x"});
        way.post(path, &body)
    };
    for streams in [false, true] {
        let limited = ask("/v1/chat/completions", "scripted/limited", streams);
        assert_eq!((limited.status, &limited.document()["error"]["type"]), (429, &json!("requests")));
        assert!(limited.head.contains("retry-after: 7"), "{}", limited.head);
        let limited = ask("/v1/messages", "scripted/limited", streams);
        assert_eq!((limited.status, &limited.document()["error"]["type"]), (429, &json!("rate_limit_error")));
    }
    let limited = ask("/v1/chat/completions", "agent/limited", false);
    assert_eq!((limited.status, &limited.document()["error"]["type"]), (429, &json!("requests")));
    assert!(limited.head.contains("retry-after: 7"), "behind an agent as well: {}", limited.head);
    assert_eq!(ask("/v1/chat/completions", "scripted/broken", false).status, 502);
    let chat = ask("/v1/chat/completions", "scripted/broken", true).events();
    assert!(chat.last().unwrap()["error"]["message"].is_string(), "{chat:?}");
    let messages = ask("/v1/messages", "scripted/broken", true).events();
    assert_eq!(messages.last().unwrap()["error"]["type"], "api_error", "{messages:?}");
    let responses = ask("/v1/responses", "scripted/broken", true).events();
    assert_eq!(responses.last().unwrap()["type"], "response.failed", "{responses:?}");
}

// Holds P7-92.
#[test]
fn a_gateway_that_is_killed_serves_again_on_the_same_listeners() {
    let (host, way) = on_tcp("", &[]);
    let unix = Way::unix(&host);
    host.kill_and_wait("gateway");
    for way in [&way, &unix] {
        let reply = way
            .post("/v1/chat/completions", &json!({"model": "agent/default", "messages": said("echo: on")}));
        assert_eq!(reply.json()["choices"][0]["message"]["content"], "on");
    }
    host.kill_and_wait("router");
    host.kill_and_wait("gate");
    let reply =
        way.post("/v1/chat/completions", &json!({"model": "agent/default", "messages": said("echo: still")}));
    assert_eq!(reply.json()["choices"][0]["message"]["content"], "still");
}

#[test]
fn embeddings_counts_and_counters_are_given() {
    let host = Host::start();
    let way = Way::unix(&host);
    let body = json!({"model": "offline/hash-384", "input": ["one text", "another"]});
    let vectors = way.post("/v1/embeddings", &body).json();
    assert_eq!(vectors["data"][1]["embedding"].as_array().unwrap().len(), 384);
    let body = json!({"model": "offline/hash-384", "input": "one text", "encoding_format": "base64"});
    assert!(way.post("/v1/embeddings", &body).json()["data"][0]["embedding"].is_string());
    let none = way.post("/v1/embeddings", &json!({"model": "offline/reader", "input": "one text"}));
    let told = none.document()["error"]["message"].as_str().unwrap().to_owned();
    assert!(none.status == 404 && told.ends_with("there are: offline/hash-384"), "{told}");
    let body = json!({"model": "offline/hash-384", "messages": [{"role": "user", "content": "hello"}]});
    let none = way.post("/v1/chat/completions", &body);
    let told = none.document()["error"]["message"].as_str().unwrap().to_owned();
    assert!(none.status == 404 && told.contains("offline/reader"), "{told}");
    assert_eq!(told.matches("hash-384").count(), 1, "what only makes vectors is not offered: {told}");
    let body = json!({"model": "offline/reader", "messages": said("how many tokens are these")});
    assert!(way.post("/v1/messages/count_tokens", &body).json()["input_tokens"].as_u64().unwrap() > 0);
    let metrics = way.get("/metrics");
    assert!(metrics.head.contains("text/plain; version=0.0.4"), "{}", metrics.head);
    for line in [
        "cordon_gateway_requests_total{route=\"/v1/embeddings\",status=\"200\"} 2",
        "cordon_process_up{process=\"router\"} 1",
    ] {
        assert!(metrics.body.lines().any(|found| found == line), "{line}\n{}", metrics.body);
    }
}

#[test]
fn named_events_are_streamed_as_they_happen() {
    let host = Host::start();
    let way = Way::unix(&host);
    let mut events = way.ask(Method::GET, "/v1/events").header("Last-Event-ID", "0").send().unwrap();
    let of_type = events.headers().get("content-type").unwrap().to_str().unwrap().to_owned();
    assert!(of_type.contains("text/event-stream"), "{of_type}");
    let _ = host.chat("s", "echo: x");
    let mut all = Vec::new();
    until(&mut events, "event: message.sent", &mut all);
    let told = String::from_utf8_lossy(&all).into_owned();
    for word in
        ["id: 1\n", "event: message.received\n", "event: message.processing\n", "\"name\":\"message.sent\""]
    {
        assert!(told.contains(word), "{word}: {told}");
    }
}
