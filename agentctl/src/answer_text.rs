//! The text of an answer as it streams. Events may be missing after a restart (the router's ring is bounded), so at the end the
//! whole answer from the outbox decides which part is still to be shown.

/// The text so far.
#[derive(Default)]
pub(crate) struct AnswerText {
    /// All text that stands.
    all: String,
    /// Where the text since the last tool call or start begins in it.
    mark: usize,
}

impl AnswerText {
    /// Adds text.
    pub(crate) fn push(&mut self, text: &str) {
        self.all.push_str(text);
    }

    /// From here on only later text can be void.
    pub(crate) fn settle(&mut self) {
        self.mark = self.all.len();
    }

    /// The text since the last [`Self::settle`] is void. Returns true if there was any.
    pub(crate) fn begin_again(&mut self) -> bool {
        let had = self.all.len() > self.mark;
        self.all.truncate(self.mark);
        had
    }

    /// The part of `answer` that was not shown yet: all of it, the rest of it, or nothing.
    pub(crate) fn rest<'a>(&self, answer: &'a str) -> &'a str {
        let latest = self.all.get(self.mark..).unwrap_or_default();
        if self.all.ends_with(answer) || latest.trim() == answer.trim() || self.all.trim() == answer.trim() {
            return "";
        }
        let shown = [latest, &self.all].into_iter().filter(|part| !part.is_empty());
        shown.filter_map(|part| answer.strip_prefix(part)).next().unwrap_or(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::AnswerText;

    #[test]
    fn only_the_part_of_an_answer_that_was_not_shown_is_shown_at_the_end() {
        for (all, mark, answer, rest) in [
            ("all of it", 0, "all of it", ""),
            ("let me look\nall of it", 12, "all of it", ""),
            ("all of it\n", 0, "all of it", ""),
            ("all ", 0, "all of it", "of it"),
            ("let me look\nall ", 12, "all of it", "of it"),
            ("let me look\nall ", 12, "let me look\nall of it", "of it"),
            ("", 0, "all of it", "all of it"),
            ("something else", 0, "all of it", "all of it"),
            ("a half answer", 0, "", ""),
        ] {
            let text = AnswerText { all: all.to_owned(), mark };
            assert_eq!(text.rest(answer), rest, "{all:?} {answer:?}");
        }
    }

    #[test]
    fn void_text_is_that_since_the_last_tool_call() {
        let mut text = AnswerText::default();
        text.push("kept ");
        text.settle();
        assert!(!text.begin_again());
        text.push("void");
        assert!(text.begin_again() && text.rest("kept on") == "on");
    }
}
