//! Names, descriptions and schemas of the tools by which an agent proposes jobs of its own. The gate has a person approve each, and the
//! scheduler keeps them. The bounds are those of `ipc-proto`'s scheduler interface.

use crate::spec::ToolSpec;
use serde_json::{Map, Value, json};

/// Adds a job by a cron expression.
pub const ADD_CRON: &str = "scheduler_add_cron";
/// Adds a job that fires once.
pub const RUN_AT: &str = "scheduler_run_at";
/// Removes a job.
pub const REMOVE: &str = "scheduler_remove";
/// Lists jobs.
pub const LIST: &str = "scheduler_list";
/// The names.
pub const NAMES: [&str; 4] = [ADD_CRON, RUN_AT, REMOVE, LIST];
/// Bytes of the message of a job.
pub const MAX_PROMPT: usize = 2 * 1024;
/// Bytes of a cron expression, and of a time.
pub const MAX_TIME: usize = 128;
/// Bytes of a name, of a job or of a time zone.
pub const MAX_NAME: usize = 64;
/// The arguments of a call that adds a job which the host sets, so that people see them: the times in words, the first of them, and the
/// place of the answers.
pub const SET: [&str; 3] = ["schedule", "next", "answers"];

/// The tools.
#[must_use]
pub fn specs() -> Vec<ToolSpec> {
    let cron = "The expression of five fields: minute, hour, day, month, weekday; such as 0 8 * * 1-5";
    let at = "The time, such as 2026-12-01T08:00 in the zone, or 2026-12-01T08:00Z";
    vec![
        adds(
            ADD_CRON,
            "Adds a job: its message is sent to you again and again, at the times of a cron expression. A person approves it first.",
            ("cron", text(MAX_TIME, cron)),
        ),
        adds(
            RUN_AT,
            "Adds a job: its message is sent to you once, at a time to come. A person approves it first.",
            ("at", text(MAX_TIME, at)),
        ),
        tool(
            REMOVE,
            "Removes a job that you added for this person.",
            [("job", text(MAX_NAME, "Its name"))],
            &["job"],
        ),
        tool(LIST, "Lists the jobs that you added for this person, with their times and messages.", [], &[]),
    ]
}

fn adds(name: &'static str, description: &'static str, when: (&'static str, Value)) -> ToolSpec {
    let [words, next, answers] = SET.map(|name| {
        (name, json!({"type": "string", "maxLength": 512, "description": "Set by the host; leave it out"}))
    });
    let prompt = text(
        MAX_PROMPT,
        "The message: what you are to do then, complete in itself, since you will not see this conversation",
    );
    let zone = text(MAX_NAME, "The time zone, such as Europe/Berlin; the host's without it");
    let own = text(MAX_NAME, "A name for the job: letters, digits, `-`, `_` and `.`");
    let required = [when.0, "prompt"];
    tool(
        name,
        description,
        [when, ("prompt", prompt), ("zone", zone), ("name", own), words, next, answers],
        &required,
    )
}

fn text(most: usize, description: &str) -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": most, "description": description})
}

fn tool<const N: usize>(
    name: &'static str,
    description: &'static str,
    fields: [(&str, Value); N],
    required: &[&str],
) -> ToolSpec {
    let properties: Map<String, Value> =
        fields.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    let schema = json!({
        "type": "object", "properties": properties, "required": required, "additionalProperties": false,
    });
    ToolSpec { name, description, schema, in_jail: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schedule_tool_has_its_name_in_the_list() {
        let names: Vec<&str> = specs().iter().map(|spec| spec.name).collect();
        assert_eq!(names, NAMES);
    }
}
