//! A sender's own words, which stand before everything that is quoted, passed on or a signature.

use ipc_proto::channel::PartKind;

/// Lines that an introduction of a quote has at most.
const INTRODUCTION: usize = 3;
/// Lines after which a header that was passed on has named a second field.
const PASSED_ON: usize = 5;

/// The sender's own words, and the rest with its origin.
pub(crate) fn parted(text: &str) -> (String, Option<(PartKind, String)>) {
    let lines: Vec<&str> = text.lines().collect();
    let found = (0..lines.len()).find_map(|at| begins(&lines, at).map(|kind| (at, kind)));
    let Some((at, kind)) = found else { return (text.trim().to_owned(), None) };
    let at = introduced(&lines, at);
    let joined = |lines: Option<&[&str]>| lines.unwrap_or_default().join("\n").trim().to_owned();
    let (own, rest) = (joined(lines.get(..at)), joined(lines.get(at..)));
    (own, (!rest.is_empty()).then_some((kind, rest)))
}

/// The kind of what begins with this line; none if the sender's own words go on.
fn begins(lines: &[&str], at: usize) -> Option<PartKind> {
    let line = lines.get(at)?.trim_end();
    let lower = line.trim().to_lowercase();
    if line.trim_start().starts_with('>') || matches!(line, "--" | "-- ") || lines.get(at) == Some(&"-- ") {
        return Some(PartKind::Quote);
    }
    if lower.starts_with("begin forwarded message") {
        return Some(PartKind::Forward);
    }
    if lower.starts_with("-----") && lower.len() > 12 && lower.ends_with("---") {
        let passed_on = ["forward", "weitergeleitet", "transf"].iter().any(|word| lower.contains(word));
        return Some(if passed_on { PartKind::Forward } else { PartKind::Quote });
    }
    let ruled = lower.len() >= 20 && lower.chars().all(|c| c == '_');
    let wrote = |line: &str| line.starts_with("on ") && line.ends_with("wrote:");
    let next = lines.get(at + 1).map(|next| format!("{lower} {}", next.trim().to_lowercase()));
    if ruled || wrote(&lower) || (lower.starts_with("on ") && next.is_some_and(|both| wrote(&both))) {
        return Some(PartKind::Quote);
    }
    let names =
        |line: &&str, fields: &[&str]| fields.iter().any(|field| line.trim_start().starts_with(field));
    let header = names(&line, &["From:", "*From:*", "Von:", "De:"])
        && lines.iter().skip(at + 1).take(PASSED_ON).any(|line| {
            names(
                line,
                &[
                    "Sent:", "Date:", "To:", "Subject:", "*Sent:*", "*Date:*", "*To:*", "Gesendet:",
                    "Datum:", "An:",
                ],
            )
        });
    header.then_some(PartKind::Quote)
}

/// The first line of the introduction before a quote, such as `Ann wrote:`; the quote itself if it has none.
fn introduced(lines: &[&str], at: usize) -> usize {
    let is_blank = |at: usize| lines.get(at).is_none_or(|line| line.trim().is_empty());
    if lines.get(at).is_none_or(|line| !line.trim_start().starts_with('>')) {
        return at;
    }
    let Some(last) = (0..at).rev().find(|at| !is_blank(*at)) else { return at };
    if !lines.get(last).is_some_and(|line| line.trim_end().ends_with(':')) {
        return at;
    }
    let least = last.saturating_sub(INTRODUCTION - 1);
    let first = (least..last).rev().take_while(|at| !is_blank(*at)).last().unwrap_or(last);
    // The sentence before it may be the sender's own: an introduction of several lines begins a paragraph.
    if first == 0 || is_blank(first.saturating_sub(1)) { first } else { last }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn own(text: &str) -> String {
        parted(text).0
    }

    // Holds P11-92.
    #[test]
    fn own_words_end_where_something_else_begins() {
        for rest in [
            "> quoted",
            "On Mon, Ann <ann@a.test> wrote:\n> quoted",
            "On Mon, Ann\n<ann@a.test> wrote:\n\nquoted",
            "Am Montag schrieb Ann:\n\n> quoted",
            "-----Original Message-----\nFrom: x",
            "________________________________\nFrom: x",
            "From: x\nSent: y\nTo: z",
            "---------- Forwarded message ---------\nFrom: x",
            "Begin forwarded message:\n\nx",
            "-- \nAnn, Ltd.",
        ] {
            let text = format!("do this\nand that\n\n{rest}\n");
            assert_eq!(own(&text), "do this\nand that", "{rest}");
            assert_eq!(parted(&text).1.map(|(_, text)| text).as_deref(), Some(rest.trim()));
        }
        assert_eq!(parted("x\n---------- Forwarded message ---------\ny").1.unwrap().0, PartKind::Forward);
    }

    #[test]
    fn words_that_only_look_alike_are_the_senders_own() {
        for text in
            ["On Monday I wrote a letter.", "a -- b", "From: here on\nit is mine", "x > y", "Do so:\nfirst"]
        {
            assert_eq!(own(text), text);
        }
        assert_eq!(own("> quoted\nbelow it"), "", "words below a quote are not told from it");
    }

    proptest! {
        // Holds P11-92.
        #[test]
        fn no_quoted_line_is_among_the_own_words(text in "([a-z ]{0,9}|> [a-z]{0,9}|-- |On x wrote:|:|\n){0,20}") {
            let (own, rest) = parted(&text);
            prop_assert!(!own.lines().any(|line| line.trim_start().starts_with('>')));
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            let both = format!("{own}\n{}", rest.map(|(_, text)| text).unwrap_or_default());
            prop_assert_eq!(words(&both), words(&text), "nothing is lost");
        }
    }
}
