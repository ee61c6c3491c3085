//! Calls of services: which request is made of which arguments, and what becomes of those that are not answered.

use super::*;
use ipc_proto::credproxy::{Chunk, Placement, Reply};
use ipc_proto::ids::CallId;
use serde_json::json;

fn service(at: Option<At>) -> Service {
    Service {
        base_url: "https://mail.test/api".to_owned(),
        secret: at.map(|at| Placement { secret: Name::clip("mail"), at }),
        oauth: false,
        verbs: vec![Verb::Get, Verb::Post],
        paths: vec!["/messages".to_owned()],
        agents: vec!["default".to_owned()],
        description: "Mail".to_owned(),
        idempotency_header: Some("Idempotency-Key".to_owned()),
    }
}

fn header() -> At {
    Placement::header("mail", "Authorization", "Bearer ").at
}

fn args(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(args) => args,
        other => panic!("{other}"),
    }
}

fn made(service: &Service, value: Value) -> Result<Request, String> {
    built(service, &args(value), None)
}

#[test]
fn a_call_becomes_a_request_to_its_service_and_nowhere_else() {
    let call = ToolCall { id: CallId::random(), tool: Name::clip("http_call"), args: Text::default() };
    let given = args(json!({
        "service": "mail", "method": "POST", "path": "/messages/3", "query": {"@evil": "#", "q": "a b&c=d"},
        "body": {"text": "hi"},
    }));
    let request = built(&service(Some(header())), &given, Some(&call)).unwrap();
    assert_eq!(request.verb, Verb::Post);
    assert_eq!(request.url.as_str(), "https://mail.test/api/messages/3?%40evil=%23&q=a+b%26c%3Dd");
    assert_eq!(&*request.body, br#"{"text":"hi"}"#);
    assert_eq!(request.secret.unwrap().at, header());
    let headers: Vec<(&str, &str)> =
        request.headers.iter().map(|header| (header.name.as_str(), header.value.as_str())).collect();
    assert!(headers.contains(&("content-type", "application/json")));
    assert!(headers.contains(&("Idempotency-Key", call.id.to_string().as_str())));
}

#[test]
fn the_mark_of_the_secret_stands_where_it_goes_and_only_the_host_puts_it_there() {
    let (query, field) = (At::Query { name: Name::clip("key") }, At::Field { name: Name::clip("key") });
    let plain = json!({"service": "mail", "path": "/messages", "query": {"a": "1"}, "body": {"b": "2"}});
    let request = made(&service(Some(query.clone())), plain.clone()).unwrap();
    assert_eq!(request.url.as_str(), "https://mail.test/api/messages?a=1&key=__cordon_secret__");
    let request = made(&service(Some(field.clone())), plain.clone()).unwrap();
    assert_eq!(&*request.body, br#"{"b":"2","key":"__cordon_secret__"}"#);
    let request = made(&service(None), plain).unwrap();
    assert!(request.secret.is_none() && !request.url.contains(PLACEHOLDER));
    let mark = PLACEHOLDER;
    for (at, bad) in [
        (query, json!({"path": "/messages", "query": {"KEY": "mine"}})),
        (field, json!({"path": "/messages", "body": {"key": "mine"}})),
        (header(), json!({"path": format!("/messages/{mark}")})),
        (header(), json!({"path": "/messages", "query": {"a": mark}})),
        (header(), json!({"path": "/messages", "query": {mark: "a"}})),
        (header(), json!({"path": "/messages", "body": {"a": {"b": [mark]}}})),
    ] {
        assert!(made(&service(Some(at)), bad.clone()).is_err(), "{bad}");
    }
}

// Holds P4-15.
#[test]
fn what_the_service_is_not_for_is_refused_with_what_is_valid() {
    let service = service(Some(header()));
    for (bad, says) in [
        (json!({"path": "/messages", "method": "DELETE"}), "valid are GET, POST"),
        (json!({"path": "/contacts"}), "outside of those of the service: /messages"),
        (json!({"path": "/messagesx"}), "outside"),
        (json!({"path": "/messages/../contacts"}), "path: it begins"),
        (json!({"path": "/messages/%2e%2e/contacts"}), "path: it begins"),
        (json!({"path": "/messages/..%2fcontacts"}), "path: it begins"),
        (json!({"path": "/messages?x=1"}), "path: it begins"),
        (json!({"path": "messages"}), "path: it begins"),
        (json!({"path": "/messages/a b"}), "path: it begins"),
        (json!({"path": "/messages/\u{e9}"}), "path: it begins"),
        (json!({"path": ".evil.test/messages"}), "path: it begins"),
        (json!({"path": "@evil.test/messages"}), "path: it begins"),
        (json!({"path": format!("/messages/{}", "x".repeat(2048))}), "too long"),
    ] {
        let said = made(&service, bad.clone()).unwrap_err();
        assert!(said.contains(says), "{bad}: {said}");
    }
}

#[test]
fn what_may_have_taken_effect_is_unknown_and_what_only_read_or_was_never_sent_has_failed() {
    for (effect, outcome) in [
        (gone(Fault::PeerRestarted, true), Outcome::Error),
        (gone(Fault::PeerRestarted, false), Outcome::Unknown),
        (gone(Fault::Unreachable, false), Outcome::Error),
        (refused(CredError::Stalled, false), Outcome::Unknown),
        (refused(CredError::Upstream, false), Outcome::Unknown),
        (refused(CredError::Upstream, true), Outcome::Error),
        (refused(CredError::Compressed, false), Outcome::Unknown),
        (refused(CredError::NotBound, false), Outcome::Error),
        (late(&json!({"method": "POST"})), Outcome::Unknown),
        (late(&json!({})), Outcome::Error),
    ] {
        assert_eq!(effect.outcome, outcome);
    }
}

#[test]
fn what_a_service_says_is_untrusted_named_after_it_and_cut_at_the_bound() {
    let head = Head {
        reply: Reply(1),
        status: 200,
        retry_after: None,
        headers: List::clip([
            Header { name: Name::clip("content-type"), value: Text::clip("application/json") },
            Header { name: Name::clip("request-id"), value: Text::clip("1") },
        ]),
        first: Chunk::default(),
    };
    let body = Body { bytes: b"\xff{}".to_vec(), cut: true, broken: false };
    let effect = strangers(show(&head, &body), "mail");
    assert_eq!(
        effect.output,
        "200\ncontent-type: application/json\n\n\u{fffd}{}\n[... more followed and was not read]"
    );
    let label = effect.label.unwrap();
    assert_eq!(label.trust, Trust::Untrusted);
    assert_eq!(label.sources.first().map(Name::as_str), Some("service:mail"));
}
