//! The parser of a shell command: pipelines of simple commands, by the shell's own rules of quoting. A command that is not
//! understood gives nothing at all, never a part.

mod word;

/// A command line.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// Pipelines, in the order they stand, whatever joins them.
    pub(super) pipelines: Vec<Vec<Simple>>,
    /// Names of functions it defines; their bodies are among the pipelines.
    pub(super) functions: Vec<String>,
    /// It was taken apart, and something in it can still run what does not stand there.
    pub(super) unsure: bool,
}

/// One program with its words, files and input.
#[derive(Debug, Default)]
pub(super) struct Simple {
    /// Assignments, program, arguments.
    pub(super) words: Vec<Word>,
    /// Files it is redirected from and to.
    pub(super) files: Vec<Word>,
    /// Commands whose output stands in any of it.
    pub(super) nested: Vec<String>,
    /// A here-document or here-string.
    pub(super) body: Option<String>,
}

/// One word, quotes taken off.
#[derive(Clone, Debug, Default)]
pub(super) struct Word {
    /// Its text, without expansions.
    pub(super) text: String,
    /// Something in it is only known when it runs.
    pub(super) open: bool,
    /// The place in the text of the first such part.
    pub(super) open_from: usize,
    /// Quotes or a backslash stood in it, so that it is no word of the shell.
    pub(super) quoted: bool,
}

impl Word {
    /// Marks that this part is only known when the command runs.
    pub(super) fn opens(&mut self) {
        if !self.open {
            (self.open, self.open_from) = (true, self.text.len());
        }
    }

    /// It may turn out to be an option, or several words: it begins with what is only known when it runs, or with a pattern
    /// that the name of a file such as `-rf` fits.
    pub(super) fn may_be_option(&self) -> bool {
        let rest = self.text.trim_start_matches('*');
        let name = |char: char| char.is_ascii_alphabetic() || matches!(char, '*' | '?' | '-' | '=');
        self.open && self.open_from == 0 && (rest.len() == self.text.len() || rest.chars().all(name))
    }

    /// `NAME=…`, or `NAME+=…`.
    pub(super) fn is_assignment(&self) -> bool {
        let Some((name, _)) = self.text.split_once('=') else { return false };
        if self.open && self.open_from <= name.len() {
            return false;
        }
        let name = name.strip_suffix('+').unwrap_or(name);
        let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        plain && name.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_')
    }
}

/// Takes a command line apart.
pub(super) fn split(text: &str) -> Option<Script> {
    let mut splitter = Splitter { chars: text.chars().collect(), ..Splitter::default() };
    splitter.all()?;
    Some(splitter.script)
}

/// A here-document that has not begun yet.
struct Awaited {
    /// The line that ends it.
    end: String,
    /// Its text is expanded.
    expanded: bool,
    /// Tabs before its lines do not count.
    indented: bool,
}

#[derive(Default)]
struct Splitter {
    chars: Vec<char>,
    at: usize,
    depth: usize,
    script: Script,
    pipeline: Vec<Simple>,
    simple: Simple,
    /// A pipe is open: a command has to follow.
    hanging: bool,
    /// Here-documents that begin behind this line.
    awaited: Vec<Awaited>,
}

impl Splitter {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn next(&mut self) -> Option<char> {
        let char = self.peek(0);
        self.at += 1;
        char
    }

    fn take(&mut self, text: &str) -> bool {
        let hit = text.chars().enumerate().all(|(ahead, char)| self.peek(ahead) == Some(char));
        if hit {
            self.at += text.chars().count();
        }
        hit
    }

    fn all(&mut self) -> Option<()> {
        while let Some(char) = self.peek(0) {
            match char {
                ' ' | '\t' => self.at += 1,
                '\\' if self.peek(1) == Some('\n') => self.at += 2,
                '\n' if self.hanging && self.simple.words.is_empty() => self.at += 1,
                '\n' => {
                    self.at += 1;
                    self.end_pipeline()?;
                    self.here_documents()?;
                }
                '#' => {
                    while self.peek(0).is_some_and(|char| char != '\n') {
                        self.at += 1
                    }
                }
                ';' => {
                    self.at += 1;
                    self.end_pipeline()?;
                }
                '&' | '|' => self.join()?,
                '(' | ')' => self.bracket()?,
                '<' | '>' => self.redirect()?,
                _ => self.plain_word()?,
            }
        }
        self.end_pipeline()?;
        (self.depth == 0 && self.awaited.is_empty()).then_some(())
    }

    fn join(&mut self) -> Option<()> {
        if self.take("&>>") || self.take("&>") {
            return self.file();
        }
        if self.take("&&") || self.take("||") || self.take("&") {
            return self.end_pipeline();
        }
        let _ = self.take("|&") || self.take("|");
        self.end_simple()?;
        if self.pipeline.is_empty() {
            // Behind a closing bracket or `done`: what was in there writes into what follows.
            self.pipeline = self.script.pipelines.pop()?;
        }
        let twice = std::mem::replace(&mut self.hanging, true);
        (!twice).then_some(())
    }

