//! The links inside a text: those that a mail reader, a chat or a browser makes, and those that a person would be led to type. A
//! doubt is a link, since the worst of a link too many is a question.
//!
//! Found are: anything with a scheme (`https:evil.example` too, for browsers take it), `www.`, bare hosts of a known
//! top-level domain, hosts with a path or a port, hosts named by Markdown or HTML, `//host` and `\\host`. Before
//! looking, what hides a link is undone ([`unmask`]). Not found: a bare name whose end is rather that of a file
//! (`build.sh`), unless something else makes it an address.

mod domains;
mod unmask;

use crate::text::is_word;
use domains::is_domain;
use unmask::{unescape, unmask};

/// Links of one text that are reported; a text with more is judged by these, and one more that nothing vouches for.
const LINKS: usize = 256;
/// Stands for all links over the bound.
const MORE: &str = "more:links";
/// Characters of a scheme at most.
const SCHEME: usize = 32;
/// Schemes that are links with no `//` behind them.
const SCHEMES: [&str; 40] = [
    "about", "bitcoin", "blob", "callto", "chrome", "cid", "data", "ethereum", "facetime", "file", "ftp",
    "ftps", "geo", "git", "gopher", "http", "https", "im", "intent", "irc", "javascript", "jar", "ldap",
    "magnet", "mailto", "market", "mid", "ms-settings", "nfs", "sip", "skype", "slack", "sms", "smb", "ssh",
    "tel", "tg", "vbscript", "ws", "wss",
];

/// The links inside `text`, in the order they stand, as they read with what hides them undone.
#[must_use]
pub fn links(text: &str) -> Vec<String> {
    gather(&unmask(text))
}

/// The same with escapes alone undone, not what somebody wrote to keep a link from being one.
pub(crate) fn escaped(text: &str) -> Vec<String> {
    gather(&unescape(text))
}

fn gather(readings: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for reading in readings {
        for link in plain(reading) {
            if !found.contains(&link) && found.len() < LINKS {
                found.push(link);
            } else if found.len() == LINKS {
                found.push(MORE.to_owned());
                return found;
            }
        }
    }
    found
}

/// The links that stand in a text as it is.
pub(crate) fn plain(text: &str) -> Vec<String> {
    let mut spans = schemed(text);
    spans.extend(hosts(text, &spans));
    spans.sort_unstable();
    spans.iter().filter_map(|(from, to)| text.get(*from..*to)).map(str::to_owned).take(LINKS + 1).collect()
}

/// Where a link begins and ends, in bytes.
type Span = (usize, usize);

/// Links with a scheme.
fn schemed(text: &str) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for (colon, _) in text.match_indices(':') {
        if spans.last().is_some_and(|(_, to)| colon < *to) {
            continue;
        }
        let (Some(before), Some(after)) = (text.get(..colon), text.get(colon + 1..)) else { continue };
        let length = before.bytes().rev().take(SCHEME).take_while(|byte| is_scheme(*byte)).count();
        let scheme = before
            .get(colon - length..)
            .unwrap_or_default()
            .trim_start_matches(|c: char| !c.is_ascii_alphabetic());
        if scheme.is_empty() || !after.starts_with(|char: char| !char.is_whitespace()) {
            continue;
        }
        let slashes = after.bytes().take(2).filter(|byte| matches!(byte, b'/' | b'\\')).count() == 2;
        let lower = scheme.to_ascii_lowercase();
        let known = SCHEMES.iter().any(|known| *known == lower)
            || lower.ends_with("http")
            || lower.ends_with("https");
        let more = extent(after);
        if (slashes || known) && more > 0 {
            spans.push((colon - scheme.len(), colon + 1 + more));
        }
    }
    spans
}

const fn is_scheme(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

/// Links that begin with a host.
fn hosts(text: &str, taken: &[Span]) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut taken = taken.iter().copied().peekable();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        while taken.next_if(|(_, to)| *to <= at).is_some() {}
        if let Some((_, to)) = taken.peek().filter(|(from, _)| *from <= at) {
            at = *to;
            continue;
        }
        let run = rest.find(|char| !is_host(char)).unwrap_or(rest.len());
        if run == 0 {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        }
        let (Some(before), Some(host), Some(after)) = (text.get(..at), rest.get(..run), rest.get(run..))
        else {
            break;
        };
        if leads(before, host, after) {
            let limit = taken.peek().map_or(text.len(), |(from, _)| *from).max(at + run);
            let to = (at + run + tail(after)).min(limit);
            let to = at + trimmed(text.get(at..to).unwrap_or(host));
            spans.push((at, to));
            at = to.max(at + run);
        } else {
            at += run;
        }
    }
    spans
}

