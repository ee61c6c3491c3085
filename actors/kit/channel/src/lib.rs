//! The kit of the processes that speak to messengers: an answer's Markdown is parsed once, rendered in the platform's
//! dialect, measured in the platform's unit and split within its limit; and the loops that every platform has, which
//! receive, deliver and show how far an answer is.
//!
//! The text is worked out by pure functions. The loops hold no secret and keep nothing: cursor, plan and outcome are
//! durable at router before the next step is taken.

mod account;
mod api;
mod bare;
mod breaks;
mod deliver;
mod facts;
mod fetch;
mod files;
mod follow;
mod form;
mod holding;
mod hooks;
mod lost;
mod media_type;
mod nonce;
mod pacer;
mod parse;
mod plan;
mod platform;
mod process;
mod receive;
mod render;
mod rich;
mod source;
mod split;
mod table;

pub use account::Account;
pub use api::{Api, REPLY_BOUND, Reply, percent_encoded, request};
pub use facts::{
    Cadence, DISCORD, Dialect, EMAIL, Facts, MATRIX, SIGNAL, SLACK, TELEGRAM, Unit, WEBHOOK, WHATSAPP,
};
pub use fetch::{no_reply, of_status, origin};
pub use form::{form, form_of};
pub use hooks::Hooks;
pub use lost::{Lost, refused};
pub use media_type::{LOOKED_AT, media_type};
pub use nonce::{nonce_of, nonce_text};
pub use parse::{Links, parse};
pub use plan::{Attached, MAX_PARTS, Plan, plan};
pub use platform::{FileAt, Found, Invitation, NoFile, Platform, PollFault, Polled, Pressed};
pub use process::Process;
pub use render::{Entity, EntityKind, Rendered, render};
pub use rich::{Event, Rich, Span, Style};
pub use source::{Decode, Source};
pub use split::split;
