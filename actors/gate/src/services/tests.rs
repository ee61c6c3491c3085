//! The request that a call of a service becomes.

use super::*;
use ipc_proto::credproxy::Placement;
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
        variable: None,
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
fn only_the_host_places_the_mark_of_the_secret() {
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
