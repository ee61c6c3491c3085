//! A shell command taken apart into pipelines of simple commands, by the shell's own rules of quoting. What is not
//! understood gives nothing at all, never a part.

mod word;

/// A command line.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// Pipelines, in the order they stand, whatever joins them.
    pub(super) pipelines: Vec<Vec<Simple>>,
    /// Names of functions it defines; their bodies are among the pipelines.
    pub(super) functions: Vec<String>,
}

/// One program with what it is given.
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
    /// Its text; of what is expanded, nothing.
    pub(super) text: String,
    /// Something in it is only known when it runs.
    pub(super) open: bool,
    /// Quotes or a backslash stood in it, so that it is no word of the shell.
    pub(super) quoted: bool,
}

impl Word {
    /// `NAME=…`, or `NAME+=…`.
    pub(super) fn is_assignment(&self) -> bool {
        let Some((name, _)) = self.text.split_once('=') else { return false };
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
    /// Here-documents that begin behind this line: the word that ends each, and whether its text is expanded.
    awaited: Vec<(String, bool)>,
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
        if self.take("<<-") || self.take("<<") {
            let word = self.next_word()?;
            self.awaited.push((word.text, !word.quoted));
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
        for (end, expanded) in std::mem::take(&mut self.awaited) {
            let mut body = String::new();
            loop {
                let line: String =
                    self.chars.get(self.at..)?.iter().take_while(|char| **char != '\n').collect();
                let last = self.at + line.chars().count() >= self.chars.len();
                self.at = (self.at + line.chars().count() + 1).min(self.chars.len());
                if line.trim_start_matches('\t') == end {
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
                    "if" | "then" | "else" | "elif" | "while" | "until" | "do" | "!" | "{" | "time"
                    | "coproc" | "fi" | "done" | "}",
                ) => {
                    simple.words.remove(0);
                }
                Some("for" | "select") => simple.words.clear(),
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
