//! The reader's commands: the order in the first line of a message. A pure function of the text; anything that is not
//! clearly a command is a question.

/// The command in a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Command<'a> {
    /// Say this.
    Echo(&'a str),
    /// Keep this.
    Remember(&'a str),
    /// Find memories.
    Recall(&'a str),
    /// Run this with bash.
    Run(&'a str),
    /// Show this file.
    Read(&'a str),
    /// Make this file.
    Write {
        /// The file.
        path: &'a str,
        /// The content of the file.
        text: &'a str,
    },
    /// A command that lacks something; this is how it is written.
    Unfinished(&'static str),
    /// Anything else.
    Question(&'a str),
}

impl<'a> Command<'a> {
    /// The command in this message. Keywords may be written in capitals.
    pub(super) fn parse(message: &'a str) -> Self {
        let message = message.trim();
        let colon = |keyword| after(message, keyword).and_then(|rest| rest.trim_start().strip_prefix(':'));
        let given = |text: &'a str, make: fn(&'a str) -> Self, how| match text.trim() {
            "" => Self::Unfinished(how),
            text => make(text),
        };
        if let Some(text) = colon("echo") {
            return given(text, Self::Echo, "echo: TEXT");
        }
        if let Some(text) = colon("remember") {
            return given(text, Self::Remember, "remember: TEXT");
        }
        if let Some(text) = colon("run") {
            return given(text, Self::Run, "run: COMMAND");
        }
        if let Some(words) = after(message, "recall") {
            return given(words.trim_start().trim_start_matches(':'), Self::Recall, "recall WORDS");
        }
        let file = after(message, "read").and_then(whole_path).map(Self::Read);
        file.or_else(|| write(message)).unwrap_or(Self::Question(message))
    }
}

/// The text after a keyword that the message begins with.
fn after<'a>(message: &'a str, keyword: &str) -> Option<&'a str> {
    let (first, rest) = message.split_at_checked(keyword.len())?;
    let ends = rest.chars().next().is_none_or(|c| !c.is_alphanumeric() && c != '_');
    (first.eq_ignore_ascii_case(keyword) && ends).then_some(rest)
}

/// A path that is all there is on the line: one word, or anything between quotes. `read the notes for me` is none.
fn whole_path(rest: &str) -> Option<&str> {
    let rest = rest.trim().trim_start_matches(':').trim_start();
    let (path, after) = path(rest)?;
    after.trim().is_empty().then_some(path)
}

/// `write PATH: TEXT`, the text as it stands, any number of lines.
fn write(message: &str) -> Option<Command<'_>> {
    let rest = after(message, "write")?.trim_start();
    let quoted = rest.starts_with(['"', '\'']);
    let (path, text) = if quoted {
        let (path, text) = path(rest)?;
        (path, text.trim_start().strip_prefix(':')?)
    } else {
        let (path, text) = rest.split_once(':')?;
        (path.trim_end(), text)
    };
    if !quoted && path.contains(char::is_whitespace) {
        return None;
    }
    match path {
        "" => Some(Command::Unfinished("write PATH: TEXT")),
        path => Some(Command::Write { path, text: text.strip_prefix([' ', '\n']).unwrap_or(text) }),
    }
}

/// One word, or the text between two quotes, and the rest.
fn path(rest: &str) -> Option<(&str, &str)> {
    for quote in ['"', '\''] {
        if let Some(quoted) = rest.strip_prefix(quote) {
            return quoted.split_once(quote).filter(|(path, _)| !path.is_empty());
        }
    }
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    rest.split_at_checked(end).filter(|(path, _)| !path.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_the_command_that_its_first_words_say() {
        use Command::{Echo, Question, Read, Recall, Remember, Run, Unfinished, Write};
        for (message, command) in [
            ("echo: hello", Echo("hello")),
            ("  ECHO:two\nlines ", Echo("two\nlines")),
            ("remember: the office opens at 07:40", Remember("the office opens at 07:40")),
            ("Remember : x", Remember("x")),
            ("remember the milk?", Question("remember the milk?")),
            ("recall harbour office", Recall("harbour office")),
            ("recall: harbour", Recall("harbour")),
            ("recall", Unfinished("recall WORDS")),
            ("recalled goods", Question("recalled goods")),
            ("run: ls -l | wc", Run("ls -l | wc")),
            ("run the tests", Question("run the tests")),
            ("run:", Unfinished("run: COMMAND")),
            ("read docs/a.md", Read("docs/a.md")),
            ("Read \"my notes.txt\"", Read("my notes.txt")),
            ("read the manual and tell me", Question("read the manual and tell me")),
            ("read", Question("read")),
            ("write a.txt: hello", Write { path: "a.txt", text: "hello" }),
            ("write a.txt:\none\n two", Write { path: "a.txt", text: "one\n two" }),
            ("write a.txt:x: y", Write { path: "a.txt", text: "x: y" }),
            ("write 'b c': d", Write { path: "b c", text: "d" }),
            ("write : d", Unfinished("write PATH: TEXT")),
            ("write a poem: about rain", Question("write a poem: about rain")),
            ("", Question("")),
            ("ехо: не команда", Question("ехо: не команда")),
        ] {
            assert_eq!(Command::parse(message), command, "{message}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_message_is_understood_as_something(message in "(write|read|run|echo|recall)?[ :\"'a-é/\n]{0,30}") {
            let _ = Command::parse(&message);
        }
    }
}
