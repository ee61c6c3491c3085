//! Transcripts of Claude Code: JSON lines, each a message with its session. They become the events that Claude Code's hooks
//! would have sent: what the person wrote, and tools with what they answered. Everything else is left out.

use crate::commands::hook;
use crate::failure::Failure;
use ipc_proto::memory::Capture;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Bytes of one line.
const LINE: u64 = 32 * 1024 * 1024;
/// The depth of subfolders that are read.
const DEPTH: usize = 3;
/// Files of one import.
const FILES: usize = 10_000;
/// Lines at the beginning of a file by which a transcript is recognised.
const FIRST: usize = 20;
/// Tool calls that wait for their answer at most.
const CALLS: usize = 1000;

/// The captured events of one line.
pub(super) struct Line {
    /// The line, from 1.
    pub(super) number: usize,
    /// Its bytes.
    pub(super) bytes: u64,
    /// The events.
    pub(super) captures: Vec<Capture>,
}

/// The transcripts at a path: the file, if it is one, or those in the folder.
///
/// # Errors
/// A folder cannot be listed.
pub(super) fn files(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    if path.is_dir() {
        collect(path, DEPTH, &mut found)?;
        found.sort();
    } else if is_transcript(path) {
        found.push(path.to_owned());
    }
    Ok(found)
}

fn collect(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let at = |cause| Failure::File { path: folder.to_owned(), cause };
    for entry in fs::read_dir(folder).map_err(at)? {
        let entry = entry.map_err(at)?;
        // A link could lead anywhere, and around for ever.
        let kind = entry.file_type().map_err(at)?;
        let path = entry.path();
        if kind.is_dir() && depth > 0 {
            collect(&path, depth - 1, found)?;
        } else if kind.is_file() && found.len() < FILES && is_transcript(&path) {
            found.push(path);
        }
    }
    Ok(())
}

/// Returns true if the file has the extension of transcripts, and one of its first lines a session of Claude Code.
fn is_transcript(path: &Path) -> bool {
    let named = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("jsonl"));
    let Some(file) = named.then(|| File::open(path).ok()).flatten() else { return false };
    let lines = BufReader::new(file.take(LINE)).lines().take(FIRST).map_while(Result::ok);
    lines.filter_map(|line| serde_json::from_str::<Value>(&line).ok()).any(|line| {
        let has = |name| line.get(name).is_some_and(Value::is_string);
        has("sessionId") && has("uuid") && has("type")
    })
}

/// The events of a transcript, line by line. A line that cannot be read as JSON is left out: the last one may be half written.
///
/// # Errors
/// The file cannot be opened; or a line cannot be read, or is too long.
pub(super) fn captures(path: &Path) -> Result<impl Iterator<Item = Result<Line, Failure>>, Failure> {
    let mut reader = BufReader::new(File::open(path).map_err(|cause| at(path, cause))?);
    let (path, mut calls, mut number) = (path.to_owned(), HashMap::new(), 0);
    Ok(std::iter::from_fn(move || {
        let mut line = Vec::new();
        number += 1;
        match reader.by_ref().take(LINE).read_until(b'\n', &mut line) {
            Ok(0) => None,
            Err(cause) => Some(Err(at(&path, cause))),
            Ok(bytes) if bytes as u64 == LINE => {
                let why = format!("it has more than {LINE} bytes");
                Some(Err(Failure::Malformed { path: path.clone(), line: number, why }))
            }
            Ok(bytes) => {
                let parsed: Value = serde_json::from_slice(&line).unwrap_or_default();
                let captures = payloads(&parsed, &mut calls);
                let captures = captures.iter().filter_map(hook::captured_by_claude_code).collect();
                Some(Ok(Line { number, bytes: bytes as u64, captures }))
            }
        }
    }))
}

fn at(path: &Path, cause: std::io::Error) -> Failure {
    Failure::File { path: path.to_owned(), cause }
}

/// A tool call that waits for its answer: the tool and its input.
type Calls = HashMap<String, (String, Value)>;

