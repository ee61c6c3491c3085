//! Markdown to formatted text. HTML stays text, images become text, and tables become lines of code.

use crate::bare;
use crate::rich::{Rich, Span, Style};
use crate::table::Table;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd, TextMergeStream};

/// The longest address of a link, in bytes; a longer one is left out.
const MAX_ADDRESS: usize = 2048;
/// The longest name of a language, in characters.
const MAX_LANGUAGE: usize = 32;
/// The deepest list that is still indented.
const MAX_INDENT: usize = 8;

/// The treatment of links in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links<'a> {
    /// A link can be followed.
    Live,
    /// A link is shown as code, unless its address is one of these: the session has read untrusted content, and these were
    /// in the person's own message.
    AsCode {
        /// The addresses that stay links.
        except: &'a [String],
    },
}

/// Parses Markdown.
#[must_use]
pub fn parse(markdown: &str, links: Links<'_>) -> Rich {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut builder = Builder::new(links);
    for event in TextMergeStream::new(Parser::new_ext(markdown, options)) {
        builder.event(event);
    }
    let rich = Rich::new(builder.out, builder.spans);
    match links {
        Links::Live => rich,
        Links::AsCode { except } => bare::as_code(rich, except),
    }
}

/// A style that is open. It is none where an outer one says the same, or where there can be none.
struct Open {
    style: Option<Style>,
    start: usize,
}

/// The numbers of open styles.
#[derive(Default)]
struct Depth {
    bold: usize,
    italic: usize,
    strike: usize,
    quote: usize,
    link: usize,
}

impl Depth {
    fn of(&mut self, style: &Style) -> Option<&mut usize> {
        match style {
            Style::Bold => Some(&mut self.bold),
            Style::Italic => Some(&mut self.italic),
            Style::Strike => Some(&mut self.strike),
            Style::Quote => Some(&mut self.quote),
            Style::Link(_) => Some(&mut self.link),
            Style::Code | Style::Pre(_) => None,
        }
    }
}

struct Builder<'a> {
    links: Links<'a>,
    out: String,
    spans: Vec<Span>,
    open: Vec<Open>,
    depth: Depth,
    /// The line breaks that are due before the next text.
    due: usize,
    /// An item's marker was just written: its first block follows on the same line.
    marked: bool,
    /// The next number of each open list; none in a list without numbers.
    lists: Vec<Option<u64>>,
    /// The text of the open block of code or HTML.
    block: Option<String>,
    language: String,
    table: Option<Table>,
    /// The addresses of open links and images.
    addresses: Vec<String>,
}

