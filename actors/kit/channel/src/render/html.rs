//! HTML, in the few elements that Matrix and e-mail show.

use crate::rich::{Event, Rich, Style};

pub(crate) fn html(rich: &Rich) -> String {
    let mut out = String::new();
    let mut block = false;
    for event in rich.events() {
        match event {
            Event::Open(style) => {
                block |= matches!(style, Style::Pre(_));
                open(style, &mut out);
            }
            Event::Close(style) => {
                block &= !matches!(style, Style::Pre(_));
                out.push_str(close(style));
            }
            Event::Text(text) => escape(text, !block, &mut out),
        }
    }
    out
}

fn open(style: &Style, out: &mut String) {
    match style {
        Style::Bold => out.push_str("<strong>"),
        Style::Italic => out.push_str("<em>"),
        Style::Strike => out.push_str("<del>"),
        Style::Code => out.push_str("<code>"),
        Style::Quote => out.push_str("<blockquote>"),
        Style::Pre(language) if language.is_empty() => out.push_str("<pre><code>"),
        Style::Pre(language) => {
            out.push_str("<pre><code class=\"language-");
            escape(language, false, out);
            out.push_str("\">");
        }
        Style::Link(address) => {
            out.push_str("<a href=\"");
            escape(address, false, out);
            out.push_str("\">");
        }
    }
}

fn close(style: &Style) -> &'static str {
    match style {
        Style::Bold => "</strong>",
        Style::Italic => "</em>",
        Style::Strike => "</del>",
        Style::Code => "</code>",
        Style::Quote => "</blockquote>",
        Style::Pre(_) => "</code></pre>",
        Style::Link(_) => "</a>",
    }
}

fn escape(text: &str, breaks: bool, out: &mut String) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' if breaks => out.push_str("<br>"),
            other => out.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::{Links, parse};

    #[test]
    fn markup_of_the_answer_is_escaped_in_text_code_and_addresses() {
        let shown = |markdown: &str| html(&parse(markdown, Links::Live));
        assert_eq!(
            shown("a < b & **c**\n\n`<i>`"),
            "a &lt; b &amp; <strong>c</strong><br><br><code>&lt;i&gt;</code>"
        );
        assert_eq!(shown("```\na\nb\n```"), "<pre><code>a\nb</code></pre>");
        assert_eq!(
            shown("[x](<https://a.example/\"onclick=>)"),
            "<a href=\"https://a.example/&quot;onclick=\">x</a>"
        );
    }
}
