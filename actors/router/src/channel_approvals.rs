//! Questions on channels: a question of a turn is shown to the one person whose direct message the turn answers, where the account
//! allows it, and answered by a button or a code that is bound to the action, the person, the conversation and the message.

use crate::channel_accounts::Channel;
use crate::channel_replies::press_answer;
use crate::channels::question::{self, May, Way};
use crate::channels::{self, codes};
use crate::port::ChannelPort;
use crate::state::RouterState;
use crate::state::effects::Effect;
use crate::state::requests::{AnswerPort, AnswerRequest, CodedAnswer};
use crate::store::{Choice, Head, NewChoice, NewDelivery, StoreFault, Tx};
use ipc_proto::approval::{ApprovalInfo, Question, Reply, State};
use ipc_proto::channel::{ChannelError, Conversation, ConversationKind, Inbound, Press, PressAnswer};
use ipc_proto::config::{ChannelApprovals, UserRole};
use ipc_proto::ids::{ApprovalId, UserId};
use ipc_proto::router::RouterError;
use ipc_proto::{Name, Text};
use manifest::Process;

/// A question as its conversation shows it.
pub(crate) struct ShownQuestion {
    pub(crate) channel: Name,
    conversation: Conversation,
    identity: Text<256>,
    approval: ApprovalId,
    hash: [u8; 32],
    may: May,
    /// True if yes is said by a command alone: it needs a code of six digits, or the platform has no buttons.
    typed: bool,
    text: String,
    /// The nonces of its buttons: for yes and for no.
    nonces: [[u8; 16]; 2],
    code: Name,
}

impl ShownQuestion {
    /// Puts it into the outbox, with the choices that its person has.
    pub(crate) fn store(&self, tx: &Tx<'_>, now_ms: u64) -> Result<(), StoreFault> {
        tx.forget_choices()?;
        let delivery = tx.add_delivery(&NewDelivery {
            channel: &self.channel,
            conversation: &self.conversation,
            message: None,
            reply_to: None,
            edits: None,
            text: &self.text,
            plain_links: true,
            now_ms,
        })?;
        let [yes, no] = &self.nonces;
        let code = codes::hash(&self.code);
        let choices: &[(&[u8], Reply)] = match self.may {
            May::Both if self.typed => &[(no, Reply::Deny), (&code, Reply::Once)],
            May::Both => &[(yes, Reply::Once), (no, Reply::Deny), (&code, Reply::Once)],
            May::Deny => &[(no, Reply::Deny), (&code, Reply::Deny)],
            May::Nothing => &[],
        };
        choices.iter().try_for_each(|(nonce, reply)| {
            tx.add_choice(&NewChoice {
                delivery,
                nonce,
                channel: &self.channel,
                conversation: &self.conversation,
                identity: &self.identity,
                approval: self.approval,
                hash: self.hash,
                reply: *reply,
            })
        })
    }
}

impl RouterState {
    /// A question as the conversation of its turn shows it; `None` where it is not shown: the account does not allow it, or the turn is
    /// not for a direct message of a person who may answer.
    pub(crate) fn shown_question(
        &self,
        head: &Head,
        question: &Question,
    ) -> Result<Option<ShownQuestion>, StoreFault> {
        // A question of a task's turn is shown where its person wrote.
        let head = &self.top_of(head)?;
        let Some(account) = channels::account(&head.channel) else { return Ok(None) };
        let Ok(channel) = self.channel_of(account) else { return Ok(None) };
        let Some(arrival) = self.store.arrival_of(head.seq)? else { return Ok(None) };
        let direct = arrival.conversation.kind == ConversationKind::Direct;
        let Some(role) = self.role_as(&arrival.identity, head.user).filter(|_| direct) else {
            return Ok(None);
        };
        let Some(may) = may(channel.rules.approve, role, question) else { return Ok(None) };
        let code = codes::pairing();
        let way = Way {
            buttons: channel.rules.platform.has_buttons(),
            digits: channel.rules.approve_code.is_some(),
            mark: channel.rules.platform.command_mark(),
        };
        Ok(Some(ShownQuestion {
            channel: channel.name,
            conversation: arrival.conversation,
            identity: arrival.identity,
            approval: question.id,
            hash: question.hash,
            may,
            typed: way.digits || !way.buttons,
            text: question::text(question, may, (&code, way), self.now.ms),
            nonces: [codes::nonce(), codes::nonce()],
            code,
        }))
    }

    /// The role of the person with this identity, if it is this user's and more than a guest's.
    fn role_as(&self, identity: &str, user: UserId) -> Option<UserRole> {
        let person = self.people.by_identity(identity).filter(|person| person.id == user)?;
        Some(person.role).filter(|role| *role >= UserRole::User)
    }

    /// The press of a button below a question. It counts from the person who was asked, in the message that asked.
    pub(crate) fn question_pressed(
        &mut self,
        caller: Process,
        account: &str,
        press: &Press,
        port: ChannelPort<PressAnswer>,
    ) {
        match self.pressed_choice(caller, account, press) {
            Ok(Some((channel, choice))) => {
                let port = AnswerPort::Press(channel.name.clone(), port);
                self.answer_by_choice(&choice, choice.reply, port);
            }
            Ok(None) => drop(port.send(Ok(press_answer(None)))),
            Err(refusal) => drop(port.send(Err(refusal))),
        }
    }