impl<'a> Builder<'a> {
    fn new(links: Links<'a>) -> Self {
        Self {
            links,
            out: String::new(),
            spans: Vec::new(),
            open: Vec::new(),
            depth: Depth::default(),
            due: 0,
            marked: false,
            lists: Vec::new(),
            block: None,
            language: String::new(),
            table: None,
            addresses: Vec::new(),
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => self.push(&text),
            Event::Code(text) => self.code(&text),
            Event::SoftBreak | Event::HardBreak => self.push("\n"),
            Event::Rule => {
                self.need(2);
                self.push("———");
                self.need(2);
            }
            Event::TaskListMarker(done) => self.push(if done { "☑ " } else { "☐ " }),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.need(2),
            Tag::Heading { .. } => {
                self.need(2);
                self.begin(Some(Style::Bold));
            }
            Tag::BlockQuote(_) => {
                self.need(2);
                self.begin(Some(Style::Quote));
            }
            Tag::CodeBlock(kind) => {
                self.language = language(&kind);
                self.block = Some(String::new());
            }
            Tag::HtmlBlock => self.block = Some(String::new()),
            Tag::List(first) => {
                self.need(if self.lists.is_empty() { 2 } else { 1 });
                self.lists.push(first);
            }
            Tag::Item => self.item(),
            Tag::Table(_) => self.table = Some(Table::default()),
            Tag::TableHead | Tag::TableRow => self.with_table(Table::row),
            Tag::TableCell => self.with_table(Table::cell),
            Tag::Emphasis => self.begin(Some(Style::Italic)),
            Tag::Strong => self.begin(Some(Style::Bold)),
            Tag::Strikethrough => self.begin(Some(Style::Strike)),
            Tag::Link { dest_url, .. } => self.link(dest_url.into_string()),
            Tag::Image { dest_url, .. } => {
                self.addresses.push(dest_url.into_string());
                self.begin(None);
            }
            // Extensions that are not enabled.
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) | TagEnd::BlockQuote(_) => {
                self.finish();
                self.need(2);
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => drop(self.finish()),
            TagEnd::CodeBlock => {
                let (text, language) =
                    (self.block.take().unwrap_or_default(), std::mem::take(&mut self.language));
                self.pre(text.trim_end_matches('\n'), language);
            }
            TagEnd::HtmlBlock => {
                let text = self.block.take().unwrap_or_default();
                self.need(2);
                self.push(text.trim_end());
                self.need(2);
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.need(if self.lists.is_empty() { 2 } else { 1 });
            }
            TagEnd::Table => {
                let text = self.table.take().unwrap_or_default().text();
                self.pre(&text, String::new());
            }
            TagEnd::Link => self.end_link(),
            TagEnd::Image => self.end_image(),
            TagEnd::Item => self.marked = false,
            TagEnd::Paragraph
            | TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::TableCell
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    fn with_table(&mut self, step: impl Fn(&mut Table)) {
        if let Some(table) = &mut self.table {
            step(table);
        }
    }

    /// Asks for at least so many line breaks before the next text.
    fn need(&mut self, breaks: usize) {
        if !self.marked {
            self.due = self.due.max(breaks);
        }
    }

    fn flush(&mut self) {
        if !self.out.is_empty() {
            let there = self.out.bytes().rev().take_while(|byte| *byte == b'\n').count();
            (there..self.due).for_each(|_| self.out.push('\n'));
        }
        self.due = 0;
    }

    fn item(&mut self) {
        self.marked = false;
        self.need(1);
        self.flush();
        let depth = self.lists.len().saturating_sub(1).min(MAX_INDENT);
        self.out.push_str(&"  ".repeat(depth));
        match self.lists.last_mut() {
            Some(Some(number)) => {
                self.out.push_str(&format!("{number}. "));
                *number = number.saturating_add(1);
            }
            _ => self.out.push_str("• "),
        }
        self.marked = true;
    }

    fn push(&mut self, text: &str) {
        if let Some(block) = &mut self.block {
            block.push_str(text);
        } else if let Some(table) = &mut self.table {
            table.push(text);
        } else if !text.is_empty() {
            self.flush();
            self.out.extend(text.chars().filter(|character| is_shown(*character)));
            self.marked = false;
        }
    }

    fn begin(&mut self, style: Option<Style>) {
        self.flush();
        let style = style.filter(|_| self.table.is_none()).filter(|style| {
            self.depth.of(style).is_none_or(|depth| {
                *depth += 1;
                *depth == 1
            })
        });
        // A style within the same style is none, and the depth counts only what is open.
        self.open.push(Open { style, start: self.out.len() });
    }

    /// Ends the style that was opened last, and gives where it began.
    fn finish(&mut self) -> usize {
        let Some(Open { style, start }) = self.open.pop() else { return self.out.len() };
        if let Some(style) = style {
            if let Some(depth) = self.depth.of(&style) {
                *depth = 0;
            }
            self.spans.push(Span { start, end: self.out.len(), style });
        }
        start
    }

    /// Code in a line: the styles that are open end before it and begin again after it.
    fn code(&mut self, text: &str) {
        if self.table.is_some() || self.block.is_some() || self.depth.link > 0 {
            return self.push(text);
        }
        self.flush();
        let start = self.out.len();
        let inline = |style: &Style| !matches!(style, Style::Quote);
        for Open { style, start: began } in self.open.iter().rev() {
            if let Some(style) = style.as_ref().filter(|style| inline(style)) {
                self.spans.push(Span { start: *began, end: start, style: style.clone() });
            }
        }
        self.push(text);
        let end = self.out.len();
        self.spans.push(Span { start, end, style: Style::Code });
        for open in self.open.iter_mut().filter(|open| open.style.as_ref().is_some_and(inline)) {
            open.start = end;
        }
    }

    fn pre(&mut self, text: &str, language: String) {
        if text.trim().is_empty() {
            return;
        }
        self.need(2);
        self.flush();
        let start = self.out.len();
        self.push(text);
        self.spans.push(Span { start, end: self.out.len(), style: Style::Pre(language) });
        self.need(2);
    }

    fn link(&mut self, address: String) {
        let live = match self.links {
            Links::Live => true,
            Links::AsCode { except } => except.contains(&address),
        };
        let style = (live && is_address(&address)).then(|| Style::Link(address.clone()));
        self.addresses.push(address);
        self.begin(style);
    }

    fn end_link(&mut self) {
        let live = self.depth.link > 0;
        let start = self.finish();
        let address = self.addresses.pop().unwrap_or_default();
        if !live && is_address(&address) && self.out.get(start..) != Some(&address) {
            self.push(" ");
            self.code(&address);
        }
    }

    /// An image is its description and its address as code, so that nothing is fetched.
    fn end_image(&mut self) {
        let start = self.finish();
        let address = self.addresses.pop().unwrap_or_default();
        let described = self.out.len() > start;
        if is_address(&address) && self.depth.link == 0 {
            self.push(if described { " " } else { "" });
            self.code(&address);
        } else if !described {
            self.push("[image]");
        }
    }
}

/// Returns true for an address that a person may be led to.
fn is_address(address: &str) -> bool {
    address.len() <= MAX_ADDRESS
        && ["https://", "http://"]
            .iter()
            .any(|scheme| address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)))
        && !address.chars().any(|character| character.is_whitespace() || character.is_control())
}

/// Returns false for control characters and for those that turn the direction of what follows.
fn is_shown(character: char) -> bool {
    matches!(character, '\n' | '\t')
        || !(character.is_control() || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
}

fn language(kind: &CodeBlockKind<'_>) -> String {
    let CodeBlockKind::Fenced(info) = kind else { return String::new() };
    let name = info.split(|c: char| c.is_whitespace() || c == ',').next().unwrap_or_default();
    let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '-' | '_' | '.');
    name.chars().filter(plain).take(MAX_LANGUAGE).collect()
}

#[cfg(test)]
#[path = "parse/tests.rs"]
mod tests;
