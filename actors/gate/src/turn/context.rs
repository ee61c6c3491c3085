//! The context of one turn: its work, the facts that decisions rest on, its calls. Labels only rise.

use crate::model::budget::Patience;
use crate::state::context::GateContext;
use crate::state::mcp::calls_server;
use crate::turn::calls::CallLog;
use crate::turn::equipment;
use crate::turn::reasoning::Reasoning;
use ipc_proto::approval::Grant;
use ipc_proto::browser::PICTURE;
use ipc_proto::config::Agent;
use ipc_proto::content::image_label;
use ipc_proto::engine::Engine;
use ipc_proto::ids::{CallId, TurnId};
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::model::{IMAGE_TOKENS, Payer, Per, Role, Usage};
use ipc_proto::router::{Task, Turn, TurnEvent, Unattended};
use ipc_proto::runner_gate::GateError;
use ipc_proto::tool::TOOLS;
use ipc_proto::{Blob, Name, Text};
use policy::{Catalogue, Session};
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};

/// The tool whose output a recalled block counts as.
pub(crate) const RECALL_TOOL: &str = "memory_query";

/// One turn.
pub(crate) struct TurnContext {
    pub(crate) turn: Turn,
    pub(crate) agent: Agent,
    /// Tools of servers that the model finds by words before it can call them.
    pub(crate) hidden: Vec<String>,
    /// Those of them that it has found, the oldest first.
    pub(crate) found: VecDeque<String>,
    /// The facts that decisions rest on: the texts that vouch, the plan, the taint, and the session's label, which is that of
    /// everything the model has seen.
    pub(crate) session: Session,
    pub(crate) workspace_label: Label,
    pub(crate) calls: CallLog,
    /// The number of the next durable step.
    pub(crate) next_step: u32,
    /// The text of the last reply, as it was released.
    pub(crate) last_text: String,
    pub(crate) usage: Usage,
    /// The texts of the conversation that have a label.
    pub(crate) known: KnownTexts,
    /// The memories that the turn was given, as the model reads them.
    pub(crate) recalled: Option<String>,
    pub(crate) reasoning: Reasoning,
    /// The time that it may still wait for money.
    pub(crate) patience: Patience,
    /// Budgets whose warning was shown.
    pub(crate) warned: HashSet<Per>,
    /// The images of its message are on the record.
    pub(crate) images_recorded: bool,
    /// Its tasks, each with the tokens of its job that it may use, until it ends.
    pub(crate) tasks: HashMap<TurnId, u32>,
    /// Tokens that its tasks have used.
    pub(crate) tasks_used: u32,
    /// Pictures that its calls took, each with its type, for a model that sees images.
    pub(crate) pictures: Vec<(CallId, Text<64>, Blob<PICTURE>)>,
}

/// The texts that were labelled already, by hash.
#[derive(Default)]
pub(crate) struct KnownTexts {
    hashes: HashSet<u64>,
    state: RandomState,
}

impl KnownTexts {
    /// Adds a text; returns true if it is new.
    pub(crate) fn add(&mut self, text: &str) -> bool {
        self.hashes.insert(self.state.hash_one(text))
    }
}

impl TurnContext {
    /// The context of a claimed turn: its history and its message with their labels. Texts of the session's own user vouch, and
    /// so do the agent's prompt and the contacts that the owner confirmed; nothing else does.
    pub(crate) fn new(gate: &GateContext, turn: Turn, mut agent: Agent, canary: String) -> Self {
        let hidden = equipment::equip(gate, &turn, &mut agent);
        let id = turn.session.to_string();
        let mut session = new_session(gate, &id, (&turn.agent, &agent), &turn.user_name);
        session.canary = canary;
        session.attached = turn.attached;
        session.unattended = turn.unattended.is_some();
        let workspace_label = turn.workspace_label.clone();
        // The prompt includes CONTEXT.md and skills, so the session has the workspace's label from the start.
        session.label = turn.session_label.join(&workspace_label);
        let patience = Patience::within(agent.limits.seconds);
        let mut context = Self {
            turn,
            agent,
            hidden,
            found: VecDeque::new(),
            session,
            workspace_label,
            calls: CallLog::default(),
            next_step: 0,
            last_text: String::new(),
            usage: Usage::default(),
            known: KnownTexts::default(),
            recalled: None,
            reasoning: Reasoning::default(),
            patience,
            warned: HashSet::new(),
            images_recorded: false,
            tasks: HashMap::new(),
            tasks_used: 0,
            pictures: Vec::new(),
        };
        context.read_history();
        context.set_grants(context.turn.grants.clone().iter());
        context
    }

