//! The keys of `[audit.retention_days]`, `[audit.checkpoint]` and `[audit.alerts.NAME]`. It holds no logic.

use super::{Key, RETENTION_DAYS};
use crate::kind::{Kind, Preset};
use ipc_proto::config::{Alerts, Audit, Checkpoint, RetentionDays};
use manifest::Process;

const DAYS: Kind = Kind::Number { min: 1, max: RETENTION_DAYS };
/// Audit remembers the times of so many events of the same.
const EVENTS: Kind = Kind::Number { min: 1, max: 1000 };
/// A day.
const SPAN: Kind = Kind::Number { min: 1, max: 1440 };
/// A week: what is quiet for longer is no alert.
const QUIET: Kind = Kind::Number { min: 1, max: 10_080 };

const RETENTION: RetentionDays = Audit::DEFAULT.retention_days;
const CHECKPOINT: Checkpoint = Audit::DEFAULT.checkpoint;
const ALERTS: Alerts = Audit::DEFAULT.alerts;

const SPAN_MEANS: &str = "Minutes within which they count.";
const QUIET_MEANS: &str =
    "Minutes for which the same alert is only counted afterwards; the next says how many.";

const fn key(path: &'static str, kind: Kind, preset: u32, means: &'static str) -> Key {
    Key { path, kind, preset: Preset::Number(preset), seen_by: &[Process::Audit], means }
}

/// The keys.
pub(super) const KEYS: &[Key] = &[
    key(
        "audit.retention_days.debug",
        DAYS,
        RETENTION.debug,
        "Days for which steps on the way are kept, such as the start of a turn. A graver entry is kept at least as \
         long as a lesser one, and what is critical for ever.",
    ),
    key("audit.retention_days.info", DAYS, RETENTION.info, "Days for which what was done is kept."),
    key("audit.retention_days.warning", DAYS, RETENTION.warning, "Days for which what was refused is kept."),
    key("audit.retention_days.error", DAYS, RETENTION.error, "Days for which what failed is kept."),
    key(
        "audit.retention_days.auth",
        DAYS,
        RETENTION.auth,
        "Days for which entries of the category auth are kept at least.",
    ),
    key(
        "audit.retention_days.config",
        DAYS,
        RETENTION.config,
        "Days for which entries of the category config are kept at least.",
    ),
    key(
        "audit.checkpoint.entries",
        Kind::Number { min: 1, max: 65_536 },
        CHECKPOINT.entries,
        "Entries after which a checkpoint is signed at the latest. Entries that are not signed yet are durable as well.",
    ),
    key(
        "audit.checkpoint.ms",
        Kind::Number { min: 50, max: 60_000 },
        CHECKPOINT.ms,
        "Milliseconds after the first entry that no checkpoint covers, after which one is signed at the latest.",
    ),
    key(
        "audit.alerts.auth_failures.number",
        EVENTS,
        ALERTS.auth_failures.number,
        "Refusals of the same operator, or of clients of the API for the same reason, that raise an alert.",
    ),
    key("audit.alerts.auth_failures.minutes", SPAN, ALERTS.auth_failures.minutes, SPAN_MEANS),
    key("audit.alerts.auth_failures.quiet_minutes", QUIET, ALERTS.auth_failures.quiet_minutes, QUIET_MEANS),
    key(
        "audit.alerts.network_refusals.number",
        EVENTS,
        ALERTS.network_refusals.number,
        "Refusals of the same web tool that raise an alert.",
    ),
    key("audit.alerts.network_refusals.minutes", SPAN, ALERTS.network_refusals.minutes, SPAN_MEANS),
    key(
        "audit.alerts.network_refusals.quiet_minutes",
        QUIET,
        ALERTS.network_refusals.quiet_minutes,
        QUIET_MEANS,
    ),
    key(
        "audit.alerts.secret_misdirected.number",
        EVENTS,
        ALERTS.secret_misdirected.number,
        "Times that the same secret is asked for a use that it is not bound to, that raise an alert.",
    ),
    key("audit.alerts.secret_misdirected.minutes", SPAN, ALERTS.secret_misdirected.minutes, SPAN_MEANS),
    key(
        "audit.alerts.secret_misdirected.quiet_minutes",
        QUIET,
        ALERTS.secret_misdirected.quiet_minutes,
        QUIET_MEANS,
    ),
    key(
        "audit.alerts.attest_drift.number",
        EVENTS,
        ALERTS.attest_drift.number,
        "Times that the kernel's word on the same process differs from the table, that raise an alert.",
    ),
    key("audit.alerts.attest_drift.minutes", SPAN, ALERTS.attest_drift.minutes, SPAN_MEANS),
    key("audit.alerts.attest_drift.quiet_minutes", QUIET, ALERTS.attest_drift.quiet_minutes, QUIET_MEANS),
    key(
        "audit.alerts.quarantined.number",
        EVENTS,
        ALERTS.quarantined.number,
        "Messages of the same session that were given up after their last attempt, that raise an alert.",
    ),
    key("audit.alerts.quarantined.minutes", SPAN, ALERTS.quarantined.minutes, SPAN_MEANS),
    key("audit.alerts.quarantined.quiet_minutes", QUIET, ALERTS.quarantined.quiet_minutes, QUIET_MEANS),
    key(
        "audit.alerts.disk_low.number",
        EVENTS,
        ALERTS.disk_low.number,
        "Times that less than `host.disk_reserve` is free, that raise an alert.",
    ),
    key("audit.alerts.disk_low.minutes", SPAN, ALERTS.disk_low.minutes, SPAN_MEANS),
    key("audit.alerts.disk_low.quiet_minutes", QUIET, ALERTS.disk_low.quiet_minutes, QUIET_MEANS),
];
