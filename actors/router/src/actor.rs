//! The actor that owns the router's state. Messages are handled in the order they came, one at a time; the effects that they emit are
//! performed elsewhere. It never waits for a peer.

use crate::interface::{
    ApiRequest, ApprovalRequest, ChannelsRequest, EventRequest, FireRequest, GateRequest, MessageRequest,
    SessionRequest, UserRequest,
};
use crate::port::Port;
use crate::state::RouterState;
use crate::state::effects::{Effect, Recorded, ScanJob};
use crate::state::moment::Moment;
use crate::state::requests::CodedAnswer;
use ipc_proto::ids::TurnId;
use ipc_proto::scanner::Verdict;
use kit::Mailbox;
use manifest::command::{Ended, Room, Worker};
use ractor::{Actor, ActorProcessingErr, ActorRef, rpc::CallResult};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;

/// How often the router resumes what is due, which is a matter of seconds.
const TICK: Duration = Duration::from_millis(500);

/// A message to the actor.
pub(crate) enum Message {
    Gate(GateRequest),
    Api(ApiRequest),
    Fire(FireRequest),
    Approval(ApprovalRequest),
    Queue(MessageRequest),
    Session(SessionRequest),
    User(UserRequest),
    Event(EventRequest),
    Channels(ChannelsRequest),
    /// An event is on the record, or could not be put there.
    Recorded(Recorded, bool),
    /// The scanner has judged a message, or could not.
    Scanned(ScanJob, Option<Verdict>),
    /// Credproxy has compared a code, or could not.
    Verified(Box<CodedAnswer>, Option<bool>),
    /// agentd reports a live runner.
    RunnerAlive(TurnId),
    /// agentd has reported all live runners.
    RunnersKnown,
    /// agentd reports the end of a runner.
    RunnerEnded(TurnId, Option<Ended>, u64),
    /// agentd reports the room on the disk.
    Disk(Room),
    /// Time has passed.
    Tick,
}

macro_rules! requests {
    ($($variant:ident($request:ty)),*) => {
        $(impl From<$request> for Message {
            fn from(request: $request) -> Self {
                Self::$variant(request)
            }
        })*
    };
}

requests!(
    Gate(GateRequest),
    Api(ApiRequest),
    Fire(FireRequest),
    Approval(ApprovalRequest),
    Queue(MessageRequest),
    Session(SessionRequest),
    User(UserRequest),
    Event(EventRequest),
    Channels(ChannelsRequest)
);

impl Message {
    /// Its kind, for operators.
    const fn kind(&self) -> &'static str {
        match self {
            Self::Gate(_) => "call of gate",
            Self::Api(_) => "call of gateway",
            Self::Fire(_) => "message of a job",
            Self::Approval(_) => "approval",
            Self::Queue(_) => "message",
            Self::Session(_) => "session",
            Self::User(_) => "user",
            Self::Event(_) => "event",
            Self::Channels(_) => "channel",
            Self::Recorded(..) => "recorded",
            Self::Scanned(..) => "scanned",
            Self::Verified(..) => "verified",
            Self::RunnerAlive(_) | Self::RunnersKnown | Self::RunnerEnded(..) => "runner",
            Self::Disk(_) => "disk",
            Self::Tick => "tick",
        }
    }
}

impl RouterState {
    /// Handles one message.
    pub(crate) fn handle(&mut self, message: Message) {
        match message {
            Message::Gate(request) => self.gate_request(request),
            Message::Api(request) => self.api_request(request),
            Message::Fire(request) => self.fire_request(request),
            Message::Approval(request) => self.approval_request(request),
            Message::Queue(request) => self.message_request(request),
            Message::Session(request) => self.session_request(request),
            Message::User(request) => self.user_request(request),
            Message::Event(request) => self.event_request(request),
            Message::Channels(request) => self.channels_request(request),
            Message::Recorded(what, recorded) => self.recorded(what, recorded),
            Message::Scanned(job, verdict) => self.scanned(&job, verdict.as_ref()),
            Message::Verified(answer, holds) => self.code_verified(*answer, holds),
            Message::RunnerAlive(turn) => self.runner_alive(turn),
            Message::RunnersKnown => self.runners_known(),
            Message::RunnerEnded(turn, how, code) => self.runner_ended(turn, how, code),
            Message::Disk(room) => self.set_disk_room(room),
            Message::Tick => self.tick(),
        }
    }
}

struct RouterActor {
    mailbox: Arc<Mailbox>,
}

impl Actor for RouterActor {
    type Msg = Message;
    type State = (RouterState, UnboundedSender<Effect>);
    type Arguments = Self::State;

    async fn pre_start(
        &self,
        myself: ActorRef<Message>,
        arguments: Self::State,
    ) -> Result<Self::State, ActorProcessingErr> {
        drop(myself.send_interval(TICK, || Message::Tick));
        Ok(arguments)
    }