    /// Lists tools that were hidden for the rest of the turn. Where there is no room, the oldest of them are hidden again.
    pub(crate) fn list(&mut self, tools: impl Iterator<Item = String>) {
        for tool in tools.filter(|tool| self.hidden.contains(tool)).collect::<Vec<_>>() {
            if self.agent.tools.contains(&tool) {
                continue;
            }
            if self.agent.tools.len() >= TOOLS {
                let Some(oldest) = self.found.pop_front() else { return };
                self.agent.tools.retain(|listed| *listed != oldest);
            }
            self.found.push_back(tool.clone());
            self.agent.tools.push(tool);
        }
    }

    /// Every tool that the agent has, listed or not.
    pub(crate) fn all_tools(&self) -> Vec<String> {
        let hidden = self.hidden.iter().filter(|tool| !self.agent.tools.contains(tool));
        self.agent.tools.iter().chain(hidden).cloned().collect()
    }

    fn read_history(&mut self) {
        for labelled in &self.turn.history {
            let (message, label) = (&labelled.message, &labelled.label);
            add_text(&mut self.session, message.role == Role::User, label, &message.text);
            self.known.add(&message.text);
        }
        let words = self.turn.content.plain();
        add_text(&mut self.session, true, &self.turn.label, &words);
        self.known.add(&words);
        // Router has raised the session's label for the images already; they are not the user's text.
        let images = self.turn.task.images(&self.turn.content);
        images.for_each(|_| self.session.image(&image_label(), IMAGE_TOKENS));
    }

