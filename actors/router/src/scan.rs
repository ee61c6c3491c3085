//! From accepted to queued: a message's acceptance goes on the record, the scanner looks at its text, and it gets
//! its label. With either of the two away the message stays accepted; nothing of it is lost and nothing goes on.

use crate::api::API;
use crate::desk::{Desk, Live, Noted, PAUSE, Phase};
use crate::errands::Errand;
use crate::store::{Pass, StoreFault};
use ipc_proto::Text;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::config::UserRole;
use ipc_proto::content::Content;
use ipc_proto::ids::SessionId;
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::router::{End, EventName, MessageState, Run, Task};
use ipc_proto::scanner::{Crossing, Judgement, Profile, Span, Subject, Verdict};
use std::collections::{HashMap, VecDeque};
use std::time::Instant;

/// Rules, and places in the text, that a person is told of.
const RULES: usize = 4;
const PLACES: usize = 3;
/// Messages that are with audit or the scanner at once.
const AT_ONCE: usize = 4;
/// The channel on which a caller is known by the kernel's word.
pub(crate) const CONTROL: &str = "control";

/// The messages that wait for the scanner.
#[derive(Default)]
pub(crate) struct Admission {
    waiting: VecDeque<i64>,
    /// With audit or the scanner, and of which session: one of a session at a time, since each is judged by what
    /// came before it.
    out: HashMap<i64, SessionId>,
    /// Not before then: a peer was away.
    not_before: Option<Instant>,
    /// What the senders of messages are told of them once their turns begin.
    flagged: HashMap<i64, Text<512>>,
}

impl Admission {
    /// A message waits for the scanner.
    pub(crate) fn join(&mut self, seq: i64) {
        self.waiting.push_back(seq);
    }

    /// A message is over, wherever it was: its place is free.
    pub(crate) fn leave(&mut self, seq: i64) {
        self.out.remove(&seq);
        self.flagged.remove(&seq);
        self.waiting.retain(|it| *it != seq);
    }

    /// What the sender of a message is told of it, once.
    pub(crate) fn flag(&mut self, seq: i64) -> Option<Text<512>> {
        self.flagged.remove(&seq)
    }
}

impl Desk {
    /// Sends on as many messages as may be out at once.
    pub(crate) fn admit_next(&mut self) {
        if self.admission.not_before.is_some_and(|at| at > self.now.at) {
            return;
        }
        self.admission.not_before = None;
        let mut at = 0;
        while self.admission.out.len() < AT_ONCE {
            let Some(seq) = self.admission.waiting.get(at).copied() else { return };
            let Some(Live { head, phase: Phase::Accepted, noted, .. }) = self.live(seq) else {
                self.admission.waiting.remove(at);
                continue;
            };
            let (session, noted) = (head.session, *noted);
            if self.admission.out.values().any(|it| *it == session) {
                at += 1;
                continue;
            }
            self.admission.waiting.remove(at);
            self.admission.out.insert(seq, session);
            if noted == Noted::Yes { self.have_scanned(seq) } else { self.record_acceptance(seq) }
        }
    }

    /// Puts a message's acceptance on the record, which comes before whatever else becomes of it.
    pub(crate) fn record_acceptance(&mut self, seq: i64) {
        let Some(live) = self.live(seq) else { return };
        live.noted = Noted::UnderWay;
        let head = live.head.clone();
        let user = self.people.by_id(head.user).map(|it| it.name.clone()).unwrap_or_default();
        let mut event = Event::new(Action::MessageAccepted, Result3::Success)
            .about(&user)
            .because(&head.channel)
            .in_turn(head.session, head.turn);
        event.bytes = u64::from(head.bytes);
        self.record(event, move |desk, recorded| desk.acceptance_recorded(seq, recorded));
    }

    fn acceptance_recorded(&mut self, seq: i64, recorded: bool) {
        let Some(live) = self.live(seq) else { return };
        live.noted = if recorded { Noted::Yes } else { Noted::No };
        // Its end may have come in between, and has waited for this.
        match (matches!(live.phase, Phase::Accepted), recorded) {
            (true, true) => self.have_scanned(seq),
            (true, false) => self.put_off(seq),
            (false, true) => self.close(seq),
            (false, false) => self.end_waits(seq),
        }
    }

