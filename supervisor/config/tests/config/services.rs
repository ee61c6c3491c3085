//! Services: what gate, dialer and credproxy are told of them, and what is wrong with one.

use crate::common::check;
use ipc_proto::config::Service;
use ipc_proto::credproxy::{At, Placement, Verb};
use ipc_proto::{Name, Text};

fn refused(text: &str) -> String {
    check(text).map(|_| ()).unwrap_err()
}

#[test]
fn a_service_is_gates_its_host_dialers_and_its_secret_credproxys() {
    let plan = check(
        "[service.mail]\nbase_url = 'https://mail.example.com/api/'\nsecret = 'mail'\npaths = ['/messages']\n\
         agents = ['default', 'helper']\ndescription = 'Mail'\n[agent.helper]\ntools = ['read', 'http_call']\n",
    )
    .unwrap();
    let mail = Service {
        base_url: "https://mail.example.com/api".to_owned(),
        secret: Some(Placement::header("mail", "Authorization", "Bearer ")),
        oauth: false,
        verbs: vec![Verb::Get, Verb::Head],
        paths: vec!["/messages".to_owned()],
        agents: vec!["default".to_owned(), "helper".to_owned()],
        description: "Mail".to_owned(),
        idempotency_header: None,
        variable: None,
    };
    assert_eq!(plan.services.get("mail"), Some(&mail));
    assert_eq!(plan.outside.dialer.credproxy_hosts, ["mail.example.com:443"]);
    assert_eq!(plan.outside.proxy.gate_secrets, ["mail"]);
    let tools = |agent: &str| plan.router.agents[agent].tools.clone();
    assert_eq!(tools("helper"), ["read", "http_call"]);
    assert!(tools("default").contains(&"http_call".to_owned()));
    assert!(!tools("default").contains(&"oauth_call".to_owned()));
}

#[test]
fn a_secret_goes_where_it_is_said_and_by_itself_into_authorization() {
    let placed = |keys: &str| {
        let text = format!("[service.s]\nbase_url = 'https://a.b'\nsecret = 'k'\n{keys}");
        check(&text).unwrap().services["s"].secret.clone().unwrap().at
    };
    let header = |name: &str, prefix: &str| At::Header { name: Name::clip(name), prefix: Text::clip(prefix) };
    assert_eq!(placed(""), header("Authorization", "Bearer "));
    assert_eq!(placed("header = 'X-Api-Key'"), header("X-Api-Key", ""));
    assert_eq!(placed("prefix = 'Token '"), header("Authorization", "Token "));
    assert_eq!(placed("query = 'key'"), At::Query { name: Name::clip("key") });
    assert_eq!(placed("field = 'key'"), At::Field { name: Name::clip("key") });
    let text = "[service.s]\nbase_url = 'https://a.b/bot__cordon_secret__'\nsecret = 'k'";
    assert_eq!(check(text).unwrap().services["s"].secret.as_ref().unwrap().at, At::Segment);
}

#[test]
fn what_is_wrong_with_a_service_is_told_where_it_stands() {
    let base = "[service.s]\nbase_url = 'https://a.b'\nsecret = 'k'\n";
    for (text, says) in [
        ("[service.s]\nsecret = 'k'".to_owned(), "service.s.base_url"),
        (
            "[service.s]\nbase_url = 'http://127.0.0.1:8080'".to_owned(),
            "127.0.0.1:8080 is this machine, and `credproxy.plain_http` does not list it",
        ),
        ("[service.s]\nbase_url = 'http://a.b'".to_owned(), "would show the key to the network"),
        ("[service.s]\nbase_url = 'https://10.0.0.1'".to_owned(), "is a private address"),
        ("[service.s]\nbase_url = 'https://a.b'\noauth = true".to_owned(), "but no secret"),
        ("[service.s]\nbase_url = 'https://a.b/__cordon_secret__'".to_owned(), "but no secret"),
        (format!("{base}query = 'a'\nfield = 'b'"), "the secret has another place already"),
        (format!("{base}agents = ['helpr']\n[agent.helper]"), "nearest is helper"),
        (format!("{base}verbs = ['TRACE']"), "\"TRACE\" is unknown"),
        (format!("{base}paths = ['/../x']"), "a path of at most 256 bytes"),
        (format!("{base}[agent.default]\ntools = ['http_call']"), "http_call needs a `[service.NAME]`"),
        (format!("{base}[credproxy]\nprovider = 'none'"), "a service needs credproxy"),
    ] {
        let said = refused(&text);
        assert!(said.contains(says), "{text}\n{said}");
    }
}
