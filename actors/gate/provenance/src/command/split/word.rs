//! One word of a command, quotes taken off, and what in it is only known when it runs.

use super::{Splitter, Word};

impl Splitter {
    /// Up to where the shell ends a word.
    pub(super) fn word(&mut self) -> Option<Word> {
        let mut word = Word::default();
        while let Some(char) = self.peek(0) {
            match char {
                '<' | '>' if self.peek(1) == Some('(') && word.text.is_empty() => {
                    self.at += 2;
                    let inner = self.until_bracket()?;
                    self.simple.nested.push(inner);
                    word.opens();
                }
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' => break,
                '\\' => {
                    self.at += 1;
                    word.quoted = true;
                    match self.next()? {
                        '\n' => {}
                        char => word.text.push(char),
                    }
                }
                '\'' => {
                    self.at += 1;
                    word.quoted = true;
                    loop {
                        match self.next()? {
                            '\'' => break,
                            char => word.text.push(char),
                        }
                    }
                }
                '"' => {
                    self.at += 1;
                    word.quoted = true;
                    self.double_quoted(&mut word, Some('"'))?;
                }
                '$' | '`' => self.expansion(&mut word, false)?,
                '*' | '?' | '[' | '{' | ',' | '}' => {
                    // A pattern is known when it runs; a bracket by itself is a word of the shell.
                    self.at += 1;
                    let plain = matches!(char, ',' | '}')
                        || (char == '{' && self.ends_word())
                        || (char == '[' && matches!(word.text.as_str(), "" | "["));
                    if !plain {
                        word.opens();
                    }
                    word.text.push(char);
                }
                char => {
                    self.at += 1;
                    word.text.push(char);
                }
            }
        }
        Some(word)
    }

    fn ends_word(&self) -> bool {
        self.peek(0).is_none_or(|char| matches!(char, ' ' | '\t' | '\n' | '}'))
    }

    /// Up to `end`, or up to the end of the text.
    pub(super) fn double_quoted(&mut self, word: &mut Word, end: Option<char>) -> Option<()> {
        loop {
            match self.peek(0) {
                None => return end.is_none().then_some(()),
                char if char == end => {
                    self.at += 1;
                    return Some(());
                }
                Some('\\') => {
                    self.at += 1;
                    match self.next()? {
                        '\n' => {}
                        char @ ('$' | '`' | '"' | '\\') => word.text.push(char),
                        char => word.text.extend(['\\', char]),
                    }
                }
                Some('$' | '`') => self.expansion(word, true)?,
                Some(char) => {
                    self.at += 1;
                    word.text.push(char);
                }
            }
        }
    }

    /// Behind a dollar sign or in back quotes; `quoted`: between double quotes.
    fn expansion(&mut self, word: &mut Word, quoted: bool) -> Option<()> {
        if self.next()? == '`' {
            let mut inner = String::new();
            loop {
                match self.next()? {
                    '`' => break,
                    '\\' if matches!(self.peek(0), Some('`' | '\\' | '$')) => inner.push(self.next()?),
                    char => inner.push(char),
                }
            }
            self.simple.nested.push(inner);
            word.opens();
            return Some(());
        }
        match self.peek(0) {
            Some('(') => {
                word.opens();
                self.at += 1;
                let inner = self.until_bracket()?;
                let sum = inner.starts_with('(') && inner.ends_with(')');
                if sum && inner.contains(['$', '`']) {
                    return None;
                }
                // A name in a sum is read as a sum in turn, and that may run something.
                self.script.unsure |= sum && inner.contains(|char: char| char.is_ascii_alphabetic());
                if !sum {
                    self.simple.nested.push(inner);
                }
            }
            Some('{') => {
                word.opens();
                self.braced()?;
            }
            Some('\'') if !quoted => {
                word.opens();
                self.escaped()?;
            }
            Some('"') => word.opens(),
            Some(char)
                if char.is_ascii_alphanumeric()
                    || matches!(char, '_' | '@' | '*' | '#' | '?' | '-' | '$' | '!') =>
            {
                self.at += 1;
                while self.peek(0).is_some_and(|char| char.is_ascii_alphanumeric() || char == '_') {
                    self.at += 1;
                }
                word.opens();
            }
            _ => word.text.push('$'),
        }
        Some(())
    }

    /// A variable in braces, from the opening one on.
    fn braced(&mut self) -> Option<()> {
        let from = self.at;
        while self.next()? != '}' {}
        let inner: String = self.chars.get(from + 1..self.at)?.iter().collect();
        let sum = |(_, behind): (&str, &str)| !behind.starts_with(['-', '=', '?', '+', ' ']);
        let counts = inner.contains('[') || inner.split_once(':').is_some_and(sum);
        self.script.unsure |= counts && inner.contains(|char: char| char.is_ascii_alphabetic());
        (!inner.contains(['$', '`', '"', '\'', '\\', '@'])).then_some(())
    }

    /// A text in `$'…'`, from the opening quote on: in it a backslash keeps a quote from closing.
    fn escaped(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            match self.next()? {
                '\'' => return Some(()),
                '\\' => drop(self.next()?),
                _ => {}
            }
        }
    }

    /// The text up to the bracket that closes; quoted brackets do not count.
    fn until_bracket(&mut self) -> Option<String> {
        let from = self.at;
        let mut open = 1usize;
        let mut quote = None;
        loop {
            let char = self.next()?;
            match (quote, char) {
                (Some('\''), '\'') | (Some('"'), '"') => quote = None,
                (Some('"') | None, '\\') => self.at += 1,
                (Some(_), _) => {}
                (None, '\'' | '"') => quote = Some(char),
                (None, '(') => open += 1,
                (None, ')') => open -= 1,
                (None, _) => {}
            }
            if open == 0 {
                return Some(self.chars.get(from..self.at - 1)?.iter().collect());
            }
        }
    }
}
