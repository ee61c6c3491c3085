//! What the gate keeps of one turn: its work, its labels, its calls. Labels only ever rise.

use ipc_proto::config::Agent;
use ipc_proto::ids::CallId;
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::model::Usage;
use ipc_proto::router::{Released, Turn};
use ipc_proto::tool::ToolResult;
use std::collections::HashMap;

/// Tools that change the workspace: what ran with this session's knowledge may have put it there.
const CHANGES: &[&str] = &["write", "edit", "bash"];

/// One turn.
#[derive(Debug)]
pub(crate) struct TurnContext {
    pub(crate) turn: Turn,
    pub(crate) agent: Agent,
    /// What no text may ever show.
    pub(crate) canary: String,
    pub(crate) session_label: Label,
    pub(crate) workspace_label: Label,
    /// Released calls, and their results once they are in.
    pub(crate) calls: HashMap<CallId, (Released, Option<ToolResult>)>,
    /// Calls asked for in this turn, earlier attempts included.
    pub(crate) asked: u32,
    /// Failures in a row, by tool.
    pub(crate) failures: HashMap<String, u32>,
    /// The number of the next durable step.
    pub(crate) next_step: u32,
    /// What the last reply said, as it was released.
    pub(crate) last_text: String,
    pub(crate) usage: Usage,
}

impl TurnContext {
    /// The label of what `tool` gives back, given what else is known of it.
    pub(crate) fn result_label(&self, tool: &str, class: Class, own: Option<&Label>) -> Label {
        let source = format!("tool:{tool}");
        let (trust, base) = match tool {
            // What a program says may be anything; what a file says is what the workspace is known to hold.
            "bash" => (Trust::Untrusted, Label::bottom()),
            _ => (Trust::System, self.workspace_label.clone()),
        };
        let label = base.join(&Label::of(trust, class, &source));
        own.map_or(label.clone(), |own| own.join(&Label::of(Trust::System, class, &source)))
    }

    /// Takes a result's label up: the session knows it now, and so does the workspace once it was written to.
    pub(crate) fn raise(&mut self, tool: &str, label: &Label) {
        self.session_label = self.session_label.join(label);
        if CHANGES.contains(&tool) {
            self.workspace_label = self.workspace_label.join(&self.session_label);
        }
    }

    /// Counts a result for the bound of failures in a row.
    pub(crate) fn count(&mut self, tool: &str, failed: bool) {
        let failures = self.failures.entry(tool.to_owned()).or_default();
        *failures = if failed { *failures + 1 } else { 0 };
    }

    /// Adds what a model call used.
    pub(crate) fn add(&mut self, usage: Usage) {
        let sum = &mut self.usage;
        sum.input = sum.input.saturating_add(usage.input);
        sum.output = sum.output.saturating_add(usage.output);
        sum.cache_read = sum.cache_read.saturating_add(usage.cache_read);
        sum.cache_write = sum.cache_write.saturating_add(usage.cache_write);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::tests::context;

    #[test]
    fn what_a_program_says_is_untrusted_and_what_a_file_says_is_what_the_workspace_holds() {
        let mut context = context(vec![]);
        context.workspace_label = Label::of(Trust::Verified, Class::Sensitive, "attached");
        let label = |tool: &str, own: Option<&Label>| context.result_label(tool, Class::Internal, own);
        assert_eq!(label("bash", None).trust, Trust::Untrusted);
        assert_eq!(
            (label("read", None).trust, label("read", None).class),
            (Trust::Verified, Class::Sensitive)
        );
        let own = Label::of(Trust::Untrusted, Class::Secret, "web");
        let memory = label("memory_query", Some(&own));
        assert_eq!((memory.trust, memory.class), (Trust::Untrusted, Class::Secret));
        assert!(memory.sources.iter().any(|source| source.as_str() == "tool:memory_query"));
    }

    #[test]
    fn a_session_knows_what_it_read_and_a_workspace_what_was_written_with_that_knowledge() {
        let mut context = context(vec![]);
        let untrusted = Label::of(Trust::Untrusted, Class::Internal, "web");
        context.raise("memory_query", &untrusted);
        assert!(untrusted.within(&context.session_label));
        assert_eq!(context.workspace_label, Label::bottom());
        context.raise("write", &Label::bottom());
        assert!(untrusted.within(&context.workspace_label));
    }
}