    fn bracket(&mut self) -> Option<()> {
        if self.take(")") {
            self.depth = self.depth.checked_sub(1)?;
            return self.end_pipeline();
        }
        // Two of them may be a sum, whose names are read as sums in turn.
        self.script.unsure |= self.peek(1) == Some('(');
        self.at += 1;
        match self.simple.words.as_slice() {
            [] => self.depth += 1,
            [name] => {
                let name = name.text.clone();
                while self.take(" ") {}
                if !self.take(")") {
                    return None;
                }
                self.script.functions.push(name);
                self.simple = Simple::default();
            }
            _ => return None,
        }
        Some(())
    }

    fn redirect(&mut self) -> Option<()> {
        if self.simple.words.last().is_some_and(is_descriptor) && self.glued() {
            self.simple.words.pop();
        }
        if self.take("<<<") {
            let word = self.next_word()?;
            self.simple.body = Some(word.text);
            return (!word.open).then_some(());
        }
        let indented = self.take("<<-");
        if indented || self.take("<<") {
            let word = self.next_word()?;
            self.awaited.push(Awaited { end: word.text, expanded: !word.quoted, indented });
            return Some(());
        }
        if matches!((self.peek(0), self.peek(1)), (Some('<' | '>'), Some('('))) {
            let word = self.word()?;
            self.simple.words.push(word);
            return Some(());
        }
        let _ = [">>", ">|", ">&", "<>", "<&", ">", "<"].iter().any(|mark| self.take(mark));
        self.file()
    }

    /// The redirection mark stands right behind the word before it.
    fn glued(&self) -> bool {
        self.at.checked_sub(1).and_then(|at| self.chars.get(at)).is_some_and(char::is_ascii_digit)
    }

    fn file(&mut self) -> Option<()> {
        let word = self.next_word()?;
        self.simple.files.push(word);
        Some(())
    }

    fn next_word(&mut self) -> Option<Word> {
        while matches!(self.peek(0), Some(' ' | '\t')) {
            self.at += 1;
        }
        let from = self.at;
        let word = self.word()?;
        (self.at > from).then_some(word)
    }

    fn plain_word(&mut self) -> Option<()> {
        let word = self.word()?;
        self.simple.words.push(word);
        Some(())
    }

    fn here_documents(&mut self) -> Option<()> {
        for Awaited { end, expanded, indented } in std::mem::take(&mut self.awaited) {
            let mut body = String::new();
            loop {
                let line: String =
                    self.chars.get(self.at..)?.iter().take_while(|char| **char != '\n').collect();
                let last = self.at + line.chars().count() >= self.chars.len();
                self.at = (self.at + line.chars().count() + 1).min(self.chars.len());
                if (if indented { line.trim_start_matches('\t') } else { &line }) == end {
                    break;
                }
                if last {
                    return None;
                }
                body.push_str(&line);
                body.push('\n');
            }
            self.take_body(body, expanded)?;
        }
        Some(())
    }

    /// A here-document belongs to the pipeline before it; what is expanded in it runs as well.
    fn take_body(&mut self, body: String, expanded: bool) -> Option<()> {
        let mut nested = Vec::new();
        if expanded {
            let mut inner = Splitter { chars: body.chars().collect(), ..Splitter::default() };
            inner.double_quoted(&mut Word::default(), None)?;
            nested = inner.simple.nested;
            self.script.unsure |= inner.script.unsure;
        }
        let owner = self.script.pipelines.last_mut()?;
        for simple in owner {
            simple.body = Some(body.clone());
            simple.nested.append(&mut nested);
        }
        Some(())
    }

    fn end_pipeline(&mut self) -> Option<()> {
        self.end_simple()?;
        if self.hanging {
            return None;
        }
        let pipeline = std::mem::take(&mut self.pipeline);
        if !pipeline.is_empty() {
            self.script.pipelines.push(pipeline);
        }
        Some(())
    }

    fn end_simple(&mut self) -> Option<()> {
        let mut simple = std::mem::take(&mut self.simple);
        loop {
            let reserved =
                simple.words.first().filter(|word| !word.quoted && !word.open).map(|word| word.text.clone());
            match reserved.as_deref() {
                Some(
                    word @ ("if" | "then" | "else" | "elif" | "while" | "until" | "do" | "!" | "{" | "time"
                    | "coproc" | "fi" | "done" | "}"),
                ) => {
                    self.script.unsure |= word == "coproc";
                    simple.words.remove(0);
                    if word == "time" && simple.words.first().is_some_and(|word| word.text == "-p") {
                        simple.words.remove(0);
                    }
                }
                Some("for" | "select") => {
                    // It sets a variable, which may be one that decides what runs.
                    let name = simple.words.get(1)?.clone();
                    self.script.unsure |= name.open;
                    simple.words = vec![Word { text: format!("{}=", name.text), ..name }];
                    break;
                }
                Some("function") => {
                    let name = simple.words.get(1)?.text.clone();
                    self.script.functions.push(name);
                    simple.words.drain(..2);
                }
                Some("case" | "esac") => return None,
                _ => break,
            }
        }
        if !simple.words.is_empty() || !simple.files.is_empty() || !simple.nested.is_empty() {
            self.hanging = false;
            self.pipeline.push(simple);
        }
        Some(())
    }
}

fn is_descriptor(word: &Word) -> bool {
    !word.quoted && !word.text.is_empty() && word.text.bytes().all(|byte| byte.is_ascii_digit())
}
