//! The configuration of `audit`: `[audit]`. Pure data.

use serde::{Deserialize, Serialize};

/// `[audit]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Audit {
    /// `[audit.retention_days]`.
    pub retention_days: RetentionDays,
    /// `[audit.checkpoint]`.
    pub checkpoint: Checkpoint,
    /// `[audit.alerts.NAME]`.
    pub alerts: Alerts,
}

impl Audit {
    /// The values that hold where nothing is configured.
    pub const DEFAULT: Self = Self {
        retention_days: RetentionDays { debug: 7, info: 30, warning: 90, error: 365, auth: 365, config: 365 },
        checkpoint: Checkpoint { entries: 1024, ms: 500 },
        alerts: Alerts {
            auth_failures: AlertRule { number: 5, minutes: 5, quiet_minutes: 15 },
            network_refusals: AlertRule { number: 10, minutes: 60, quiet_minutes: 60 },
            secret_misdirected: AlertRule { number: 1, minutes: 60, quiet_minutes: 60 },
            attest_drift: AlertRule { number: 1, minutes: 60, quiet_minutes: 60 },
            quarantined: AlertRule { number: 1, minutes: 15, quiet_minutes: 15 },
            disk_low: AlertRule { number: 1, minutes: 15, quiet_minutes: 15 },
            job_failed: AlertRule { number: 1, minutes: 15, quiet_minutes: 60 },
        },
    };
}

/// How many days entries are kept, by severity; those that are critical are kept for ever. A graver one is kept at
/// least as long as a lesser one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetentionDays {
    /// Steps on the way.
    pub debug: u32,
    /// Entries about things done.
    pub info: u32,
    /// Entries about refusals.
    pub warning: u32,
    /// Entries about failures.
    pub error: u32,
    /// At least so long: who may do what, and secrets.
    pub auth: u32,
    /// At least so long: the host's own settings and its record.
    pub config: u32,
}

/// When a checkpoint is signed at the latest, whichever comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// The number of entries after the last checkpoint at which the next is due.
    pub entries: u32,
    /// The longest time from the first entry that it does not cover to the next checkpoint, ms.
    pub ms: u32,
}

/// When audit raises alerts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alerts {
    /// The same operator is refused.
    pub auth_failures: AlertRule,
    /// The same web tool is refused.
    pub network_refusals: AlertRule,
    /// The same secret is asked for another use than it is bound to.
    pub secret_misdirected: AlertRule,
    /// The kernel's word on the same process and the table differ.
    pub attest_drift: AlertRule,
    /// A message of the same session is given up.
    pub quarantined: AlertRule,
    /// Less is free on the disk than is kept.
    pub disk_low: AlertRule,
    /// The same job fails.
    pub job_failed: AlertRule,
}

/// When one alert is raised, and when again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AlertRule {
    /// Events of the same.
    pub number: u32,
    /// Within so many minutes.
    pub minutes: u32,
    /// Minutes for which the same is quiet afterwards.
    pub quiet_minutes: u32,
}
