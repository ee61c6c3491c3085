//! What the gate keeps of one turn: its work, what a decision goes by, its calls. Labels only ever rise.

use crate::host::Shared;
use crate::money::Patience;
use ipc_proto::approval::Grant;
use ipc_proto::config::Agent;
use ipc_proto::content::image_label;
use ipc_proto::engine::Engine;
use ipc_proto::ids::CallId;
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::model::{HANDED_BACK, IMAGE_TOKENS, Message, Per, Role, THOUGHTS, Thought, Usage};
use ipc_proto::router::{CallVerdict, Released, Task, Turn, TurnEvent};
use ipc_proto::runner_gate::GateError;
use ipc_proto::tool::{ToolCall, ToolResult};
use ipc_proto::{List, Name, Text};
use policy::{Catalogue, Session};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};

/// Tools that change the workspace: what ran with this session's knowledge may have put it there.
const CHANGES: &[&str] = &["write", "edit", "bash"];

/// One turn.
pub(crate) struct TurnContext {
    pub(crate) turn: Turn,
    pub(crate) agent: Agent,
    /// What a decision goes by: the texts that vouch, the plan, the taint, and the label of everything the model has
    /// seen, which is the session's.
    pub(crate) session: Session,
    pub(crate) workspace_label: Label,
    /// Released calls, and their results once they are in.
    pub(crate) calls: HashMap<CallId, (Released, Option<ToolResult>)>,
    /// Calls asked for in this turn, earlier attempts included.
    pub(crate) asked: u32,
    /// How often each of those was asked for: the same tool with the same arguments.
    pub(crate) same: HashMap<[u8; 32], u32>,
    /// Those that were asked for once too often, and of which the model was told so, since it last asked for anything else.
    pub(crate) told: HashSet<[u8; 32]>,
    /// Failures in a row, by tool.
    pub(crate) failures: HashMap<String, u32>,
    /// The number of the next durable step.
    pub(crate) next_step: u32,
    /// What the last reply said, as it was released.
    pub(crate) last_text: String,
    pub(crate) usage: Usage,
    /// Texts of the conversation whose label is known.
    pub(crate) known: Known,
    /// What memory gave for this turn, as the model is given it.
    pub(crate) recalled: Option<String>,
    /// What the model thought before it asked for calls, by the first of these. Its runner is not given that.
    pub(crate) thoughts: VecDeque<(CallId, List<Thought, THOUGHTS>)>,
    /// How long it may still wait for money.
    pub(crate) patience: Patience,
    /// Budgets of which its person was told that they are used up and only warn.
    pub(crate) warned: HashSet<Per>,
    /// The images of its message stand on the record.
    pub(crate) shown: bool,
}

/// A released call.
pub(crate) enum Pending {
    /// It has no result yet.
    Open(Released),
    /// Its result is in: asked again, it is given again.
    Done(ToolResult),
}

/// Which texts were labelled already. Only their hashes are kept.
#[derive(Default)]
pub(crate) struct Known {
    hashes: HashSet<u64>,
    state: RandomState,
}

impl Known {
    /// Adds a text; whether it is new.
    pub(crate) fn add(&mut self, text: &str) -> bool {
        self.hashes.insert(self.state.hash_one(text))
    }
}

impl TurnContext {
    /// Takes a turn up, its history and its words with their labels. Words of the session's own user vouch, and so
    /// do the agent's prompt and the contacts that the owner confirmed; nothing else does.
    pub(crate) fn new(shared: &Shared, turn: Turn, agent: Agent, canary: String) -> Self {
        let id = turn.session.to_string();
        let mut session = session(shared, &id, (&turn.agent, &agent), &turn.user_name);
        session.canary = canary;
        session.attached = turn.attached;
        let workspace_label = turn.workspace_label.clone();
        // CONTEXT.md and the skills are read into the prompt, so what the workspace holds is known from the start.
        session.label = turn.session_label.join(&workspace_label);
        let patience = Patience::within(agent.limits.seconds);
        let mut context = Self {
            turn,
            agent,
            session,
            workspace_label,
            calls: HashMap::new(),
            asked: 0,
            same: HashMap::new(),
            told: HashSet::new(),
            failures: HashMap::new(),
            next_step: 0,
            last_text: String::new(),
            usage: Usage::default(),
            known: Known::default(),
            recalled: None,
            thoughts: VecDeque::new(),
            patience,
            warned: HashSet::new(),
            shown: false,
        };
        context.read_history();
        context.grant(context.turn.grants.clone().iter());
        context
    }

