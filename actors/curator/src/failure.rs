//! The reasons for which a job failed, and the consequences. The list of failures that are never retried is closed: any
//! other is retried, a bounded number of times.

use ipc_proto::Fault;
use ipc_proto::embedder::EmbedderError;
use ipc_proto::gate::RelayError;
use ipc_proto::memory::MemoryError;
use ipc_proto::model::ModelError;

/// First wait after a failure, ms; each further failure doubles it.
const FIRST_MS: u64 = 2000;
/// The longest wait by doubling, ms.
const LONGEST_MS: u64 = 30_000;
/// How long a process of the host is waited for, ms.
pub(crate) const AWAY_MS: u64 = 3000;
/// How long a quota is held that says of no time, ms.
pub(crate) const HOUR_MS: u64 = 3_600_000;
/// How long the model of this machine is held that cannot be used, ms: it tries itself again.
const MINUTE_MS: u64 = 60_000;
/// HTTP statuses that say "later": of the request nothing was wrong.
const LATER: [u16; 2] = [408, 429];

/// Why a job was not done. Reasons hold neither content nor secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    /// It may succeed another time.
    #[error("{0}")]
    Passing(String),
    /// The provider asks to wait.
    #[error("{reason}")]
    Later {
        /// The wait, ms.
        after_ms: u64,
        /// Why.
        reason: String,
    },
    /// The provider gives no answers for a while: none of its jobs is started meanwhile, and none failed.
    #[error("{reason}")]
    Quota {
        /// The wait, ms.
        after_ms: u64,
        /// Why.
        reason: String,
    },
    /// A process of the host is not there: no fault of the job's.
    #[error("{0}")]
    Away(String),
    /// The text may not go to the model, or the model's answer is of no use: the result without a model is used
    /// instead.
    #[error("{0}")]
    Unusable(String),
    /// It would fail each time.
    #[error("{0}")]
    Permanent(String),
    /// The subject of the job is gone.
    #[error("what it was about is gone")]
    Gone,
    /// A person broke it off.
    #[error("broken off")]
    Aborted,
}

/// The wait before the next try after this many failed ones, ms.
pub(crate) fn backoff_ms(attempts: u32) -> u64 {
    let doubled = attempts.saturating_sub(1).min(16);
    FIRST_MS.saturating_mul(1 << doubled).min(LONGEST_MS)
}

fn ms(seconds: u32) -> u64 {
    u64::from(seconds) * 1000
}

impl From<RelayError> for Failure {
    fn from(error: RelayError) -> Self {
        let reason = error.to_string();
        match error {
            RelayError::Model(error) => Self::from(error),
            RelayError::Policy(_) | RelayError::Blocked(_) => Self::Unusable(reason),
            RelayError::NoKey | RelayError::NotInScope | RelayError::NoMemory | RelayError::NoAgent(_) => {
                Self::Permanent(reason)
            }
            RelayError::Busy { retry_s } => Self::Later { after_ms: ms(retry_s), reason },
            RelayError::Down(_) => Self::Away(reason),
            RelayError::Memory(error) => Self::from(error),
            RelayError::Embedder(error) => Self::from(error),
        }
    }
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        let reason = error.to_string();
        match error {
            ModelError::UnknownModel
            | ModelError::Auth
            | ModelError::TooLong { .. }
            | ModelError::NoVision
            | ModelError::Unpriced => Self::Permanent(reason),
            ModelError::Rejected { status } if !LATER.contains(&status) => Self::Permanent(reason),
            ModelError::RateLimited { retry_after_s: seconds }
            | ModelError::CoolingDown { again_s: seconds } => Self::Later { after_ms: ms(seconds), reason },
            ModelError::Budget { again_s: 0, .. } => Self::Quota { after_ms: HOUR_MS, reason },
            ModelError::Budget { again_s, .. } => Self::Quota { after_ms: ms(again_s), reason },
            ModelError::Rejected { .. }
            | ModelError::Timeout
            | ModelError::InvalidJson
            | ModelError::Truncated
            | ModelError::Server { .. }
            | ModelError::Credentials(_)
            | ModelError::Script
            | ModelError::NoStream
            | ModelError::Busy
            | ModelError::Ledger => Self::Passing(reason),
        }
    }
}