    /// Replaces the grants.
    pub(crate) fn set_grants<'a>(&mut self, grants: impl Iterator<Item = &'a Grant>) {
        self.session.grants = grants.map(|grant| grant.scope).collect();
    }

    /// Raises the session's label, and that of an engine's workspace with it.
    pub(crate) fn raise_to(&mut self, label: &Label) {
        self.session.label = self.session.label.join(label);
        if self.engine().is_some() {
            self.raise_workspace();
        }
    }

    /// Raises the workspace's label: whatever the session knows may be written there.
    pub(crate) fn raise_workspace(&mut self) {
        self.workspace_label = self.workspace_label.join(&self.session.label);
    }

    /// Adds a message that the user sent into the turn.
    pub(crate) fn add_steering(&mut self, label: &Label, text: &str) {
        self.raise_to(label);
        add_text(&mut self.session, true, label, text);
        self.known.add(text);
    }

    /// The engine that answers, if one does. Its tools are its own, and each may write what the session has seen.
    pub(crate) fn engine(&self) -> Option<&Engine> {
        self.agent.engine.as_ref().filter(|_| self.turn.task == Task::Chat)
    }

    /// Returns true if a program in the jail asks models by itself: a person's own, or an engine.
    pub(crate) fn runs_program(&self) -> bool {
        self.engine().is_some() || matches!(self.turn.task, Task::Run(_))
    }

    /// Returns true if programs in the jail have a way out. Putting and getting files starts none.
    pub(crate) fn has_way_out(&self) -> bool {
        self.agent.network.is_some() && !matches!(self.turn.task, Task::Put { .. } | Task::Get { .. })
    }

    /// The places to which TLS of its jails passes undecrypted.
    pub(crate) fn opaque(&self) -> impl Iterator<Item = &str> {
        self.agent.network.iter().flat_map(|network| &network.opaque).map(String::as_str)
    }

    /// Adds a reply. The model knows everything in the session, so the reply has the session's label.
    pub(crate) fn add_reply(&mut self, text: &str) {
        let label = self.session.label.clone();
        self.session.content(&label, text);
        self.known.add(text);
    }

    /// Adds a text that a runner put into the conversation: CONTEXT.md or a skill. A runner that invents texts can only raise the
    /// taint.
    pub(crate) fn add_prompt_text(&mut self, text: &str) {
        if self.known.add(text) {
            let label = self.workspace_label.clone();
            self.session.content(&label, text);
        }
    }

    /// Adds the memories that the turn was given, as output of `tool`.
    pub(crate) fn add_recalled(&mut self, catalogue: &Catalogue, tool: &str, label: &Label, text: &str) {
        self.add_output(catalogue, tool, label, text);
        self.recalled = Some(text.to_owned());
    }

    /// The label of `tool`'s output: the label that it declares, the class that was found, and the source's own label. That is
    /// `own` of a row of memory or a page, and the workspace's of a tool in the jail.
    pub(crate) fn result_label(
        &self,
        catalogue: &Catalogue,
        tool: &str,
        class: Class,
        own: Option<&Label>,
    ) -> Label {
        let own = if is_jailed(tool) { Some(&self.workspace_label) } else { own };
        result_label(catalogue, tool, (class, own), &self.session.label)
    }

    /// Raises the workspace's label if `tool` may write there: before its call runs, which may write whether or not its result
    /// arrives, and after its result, which the session knows from then on.
    pub(crate) fn raise_workspace_for(&mut self, tool: &str) {
        if self.engine().is_some() || changes_workspace(tool) {
            self.raise_workspace();
        }
    }

    /// Adds output: it raises the session's label, and the workspace's once the tool wrote there.
    pub(crate) fn add_output(&mut self, catalogue: &Catalogue, tool: &str, label: &Label, output: &str) {
        self.session.output(catalogue, tool, label, output);
        self.known.add(output);
        self.raise_workspace_for(tool);
    }

    /// Returns the notice of a budget that is used up and only warns, once for each budget.
    pub(crate) fn warn(&mut self, per: Per) -> Option<TurnEvent> {
        let notice =
            format!("the budget per {per} is used up, and only warns: the model is asked all the same");
        self.warned.insert(per).then(|| TurnEvent::Notice(Text::clip(&notice)))
    }

    /// Returns true if nobody may be asked: the turn answers a job that does not ask.
    pub(crate) fn asks_nobody(&self) -> bool {
        self.turn.unattended.is_some_and(|terms| !terms.asks)
    }

    /// The most tokens that the next answer may have, with those that a job's message has left.
    ///
    /// # Errors
    /// It has none left.
    pub(crate) fn output_left(&self) -> Result<u32, GateError> {
        let most = self.agent.limits.output_tokens;
        let Some(Unattended { tokens: limit, .. }) = self.turn.unattended else { return Ok(most) };
        match self.tokens_left(limit) {
            0 => Err(GateError::Spent { limit }),
            left => Ok(most.min(left)),
        }
    }

    /// The tokens that are left of this limit, without those that its tasks have used or may use.
    pub(crate) fn tokens_left(&self, limit: u32) -> u32 {
        let own = self.usage.input.saturating_add(self.usage.output);
        let tasks = self.tasks.values().fold(self.tasks_used, |sum, tokens| sum.saturating_add(*tokens));
        limit.saturating_sub(own).saturating_sub(tasks)
    }

    /// A task was handed out that may use so many tokens of the job's.
    pub(crate) fn task_began(&mut self, turn: TurnId, tokens: u32) {
        self.tasks.entry(turn).or_insert(tokens);
    }

    /// A task has ended, and used this.
    pub(crate) fn task_ended(&mut self, turn: TurnId, usage: Usage) {
        if self.tasks.remove(&turn).is_some() {
            self.tasks_used = self.tasks_used.saturating_add(usage.input.saturating_add(usage.output));
        }
    }

    /// The payer of the turn's model calls.
    pub(crate) fn payer(&self) -> Payer {
        let turn = &self.turn;
        Payer {
            user: turn.user,
            session: Some(turn.session),
            agent: Some(turn.agent.clone()),
            key: turn.key.map(|key| key.id),
            key_day_micros: turn.key.and_then(|key| key.day_micros),
        }
    }

    /// Adds the usage of a model call.
    pub(crate) fn add_usage(&mut self, usage: Usage) {
        self.usage = sum_of(self.usage, usage);
    }
}

/// A new session of an agent. `user` is the name of its user.
pub(crate) fn new_session(
    gate: &GateContext,
    id: &str,
    (name, agent): (&Name, &Agent),
    user: &str,
) -> Session {
    let mut session = Session::new(id, agent.profile.parse().unwrap_or_default());
    session.autonomy = gate.settings.policy.autonomy;
    session.agent = name.to_string();
    session.user = user.to_owned();
    session.web = gate.settings.web.clone();
    session.setting(&agent.prompt);
    for contact in &gate.settings.policy.contacts {
        session.setting(contact);
    }
    session
}

/// The label of a tool's output, from the class that was found and the source's own label. `known` is the session's label.
pub(crate) fn result_label(
    catalogue: &Catalogue,
    tool: &str,
    (class, own): (Class, Option<&Label>),
    known: &Label,
) -> Label {
    match catalogue.get(tool) {
        Some(capability) => policy::result_label(tool, capability, class, own),
        // An undeclared tool may return anything.
        None => Label::of(Trust::Untrusted, class.max(Class::Internal), "tool:undeclared").join(known),
    }
}

