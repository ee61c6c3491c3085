//! `agentctl hook`: what a coding agent's hooks tell, taken down, and what is remembered, given back. It never fails its
//! client and never keeps it waiting: whatever happens it ends with status 0 within its time, and what went wrong stands
//! on standard error and in a small log of the person's own. Neither ever holds what was told.

mod claude_code;
mod log;
mod opencode;

use crate::app::{App, Outcome};
use crate::failure::Failure;
use ipc_proto::control::{ControlError, method};
use ipc_proto::memory::{
    Area, Ask, BLOCK_TOKENS, Block, BlockAsk, Capture, CaptureEvent, Project, RAW_BOUND, Said, WORDS,
};
use ipc_proto::{Name, Text};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::io::{Read, Write};
use std::process::ExitCode;
use std::time::Duration;

/// Bytes of what a client tells at once.
const TOLD: u64 = 16 * 1024 * 1024;
/// What stands where an output was cut.
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
    /// What happened, where what is told does not name it
    event: Option<String>,
    /// How long it may take at most, milliseconds
    #[arg(long, value_name = "MS", default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    timeout: u64,
    /// Tokens of what is given back at the start of a session or when its conversation is made smaller; 0 for nothing
    #[arg(long, value_name = "TOKENS", default_value_t = BLOCK_TOKENS, value_parser = clap::value_parser!(u32).range(0..=64_000))]
    tokens: u32,
    /// Tokens of what is given back to one question; 0 for nothing
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

/// What a client told, as far as it concerns memory.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    /// What the client calls it.
    event: String,
    /// The session, as the client names it.
    session: Text<128>,
    project: Project,
    /// What is taken down.
    take: Option<CaptureEvent>,
    /// What is given back.
    give: Option<Give>,
}

/// What is given back.
#[derive(Debug, PartialEq, Eq)]
enum Give {
    /// At the start of a session.
    Start,
    /// Where a conversation was made smaller, or is about to be.
    Compacting,
    /// To one question.
    Question(Text<WORDS>),
}

/// Why nothing was taken down or given back.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("nothing came on standard input, or more than {TOLD} bytes")]
    Input,
    #[error("what was told is not JSON")]
    NotJson,
    #[error("what was told has no {0}")]
    Missing(&'static str),
    #[error("it took longer than {0} ms")]
    Late(u64),
    #[error("{0}")]
    Asked(#[from] Failure),
}

/// Says what is wrong with the command line. That fails nobody either: a plugin may be newer than this program.
pub(crate) fn misused(error: &clap::Error) {
    let why = error.render().to_string();
    let first: Vec<&str> = why.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    log::failed("-", "-", &first.join(" "));
}

/// Takes down and gives back. Ends well, whatever happens.
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
    let told: Value = serde_json::from_slice(&bytes).map_err(|_| Fault::NotJson)?;
    let told = match arguments.client {
        Client::ClaudeCode => claude_code::told(&told, arguments.event.as_deref())?,
        Client::OpenCode => opencode::told(&told, arguments.event.as_deref())?,
    };
    // What is given back comes first: a question that was taken down already would be part of its own answer. A trouble
    // with one of both is no reason to leave out the other.
    let given = give(app, arguments, &told).await;
    let taken = take(app, arguments, told).await;
    given.and(taken)
}

/// All of standard input. A thread of its own reads it, which ends with the process, so that a client that does not close
/// it is not waited for.
async fn input() -> Result<Vec<u8>, Fault> {
    let (send, receive) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().take(TOLD + 1).read_to_end(&mut bytes);
        // Nobody waits any more once the time is over.
        let _ = send.send(read.map(|_| bytes));
    });
    let bytes = receive.await.map_err(|_| Fault::Input)?.map_err(|_| Fault::Input)?;
    let fits = u64::try_from(bytes.len()).is_ok_and(|length| (1..=TOLD).contains(&length));
    if fits { Ok(bytes) } else { Err(Fault::Input) }
}

/// Has what is remembered put before the model.
async fn give(app: &App, arguments: &Hook, told: &Told) -> Result<(), Fault> {
    let Some(give) = &told.give else { return Ok(()) };
    let session = Some((Name::clip(arguments.client.name()), told.session.clone()));
    let usual = BlockAsk {
        tokens: Some(arguments.tokens),
        ..BlockAsk::new(Some(told.project.clone()), session, FULL)
    };
    let wanted = match give {
        Give::Start => usual,
        Give::Compacting => BlockAsk { compacting: true, ..usual },
        Give::Question(words) => BlockAsk {
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
    let block: Box<Block> = memory(app, Ask::Block(Box::new(wanted)), Said::block).await?;
    for why in block.withheld() {
        log::failed(arguments.client.name(), &told.event, &why);
    }
    if block.text.is_empty() {
        return Ok(());
    }
    let answer = match arguments.client {
        Client::ClaudeCode => claude_code::answer(&told.event, &block.text),
        Client::OpenCode => opencode::answer(&block.text),
    };
    // A client that went away has seen enough.
    let _ = writeln!(std::io::stdout().lock(), "{answer}");
    Ok(())
}

async fn take(app: &App, arguments: &Hook, told: Told) -> Result<(), Fault> {
    let Told { session, project, take: Some(event), .. } = told else { return Ok(()) };
    let capture = Capture { client: Name::clip(arguments.client.name()), session, project, event };
    memory(app, Ask::Capture(Box::new(capture)), Said::taken).await?;
    Ok(())
}

async fn memory<T>(
    app: &App,
    ask: Ask,
    kind: impl FnOnce(Said) -> Result<T, ipc_proto::memory::MemoryError>,
) -> Result<T, Failure> {
    let said =
        app.link.ask(&method::memory, async |c, cx| c.memory(cx, Area::User, ask.clone()).await).await?;
    kind(said).map_err(|error| Failure::Control(ControlError::Memory(error)))
}

/// A text of what was told; none if it is empty or no text.
fn text<'a>(told: &'a Value, pointer: &str) -> Option<&'a str> {
    told.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty())
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

/// Returns whether it is one of memory's own tools, under whatever name a client has for their server: what they answer is
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
    fn what_memory_itself_answered_is_not_learned_again() {
        for (tool, own) in [
            ("mcp__plugin_cordon-memory_cordon-memory__mem-find", true),
            ("cordon-memory_mem-get", true),
            ("Bash", false),
            ("member", false),
            ("mcp__files__read", false),
        ] {
            assert_eq!(is_memory_s_own(tool), own, "{tool}");
            let told = serde_json::json!({ "session_id": "s", "cwd": "/", "directory": "/", "tool_name": tool,
                "tool_response": "text", "input": { "tool": tool, "sessionID": "s" }, "output": { "output": "text" } });
            let claude = claude_code::told(&told, Some("PostToolUse")).unwrap();
            let opencode = opencode::told(&told, Some("tool.execute.after")).unwrap();
            assert_eq!((claude.take.is_none(), opencode.take.is_none()), (own, own), "{tool}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_json_at_all_is_understood_or_refused(text in "[ -~]{0,80}", key in "[a-z_]{1,12}") {
            let told = serde_json::json!({
                "session_id": text, "cwd": text, "hook_event_name": text, key.clone(): { key: [text, 1, null] },
                "input": { "sessionID": text, "event": { "type": text, "properties": text } }, "output": text,
            });
            for event in ["PostToolUse", "tool.execute.after", "chat.message", "event", &text] {
                let _ = claude_code::told(&told, Some(event));
                let _ = opencode::told(&told, Some(event));
            }
        }
    }
}
