//! Dialects that mark styles in the text itself.

use crate::rich::{Event, Rich, Style};

/// The form of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinkForm {
    /// `[text](<address>)`, without a preview.
    Brackets,
    /// `<address|text>`.
    Angles,
    /// The text, and the address in parentheses.
    Beside,
}

/// The marks of a dialect; an empty one is left out.
pub(crate) struct Marks {
    bold: &'static str,
    italic: &'static str,
    strike: &'static str,
    code: &'static str,
    fence: &'static str,
    quote: &'static str,
    languages: bool,
    link: LinkForm,
    escape: fn(&str, bool, &mut String),
}

pub(crate) const DISCORD: Marks = Marks {
    bold: "**",
    italic: "*",
    strike: "~~",
    code: "`",
    fence: "```",
    quote: "> ",
    languages: true,
    link: LinkForm::Brackets,
    escape: escape_discord,
};

pub(crate) const SLACK: Marks = Marks {
    bold: "*",
    italic: "_",
    strike: "~",
    code: "`",
    fence: "```",
    quote: "> ",
    languages: false,
    link: LinkForm::Angles,
    escape: escape_slack,
};

pub(crate) const WHATSAPP: Marks = Marks { link: LinkForm::Beside, escape: escape_whatsapp, ..SLACK };

pub(crate) const PLAIN: Marks = Marks {
    bold: "",
    italic: "",
    strike: "",
    code: "",
    fence: "",
    quote: "> ",
    languages: false,
    link: LinkForm::Beside,
    escape: |text, _, out| out.push_str(text),
};

/// Text with marks.
pub(crate) fn marked(rich: &Rich, marks: &Marks) -> String {
    let mut writer = Writer { marks, out: String::new(), quoted: false, code: Code::None, link: 0 };
    for event in rich.events() {
        match event {
            Event::Open(style) => writer.open(style),
            Event::Text(text) => writer.text(text),
            Event::Close(style) => writer.close(style),
        }
    }
    writer.out
}

/// The code that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Code {
    None,
    Line,
    Block,
}

struct Writer<'a> {
    marks: &'a Marks,
    out: String,
    quoted: bool,
    code: Code,
    /// The byte at which the text of the open link begins.
    link: usize,
}

impl Writer<'_> {
    fn open(&mut self, style: &Style) {
        match style {
            Style::Bold => self.out.push_str(self.marks.bold),
            Style::Italic => self.out.push_str(self.marks.italic),
            Style::Strike => self.out.push_str(self.marks.strike),
            Style::Code => {
                self.code = Code::Line;
                self.out.push_str(self.marks.code);
            }
            Style::Pre(language) => {
                self.code = Code::Block;
                if !self.marks.fence.is_empty() {
                    self.out.push_str(self.marks.fence);
                    self.out.push_str(if self.marks.languages { language } else { "" });
                    self.line();
                }
            }
            Style::Quote => {
                self.quoted = true;
                self.out.push_str(self.marks.quote);
            }
            Style::Link(address) => {
                match self.marks.link {
                    LinkForm::Brackets => self.out.push('['),
                    LinkForm::Angles => {
                        self.out.push('<');
                        self.out.push_str(&encoded(address));
                        self.out.push('|');
                    }
                    LinkForm::Beside => {}
                }
                self.link = self.out.len();
            }
        }
    }

    fn close(&mut self, style: &Style) {
        match style {
            Style::Bold => self.out.push_str(self.marks.bold),
            Style::Italic => self.out.push_str(self.marks.italic),
            Style::Strike => self.out.push_str(self.marks.strike),
            Style::Code => {
                self.code = Code::None;
                self.out.push_str(self.marks.code);
            }
            Style::Pre(_) => {
                self.code = Code::None;
                if !self.marks.fence.is_empty() {
                    self.line();
                    self.out.push_str(self.marks.fence);
                }
            }
            Style::Quote => self.quoted = false,
            Style::Link(address) => match self.marks.link {
                LinkForm::Brackets => self.out.push_str(&format!("](<{}>)", encoded(address))),
                LinkForm::Angles => self.out.push('>'),
                LinkForm::Beside => {
                    if self.out.get(self.link..) != Some(address) {
                        self.out.push_str(&format!(" ({address})"));
                    }
                }
            },
        }
    }

    fn line(&mut self) {
        self.out.push('\n');
        if self.quoted {
            self.out.push_str(self.marks.quote);
        }
    }

    fn text(&mut self, text: &str) {
        let (code, fenced) = (self.code != Code::None, text.contains("```"));
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                self.line();
            }
            match self.code {
                Code::Line if !self.marks.code.is_empty() => {
                    (self.marks.escape)(&line.replace('`', "\u{2cb}"), code, &mut self.out);
                }
                // A fence in the code does not end it: a space of no width follows each mark.
                Code::Block if fenced && !self.marks.fence.is_empty() => {
                    (self.marks.escape)(&line.replace('`', "`\u{200b}"), code, &mut self.out);
                }
                _ => (self.marks.escape)(line, code, &mut self.out),
            }
        }
    }
}

