//! `agentctl hook`: captures the events of a coding agent's hooks and prints the memories that fit. It never fails its
//! client and never keeps it waiting: it always ends with status 0 within its time. Failures go to standard error and to
//! a small log of the person's own, without any of the event's contents.

mod claude_code;
mod log;
mod opencode;

use crate::app::{App, Outcome};
use crate::failure::Failure;
use ipc_proto::control::method;
use ipc_proto::memory::{Area, BLOCK_TOKENS, BlockAsk, Capture, CaptureEvent, Project, RAW_BOUND, WORDS};
use ipc_proto::{Name, Text};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::io::{Read, Write};
use std::process::ExitCode;
use std::time::Duration;

/// Bytes of a client's input at most.
const INPUT_BOUND: u64 = 16 * 1024 * 1024;
/// The mark in place of the omitted part of an output.
const CUT: &str = "\n[cut here]";
/// Rows that a block gives in full.
const FULL: u16 = 3;
/// Rows of the index of a block for one question, and how many it gives in full.
const FEW: (u16, u16) = (8, 1);

/// The arguments of `hook`.
#[derive(clap::Args)]
pub(crate) struct Hook {
    /// The client whose hook this is
    client: Client,
    /// The event, if the input does not name it
    event: Option<String>,
    /// The longest time it may take, milliseconds
    #[arg(long, value_name = "MS", default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    timeout: u64,
    /// Tokens of context at the start of a session or when its conversation is compacted; 0 for none
    #[arg(long, value_name = "TOKENS", default_value_t = BLOCK_TOKENS, value_parser = clap::value_parser!(u32).range(0..=64_000))]
    tokens: u32,
    /// Tokens of context for one question; 0 for none
    #[arg(long = "prompt-tokens", value_name = "TOKENS", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(0..=64_000))]
    prompt_tokens: u32,
}

/// A client with hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Client {
    /// Claude Code
    ClaudeCode,
    /// OpenCode
    #[value(name = "opencode")]
    OpenCode,
}

impl Client {
    const fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::OpenCode => "opencode",
        }
    }
}

/// A client's event, as far as it concerns memory.
#[derive(Debug, PartialEq, Eq)]
struct HookEvent {
    /// The client's name for it.
    event: String,
    /// The session, as the client names it.
    session: Text<128>,
    project: Project,
    /// The event to capture.
    capture: Option<CaptureEvent>,
    /// The context to return.
    context: Option<ContextRequest>,
}

/// The context to return.
#[derive(Debug, PartialEq, Eq)]
enum ContextRequest {
    /// At the start of a session.
    Start,
    /// When a conversation was compacted, or is about to be.
    Compacting,
    /// For one question.
    Question(Text<WORDS>),
}

/// Why nothing was captured or printed.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("nothing came on standard input, or more than {INPUT_BOUND} bytes")]
    Input,
    #[error("the input is not JSON")]
    NotJson,
    #[error("the input has no {0}")]
    Missing(&'static str),
    #[error("it took longer than {0} ms")]
    Late(u64),
    #[error("{0}")]
    Asked(#[from] Failure),
}

/// Reports a wrong command line and succeeds: a plugin may be newer than this program.
pub(crate) fn misused(error: &clap::Error) {
    let why = error.render().to_string();
    let first: Vec<&str> = why.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    log::failed("-", "-", &first.join(" "));
}

/// Captures the event and prints the context. Succeeds in every case.
pub(crate) async fn hook(app: &App, arguments: Hook) -> Outcome {
    let limit = Duration::from_millis(arguments.timeout);
    let served = tokio::time::timeout(limit, serve(app, &arguments)).await;
    if let Err(fault) = served.unwrap_or(Err(Fault::Late(arguments.timeout))) {
        let event = arguments.event.as_deref().unwrap_or("-");
        log::failed(arguments.client.name(), event, &fault.to_string());
    }
    Ok(ExitCode::SUCCESS)
}

async fn serve(app: &App, arguments: &Hook) -> Result<(), Fault> {
    let mut bytes = input().await?;
    ipc_proto::json::mend(&mut bytes);
    let payload: Value = serde_json::from_slice(&bytes).map_err(|_| Fault::NotJson)?;
    let event = match arguments.client {
        Client::ClaudeCode => claude_code::read_event(&payload, arguments.event.as_deref())?,
        Client::OpenCode => opencode::read_event(&payload, arguments.event.as_deref())?,
    };
    // The context is fetched first: a question that was captured already would be part of its own answer. A failure of one
    // of the two does not prevent the other.
    let printed = print_context(app, arguments, &event).await;
    let captured = capture(app, arguments, event).await;
    printed.and(captured)
}

/// All of standard input. A thread of its own reads it, which ends with the process, so that a client that does not close
/// it is not waited for.
async fn input() -> Result<Vec<u8>, Fault> {
    let (send, receive) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().take(INPUT_BOUND + 1).read_to_end(&mut bytes);
        // Nobody waits any more once the time is over.
        let _ = send.send(read.map(|_| bytes));
    });
    let bytes = receive.await.map_err(|_| Fault::Input)?.map_err(|_| Fault::Input)?;
    let fits = u64::try_from(bytes.len()).is_ok_and(|length| (1..=INPUT_BOUND).contains(&length));
    if fits { Ok(bytes) } else { Err(Fault::Input) }
}

