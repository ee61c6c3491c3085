//! Formatted text in the dialect of a platform.

mod entities;
mod html;
mod marks;

pub use entities::{Entity, EntityKind};

use crate::facts::{Dialect, Unit};
use crate::rich::Rich;
use ipc_proto::Text;
use ipc_proto::channel::{Body, Piece};

/// The text of one message, as a platform takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rendered {
    /// One text with the platform's marks, or with none.
    Text(String),
    /// Plain text and entities.
    Entities {
        /// The text.
        text: String,
        /// Its entities, outer ones first.
        entities: Vec<Entity>,
    },
    /// HTML, and the plain text for those that show none.
    Html {
        /// The plain text.
        text: String,
        /// The same as HTML.
        html: String,
    },
}

impl Rendered {
    /// Its text without entities or HTML.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Entities { text, .. } | Self::Html { text, .. } => text,
        }
    }

    /// Its length in a unit, with all that counts against the platform's limit.
    #[must_use]
    pub fn length(&self, unit: Unit) -> usize {
        match self {
            Self::Text(text) | Self::Entities { text, .. } => unit.count(text),
            Self::Html { text, html } => unit.count(text) + unit.count(html),
        }
    }
}

/// The text with its HTML. HTML that is too long is left out: the text stays.
impl From<Rendered> for Piece {
    fn from(rendered: Rendered) -> Self {
        let (text, html) = match rendered {
            Rendered::Html { text, html } => (text, html),
            Rendered::Text(text) | Rendered::Entities { text, .. } => (text, String::new()),
        };
        Self { body: Body::Text(Text::clip(&text)), markup: Text::new(html).unwrap_or_default() }
    }
}

/// Renders formatted text.
#[must_use]
pub fn render(rich: &Rich, dialect: Dialect) -> Rendered {
    match dialect {
        Dialect::Entities => {
            Rendered::Entities { text: rich.text().to_owned(), entities: entities::entities(rich) }
        }
        Dialect::Html => Rendered::Html { text: rich.text().to_owned(), html: html::html(rich) },
        Dialect::Discord => Rendered::Text(marks::marked(rich, &marks::DISCORD)),
        Dialect::Slack => Rendered::Text(marks::marked(rich, &marks::SLACK)),
        Dialect::WhatsApp => Rendered::Text(marks::marked(rich, &marks::WHATSAPP)),
        Dialect::Plain => Rendered::Text(marks::marked(rich, &marks::PLAIN)),
    }
}
