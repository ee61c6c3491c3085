//! The facts of each platform: unit, limits, pace and dialect.

use std::time::Duration;

/// The unit in which a platform counts the length of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Code units of UTF-16.
    Utf16,
    /// Unicode scalar values.
    Scalar,
    /// Bytes of UTF-8.
    Byte,
    /// Bytes of UTF-8 in a string of JSON.
    Json,
}

impl Facts {
    /// Returns true if links are always shown as code: there is no switch for previews, or none that holds for every reader.
    #[must_use]
    pub fn hides_links(&self) -> bool {
        self.dialect == Dialect::Html || self.name == "email"
    }
}

impl Unit {
    /// The length of a text in this unit.
    #[must_use]
    pub fn count(self, text: &str) -> usize {
        match self {
            Self::Utf16 => text.encode_utf16().count(),
            Self::Scalar => text.chars().count(),
            Self::Byte => text.len(),
            Self::Json => text.chars().map(escaped).sum(),
        }
    }

    /// The length of one character in this unit.
    #[must_use]
    pub fn width(self, character: char) -> usize {
        match self {
            Self::Utf16 => character.len_utf16(),
            Self::Scalar => 1,
            Self::Byte => character.len_utf8(),
            Self::Json => escaped(character),
        }
    }
}

/// Bytes of a character in a string of JSON.
const fn escaped(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        other => other.len_utf8(),
    }
}

/// The form in which a platform takes formatted text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Plain text, and entities with offsets in UTF-16 code units.
    Entities,
    /// Discord's Markdown.
    Discord,
    /// Slack's mrkdwn.
    Slack,
    /// WhatsApp's marks.
    WhatsApp,
    /// HTML beside plain text.
    Html,
    /// Plain text alone.
    Plain,
}

/// The pace of a platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cadence {
    /// The least time between two messages to one direct conversation.
    pub message: Duration,
    /// The least time between two messages to one group.
    pub group: Duration,
    /// The least time between two edits of one message; zero where edits are off.
    pub edit: Duration,
    /// The time for which a sign of typing is shown; zero where there is none.
    pub typing: Duration,
}

/// The facts of a platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Its name, as in `[channel.NAME] platform`.
    pub name: &'static str,
    /// The form of its formatted text.
    pub dialect: Dialect,
    /// The unit of `text` and `caption`.
    pub unit: Unit,
    /// The longest text of one message, after rendering.
    pub text: usize,
    /// The longest caption of a file, after rendering; 0 where there is none.
    pub caption: usize,
    /// The most styled spans of one message.
    pub spans: usize,
    /// The largest file that is sent, in MiB; 0 where none can be.
    pub upload_mib: u32,
    /// Its pace.
    pub cadence: Cadence,
}

const NEVER: Duration = Duration::ZERO;

const fn cadence(message: u64, group: u64, edit: u64, typing: u64) -> Cadence {
    Cadence {
        message: Duration::from_millis(message),
        group: Duration::from_millis(group),
        edit: Duration::from_millis(edit),
        typing: Duration::from_millis(typing),
    }
}

/// Telegram's Bot API: one message a second in a chat, 20 a minute in a group, and at most 100 entities in a message.
pub const TELEGRAM: Facts = Facts {
    name: "telegram",
    dialect: Dialect::Entities,
    unit: Unit::Utf16,
    text: 4096,
    caption: 1024,
    spans: 100,
    upload_mib: 50,
    cadence: cadence(1000, 3000, 3000, 5000),
};

/// Discord's API.
pub const DISCORD: Facts = Facts {
    name: "discord",
    dialect: Dialect::Discord,
    unit: Unit::Scalar,
    text: 2000,
    caption: 2000,
    spans: usize::MAX,
    upload_mib: 10,
    cadence: cadence(1000, 1000, 1000, 10_000),
};

/// Slack's Web API.
pub const SLACK: Facts = Facts {
    name: "slack",
    dialect: Dialect::Slack,
    unit: Unit::Scalar,
    text: 4000,
    caption: 4000,
    spans: usize::MAX,
    upload_mib: 50,
    cadence: cadence(1000, 1000, 1500, 0),
};

/// Matrix: an event has at most 64 KiB of JSON, so text and HTML together have 48. The usual homeserver allows a message or an edit
/// each 5 s, after ten at once.
pub const MATRIX: Facts = Facts {
    name: "matrix",
    dialect: Dialect::Html,
    unit: Unit::Json,
    text: 48 * 1024,
    caption: 0,
    spans: usize::MAX,
    upload_mib: 50,
    cadence: cadence(1000, 1000, 6000, 30_000),
};

/// E-mail: text and HTML of one mail together. A file is bounded by what a delivery holds.
pub const EMAIL: Facts = Facts {
    name: "email",
    dialect: Dialect::Html,
    unit: Unit::Byte,
    text: 60 * 1024,
    caption: 0,
    spans: usize::MAX,
    upload_mib: 15,
    cadence: Cadence { edit: NEVER, ..cadence(1000, 1000, 0, 0) },
};

/// WhatsApp's Cloud API.
pub const WHATSAPP: Facts = Facts {
    name: "whatsapp",
    dialect: Dialect::WhatsApp,
    unit: Unit::Utf16,
    text: 4096,
    caption: 0,
    spans: usize::MAX,
    upload_mib: 100,
    cadence: Cadence { edit: NEVER, ..cadence(6000, 6000, 0, 25_000) },
};

/// Signal, by the owner's own signal-cli.
pub const SIGNAL: Facts = Facts {
    name: "signal",
    dialect: Dialect::Plain,
    unit: Unit::Scalar,
    text: 2000,
    caption: 0,
    spans: usize::MAX,
    upload_mib: 95,
    cadence: Cadence { edit: NEVER, ..cadence(1000, 1000, 0, 10_000) },
};

/// A webhook: the receiver has no limits but those of one request.
pub const WEBHOOK: Facts = Facts {
    name: "webhook",
    dialect: Dialect::Plain,
    unit: Unit::Byte,
    text: 60_000,
    caption: 0,
    spans: usize::MAX,
    upload_mib: 2,
    cadence: Cadence { edit: NEVER, ..cadence(0, 0, 0, 0) },
};
