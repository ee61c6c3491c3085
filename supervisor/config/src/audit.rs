//! Second pass over `[audit]`: retention, checkpoints and alerts.

use crate::keys::RETENTION_DAYS;
use crate::problem::Problems;
use crate::view::View;
use ipc_proto::config::{AlertRule, Alerts, Audit, Checkpoint, RetentionDays};

/// Reads it.
#[must_use]
pub fn resolve(file: &View<'_>, problems: &mut Problems) -> Audit {
    let view = file.table("audit");
    let checkpoint = view.table("checkpoint");
    Audit {
        retention_days: retention(&view.table("retention_days"), problems),
        checkpoint: Checkpoint { entries: checkpoint.number("entries"), ms: checkpoint.number("ms") },
        alerts: alerts(&view.table("alerts")),
    }
}

fn retention(view: &View<'_>, problems: &mut Problems) -> RetentionDays {
    let debug = view.number("debug");
    let mut lesser = ("debug", debug);
    // The search for expired entries ends at the first entry that no severity would let go.
    let mut at_least = |key: &'static str| {
        let (days, (below, least)) = (view.number(key), lesser);
        // A default is adapted to the values in the file.
        if view.given(key).is_some() && days < least {
            let what = format!("{days} is less than `{}`, which is {least}", view.key(below));
            let valid = format!("a whole number from {least} to {RETENTION_DAYS}");
            problems.add(view.line(key), &view.key(key), what, valid);
        }
        lesser = (key, days.max(least));
        lesser.1
    };
    RetentionDays {
        debug,
        info: at_least("info"),
        warning: at_least("warning"),
        error: at_least("error"),
        auth: view.number("auth"),
        config: view.number("config"),
    }
}

fn alerts(view: &View<'_>) -> Alerts {
    let rule = |name| {
        let rule = view.table(name);
        AlertRule {
            number: rule.number("number"),
            minutes: rule.number("minutes"),
            quiet_minutes: rule.number("quiet_minutes"),
        }
    };
    Alerts {
        auth_failures: rule("auth_failures"),
        network_refusals: rule("network_refusals"),
        secret_misdirected: rule("secret_misdirected"),
        attest_drift: rule("attest_drift"),
        quarantined: rule("quarantined"),
        disk_low: rule("disk_low"),
        job_failed: rule("job_failed"),
    }
}
