//! Generated Markdown in every dialect: within the limits, balanced, and nothing lost.

#![expect(clippy::indexing_slicing, reason = "a generated text that is sliced wrongly fails its test")]

use channel::{
    DISCORD, Entity, EntityKind, Facts, Links, MATRIX, Rendered, Rich, SIGNAL, SLACK, TELEGRAM, WHATSAPP,
    parse, render, split,
};
use proptest::prelude::*;

/// Texts for each dialect.
const CASES: u32 = 10_000;

/// A piece of Markdown: marks that open and do not close, blocks that nest, text of many scripts.
fn piece() -> impl Strategy<Value = String> {
    let marks = prop::sample::select(vec![
        "**",
        "*",
        "_",
        "__",
        "~~",
        "`",
        "``",
        "```\n",
        "```rust\n",
        "\n```\n",
        "> ",
        ">> ",
        "# ",
        "- ",
        "  - ",
        "1. ",
        "\n",
        "\n\n",
        "\n    ",
        "[a](https://a.example/x_y)",
        "[b **c**](<https://b.example/(>)",
        "![i](https://c.example/)",
        "](",
        "[",
        "|",
        "\n| a | b |\n|---|---|\n| c | d |\n",
        "https://d.example/a_b?c*d",
        "<b>",
        "</b>",
        "&amp;",
        "&lt;",
        "\\",
        "\\*",
        "@everyone",
        "<@1>",
        "---\n",
        "- [x] ",
    ]);
    let words = prop::sample::select(vec![
        "word",
        "two words",
        "A sentence. Another one.",
        "snake_case_name",
        "2 * 3",
        "日本語の文章です。",
        "😀",
        "👩‍👩‍👧‍👦",
        "e\u{301}",
        "\u{202e}",
        "a`b",
        "c > d & e < f",
        "   ",
        "\t",
        "ünïcödé",
        "longlonglonglonglonglonglonglonglonglonglonglong",
    ]);
    prop_oneof![marks.prop_map(str::to_owned), words.prop_map(str::to_owned), "\\PC{0,12}"]
}

fn markdown() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..60).prop_map(|pieces| pieces.concat())
}

fn links() -> impl Strategy<Value = Links<'static>> {
    prop_oneof![Just(Links::Live), Just(Links::AsCode { except: &[] })]
}

fn shown(text: &str) -> String {
    text.chars().filter(|character| !character.is_whitespace()).collect()
}

/// Parts a text and holds what is so in every dialect.
fn checked(markdown: &str, links: Links<'_>, facts: &Facts) -> Result<Vec<(Rich, Rendered)>, TestCaseError> {
    let rich = parse(markdown, links);
    let parts = split(&rich, facts, usize::MAX);
    let text: String = parts.iter().map(|part| shown(part.text())).collect();
    prop_assert_eq!(text, shown(rich.text()), "nothing is lost or said twice");
    let mut all = Vec::new();
    for part in parts {
        let rendered = render(&part, facts.dialect);
        prop_assert!(
            rendered.length(facts.unit) <= facts.text,
            "{} in {rendered:?}",
            rendered.length(facts.unit)
        );
        prop_assert!(!rendered.text().trim().is_empty());
        all.push((part, rendered));
    }
    Ok(all)
}

/// The rules by which Telegram takes entities.
fn entities(text: &str, all: &[Entity]) -> Result<(), TestCaseError> {
    let units: Vec<u16> = text.encode_utf16().collect();
    for entity in all {
        prop_assert!(entity.length > 0 && entity.offset + entity.length <= units.len(), "{entity:?}");
        let inside = &units[entity.offset..entity.offset + entity.length];
        prop_assert!(String::from_utf16(inside).is_ok(), "{entity:?} cuts a character");
    }
    let code = |entity: &Entity| matches!(entity.kind, EntityKind::Code | EntityKind::Pre(_));
    for (index, a) in all.iter().enumerate() {
        for b in &all[index + 1..] {
            let (a_end, b_end) = (a.offset + a.length, b.offset + b.length);
            let apart = a_end <= b.offset || b_end <= a.offset;
            let nested = a.offset <= b.offset && b_end <= a_end;
            prop_assert!(apart || nested, "{a:?} {b:?}");
            let quoted = a.kind == EntityKind::Quote && b.kind != EntityKind::Quote;
            prop_assert!(apart || quoted || !(code(a) || code(b)), "{a:?} {b:?}");
            prop_assert!(apart || quoted || a.kind != b.kind, "{a:?} {b:?}");
        }
    }
    Ok(())
}