/// The sum of two usages.
pub(crate) const fn sum_of(one: Usage, other: Usage) -> Usage {
    Usage {
        input: one.input.saturating_add(other.input),
        output: one.output.saturating_add(other.output),
        cache_read: one.cache_read.saturating_add(other.cache_read),
        cache_write: one.cache_write.saturating_add(other.cache_write),
        estimated: one.estimated || other.estimated,
        // Each claim is on the record by itself.
        claimed: None,
        cost_micros: one.cost_micros.saturating_add(other.cost_micros),
    }
}

/// Adds a text of the conversation. A person's text vouches only if it is the session's own user's: text that somebody else sent
/// over a channel has another label.
fn add_text(session: &mut Session, person: bool, label: &Label, text: &str) {
    if person && label.trust <= Trust::User {
        session.trusted.add(text);
    }
    session.content(label, text);
}

fn is_jailed(tool: &str) -> bool {
    toolset::jail_tools::NAMES.contains(&tool)
}

/// Returns true if the tool may have put something that the session knows into the workspace.
fn changes_workspace(tool: &str) -> bool {
    // A server may be shown the workspace.
    calls_server(tool) || is_jailed(tool) && !toolset::jail_tools::READERS.contains(&tool)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turn::testing::{context, shared_catalogue};
    use ipc_proto::capability::{Capability, Effect};
    use ipc_proto::content::{Media, Part, Place};
    use ipc_proto::engine::{Format, Input};
    use ipc_proto::router::Profile;
    use ipc_proto::{Blob, List};

    // Holds P5-05.
    #[test]
    fn a_programs_output_is_untrusted_and_a_file_has_the_workspaces_label() {
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
    fn a_read_raises_the_session_and_a_write_after_it_the_workspace() {
        let (mut context, catalogue) = (context(vec![]), shared_catalogue());
        let untrusted = Label::of(Trust::Untrusted, Class::Internal, "web");
        context.add_output(&catalogue, "memory_query", &untrusted, "a row");
        assert!(untrusted.within(&context.session.label));
        assert_eq!(context.workspace_label, Label::bottom());
        context.add_output(&catalogue, "write", &Label::bottom(), "written");
        assert!(untrusted.within(&context.workspace_label));
        assert!(context.session.taint.thousandths() > 0);
        let changing = toolset::jail_tools::NAMES.into_iter().filter(|tool| changes_workspace(tool));
        assert!(changing.eq(["write", "edit", "bash"]));
        assert!(!changes_workspace("memory_write"));
    }

    // Holds P5-06.
    #[test]
    fn a_call_that_may_run_raises_the_workspace_before_its_result() {
        let mut context = context(vec![]);
        context.session.label = Label::of(Trust::Untrusted, Class::Internal, "web");
        context.raise_workspace_for("read");
        assert_eq!(context.workspace_label, Label::bottom());
        context.raise_workspace_for("bash");
        assert!(context.session.label.within(&context.workspace_label));
    }

    // Holds P5-06.
    #[test]
    fn a_tool_declared_to_read_raises_the_workspace_if_it_can_write() {
        for (tool, raises) in [("bash", true), ("write", true), ("edit", true), ("grep", false)] {
            let capability = Capability { effect: Effect::Read, ..Capability::default() };
            let catalogue = shared_catalogue().with(tool, capability).unwrap();
            let mut context = context(vec![]);
            let untrusted = Label::of(Trust::Untrusted, Class::Internal, "web");
            context.session.label = untrusted.clone();
            context.add_output(&catalogue, tool, &Label::bottom(), "done");
            assert_eq!(untrusted.within(&context.workspace_label), raises, "{tool}");
        }
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
        context.add_recalled(&catalogue, "memory_query", &row, "a row");
        assert!(row.within(&context.workspace_label));
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
    fn the_users_own_text_vouches_and_that_of_others_does_not() {
        let mut session = Session::new("s", policy::Profile::Standard);
        let label = |trust| Label::of(trust, Class::Internal, "x");
        add_text(&mut session, true, &label(Trust::User), "alice@a.example");
        add_text(&mut session, true, &label(Trust::Untrusted), "mallory@m.example");
        add_text(&mut session, false, &label(Trust::System), "model@m.example");
        for (value, vouched) in
            [("alice@a.example", true), ("mallory@m.example", false), ("model@m.example", false)]
        {
            assert_eq!(session.trusted.vouches(&value.into()), vouched, "{value}");
        }
        assert_eq!(session.label.trust, Trust::Untrusted);
    }
}
