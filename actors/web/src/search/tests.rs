//! Searches: the request to each provider, and the hits in its answer.

use super::*;
use crate::testing::{Lab, Server, html, redirect, reply, run};
use ipc_proto::config::WebSearch;

fn section(provider: SearchProvider, base_url: Option<&str>, secret: Option<&str>) -> WebSearch {
    WebSearch { provider, base_url: base_url.map(str::to_owned), secret: secret.map(str::to_owned) }
}

fn keyed(provider: SearchProvider) -> Lab {
    let server = Server::start(None, |_| html(""));
    Lab::new(&server, &[], &section(provider, None, Some("search-key")), "")
}

fn search(lab: &Lab, query: &str, max: u8) -> Result<usize, WebError> {
    run(lab.web.search(query, max)).map(|found| found.len())
}

// Holds P4-28.
#[test]
fn a_keyed_provider_is_asked_through_credproxy_by_the_secrets_name() {
    let answer = r#"{"results":[{"title":"T","url":"https://a.example.org/","content":"c"}],
        "web":{"results":[{"title":"T","url":"https://a.example.org/","description":"c"}]}}"#;
    let cases = [
        (
            SearchProvider::Brave,
            "https://api.search.brave.com/res/v1/web/search?q=two+w%C3%B6rds%26&count=3",
            "",
            Verb::Get,
        ),
        (
            SearchProvider::Tavily,
            "https://api.tavily.com/search",
            r#"{"query":"two wörds&","max_results":3}"#,
            Verb::Post,
        ),
    ];
    for (provider, url, body, verb) in cases {
        let lab = keyed(provider);
        lab.fake.answer.replace(Some((200, answer.to_owned())));
        assert_eq!(search(&lab, " two wörds& ", 3), Ok(1));
        let requests = lab.fake.requests.borrow();
        let request = requests.first().unwrap();
        assert_eq!((request.url.as_str(), &*request.body, request.verb), (url, body.as_bytes(), verb));
        assert_eq!(request.secret.as_ref().unwrap().secret.as_str(), "search-key");
        assert!(lab.dialled().is_empty());
    }
}

#[test]
fn a_provider_that_refuses_or_answers_something_else_is_an_error() {
    let lab = keyed(SearchProvider::Tavily);
    assert_eq!(search(&lab, "q", 1), Err(WebError::Credentials(CredError::NoSecret)));
    lab.fake.answer.replace(Some((401, "no".to_owned())));
    assert_eq!(search(&lab, "q", 1), Err(WebError::Provider(401)));
    lab.fake.answer.replace(Some((200, "<html>".to_owned())));
    assert_eq!(search(&lab, "q", 1), Err(WebError::Upstream));
    let server = Server::start(None, |_| html(""));
    let without = |section: &WebSearch| search(&Lab::new(&server, &[], section, ""), "q", 1);
    assert_eq!(without(&WebSearch::default()), Err(WebError::NoProvider));
    let keyless = section(SearchProvider::Brave, None, None);
    assert_eq!(without(&keyless), Err(WebError::Credentials(CredError::NoSecret)));
}

#[test]
fn an_instance_of_ones_own_is_fetched_from_its_host_and_from_no_other() {
    let server = Server::start(None, |path| match path {
        "/s/search?q=words&format=json" => {
            reply("200 OK", "", r#"{"results":[{"title":"T","url":"https://a.example.org/","content":"c"}]}"#)
        }
        _ => redirect(302, "http://b.example.org/"),
    });
    let section = section(SearchProvider::Searxng, Some("http://localhost:8888/s/"), None);
    let lab = Lab::new(&server, &["localhost:8888", "b.example.org:80"], &section, "");
    assert_eq!(search(&lab, "words", 20), Ok(1));
    assert_eq!(search(&lab, "other", 20), Err(crate::fetch::refused(address::Unfit::NotListed)));
    assert_eq!(lab.dialled(), ["localhost:8888", "localhost:8888"]);
    assert!(lab.fake.requests.borrow().is_empty());
}

// Holds B-98.
#[test]
fn a_query_has_1_to_500_characters_and_a_search_1_to_20_hits() {
    let lab = keyed(SearchProvider::Tavily);
    lab.fake.answer.replace(Some((200, r#"{"results":[]}"#.to_owned())));
    for query in ["", "  \n", &"x".repeat(501)] {
        assert_eq!(search(&lab, query, 1), Err(out_of_bounds("query")));
    }
    for max in [0, 21, 255] {
        assert_eq!(search(&lab, "q", max), Err(out_of_bounds("max")));
    }
    assert_eq!(search(&lab, &"\u{e9}".repeat(500), 20), Ok(0));
    let brave = keyed(SearchProvider::Brave);
    assert_eq!(search(&brave, &"\u{65e5}".repeat(500), 1), Err(out_of_bounds("query")));
}

#[test]
fn a_section_that_cannot_be_used_is_refused_at_the_start() {
    for section in [
        section(SearchProvider::Searxng, None, None),
        section(SearchProvider::Searxng, Some("not a url"), None),
        section(SearchProvider::Brave, Some("https://user@a.test/"), None),
        section(SearchProvider::Brave, None, Some(&"x".repeat(65))),
    ] {
        assert!(Search::new(&section).is_err(), "{section:?}");
    }
}
