//! The rows of the messaging platforms: one interface of router and credproxy serves them all, each for its own accounts.

use crate::process::Process;
use crate::process::Process::{Discord, Email, Matrix, Signal, Slack, Telegram, Webhook, Whatsapp};
use crate::row::{NOTHING, Row};
use crate::syscalls::{BASE, LINKS};

/// Their processes.
pub(crate) const CHANNELS: &[Process] = &[Telegram, Discord, Slack, Matrix, Email, Signal, Whatsapp, Webhook];

/// The row of a messaging platform's process.
const fn channel(process: Process, user: &'static str, does: &'static str) -> Row {
    Row {
        process,
        does,
        user,
        syscalls: &[&BASE, &LINKS],
        config: &["log", "channel"],
        optional: true,
        ..NOTHING
    }
}

pub(crate) const TELEGRAM: Row = channel(
    Telegram,
    "cordon-telegram",
    "speaks with Telegram's servers by way of credproxy; parses what they send, and keeps nothing",
);
pub(crate) const DISCORD: Row = channel(
    Discord,
    "cordon-discord",
    "speaks with Discord's servers by way of credproxy; parses what they send, and keeps nothing",
);
pub(crate) const SLACK: Row = channel(
    Slack,
    "cordon-slack",
    "speaks with Slack's servers by way of credproxy; parses what they send, and keeps nothing",
);
pub(crate) const MATRIX: Row = channel(
    Matrix,
    "cordon-matrix",
    "speaks with Matrix servers by way of credproxy; parses what they send, and keeps nothing",
);
pub(crate) const EMAIL: Row = channel(
    Email,
    "cordon-email",
    "speaks with mail servers by way of credproxy; parses what they send, and keeps nothing",
);
pub(crate) const SIGNAL: Row = channel(
    Signal,
    "cordon-signal",
    "speaks with the owner's signal-cli by way of credproxy; parses what it sends, and keeps nothing",
);
pub(crate) const WHATSAPP: Row = channel(
    Whatsapp,
    "cordon-whatsapp",
    "speaks with WhatsApp's servers by way of credproxy and reads its hooks; keeps nothing",
);
pub(crate) const WEBHOOK: Row = channel(
    Webhook,
    "cordon-webhook",
    "reads signed hooks and sends signed answers by way of credproxy; keeps nothing",
);