    fn read_history(&mut self) {
        for labelled in &self.turn.history {
            let (message, label) = (&labelled.message, &labelled.label);
            hear(&mut self.session, message.role == Role::User, label, &message.text);
            self.known.add(&message.text);
        }
        let words = self.turn.content.plain();
        hear(&mut self.session, true, &self.turn.label, &words);
        self.known.add(&words);
        // Router has raised the session's label by them; they are no part of the person's words.
        let images = self.turn.task.images(&self.turn.content);
        images.for_each(|_| self.session.image(&image_label(), IMAGE_TOKENS));
    }

    /// The grants that hold from now on, and no others.
    pub(crate) fn grant<'a>(&mut self, grants: impl Iterator<Item = &'a Grant>) {
        self.session.grants = grants.map(|grant| grant.scope).collect();
    }

    /// The session comes to know something of this label, and an engine's workspace with it.
    pub(crate) fn reach(&mut self, label: &Label) {
        self.session.label = self.session.label.join(label);
        if self.engine().is_some() {
            self.workspace_label = self.workspace_label.join(&self.session.label);
        }
    }

    /// What the person said into the turn: theirs as their message is.
    pub(crate) fn told(&mut self, label: &Label, text: &str) {
        self.reach(label);
        hear(&mut self.session, true, label, text);
        self.known.add(text);
    }

    /// The engine that answers, if one does: its tools are its own, and each may write what it has seen.
    pub(crate) fn engine(&self) -> Option<&Engine> {
        self.agent.engine.as_ref().filter(|_| self.turn.task == Task::Chat)
    }

    /// What the model said: it knows what the session knows, so it is labelled as that is.
    pub(crate) fn said(&mut self, text: &str) {
        let label = self.session.label.clone();
        self.session.content(&label, text);
        self.known.add(text);
    }

    /// Keeps what the model thought before it asked for calls of which this is the first.
    pub(crate) fn think(&mut self, first: Option<CallId>, thoughts: List<Thought, THOUGHTS>) {
        if let Some(call) = first.filter(|_| !thoughts.is_empty()) {
            self.thoughts.push_back((call, thoughts));
        }
        let bytes = |all: &List<Thought, THOUGHTS>| all.iter().map(Thought::bytes).sum::<usize>();
        while self.thoughts.iter().map(|(_, all)| bytes(all)).sum::<usize>() > HANDED_BACK {
            self.thoughts.pop_front();
        }
    }

    /// Puts it back to the messages that it came with; what a runner put there is nobody's. Each goes back once: a runner
    /// that repeats a message a thousand times would have it copied as often.
    pub(crate) fn recall_thoughts(&self, messages: &mut [Message]) {
        let mut left: HashMap<_, _> =
            self.thoughts.iter().map(|(call, thoughts)| (*call, thoughts)).collect();
        for message in messages {
            let first = message.calls.first().map(|call| call.id).filter(|_| message.role == Role::Assistant);
            let kept = first.and_then(|call| left.remove(&call));
            message.thoughts = kept.cloned().unwrap_or_default();
        }
    }

    /// Takes up what a runner puts into the conversation by itself: CONTEXT.md and skills. A runner that invents
    /// texts can only raise the taint by it.
    pub(crate) fn meet(&mut self, text: &str) {
        if self.known.add(text) {
            let label = self.workspace_label.clone();
            self.session.content(&label, text);
        }
    }

    /// Takes up what memory gave for the turn: it counts as what `tool` gave back.
    pub(crate) fn remember(&mut self, catalogue: &Catalogue, tool: &str, label: &Label, text: &str) {
        self.raise(catalogue, tool, label, text);
        self.recalled = Some(text.to_owned());
    }

    /// The label of what `tool` gives back: what it declares, the class that was found, and what was known before:
    /// `own` of a memory's row or a page, the workspace's of whatever a tool in the jail says.
    pub(crate) fn result_label(
        &self,
        catalogue: &Catalogue,
        tool: &str,
        class: Class,
        own: Option<&Label>,
    ) -> Label {
        let jailed = toolset::jail_tools::NAMES.contains(&tool);
        let own = if jailed { Some(&self.workspace_label) } else { own };
        result_label(catalogue, tool, (class, own), &self.session.label)
    }

    /// Takes a result up: the session knows it now, and so does the workspace once it was written to.
    pub(crate) fn raise(&mut self, catalogue: &Catalogue, tool: &str, label: &Label, output: &str) {
        self.session.output(catalogue, tool, label, output);
        self.known.add(output);
        if self.engine().is_some() || CHANGES.contains(&tool) {
            self.workspace_label = self.workspace_label.join(&self.session.label);
        }
    }

    /// A call of this turn that was released.
    pub(crate) fn pending(&self, call: CallId) -> Result<Pending, GateError> {
        match self.calls.get(&call) {
            Some((_, Some(result))) => Ok(Pending::Done(result.clone())),
            Some((released, None)) if released.verdict == CallVerdict::Run => {
                Ok(Pending::Open(released.clone()))
            }
            _ => Err(GateError::OutOfTurn),
        }
    }

    /// Counts a call that is asked for; how often this turn has asked for the very same by now.
    pub(crate) fn ask(&mut self, call: &ToolCall) -> u32 {
        self.asked = self.asked.saturating_add(1);
        let times = self.same.entry(identity(call)).or_default();
        *times = times.saturating_add(1);
        *times
    }

    /// Returns whether the model asks for this very call although it was told, just now, that it is refused.
    pub(crate) fn was_told(&self, call: &ToolCall) -> bool {
        self.told.contains(&identity(call))
    }

    /// Takes note of a reply's calls, all of them counted: of those that were asked for once too often the model is told. What
    /// it was told before stands until it asks for something else: a circle of several such calls is one as well.
    pub(crate) fn tell<'a>(&mut self, calls: impl Iterator<Item = &'a ToolCall>) {
        let most = self.agent.limits.same_call;
        let over = |id: &[u8; 32]| self.same.get(id).is_some_and(|times| *times > most);
        let (told, others): (Vec<_>, Vec<_>) = calls.map(identity).partition(over);
        if told.is_empty() || !others.is_empty() {
            self.told.clear();
        }
        self.told.extend(told);
    }

    /// What its person is told of a budget that is used up and only warns: once.
    pub(crate) fn warn(&mut self, per: Per) -> Option<TurnEvent> {
        let notice =
            format!("the budget per {per} is used up, and only warns: the model is asked all the same");
        self.warned.insert(per).then(|| TurnEvent::Notice(Text::clip(&notice)))
    }

    /// Counts a result for the bound of failures in a row.
    pub(crate) fn count(&mut self, tool: &str, failed: bool) {
        let failures = self.failures.entry(tool.to_owned()).or_default();
        *failures = if failed { *failures + 1 } else { 0 };
    }

    /// Adds what a model call used.
    pub(crate) fn add(&mut self, usage: Usage) {
        self.usage = sum_of(self.usage, usage);
    }
}

