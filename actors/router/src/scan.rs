//! From accepted to queued: a message's acceptance goes on the record, the scanner judges its text, and it gets its label. While audit or
//! the scanner is away the message stays accepted; none is lost and none goes on.

use crate::channels::{self, API, CONTROL, SCHEDULE};
use crate::state::RouterState;
use crate::state::effects::{Effect, ScanJob};
use crate::state::live::{Acceptance, Live, Phase};
use crate::state::moment::PAUSE;
use crate::store::{Head, StoreFault, Transition};
use ipc_proto::Text;
use ipc_proto::channel::PartKind;
use ipc_proto::config::UserRole;
use ipc_proto::content::Content;
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::router::{End, EventName, MessageState, Run, Task};
use ipc_proto::scanner::{Crossing, Judgement, Profile, Span, Subject, Verdict};

/// Rules, and places in the text, that a person is shown.
const RULES: usize = 4;
const PLACES: usize = 3;

impl RouterState {
    /// Sends as many messages to the record and the scanner as may be there at once.
    pub(crate) fn admit_next(&mut self) {
        let live = &self.live;
        let place_of = |seq: i64| match live.get(seq) {
            Some(Live { head, phase: Phase::Accepted, .. }) => Some((head.session, head.user)),
            _ => None,
        };
        for seq in self.admission.next(self.now.at, place_of) {
            let recorded = self.live.get(seq).is_some_and(|live| live.acceptance == Acceptance::Recorded);
            if recorded { self.send_to_scanner(seq) } else { self.record_acceptance(seq) }
        }
    }

    /// The acceptance of a message is on the record, or could not be put there.
    pub(crate) fn acceptance_recorded(&mut self, seq: i64, recorded: bool) {
        let Some(live) = self.live(seq) else { return };
        live.acceptance = if recorded { Acceptance::Recorded } else { Acceptance::Unrecorded };
        // Its end may have come meanwhile, and has waited for this.
        match (matches!(live.phase, Phase::Accepted), recorded) {
            (true, true) => self.send_to_scanner(seq),
            (true, false) => self.put_off(seq),
            (false, true) => self.advance_end(seq),
            (false, false) => self.delay_end(seq),
        }
    }

    fn send_to_scanner(&mut self, seq: i64) {
        kit::fault_point!("router.accept.recorded");
        let said = self.store.content_without_media(seq).and_then(|(content, task, _)| {
            let subject = self.subject(seq)?;
            Ok((subject, text_of(&content, &task), task == Task::Chat))
        });
        match said {
            Ok((subject, text, chat)) => {
                let (shown, own) = (Text::clip(&text), subject.crossing == Crossing::OwnWords);
                self.effects.push(Effect::Scan(subject, shown, ScanJob { seq, text, chat, own }));
            }
            Err(fault) => {
                tracing::error!(%fault, "a message cannot be read");
                self.put_off(seq);
            }
        }
    }

    /// The context in which a message is judged: its sender and channel, the profile of its agent, and the conversation so far.
    fn subject(&self, seq: i64) -> Result<Subject, StoreFault> {
        let head = self.store.message_at(seq)?.ok_or(StoreFault::Missing("message"))?;
        let agent = self.store.session(head.session)?.agent;
        let agent = self.config.agents.get(agent.as_str());
        let (profile, blocks) =
            agent.map_or(("", true), |agent| (agent.profile.as_str(), agent.blocks_own_words));
        let own = self.is_theirs(&head)? && !blocks;
        let crossing = if own { Crossing::OwnWords } else { Crossing::ChannelInput };
        let conversation = self.store.conversation(head.session)?;
        Ok(Subject { conversation, ..Subject::at(crossing).by(profile_named(profile)) })
    }

    /// Goes on with a message that the scanner has judged, or could not judge.
    pub(crate) fn scanned(&mut self, job: &ScanJob, verdict: Option<&Verdict>) {
        let seq = job.seq;
        let Some(verdict) = verdict else { return self.put_off(seq) };
        match self.admit(job, verdict) {
            Ok(()) => self.admission.done(seq),
            Err(fault) => {
                tracing::error!(%fault, "a message could not be queued; it waits");
                self.put_off(seq);
            }
        }
        self.drive_now = true;
    }

