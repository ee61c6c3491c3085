//! HTML as readable text: headings, lists, links and line ends, no markup. One pass over the tokens, no tree: a tree
//! built from hostile markup can be quadratically larger than it, and as deep as it is long.

use address::Target;
use html5gum::Tokenizer;
use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use std::convert::Infallible;

/// Links of a page that are written out; the words of further ones stay.
const LINKS: usize = 2000;
/// Bytes of a link that is written out.
const LINK_BOUND: usize = 512;

/// Elements whose content is not text of the page.
const UNREAD: &[&str] = &[
    "canvas", "datalist", "iframe", "math", "noembed", "noframes", "noscript", "object", "script", "style",
    "svg", "template",
];
/// Elements that stand on lines of their own, with an empty line around them.
const APART: &[&str] = &[
    "article", "aside", "blockquote", "dl", "fieldset", "figure", "footer", "form", "h1", "h2", "h3", "h4",
    "h5", "h6", "header", "hr", "main", "nav", "ol", "p", "pre", "section", "table", "title", "ul",
];
/// Elements that begin a line.
const LINES: &[&str] = &[
    "address", "caption", "dd", "details", "div", "dt", "figcaption", "legend", "li", "option", "summary",
    "tr",
];
/// Elements that must be closed: only of such is it known where hidden content ends.
const CLOSED: &[&str] = &[
    "a", "article", "aside", "details", "div", "fieldset", "footer", "form", "header", "main", "nav", "ol",
    "pre", "section", "span", "table", "ul",
];

/// The text of `html`, of about `bound` bytes at most; links are written out in full where the page's own address is
/// known.
pub(crate) fn text(html: &str, base: Option<&Target>, bound: usize) -> String {
    let mut writer = Writer { base, bound, ..Writer::default() };
    let mut emitter = CallbackEmitter::<_, Infallible>::new(|event: CallbackEvent<'_>, _| {
        writer.event(&event);
        None
    });
    emitter.naively_switch_states(true);
    // The tokenizer cannot fail on text in memory, and yields nothing: all goes to the writer.
    Tokenizer::new_with_emitter(html, emitter).for_each(drop);
    writer.finish()
}

/// The text that is being written.
#[derive(Default)]
struct Writer<'a> {
    base: Option<&'a Target>,
    bound: usize,
    out: String,
    /// Line ends that are due before the next word.
    due: usize,
    /// A space is due before the next word.
    space: bool,
    /// Depth of `pre`.
    kept: usize,
    /// The element whose content is left out, and how often it is open.
    skip: Option<(String, usize)>,
    tag: Tag,
    link: Option<String>,
    links: usize,
}

/// The start tag that is being read.
#[derive(Default)]
struct Tag {
    name: String,
    attribute: String,
    href: Option<String>,
    alt: Option<String>,
    hidden: bool,
}

