//! The detection engine of the `scanner` process: injections, secrets, personal data and leaked canaries in text.
//! It works on borrowed text only: no files, no network, no clock, no state between two calls.
//! It must never put the text it saw, or a secret it found, into an error, a log line or a finding.

pub mod answer;
pub mod canary;
mod checks;
mod conversation;
mod decode;
pub mod engine;
mod held;
mod matcher;
pub mod model;
mod normalise;
mod published;
pub mod rules;
mod scrambled;
mod span;
pub mod stream;
pub mod verdict;

pub use engine::Engine;
pub use held::Held;
pub use stream::{Ready, ready};
pub use verdict::{Finding, Report};
