//! The text of Slack as plain text: names and links in angle brackets are written out, and the three escapes are undone. Pure.

/// The text of a message as its sender sees it. A mention of this user at its beginning is left out: it is the address.
pub(crate) fn plain(text: &str, own: &str) -> String {
    let mut rest = text.trim_start();
    if let Some((name, after)) = rest.strip_prefix("<@").and_then(|rest| rest.split_once('>'))
        && name.split('|').next() == Some(own)
    {
        rest = after.trim_start_matches([':', ',']).trim_start();
    }
    let mut out = String::with_capacity(rest.len());
    while let Some((before, after)) = rest.split_once('<') {
        unescape(before, &mut out);
        match after.split_once('>') {
            Some((marked, after)) => {
                write_out(marked, &mut out);
                rest = after;
            }
            None => {
                out.push('<');
                rest = after;
            }
        }
    }
    unescape(rest, &mut out);
    out
}

/// Returns true if a text names this user.
pub(crate) fn mentions(text: &str, own: &str) -> bool {
    let names = |rest: &str| {
        let after = rest.strip_prefix(own);
        after.is_some_and(|after| after.starts_with(['>', '|']))
    };
    !own.is_empty() && text.split("<@").skip(1).any(names)
}

/// A text in which nothing is a mark: the three characters that Slack reads itself are escaped.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn unescape(text: &str, out: &mut String) {
    out.push_str(&text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"));
}

/// Writes out the inside of angle brackets: a person, a channel, a group or a link.
fn write_out(marked: &str, out: &mut String) {
    let (target, label) = marked.split_once('|').unwrap_or((marked, ""));
    let named = |sign: char, id: &str, out: &mut String| {
        let name = if label.is_empty() { id } else { label };
        if !name.starts_with(sign) {
            out.push(sign);
        }
        unescape(name, out);
    };
    if let Some(id) = target.strip_prefix('@') {
        named('@', id, out);
    } else if let Some(id) = target.strip_prefix('#') {
        named('#', id, out);
    } else if let Some(word) = target.strip_prefix('!') {
        named('@', word, out);
    } else {
        let address = target.strip_prefix("mailto:").unwrap_or(target);
        if label.is_empty() || address == label || address.ends_with(&format!("//{label}")) {
            unescape(address, out);
        } else {
            unescape(label, out);
            out.push_str(" (");
            unescape(address, out);
            out.push(')');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn marks_are_written_out_and_escapes_undone() {
        let cases = [
            ("<@U1> /stop", "/stop"),
            ("<@U1|cordon>: hello <@U1>", "hello @U1"),
            ("hello <@U2|eve> in <#C1|general> and <#C2>", "hello @eve in #general and #C2"),
            ("<!channel> <!subteam^S1|@team>", "@channel @team"),
            (
                "<https://a.example/?x=1&amp;y=2|here> <https://a.example/>",
                "here (https://a.example/?x=1&y=2) https://a.example/",
            ),
            ("<http://a.example|a.example> <mailto:a@b.example|a@b.example>", "http://a.example a@b.example"),
            ("1 &lt; 2 &amp;&amp; 3 &gt; 2 &amp;lt;", "1 < 2 && 3 > 2 &lt;"),
            ("an open < bracket", "an open < bracket"),
        ];
        for (text, expected) in cases {
            assert_eq!(plain(text, "U1"), expected);
        }
    }

    #[test]
    fn a_mention_is_of_the_whole_id() {
        assert!(mentions("hi <@U1> and <@U12>", "U1") && mentions("<@U1|me>", "U1"));
        assert!(!mentions("hi <@U12>", "U1") && !mentions("@U1 U1>", "U1") && !mentions("<@>", ""));
    }

    proptest! {
        #[test]
        fn an_escaped_text_comes_back_as_it_was(text in "\\PC{0,40}") {
            prop_assert_eq!(plain(&escaped(&text), "U1"), text.trim_start());
        }

        #[test]
        fn any_text_is_written_out(text in "[<>@#!|&;lta U1x]{0,40}") {
            drop(plain(&text, "U1"));
            prop_assert!(!mentions(&text.replace("U1", ""), "U1"));
        }
    }
}
