//! How a turn ended: the fixed name for a program and the sentence for a person.

use ipc_proto::router::{End, Limit};

/// The fixed name of an end, as it stands in JSON.
pub(crate) const fn kind(end: &End) -> &'static str {
    match end {
        End::Answered => "answered",
        End::Exited { .. } => "exited",
        End::Cancelled => "cancelled",
        End::Blocked(_) => "blocked",
        End::TimedOut => "timed_out",
        End::Failed(_) => "failed",
        End::Recalled => "recalled",
        End::Quarantined(_) => "quarantined",
        End::OverLimit(Limit::Memory) => "memory_limit",
        End::OverLimit(Limit::Cpu) => "cpu_limit",
        End::OverLimit(Limit::Processes) => "process_limit",
        End::OverLimit(Limit::Disk) => "disk_limit",
        End::TakenIn(_) => "taken_in",
    }
}

/// The sentence for an end that is not an answer.
pub(crate) fn sentence(end: &End) -> String {
    match end {
        End::Answered => "answered".to_owned(),
        End::Exited { status } => format!("it ended with status {status}"),
        End::Cancelled => "the turn was cancelled".to_owned(),
        End::Blocked(why) => format!("the scanner kept the message from being answered: {why}"),
        End::TimedOut => "the turn ran out of time".to_owned(),
        End::Failed(reason) => reason.to_string(),
        End::Recalled => "the message was taken back before its turn began".to_owned(),
        End::Quarantined(reason) => {
            format!("given up, and kept among the dead letters (agentctl message list --dead): {reason}")
        }
        End::OverLimit(limit) => limit.sentence(),
        End::TakenIn(turn) => format!("it was taken in by turn {turn}"),
    }
}
