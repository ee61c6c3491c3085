//! The only interface a runner may call, served by the gate. A runner is a pure client: it asks for its work,
//! and the descriptor that it asks over identifies its turn.

use crate::channel::{FILE_PIECE, FILES, InboxFile, SENT_BYTES};
use crate::egress::{self, EgressError, OPAQUE, Origin, ReplyId};
use crate::engine::{self, EngineEvent, STATE, Token};
use crate::gate::RelayError;
use crate::ids::CallId;
use crate::mcp;
use crate::model::{Finish, Message, ModelError, ModelName, Piece, Request, StreamId};
use crate::router::{Input, Released, STEERING_BOUND, STEERING_MESSAGES, Task};
use crate::service::service;
use crate::tool::{TOOLS, ToolList, ToolResult};
use crate::{Blob, List, Name, Text};
use serde::{Deserialize, Serialize};

/// The work of a runner.
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
    /// Files of the message, which go into the workspace first.
    pub files: List<InboxFile, FILES>,
    /// Programs in the jail have a way out.
    pub network: bool,
    /// The places to which their connections pass through undecrypted, as HOST:PORT.
    pub opaque: List<Text<260>, OPAQUE>,
    /// Their variables that hold the placeholder of a secret.
    pub placeholders: List<Name, 32>,
}

/// The parts of a model's answer that a runner receives. Text is not among them: the gate has it and gives it to the
/// person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CompletionState {
    /// The answer is not complete.
    Waiting,
    /// A person is asked whether a call may run: the turn's time stands still until they answer.
    Asking,
    /// The whole answer: the message, and the calls that it asks for with the gate's verdict on each.
    Reply {
        /// The assistant's message as it stands in the conversation from now on.
        message: Message,
        /// The verdicts.
        calls: List<Released, 32>,
        /// The reason for its end.
        finish: Finish,
    },
}

/// The state of a call that the gate runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EffectState {
    /// A server is at work.
    Waiting,
    /// A person is asked, which is not the turn's time.
    Asking,
    /// The call has ended.
    Done(ToolResult),
}

/// How a runner ends its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// The model's last reply is the answer.
    Answered,
    /// The model reached no end within the bound of tool calls.
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
    /// The call came out of order: no answer was asked for, the call is not released or has its result already.
    #[error("not now: the call is not released, or has its result already; wait, the turn goes on by itself")]
    OutOfTurn,
    /// The turn has ended.
    #[error("the turn has ended; send another message")]
    Over,
    /// A quota is used up.
    #[error(
        "{what}: the quota of {limit} is used up; wait an hour, or raise it in [agent.NAME] limits of the \
         configuration"
    )]
    Quota {
        /// The quota.
        what: Name,
        /// How many there were.
        limit: u32,
    },
    /// A job's message has used its tokens.
    #[error(
        "the {limit} tokens of the job's message are used up; raise the bound: `agentctl schedule add ... --tokens N`"
    )]
    Spent {
        /// How many there were.
        limit: u32,
    },
    /// The model repeats itself: its turn ends.
    #[error(
        "the model asked for {tool} with the same arguments again right after it was told that this call is refused; the turn \
         was ended; say in other words what is wanted"
    )]
    Looping {
        /// The tool of the call.
        tool: Name,
    },
    /// Data that the session has read may not go to a model; the policies are named.
    #[error(
        "what this session has read may not go to a model (policies: {}); begin another session, or use a model of \
         this machine",
        .0.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ")
    )]
    Policy(List<Name, 16>),
    /// The model failed.
    #[error("{0}")]
    Model(ModelError),
    /// A process that every effect needs is not available: nothing leaves.
    #[error("{0} is held or away, and nothing leaves without it; if it is held: `agentctl release {0}`")]
    Down(Name),
}

/// Why a request of a program in the jail was not sent on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum NetworkError {
    /// A person is asked whether it may go there; the same request is to be made again.
    #[error("a person is asked whether this may go out; wait for the answer")]
    Asking,
    /// It may not go there.
    #[error("{host}: {rule}; {next}")]
    Refused {
        /// The host and port.
        host: Text<260>,
        /// The rule.
        rule: Text<512>,
        /// The next step.
        next: Text<512>,
    },
    /// A bound is reached.
    #[error("{what}: the bound of {limit} is reached; wait, or {next}")]
    Bound {
        /// The bound.
        what: Name,
        /// Its value.
        limit: u64,
        /// The next step.
        next: Text<128>,
    },
    /// It was let out and failed.
    #[error("{0}")]
    Egress(EgressError),
}

