//! Input for programs in jails: from a person, to the gate.

use crate::state::RouterState;
use crate::state::live::Phase;
use crate::state::terminal_input::InputPort;
use ipc_proto::ids::{TurnId, UserId};
use ipc_proto::router::{RouterError, Typed};

impl RouterState {
    /// Takes input that a person types for the program of a turn of theirs.
    pub(crate) fn send_input(
        &mut self,
        user: Option<UserId>,
        turn: TurnId,
        number: u64,
        typed: Typed,
    ) -> Result<bool, RouterError> {
        let Some(live) = self.live_turn(turn) else { return Err(RouterError::NoTurn) };
        let seq = live.head.seq;
        let theirs = user.is_none_or(|user| user == live.head.user);
        if !theirs || matches!(live.phase, Phase::Ending(_)) {
            return Err(RouterError::NoTurn);
        }
        if !self.terminal_inputs.contains(turn) && !self.runs(seq)? {
            return Err(RouterError::NoTurn);
        }
        Ok(self.terminal_inputs.push(turn, number, typed))
    }

    /// Gives the gate the input of a turn.
    pub(crate) fn fetch_input(&mut self, turn: TurnId, from: u64, port: InputPort) {
        self.renew_lease(turn);
        match self.live_turn(turn).map(|live| live.head.seq) {
            Some(seq) if self.runs(seq).unwrap_or(false) => {
                self.terminal_inputs.fetch(turn, from, port);
            }
            _ => drop(port.send(Err(RouterError::NoTurn))),
        }
    }
}
