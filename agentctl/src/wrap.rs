//! Line breaks for a terminal: between words, and inside one only where every line must begin with a mark.

use rustix::termios::tcgetwinsize;
use std::io::IsTerminal;
use std::os::fd::AsFd;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The columns of a terminal that does not say how many it has.
const USUAL: usize = 80;
/// The fewest columns that lines are broken for.
const FEWEST: usize = 20;

/// The columns of the terminal at `stream`, else those in `COLUMNS`. `None` means that lines are not broken.
pub(crate) fn columns(stream: impl AsFd + IsTerminal) -> Option<usize> {
    let named = || std::env::var("COLUMNS").ok()?.parse::<usize>().ok();
    let columns = if stream.is_terminal() {
        let size = tcgetwinsize(stream).ok().map(|size| usize::from(size.ws_col));
        Some(size.filter(|columns| *columns > 0).unwrap_or(USUAL))
    } else {
        named()
    };
    columns.map(|columns| columns.max(FEWEST))
}

/// The columns that `text` takes.
pub(crate) fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// The width of the widest word.
pub(crate) fn widest_word(text: &str) -> usize {
    text.split([' ', '\n']).map(width).max().unwrap_or_default()
}

/// Breaks one line at its blanks into lines of at most `most` columns. A word that is wider has a line of its own.
pub(crate) fn lines(text: &str, most: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for (number, word) in text.split(' ').enumerate() {
        // Blanks at the beginning are an indentation, which is no place for a break.
        let is_indent = line.bytes().all(|byte| byte == b' ');
        if number > 0 && !is_indent && width(&line).saturating_add(1).saturating_add(width(word)) > most {
            lines.push(std::mem::take(&mut line).trim_end().to_owned());
            line.push_str(word);
        } else {
            if number > 0 {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.push(line);
    lines
}

/// Breaks `text` into lines of at most `most` columns. Lines after a break begin below the beginning of the first.
pub(crate) fn text(text: &str, most: Option<usize>) -> String {
    let Some(most) = most else { return text.to_owned() };
    let broken = text.split('\n').map(|line| {
        let indent = line.len().saturating_sub(line.trim_start_matches(' ').len());
        let indent = " ".repeat(indent.min(most / 2));
        hanging(line, most, &indent)
    });
    broken.collect::<Vec<_>>().join("\n")
}

/// The head and the text behind it. Each line after a break begins with `mark`: a word that is wider than a line is broken as well,
/// so that no terminal goes on in a line without the mark. Head and mark are equally wide.
pub(crate) fn marked(head: &str, mark: &str, text: &str, most: Option<usize>) -> String {
    let Some(most) = most else { return format!("{head}{text}") };
    let room = most.saturating_sub(width(head)).max(1);
    let broken = lines(text, room).iter().flat_map(|line| pieces(line, room)).collect::<Vec<_>>();
    format!("{head}{}", broken.join(&format!("\n{mark}")))
}

/// The pieces of a line, of at most `most` columns and at least one character each. Characters are counted one by one: not every
/// terminal draws a sequence of them as one.
fn pieces(line: &str, most: usize) -> Vec<String> {
    let (mut pieces, mut piece, mut column) = (Vec::new(), String::new(), 0_usize);
    for c in line.chars() {
        let wide = UnicodeWidthChar::width(c).unwrap_or_default();
        if !piece.is_empty() && column.saturating_add(wide) > most {
            pieces.push(std::mem::take(&mut piece));
            column = 0;
        }
        piece.push(c);
        column = column.saturating_add(wide);
    }
    pieces.push(piece);
    pieces
}

fn hanging(text: &str, most: usize, indent: &str) -> String {
    let room = most.saturating_sub(width(indent)).max(1);
    let mut broken = lines(text, most).into_iter();
    let mut out = broken.next().unwrap_or_default();
    // The first line has more room than the rest.
    let rest = broken.collect::<Vec<_>>().join(" ");
    if !rest.is_empty() {
        for line in lines(&rest, room) {
            out.push('\n');
            out.push_str(indent);
            out.push_str(&line);
        }
    }
    out
}

/// Text that comes in pieces: each word is given out once it is whole, with a line break before one that does not fit.
pub(crate) struct Flow {
    most: Option<usize>,
    /// The column of the cursor.
    column: usize,
    /// The blanks before the word that is not whole yet.
    blanks: String,
    /// The word that is not whole yet.
    word: String,
    /// The line so far, as far as it can begin or end a block of code.
    line: String,
    is_code: bool,
}

impl Flow {
    /// Lines of at most `most` columns; `None` breaks none.
    pub(crate) const fn new(most: Option<usize>) -> Self {
        Self {
            most,
            column: 0,
            blanks: String::new(),
            word: String::new(),
            line: String::new(),
            is_code: false,
        }
    }

    /// The part of the text that can be printed now. Lines of a fenced block of code are not broken.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        if self.most.is_none() {
            return piece.to_owned();
        }
        let mut out = String::new();
        for c in piece.chars() {
            match c {
                ' ' => {
                    self.put_word(&mut out);
                    self.blanks.push(' ');
                }
                '\n' => {
                    self.put_word(&mut out);
                    out.push_str(&std::mem::take(&mut self.blanks));
                    out.push('\n');
                    self.column = 0;
                    if self.line.starts_with("```") {
                        self.is_code = !self.is_code;
                    }
                    self.line.clear();
                }
                c => self.word.push(c),
            }
        }
        out
    }

    /// The rest of the text, at its end or before something else is printed.
    pub(crate) fn flush(&mut self) -> String {
        let mut out = String::new();
        self.put_word(&mut out);
        out.push_str(&std::mem::take(&mut self.blanks));
        self.column = 0;
        out
    }

    fn put_word(&mut self, out: &mut String) {
        if self.word.is_empty() {
            return;
        }
        let (word, blanks) = (std::mem::take(&mut self.word), std::mem::take(&mut self.blanks));
        let wide = width(&blanks).saturating_add(width(&word));
        let most = self.most.unwrap_or(usize::MAX);
        if !self.is_code && self.column > 0 && self.column.saturating_add(wide) > most {
            out.push('\n');
            self.column = width(&word);
        } else {
            out.push_str(&blanks);
            self.column = self.column.saturating_add(wide);
        }
        if self.line.len() < 3 {
            self.line.push_str(&word);
        }
        out.push_str(&word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_a_wide_word_has_its_own() {
        assert_eq!(lines("one two three", 7), ["one two", "three"]);
        assert_eq!(lines("a https://a.test/long b", 8), ["a", "https://a.test/long", "b"]);
        assert_eq!(lines("", 8), [""]);
        assert_eq!(lines("世界 世界", 8), ["世界", "世界"]);
        assert_eq!(lines("  indented text", 12), ["  indented", "text"]);
    }

    #[test]
    fn a_broken_line_goes_on_below_its_beginning() {
        assert_eq!(text("  one two three\nfour", Some(10)), "  one two\n  three\nfour");
        assert_eq!(text("one two three", None), "one two three");
    }

    #[test]
    fn a_wide_word_is_broken_where_each_line_has_a_mark() {
        assert_eq!(marked("why  ", "     ", "one two three", Some(12)), "why  one two\n     three");
        assert_eq!(marked("? ", ": ", "a bcdefgh i", Some(6)), "? a\n: bcde\n: fgh\n: i");
        assert_eq!(
            marked("? ", ": ", "世界世 e\u{301}e\u{301}e", Some(5)),
            "? 世\n: 界\n: 世\n: e\u{301}e\u{301}e"
        );
        assert_eq!(marked("? ", ": ", "a bcdefgh i", None), "? a bcdefgh i");
    }

    #[test]
    fn text_in_pieces_is_broken_between_words_and_code_is_not() {
        let flow = |pieces: &[&str]| {
            let mut flow = Flow::new(Some(20));
            let mut out: String = pieces.iter().map(|piece| flow.push(piece)).collect();
            out.push_str(&flow.flush());
            out
        };
        assert_eq!(flow(&["a har", "bour off", "ice opens at nine"]), "a harbour office\nopens at nine");
        let code = "```sh\nls -la --color=never a b c d e\n```\nthen text that is broken";
        assert_eq!(flow(&[code]), "```sh\nls -la --color=never a b c d e\n```\nthen text that is\nbroken");
        assert_eq!(flow(&["two\n\n", "paragraphs"]), "two\n\nparagraphs");
    }

    proptest::proptest! {
        #[test]
        fn no_word_is_ever_lost_or_broken(words in proptest::collection::vec("[a-zé世]{1,12}", 0..40), most in 20_usize..90) {
            let whole = words.join(" ");
            let mut flow = Flow::new(Some(most));
            let mut flowed = flow.push(&whole);
            flowed.push_str(&flow.flush());
            for broken in [lines(&whole, most).join("\n"), flowed] {
                let again: Vec<&str> = broken.split_whitespace().collect();
                proptest::prop_assert_eq!(&again, &words);
                proptest::prop_assert!(broken.lines().all(|line| width(line) <= most));
            }
        }

        #[test]
        fn every_line_that_has_a_mark_fits_and_no_character_is_lost(text in "[a-z é世👍🏽\u{301}]{0,300}", most in 20_usize..90) {
            let broken = marked("  ? ", "  : ", &text, Some(most));
            let plain = |text: &str| text.chars().filter(|c| *c != ' ').collect::<String>();
            let mut kept = String::new();
            for (number, line) in broken.split('\n').enumerate() {
                let rest = line.strip_prefix(if number == 0 { "  ? " } else { "  : " });
                let rest = rest.ok_or_else(|| proptest::test_runner::TestCaseError::fail(line.to_owned()))?;
                let columns: usize = rest.chars().filter_map(UnicodeWidthChar::width).sum();
                proptest::prop_assert!(columns <= most - 4, "{line}");
                kept.push_str(&plain(rest));
            }
            proptest::prop_assert_eq!(kept, plain(&text));
        }
    }
}