    fn pressed_choice(
        &self,
        caller: Process,
        account: &str,
        press: &Press,
    ) -> Result<Option<(Channel, Choice)>, ChannelError> {
        let channel = self.own_channel(caller, account)?;
        let Some(choice) = self.store.choice(&channel.name, &press.conversation, &press.nonce)? else {
            return Ok(None);
        };
        let message = self.store.last_message(choice.delivery)?;
        let there = message.as_deref() == Some(press.message.as_str());
        // A press carries no code of six digits.
        let typed = channel.rules.approve_code.is_some() && choice.reply != Reply::Deny;
        let may = there && !typed && may_take(&channel, &press.sender.id, &choice);
        Ok(may.then_some((channel, choice)))
    }

    /// The choice that `/approve` or `/deny` with this code takes; `None` if the code is not valid for this sender here. The answer is
    /// given once the batch is stored that it came in.
    pub(crate) fn coded_choice(
        &self,
        channel: &Channel,
        inbound: &Inbound,
        reply: Reply,
        code: &str,
    ) -> Result<Option<Choice>, ChannelError> {
        let found = self.store.choice(&channel.name, &inbound.conversation, &codes::hash(code))?;
        Ok(found.filter(|choice| {
            (reply == Reply::Deny || choice.reply == reply) && may_take(channel, &inbound.sender.id, choice)
        }))
    }

    /// Answers a question by a choice that was taken by a command; a yes once its code of six digits holds, where the account needs one.
    pub(crate) fn answer_with_code(
        &mut self,
        channel: &Channel,
        answer: CodedAnswer,
        digits: Option<Text<16>>,
    ) {
        let needed = channel.rules.approve_code.as_ref().filter(|_| answer.reply != Reply::Deny);
        match (needed, digits) {
            (None, _) => self.answer_by_choice(&answer.choice, answer.reply, answer.port),
            (Some(_), None) => {
                self.say(answer.port, "Nothing is approved: write the six digits behind the code.")
            }
            (Some(secret), Some(digits)) => {
                let (account, secret) = (channel.account.clone(), Name::clip(secret));
                self.effects.push(Effect::Verify { account, secret, digits, then: Box::new(answer) });
            }
        }
    }

    /// Goes on with an answer whose code of six digits holds; one that does not, or could not be compared, approves nothing.
    pub(crate) fn code_verified(&mut self, answer: CodedAnswer, holds: Option<bool>) {
        match holds {
            Some(true) => self.answer_by_choice(&answer.choice, answer.reply, answer.port),
            Some(false) => self.say(answer.port, "Nothing is approved: the six digits are wrong, or were used before."),
            None => self.say(
                answer.port,
                "Nothing is approved: the six digits could not be compared; `agentctl doctor --channels` says why.",
            ),
        }
    }

    fn say(&mut self, port: AnswerPort, text: &str) {
        if let AnswerPort::Chat(channel, conversation) = port {
            self.try_notice(&channel, &conversation, text);
        }
    }

    /// Answers a question by a choice that was taken.
    pub(crate) fn answer_by_choice(&mut self, choice: &Choice, reply: Reply, port: AnswerPort) {
        let person = self.people.by_identity(&choice.identity);
        let Some((user, by, role)) = person.map(|person| (person.id, person.name.clone(), person.role))
        else {
            return self.give_answer(port, Err(RouterError::NoApproval));
        };
        let user = Some(user).filter(|_| role != UserRole::Owner);
        let (id, hash) = (choice.approval, choice.hash);
        self.answer(AnswerRequest { user, by, id, hash, reply, form: Text::default(), port });
    }

    /// Tells the outcome of an answer where it came from. The choices of a question that waits no longer are gone then.
    pub(crate) fn give_answer(&mut self, port: AnswerPort, outcome: Result<ApprovalInfo, RouterError>) {
        if port.channel().is_some()
            && let Err(fault) = self.store.commit(|tx| tx.forget_choices())
        {
            tracing::warn!(%fault, "the buttons of a question that is over were not removed; they have no effect");
        }
        match port {
            AnswerPort::Person(port) => drop(port.send(outcome)),
            AnswerPort::Press(_, port) => {
                let text = Text::clip(&said(&outcome));
                drop(port.send(Ok(PressAnswer { done: outcome.is_ok(), text })));
            }
            AnswerPort::Chat(channel, conversation) => {
                self.try_notice(&channel, &conversation, &said(&outcome));
            }
        }
    }
}

/// Returns true if this sender is the person who was asked, and the account still takes answers.
fn may_take(channel: &Channel, sender: &str, choice: &Choice) -> bool {
    let identity = channel.rules.platform.identity(&channel.account, sender);
    identity.as_ref() == Some(&choice.identity) && channel.rules.approve != ChannelApprovals::Off
}

/// The answers that this person may give where the account is set so; `None` if the question is not shown.
fn may(approve: ChannelApprovals, role: UserRole, question: &Question) -> Option<May> {
    let special = question.declassifies || question.owner_only;
    match approve {
        ChannelApprovals::Off => None,
        _ if question.owner_only && role != UserRole::Owner => Some(May::Nothing),
        ChannelApprovals::Own if special => Some(May::Deny),
        ChannelApprovals::Own | ChannelApprovals::All if question::fits(question) => Some(May::Both),
        ChannelApprovals::Own | ChannelApprovals::All => Some(May::Deny),
    }
}

fn said(outcome: &Result<ApprovalInfo, RouterError>) -> String {
    match outcome {
        Ok(info) if info.state == State::Denied => "Denied.".to_owned(),
        Ok(_) => "Approved.".to_owned(),
        Err(RouterError::NotPending(state)) => format!("This question waits no longer; it is {state}."),
        Err(_) => "This could not be answered here; use `agentctl approvals` on the host.".to_owned(),
    }
}
