//! Formatted text as one string and the spans over it, in the form that every platform can show: spans nest, code holds
//! no other style and lies in none but a quote, and quotes do not nest.

use std::ops::Range;

/// The style of a span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Style {
    /// Bold.
    Bold,
    /// Italic.
    Italic,
    /// Struck through.
    Strike,
    /// Code in a line.
    Code,
    /// A block of code, and its language, which may be empty.
    Pre(String),
    /// A quotation.
    Quote,
    /// A link to this address, which is `http`, `https` or `mailto`.
    Link(String),
}

impl Style {
    /// Returns true if its text is shown as it stands, spaces and all.
    #[must_use]
    pub fn is_code(&self) -> bool {
        matches!(self, Self::Code | Self::Pre(_))
    }
}

/// A styled range, in bytes of the text and at the bounds of characters. It is not empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
    /// Its style.
    pub style: Style,
}

impl Span {
    /// Returns true if the byte at this position is inside.
    #[must_use]
    pub fn covers(&self, position: usize) -> bool {
        self.start <= position && position < self.end
    }
}

/// Among styles of the same range, the place of one: a quote is the outermost, code the innermost.
fn rank(style: &Style) -> u8 {
    match style {
        Style::Quote => 0,
        Style::Bold | Style::Italic | Style::Strike | Style::Link(_) => 1,
        Style::Code | Style::Pre(_) => 2,
    }
}

/// A step of a walk over formatted text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// A span begins.
    Open(&'a Style),
    /// Text under all spans that are open.
    Text(&'a str),
    /// The span that was opened last ends.
    Close(&'a Style),
}

/// Formatted text. Its spans are in the order of their beginnings, the outer one first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rich {
    text: String,
    spans: Vec<Span>,
}

impl Rich {
    /// Text with spans that nest; they are put in order, and those outside the text or at no bound of a character are left
    /// out.
    #[must_use]
    pub fn new(text: String, mut spans: Vec<Span>) -> Self {
        spans.retain(|span| span.start < span.end && text.get(span.start..span.end).is_some());
        spans.sort_by_key(|span| (span.start, std::cmp::Reverse(span.end), rank(&span.style)));
        Self { text, spans }
    }

    /// The text without styles.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The spans, outer ones first.
    #[must_use]
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Returns true if this position lies inside a block of code, not at its first byte.
    #[must_use]
    pub fn inside_block(&self, position: usize) -> bool {
        self.spans
            .iter()
            .any(|span| matches!(span.style, Style::Pre(_)) && span.start < position && position < span.end)
    }

    /// The same text without the spans for which this is false.
    #[must_use]
    pub fn retaining(mut self, keep: impl Fn(&Style) -> bool) -> Self {
        self.spans.retain(|span| keep(&span.style));
        self
    }

    /// A range of it: spans are cut to the range, and styles other than code do not begin or end with white space.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Self {
        let text = self.text.get(range.clone()).unwrap_or_default();
        let mut spans = Vec::new();
        for span in &self.spans {
            let (mut start, mut end) = (span.start.max(range.start), span.end.min(range.end));
            if start < end && !span.style.is_code() {
                let inner = self.text.get(start..end).unwrap_or_default();
                end = start + inner.trim_end().len();
                start += inner.len() - inner.trim_start().len();
            }
            if start < end {
                let (start, end) = (start - range.start, end - range.start);
                spans.push(Span { start, end, style: span.style.clone() });
            }
        }
        Self { text: text.to_owned(), spans }
    }

    /// The walk over it, in which every span that opens closes, the last one first.
    #[must_use]
    pub fn events(&self) -> Vec<Event<'_>> {
        let mut all = Vec::new();
        let mut open: Vec<&Span> = Vec::new();
        let mut at = 0;
        for span in &self.spans {
            self.close(&mut open, &mut at, span.start, &mut all);
            self.advance(&mut at, span.start, &mut all);
            all.push(Event::Open(&span.style));
            open.push(span);
        }
        self.close(&mut open, &mut at, self.text.len(), &mut all);
        self.advance(&mut at, self.text.len(), &mut all);
        all
    }

    /// Closes what ends at or before this position.
    fn close<'a>(&'a self, open: &mut Vec<&'a Span>, at: &mut usize, until: usize, all: &mut Vec<Event<'a>>) {
        while let Some(span) = open.pop_if(|span| span.end <= until) {
            self.advance(at, span.end, all);
            all.push(Event::Close(&span.style));
        }
    }

    fn advance<'a>(&'a self, at: &mut usize, to: usize, all: &mut Vec<Event<'a>>) {
        if let Some(text) = self.text.get(*at..to)
            && !text.is_empty()
        {
            all.push(Event::Text(text));
            *at = to;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: usize, end: usize, style: Style) -> Span {
        Span { start, end, style }
    }

    #[test]
    fn a_walk_closes_the_last_opened_span_first() {
        let rich = Rich::new("abcdef".into(), vec![span(1, 3, Style::Italic), span(0, 4, Style::Bold)]);
        assert_eq!(
            rich.events(),
            [
                Event::Open(&Style::Bold),
                Event::Text("a"),
                Event::Open(&Style::Italic),
                Event::Text("bc"),
                Event::Close(&Style::Italic),
                Event::Text("d"),
                Event::Close(&Style::Bold),
                Event::Text("ef"),
            ]
        );
    }

    #[test]
    fn a_slice_cuts_spans_and_trims_them_to_their_text() {
        let rich = Rich::new("ab cd ef".into(), vec![span(0, 8, Style::Bold)]);
        let part = rich.slice(2..6);
        assert_eq!((part.text(), part.spans()), (" cd ", &[span(1, 3, Style::Bold)][..]));
        assert!(rich.slice(2..3).spans().is_empty(), "white space alone has no style");
    }

    #[test]
    fn code_is_cut_with_its_spaces() {
        let rich = Rich::new("a  b".into(), vec![span(0, 4, Style::Pre(String::new()))]);
        assert_eq!(rich.slice(1..3).spans(), [span(0, 2, Style::Pre(String::new()))]);
    }
}
