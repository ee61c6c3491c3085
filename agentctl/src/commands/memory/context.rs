//! `agentctl memory context`: the block of memories that a model would be given, byte for byte, and those left out.

use super::Where;
use super::sessions::session;
use crate::app::{App, Outcome};
use ipc_proto::control::method;
use ipc_proto::memory::{Area, Block, BlockAsk, Project, words};
use ipc_proto::{Name, Text};
use serde_json::{Value, json};
use std::process::ExitCode;

/// The arguments of `memory context`.
#[derive(clap::Args)]
pub(crate) struct Context {
    /// The text that needs context, such as the message to be answered: memories with its words come first
    #[arg(long, default_value = "")]
    words: String,
    /// Only memories that match the text, best first, as a hook gives them to one question
    #[arg(long, requires = "words", conflicts_with = "compacting")]
    only: bool,
    /// The agent whose turn needs it: its memories about you, then your own, within its tokens, profile and policy
    #[arg(long, value_name = "NAME", value_parser = crate::arguments::text::<64>, conflicts_with_all = ["area", "project", "only", "compacting"])]
    agent: Option<Name>,
    /// The project: a directory, or any other name
    #[arg(long, value_parser = crate::project::named)]
    project: Option<Project>,
    /// The session of a client, such as claude-code:NAME
    #[arg(long, value_name = "CLIENT:NAME", value_parser = session)]
    session: Option<(Name, Text<128>)>,
    /// The most tokens; 4000 by default, or those of the agent
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=64_000))]
    tokens: Option<u32>,
    /// The most memories of its index, if fewer than [memory] max_index_entries
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(0..=100))]
    rows: Option<u16>,
    /// Show this many of the newest in full; with --only, of the best
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u16).range(0..=20))]
    full: u16,
    /// As for a conversation that is compacted: half the tokens, fewer memories, more of each
    #[arg(long)]
    compacting: bool,
    #[command(flatten)]
    place: Where,
}

/// Shows the block. Without `--json` standard output has the block alone, unescaped, since memory escapes it.
pub(super) async fn context(app: &App, arguments: Context) -> Outcome {
    let Context { words: about, only, agent, project, session, tokens, rows, full, compacting, place } =
        arguments;
    let area = agent.map_or(place.area, Area::Agent);
    let wanted = Box::new(BlockAsk {
        words: words(&about),
        only,
        tokens,
        rows,
        compacting,
        ..BlockAsk::new(project, session, full)
    });
    let block = app
        .link
        .ask(&method::memory_block, async |c, cx| c.memory_block(cx, area.clone(), wanted.clone()).await);
    let block = block.await?;
    if app.out.json {
        app.out.document(json!({ "context": shown(&block) }))?;
        return Ok(ExitCode::SUCCESS);
    }
    for one in &block.left_out {
        app.out.remark(&format!("left out: {one}"));
    }
    if let Some(why) = &block.kept_back {
        app.out.remark(&format!("nothing would be given: {why}"));
    } else if block.muted {
        app.out.remark("muted: nothing would be given");
    } else if block.text.is_empty() {
        app.out.remark("there is nothing to give");
    } else {
        app.out.content(block.text.as_bytes(), false, false)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn shown(block: &Block) -> Value {
    let rows: Vec<String> = block.rows.iter().map(ToString::to_string).collect();
    let left_out: Vec<Value> = block
        .left_out
        .iter()
        .map(|one| json!({ "id": one.row.map(|row| row.to_string()), "why": one.why }))
        .collect();
    json!({
        "text": block.text, "label": block.label, "tokens": block.tokens,
        "discovery_tokens": block.discovery_tokens, "rows": rows, "muted": block.muted,
        "left_out": left_out, "kept_back": block.kept_back,
    })
}
