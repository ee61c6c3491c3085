//! A turn for unit tests.

use crate::model::budget::Patience;
use crate::turn::calls::CallLog;
use crate::turn::context::{KnownTexts, TurnContext};
use crate::turn::reasoning::Reasoning;
use ipc_proto::config::{Agent, AgentLimits};
use ipc_proto::content::Content;
use ipc_proto::ids::{SessionId, TurnId, UserId, WorkspaceId};
use ipc_proto::label::Label;
use ipc_proto::router::{Step, Task, Turn};
use ipc_proto::{List, Name};
use policy::{Catalogue, Session};
use std::collections::HashSet;

const LIMITS: AgentLimits = AgentLimits {
    tool_calls: 50,
    tool_failures: 3,
    seconds: 120,
    cpu_seconds: 60,
    run_seconds: 3600,
    run_cpu_seconds: 3600,
    output_tokens: 1,
    model_calls_per_hour: 9,
    same_call: 3,
};

pub(crate) fn context(steps: Vec<Step>) -> TurnContext {
    let turn = Turn {
        id: TurnId::random(),
        session: SessionId::random(),
        user: UserId::random(),
        user_name: Name::clip("owner"),
        agent: Name::clip("default"),
        task: Task::Chat,
        content: Content::default(),
        label: Label::bottom(),
        history: List::default(),
        steps: List::clip(steps),
        unthought: 0,
        session_label: Label::bottom(),
        workspace_label: Label::bottom(),
        workspace: WorkspaceId::random(),
        attached: false,
        grants: List::default(),
        attempt: 2,
        key: None,
        files: List::default(),
        conversation: None,
        unattended: None,
        delegated: None,
    };
    let agent = Agent {
        model: String::new(),
        prompt: String::new(),
        tools: vec![],
        delegates: vec![],
        profile: String::new(),
        blocks_own_words: false,
        memory: false,
        memory_tokens: 4000,
        limits: LIMITS,
        sees: true,
        engine: None,
        network: None,
        browser_isolate: false,
    };
    TurnContext {
        turn,
        agent,
        hidden: vec![],
        found: Default::default(),
        session: Session::new("s", policy::Profile::Standard),
        workspace_label: Label::bottom(),
        calls: CallLog::default(),
        next_step: 0,
        last_text: String::new(),
        usage: ipc_proto::model::Usage::default(),
        known: KnownTexts::default(),
        recalled: None,
        reasoning: Reasoning::default(),
        patience: Patience::within(120),
        warned: HashSet::new(),
        images_recorded: false,
        tasks: Default::default(),
        tasks_used: 0,
        pictures: vec![],
    }
}

pub(crate) fn shared_catalogue() -> Catalogue {
    Catalogue::built_in().unwrap()
}
