//! Addresses that stand in the text itself, shown as code: a platform makes links of them, and fetches a preview.

use crate::rich::{Rich, Span, Style};
use std::ops::Range;

/// Makes code of everything that looks like an address, but for these.
pub(crate) fn as_code(rich: Rich, except: &[String]) -> Rich {
    let code: Vec<&Span> = rich.spans().iter().filter(|span| span.style.is_code()).collect();
    let mut found: Vec<Range<usize>> = Vec::new();
    for token in tokens(rich.text()) {
        let text = rich.text().get(token.clone()).unwrap_or_default();
        if !is_link(text) || except.iter().any(|address| address == text) {
            continue;
        }
        let Some(whole) = around(&code, token) else { continue };
        match found.last_mut().filter(|last| whole.start < last.end) {
            Some(last) => last.end = last.end.max(whole.end),
            None => found.push(whole),
        }
    }
    if found.is_empty() {
        return rich;
    }
    let mut spans = Vec::new();
    for span in rich.spans() {
        cut(span, &found, &mut spans);
    }
    spans.extend(found.into_iter().map(|Range { start, end }| Span { start, end, style: Style::Code }));
    Rich::new(rich.text().to_owned(), spans)
}

/// The range with all code that reaches into it, or none if code holds all of it.
fn around(code: &[&Span], token: Range<usize>) -> Option<Range<usize>> {
    let first = code.partition_point(|span| span.end <= token.start);
    let mut whole = token.clone();
    for span in code.iter().skip(first).take_while(|span| span.start < token.end) {
        if span.start <= token.start && token.end <= span.end {
            return None;
        }
        whole = whole.start.min(span.start)..whole.end.max(span.end);
    }
    Some(whole)
}

/// Leaves out of a span what becomes code. A quote keeps it; a link or code that overlaps it is given up.
fn cut(span: &Span, found: &[Range<usize>], spans: &mut Vec<Span>) {
    let first = found.partition_point(|range| range.end <= span.start);
    let over = found.iter().skip(first).take_while(|range| range.start < span.end);
    let mut piece = |start: usize, end: usize| {
        if start < end {
            spans.push(Span { start, end, style: span.style.clone() });
        }
    };
    match span.style {
        Style::Quote => piece(span.start, span.end),
        Style::Code | Style::Pre(_) | Style::Link(_) => {
            if over.count() == 0 {
                piece(span.start, span.end);
            }
        }
        Style::Bold | Style::Italic | Style::Strike => {
            let mut start = span.start;
            for range in over {
                piece(start, range.start);
                start = range.end;
            }
            piece(start, span.end);
        }
    }
}

/// The runs without white space, without the punctuation at their ends.
fn tokens(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let punctuation: &[char] =
        &['(', ')', '[', ']', '{', '}', '<', '>', '"', '\'', ',', '.', ';', '!', '?', '*'];
    let mut at = 0;
    text.split_inclusive(char::is_whitespace).filter_map(move |run| {
        let start = at;
        at += run.len();
        let word = run.trim_end();
        let inner = word.trim_start_matches(punctuation);
        let start = start + word.len() - inner.len();
        let inner = inner.trim_end_matches(punctuation);
        (!inner.is_empty()).then(|| start..start + inner.len())
    })
}

/// Returns true for text of which a messenger may make a link: a scheme, a host with a dot before letters, or an address of
/// four numbers.
fn is_link(token: &str) -> bool {
    token.contains("://") || token.starts_with("mailto:") || has_host(token) || has_numbers(token)
}

fn has_host(token: &str) -> bool {
    let mut labels = token.split('.');
    let mut before = labels.next().unwrap_or_default();
    for label in labels {
        let letters = label.chars().take_while(|c| c.is_alphanumeric() || *c == '-');
        if before.ends_with(|c: char| c.is_alphanumeric() || c == '-')
            && letters.filter(|c| c.is_alphabetic()).count() >= 2
        {
            return true;
        }
        before = label;
    }
    false
}

fn has_numbers(token: &str) -> bool {
    let host = token.split(['/', ':']).next().unwrap_or_default();
    host.split('.').count() == 4
        && host.split('.').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coded(text: &str) -> Vec<String> {
        let rich = as_code(Rich::new(text.to_owned(), Vec::new()), &["https://own.example/".to_owned()]);
        rich.spans().iter().map(|span| text[span.start..span.end].to_owned()).collect()
    }

    #[test]
    fn what_a_messenger_would_link_becomes_code() {
        assert_eq!(coded("see (https://evil.example/a_b?c=1), or x"), ["https://evil.example/a_b?c=1"]);
        assert_eq!(
            coded("evil.example 10.0.0.1/x t.me/joinchat"),
            ["evil.example", "10.0.0.1/x", "t.me/joinchat"]
        );
        assert_eq!(coded("tg://user?id=1"), ["tg://user?id=1"]);
    }

    #[test]
    fn plain_words_numbers_and_the_persons_own_address_stay() {
        assert!(coded("It is 3.14 of 2.0. Or not... https://own.example/").is_empty());
    }

    #[test]
    fn a_style_around_an_address_is_cut_where_it_becomes_code() {
        let bold = vec![Span { start: 0, end: 14, style: Style::Bold }];
        let rich = as_code(Rich::new("a evil.com b c".to_owned(), bold), &[]);
        let styles: Vec<_> =
            rich.spans().iter().map(|span| (span.start, span.end, span.style.is_code())).collect();
        assert_eq!(styles, [(0, 2, false), (2, 10, true), (10, 14, false)]);
    }
}
