//! The content of a message: a bounded list of parts, what it replies to, and its format.

use crate::channel::{INBOUND_TEXT, PartKind};
use crate::label::{Class, Label, Trust};
use crate::{Blob, List, Text};
use serde::{Deserialize, Serialize};

/// Bytes of text in one part: the bound of a message.
pub const TEXT_BOUND: usize = 256 * 1024;
/// Bytes of one inline medium.
pub const MEDIA_BOUND: usize = 2 * 1024 * 1024;
/// Bytes of all images of one message to an agent: in base64 they leave a third of what a provider is sent to the conversation.
pub const IMAGES_BOUND: usize = MEDIA_BOUND;
/// Parts in one message.
pub const PARTS: usize = 16;

/// How text is marked up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// No mark-up.
    Plain,
    /// Markdown.
    #[default]
    Markdown,
    /// HTML.
    Html,
}

/// Where a medium is. One of the two is always there; an empty file cannot be expressed as bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Place {
    /// At this address; it is not fetched unasked.
    Url(Text<2048>),
    /// Here.
    Bytes(Blob<MEDIA_BOUND>),
}

/// An image, a file, a sound or a film.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Media {
    /// Where it is.
    pub place: Place,
    /// Its media type, such as `image/png`.
    pub media_type: Text<128>,
    /// Its file name, if it has one.
    pub name: Option<Text<255>>,
}

/// One part of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Part {
    /// Text.
    Text(Text<TEXT_BOUND>),
    /// Text that the sender did not write, such as a forward. It is untrusted, whoever sent it.
    Foreign {
        /// Its origin.
        kind: PartKind,
        /// The text.
        text: Text<INBOUND_TEXT>,
    },
    /// An image.
    Image(Media),
    /// Any file.
    File(Media),
    /// Sound.
    Audio(Media),
    /// Film.
    Video(Media),
}

/// A person's or a model's message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// The parts, in order; at least one in a message that is accepted.
    pub parts: List<Part, PARTS>,
    /// The platform's id of the message this answers.
    pub reply_to: Option<Text<256>>,
    /// How its text is marked up.
    pub format: Format,
}

impl Content {
    /// Content of one piece of text.
    #[must_use]
    pub fn text(text: Text<TEXT_BOUND>) -> Self {
        Self { parts: List::clip([Part::Text(text)]), ..Self::default() }
    }

    /// All its text, parts separated by a line break; other parts are named in brackets.
    #[must_use]
    pub fn plain(&self) -> String {
        self.named("")
    }

    /// The same for a later turn, whose model is not shown the images again.
    #[must_use]
    pub fn past(&self) -> String {
        self.named(", not shown")
    }

    fn named(&self, of_image: &str) -> String {
        let parts = self.parts.iter().map(|part| match part {
            Part::Text(text) => text.to_string(),
            Part::Foreign { kind, text } => format!("[{}]\n{text}\n[end of {0}]", kind.name()),
            Part::Image(media) => format!("[image: {}{of_image}]", media.media_type),
            Part::File(media) => format!("[file: {}]", media.media_type),
            Part::Audio(media) => format!("[audio: {}]", media.media_type),
            Part::Video(media) => format!("[video: {}]", media.media_type),
        });
        parts.collect::<Vec<_>>().join("\n")
    }

    /// Its images that are here, each with its media type, in order.
    pub fn images(&self) -> impl Iterator<Item = (&Text<128>, &Blob<MEDIA_BOUND>)> {
        self.parts.iter().filter_map(|part| match part {
            Part::Image(Media { place: Place::Bytes(bytes), media_type, .. }) => Some((media_type, bytes)),
            _ => None,
        })
    }

    /// Kinds of text in it that the sender did not write, each once.
    #[must_use]
    pub fn foreign(&self) -> Vec<PartKind> {
        let mut kinds = Vec::new();
        for part in &self.parts {
            if let Part::Foreign { kind, .. } = part
                && !kinds.contains(kind)
            {
                kinds.push(*kind);
            }
        }
        kinds
    }

    /// Bytes of these.
    #[must_use]
    pub fn image_bytes(&self) -> usize {
        self.images().map(|(_, bytes)| bytes.len()).sum()
    }
}

/// The label of any image: it can show anyone's text, whoever sent it.
#[must_use]
pub fn image_label() -> Label {
    Label::of(Trust::Untrusted, Class::Internal, "image")
}