/// A session of an agent's, of which nothing is known yet but what its owner set. `user`: the name of whose it is.
pub(crate) fn session(shared: &Shared, id: &str, (name, agent): (&Name, &Agent), user: &str) -> Session {
    let mut session = Session::new(id, agent.profile.parse().unwrap_or_default());
    session.autonomy = shared.settings.policy.autonomy;
    session.agent = name.to_string();
    session.user = user.to_owned();
    session.web = shared.settings.web.clone();
    session.setting(&agent.prompt);
    for contact in &shared.settings.policy.contacts {
        session.setting(contact);
    }
    session
}

/// The label of what a tool gives back, with the class that was found and what was known of it before. `known`: what the
/// session knows.
pub(crate) fn result_label(
    catalogue: &Catalogue,
    tool: &str,
    (class, own): (Class, Option<&Label>),
    known: &Label,
) -> Label {
    match catalogue.get(tool) {
        Some(capability) => policy::result_label(tool, capability, class, own),
        // Nothing is declared of it, so nothing is known of what it says.
        None => Label::of(Trust::Untrusted, class.max(Class::Internal), "tool:undeclared").join(known),
    }
}

/// What two model calls used together.
pub(crate) const fn sum_of(one: Usage, other: Usage) -> Usage {
    Usage {
        input: one.input.saturating_add(other.input),
        output: one.output.saturating_add(other.output),
        cache_read: one.cache_read.saturating_add(other.cache_read),
        cache_write: one.cache_write.saturating_add(other.cache_write),
        estimated: one.estimated || other.estimated,
        // Each stands on the record by itself.
        claimed: None,
    }
}

