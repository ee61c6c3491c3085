//! The meaning of a failure for the next attempt. Pure: an error in, a word out.

use ipc_proto::credproxy::CredError;
use ipc_proto::dialer::DialError;
use ipc_proto::model::ModelError;
use std::time::Duration;

/// The wait before the first attempt after a failure; it doubles with each.
pub(crate) const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The longest such wait.
pub(crate) const MOST_WAIT: Duration = Duration::from_secs(30);
/// The longest that a provider's own word is believed: a task does without it for no longer.
const WORD: Duration = Duration::from_secs(300);

/// The meaning of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// It may pass: the same model is asked again, another at once.
    Passing,
    /// The same request fails the same way again; another model may do better. Says nothing of the provider's health.
    Permanent,
    /// Nothing else is to be asked either.
    Final,
}

/// The class of this failure.
pub(crate) const fn class(error: &ModelError) -> Class {
    match error {
        ModelError::RateLimited { .. }
        | ModelError::Timeout
        | ModelError::InvalidJson
        | ModelError::Truncated
        | ModelError::Server { .. }
        | ModelError::CoolingDown { .. } => Class::Passing,
        ModelError::Credentials(error) => of_credproxy(error),
        ModelError::UnknownModel
        | ModelError::Auth
        | ModelError::Rejected { .. }
        | ModelError::TooLong { .. }
        | ModelError::NoVision
        | ModelError::Script => Class::Permanent,
        ModelError::NoStream
        | ModelError::Busy
        | ModelError::Budget { .. }
        | ModelError::Ledger
        | ModelError::Unpriced => Class::Final,
    }
}

const fn of_credproxy(error: &CredError) -> Class {
    match error {
        CredError::Dial(DialError::NotAllowed | DialError::NotPublic | DialError::Local { .. }) => {
            Class::Permanent
        }
        CredError::Dial(_)
        | CredError::Tls
        | CredError::Unsent
        | CredError::Upstream
        | CredError::Stalled
        | CredError::NoReply
        | CredError::Full
        | CredError::NotRecorded => Class::Passing,
        _ => Class::Permanent,
    }
}

/// Returns whether it tells of the provider's own state: of credproxy's, or of this host's, it does not.
pub(crate) const fn is_the_providers(error: &ModelError) -> bool {
    match error {
        ModelError::Credentials(
            CredError::NoReply
            | CredError::Full
            | CredError::NotRecorded
            | CredError::Dial(DialError::Down | DialError::Busy | DialError::Routes),
        )
        | ModelError::CoolingDown { .. } => false,
        error => matches!(class(error), Class::Passing),
    }
}

/// Returns whether the provider may have read a request that failed so, and then it was paid. One that refused, or could not be
/// reached, was paid nothing; one that fell silent, whose reply was lost with credproxy, or was refused there, may have read it.
pub(crate) const fn was_read(error: &ModelError) -> bool {
    matches!(
        error,
        ModelError::Timeout
            | ModelError::Truncated
            | ModelError::InvalidJson
            | ModelError::Credentials(CredError::NoReply | CredError::Compressed)
    )
}

/// The time that the provider itself asks to wait.
pub(crate) fn said_wait(error: &ModelError) -> Option<Duration> {
    match error {
        ModelError::RateLimited { retry_after_s } => {
            Some(Duration::from_secs(u64::from(*retry_after_s)).min(WORD))
        }
        // credproxy restarted and took the reply with it; it is there again by now.
        ModelError::Credentials(CredError::NoReply) => Some(Duration::ZERO),
        _ => None,
    }
}

/// The wait after this many attempts, whose last failed so. `luck`, of any value, spreads requests that failed together
/// over half as much again.
pub(crate) fn wait(error: &ModelError, attempts: u32, luck: u64) -> Duration {
    said_wait(error).unwrap_or_else(|| {
        let doubled = 1_u32.checked_shl(attempts.saturating_sub(1)).unwrap_or(u32::MAX);
        let wait = FIRST_WAIT.saturating_mul(doubled).min(MOST_WAIT);
        let half_ms = u64::try_from(wait.as_millis() / 2).unwrap_or(u64::MAX);
        wait + Duration::from_millis(luck % half_ms.saturating_add(1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::model::Per;

    #[test]
    fn what_may_pass_is_asked_again_and_what_will_not_is_not() {
        let cred = ModelError::Credentials;
        for error in [
            ModelError::RateLimited { retry_after_s: 9 },
            ModelError::Timeout,
            ModelError::Truncated,
            ModelError::InvalidJson,
            ModelError::Server { status: 500 },
            cred(CredError::Tls),
            cred(CredError::NoReply),
            cred(CredError::Dial(DialError::Refused)),
        ] {
            assert_eq!(class(&error), Class::Passing, "{error}");
        }
        for error in [
            ModelError::Auth,
            ModelError::UnknownModel,
            ModelError::TooLong { context: 9 },
            ModelError::Rejected { status: 400 },
            ModelError::NoVision,
            cred(CredError::Compressed),
            cred(CredError::NoSecret),
            cred(CredError::NotBound),
            cred(CredError::Locked),
            cred(CredError::Dial(DialError::NotAllowed)),
        ] {
            assert_eq!(class(&error), Class::Permanent, "{error}");
            assert!(!is_the_providers(&error), "{error}");
        }
        for passing in [CredError::NoReply, CredError::Dial(DialError::Down), CredError::Full] {
            assert!(!is_the_providers(&cred(passing)), "{passing}: this host's own state");
        }
        assert!(is_the_providers(&cred(CredError::Dial(DialError::Refused))));
        for error in
            [ModelError::Ledger, ModelError::Unpriced, ModelError::Budget { per: Per::Day, again_s: 1 }]
        {
            assert_eq!(class(&error), Class::Final, "{error}");
        }
    }

    // Holds B-61.
    #[test]
    fn waits_double_to_half_a_minute_and_the_providers_word_counts_instead() {
        let of = |attempts, luck| wait(&ModelError::Timeout, attempts, luck).as_millis();
        assert_eq!([of(1, 0), of(2, 0), of(3, 0), of(6, 0), of(99, 0)], [1000, 2000, 4000, 30_000, 30_000]);
        assert_eq!([of(1, 500), of(1, 501), of(6, 15_000)], [1500, 1000, 45_000]);
        assert!((0..5000).all(|luck| (1000..=1500).contains(&of(1, luck))));
        let said = |error: ModelError| wait(&error, 1, 77).as_secs();
        assert_eq!(said(ModelError::RateLimited { retry_after_s: 17 }), 17);
        assert_eq!(said(ModelError::RateLimited { retry_after_s: u32::MAX }), 300);
        assert_eq!(said(ModelError::Credentials(CredError::NoReply)), 0);
    }
}
