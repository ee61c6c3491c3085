//! Scanner judges text. It keeps nothing and calls nobody.

use crate::service::service;
use crate::{List, Name, Text};
use serde::{Deserialize, Serialize};

/// Bytes of text in one request.
pub const SCAN_BOUND: usize = 1024 * 1024;

/// Which way text is going.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// Towards a model.
    Input,
    /// Towards a person, a store or the world.
    Output,
}

/// What is to be done with text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Judgement {
    /// Nothing found.
    Pass,
    /// Something found that does not stop it.
    Flag,
    /// It must not go on as it is.
    Block,
}

/// A verdict on text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// What is to be done.
    pub judgement: Judgement,
    /// Combined evidence, in thousandths.
    pub score: u16,
    /// Which rules hit, at most 32.
    pub rules: List<Name, 32>,
    /// The canary was found, plain or transformed.
    pub canary_leaked: bool,
    /// The class that its content shows: personal data is sensitive, keys are secret.
    pub class: crate::label::Class,
    /// The text with secrets cut out, if any were found.
    pub redacted: Option<Text<SCAN_BOUND>>,
}

/// How much of a stream can go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Release {
    /// What can go on, with secrets cut out.
    pub text: Text<SCAN_BOUND>,
    /// How many bytes of the pending text that stands for.
    pub consumed: u32,
    /// The canary was found: nothing may go on, and what follows neither.
    pub canary_leaked: bool,
    /// Secrets cut out.
    pub redactions: u16,
}

service! {
    /// The scanner.
    pub trait Scanner {
        /// Judges a whole text.
        [idempotent, 2064, 10]
        async fn scan(direction: Direction, text: Text<SCAN_BOUND>, canary: Option<Name>) -> Verdict;
        /// Given all of a stream's text that has not gone on yet, says how much can, so that nothing split over
        /// two pieces slips by. With `last`, all of it is decided.
        [idempotent, 2064, 10]
        async fn hold_back(pending: Text<SCAN_BOUND>, last: bool, canary: Option<Name>) -> Release;
    }
}
