//! From a search provider's JSON to hits. A provider is no more trusted than a page: what is not a list of titles and
//! addresses is refused, what does not fit is cut, and an address that is none is left out.

use crate::readable;
use ipc_proto::config::SearchProvider;
use ipc_proto::web::Found;
use ipc_proto::{List, Text};
use serde::Deserialize;

/// Brave's answer, as far as it is read. Without a hit there is no `web` in it.
#[derive(Deserialize)]
struct Brave {
    #[serde(default)]
    web: Results,
}

/// A list of hits, as Tavily and SearXNG answer it.
#[derive(Default, Deserialize)]
struct Results {
    results: Vec<Hit>,
}

/// One hit; each provider names its parts differently.
#[derive(Deserialize)]
struct Hit {
    title: String,
    url: String,
    #[serde(default, alias = "description")]
    content: Option<String>,
}

/// The first `max` hits of an answer; none where it is no answer of this provider.
pub(crate) fn read(provider: SearchProvider, answer: &[u8], max: u8) -> Option<List<Found, 20>> {
    let results = match provider {
        SearchProvider::None => None,
        SearchProvider::Brave => serde_json::from_slice::<Brave>(answer).ok().map(|answer| answer.web),
        SearchProvider::Tavily | SearchProvider::Searxng => serde_json::from_slice(answer).ok(),
    }?;
    let found = results.results.iter().filter_map(one).take(max.into()).collect::<Vec<_>>();
    List::new(found).ok()
}

fn one(hit: &Hit) -> Option<Found> {
    let url = address::parse(&hit.url).ok()?;
    Some(Found {
        title: plain_text(&hit.title),
        url: Text::new(url.to_string()).ok()?,
        snippet: plain_text(hit.content.as_deref().unwrap_or_default()),
    })
}

/// The text of a provider's HTML, in which the matching words are marked.
fn plain_text<const N: usize>(html: &str) -> Text<N> {
    let text = readable::text(html, None, N);
    let plain: String = text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
    Text::clip(&plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn brief(provider: SearchProvider, answer: &str) -> Option<Vec<(String, String, String)>> {
        let found = read(provider, answer.as_bytes(), 2)?;
        let one = |hit: &Found| (hit.title.to_string(), hit.url.to_string(), hit.snippet.to_string());
        Some(found.iter().map(one).collect())
    }

    #[test]
    fn each_providers_answer_is_read_and_cut_to_what_was_asked_for() {
        let hits = r#"[
            {"title":"One","url":"HTTPS://A.example.org/1#x","CONTENT":"a <strong>match</strong>"},
            {"title":"Bad","url":"javascript:alert(1)","CONTENT":""},
            {"title":"Two\u001b[1m","url":"http://b.example.org/","CONTENT":null,"more":[1]},
            {"title":"Three","url":"http://c.example.org/"}]"#;
        let want = vec![
            ("One".to_owned(), "https://a.example.org/1".to_owned(), "a match".to_owned()),
            ("Two [1m".to_owned(), "http://b.example.org/".to_owned(), String::new()),
        ];
        let cases = [
            (SearchProvider::Brave, "description", "{\"type\":\"search\",\"web\":{\"results\":HITS}}"),
            (SearchProvider::Tavily, "content", "{\"query\":\"q\",\"results\":HITS}"),
            (SearchProvider::Searxng, "content", "{\"results\":HITS,\"answers\":[]}"),
        ];
        for (provider, content, shape) in cases {
            let answer = shape.replace("HITS", &hits.replace("CONTENT", content));
            assert_eq!(brief(provider, &answer), Some(want.clone()), "{provider:?}");
        }
        assert_eq!(brief(SearchProvider::Brave, "{}"), Some(Vec::new()));
    }

    #[test]
    fn an_answer_of_another_shape_is_none() {
        let deep = format!("{{\"results\":{}", "[".repeat(100_000));
        for answer in [
            "",
            "[]",
            "{}",
            "{\"results\":{}}",
            "{\"results\":[1]}",
            "{\"results\":[{\"title\":\"x\"}]}",
            &deep,
        ] {
            assert_eq!(brief(SearchProvider::Tavily, answer), None);
        }
    }

    proptest! {
        #[test]
        fn any_title_and_snippet_are_cut_to_one_line_that_fits(title: String, content: String) {
            let answer = serde_json::json!({"results":[{"title":title,"url":"http://a.example.org/","content":content}]});
            let found = read(SearchProvider::Searxng, answer.to_string().as_bytes(), 20).unwrap();
            let hit = found.first().unwrap();
            prop_assert!(!hit.title.chars().chain(hit.snippet.chars()).any(char::is_control));
        }
    }
}
