//! The keys of `[audit.retention_days]`, `[audit.checkpoint]` and `[audit.alerts.NAME]`. It holds no logic.

use super::{Key, RETENTION_DAYS};
use crate::kind::{Kind, Preset};
use ipc_proto::audit::UNSIGNED_MS;
use ipc_proto::config::{Alerts, Audit, Checkpoint, RetentionDays};
use manifest::Process;

const DAYS: Kind = Kind::Number { min: 1, max: RETENTION_DAYS };
/// The most events for which audit remembers times.
const EVENTS: Kind = Kind::Number { min: 1, max: 1000 };
/// At most a day.
const SPAN: Kind = Kind::Number { min: 1, max: 1440 };
/// At most a week: a longer pause would hide alerts.
const QUIET: Kind = Kind::Number { min: 1, max: 10_080 };

const RETENTION: RetentionDays = Audit::DEFAULT.retention_days;
const CHECKPOINT: Checkpoint = Audit::DEFAULT.checkpoint;
const ALERTS: Alerts = Audit::DEFAULT.alerts;

const SPAN_MEANS: &str = "Minutes within which these are counted.";
const QUIET_MEANS: &str = "Minutes after an alert during which the same alert is only counted; the next one says how many there were.";

const fn key(path: &'static str, kind: Kind, preset: u32, means: &'static str) -> Key {
    Key { path, kind, preset: Preset::Number(preset), seen_by: &[Process::Audit], means }
}

/// The keys.
pub(super) const KEYS: &[Key] = &[
    key(
        "audit.retention_days.debug",
        DAYS,
        RETENTION.debug,
        "Days for which entries of level debug are kept, such as the start of a turn. A higher level is kept at least \
         as long as a lower one; critical entries are kept for ever.",
    ),
    key(
        "audit.retention_days.info",
        DAYS,
        RETENTION.info,
        "Days for which entries of level info are kept: completed \
                                                            acts.",
    ),
    key(
        "audit.retention_days.warning",
        DAYS,
        RETENTION.warning,
        "Days for which entries of level warning are kept: \
                                                                  refused acts.",
    ),
    key(
        "audit.retention_days.error",
        DAYS,
        RETENTION.error,
        "Days for which entries of level error are kept: failed \
                                                              acts.",
    ),
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
        "The most entries before a checkpoint is signed. Entries that are not signed yet are durable as well.",
    ),
    key(
        "audit.checkpoint.ms",
        Kind::Number { min: 50, max: UNSIGNED_MS },
        CHECKPOINT.ms,
        "The longest time from the first entry that no checkpoint covers to the next checkpoint, ms.",
    ),
    key(
        "audit.alerts.auth_failures.number",
        EVENTS,
        ALERTS.auth_failures.number,
        "The number of refusals that raises an alert: of the same operator, or of clients of the API for the same \
         reason.",
    ),
    key("audit.alerts.auth_failures.minutes", SPAN, ALERTS.auth_failures.minutes, SPAN_MEANS),
    key("audit.alerts.auth_failures.quiet_minutes", QUIET, ALERTS.auth_failures.quiet_minutes, QUIET_MEANS),
    key(
        "audit.alerts.network_refusals.number",
        EVENTS,
        ALERTS.network_refusals.number,
        "The number of refusals of the same web tool that raises an alert.",
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
        "The number of requests for the same secret outside its binding that raises an alert.",
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
        "The number of attestations of the same process that differ from the table and raise an alert.",
    ),
    key("audit.alerts.attest_drift.minutes", SPAN, ALERTS.attest_drift.minutes, SPAN_MEANS),
    key("audit.alerts.attest_drift.quiet_minutes", QUIET, ALERTS.attest_drift.quiet_minutes, QUIET_MEANS),
    key(
        "audit.alerts.quarantined.number",
        EVENTS,
        ALERTS.quarantined.number,
        "The number of messages of the same session given up after their last attempt that raises an alert.",
    ),
    key("audit.alerts.quarantined.minutes", SPAN, ALERTS.quarantined.minutes, SPAN_MEANS),
    key("audit.alerts.quarantined.quiet_minutes", QUIET, ALERTS.quarantined.quiet_minutes, QUIET_MEANS),
    key(
        "audit.alerts.disk_low.number",
        EVENTS,
        ALERTS.disk_low.number,
        "The number of times with less than `host.disk_reserve` free that raises an alert.",
    ),
    key("audit.alerts.disk_low.minutes", SPAN, ALERTS.disk_low.minutes, SPAN_MEANS),
    key("audit.alerts.disk_low.quiet_minutes", QUIET, ALERTS.disk_low.quiet_minutes, QUIET_MEANS),
    key(
        "audit.alerts.job_failed.number",
        EVENTS,
        ALERTS.job_failed.number,
        "The number of failures of the same job of the scheduler that raises an alert.",
    ),
    key("audit.alerts.job_failed.minutes", SPAN, ALERTS.job_failed.minutes, SPAN_MEANS),
    key("audit.alerts.job_failed.quiet_minutes", QUIET, ALERTS.job_failed.quiet_minutes, QUIET_MEANS),
];