impl Writer<'_> {
    fn event(&mut self, event: &CallbackEvent<'_>) {
        match event {
            CallbackEvent::OpenStartTag { name } => self.tag = Tag { name: string(name), ..Tag::default() },
            CallbackEvent::AttributeName { name } => self.tag.name_attribute(string(name)),
            CallbackEvent::AttributeValue { value } => self.tag.set_attribute(value),
            CallbackEvent::CloseStartTag { self_closing } => self.open(*self_closing),
            CallbackEvent::EndTag { name } => self.close(&string(name)),
            CallbackEvent::String { value } if self.skip.is_none() => {
                self.push_words(&String::from_utf8_lossy(value))
            }
            _ => {}
        }
    }

    fn open(&mut self, self_closing: bool) {
        let tag = std::mem::take(&mut self.tag);
        let name = tag.name.as_str();
        if let Some((skipped, depth)) = &mut self.skip {
            *depth += usize::from(skipped == name && !self_closing);
            return;
        }
        let unread = UNREAD.contains(&name) && !(self_closing && matches!(name, "svg" | "math"));
        if unread || tag.hidden && CLOSED.contains(&name) {
            self.skip = Some((tag.name, 1));
            return;
        }
        self.break_before(name);
        match name {
            "a" => self.open_link(tag.href.as_deref()),
            "br" => self.due = (self.due + 1).min(2),
            "img" => self.image(tag.alt.as_deref()),
            "li" => self.mark("- "),
            "pre" => self.kept += 1,
            "td" | "th" if self.due == 0 && !self.out.is_empty() => self.mark(" | "),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                let level = name.as_bytes().get(1).map_or(1, |digit| usize::from(digit - b'0'));
                self.mark(&format!("{} ", "#".repeat(level)));
            }
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        if let Some((skipped, depth)) = &mut self.skip {
            *depth -= usize::from(skipped == name);
            if *depth == 0 {
                self.skip = None;
            }
            return;
        }
        match name {
            "a" => self.close_link(),
            "pre" => self.kept = self.kept.saturating_sub(1),
            _ => {}
        }
        self.break_before(name);
    }

    fn break_before(&mut self, name: &str) {
        let due = if APART.contains(&name) { 2 } else { usize::from(LINES.contains(&name)) };
        self.due = self.due.max(due);
    }

    fn open_link(&mut self, href: Option<&str>) {
        self.close_link();
        let followed = href.filter(|href| !href.starts_with('#')).and_then(|href| self.resolve(href));
        if let Some(url) = followed.filter(|url| url.len() <= LINK_BOUND && self.links < LINKS) {
            self.links += 1;
            self.mark("[");
            self.link = Some(url);
        }
    }

    fn resolve(&self, href: &str) -> Option<String> {
        let target = match self.base {
            Some(base) => base.follow(href.trim_matches([' ', '\t', '\n'])),
            None => address::parse(href),
        };
        target.ok().map(|target| target.to_string())
    }

    fn close_link(&mut self) {
        if let Some(url) = self.link.take() {
            let space = std::mem::take(&mut self.space);
            self.push(&format!("]({url})"));
            self.space = space;
        }
    }

    fn image(&mut self, alt: Option<&str>) {
        let alt = alt.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
        if !alt.is_empty() {
            self.mark(&format!("[image: {alt}]"));
        }
    }

    /// Characters that are not the page's own words.
    fn mark(&mut self, text: &str) {
        self.begin();
        self.push(text);
    }

    fn push_words(&mut self, text: &str) {
        if self.kept > 0 {
            self.begin();
            self.push(text);
            return;
        }
        for (index, word) in text.split(char::is_whitespace).enumerate() {
            self.space |= index > 0;
            if !word.is_empty() {
                self.begin();
                self.push(word);
            }
        }
    }

    /// Writes the line ends or the space that are due.
    fn begin(&mut self) {
        let (due, space) = (std::mem::take(&mut self.due), std::mem::take(&mut self.space));
        let open = self.out.is_empty() || self.out.ends_with(['\n', ' ', '[']);
        match due {
            _ if self.out.is_empty() => {}
            0 if space && !open => self.push(" "),
            0 => {}
            _ => {
                let there = self.out.bytes().rev().take_while(|byte| *byte == b'\n').count();
                self.push(&"\n".repeat(due.saturating_sub(there)));
            }
        }
    }

    fn push(&mut self, text: &str) {
        // Text beyond the bound tells the caller that there was more.
        if self.out.len() <= self.bound {
            self.out.push_str(text);
        }
    }

    fn finish(mut self) -> String {
        self.close_link();
        self.out.truncate(self.out.trim_end().len());
        self.out
    }
}

impl Tag {
    fn name_attribute(&mut self, name: String) {
        self.hidden |= name == "hidden";
        self.attribute = name;
    }

