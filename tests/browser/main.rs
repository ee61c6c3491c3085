//! The browser of a session, in its jail, against a shop over TLS: what it does on a page is decided on before, and pages send nothing
//! by themselves. Needs Debian's package `chromium-headless-shell`.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::tests_outside_test_module,
    reason = "a test that cannot go on fails"
)]

mod logins;
mod sites;

use serde_json::{Value, json};
use tests::{ADDRESS, Host, Registry};

fn shop() -> Registry {
    Registry::of("browser/shop.py", ADDRESS, ADDRESS)
}

/// A host whose agent `buyer` has a browser and does whatever any text orders.
fn host(shop: &Registry) -> Host {
    shop.host(&format!(
        "[agent.buyer]\nmodel = \"offline/hijackable\"\nprofile = \"standard\"\nbrowser = true\n\
         [web]\nprivate_hosts = [\"{ADDRESS}:{}\"]\n",
        shop.port
    ))
}

fn call(tool: &str, args: &Value) -> String {
    format!("!!CALL browser_{tool} {args}!!")
}

fn open(shop: &Registry, path: &str) -> String {
    format!("echo: {} {}", call("navigate", &json!({ "url": shop.url(path) })), call("snapshot", &json!({})))
}

fn words(message: &str) -> [&str; 6] {
    ["--agent", "buyer", "--session", "s", "-m", message]
}

/// Sends a message that asks nobody, and gives the reply.
fn ask(host: &Host, message: &str) -> String {
    let ended = host.ask(&[&["chat"][..], &words(message)].concat());
    reply(&ended)
}

fn reply(ended: &Value) -> String {
    ended["reply"].as_str().unwrap_or_default().to_owned()
}

/// The reference of the element whose line holds this.
fn reference(snapshot: &str, what: &str) -> u64 {
    let line = snapshot.lines().find(|line| line.contains(what)).unwrap_or_else(|| panic!("{snapshot}"));
    line.split(['[', ']']).nth(1).unwrap().parse().unwrap()
}

/// Sends a message whose one call is approved; its question must hold all of this.
fn approved(host: &Host, message: &str, shown: &[&str]) -> String {
    let turn = host.say_with(&words(message));
    let id = host.question();
    let question = host.approval(&id).to_string();
    assert!(shown.iter().all(|shown| question.contains(shown)), "{question}");
    host.approve(&id);
    reply(&turn.ended())
}