/// Prints the memories that the client puts before its model.
async fn print_context(app: &App, arguments: &Hook, event: &HookEvent) -> Result<(), Fault> {
    let Some(context) = &event.context else { return Ok(()) };
    let session = Some((Name::clip(arguments.client.name()), event.session.clone()));
    let usual = BlockAsk {
        tokens: Some(arguments.tokens),
        ..BlockAsk::new(Some(event.project.clone()), session, FULL)
    };
    let wanted = match context {
        ContextRequest::Start => usual,
        ContextRequest::Compacting => BlockAsk { compacting: true, ..usual },
        ContextRequest::Question(words) => BlockAsk {
            words: words.clone(),
            only: true,
            tokens: Some(arguments.prompt_tokens),
            rows: Some(FEW.0),
            full: FEW.1,
            ..usual
        },
    };
    if wanted.tokens == Some(0) {
        return Ok(());
    }
    let wanted = Box::new(wanted);
    let block = app
        .link
        .ask(&method::memory_block, async |c, cx| c.memory_block(cx, Area::User, wanted.clone()).await);
    let block = block.await?;
    for why in block.withheld() {
        log::failed(arguments.client.name(), &event.event, &why);
    }
    if block.text.is_empty() {
        return Ok(());
    }
    let answer = match arguments.client {
        Client::ClaudeCode => claude_code::answer(&event.event, &block.text),
        Client::OpenCode => opencode::answer(&block.text),
    };
    // A client that went away has seen enough.
    let _ = writeln!(std::io::stdout().lock(), "{answer}");
    Ok(())
}

async fn capture(app: &App, arguments: &Hook, event: HookEvent) -> Result<(), Fault> {
    let HookEvent { session, project, capture: Some(event), .. } = event else { return Ok(()) };
    let capture = Capture { client: Name::clip(arguments.client.name()), session, project, event };
    let capture = Box::new(capture);
    let captured = app
        .link
        .ask(&method::memory_capture, async |c, cx| c.memory_capture(cx, Area::User, capture.clone()).await);
    captured.await?;
    Ok(())
}

/// The capture of an event of Claude Code; `None` if it is none that is captured, or cannot be read.
pub(crate) fn captured_by_claude_code(payload: &Value) -> Option<Capture> {
    let HookEvent { session, project, capture, .. } = claude_code::read_event(payload, None).ok()?;
    Some(Capture { client: Name::clip(Client::ClaudeCode.name()), session, project, event: capture? })
}

/// A text of the payload; `None` if it is empty or no text.
fn text<'a>(payload: &'a Value, pointer: &str) -> Option<&'a str> {
    payload.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// An output within the bound, with a mark where it was cut.
fn cut(output: &str) -> Text<RAW_BOUND> {
    if output.len() <= RAW_BOUND {
        return Text::clip(output);
    }
    let most = RAW_BOUND - CUT.len();
    let end = (0..=most).rev().find(|end| output.is_char_boundary(*end)).unwrap_or_default();
    Text::clip(&format!("{}{CUT}", output.get(..end).unwrap_or_default()))
}

/// Returns true if it is one of memory's own tools, under whatever name a client has for their server: what they answer is
/// remembered already.
fn is_memory_s_own(tool: &str) -> bool {
    tool.rsplit('_').next().is_some_and(|name| name.starts_with("mem-"))
}

/// A name for what its client names not: the same words in the same session are the same.
fn named(parts: &[&str]) -> Text<128> {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(part);
    }
    Text::clip(&crate::text::hex(&hash.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_over_the_bound_is_cut_between_characters_with_a_mark() {
        assert_eq!(cut("short").as_str(), "short");
        let long = cut(&"世".repeat(RAW_BOUND));
        assert!(long.len() <= RAW_BOUND && long.len() > RAW_BOUND - 8 && long.ends_with(CUT));
    }

    #[test]
    fn answers_of_the_memory_tools_are_not_captured() {
        for (tool, own) in [
            ("mcp__plugin_cordon-memory_cordon-memory__mem-find", true),
            ("cordon-memory_mem-get", true),
            ("Bash", false),
            ("member", false),
            ("mcp__files__read", false),
        ] {
            assert_eq!(is_memory_s_own(tool), own, "{tool}");
            let payload = serde_json::json!({ "session_id": "s", "cwd": "/", "directory": "/", "tool_name": tool,
                "tool_response": "text", "input": { "tool": tool, "sessionID": "s" }, "output": { "output": "text" } });
            let claude = claude_code::read_event(&payload, Some("PostToolUse")).unwrap();
            let opencode = opencode::read_event(&payload, Some("tool.execute.after")).unwrap();
            assert_eq!((claude.capture.is_none(), opencode.capture.is_none()), (own, own), "{tool}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_json_at_all_is_understood_or_refused(text in "[ -~]{0,80}", key in "[a-z_]{1,12}") {
            let payload = serde_json::json!({
                "session_id": text, "cwd": text, "hook_event_name": text, key.clone(): { key: [text, 1, null] },
                "input": { "sessionID": text, "event": { "type": text, "properties": text } }, "output": text,
            });
            for event in ["PostToolUse", "tool.execute.after", "chat.message", "event", &text] {
                let _ = claude_code::read_event(&payload, Some(event));
                let _ = opencode::read_event(&payload, Some(event));
            }
        }
    }
}
