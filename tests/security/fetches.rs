//! Fetches: all that a fetch says is judged, its address, its method, its headers and its body.

use serde_json::{Value, json};
use tests::{Setup, Upstream, call, planned, text};

#[test]
fn headers_of_a_fetch_that_nobody_named_ask_and_are_shown() {
    let upstream = Upstream::start("ok");
    let config = format!(
        "[web]\nprivate_hosts = [\"127.0.0.1:{}\"]\n\
         [agent.default]\nmodel = \"scripted/it\"\nprofile = \"standard\"\n",
        upstream.port
    );
    let host = Setup::default().config(&config).start();
    let url = upstream.url("/page");
    let fetch = |more: Value| {
        let mut args = json!({ "url": url, "method": "GET" });
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        call("web_fetch", &args)
    };
    let routine = fetch(json!({ "headers": { "accept": "text/plain" } }));
    let live = fetch(json!({ "headers": { "if-none-match": "the-data-of-the-harbour" } }));
    let posted = fetch(json!({ "method": "POST", "body": "the-data-of-the-harbour" }));
    host.script(
        "it",
        &planned(&["bash", "web_fetch"], &[call("bash", &json!({ "command": "ls" })), routine, live, posted]),
    );
    let turn = host.say("s", &format!("look at the folder and open {url}"));
    for named in ["headers", "body"] {
        let id = host.question();
        let shown = host.approval(&id);
        assert!(text(&shown, "action").contains("the-data-of-the-harbour"), "{shown}");
        assert!(shown.to_string().contains(named), "{shown}");
        assert_eq!(upstream.heard().len(), 1, "what tells nothing was fetched unasked, and nothing else");
        host.deny(&id);
    }
    let ended = turn.ended();
    let verdicts: Vec<_> =
        ended["calls"].as_array().unwrap().iter().map(|call| text(call, "verdict")).collect();
    assert_eq!(verdicts, ["run", "run", "refused", "refused"], "{ended}");
    assert_eq!(upstream.heard().len(), 1);
}