/// The payloads of hooks for one line. `calls` has the calls of earlier lines that were not answered yet.
fn payloads(line: &Value, calls: &mut Calls) -> Vec<Value> {
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let is_set = |name: &str| line.get(name).and_then(Value::as_bool).unwrap_or_default();
    let (Some(session), Some(directory)) = (text(line, "sessionId"), text(line, "cwd")) else {
        return Vec::new();
    };
    // Lines of the client itself, and of its subordinate agents, are not the person's.
    if is_set("isMeta") || is_set("isSidechain") {
        return Vec::new();
    }
    let event = |name: &str, more: Value| {
        let mut payload = json!({ "hook_event_name": name, "session_id": session, "cwd": directory });
        if let (Some(fields), Value::Object(more)) = (payload.as_object_mut(), more) {
            fields.extend(more);
        }
        payload
    };
    let is_user = text(line, "type").is_some_and(|kind| kind == "user");
    let id = text(line, "promptId").or_else(|| text(line, "uuid"));
    let prompt = |text: &str| {
        // The client writes its own commands and their output between tags.
        let said = is_user && !text.trim().is_empty() && !text.starts_with('<');
        said.then(|| event("UserPromptSubmit", json!({ "prompt": text, "prompt_id": id })))
    };
    let content = line.pointer("/message/content").unwrap_or(&Value::Null);
    if let Some(text) = content.as_str() {
        return prompt(text).into_iter().collect();
    }
    let mut found = Vec::new();
    for part in content.as_array().into_iter().flatten() {
        match text(part, "type").as_deref() {
            Some("text") => found.extend(text(part, "text").and_then(|text| prompt(&text))),
            Some("tool_use") if calls.len() < CALLS => {
                if let (Some(id), Some(tool)) = (text(part, "id"), text(part, "name")) {
                    calls.insert(id, (tool, part.get("input").cloned().unwrap_or_default()));
                }
            }
            Some("tool_result") => {
                let called = text(part, "tool_use_id").and_then(|id| Some((calls.remove(&id)?, id)));
                if let Some(((tool, input), id)) = called {
                    let answer = part.get("content").cloned().unwrap_or_default();
                    let more = json!({ "tool_name": tool, "tool_input": input, "tool_response": answer, "tool_use_id": id });
                    found.push(event("PostToolUse", more));
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::memory::CaptureEvent;

    const TRANSCRIPT: &str = r#"{"type":"summary","summary":"Ferry times","leafUuid":"u9"}
{"type":"user","sessionId":"s1","cwd":"/nowhere","uuid":"u1","message":{"role":"user","content":"When does the ferry leave?"}}
{"type":"user","sessionId":"s1","cwd":"/nowhere","uuid":"u2","isMeta":true,"message":{"role":"user","content":"Caveat"}}
{"type":"user","sessionId":"s1","cwd":"/nowhere","uuid":"u3","message":{"role":"user","content":"<command-name>/clear</command-name>"}}
{"type":"assistant","sessionId":"s1","cwd":"/nowhere","uuid":"u4","message":{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"c1","name":"Bash","input":{"command":"cat ferry.txt"}}]}}
{"type":"user","sessionId":"s1","cwd":"/nowhere","uuid":"u5","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"at nine"}]}]}}
{"type":"user","sessionId":"s1","cwd":"/now
"#;

    #[test]
    fn what_a_person_wrote_and_tools_with_their_answers_are_captured() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s1.jsonl");
        fs::write(&path, TRANSCRIPT).unwrap();
        assert_eq!(files(folder.path()).unwrap(), std::slice::from_ref(&path));
        let lines: Vec<Line> = captures(&path).unwrap().map(Result::unwrap).collect();
        assert_eq!(lines.iter().map(|line| line.bytes).sum::<u64>(), TRANSCRIPT.len() as u64);
        let events: Vec<Capture> = lines.into_iter().flat_map(|line| line.captures).collect();
        assert_eq!(events.len(), 2, "{events:?}");
        assert!(
            events
                .iter()
                .all(|event| event.session.as_str() == "s1" && event.client.as_str() == "claude-code")
        );
        let CaptureEvent::Message { message, text } = &events[0].event else { panic!("{events:?}") };
        assert_eq!((message.as_str(), text.as_str()), ("u1", "When does the ferry leave?"));
        let CaptureEvent::Tool { tool, call, output, .. } = &events[1].event else { panic!("{events:?}") };
        assert_eq!((tool.as_str(), call.as_str()), ("Bash", "c1"));
        assert!(output.contains("at nine") && output.contains("cat ferry.txt"), "{output}");
    }

    #[test]
    fn other_lines_of_json_are_no_transcript() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in
            [("a.jsonl", "{\"v\":1,\"row\":{}}\n"), ("b.json", TRANSCRIPT), ("c.jsonl", "no JSON\n")]
        {
            fs::write(folder.path().join(name), text).unwrap();
        }
        assert!(files(folder.path()).unwrap().is_empty());
        assert!(files(&folder.path().join("gone")).unwrap().is_empty());
    }
}
