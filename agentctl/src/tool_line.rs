//! Tool calls as sentences for a person. The record keeps the exact arguments.

use crate::text;
use serde_json::Value;

/// Characters of an argument that are shown.
const SHOWN: usize = 100;
/// The word boundary that `offline/reader` writes before each word of a search.
const BOUNDARY: &str = r"(?-u:\b)";

/// Tools, the verb of their sentence, and the argument that is its object.
const SENTENCES: [(&str, &str, &str); 12] = [
    ("read", "reads", "path"),
    ("write", "writes", "path"),
    ("edit", "edits", "path"),
    ("glob", "lists the files that match", "pattern"),
    ("grep", "searches the files for", "pattern"),
    ("bash", "runs", "command"),
    ("web_fetch", "fetches", "url"),
    ("send_file", "sends the file", "path"),
    ("memory_query", "searches memory for", "query"),
    ("memory_write", "remembers", "content"),
    ("memory_revise", "revises memory", "id"),
    ("memory_delete", "forgets memory", "id"),
];

/// The verb of a tool's sentence and the argument that is its object; `None` for a tool without a sentence.
pub(crate) fn verb(tool: &str) -> Option<(&'static str, &'static str)> {
    SENTENCES.iter().find(|(name, ..)| *name == tool).map(|(_, verb, object)| (*verb, *object))
}

/// The call on one line: "reads notes.txt"; for another tool, or without the argument, its name and all arguments.
pub(crate) fn sentence(tool: &str, args: &str) -> String {
    let spoken = verb(tool).and_then(|(verb, argument)| {
        let fields: Value = serde_json::from_str(args).ok()?;
        let object = fields.get(argument)?.as_str()?.replace(BOUNDARY, "");
        Some(format!("{verb} {}", text::begin(&object, SHOWN)))
    });
    spoken.unwrap_or_else(|| format!("calls {tool} {}", text::begin(args, SHOWN)))
}

#[cfg(test)]
mod tests {
    use super::sentence;

    #[test]
    fn a_call_reads_as_a_sentence_and_an_unknown_one_shows_all_of_it() {
        for (tool, args, line) in [
            ("read", r#"{"path":"a.md","maxSize":400000}"#, "reads a.md"),
            ("grep", r#"{"pattern":"(?-u:\\b)disk|(?-u:\\b)full"}"#, "searches the files for disk|full"),
            ("bash", "{\"command\":\"sleep 1\\necho two\"}", "runs sleep 1 echo two"),
            ("memory_query", r#"{"query":"harbour office"}"#, "searches memory for harbour office"),
            ("read", "{}", "calls read {}"),
            ("read", r#"{"path":7}"#, r#"calls read {"path":7}"#),
            ("bash", "no JSON", "calls bash no JSON"),
            ("weather", r#"{"path":"a"}"#, r#"calls weather {"path":"a"}"#),
        ] {
            assert_eq!(sentence(tool, args), line, "{tool} {args}");
        }
    }
}