/// Sends a message and approves whatever it asks; the reply.
fn agreed(host: &Host, message: &str) -> String {
    let turn = host.say_with(&words(message));
    std::thread::scope(|scope| {
        let ended = scope.spawn(|| turn.ended());
        while !ended.is_finished() {
            let waiting = host.ask(&["approvals", "list"]);
            for question in waiting.get("approvals").and_then(Value::as_array).into_iter().flatten() {
                host.approve(&tests::text(question, "id"));
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        reply(&ended.join().unwrap())
    })
}

// Holds P1-59.
#[test]
fn a_form_is_filled_in_and_sent_as_a_person_approves_each_act() {
    let shop = shop();
    let host = host(&shop);
    let page = ask(&host, &open(&shop, "/"));
    assert!(page.contains("Title: Shop") && page.contains("Buy now"), "{page}\n{}", host.log());
    let field = json!({ "ref": reference(&page, "Name"), "text": "Ada" });
    // The person named the site and the text.
    ask(&host, &format!("echo: {}", call("type", &field)));
    assert!(!shop.asked().iter().any(|line| line.starts_with("POST")), "{:?}", shop.asked());
    let button = json!({ "ref": reference(&page, "Buy now") });
    let shown = ["Clicks button", "Buy now", "https://127.0.0.2"];
    let done = approved(&host, &format!("echo: {}", call("click", &button)), &shown);
    assert!(done.contains("Title: Thanks"), "{done}\n{}", host.log());
    assert!(shop.asked().contains(&"POST /order who=Ada".to_owned()), "{:?}", shop.asked());
    let link = json!({ "ref": reference(&page, "Terms") });
    let stale = ask(&host, &format!("echo: {}", call("click", &link)));
    assert!(stale.contains("stale_ref"), "{stale}");
    let label = host.json(&["session", "show", "s"]).to_string();
    assert!(label.contains("browser:127.0.0.2") && label.contains("untrusted"), "{label}");
}

// Holds P1-59.
#[test]
fn an_order_on_a_page_buys_nothing_unasked() {
    let shop = shop();
    let host = host(&shop);
    let turn = host.say_with(&words(&open(&shop, "/planted")));
    let id = host.question();
    let question = host.approval(&id).to_string();
    assert!(question.contains("Clicks") && question.contains("Buy now"), "{question}");
    host.deny(&id);
    drop(turn.ended());
    assert!(!shop.asked().iter().any(|line| line.starts_with("POST")), "{:?}", shop.asked());
}

// Holds P1-59.
#[test]
fn a_model_cannot_word_the_question_about_a_page() {
    let shop = shop();
    let host = shop.host(&format!(
        "[agent.buyer]\nmodel = \"scripted/liar\"\nprofile = \"standard\"\nbrowser = true\n\
         [web]\nprivate_hosts = [\"{ADDRESS}:{}\"]\n",
        shop.port
    ));
    let lie = json!({ "ref": 2, "url": "https://bank.example/", "element": "link \"Help\"" });
    let calls = [
        tests::call("browser_navigate", &json!({ "url": shop.url("/") })),
        tests::call("browser_snapshot", &json!({})),
        tests::call("browser_click", &lie),
    ];
    let plan = ["browser_navigate", "browser_snapshot", "browser_click"];
    host.script("liar", &tests::planned(&plan, &calls));
    let turn = host.say_with(&words(&format!("look at {}", shop.url("/"))));
    let id = host.question();
    let question = host.approval(&id).to_string();
    assert!(question.contains("Clicks button") && question.contains("Buy now"), "{question}");
    assert!(!question.contains("bank.example") && !question.contains("Help"), "{question}");
    host.deny(&id);
    drop(turn.ended());
}

// Holds P1-59.
#[test]
fn an_approved_act_on_a_page_that_is_gone_is_not_done() {
    let shop = shop();
    let host = host(&shop);
    let page = ask(&host, &open(&shop, "/"));
    let click = |what: &str| call("click", &json!({ "ref": reference(&page, what) }));
    let turn = host.say_with(&words(&format!("echo: {} {}", click("Buy now"), click("Terms"))));
    for question in host.questions(2) {
        host.approve(&tests::text(&question, "id"));
    }
    let ended = turn.ended().to_string();
    assert!(ended.contains("stale_ref"), "{ended}\n{}", host.log());
    assert!(!shop.asked().iter().any(|line| line.contains("/terms")), "{:?}", shop.asked());
}

// Holds P1-60.
#[test]
fn a_page_sends_nothing_by_itself() {
    let shop = shop();
    let host = host(&shop);
    ask(&host, &format!("echo: {}", call("navigate", &json!({ "url": shop.url("/beacon") }))));
    let page = ask(&host, &format!("echo: {}", call("snapshot", &json!({}))));
    assert!(!shop.asked().iter().any(|line| line.starts_with("POST")), "{:?}", shop.asked());
    assert!(page.contains("status 403"), "{page}");
    let decided = host.recorded("network_decided");
    assert!(decided.iter().any(|entry| entry["result"] == "blocked"), "{decided:?}");
}

// Holds P1-61.
#[test]
fn a_killed_browser_leaves_a_click_unknown_and_the_next_page_opens() {
    let shop = shop();
    let host = host(&shop);
    let page = ask(&host, &open(&shop, "/stuck"));
    let button = json!({ "ref": reference(&page, "Buy now") });
    let turn = host.say_with(&words(&format!("echo: {}", call("click", &button))));
    host.approve(&host.question());
    host.wait_for("the shop is asked", || shop.asked().iter().any(|line| line.starts_with("POST /hang")));
    host.browsers().into_iter().for_each(tests::kill);
    let ended = turn.ended().to_string();
    assert!(ended.contains("unknown"), "{ended}\n{}", host.log());
    // The session has read more of strangers than of its person by now.
    let page = approved(&host, &open(&shop, "/terms"), &["Opens https://127.0.0.2"]);
    assert!(page.contains("Title: Terms"), "{page}\n{}", host.log());
}

// Holds P1-61.
#[test]
fn a_closed_browser_forgets_and_needs_an_address() {
    let shop = shop();
    let host = host(&shop);
    ask(&host, &open(&shop, "/terms"));
    assert_eq!(host.browsers().len(), 1);
    let closed = ask(&host, &format!("echo: {}", call("close", &json!({}))));
    assert!(closed.contains("the browser is closed"), "{closed}");
    host.wait_for("the jail is gone", || host.browsers().is_empty());
    let back = ask(&host, &format!("echo: {}", call("back", &json!({}))));
    assert!(back.contains("no page is open; call browser_navigate first"), "{back}");
}

// Holds P1-61.
#[test]
fn an_agent_without_a_browser_has_none_of_its_tools() {
    let shop = shop();
    let host = host(&shop);
    let message = format!("echo: {}", call("navigate", &json!({ "url": shop.url("/") })));
    let refused = host.chat("s", &message);
    assert!(shop.asked().is_empty() && host.browsers().is_empty(), "{refused}");
}
