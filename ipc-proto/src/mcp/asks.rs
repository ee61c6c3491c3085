//! Questions that a server has for a person while it answers a request. No model sees them, and none answers.

use crate::approval::FORM;
use crate::{List, Text};
use serde::{Deserialize, Serialize};

/// Questions that a server may have at once.
pub const ASKS: usize = 4;
/// Fields of a form.
pub const FORM_FIELDS: usize = 32;
/// Choices of a field.
pub const CHOICES: usize = 64;
/// Bytes of the address of a page.
pub const PAGE: usize = 2048;

/// The questions of a server.
pub type Asks = List<Ask, ASKS>;
/// The answers to them, in their order.
pub type AskAnswers = List<AskAnswer, ASKS>;

/// A question of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ask {
    /// A form that a person fills in.
    Form {
        /// The server's words.
        message: Text<2048>,
        /// Its fields.
        fields: List<Field, FORM_FIELDS>,
    },
    /// A page that a person opens by themselves.
    Page {
        /// The server's words.
        message: Text<2048>,
        /// The page's address.
        url: Text<PAGE>,
    },
}

/// A field of a form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// Its name.
    pub name: Text<64>,
    /// The server's words about it.
    pub description: Text<512>,
    /// It must have a value.
    pub required: bool,
    /// The kind of its values.
    pub kind: FieldKind,
    /// The value that it has without one, JSON; empty if there is none.
    pub default: Text<1024>,
}

/// The kind of a field's values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FieldKind {
    /// Text.
    Text,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// Yes or no.
    Boolean,
    /// One of these texts.
    One(List<Text<128>, CHOICES>),
    /// Any of these texts.
    Several(List<Text<128>, CHOICES>),
}

/// A person's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AskAnswer {
    /// Yes, with the values of a form, a JSON object.
    Accepted(Text<FORM>),
    /// No.
    Declined,
    /// Nobody answered, or nobody could be asked.
    Cancelled,
}