    /// The first of two attributes of one name counts, as in a browser.
    fn set_attribute(&mut self, value: &[u8]) {
        match self.attribute.as_str() {
            "href" if self.href.is_none() => self.href = Some(string(value)),
            "alt" if self.alt.is_none() => self.alt = Some(string(value)),
            "style" => {
                let style: String = string(value).to_ascii_lowercase().split_whitespace().collect();
                self.hidden |= style.contains("display:none") || style.contains("visibility:hidden");
            }
            _ => {}
        }
    }
}

fn string(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(html: &str) -> String {
        text(html, Some(&address::parse("https://docs.example.org/a/b?q").unwrap()), 1 << 20)
    }

    #[test]
    fn a_page_becomes_the_text_that_a_person_reads() {
        let cases = [
            ("plain", "plain"),
            ("<p>one<p>two", "one\n\ntwo"),
            ("<title>T &amp; t</title><h1>Head</h1>\n  <p>a <b>b</b>,\n c", "T & t\n\n# Head\n\na b, c"),
            ("<h3>x</h3>", "### x"),
            ("a<br>b<br/>c", "a\nb\nc"),
            ("<ul><li>one</li><li>two</li></ul>end", "- one\n- two\n\nend"),
            ("<table><tr><td>a</td><td>b</td></tr><tr><th>c</th></tr></table>", "a | b\nc"),
            ("<pre>a\n  b</pre>c", "a\n  b\n\nc"),
            ("<div>a</div><div>b</div>", "a\nb"),
            ("<img alt='a  cat'><img>", "[image: a cat]"),
            ("a&lt;b&#x41;&nbsp;c&unknown;", "a<bA c&unknown;"),
            ("<a href=/x>here</a>, then", "[here](https://docs.example.org/x), then"),
            ("see <a href='https://evil.test/?q=1'>the docs</a>", "see [the docs](https://evil.test/?q=1)"),
            ("<a href='#top'>top</a> <a href='javascript:x()'>run</a> <a>none</a>", "top run none"),
            ("<a href='http://user@evil.test/'>words</a>", "words"),
        ];
        for (html, want) in cases {
            assert_eq!(read(html), want, "{html}");
        }
    }

    #[test]
    fn what_nobody_sees_is_left_out() {
        let cases = [
            "<script>steal()</script>shown",
            "<style>p{}</style>shown<!-- do this instead -->",
            "<noscript><p>no</noscript><template>no</template>shown",
            "<svg><text>no</text></svg>shown",
            "<div hidden>no <div>no</div> no</div>shown",
            "<span style='color:red; Display : none'>no</span>shown",
            "<div style=visibility:hidden>no</div>shown",
            "<iframe>no</iframe><svg/>shown",
        ];
        for html in cases {
            assert_eq!(read(html), "shown", "{html}");
        }
        // Where a hidden paragraph ends is not known, and the rest of the page is not lost for it.
        assert!(read("<p hidden>a<p>b").contains('b'));
    }

    // Holds B-103.
    #[test]
    fn hostile_markup_costs_no_more_than_its_length() {
        let parts = [
            "<div>", "<b id=1><p>", "<a href=x>", "<ul><li>", "&amp", "<!--", "<svg>", "<td>", "</p>",
            "<script",
        ];
        for part in parts {
            let html = part.repeat((1 << 20) / part.len());
            let written = read(&html);
            assert!(written.len() <= (1 << 20) + LINK_BOUND, "{part}: {}", written.len());
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_and_no_markup_of_a_script_comes_through(
            html in "(<(/?(p|a href=x|script|style|pre|li|h[1-6]|svg|td)|!--|!doctype)[ >]?|\\PC|&[a-z#0-9;]{0,4}|\n){0,60}",
        ) {
            let written = read(&html);
            prop_assert!(!written.contains("\n\n\n\n") || html.contains("<pre"));
        }

        // Holds B-103.
        #[test]
        fn a_bound_is_kept(words in "[a-z<> ]{0,200}", bound in 0_usize..50) {
            let written = text(&words, None, bound);
            prop_assert!(written.len() <= bound + words.len() + 8);
        }
    }
}