/// An address without the characters that end one.
fn encoded(address: &str) -> String {
    let mut out = String::new();
    for character in address.chars() {
        match character {
            '<' => out.push_str("%3C"),
            '>' => out.push_str("%3E"),
            '|' => out.push_str("%7C"),
            '\\' => out.push_str("%5C"),
            '`' => out.push_str("%60"),
            '*' => out.push_str("%2A"),
            '~' => out.push_str("%7E"),
            other => out.push(other),
        }
    }
    out
}

/// A backslash before each mark. An address in the text stays as it is where it holds no mark but `_`.
fn escape_discord(text: &str, code: bool, out: &mut String) {
    if code {
        return out.push_str(text);
    }
    for word in text.split_inclusive(char::is_whitespace) {
        let address = word.starts_with("https://") || word.starts_with("http://");
        if address && !word.contains(['\\', '*', '~', '`', '|', '<', '>', '[', ']', '(', ')']) {
            out.push_str(word);
            continue;
        }
        for character in word.chars() {
            if matches!(
                character,
                '\\' | '*' | '_' | '~' | '`' | '|' | '>' | '<' | '[' | ']' | '(' | ')' | '#'
            ) {
                out.push('\\');
            }
            out.push(character);
        }
    }
}

/// The three characters that Slack reads itself; a mark has a joiner of no width before it, since there is no escape.
fn escape_slack(text: &str, code: bool, out: &mut String) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '*' | '_' | '~' | '`' if !code => out.extend(['\u{2060}', character]),
            other => out.push(other),
        }
    }
}

fn escape_whatsapp(text: &str, code: bool, out: &mut String) {
    for character in text.chars() {
        if !code && matches!(character, '*' | '_' | '~' | '`') {
            out.push('\u{2060}');
        }
        out.push(character);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::{Links, parse};

    fn shown(markdown: &str, marks: &Marks) -> String {
        marked(&parse(markdown, Links::Live), marks)
    }

    #[test]
    fn each_dialect_has_its_marks() {
        let markdown = "**b** *i* ~~s~~ `c` [x](https://a.example/)";
        assert_eq!(shown(markdown, &DISCORD), "**b** *i* ~~s~~ `c` [x](<https://a.example/>)");
        assert_eq!(shown(markdown, &SLACK), "*b* _i_ ~s~ `c` <https://a.example/|x>");
        assert_eq!(shown(markdown, &WHATSAPP), "*b* _i_ ~s~ `c` x (https://a.example/)");
        assert_eq!(shown(markdown, &PLAIN), "b i s c x (https://a.example/)");
    }

    #[test]
    fn marks_of_the_answer_itself_are_text() {
        assert_eq!(shown("2 \\* 3 \\_a\\_ <@123>", &DISCORD), "2 \\* 3 \\_a\\_ \\<@123\\>");
        assert_eq!(shown("a & b <!everyone>", &SLACK), "a &amp; b &lt;!everyone&gt;");
        assert_eq!(shown("https://a.example/x_y_z", &DISCORD), "https://a.example/x_y_z");
    }

    #[test]
    fn a_quote_marks_each_of_its_lines() {
        assert_eq!(shown("> a\n> b\n\nc", &DISCORD), "> a\n> b\n\nc");
        assert_eq!(shown("> ```\n> x\n> ```", &SLACK), "> ```\n> x\n> ```");
    }

    #[test]
    fn a_fence_in_code_does_not_end_the_code() {
        let text = shown("````\n```\nx\n```\n````", &DISCORD);
        assert_eq!(text.matches("```").count(), 2, "{text}");
    }
}