/// Returns true if every element that begins ends, the last one first.
fn is_balanced(html: &str) -> bool {
    let mut open = Vec::new();
    for tag in html.split('<').skip(1) {
        let Some((tag, _)) = tag.split_once('>') else { return false };
        let name = tag.split(' ').next().unwrap_or_default();
        match name.strip_prefix('/') {
            Some(name) if open.pop() != Some(name) => return false,
            None if name != "br" => open.push(name),
            Some(_) | None => {}
        }
    }
    open.is_empty()
}

/// The text outside blocks of code, or none if a block does not end.
fn outside_blocks(text: &str) -> Option<String> {
    let parts: Vec<&str> = text.split("```").collect();
    (parts.len() % 2 == 1).then(|| parts.iter().step_by(2).copied().collect())
}

/// Returns true if code ends and each of Discord's marks stands an even number of times outside code and escapes.
fn is_even_in_discord(text: &str) -> bool {
    let Some(text) = outside_blocks(text) else { return false };
    let (mut stars, mut waves) = (0, 0);
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => drop(characters.next()),
            '`' if !characters.any(|next| next == '`') => return false,
            '*' => stars += 1,
            '~' => waves += 1,
            _ => {}
        }
    }
    stars % 2 == 0 && waves % 2 == 0
}

/// Returns true if blocks of code end, and so does code in a line; a mark of the text has a joiner before it.
fn has_even_code(text: &str) -> bool {
    let plain = |text: String| text.replace("\u{2060}`", "");
    outside_blocks(text).map(plain).is_some_and(|text| text.matches('`').count() % 2 == 0)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    // Holds P11-13.
    #[test]
    fn telegram_gets_entities_that_nest_within_its_limits(
        markdown in markdown(), links in links(), text in 24_usize..300, spans in 6_usize..20,
    ) {
        for (_, rendered) in checked(&markdown, links, &Facts { text, spans, ..TELEGRAM })? {
            let Rendered::Entities { text, entities: all } = rendered else { panic!("entities") };
            prop_assert!(all.len() <= spans);
            entities(&text, &all)?;
        }
    }

    // Holds P11-13.
    #[test]
    fn discord_gets_marks_that_pair_within_its_limits(
        markdown in markdown(), links in links(), text in 120_usize..400,
    ) {
        for (_, rendered) in checked(&markdown, links, &Facts { text, ..DISCORD })? {
            prop_assert!(is_even_in_discord(rendered.text()), "{}", rendered.text());
        }
    }

    #[test]
    fn slack_gets_marks_that_pair_within_its_limits(
        markdown in markdown(), links in links(), text in 120_usize..400,
    ) {
        for (_, rendered) in checked(&markdown, links, &Facts { text, ..SLACK })? {
            prop_assert!(has_even_code(rendered.text()), "{}", rendered.text());
        }
    }

    #[test]
    fn whatsapp_gets_fences_that_pair_within_its_limits(
        markdown in markdown(), links in links(), text in 120_usize..400,
    ) {
        for (_, rendered) in checked(&markdown, links, &Facts { text, ..WHATSAPP })? {
            prop_assert!(has_even_code(rendered.text()), "{}", rendered.text());
        }
    }

    // Holds P11-13.
    #[test]
    fn matrix_gets_elements_that_nest_within_its_limits(
        markdown in markdown(), links in links(), text in 400_usize..900,
    ) {
        for (_, rendered) in checked(&markdown, links, &Facts { text, ..MATRIX })? {
            let Rendered::Html { html, .. } = rendered else { panic!("HTML") };
            prop_assert!(is_balanced(&html), "{html}");
        }
    }

    #[test]
    fn plain_text_is_within_its_limits(markdown in markdown(), links in links(), text in 120_usize..400) {
        checked(&markdown, links, &Facts { text, ..SIGNAL })?;
    }
}
