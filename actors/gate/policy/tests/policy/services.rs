//! Calls of services: what reading and writing come to in each profile, and what a policy of the owner's can see.

use super::world::World;
use policy::Decision::{Allow, Ask, Deny};
use policy::Profile;
use serde_json::{Value, json};

fn call(method: &str, path: &str) -> Value {
    json!({"service": "mail", "method": method, "path": path})
}

#[test]
fn reading_a_service_runs_in_the_users_context_and_all_else_asks() {
    for profile in Profile::ALL {
        let world = World::new(profile);
        for method in ["GET", "HEAD"] {
            assert_eq!(world.decide("http_call", call(method, "/messages")), Allow, "{}", profile.name());
        }
        for method in ["POST", "PUT", "PATCH", "DELETE"] {
            let verdict = world.verdict("http_call", call(method, "/messages"));
            assert_eq!((verdict.decision, verdict.grantable), (Ask, false), "{method} {}", profile.name());
        }
    }
}

#[test]
fn what_strangers_wrote_reads_no_service_unasked() {
    for profile in Profile::ALL {
        let world = World::new(profile).untrusted();
        assert_eq!(world.decide("http_call", call("GET", "/messages/3")), Ask, "{}", profile.name());
    }
}

#[test]
fn a_policy_sees_the_service_the_verb_the_path_and_the_amount() {
    let seen = |condition: &str, args: Value| {
        let policy = format!(
            "@reason(\"mine\") forbid (principal, action, resource in Tool::\"http_call\") when {{ {condition} }};"
        );
        World::new(Profile::PowerUser).policy(&policy).decide("http_call", args) == Deny
    };
    let mail = "resource.kind == \"service\" && resource.value == \"mail\"";
    assert!(seen(mail, call("GET", "/messages")));
    assert!(!seen(mail, json!({"service": "other", "path": "/messages"})));
    let path = "context has path && context.path like \"/admin*\"";
    assert!(seen(path, call("GET", "/admin/x")) && !seen(path, call("GET", "/messages")));
    let method = "context has method && context.method == \"DELETE\"";
    assert!(seen(method, call("DELETE", "/x")) && !seen(method, call("GET", "/x")));
    let amount = "context has amount && context.amount > 1000";
    let pays = |amount: &str| json!({"service": "bank", "method": "POST", "path": "/pay", "body": {"to": "x", "amount": amount}});
    assert!(seen(amount, pays("10.01")) && !seen(amount, pays("9")));
}

#[test]
fn an_ambiguous_path_is_refused_even_if_a_person_approves() {
    for path in
        ["/messages/../admin", "/messages/%2e%2e/admin", "/messages/..%2fadmin", "/a;/..;/b", "messages"]
    {
        assert_eq!(World::new(Profile::PowerUser).decide("http_call", call("GET", path)), Deny, "{path}");
    }
}