    fn have_scanned(&mut self, seq: i64) {
        kit::fault_point!("router.accept.recorded");
        let said = self.store.said_without_media(seq).and_then(|(content, task, _)| {
            let subject = self.subject(seq)?;
            Ok((subject, text_of(&content, &task), task == Task::Chat))
        });
        match said {
            Ok((subject, text, chat)) => {
                let (shown, own) = (Text::clip(&text), subject.crossing == Crossing::OwnWords);
                let then = Box::new(move |desk: &mut Self, verdict: Option<Verdict>| {
                    let verdict = verdict.map(|verdict| (found(&verdict, &text), verdict));
                    desk.scanned(seq, (chat, own), verdict);
                });
                self.errands.push(Errand::Scan(subject, shown, then));
            }
            Err(fault) => {
                tracing::error!(%fault, "a message cannot be read");
                self.put_off(seq);
            }
        }
    }

    /// How a message is judged: by who sent it and how, by its agent's profile, after what its session said before.
    fn subject(&self, seq: i64) -> Result<Subject, StoreFault> {
        let head = self.store.message_at(seq)?.ok_or(StoreFault::Missing("message"))?;
        let agent = self.store.session(head.session)?.agent;
        let agent = self.config.agents.get(agent.as_str());
        let (profile, blocks) =
            agent.map_or(("", true), |agent| (agent.profile.as_str(), agent.blocks_own_words));
        let role = self.people.by_id(head.user).map_or(UserRole::Guest, |it| it.role);
        let own = is_own(role, &head.channel) && !blocks;
        let crossing = if own { Crossing::OwnWords } else { Crossing::ChannelInput };
        let conversation = self.store.conversation(head.session)?;
        Ok(Subject { conversation, ..Subject::at(crossing).by(profile_named(profile)) })
    }

    fn scanned(&mut self, seq: i64, of: (bool, bool), verdict: Option<(String, Verdict)>) {
        let Some((found, verdict)) = verdict else { return self.put_off(seq) };
        match self.let_in(seq, of, (&found, &verdict)) {
            Ok(()) => drop(self.admission.out.remove(&seq)),
            Err(fault) => {
                tracing::error!(%fault, "a message could not be queued; it waits");
                self.put_off(seq);
            }
        }
        self.drive();
    }

    /// Queues a scanned message with its label, or ends it there. `chat`: it goes to a model. `own`: who sent it is one of the
    /// host's own people. `found`: the rules that hit, and where.
    fn let_in(
        &mut self,
        seq: i64,
        (chat, own): (bool, bool),
        (found, verdict): (&str, &Verdict),
    ) -> Result<(), StoreFault> {
        // It may have been cancelled while the scanner had it.
        let Some(Live { head, phase: Phase::Accepted, .. }) = self.live(seq) else { return Ok(()) };
        let head = head.clone();
        // What a person has run in the jail goes to no model, and is theirs to type.
        if verdict.judgement == Judgement::Block && chat {
            self.store.commit(|tx| tx.keep_conversation(head.session, &verdict.conversation))?;
            let role = self.people.by_id(head.user).map_or(UserRole::Guest, |it| it.role);
            let why = format!("blocked by {found}: {}", way_on(is_own(role, &head.channel)));
            self.end_without_answer(
                seq,
                End::Blocked(Text::clip(&why)),
                &format!("blocked by {found}"),
                None,
            );
            return Ok(());
        }
        let role = self.people.by_id(head.user).map_or(UserRole::Guest, |it| it.role);
        let label = label_of(role, &head.channel, verdict.class);
        let flagged = verdict.judgement >= Judgement::Flag;
        let note = if flagged { format!("flagged by {found}") } else { String::new() };
        let pass = Pass { note: &note, ..Pass::of(&head, MessageState::Queued, self.now.ms) };
        self.store.commit(|tx| {
            // What a person has run in the jail is no part of what they say.
            if chat {
                tx.keep_conversation(head.session, &verdict.conversation)?;
            }
            tx.label_message(seq, &label)?;
            tx.pass(&pass)
        })?;
        kit::fault_point!("router.queued.committed");
        if flagged && own && chat {
            let told = format!("{note}: it goes on, since it is from you");
            self.admission.flagged.insert(seq, Text::clip(&told));
        }
        if let Some(live) = self.live(seq) {
            live.head.state = MessageState::Queued;
            live.phase = Phase::Queued;
        }
        self.tell_where(&head, EventName::MessageQueued, None);
        self.lanes.clear(head.session, seq);
        Ok(())
    }

