//! Work for the rest of the host, as data. The router never waits: it emits an effect, and its result comes back as a message. At most one
//! effect is out for each live message and for each call that waits for a record, so the queue bounds their number.

use super::requests::{AnswerRequest, CodedAnswer, NewKey, NewStep, RequeueRequest, UserEdit};
use crate::port::{ChannelPort, Reply};
use crate::store::{Asked, Pairing, Person, Scope, Session};
use ipc_proto::api::KeyInfo;
use ipc_proto::approval::{Grant, Question};
use ipc_proto::audit::Event;
use ipc_proto::channel::{Conversation, DeliveryId, GroupRule, LinkCode, PressAnswer};
use ipc_proto::ids::{ApprovalId, KeyId, MessageId, SessionId, TurnId, UserId, WorkspaceId};
use ipc_proto::label::Label;
use ipc_proto::router::{Accepted, Stopped, UserInfo};
use ipc_proto::scanner::{SCAN_BOUND, Subject};
use ipc_proto::{Name, Text};
use manifest::Process;
use manifest::command::{Frame, Kind, LAUNCH_ATTACHED, attached_owner, id_words};
use std::collections::VecDeque;
use std::time::Duration;

/// Work for the rest of the host.
pub(crate) enum Effect {
    /// Put this on the record, and report whether it is durable there.
    Record(Box<Event>, Recorded),
    /// Have the scanner judge this text, and report its verdict.
    Scan(Subject, Text<SCAN_BOUND>, ScanJob),
    /// Have credproxy compare the code of six digits that a person typed with an answer to a question, and report if it holds; `None`
    /// if it could not.
    Verify { account: Name, secret: Name, digits: Text<16>, then: Box<CodedAnswer> },
    /// Have agentd launch a runner.
    Launch(Launch),
    /// Have agentd end the runner of this turn.
    Kill(TurnId),
    /// Have agentd give the runner of this turn this time from now on.
    SetDeadline(TurnId, Duration),
    /// Have agentd remove the folder of this workspace.
    RemoveWorkspace(WorkspaceId),
    /// Have agentd close this attached directory, in which no session works any more.
    CloseDirectory(WorkspaceId),
}

/// The work that goes on once an event is on the record, or could not be put there.
pub(crate) enum Recorded {
    Nothing,
    /// The acceptance of a message.
    Acceptance(i64),
    /// A label that a turn's start raises; the start comes next.
    RaisedAtStart {
        seq: i64,
        label: Label,
        start: Box<Event>,
    },
    /// The start of a turn.
    Start {
        seq: i64,
        label: Label,
    },
    /// Events that come before a step; the others come next.
    BeforeStep {
        turn: TurnId,
        new: Box<NewStep>,
        others: VecDeque<Event>,
        port: Reply<()>,
    },
    /// The end of a runner whose turn goes on.
    RunnerExit(i64),
    /// The end of a turn.
    End(i64),
    /// A person's answer.
    Answer {
        request: Box<AnswerRequest>,
        asked: Box<Asked>,
        question: Box<Question>,
    },
    /// A grant that goes with an answer.
    Granted {
        request: Box<AnswerRequest>,
        asked: Box<Asked>,
        grant: Box<Grant>,
    },
    /// A question that nobody answered in time.
    Expired(Box<Asked>),
    /// A request that is done once it is on the record.
    Request(PendingRequest),
}

/// A request that is done once it is on the record, and answered then.
pub(crate) enum PendingRequest {
    GrantRevoked {
        id: ApprovalId,
        port: Reply<()>,
    },
    KeyCreated(Box<NewKey>, Reply<KeyInfo>),
    KeyRevoked(KeyId, Reply<()>),
    Requeued(Box<RequeueRequest>, Reply<Accepted>),
    Paused {
        scope: Scope,
        paused: bool,
        port: Reply<()>,
    },
    /// A stop, and whether it is durable.
    Stopped {
        stopped: Stopped,
        durable: bool,
        port: Reply<Stopped>,
    },
    SessionEnded(Box<Session>, Reply<()>),
    WorkspaceRemoved {
        user: Option<UserId>,
        id: WorkspaceId,
        port: Reply<()>,
    },
    UserAdded(Box<Person>, Reply<UserInfo>),
    UserEdited(Box<UserEdit>, Reply<UserInfo>),
    UserRemoved(UserId, Reply<()>),
    Channel(ChannelRequest),
}