service! {
    /// The gate's interface for runners.
    pub trait RunnerGate {
        /// The work this runner was launched for.
        [idempotent, 12288, 30]
        async fn work() -> Result<Work, GateError>;
        /// Asks the model to continue this conversation. Returns the person's messages into the turn since: the model
        /// receives them behind these messages, and they stay in the conversation.
        [once, 8192, 60]
        async fn start_completion(system: Text<131072>, messages: List<Message, 1024>)
            -> Result<List<Message, STEERING_MESSAGES>, GateError>;
        /// Waits up to 20 s for the answer; calls that wait for a person are part of it.
        [idempotent + wait, 4096, 60]
        async fn poll_completion() -> Result<CompletionState, GateError>;
        /// Has the gate run a released call of one of its own tools; with the bytes of the file that a call of `send_file` names.
        /// Waits up to 20 s for a server of the Model Context Protocol, and is to be asked again then.
        [idempotent, 2304, 60]
        async fn effect(call: CallId, file: Option<Blob<SENT_BYTES>>) -> Result<EffectState, GateError>;
        /// Takes the result of a released call of a tool in the jail; returns the part of it that the model may see.
        [idempotent, 2048, 60]
        async fn result(result: ToolResult) -> Result<ToolResult, GateError>;
        /// Reports the progress of a released call: one short line without content, for the followers of the turn.
        [once, 4, 10]
        async fn progress(call: CallId, line: Text<256>) -> Result<(), GateError>;
        /// A piece of a file of the message, from this byte on; empty at its end.
        [idempotent, 272, 30]
        async fn inbox(number: u8, from: u64) -> Result<Blob<FILE_PIECE>, GateError>;
        /// Passes on output of a command that a person runs, in order.
        [once, 64, 30]
        async fn output(error: bool, bytes: Blob<32768>) -> Result<(), GateError>;
        // For a runner whose program asks models by itself.
        /// The models that the program may ask by name, its agent's own first.
        [idempotent, 64, 10]
        async fn run_models() -> Result<List<ModelName, 256>, RelayError>;
        /// Begins an answer of a model. It meets scanner, policy, budget and record as a client's of the API does;
        /// `request.payer` is filled in by the gate, whatever it says.
        [once, 8192, 30]
        async fn run_ask(request: Request) -> Result<StreamId, RelayError>;
        /// The next pieces of it, scanned; waits up to 20 s for the first, and may come back empty.
        [once + wait, 1024, 30]
        async fn run_pull(stream: StreamId, credit: u16) -> Result<List<Piece, 64>, RelayError>;
        /// Ends an answer that nobody waits for.
        [idempotent, 4, 10]
        async fn run_end(stream: StreamId) -> ();
        /// An estimate of the tokens that a request would read.
        [idempotent, 8192, 30]
        async fn run_count(request: Request) -> Result<u32, RelayError>;
        /// The person's input, from number `from` on; waits up to 20 s for the first.
        [idempotent + wait, 1100, 30]
        async fn run_input(from: u64) -> Result<Input, GateError>;
        // For a runner with a way out.
        /// Sends a request of a program in the jail out, if it may go there, and gives the head of the reply. Waits up to 20 s
        /// for a person who is asked.
        [once, 8448, 100]
        async fn net_request(request: egress::Request) -> Result<egress::Head, NetworkError>;
        /// The next piece of a reply.
        [once, 80, 80]
        async fn net_next(reply: ReplyId) -> Result<egress::Piece, NetworkError>;
        /// Opens a tunnel to a place that the owner lists as opaque, if it may go there. Waits up to 20 s for a person who is asked.
        [once, 4, 100]
        async fn net_tunnel(origin: Origin) -> Result<ReplyId, NetworkError>;
        /// Sends bytes into a tunnel or a WebSocket.
        [once, 80, 80]
        async fn net_send(reply: ReplyId, piece: egress::Piece) -> Result<(), NetworkError>;
        /// Lets a reply go that nobody waits for.
        [idempotent, 4, 10]
        async fn net_close(reply: ReplyId) -> ();
        // For the bridge to a server of the Model Context Protocol.
        /// How the server is reached.
        [idempotent, 512, 10]
        async fn server_terms() -> Result<mcp::Terms, GateError>;
        /// Reports what the server offers, or its failure.
        [once, 2560, 30]
        async fn server_report(report: mcp::Report) -> Result<(), GateError>;
        /// The gate's next request to the server; waits up to 20 s for it.
        [once + wait, 640, 30]
        async fn server_next() -> Result<Option<mcp::Request>, GateError>;
        /// The server's reply to a request.
        [once, 1280, 30]
        async fn server_reply(id: u64, reply: mcp::Reply) -> Result<(), GateError>;
        // For a runner whose program is an engine.
        /// Passes on the engine's events, in order.
        [once, 2560, 60]
        async fn engine(events: List<EngineEvent, 64>) -> Result<(), GateError>;
        /// The person's messages into the turn since the previous call, for a program that reads them while it works.
        [once, 640, 30]
        async fn steering() -> Result<List<Text<STEERING_BOUND>, STEERING_MESSAGES>, GateError>;
        /// Stores the state that the engine needs to continue the session, once it has answered.
        [idempotent, 1100, 30]
        async fn save_engine_state(token: Token, state: Blob<STATE>) -> Result<(), GateError>;
        /// Ends the turn.
        [idempotent, 4, 60]
        async fn finish(ending: Ending) -> Result<(), GateError>;
    }
}
