//! The errors that other processes' failures become.

use ipc_proto::Name;
use ipc_proto::gate::RelayError;
use ipc_proto::router::RouterError;
use ipc_proto::runner_gate::GateError;

/// The error of a missing process.
pub(crate) fn down(name: &str) -> GateError {
    GateError::Down(Name::clip(name))
}

/// The error that a refusal of router becomes. A disk or an audit that is briefly away ends the attempt, anything else the turn.
pub(crate) fn router_refusal(error: &RouterError) -> GateError {
    match error {
        RouterError::NotDurable => down("router"),
        _ => GateError::Over,
    }
}

/// The error of a missing process in the API's interface.
pub(crate) fn relay_down(name: &str) -> RelayError {
    RelayError::Down(Name::clip(name))
}

/// The same error in the API's interface.
pub(crate) fn to_relay_error(error: GateError) -> RelayError {
    match error {
        GateError::Policy(policies) => RelayError::Policy(policies),
        GateError::Model(error) => RelayError::Model(error),
        GateError::Down(name) => RelayError::Down(name),
        // These errors occur in turns only.
        GateError::OutOfTurn
        | GateError::Over
        | GateError::Quota { .. }
        | GateError::Spent { .. }
        | GateError::Looping { .. } => relay_down("gate"),
    }
}