impl From<MemoryError> for Failure {
    fn from(error: MemoryError) -> Self {
        let reason = error.to_string();
        match error {
            MemoryError::NotFound | MemoryError::NotCurrent(_) => Self::Gone,
            MemoryError::Refused(_)
            | MemoryError::NeedsPerson
            | MemoryError::Full
            | MemoryError::ShareFull
            | MemoryError::Damaged => Self::Unusable(reason),
            MemoryError::OtherEmbedder => Self::Permanent(reason),
            MemoryError::ScannerDown | MemoryError::NotRecorded | MemoryError::ReadOnly => Self::Away(reason),
            MemoryError::Storage => Self::Passing(reason),
        }
    }
}

impl From<EmbedderError> for Failure {
    fn from(error: EmbedderError) -> Self {
        let reason = error.to_string();
        match error {
            // No text of any row is at fault, and once the model can be used again all of them are to be done.
            EmbedderError::OtherModel | EmbedderError::Changed | EmbedderError::Unusable(_) => {
                Self::Quota { after_ms: MINUTE_MS, reason }
            }
            // It is this text alone that is at fault: no other waits for it.
            EmbedderError::Nothing => Self::Unusable(reason),
        }
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        let reason = fault.to_string();
        match fault {
            // The question arrived, so it may have killed the other process, and its cost is spent: such a try counts.
            Fault::PeerRestarted | Fault::Deadline => Self::Passing(reason),
            Fault::Unreachable | Fault::NoSlot | Fault::NotAllowed | Fault::WrongVersion => {
                Self::Away(reason)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::model::Per;

    // Holds B-111.
    #[test]
    fn the_wait_doubles_from_two_seconds_up_to_thirty() {
        let waits: Vec<u64> = (1..=6).map(backoff_ms).collect();
        assert_eq!(waits, [2000, 4000, 8000, 16_000, 30_000, 30_000]);
        assert_eq!(backoff_ms(u32::MAX), 30_000);
    }

    #[test]
    fn what_is_never_tried_again_is_a_closed_list() {
        let permanent = |error: ModelError| matches!(Failure::from(error), Failure::Permanent(_));
        for status in 400..=499 {
            assert_eq!(permanent(ModelError::Rejected { status }), ![408, 429].contains(&status), "{status}");
        }
        for error in [ModelError::Auth, ModelError::UnknownModel, ModelError::TooLong { context: 1 }] {
            assert!(permanent(error), "{error}");
        }
        for error in [ModelError::Timeout, ModelError::Server { status: 500 }, ModelError::Truncated] {
            assert!(matches!(Failure::from(error), Failure::Passing(_)), "{error}");
        }
    }

    #[test]
    fn a_model_of_this_machine_that_cannot_be_used_is_no_fault_of_any_row() {
        let held = |error: EmbedderError| matches!(Failure::from(error), Failure::Quota { .. });
        assert!(held(EmbedderError::Changed) && held(EmbedderError::OtherModel));
        assert!(held(EmbedderError::Unusable(ipc_proto::Text::clip("it lacks a tensor"))));
        assert!(matches!(Failure::from(EmbedderError::Nothing), Failure::Unusable(_)));
    }

    #[test]
    fn only_a_question_that_arrived_counts_as_a_try() {
        for fault in [Fault::PeerRestarted, Fault::Deadline] {
            assert!(matches!(Failure::from(fault), Failure::Passing(_)), "{fault}");
        }
        assert!(matches!(Failure::from(Fault::Unreachable), Failure::Away(_)));
    }

    // Holds B-111.
    #[test]
    fn a_requested_wait_is_the_jobs_and_a_budget_the_providers() {
        let later = Failure::from(ModelError::RateLimited { retry_after_s: 7 });
        assert!(matches!(later, Failure::Later { after_ms: 7000, .. }));
        let quota = |again_s| Failure::from(ModelError::Budget { per: Per::Day, again_s });
        assert!(matches!(quota(60), Failure::Quota { after_ms: 60_000, .. }));
        assert!(matches!(quota(0), Failure::Quota { after_ms: HOUR_MS, .. }));
    }
}
