//! A browser that is isolated by site.

use crate::{agreed, approved, call, reference, shop};
use serde_json::json;
use tests::{ADDRESS, Host, Registry, Setup};

/// A host whose agent `buyer` has a browser, with this line in its table.
fn host(shop: &Registry, line: &str) -> Host {
    let hosts = format!("private_hosts = [\"{ADDRESS}:{0}\", \"127.0.0.3:{0}\"]", shop.plain);
    Setup::default()
        .config(&format!(
            "[agent.buyer]\nmodel = \"offline/hijackable\"\nprofile = \"standard\"\nbrowser = true\n{line}\n\
             [web]\n{hosts}\n[egress]\n{hosts}\n"
        ))
        .start()
}

fn open(shop: &Registry, address: &str, path: &str) -> String {
    let url = format!("http://{address}:{}{path}", shop.plain);
    format!("echo: {} {}", call("navigate", &json!({ "url": url })), call("snapshot", &json!({})))
}

// Holds P1-65.
#[test]
fn a_link_to_another_site_ends_an_isolated_browser_before_it_is_loaded() {
    let shop = shop();
    for (line, shows) in [("browser_isolate = true", false), ("", true)] {
        let host = host(&shop, line);
        let page = agreed(&host, &open(&shop, ADDRESS, "/out"));
        let click = format!("echo: {}", call("click", &json!({ "ref": reference(&page, "Elsewhere") })));
        let led = approved(&host, &click, &["Elsewhere"]);
        assert_eq!(led.contains("Title: Terms"), shows, "{line}: {led}\n{}", host.log());
        assert_eq!(led.contains("shows one site a launch"), !shows, "{line}: {led}\n{}", host.log());
        assert_eq!(shop.asked().contains(&"GET /terms".to_owned()), shows, "{line}: {:?}", shop.asked());
        if !shows {
            host.wait_for("the browser is gone", || host.browsers().is_empty());
        }
    }
}

// Holds P1-65.
#[test]
fn another_address_launches_an_isolated_browser_anew() {
    let shop = shop();
    let host = host(&shop, "browser_isolate = true");
    agreed(&host, &open(&shop, ADDRESS, "/"));
    let first = host.browsers();
    agreed(&host, &open(&shop, ADDRESS, "/terms"));
    assert_eq!((first.len(), host.browsers()), (1, first.clone()), "one site, one browser");
    let page = agreed(&host, &open(&shop, "127.0.0.3", "/terms"));
    assert!(page.contains("Title: Terms"), "{page}\n{}", host.log());
    host.wait_for("another browser runs", || host.browsers().len() == 1 && host.browsers() != first);
}