fn is_host(char: char) -> bool {
    is_word(char) || matches!(char, '-' | '.')
}

/// Returns whether a run of host characters is an address where it stands.
fn leads(before: &str, run: &str, after: &str) -> bool {
    let host = run.trim_matches(['.', '-', '_']);
    if before.ends_with("\\\\") {
        return !host.is_empty();
    }
    let labels: Vec<&str> = host.split('.').collect();
    let (Some(first), Some(last)) = (labels.first(), labels.last()) else { return false };
    let place = is_place(after);
    let mail = after.starts_with('@')
        || (!place && before.strip_suffix('@').is_some_and(|user| user.ends_with(is_host)));
    if labels.len() < 2 || labels.iter().any(|label| label.is_empty()) || mail {
        return false;
    }
    let address = labels.len() == 4 && labels.iter().all(|label| label.parse::<u8>().is_ok());
    let plausible = last.chars().count() > 1 && last.chars().any(char::is_alphabetic);
    if inside_path(before) {
        return false;
    }
    (address && place)
        || (first.eq_ignore_ascii_case("www") && labels.len() > 1)
        || (plausible && (place || named_as_link(before)))
        || is_domain(last, labels.len())
}

/// A path, query, fragment or port follows.
fn is_place(after: &str) -> bool {
    let mut chars = after.chars();
    match (chars.next(), chars.next()) {
        (Some('/' | '\\' | '?' | '#'), Some(next)) => !next.is_whitespace(),
        (Some('/'), None) => true,
        (Some(':'), Some(next)) => next.is_ascii_digit(),
        _ => false,
    }
}

/// Behind a single slash that follows a word: a step of a path, not the beginning of an address.
fn inside_path(before: &str) -> bool {
    let Some(rest) = before.strip_suffix(['/', '\\']) else { return false };
    rest.ends_with(|char: char| is_word(char) || matches!(char, '.' | '~' | '-'))
}

/// Markdown, HTML or CSS says that this is an address.
fn named_as_link(before: &str) -> bool {
    let bare = before.trim_end_matches(['"', '\'', '<', ' ']);
    if before.ends_with("//") || bare.ends_with("](") || bare.ends_with("]:") || bare.ends_with("url(") {
        return true;
    }
    let Some(name) = bare.strip_suffix('=') else { return false };
    let name = name.trim_end();
    ["href", "src", "srcset", "action", "poster", "background", "data", "ping", "cite"].iter().any(
        |attribute| {
            let head = name.len().checked_sub(attribute.len()).and_then(|at| name.get(at..));
            head.is_some_and(|head| head.eq_ignore_ascii_case(attribute))
        },
    )
}

/// How far a link goes on behind its host.
fn tail(after: &str) -> usize {
    if after.starts_with(['/', '?', '#', ':', '\\', '@']) { extent(after) } else { 0 }
}

/// How far a link goes: to a blank, a quote or an angle bracket, without the marks that end a clause.
fn extent(text: &str) -> usize {
    let end = text.find(|char: char| {
        char.is_whitespace() || char.is_control() || matches!(char, '"' | '<' | '>' | '`')
    });
    trimmed(text.get(..end.unwrap_or(text.len())).unwrap_or(text))
}

/// Bytes of a link without the marks at its end that belong to the sentence around it.
fn trimmed(link: &str) -> usize {
    let count = |bracket: char| link.matches(bracket).count();
    let mut extra = [(')', '('), (']', '['), ('}', '{')]
        .map(|(close, open)| (close, count(close).saturating_sub(count(open))));
    let ends =
        |char: char| matches!(char, '.' | ',' | ';' | ':' | '!' | '?' | '\'' | '*' | '_' | '~' | '|' | '-');
    let mut kept = link.len();
    for (at, char) in link.char_indices().rev() {
        let loose = extra.iter_mut().find(|(close, extra)| *close == char && *extra > 0);
        match loose {
            Some((_, extra)) => *extra -= 1,
            None if ends(char) => {}
            None => break,
        }
        kept = at;
    }
    kept
}

#[cfg(test)]
mod tests;