/// A request about channels that is done once it is on the record.
pub(crate) enum ChannelRequest {
    Paused {
        channel: Name,
        paused: bool,
        port: ChannelPort<()>,
    },
    Group {
        channel: Name,
        group: Text<128>,
        rule: Option<GroupRule>,
        port: ChannelPort<()>,
    },
    PairingApproved {
        pairing: Box<Pairing>,
        person: Box<Person>,
        port: ChannelPort<UserInfo>,
    },
    PairingRefused {
        identity: Text<256>,
        port: ChannelPort<()>,
    },
    /// An identity that is added to a user or taken away; `notice` is the conversation that asked for it.
    Identity {
        user: UserId,
        identity: Text<256>,
        add: bool,
        port: Option<ChannelPort<UserInfo>>,
        notice: Option<(Name, Conversation)>,
    },
    /// The press of a button: the answer to this message is sent again.
    Pressed {
        message: MessageId,
        nonce: [u8; 16],
        port: ChannelPort<PressAnswer>,
    },
    /// A code that links an identity to a user.
    Link {
        user: UserId,
        port: ChannelPort<LinkCode>,
    },
    /// A line of the host's own to a conversation.
    Tested {
        channel: Name,
        conversation: Conversation,
        text: String,
        port: ChannelPort<DeliveryId>,
    },
    /// A person asks in this conversation for a code that links another identity.
    ChatLink {
        user: UserId,
        channel: Name,
        conversation: Conversation,
    },
    /// The parts of a message's answer that did not arrive are sent again.
    Resent {
        user: Option<UserId>,
        message: MessageId,
        port: ChannelPort<u32>,
    },
}

/// A message that the scanner judges.
pub(crate) struct ScanJob {
    pub(crate) seq: i64,
    /// The whole text; the scanner gets as much of it as it takes.
    pub(crate) text: String,
    /// True if it goes to a model.
    pub(crate) chat: bool,
    /// True if its sender is one of the host's own people.
    pub(crate) own: bool,
}

/// A runner that agentd is to launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Launch {
    pub(crate) turn: TurnId,
    pub(crate) session: SessionId,
    pub(crate) workspace: WorkspaceId,
    pub(crate) attached: bool,
    pub(crate) wall_ms: u64,
    pub(crate) cpu_ms: u64,
    /// The row of the table that confines it.
    pub(crate) runner: Process,
}

impl Launch {
    /// The command for agentd.
    pub(crate) fn frame(&self) -> Frame {
        let ([t0, t1], [w0, w1]) = (id_words(self.turn.bytes()), id_words(self.workspace.bytes()));
        let flags = if self.attached { LAUNCH_ATTACHED } else { 0 };
        let uid = attached_owner(self.workspace.bytes());
        let [s0, s1] = id_words(self.session.bytes());
        let words = [t0, t1, w0, w1, self.wall_ms, flags, self.cpu_ms, uid.into(), s0, s1];
        Frame::new(Kind::Launch, self.runner).with(&words)
    }
}

/// The command for agentd to end a turn's runner.
pub(crate) fn kill_frame(turn: TurnId) -> Frame {
    Frame::new(Kind::Kill, Process::Runner).with(&id_words(turn.bytes()))
}

/// The command for agentd to remove the folder of a workspace.
pub(crate) fn remove_frame(workspace: WorkspaceId) -> Frame {
    Frame::new(Kind::Remove, Process::Runner).with(&id_words(workspace.bytes()))
}

/// The command for agentd to close an attached directory in which no session works any more.
pub(crate) fn close_frame(workspace: WorkspaceId) -> Frame {
    Frame::new(Kind::Forget, Process::Runner).with(&id_words(workspace.bytes()))
}

/// The command for agentd to give a turn's runner `left` from now on.
pub(crate) fn deadline_frame(turn: TurnId, left: Duration) -> Frame {
    let [t0, t1] = id_words(turn.bytes());
    let ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
    Frame::new(Kind::SetDeadline, Process::Runner).with(&[t0, t1, ms])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_frame_has_every_field_in_its_place() {
        let (turn, workspace) = (TurnId::from_bytes([1; 16]), WorkspaceId::from_bytes([2; 16]));
        let (runner, session) = (Process::Runner, SessionId::from_bytes([3; 16]));
        let launch =
            Launch { turn, session, workspace, attached: true, wall_ms: 120_000, cpu_ms: 60_000, runner };
        let frame = launch.frame();
        assert_eq!((frame.kind, frame.id(0), frame.id(1)), (Kind::Launch, turn.bytes(), workspace.bytes()));
        assert_eq!(frame.words[4..7], [120_000, LAUNCH_ATTACHED, 60_000]);
        assert_eq!((frame.id(4), frame.words[7]), (session.bytes(), 0x0202_0202), "the owner is in the id");
        assert_eq!(Launch { attached: false, ..launch }.frame().words[5], 0);
        let other = Launch { runner: Process::AgentRunner, ..launch }.frame();
        assert_eq!((frame.peer, other.peer), (Process::Runner, Process::AgentRunner));
        assert_eq!((kill_frame(turn).kind, kill_frame(turn).id(0)), (Kind::Kill, turn.bytes()));
        let wall = deadline_frame(turn, Duration::from_secs(7));
        assert_eq!((wall.kind, wall.id(0), wall.words[2]), (Kind::SetDeadline, turn.bytes(), 7000));
    }

    #[test]
    fn a_workspace_that_is_removed_is_named() {
        let workspace = WorkspaceId::from_bytes([2; 16]);
        let frame = remove_frame(workspace);
        assert_eq!((frame.kind, frame.id(0)), (Kind::Remove, workspace.bytes()));
    }
}
