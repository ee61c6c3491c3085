//! Checks that calls and results match, and that a chosen tool is among the given ones: every vendor's API refuses a request in which they
//! do not, and no model could make sense of it. Pure.

use crate::fault::Fault;
use ipc_proto::ids::CallId;
use ipc_proto::model::{Asked, Choice};
use ipc_proto::tool::ToolSpec;
use std::collections::HashMap;

/// The calls of a conversation.
#[derive(Debug, Default)]
pub(crate) struct Matched {
    /// Its number among them, where each was asked for, and whether it has a result.
    calls: HashMap<CallId, (usize, String, bool)>,
    /// Where the first result stands that no call is before.
    stray: Option<String>,
}

impl Matched {
    /// These were asked for.
    pub(crate) fn ask(&mut self, calls: &[Asked], at: &str) {
        for call in calls {
            self.calls.insert(call.id, (self.calls.len(), message(at), false));
        }
    }

    /// This one has a result.
    pub(crate) fn answer(&mut self, call: CallId, at: &str) {
        match self.calls.get_mut(&call) {
            Some((.., has_result)) => *has_result = true,
            None => drop(self.stray.get_or_insert_with(|| message(at))),
        }
    }

    /// Returns true if each call has a result and each result a call.
    ///
    /// # Errors
    /// One has none: where it stands.
    pub(crate) fn whole(&self) -> Result<(), Fault> {
        if let Some(at) = &self.stray {
            return Err(Fault::bad(
                at,
                "A tool's result must answer a call that an earlier message asked for.",
            ));
        }
        let open = self.calls.values().filter(|(.., has_result)| !has_result).min();
        open.map_or(Ok(()), |(_, at, _)| {
            Err(Fault::bad(at, "Each call that was asked for must have its result in a message after it."))
        })
    }
}

/// The message of this place: its content is not what is wrong with it.
fn message(at: &str) -> String {
    at.strip_suffix(".content").unwrap_or(at).to_owned()
}

/// The choice as a model can be told it; of a client that has `others`, tools which its vendor would run, none that only these
/// could fulfil.
///
/// # Errors
/// It names none of the tools, or there are none.
pub(crate) fn choice(choice: Choice, tools: &[ToolSpec], others: bool) -> Result<Choice, Fault> {
    let is_there = match &choice {
        Choice::Auto | Choice::Never => true,
        Choice::Some => !tools.is_empty(),
        Choice::This(name) => tools.iter().any(|tool| tool.name == *name),
    };
    match (is_there, &choice) {
        (true, _) => Ok(choice),
        (false, _) if others => Ok(Choice::Auto),
        (false, Choice::This(name)) if !tools.is_empty() => {
            Err(Fault::bad("tool_choice", format!("Tool '{name}' was not found among 'tools'.")))
        }
        (false, _) => Err(Fault::bad("tool_choice", "It can be asked for only where 'tools' are given.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat_request;
    use ipc_proto::Name;

    fn call(id: &str) -> Asked {
        chat_request::asked(id, "read", String::new(), "x").unwrap()
    }

    fn place(matched: &Matched) -> Option<String> {
        let fault = matched.whole().err()?;
        let param = fault.json(crate::fault::Dialect::OpenAi, "")["error"]["param"].clone();
        param.as_str().map(str::to_owned)
    }

    // Holds P3-17.
    #[test]
    fn an_unmatched_call_or_result_is_named_by_its_place() {
        let mut matched = Matched::default();
        assert_eq!(place(&matched), None);
        matched.ask(&[call("a"), call("b")], "messages[1]");
        assert_eq!(place(&matched).as_deref(), Some("messages[1]"));
        matched.answer(call("b").id, "messages[2]");
        assert_eq!(place(&matched).as_deref(), Some("messages[1]"));
        matched.ask(&[call("later")], "messages[10]");
        assert_eq!(place(&matched).as_deref(), Some("messages[1]"));
        matched.answer(call("later").id, "messages[11]");
        matched.answer(call("a").id, "messages[3]");
        assert_eq!(place(&matched), None);
        matched.answer(call("c").id, "messages[4].content");
        assert_eq!(place(&matched).as_deref(), Some("messages[4]"));
    }

    // Holds P3-17.
    #[test]
    fn a_choice_is_among_the_tools_that_are_given() {
        let tools = [chat_request::tool("read", None, ("parameters", None), "x").unwrap()];
        let this = |name: &str| Choice::This(Name::clip(name));
        for wanted in [Choice::Auto, Choice::Never, Choice::Some, this("read")] {
            assert_eq!(choice(wanted.clone(), &tools, false).unwrap(), wanted);
        }
        assert!(choice(this("write"), &tools, false).is_err());
        for wanted in [Choice::Some, this("read")] {
            assert!(choice(wanted.clone(), &[], false).is_err());
            assert_eq!(choice(wanted, &[], true).unwrap(), Choice::Auto, "its vendor would have run it");
        }
    }
}
