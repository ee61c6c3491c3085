//! Requests that go on while their record is under way.

use crate::port;
use crate::store::Choice;
use ipc_proto::api::{KeyScope, Presented};
use ipc_proto::approval::{ApprovalInfo, FORM, Reply};
use ipc_proto::channel::{CAPTION, Conversation, PressAnswer, SENT_BYTES};
use ipc_proto::config::UserRole;
use ipc_proto::content::TEXT_BOUND;
use ipc_proto::ids::{ApprovalId, CallId, MessageId, UserId};
use ipc_proto::label::Label;
use ipc_proto::router::Step;
use ipc_proto::{Blob, List, Name, Text};
use std::collections::BTreeMap;

/// Takes the text of a message that is recalled.
pub(crate) type RecallPort = port::Reply<Text<TEXT_BOUND>>;

/// Steering messages whose step is on its way to the record, and the recalls that came meanwhile. These are answered by the outcome.
pub(crate) type PendingSteering = BTreeMap<MessageId, Vec<(Option<UserId>, RecallPort)>>;

/// A step on its way to the store.
pub(crate) struct NewStep {
    pub(crate) number: u32,
    pub(crate) step: Step,
    pub(crate) session: Label,
    pub(crate) workspace: Label,
}

/// A file on its way to the conversation that a turn answers.
pub(crate) struct NewFile {
    /// The call that sends it.
    pub(crate) call: CallId,
    pub(crate) name: Text<255>,
    pub(crate) caption: Text<CAPTION>,
    pub(crate) bytes: Blob<SENT_BYTES>,
}

/// A person's answer to a question.
pub(crate) struct AnswerRequest {
    /// The user whose sessions this person may answer for; `None` for all.
    pub(crate) user: Option<UserId>,
    /// The person who answers.
    pub(crate) by: Name,
    pub(crate) id: ApprovalId,
    /// SHA-256 of the action that the person was shown.
    pub(crate) hash: [u8; 32],
    pub(crate) reply: Reply,
    /// The values of a form, a JSON object; empty without one.
    pub(crate) form: Text<FORM>,
    pub(crate) port: AnswerPort,
}

/// The place that an answer came from, and where its outcome goes.
pub(crate) enum AnswerPort {
    /// A person at control or the API.
    Person(port::Reply<ApprovalInfo>),
    /// A button of this channel.
    Press(Name, port::ChannelPort<PressAnswer>),
    /// A command in a conversation of this channel.
    Chat(Name, Conversation),
}

impl AnswerPort {
    /// The channel that it came by; none for control and the API.
    pub(crate) const fn channel(&self) -> Option<&Name> {
        match self {
            Self::Person(_) => None,
            Self::Press(channel, _) | Self::Chat(channel, _) => Some(channel),
        }
    }
}

/// An answer by a choice of a channel, which counts once its code of six digits is known to hold.
pub(crate) struct CodedAnswer {
    pub(crate) choice: Choice,
    pub(crate) reply: Reply,
    pub(crate) port: AnswerPort,
}

/// A dead letter that is to be queued again.
#[derive(Clone)]
pub(crate) struct RequeueRequest {
    /// The user that the message must belong to; `None` for all.
    pub(crate) user: Option<UserId>,
    /// The person who asks for it.
    pub(crate) by: Name,
    pub(crate) id: MessageId,
    /// Text in place of the message's own.
    pub(crate) text: Option<Text<TEXT_BOUND>>,
    /// The dead letter's own key, where its successor is to have it: a client that repeats the message then finds that one.
    pub(crate) key: Option<Text<256>>,
}

/// A change of a user who was added; `None` leaves the role or the uids as they are.
pub(crate) struct UserEdit {
    pub(crate) name: Name,
    pub(crate) role: Option<UserRole>,
    pub(crate) uids: Option<List<u32, 16>>,
}

/// A key of the API that is to be created.
pub(crate) struct NewKey {
    pub(crate) user: UserId,
    pub(crate) by: Name,
    pub(crate) name: Name,
    pub(crate) scope: KeyScope,
    pub(crate) presented: Presented,
}
