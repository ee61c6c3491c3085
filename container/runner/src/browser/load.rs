//! Going to another page, and waiting until what a command began has settled.

use super::protocol::{CallFault, Client};
use super::tab::Tab;
use ipc_proto::Text;
use ipc_proto::browser::{ADDRESS, BrowserError, NAVIGATION_SECONDS, Note};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// The time of a navigation.
const NAVIGATION: Duration = Duration::from_secs(NAVIGATION_SECONDS as u64);
/// How long pictures and scripts of a document that is there may still load.
const REST: Duration = Duration::from_secs(5);
/// How long after a click or key a navigation of it may begin.
const BEGINS: Duration = Duration::from_millis(80);
/// How long after an end of loading that brought no document its reason may come, such as a download.
const LATE: Duration = Duration::from_millis(50);
/// The time of a call to the shell's own process.
const TIME: Duration = Duration::from_secs(5);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Navigated {
    error_text: Option<String>,
    loader_id: Option<String>,
    #[serde(default)]
    is_download: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct History {
    current_index: usize,
    entries: Vec<Entry>,
}

/// A page that was or is shown.
#[derive(Default, Deserialize)]
pub(super) struct Entry {
    id: i64,
    pub(super) url: String,
    pub(super) title: String,
}

/// Returns whether a command may name this address: `http` or `https`, a host, no user, no control character.
pub(super) fn is_address(url: &str) -> bool {
    let lower = url.to_ascii_lowercase();
    let rest = lower.strip_prefix("http://").or_else(|| lower.strip_prefix("https://"));
    let host = rest.map(|rest| rest.split(['/', '?', '#', '\\']).next().unwrap_or_default());
    host.is_some_and(|host| !host.is_empty() && !host.contains('@'))
        && !url.chars().any(|character| character.is_control() || character == ' ' || character == '\\')
}

/// Returns whether a page of this address may be read and used.
pub(super) fn is_page(url: &str) -> bool {
    is_address(url)
        || url == "about:blank"
        || url.starts_with("about:blank#")
        || url == "chrome-error://chromewebdata/"
}

/// Opens an address.
pub(super) async fn navigate(client: &Client, tab: &Tab, url: &Text<ADDRESS>) -> Result<(), BrowserError> {
    if !is_address(url) {
        return Err(BrowserError::BadUrl);
    }
    let (end, before) = (Instant::now() + NAVIGATION, tab.documents());
    let called = client.call("Page.navigate", json!({"url": url.as_str()}), NAVIGATION).await;
    let navigated: Navigated = match called {
        Err(CallFault::Slow) => {
            stop(client).await;
            return Err(BrowserError::TooLong);
        }
        other => other?,
    };
    if navigated.is_download {
        return Err(BrowserError::NotLoaded(Text::clip("it is a download, which is refused")));
    }
    if let Some(why) = navigated.error_text {
        return Err(BrowserError::NotLoaded(Text::clip(&why)));
    }
    if navigated.loader_id.is_none() {
        return Ok(());
    }
    while tab.documents() == before && !tab.is_dead() && Instant::now() < end {
        drop(timeout_at(end, tab.changed()).await);
    }
    loaded(client, tab, end).await
}

/// Goes one page back.
pub(super) async fn back(client: &Client, tab: &Tab) -> Result<(), BrowserError> {
    let history: History = client.call("Page.getNavigationHistory", json!({}), TIME).await?;
    let before = history.current_index.checked_sub(1).and_then(|index| history.entries.get(index));
    let entry = before.filter(|entry| is_address(&entry.url)).ok_or(BrowserError::NoPage)?;
    let _: Value = client.call("Page.navigateToHistoryEntry", json!({"entryId": entry.id}), TIME).await?;
    settle(client, tab).await
}

/// Waits for what a command may have begun.
pub(super) async fn settle(client: &Client, tab: &Tab) -> Result<(), BrowserError> {
    let (begins, before) = (Instant::now() + BEGINS, tab.documents());
    while !tab.is_busy() && !tab.is_dead() && Instant::now() < begins {
        drop(timeout_at(begins, tab.changed()).await);
    }
    let began = tab.is_busy();
    let loaded = loaded(client, tab, Instant::now() + NAVIGATION).await;
    if began && tab.documents() == before {
        tokio::time::sleep(LATE).await;
    }
    match loaded {
        // The command itself was carried out.
        Err(BrowserError::TooLong) => {
            tab.note(Note::StillLoading);
            Ok(())
        }
        other => other,
    }
}

/// Waits until the main frame has loaded, or a document is there and only its rest is missing.
async fn loaded(client: &Client, tab: &Tab, end: Instant) -> Result<(), BrowserError> {
    let mut rest = None;
    while tab.is_busy() {
        if tab.is_dead() {
            return Err(BrowserError::Dead);
        }
        let now = Instant::now();
        rest = if tab.is_parsed() { rest.or(Some(now + REST)) } else { None };
        if rest.is_some_and(|rest| now >= rest) {
            tab.note(Note::StillLoading);
            return Ok(());
        }
        if now >= end {
            stop(client).await;
            return Err(BrowserError::TooLong);
        }
        drop(timeout_at(rest.map_or(end, |rest| rest.min(end)), tab.changed()).await);
    }
    if tab.is_dead() { Err(BrowserError::Dead) } else { Ok(()) }
}

async fn stop(client: &Client) {
    let stopped: Result<Value, CallFault> = client.call("Page.stopLoading", json!({}), TIME).await;
    drop(stopped);
}

/// The page that is shown. The shell's own process says it, so that a page which hangs is named too.
pub(super) async fn shown(client: &Client) -> Result<Entry, BrowserError> {
    let History { current_index, mut entries } =
        client.call("Page.getNavigationHistory", json!({}), TIME).await?;
    if current_index >= entries.len() {
        return Ok(Entry::default());
    }
    Ok(entries.swap_remove(current_index))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_http_that_name_a_host_are_opened() {
        for good in
            ["http://a.example", "HTTPS://a.example/x?y#z", "http://127.0.0.1:8080/", "https://[::1]/"]
        {
            assert!(is_address(good), "{good}");
        }
        for bad in [
            "",
            "a.example",
            "http://",
            "https:///x",
            "file:///etc/passwd",
            "data:text/html,x",
            "chrome://version",
            "javascript:alert(1)",
            "view-source:http://a.example",
            "http://user@a.example/",
            "http://a.example\\@b.example/",
            "http://a.example/\nx",
            " http://a.example/",
            "blob:http://a.example/1",
            "about:blank",
        ] {
            assert!(!is_address(bad), "{bad}");
        }
    }
}
