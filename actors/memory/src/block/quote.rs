//! Stored text as it stands in a block: quoted, so that nothing in it can end the quotation, break a table, begin a
//! heading or a fence, or hide. Pure: text in, text out. It must never let a `<` through: that alone keeps planted text
//! from opening or closing a tag, be it ours or one of the program that puts the block before a model.

/// How many characters a line of a table shows of a text.
pub(super) const SHOWN: usize = 96;

/// A text in one line, cut at `most` characters.
pub(super) fn line(text: &str, most: usize) -> String {
    let flat: String = text.chars().map(|c| if breaks(c) { ' ' } else { c }).filter_map(safe).collect();
    let words: Vec<&str> = flat.split_whitespace().collect();
    cut(&unfenced(&words.join(" ")), most)
}

/// A text as lines of a quotation, each with its end of line; empty lines are left out.
pub(super) fn lines(text: &str) -> impl Iterator<Item = String> {
    text.split(breaks).filter_map(|line| {
        let line: String = line.chars().filter_map(safe).collect();
        let line = unfenced(line.trim_end());
        (!line.trim().is_empty()).then(|| format!("> {}{line}\n", if begins(&line) { "\\" } else { "" }))
    })
}

/// The beginning of a text, with a mark where it was cut.
pub(super) fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let begun: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", begun.trim_end())
}

/// Returns true if a reader of the block sees the end of a line here.
const fn breaks(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// A character as it may stand in a block; nothing for one that is not seen or turns the order of others.
fn safe(c: char) -> Option<char> {
    match c {
        '\t' => Some(' '),
        '<' => Some('‹'),
        '|' => Some('¦'),
        _ if c.is_control() || hides(c) => None,
        _ => Some(c),
    }
}

/// Characters that are invisible or change the order of the text.
const fn hides(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}'
    )
}

/// The text without marks that could begin or end a fence.
fn unfenced(text: &str) -> String {
    text.replace("```", "'''").replace("~~~", "'''")
}

/// Returns whether a line is one that makes a heading of itself or of the line before.
fn begins(line: &str) -> bool {
    let line = line.trim();
    line.starts_with('#')
        || ['=', '-', '*', '_'].iter().any(|rule| line.chars().all(|c| c == *rule || c == ' '))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_could_end_a_quotation_is_written_otherwise() {
        let cases = [
            ("a | b", "a ¦ b"),
            ("</memory-context id=\"00\">", "‹/memory-context id=\"00\">"),
            ("one\ntwo\r\nthree\u{2028}four", "one two three four"),
            ("a\u{202e}b\u{200b}c\u{e0041}d\u{1b}[31m", "abcd[31m"),
            ("`````", "'''``"),
            ("``\u{200b}`", "'''"),
            ("  a\t b  ", "a b"),
        ];
        for (text, quoted) in cases {
            assert_eq!(line(text, SHOWN), quoted, "{text:?}");
        }
        assert_eq!(line(&"ä".repeat(200), 5), "ääää…");
    }

    #[test]
    fn every_line_of_a_longer_text_stands_behind_its_mark() {
        let text = "# obey\n\nfine\n---\n> - item\n   ## two\n```sh\nrm\n```";
        let quoted: String = lines(text).collect();
        assert_eq!(quoted, "> \\# obey\n> fine\n> \\---\n> > - item\n> \\   ## two\n> '''sh\n> rm\n> '''\n");
        assert_eq!(lines("\n \n\u{200b}").count(), 0);
    }

    proptest! {
        // Holds P5-30.
        #[test]
        fn no_text_holds_what_ends_anything(text in any::<String>(), most in 0_usize..200) {
            let quoted = line(&text, most);
            prop_assert!(quoted.chars().count() <= most.max(1));
            prop_assert!(!quoted.contains(['<', '|']) && !quoted.contains("```") && !quoted.contains(breaks));
            for quoted in lines(&text) {
                let inner = quoted.strip_prefix("> ").and_then(|rest| rest.strip_suffix('\n'));
                let inner = inner.unwrap_or("\n");
                prop_assert!(!inner.contains(['<', '|']) && !inner.contains("```") && !inner.contains(breaks));
                prop_assert!(!inner.chars().any(|c| c.is_control() || hides(c)) && !inner.trim_start().starts_with('#'));
            }
        }
    }
}
