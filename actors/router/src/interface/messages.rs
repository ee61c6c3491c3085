//! Requests of persons about messages and the queue.

use crate::port::Reply;
use crate::state::RouterState;
use crate::state::requests::RequeueRequest;
use ipc_proto::content::TEXT_BOUND;
use ipc_proto::ids::{MessageId, TurnId, UserId};
use ipc_proto::router::{
    Accepted, Followed, MessageInfo, MessageView, Node, Passed, QueueInfo, SessionName, Steer, Steering,
    Stopped, Submission, TREE, Typed,
};
use ipc_proto::{List, Name, Text};

/// A request of persons about messages and the queue, with the port for its answer.
pub(crate) enum MessageRequest {
    Submit { submission: Box<Submission>, reply: Reply<Accepted> },
    Steer { user: UserId, steer: Box<Steer>, reply: Reply<Steering> },
    Follow { user: Option<UserId>, turn: TurnId, from: u64, credit: u16, reply: Reply<Followed> },
    Tree { user: Option<UserId>, turn: TurnId, reply: Reply<List<Node, TREE>> },
    Cancel { user: Option<UserId>, turn: TurnId, reply: Reply<()> },
    SendInput { user: Option<UserId>, turn: TurnId, number: u64, piece: Typed, reply: Reply<bool> },
    List { user: Option<UserId>, limit: u16, dead: bool, reply: Reply<List<MessageInfo, 256>> },
    Show { user: Option<UserId>, id: MessageId, reply: Reply<MessageView> },
    Trace { user: Option<UserId>, id: MessageId, reply: Reply<List<Passed, 128>> },
    Recall { user: Option<UserId>, id: MessageId, reply: Reply<Text<TEXT_BOUND>> },
    Requeue { request: Box<RequeueRequest>, reply: Reply<Accepted> },
    Pause { user: Option<UserId>, by: Name, session: Option<SessionName>, paused: bool, reply: Reply<()> },
    Stop { user: Option<UserId>, by: Name, session: Option<SessionName>, again: bool, reply: Reply<Stopped> },
    Queue { user: Option<UserId>, reply: Reply<QueueInfo> },
}

impl RouterState {
    /// Handles one of them.
    pub(crate) fn message_request(&mut self, request: MessageRequest) {
        match request {
            MessageRequest::Submit { submission, reply } => drop(reply.send(self.submit(&submission))),
            MessageRequest::Steer { user, steer, reply } => drop(reply.send(self.steer(user, &steer))),
            MessageRequest::Follow { user, turn, from, credit, reply } => {
                self.follow(user, turn, from, credit, reply)
            }
            MessageRequest::Tree { user, turn, reply } => drop(reply.send(self.tree(user, turn))),
            MessageRequest::Cancel { user, turn, reply } => self.cancel(user, turn, reply),
            MessageRequest::SendInput { user, turn, number, piece, reply } => {
                drop(reply.send(self.send_input(user, turn, number, piece)))
            }
            MessageRequest::List { user, limit, dead, reply } => {
                drop(reply.send(self.messages(user, limit, dead)))
            }
            MessageRequest::Show { user, id, reply } => drop(reply.send(self.message(user, id))),
            MessageRequest::Trace { user, id, reply } => drop(reply.send(self.trace(user, id))),
            MessageRequest::Recall { user, id, reply } => self.recall(user, id, reply),
            MessageRequest::Requeue { request, reply } => self.requeue(*request, reply),
            MessageRequest::Pause { user, by, session, paused, reply } => {
                self.pause(user, &by, session, paused, reply)
            }
            MessageRequest::Stop { user, by, session, again, reply } => {
                self.stop((user, &by), session, again, reply)
            }
            MessageRequest::Queue { user, reply } => drop(reply.send(self.queue(user))),
        }
    }
}