    /// A peer or the disk was away: the message waits at the front.
    fn put_off(&mut self, seq: i64) {
        self.admission.out.remove(&seq);
        self.admission.waiting.push_front(seq);
        self.admission.not_before = Some(self.now.at + PAUSE);
    }
}

/// What the scanner is shown: the text, and what a person has typed as a command.
fn text_of(content: &Content, task: &Task) -> String {
    let mut text = content.plain();
    match task {
        Task::Chat => {}
        Task::Command { argv } | Task::Run(Run { argv, .. }) => {
            for word in argv {
                text.push('\n');
                text.push_str(word);
            }
        }
        Task::Put { path, .. } | Task::Get { path } => {
            text.push('\n');
            text.push_str(path);
        }
    }
    text
}

/// The label of a message: whoever is known by the kernel's word or by a key of their own is the user, everybody else is
/// merely known.
fn label_of(role: UserRole, channel: &str, class: Class) -> Label {
    Label::of(if is_own(role, channel) { Trust::User } else { Trust::Verified }, class, channel)
}

/// Returns whether a sender is one of the host's own people, at a terminal or an API of their own.
fn is_own(role: UserRole, channel: &str) -> bool {
    matches!(channel, CONTROL | API) && role >= UserRole::User
}

/// The scanner's word for an agent's profile; one that is unknown is the strictest.
fn profile_named(profile: &str) -> Profile {
    match profile {
        "standard" => Profile::Standard,
        "power-user" => Profile::PowerUser,
        _ => Profile::Paranoid,
    }
}

/// The rules that hit, and where in the text: characters, counted from 1. Nothing of the text itself.
pub(crate) fn found(verdict: &Verdict, text: &str) -> String {
    let rules: Vec<&str> = verdict.rules.iter().map(|rule| rule.as_str()).take(RULES).collect();
    let characters = |bytes: u32| {
        let at = usize::try_from(bytes).unwrap_or(usize::MAX).min(text.len());
        text.char_indices().take_while(|(start, _)| *start < at).count()
    };
    let place = |span: &Span| match (characters(span.start) + 1, characters(span.end)) {
        (first, last) if first >= last => first.to_string(),
        (first, last) => format!("{first}-{last}"),
    };
    let places: Vec<String> = verdict.spans.iter().take(PLACES).map(place).collect();
    let rules = if rules.is_empty() { "the scanner".to_owned() } else { rules.join(", ") };
    if places.is_empty() { rules } else { format!("{rules} (characters {})", places.join(", ")) }
}

/// What a person can do about a message that was blocked.
const fn way_on(own: bool) -> &'static str {
    if own {
        "say it in other words; or have the owner set own_words = \"flag\" for this agent, and send it again"
    } else {
        "say it in other words; or have a user of this host send it from their own terminal"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::List;

    // Holds P5-04.
    #[test]
    fn only_a_user_or_owner_whom_the_kernel_or_a_key_names_is_trusted_as_the_user() {
        let cases = [
            (UserRole::Owner, "control", Trust::User),
            (UserRole::User, "control", Trust::User),
            (UserRole::Guest, "control", Trust::Verified),
            (UserRole::Owner, "api", Trust::User),
            (UserRole::Guest, "api", Trust::Verified),
            (UserRole::Owner, "telegram", Trust::Verified),
        ];
        for (role, channel, trust) in cases {
            assert_eq!(label_of(role, channel, Class::Public), Label::of(trust, Class::Public, channel));
        }
        assert_eq!(label_of(UserRole::Owner, "control", Class::Secret).class, Class::Secret);
    }

    #[test]
    fn the_scanner_sees_what_is_said_and_what_is_typed_as_a_command() {
        let said = Content::text(Text::clip("hello"));
        let command = Task::Command { argv: List::clip(["echo", "x"].map(Text::clip)) };
        assert_eq!(text_of(&said, &Task::Chat), "hello");
        assert_eq!(text_of(&said, &command), "hello\necho\nx");
        assert_eq!(text_of(&Content::default(), &Task::Get { path: Text::clip("a/b") }), "\na/b");
    }
}
