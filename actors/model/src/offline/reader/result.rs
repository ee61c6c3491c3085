//! A tool's result, as a model can know it: from the text alone. A failed call's text begins with a word in brackets
//! that says how it failed; everything else is the tool's output.

use serde_json::Value;

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallOutcome<'a> {
    /// Its output.
    Output(&'a str),
    /// It failed.
    Failed {
        /// How.
        how: How,
        /// The explanation.
        said: &'a str,
    },
    /// No result stands in the conversation.
    Nothing,
}

/// How a call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// It was not let through.
    Refused,
    /// The tool failed, or its arguments were wrong.
    Error,
    /// Its effect is not known.
    Unknown,
}

impl<'a> CallOutcome<'a> {
    /// The outcome that this text of a tool describes.
    pub(super) fn of(text: &'a str) -> Self {
        let marked = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let Some((mark, said)) = marked else { return Self::Output(text) };
        let how = match mark.to_ascii_lowercase().as_str() {
            "blocked" | "refused" | "denied" => How::Refused,
            "error" | "validation error" | "timeout" => How::Error,
            "unknown" => How::Unknown,
            _ => return Self::Output(text),
        };
        Self::Failed { how, said: said.trim_start_matches([' ', ':']) }
    }

    /// Why there is no output, in words for the person.
    pub(super) fn explanation(&self, tool: &str) -> String {
        match self {
            Self::Output(_) => String::new(),
            Self::Nothing => format!("The tool `{tool}` gave nothing back."),
            Self::Failed { how: How::Refused, said } => {
                format!("The call of `{tool}` was refused: {}", said.trim())
            }
            Self::Failed { how: How::Error, said } => format!("The tool `{tool}` failed: {}", said.trim()),
            Self::Failed { how: How::Unknown, said } => {
                format!("Whether `{tool}` took effect is not known: {}", said.trim())
            }
        }
    }
}

/// A memory that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Memory {
    /// The memory's content.
    pub(super) content: String,
    id: Option<String>,
}

impl Memory {
    /// The memory as a quote, with where it is kept.
    pub(super) fn quote(&self) -> String {
        let place = self.id.as_ref().map_or_else(|| "(memory)".to_owned(), |id| format!("(memory {id})"));
        format!("{}\n{place}", quoted(&self.content))
    }
}

/// Text as a quote, every line of it.
pub(super) fn quoted(text: &str) -> String {
    let line = |line: &str| if line.is_empty() { ">".to_owned() } else { format!("> {line}") };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// The memories in the output of `memory_query`: a JSON list of rows, or plain text, which is then one memory.
pub(super) fn memories(output: &str) -> Vec<Memory> {
    let output = output.trim();
    match serde_json::from_str::<Value>(output) {
        Ok(Value::Array(rows)) => rows.iter().filter_map(row).collect(),
        Ok(Value::Object(answer)) => {
            let rows = answer.values().find_map(Value::as_array);
            rows.map_or_else(Vec::new, |rows| rows.iter().filter_map(row).collect())
        }
        _ if output.is_empty() || output.starts_with("no ") => Vec::new(),
        _ => vec![Memory { content: output.to_owned(), id: None }],
    }
}

fn row(row: &Value) -> Option<Memory> {
    let text = |key: &str| row.get(key).and_then(Value::as_str).map(str::to_owned);
    let content = row.as_str().map(str::to_owned).or_else(|| text("content")).or_else(|| text("snippet"))?;
    Some(Memory { content, id: text("id") })
}

/// The exit status in the last line of the output of `bash`, such as `[exit code 2]`.
pub(super) fn exit_status(output: &str) -> Option<i64> {
    let last = output.trim_end().lines().next_back()?.trim().trim_matches(['[', ']', '(', ')']);
    let (_, status) = last.split_once("exit code ").or_else(|| last.split_once("exit status "))?;
    let digits = status.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(status.len());
    status.get(..digits)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_known_mark_at_the_beginning_is_a_failure() {
        for (text, how) in [
            ("[ERROR] no such file", Some(How::Error)),
            ("[VALIDATION ERROR] path is missing", Some(How::Error)),
            ("[BLOCKED] not in the list", Some(How::Refused)),
            ("[UNKNOWN] the runner died", Some(How::Unknown)),
            ("[1, 2, 3]", None),
            ("[error", None),
            ("an [ERROR] inside", None),
            ("", None),
        ] {
            let failed =
                if let CallOutcome::Failed { how, .. } = CallOutcome::of(text) { Some(how) } else { None };
            assert_eq!(failed, how, "{text}");
        }
    }

    #[test]
    fn memories_are_read_from_rows_and_from_plain_text() {
        let contents = |output| memories(output).into_iter().map(|memory| memory.content).collect::<Vec<_>>();
        assert_eq!(contents(r#"[{"id":"1","content":"a"},{"snippet":"b"},{"x":1}]"#), ["a", "b"]);
        assert_eq!(contents(r#"{"rows":[{"content":"a"}]}"#), ["a"]);
        assert_eq!(contents("first\nsecond"), ["first\nsecond"]);
        for nothing in ["", "[]", "{}", "no memory fits"] {
            assert_eq!(contents(nothing), [""; 0], "{nothing}");
        }
    }

    #[test]
    fn the_exit_status_stands_in_the_last_line() {
        assert_eq!(exit_status("a\n[exit code 2]\n"), Some(2));
        assert_eq!(exit_status("exit status 124: time-out"), Some(124));
        assert_eq!(exit_status("exit code 2\nmore"), None);
        assert_eq!(exit_status(""), None);
    }
}
