//! Logging in on a page: the model types a placeholder, and the secret takes its place outside of the jail, on the way to the one site
//! that it is bound to.

use crate::{agreed, approved, call, reference, shop};
use serde_json::json;
use tests::{ADDRESS, Host, Registry, Setup};

const PASSWORD: &str = "correct-horse-Wq7ZtVx2Kc9";
const PLACEHOLDER: &str = "__cordon_secret__";

/// A host whose agent `buyer` has a browser, and a service that holds the password of the shop.
fn host(shop: &Registry) -> Host {
    let at = format!("{ADDRESS}:{}", shop.plain);
    let config = format!(
        "[agent.buyer]\nmodel = \"offline/hijackable\"\nprofile = \"standard\"\nbrowser = true\n\
         [web]\nprivate_hosts = [\"{at}\", \"127.0.0.3:{0}\"]\n[egress]\nprivate_hosts = [\"{at}\", \"127.0.0.3:{0}\"]\n\
         [credproxy]\nplain_http = [\"{at}\"]\n\
         [service.shop]\nbase_url = \"http://{at}\"\nsecret = \"shop\"\nfield = \"password\"\nverbs = [\"POST\"]\n\
         paths = [\"/login\"]\nagents = [\"buyer\"]\nvariable = \"SHOP_PASSWORD\"\n",
        shop.plain
    );
    let host = Setup::default().config(&config).start();
    host.keep(
        "shop",
        PASSWORD,
        &["--host", &at, "--verb", "POST", "--path", "/login", "--field", "password"],
    );
    host
}

fn open(shop: &Registry, address: &str, path: &str) -> String {
    let url = format!("http://{address}:{}{path}", shop.plain);
    format!("echo: {} {}", call("navigate", &json!({ "url": url })), call("snapshot", &json!({})))
}

fn typing(page: &str, text: &str) -> String {
    format!("echo: {}", call("type", &json!({ "ref": reference(page, "Password"), "text": text })))
}

fn click(page: &str, button: &str) -> String {
    format!("echo: {}", call("click", &json!({ "ref": reference(page, button) })))
}

fn posted(shop: &Registry) -> Vec<String> {
    shop.asked().into_iter().filter(|line| line.starts_with("POST")).collect()
}

// Holds P4-47.
#[test]
fn a_typed_placeholder_logs_in_with_a_password_that_no_jail_has() {
    let shop = shop();
    let host = host(&shop);
    let page = agreed(&host, &open(&shop, ADDRESS, "/login"));
    let typed = agreed(&host, &typing(&page, PLACEHOLDER));
    assert!(typed.contains("Title: Login"), "{typed}\n{}", host.log());
    let done = approved(&host, &click(&page, "Log in"), &["Clicks button", "Log in"]);
    assert!(done.contains("Title: Welcome"), "{done}\n{:?}\n{}", shop.asked(), host.log());
    assert_eq!(posted(&shop), [format!("POST /login who=&password={PASSWORD}")]);
    let everything = format!("{typed} {done} {} {}", host.log(), host.json(&["net", "log"]));
    assert!(!everything.contains(PASSWORD), "{everything}");
    assert_eq!(host.recorded("secret_used").len(), 1);
}

// Holds P4-47.
#[test]
fn a_placeholder_typed_on_another_site_becomes_no_password() {
    let shop = shop();
    let host = host(&shop);
    let page = agreed(&host, &open(&shop, "127.0.0.3", "/phish"));
    let typed = agreed(&host, &typing(&page, PLACEHOLDER));
    assert!(typed.contains("the placeholder of a secret is typed alone"), "{typed}\n{}", host.log());
    let sent = approved(&host, &click(&page, "Log in"), &["127.0.0.3"]);
    assert!(!sent.contains("Thanks") && posted(&shop).is_empty(), "{sent}\n{:?}", shop.asked());
    assert!(host.recorded("secret_used").is_empty());
}

// Holds P4-47.
#[test]
fn a_page_that_plants_the_placeholder_gets_no_password_into_its_form() {
    let shop = shop();
    let host = host(&shop);
    let page = agreed(&host, &open(&shop, ADDRESS, "/trap"));
    let sent = approved(&host, &click(&page, "Search"), &["Search"]);
    assert!(!sent.contains("Welcome") && posted(&shop).is_empty(), "{sent}\n{:?}", shop.asked());
    let decided = host.recorded("network_decided");
    let refused = decided.iter().filter(|entry| entry["result"] == "blocked");
    assert_eq!(refused.count(), 1, "{decided:?}");
    assert!(host.recorded("secret_used").is_empty());
}
