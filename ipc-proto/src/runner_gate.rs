//! The only interface a runner may call, served by the gate. A runner is a pure client: it asks for its work,
//! and whose work it is is known from the descriptor it asks over.

use crate::engine::{self, EngineEvent, STATE, Token};
use crate::gate::RelayError;
use crate::ids::CallId;
use crate::model::{Finish, Message, ModelError, ModelName, Piece, Request, StreamId};
use crate::router::{Input, Released, Task, WORDS, WORDS_BOUND};
use crate::service::service;
use crate::tool::{TOOLS, ToolList, ToolResult};
use crate::{Blob, List, Name, Text};
use serde::{Deserialize, Serialize};

/// What a runner is to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// The task.
    pub task: Task,
    /// The agent's own prompt and the canary line; the runner puts the base rules before it.
    pub prompt: Text<65536>,
    /// The conversation so far, this turn's message and earlier attempts' steps included.
    pub messages: List<Message, 1024>,
    /// The tools this agent may use.
    pub tools: ToolList,
    /// Tool calls it may still make.
    pub tool_calls: u32,
    /// Failures in a row of one tool after which it is refused.
    pub tool_failures: u32,
    /// Wall clock left, ms; time in which a person is asked does not count.
    pub wall_ms: u32,
    /// Milliseconds after which a call of a tool is stopped, for tools that declare it.
    pub tool_ms: List<(Name, u32), TOOLS>,
    /// The engine that answers the message, where the host's own loop does not.
    pub engine: Option<Box<engine::Work>>,
}

/// What a runner hears of a model's answer. Text is not among it: the gate has it and gives it to the person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Heard {
    /// Still coming.
    Waiting,
    /// A person is asked whether a call may run: the time until they answer does not count for the turn.
    Asking,
    /// The whole answer: what it said, and the calls it asks for with the gate's verdict on each.
    Reply {
        /// The assistant's message as it stands in the conversation from now on.
        message: Message,
        /// The verdicts.
        calls: List<Released, 32>,
        /// Why it ended.
        finish: Finish,
    },
}

/// How a runner ends its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// The model's last reply is the answer.
    Answered,
    /// The model did not come to an end within the bound of tool calls.
    TooManyCalls,
    /// A command, put or get ended with this status.
    Exited {
        /// Exit status; 128 and the signal's number if one ended it.
        status: u8,
    },
    /// The task could not be started; 125 for `sandbox run`.
    NotStarted,
    /// The wall clock ran out.
    TimedOut,
    /// An engine's program ended with this status and without an answer.
    EngineFailed {
        /// Exit status; 128 and the signal's number if one ended it.
        status: u8,
    },
    /// An engine's program said nothing for too long.
    EngineIdle,
}

/// Why the gate refused a runner. The first three are the runner's own mistakes and end its connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum GateError {
    /// Not the moment for this: no answer was asked for, the call is not released or has its result already.
    #[error("not now: the call is not released, or has its result already")]
    OutOfTurn,
    /// The turn has ended.
    #[error("the turn has ended")]
    Over,
    /// A quota is used up.
    #[error("{what}: the quota of {limit} is used up")]
    Quota {
        /// Which.
        what: Name,
        /// How many there were.
        limit: u32,
    },
    /// The model goes round in circles: its turn ends.
    #[error(
        "the model asked for {tool} with the same arguments again right after it was told that this call is refused; the turn \
         was ended"
    )]
    Looping {
        /// What it asked for.
        tool: Name,
    },
    /// What the session has read may not go to a model; the policies are named.
    #[error("what this session has read may not go to a model (policies: {})", .0.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", "))]
    Policy(List<Name, 16>),
    /// The model failed.
    #[error("{0}")]
    Model(ModelError),
    /// A process that every effect needs is not there: nothing leaves.
    #[error("{0} is not there; nothing leaves without it")]
    Down(Name),
}

service! {
    /// What a runner may ask.
    pub trait RunnerGate {
        /// The work this runner was launched for.
        [idempotent, 12288, 30]
        async fn work() -> Result<Work, GateError>;
        /// Asks the model to go on with this conversation. Gives back what a person has said into the turn since: the model
        /// is given it behind these messages, and it stands in the conversation from now on.
        [once, 8192, 60]
        async fn think(system: Text<131072>, messages: List<Message, 1024>) -> Result<List<Message, WORDS>, GateError>;
        /// Waits up to 20 s for the answer; calls that wait for a person are part of it.
        [idempotent, 4096, 60]
        async fn hear() -> Result<Heard, GateError>;
        /// Has the gate run a released call of one of its own tools.
        [idempotent, 2048, 60]
        async fn effect(call: CallId) -> Result<ToolResult, GateError>;
        /// Gives in what a released call of a tool in the jail gave back; gives out what the model may see of it.
        [idempotent, 2048, 60]
        async fn result(result: ToolResult) -> Result<ToolResult, GateError>;
        /// Says how far a released call is: one short line without content, for whoever follows the turn.
        [once, 4, 10]
        async fn progress(call: CallId, line: Text<256>) -> Result<(), GateError>;
        /// Passes on output of a command that a person runs, in order.
        [once, 64, 30]
        async fn output(error: bool, bytes: Blob<32768>) -> Result<(), GateError>;
        // Of a runner whose program asks models by itself.
        /// The models that the program may ask by name, its agent's own first.
        [idempotent, 64, 10]
        async fn run_models() -> Result<List<ModelName, 256>, RelayError>;
        /// Begins an answer of a model. It meets scanner, policy, budget and record as a client's of the API does;
        /// `request.payer` is filled in by the gate, whatever it says.
        [once, 8192, 30]
        async fn run_ask(request: Request) -> Result<StreamId, RelayError>;
        /// The next pieces of it, scanned; waits up to 20 s for the first, and may come back empty.
        [once, 1024, 30]
        async fn run_pull(stream: StreamId, credit: u16) -> Result<List<Piece, 64>, RelayError>;
        /// Ends an answer that nobody waits for.
        [idempotent, 4, 10]
        async fn run_end(stream: StreamId) -> ();
        /// An estimate of the tokens that a request would read.
        [idempotent, 8192, 30]
        async fn run_count(request: Request) -> Result<u32, RelayError>;
        /// What the person typed, from number `from` on; waits up to 20 s for the first.
        [idempotent, 1100, 30]
        async fn run_input(from: u64) -> Result<Input, GateError>;
        // Of a runner whose program is an engine.
        /// Passes on what it does, in order.
        [once, 2560, 60]
        async fn engine(events: List<EngineEvent, 64>) -> Result<(), GateError>;
        /// What a person has said into the turn since this was asked last, for a program that takes it in on its way.
        [once, 640, 30]
        async fn words() -> Result<List<Text<WORDS_BOUND>, WORDS>, GateError>;
        /// Keeps what it needs to go on with the session, once it has answered.
        [idempotent, 1100, 30]
        async fn keep(token: Token, state: Blob<STATE>) -> Result<(), GateError>;
        /// Ends the turn.
        [idempotent, 4, 60]
        async fn finish(ending: Ending) -> Result<(), GateError>;
    }
}
