//! The kit of the processes that speak to messengers: an answer's Markdown is parsed once, rendered in the platform's
//! dialect, measured in the platform's unit and split within its limit; and the loops that every platform has, which
//! receive, deliver and show how far an answer is.
//!
//! The text is worked out by pure functions. The loops hold no secret and keep nothing: cursor, plan and outcome are
//! durable at router before the next step is taken.

mod account;
mod bare;
mod breaks;
mod deliver;
mod facts;
mod follow;
mod pacer;
mod parse;
mod plan;
mod platform;
mod receive;
mod render;
mod rich;
mod split;
mod table;

pub use account::Account;
pub use deliver::deliver;
pub use facts::{Cadence, DISCORD, Dialect, Facts, MATRIX, SIGNAL, SLACK, TELEGRAM, Unit, WHATSAPP};
pub use follow::resume;
pub use parse::{Links, parse};
pub use plan::{Attached, MAX_PARTS, Plan, plan};
pub use platform::{Found, Platform, PollFault, Polled, Pressed};
pub use receive::receive;
pub use render::{Entity, EntityKind, Rendered, render};
pub use rich::{Event, Rich, Span, Style};
pub use split::split;
