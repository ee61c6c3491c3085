//! The check that a script of sed only edits. `e`, also behind `s///`, runs a program.

use super::split::Word;

/// Returns whether every script among the arguments was read and runs nothing.
pub(super) fn is_plain(arguments: &[Word]) -> bool {
    let (mut given, mut scripts, mut files) = (false, Vec::new(), Vec::new());
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        let behind = |head: &str| text.strip_prefix(head).map(str::to_owned);
        let long =
            text.split_once('=').filter(|(name, _)| name.len() > 3 && "--expression".starts_with(name));
        if let Some((_, script)) = long {
            (given, _) = (true, scripts.push((script.to_owned(), word.open)));
        } else if text.len() > 3 && ("--expression".starts_with(text) || "--file".starts_with(text)) {
            let next = words.next();
            given = true;
            if "--expression".starts_with(text) {
                scripts.extend(next.map(|word| (word.text.clone(), word.open)));
            }
        } else if text.starts_with("--") {
            given |= text.starts_with("--file=");
        } else if let Some(letters) = behind("-").filter(|letters| !letters.is_empty()) {
            // Behind `i` a suffix is glued on, behind `l` a number: neither is a letter.
            let end = letters.find(['e', 'f', 'i', 'l']);
            match end.and_then(|at| Some((letters.get(at..=at)?, letters.get(at + 1..)?))) {
                Some(("e", "")) => {
                    given = true;
                    scripts.extend(words.next().map(|word| (word.text.clone(), word.open)));
                }
                Some(("e", script)) => (given, _) = (true, scripts.push((script.to_owned(), word.open))),
                Some(("f", rest)) => {
                    given = true;
                    if rest.is_empty() {
                        words.next();
                    }
                }
                _ => {}
            }
        } else {
            files.push((text.to_owned(), word.open));
        }
    }
    if !given {
        scripts.extend(files.first().cloned());
    }
    !arguments.iter().any(Word::may_be_option) && scripts.iter().all(|(script, open)| !open && edits(script))
}

/// Returns whether a script has nothing in it but commands that edit.
fn edits(script: &str) -> bool {
    let chars: Vec<char> = script.chars().collect();
    Reader { chars: &chars, at: 0 }.all().is_some()
}

struct Reader<'a> {
    chars: &'a [char],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let char = self.peek();
        self.at += 1;
        char
    }

    fn skip(&mut self, such: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&such) {
            self.at += 1;
        }
    }

    fn all(&mut self) -> Option<()> {
        loop {
            self.skip(|char| char.is_whitespace() || matches!(char, ';' | '{' | '}'));
            if self.peek().is_none() {
                return Some(());
            }
            self.address()?;
            self.command()?;
        }
    }

    /// Numbers, patterns and what joins them.
    fn address(&mut self) -> Option<()> {
        loop {
            match self.peek()? {
                '0'..='9' | '$' | ',' | '~' | '+' | '!' | ' ' | '\t' => self.at += 1,
                '/' => {
                    self.at += 1;
                    self.up_to('/')?;
                    self.skip(|char| matches!(char, 'I' | 'M'));
                }
                '\\' => {
                    self.at += 1;
                    let mark = self.next()?;
                    self.up_to(mark)?;
                    self.skip(|char| matches!(char, 'I' | 'M'));
                }
                _ => return Some(()),
            }
        }
    }

    fn command(&mut self) -> Option<()> {
        match self.next()? {
            's' => {
                let mark = self.next()?;
                self.up_to(mark)?;
                self.up_to(mark)?;
                let flags = self.at;
                self.skip(|char| char.is_ascii_alphanumeric());
                (!self.chars.get(flags..self.at)?.iter().any(|flag| matches!(flag, 'e' | 'w'))).then_some(())
            }
            'y' => {
                let mark = self.next()?;
                self.up_to(mark)?;
                self.up_to(mark)
            }
            // A text or a name up to the end of the line.
            'a' | 'i' | 'c' | 'r' | 'R' | '#' => {
                let mut before = ' ';
                while let Some(char) = self.next() {
                    if char == '\n' && before != '\\' {
                        break;
                    }
                    before = char;
                }
                Some(())
            }
            ':' | 'b' | 't' | 'T' => {
                self.skip(|char| !matches!(char, ';' | '\n' | '}'));
                Some(())
            }
            '{' | '}' => Some(()),
            'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'l' | 'n' | 'N' | 'p' | 'P' | 'q' | 'Q' | 'x' | 'z' | '='
            | 'F' => {
                self.skip(|char| char.is_ascii_digit() || matches!(char, ' ' | '\t'));
                matches!(self.peek(), None | Some(';' | '\n' | '}' | '#')).then_some(())
            }
            _ => None,
        }
    }

    /// Up to the mark that ends a part. Versions differ in whether one among brackets does, so it is not read.
    fn up_to(&mut self, mark: char) -> Option<()> {
        let mut bracket = false;
        loop {
            match self.next()? {
                '\\' if mark != '\\' => drop(self.next()?),
                char if char == mark => return (!bracket).then_some(()),
                '[' => bracket = true,
                ']' => bracket = false,
                _ => {}
            }
        }
    }
}