/// What makes two calls the same: the tool and the arguments, however these are spelled.
fn identity(call: &ToolCall) -> [u8; 32] {
    match toolset::parse_args(&call.args) {
        Ok(Value::Object(args)) => {
            policy::scope(&call.tool, &args.keys().cloned().collect::<Vec<_>>(), &args)
        }
        // It is refused in any case, so its spelling is enough.
        _ => Sha256::digest(call.args.as_bytes()).into(),
    }
}

/// A text of the conversation. A person's words vouch only if they are the session's own user's: what came by a
/// channel from somebody else has another label.
fn hear(session: &mut Session, person: bool, label: &Label, text: &str) {
    if person && label.trust <= Trust::User {
        session.trusted.add(text);
    }
    session.content(label, text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::tests::{context, shared_catalogue};
    use ipc_proto::Blob;
    use ipc_proto::content::{Media, Part, Place};
    use ipc_proto::engine::{Format, Input};
    use ipc_proto::router::Profile;

    // Holds P5-05.
    #[test]
    fn what_a_program_says_is_untrusted_and_what_a_file_says_is_what_the_workspace_holds() {
        let (mut context, catalogue) = (context(vec![]), shared_catalogue());
        context.workspace_label = Label::of(Trust::Verified, Class::Sensitive, "attached");
        let label =
            |tool: &str, own: Option<&Label>| context.result_label(&catalogue, tool, Class::Internal, own);
        assert_eq!(label("bash", None).trust, Trust::Untrusted);
        assert_eq!(
            (label("read", None).trust, label("read", None).class),
            (Trust::Verified, Class::Sensitive)
        );
        let own = Label::of(Trust::Untrusted, Class::Secret, "web");
        let memory = label("memory_query", Some(&own));
        assert_eq!((memory.trust, memory.class), (Trust::Untrusted, Class::Secret));
        assert!(memory.sources.iter().any(|source| source.as_str() == "tool:memory_query"));
        assert_eq!(label("no_such_tool", None).trust, Trust::Untrusted);
    }

    // Holds P5-06.
    #[test]
    fn a_session_knows_what_it_read_and_a_workspace_what_was_written_with_that_knowledge() {
        let (mut context, catalogue) = (context(vec![]), shared_catalogue());
        let untrusted = Label::of(Trust::Untrusted, Class::Internal, "web");
        context.raise(&catalogue, "memory_query", &untrusted, "a row");
        assert!(untrusted.within(&context.session.label));
        assert_eq!(context.workspace_label, Label::bottom());
        context.raise(&catalogue, "write", &Label::bottom(), "written");
        assert!(untrusted.within(&context.workspace_label));
        assert!(context.session.taint.thousandths() > 0);
    }

    // Holds P5-03.
    #[test]
    fn an_image_is_nobody_s_word_and_the_words_beside_it_stay_the_person_s() {
        let mut context = context(vec![]);
        let place = Place::Bytes(Blob::new([1, 2, 3]).unwrap());
        let image = Part::Image(Media { place, media_type: Text::clip("image/png"), name: None });
        let words = Part::Text(Text::clip("send it to alice@a.example"));
        context.turn.content.parts = List::clip([words, image]);
        context.turn.label = Label::of(Trust::User, Class::Internal, "api");
        context.read_history();
        assert!(image_label().within(&context.session.label));
        assert!(context.session.trusted.vouches(&"alice@a.example".into()));
        let taint = context.session.taint.thousandths();
        assert!((900..1000).contains(&taint), "it counts as many words: {taint}");
    }

    // Holds P1-29.
    #[test]
    fn an_engine_s_workspace_holds_whatever_its_session_knows() {
        let (mut context, catalogue) = (context(vec![]), shared_catalogue());
        context.agent.engine = Some(Engine {
            name: Name::clip("codex"),
            command: List::default(),
            resume: List::default(),
            format: Format::Codex,
            input: Input::Text,
            profile: Profile::Codex,
            keeps: List::default(),
            idle_seconds: 60,
        });
        let row = Label::of(Trust::Untrusted, Class::Sensitive, "memory");
        context.remember(&catalogue, "memory_query", &row, "a row");
        assert!(row.within(&context.workspace_label));
    }

    // Holds B-16.
    #[test]
    fn a_call_is_the_same_however_its_arguments_are_spelled_and_another_with_other_arguments() {
        let mut context = context(vec![]);
        let mut asked = |tool: &str, args: &str| {
            let call = ToolCall { id: CallId::random(), tool: Name::clip(tool), args: Text::clip(args) };
            context.ask(&call)
        };
        assert_eq!(asked("bash", r#"{"command":"ls","timeout":1}"#), 1);
        assert_eq!(asked("bash", r#"{ "timeout": 1, "command": "ls" }"#), 2);
        assert_eq!(asked("bash", r#"{"command":"ls","timeout":2}"#), 1);
        assert_eq!(asked("read", r#"{"command":"ls","timeout":1}"#), 1);
        assert_eq!((asked("read", "{"), asked("read", "{")), (1, 2));
        assert_eq!(context.asked, 6);
    }

    // Holds B-16.
    #[test]
    fn a_call_that_was_refused_for_being_the_same_again_is_known_in_the_next_reply_and_in_no_later_one() {
        let mut context = context(vec![]);
        let call =
            |args: &str| ToolCall { id: CallId::random(), tool: Name::clip("bash"), args: Text::clip(args) };
        let (same, other) = (call(r#"{"command":"ls"}"#), call(r#"{"command":"pwd"}"#));
        let mut reply = |calls: &[&ToolCall]| {
            let knew = calls.iter().any(|call| context.was_told(call));
            for call in calls {
                context.ask(call);
            }
            context.tell(calls.iter().copied());
            knew
        };
        assert!(!reply(&[&same, &same]));
        assert!(
            !reply(&[&same, &same, &other]),
            "however often it stands in one reply, that is the first word of it"
        );
        assert!(reply(&[&other, &call(r#"{ "command": "ls" }"#)]), "and it is asked for again");
        assert!(!reply(&[&other]));
        assert!(!reply(&[&same]), "something else was done since");
    }

    // Holds B-16.
    #[test]
    fn calls_that_are_refused_for_being_the_same_again_in_turn_are_a_circle_as_well() {
        let mut context = context(vec![]);
        let call =
            |args: &str| ToolCall { id: CallId::random(), tool: Name::clip("bash"), args: Text::clip(args) };
        let (one, two, new) = (call("1"), call("2"), call("3"));
        let mut reply = |call: &ToolCall| {
            let knew = context.was_told(call);
            context.ask(call);
            context.tell(std::iter::once(call));
            knew
        };
        for call in [&one, &two].repeat(3) {
            assert!(!reply(call), "as often as a call may be asked for");
        }
        assert!(!reply(&one), "the first word of it");
        assert!(!reply(&new), "something else was done since");
        assert!(!reply(&one));
        assert!(!reply(&two), "the first word of this one");
        assert!(reply(&one), "and nothing else was done since its own");
    }

    // Holds P7-84.
    #[test]
    fn a_person_is_told_of_each_budget_once() {
        let mut context = context(vec![]);
        let told = [Per::Day, Per::Day, Per::Month, Per::Day].map(|per| context.warn(per).is_some());
        assert_eq!(told, [true, false, true, false]);
    }

    // Holds P5-39.
    #[test]
    fn the_users_own_words_vouch_and_those_of_others_do_not_wherever_they_stand() {
        let mut session = Session::new("s", policy::Profile::Standard);
        let label = |trust| Label::of(trust, Class::Internal, "x");
        hear(&mut session, true, &label(Trust::User), "alice@a.example");
        hear(&mut session, true, &label(Trust::Untrusted), "mallory@m.example");
        hear(&mut session, false, &label(Trust::System), "model@m.example");
        for (value, vouched) in
            [("alice@a.example", true), ("mallory@m.example", false), ("model@m.example", false)]
        {
            assert_eq!(session.trusted.vouches(&value.into()), vouched, "{value}");
        }
        assert_eq!(session.label.trust, Trust::Untrusted);
    }
}
