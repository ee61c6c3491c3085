//! Requests of the gate: turns, their steps, events and ends.

use crate::port::Reply;
use crate::state::RouterState;
use crate::state::approvals::{AnsweredPort, Questions};
use crate::state::requests::{NewFile, NewStep};
use ipc_proto::approval::{FORM, Question};
use ipc_proto::channel::FILE_PIECE;
use ipc_proto::engine::{STATE, SavedState, Token};
use ipc_proto::ids::{ApprovalId, CallId, TurnId};
use ipc_proto::label::Label;
use ipc_proto::router::{
    Delegation, Finished, Input, Obstacle, STEERING_MESSAGES, SteeringMessage, Turn, TurnEvent,
};
use ipc_proto::{Blob, List, Name, Text};

/// A request of the gate: turns, their steps, events and ends, with the port for its answer.
pub(crate) enum GateRequest {
    Take {
        turn: TurnId,
        budget: u32,
        reply: Reply<Turn>,
    },
    Step {
        turn: TurnId,
        new: Box<NewStep>,
        reply: Reply<()>,
    },
    Emit {
        turn: TurnId,
        from: u64,
        events: List<TurnEvent, 64>,
        blocked_on: List<Name, 4>,
        reply: Reply<u64>,
    },
    Finish {
        turn: TurnId,
        finished: Box<Finished>,
        reply: Reply<()>,
    },
    Postpone {
        turn: TurnId,
        obstacle: Obstacle,
        why: Text<512>,
        again_s: u32,
        reply: Reply<bool>,
    },
    Ask {
        turn: TurnId,
        question: Box<Question>,
        reply: Reply<()>,
    },
    Claim {
        turn: TurnId,
        id: ApprovalId,
        call: CallId,
        reply: Reply<Text<FORM>>,
    },
    FirstAnswer {
        turn: TurnId,
        ids: Questions,
        reply: AnsweredPort,
    },
    SteeringMessages {
        turn: TurnId,
        reply: Reply<List<SteeringMessage, STEERING_MESSAGES>>,
    },
    Labels {
        turn: TurnId,
        reply: Reply<(Label, Label)>,
    },
    FetchInput {
        turn: TurnId,
        from: u64,
        reply: Reply<Input>,
    },
    EngineState {
        turn: TurnId,
        engine: Name,
        reply: Reply<Option<SavedState>>,
    },
    Inbox {
        turn: TurnId,
        number: u8,
        from: u64,
        reply: Reply<Blob<FILE_PIECE>>,
    },
    Delegate {
        turn: TurnId,
        call: CallId,
        delegation: Box<Delegation>,
        reply: Reply<TurnId>,
    },
    SendFile {
        turn: TurnId,
        file: Box<NewFile>,
        reply: Reply<()>,
    },
    StoreEngineState {
        turn: TurnId,
        engine: Name,
        token: Token,
        state: Blob<STATE>,
        reply: Reply<()>,
    },
}

impl RouterState {
    /// Handles one of them.
    pub(crate) fn gate_request(&mut self, request: GateRequest) {
        match request {
            GateRequest::Take { turn, budget, reply } => drop(reply.send(self.take(turn, budget))),
            GateRequest::Step { turn, new, reply } => self.step(turn, *new, reply),
            GateRequest::Emit { turn, from, events, blocked_on, reply } => {
                self.set_blocked_on(turn, blocked_on);
                self.emit(turn, from, events, reply);
            }
            GateRequest::Finish { turn, finished, reply } => self.finish(turn, *finished, reply),
            GateRequest::Postpone { turn, obstacle, why, again_s, reply } => {
                drop(reply.send(self.postpone(turn, obstacle, &why, again_s)))
            }
            GateRequest::Ask { turn, question, reply } => drop(reply.send(self.ask(turn, &question))),
            GateRequest::Claim { turn, id, call, reply } => drop(reply.send(self.claim(turn, id, call))),
            GateRequest::FirstAnswer { turn, ids, reply } => self.first_answer(turn, ids, reply),
            GateRequest::SteeringMessages { turn, reply } => drop(reply.send(self.steering_messages(turn))),
            GateRequest::Labels { turn, reply } => drop(reply.send(self.labels(turn))),
            GateRequest::FetchInput { turn, from, reply } => self.fetch_input(turn, from, reply),
            GateRequest::EngineState { turn, engine, reply } => {
                drop(reply.send(self.engine_state(turn, &engine)))
            }
            GateRequest::Inbox { turn, number, from, reply } => {
                drop(reply.send(self.inbox(turn, number, from)))
            }
            GateRequest::Delegate { turn, call, delegation, reply } => {
                drop(reply.send(self.delegate(turn, call, *delegation)))
            }
            GateRequest::SendFile { turn, file, reply } => drop(reply.send(self.send_file(turn, &file))),
            GateRequest::StoreEngineState { turn, engine, token, state, reply } => {
                drop(reply.send(self.store_engine_state(turn, &engine, token, state)))
            }
        }
    }
}