    async fn handle(
        &self,
        _: ActorRef<Message>,
        message: Message,
        (router, effects): &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        // A tick is no message that somebody sent.
        let _working = (!matches!(message, Message::Tick)).then(|| self.mailbox.begin(message.kind()));
        router.at(Moment::now());
        router.handle(message);
        router.wake_channels();
        if router.drive_now {
            router.drive();
        } else if router.drive_after_reply {
            // The answer is written before the queue is driven. No other message is handled in between.
            tokio::task::yield_now().await;
            router.drive();
        }
        for effect in router.effects.drain(..) {
            // The receiver ends only with the process.
            drop(effects.send(effect));
        }
        Ok(())
    }
}

/// Sends messages to the actor.
#[derive(Clone)]
pub(crate) struct RouterHandle {
    actor: ActorRef<Message>,
    mailbox: Arc<Mailbox>,
}

impl RouterHandle {
    /// Starts the actor; `None` if it could not be, which no state of the host leads to.
    pub(crate) async fn start(router: RouterState, effects: UnboundedSender<Effect>) -> Option<Self> {
        let mailbox = Mailbox::new("queue");
        let own = RouterActor { mailbox: Arc::clone(&mailbox) };
        let (actor, _) = Actor::spawn(None, own, (router, effects)).await.ok()?;
        Some(Self { actor, mailbox })
    }

    /// Sends a message.
    pub(crate) fn send(&self, message: Message) {
        self.mailbox.sent();
        drop(self.actor.cast(message));
    }

    /// The actor as operators see it.
    pub(crate) fn worker(&self) -> Worker {
        self.mailbox.worker()
    }

    /// Makes a request; `None` if its answer took longer than `wait`.
    pub(crate) async fn call<T: Send + 'static, R: Into<Message>>(
        &self,
        wait: Duration,
        request: impl FnOnce(Port<T>) -> R,
    ) -> Option<T> {
        self.mailbox.sent();
        match self.actor.call(|port| request(port).into(), Some(wait)).await {
            Ok(CallResult::Success(answer)) => Some(answer),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{config, said};
    use ipc_proto::ids::UserId;
    use ipc_proto::router::RouterError;
    use tokio::sync::mpsc::unbounded_channel;

    const LONG: Duration = Duration::from_secs(20);

    async fn queue() -> (tempfile::TempDir, RouterHandle, tokio::sync::mpsc::UnboundedReceiver<Effect>) {
        let folder = tempfile::tempdir().unwrap();
        let router = RouterState::open(&folder.path().join("queue.db"), config(), Moment::now()).unwrap();
        let (effects, out) = unbounded_channel();
        (folder, RouterHandle::start(router, effects).await.unwrap(), out)
    }

    async fn identified(queue: &RouterHandle) -> UserId {
        let ann = queue.call(LONG, |reply| UserRequest::Identify { uid: 1001, reply }).await;
        ann.unwrap().unwrap().id
    }

    #[tokio::test(flavor = "current_thread")]
    async fn requests_are_handled_in_order_and_their_effects_go_out() {
        let (_folder, queue, mut out) = queue().await;
        let ann = identified(&queue).await;
        let submission = Box::new(said(ann, "s", "k", "hello"));
        let accepted = queue.call(LONG, |reply| MessageRequest::Submit { submission, reply }).await.unwrap();
        assert!(
            matches!(out.recv().await, Some(Effect::Record(event, _)) if event.turn == Some(accepted.unwrap().turn))
        );
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_call_that_waits_too_long_ends_and_holds_nothing_up() {
        let (_folder, queue, mut out) = queue().await;
        let short = Duration::from_millis(20);
        assert!(queue.call(short, |reply| EventRequest::Wait { after: 0, reply }).await.is_none());
        let person = Box::new(crate::tests::bob());
        let added = queue.call(short, |reply| UserRequest::Add { person, reply }).await;
        assert_eq!(added, None::<Result<_, RouterError>>, "audit has not answered");
        let Some(Effect::Record(_, then)) = out.recv().await else { panic!("nothing to record") };
        queue.send(Message::Recorded(then, true));
        let users = queue.call(LONG, |reply| UserRequest::List { reply }).await;
        assert_eq!(
            users.map(|users| users.len()),
            Some(4),
            "what was begun is done although nobody waits for it"
        );
    }

    #[tokio::test(flavor = "current_thread")]
    async fn work_that_is_due_is_done_without_a_request() {
        let (_folder, queue, mut out) = queue().await;
        let ann = identified(&queue).await;
        let submission = Box::new(said(ann, "s", "k", "hello"));
        queue.call(LONG, |reply| MessageRequest::Submit { submission, reply }).await.unwrap().unwrap();
        for _ in 0..2 {
            let Some(Effect::Record(_, then)) = out.recv().await else { panic!("nothing to record") };
            queue.send(Message::Recorded(then, false));
        }
    }
}
