//! Markdown to formatted text.

use super::*;

fn live(markdown: &str) -> Rich {
    parse(markdown, Links::Live)
}

fn spans(rich: &Rich) -> Vec<(&str, Style)> {
    rich.spans().iter().map(|span| (&rich.text()[span.start..span.end], span.style.clone())).collect()
}

#[test]
fn blocks_are_parted_by_one_empty_line() {
    let rich = live("# Title\n\nfirst\nline\n\n- a\n- b\n  1. c\n\nlast");
    assert_eq!(rich.text(), "Title\n\nfirst\nline\n\n• a\n• b\n  1. c\n\nlast");
    assert_eq!(spans(&rich), [("Title", Style::Bold)]);
}

#[test]
fn code_lies_in_no_other_style() {
    let rich = live("**a `b` c**");
    assert_eq!(rich.text(), "a b c");
    assert_eq!(spans(&rich), [("a ", Style::Bold), ("b", Style::Code), (" c", Style::Bold)]);
}

#[test]
fn a_style_within_the_same_style_is_one() {
    let rich = live("# a **b** c\n\n> x\n>\n> > y");
    assert_eq!(spans(&rich), [("a b c", Style::Bold), ("x\n\ny", Style::Quote)]);
}

#[test]
fn a_block_of_code_keeps_its_spaces_and_its_language() {
    let rich = live("```rust,ignore\n  fn a() {}\n\n```\nafter");
    assert_eq!(rich.text(), "  fn a() {}\n\nafter");
    assert_eq!(spans(&rich), [("  fn a() {}", Style::Pre("rust".into()))]);
}

// Holds P11-15.
#[test]
fn an_image_is_text_and_its_address_is_code() {
    let rich = live("![a cat](https://evil.example/?q=secret)");
    assert_eq!(rich.text(), "a cat https://evil.example/?q=secret");
    assert_eq!(spans(&rich), [("https://evil.example/?q=secret", Style::Code)]);
    assert_eq!(live("![](data:image/png;base64,AAAA)").text(), "[image]");
}

#[test]
fn only_links_of_the_web_can_be_followed() {
    let rich = live("[a](https://x.example/) [b](tg://user?id=1) [c](javascript:alert)");
    assert_eq!(rich.text(), "a b c");
    assert_eq!(spans(&rich), [("a", Style::Link("https://x.example/".into()))]);
}

// Holds P11-15.
#[test]
fn a_link_as_code_shows_the_address_that_it_leads_to() {
    let rich = parse("see [your bank](https://evil.example/x)", Links::AsCode { except: &[] });
    assert_eq!(rich.text(), "see your bank https://evil.example/x");
    assert_eq!(spans(&rich), [("https://evil.example/x", Style::Code)]);
    let own = ["https://own.example/".to_owned()];
    let rich = parse("[mine](https://own.example/)", Links::AsCode { except: &own });
    assert_eq!(spans(&rich), [("mine", Style::Link("https://own.example/".into()))]);
}

#[test]
fn an_address_that_marks_cut_apart_becomes_code_whole() {
    let rich = parse("https://ev**il.exam**ple/", Links::AsCode { except: &[] });
    assert_eq!(spans(&rich), [("https://evil.example/", Style::Code)]);
}

#[test]
fn html_stays_text_and_control_characters_are_left_out() {
    let rich = live("<b>x</b> \u{202e}y\u{7}");
    assert_eq!(rich.text(), "<b>x</b> y");
    assert!(rich.spans().is_empty());
}

#[test]
fn a_table_is_a_block_of_code() {
    let rich = live("| a | b |\n|---|---|\n| **1** | `2` |");
    assert_eq!(spans(&rich), [("a | b\n--+--\n1 | 2", Style::Pre(String::new()))]);
}