    /// Queues a scanned message with its label, or ends it there.
    fn admit(&mut self, job: &ScanJob, verdict: &Verdict) -> Result<(), StoreFault> {
        let ScanJob { seq, ref text, chat, own } = *job;
        let found = found(verdict, text);
        // It may have been cancelled while the scanner had it.
        let Some(Live { head, phase: Phase::Accepted, .. }) = self.live(seq) else { return Ok(()) };
        let head = head.clone();
        let from_own = self.is_theirs(&head)?;
        // A command that a person runs in the jail goes to no model, and is theirs to type.
        if verdict.judgement == Judgement::Block && chat {
            self.store.commit(|tx| tx.store_conversation(head.session, &verdict.conversation))?;
            let note = format!("blocked by {found}");
            let why = format!("{note}: {}", way_on(from_own));
            self.end_without_answer(seq, End::Blocked(Text::clip(&why)), &note, None);
            return Ok(());
        }
        let foreign = self.store.content_without_media(seq)?.0.foreign();
        let label = label_of(from_own, &head.channel, verdict.class, &foreign);
        let label = match self.proposed(seq)? {
            Some(class) => label.join(&Label::of(Trust::Verified, class, PROPOSED)),
            None => label,
        };
        // A task is as little trusted as what the model knew which wrote it.
        let label = self.delegation(&head)?.map_or(label.clone(), |task| label.join(&task.label));
        // Its files go into the workspace: what they say is as little trusted as the message.
        let holds = !self.store.files_of(seq)?.is_empty();
        let workspace = self.store.session(head.session)?.workspace;
        let flagged = verdict.judgement >= Judgement::Flag;
        let note = if flagged { format!("flagged by {found}") } else { String::new() };
        let transition =
            Transition { note: &note, ..Transition::of(&head, MessageState::Queued, self.now.ms) };
        self.store.commit(|tx| {
            // A command that a person runs in the jail is no part of the conversation.
            if chat {
                tx.store_conversation(head.session, &verdict.conversation)?;
            }
            tx.label_message(seq, &label)?;
            if holds {
                tx.raise_workspace(workspace, &label)?;
            }
            tx.transition(&transition)
        })?;
        kit::fault_point!("router.queued.committed");
        if flagged && own && chat {
            let notice = format!("{note}: it goes on, since it is from you");
            self.admission.set_flag(seq, Text::clip(&notice));
        }
        if let Some(live) = self.live(seq) {
            live.head.state = MessageState::Queued;
            live.phase = Phase::Queued;
        }
        self.publish_progress(&head, EventName::MessageQueued, None);
        self.lanes.clear(head.session, seq);
        Ok(())
    }

    /// Returns true if a message is its sender's own words, and its sender one of the host's own people.
    fn is_theirs(&self, head: &Head) -> Result<bool, StoreFault> {
        let own = self.is_own(self.people.role(head.user), &head.channel);
        Ok(own && self.proposed(head.seq)?.is_none())
    }

    /// The class of what an agent had read that wrote this message of a job; none of any other message.
    fn proposed(&self, seq: i64) -> Result<Option<Class>, StoreFault> {
        Ok(self.store.fire_of(seq)?.and_then(|fire| fire.unattended.proposed))
    }

    /// Returns true if a sender is one of the host's own people, at a terminal or an API of their own; or the owner on an account whose
    /// direct messages the configuration trusts so. A group's messages are its own guest's, and so never the owner's.
    fn is_own(&self, role: UserRole, channel: &str) -> bool {
        let by_platform = channels::account(channel).and_then(|account| self.config.channels.get(account));
        match by_platform {
            Some(rules) => rules.trust_user && rules.platform.proves_sender() && role == UserRole::Owner,
            None => matches!(channel, CONTROL | API | SCHEDULE) && role >= UserRole::User,
        }
    }

    /// A peer or the disk was away: the message waits at the front.
    fn put_off(&mut self, seq: i64) {
        self.admission.put_off(seq, self.now.at + PAUSE);
    }
}

/// The text for the scanner: the message, and the command that a person typed.
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

/// The source of a job's message that an agent wrote. A person approved it, and yet its words are nobody's own: they vouch for nothing.
const PROPOSED: &str = "agent";

/// The label of a message. A sender whom the kernel or a key of their own identifies is the user; any other is merely verified. Text
/// that the sender did not write is untrusted, each kind under a source of its own.
fn label_of(own: bool, channel: &str, class: Class, foreign: &[PartKind]) -> Label {
    let label = Label::of(if own { Trust::User } else { Trust::Verified }, class, channel);
    foreign.iter().fold(label, |label, kind| {
        label.join(&Label::of(Trust::Untrusted, class, &format!("{channel}/{}", kind.name())))
    })
}

/// The scanner's name for an agent's profile; an unknown profile is the strictest.
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

/// Advice to the sender of a blocked message.
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

    // Holds P5-04, P11-06.
    #[test]
    fn only_users_identified_by_kernel_or_key_are_trusted_as_the_user() {
        let mut config = crate::tests::config();
        let rules = crate::channels::admission::tests::rules(ipc_proto::config::DmPolicy::OwnerOnly);
        config.channels.insert("main".into(), rules.clone());
        config.channels.insert("own".into(), ipc_proto::config::ChannelRules { trust_user: true, ..rules });
        let mut world = crate::tests::World::with(config);
        let cases = [
            (UserRole::Owner, "control", true),
            (UserRole::User, "control", true),
            (UserRole::Guest, "control", false),
            (UserRole::Owner, "api", true),
            (UserRole::Guest, "api", false),
            (UserRole::Owner, "telegram:main", false),
            (UserRole::Owner, "telegram:own", true),
            (UserRole::User, "telegram:own", false),
            (UserRole::Owner, "telegram:gone", false),
        ];
        for (role, channel, own) in cases {
            assert_eq!(world.act(|router| router.is_own(role, channel)), own, "{role:?} {channel}");
        }
    }

    // Holds P11-06.
    #[test]
    fn text_that_the_sender_did_not_write_makes_a_message_untrusted() {
        let own = label_of(true, "telegram:own", Class::Secret, &[]);
        assert_eq!(own, Label::of(Trust::User, Class::Secret, "telegram:own"));
        let with = label_of(true, "telegram:own", Class::Public, &[PartKind::Forward]);
        assert_eq!(with.trust, Trust::Untrusted);
        assert_eq!(with.sources.last().map(|it| it.as_str()), Some("telegram:own/forward"));
        assert_eq!(label_of(false, "telegram:own", Class::Public, &[]).trust, Trust::Verified);
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
