//! Entities with offsets in UTF-16 code units, as Telegram counts them.

use crate::rich::{Event, Rich, Style};

/// The kind of an entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntityKind {
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
    /// A link to this address.
    Link(String),
}

/// A styled range of a text, in UTF-16 code units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entity {
    /// Its first unit.
    pub offset: usize,
    /// Its units.
    pub length: usize,
    /// Its kind.
    pub kind: EntityKind,
}

fn kind(style: &Style) -> EntityKind {
    match style {
        Style::Bold => EntityKind::Bold,
        Style::Italic => EntityKind::Italic,
        Style::Strike => EntityKind::Strike,
        Style::Code => EntityKind::Code,
        Style::Pre(language) => EntityKind::Pre(language.clone()),
        Style::Quote => EntityKind::Quote,
        Style::Link(address) => EntityKind::Link(address.clone()),
    }
}

pub(crate) fn entities(rich: &Rich) -> Vec<Entity> {
    let (mut all, mut open, mut at) = (Vec::new(), Vec::new(), 0);
    for event in rich.events() {
        match event {
            Event::Open(style) => {
                open.push(all.len());
                all.push(Entity { offset: at, length: 0, kind: kind(style) });
            }
            Event::Text(text) => at += text.encode_utf16().count(),
            Event::Close(_) => {
                if let Some(entity) = open.pop().and_then(|index: usize| all.get_mut(index)) {
                    entity.length = at - entity.offset;
                }
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rich::Span;

    #[test]
    fn offsets_count_a_character_beyond_the_first_plane_twice() {
        let spans = vec![Span { start: 4, end: 6, style: Style::Bold }];
        let found = entities(&Rich::new("😀éx".to_owned(), spans));
        assert_eq!(found, [Entity { offset: 2, length: 1, kind: EntityKind::Bold }]);
    }
}
