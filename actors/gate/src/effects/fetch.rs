//! Fetches and searches by web: only to addresses that policy permits for this very call. The results are strangers' text.

use crate::decision::verdict;
use crate::effects::outcome::{Effect, disconnected, failed};
use crate::state::context::GateContext;
use crate::turn::context::TurnContext;
use ipc_proto::credproxy::Header;
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::scanner::Crossing;
use ipc_proto::tool::{Outcome, ToolCall};
use ipc_proto::web::{self, FETCH_MS, Fetch, Found, Method, PAGE_BOUND, Page, Rule};
use ipc_proto::{Blob, Fault, List, Name, Text};
use policy::Decision;
use serde_json::{Map, Value};

/// Fetches one address. Policy is evaluated again for the address, and a call that it denies by now is not made.
pub(crate) async fn fetch(
    gate: &GateContext,
    context: &mut TurnContext,
    call: &ToolCall,
    args: &Map<String, Value>,
) -> Effect {
    let verdict = verdict::by_policy(gate, context, &call.tool, args, Class::Public);
    let (Some(url), Some(rule)) = (verdict.target, verdict.reach) else {
        return failed("policy names no address that this call may go to");
    };
    if verdict.decision == Decision::Deny {
        return failed("policy denies it by now");
    }
    let Some(fetch) = asked(gate, &call.tool, args, &url, rule) else {
        return failed("the headers or the body are out of their bounds");
    };
    let reads = matches!(fetch.method, Method::Get | Method::Head);
    let fetched = gate.web.call(&web::method::fetch, |web, rpc| {
        let fetch = fetch.clone();
        async move { web.fetch(rpc, fetch).await }
    });
    match fetched.await {
        Ok(Ok(page)) => from_stranger(show(&page), &host_of(&page.url)),
        Ok(Err(error)) => failed(&error.to_string()),
        Err(fault) => disconnected("web", fault, reads),
    }
}

/// Searches.
pub(crate) async fn search(gate: &GateContext, args: &Map<String, Value>) -> Effect {
    let (query, most) = (text(args, "query"), number(args, "maxResults", 10));
    let found = gate.web.call(&web::method::search, |web, rpc| {
        let (query, most) = (Text::clip(query), u8::try_from(most).unwrap_or(u8::MAX));
        async move { web.search(rpc, query, most).await }
    });
    match found.await {
        Ok(Ok(found)) => from_stranger(listed(&found), "search"),
        Ok(Err(error)) => failed(&error.to_string()),
        Err(fault) => disconnected("web", fault, true),
    }
}

/// The request to web, within the bounds of the call, of its tool, and of web.
fn asked(gate: &GateContext, tool: &str, args: &Map<String, Value>, url: &str, rule: Rule) -> Option<Fetch> {
    let execution = gate.catalogue().get(tool).map(|capability| capability.execution.clone())?;
    let page = u32::try_from(PAGE_BOUND).unwrap_or(u32::MAX);
    Some(Fetch {
        url: Text::new(url).ok()?,
        method: method(text(args, "method")),
        headers: headers(args)?,
        body: match text(args, "body") {
            "" => None,
            body => Some(Blob::new(body).ok()?),
        },
        max_bytes: execution.max_output_size.min(page),
        timeout_ms: number(args, "timeout", FETCH_MS).min(execution.timeout),
        rule,
        same_origin: false,
    })
}

fn headers(args: &Map<String, Value>) -> Option<List<Header, 16>> {
    let named = args.get("headers").and_then(Value::as_object);
    let headers: Option<Vec<Header>> = named
        .into_iter()
        .flatten()
        .map(|(name, value)| {
            Some(Header { name: Name::new(name).ok()?, value: Text::new(value.as_str()?).ok()? })
        })
        .collect();
    List::new(headers?).ok()
}

fn method(name: &str) -> Method {
    match name {
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "PATCH" => Method::Patch,
        "DELETE" => Method::Delete,
        _ => Method::Get,
    }
}

/// The outcome of a fetch that took longer than its tool may.
pub(crate) fn timed_out(args: &Value) -> Effect {
    let reads = matches!(
        method(args.get("method").and_then(Value::as_str).unwrap_or_default()),
        Method::Get | Method::Head
    );
    disconnected("web", Fault::Deadline, reads)
}

/// Output with the label of a stranger's text.
fn from_stranger(output: String, source: &str) -> Effect {
    let label = Label::of(Trust::Untrusted, Class::Public, &format!("web:{source}"));
    Effect {
        outcome: Outcome::Success,
        output,
        label: Some(label),
        crossing: Crossing::Web,
        source: Some(source.to_owned()),
    }
}

fn show(page: &Page) -> String {
    let cut = if page.cut { "\n[... more followed and was not read]" } else { "" };
    format!("{} {}\n{}\n\n{}{cut}", page.status, page.url, page.media_type, page.text)
}

fn listed(found: &[Found]) -> String {
    if found.is_empty() {
        return "nothing was found".to_owned();
    }
    let one = |(number, found): (usize, &Found)| {
        format!("{}. {}\n   {}\n   {}", number + 1, found.title, found.url, found.snippet)
    };
    found.iter().enumerate().map(one).collect::<Vec<_>>().join("\n")
}

/// The host of an address that web returned, for a label; `unknown` where the address does not parse.
fn host_of(url: &str) -> String {
    address::parse(url).map_or_else(|_| "unknown".to_owned(), |target| target.host.to_string())
}

fn text<'a>(args: &'a Map<String, Value>, key: &str) -> &'a str {
    args.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn number(args: &Map<String, Value>, key: &str, otherwise: u32) -> u32 {
    let given = args.get(key).and_then(Value::as_u64);
    given.and_then(|given| u32::try_from(given).ok()).unwrap_or(otherwise)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_web_goes_away_a_read_has_failed_and_a_sent_write_is_unknown() {
        for (fault, reads, outcome) in [
            (Fault::PeerRestarted, true, Outcome::Error),
            (Fault::PeerRestarted, false, Outcome::Unknown),
            (Fault::Deadline, false, Outcome::Unknown),
            (Fault::Unreachable, false, Outcome::Error),
        ] {
            assert_eq!(disconnected("web", fault, reads).outcome, outcome, "{fault:?} {reads}");
        }
    }

    // Holds P5-37.
    #[test]
    fn what_strangers_wrote_is_untrusted_and_named_after_its_host() {
        let effect = from_stranger("x".into(), &host_of("https://a.example:8443/path?q"));
        let label = effect.label.unwrap();
        assert_eq!(label.trust, Trust::Untrusted);
        assert!(label.sources.iter().any(|source| source.as_str() == "web:a.example"));
        assert_eq!((effect.crossing, effect.source.as_deref()), (Crossing::Web, Some("a.example")));
    }
}
