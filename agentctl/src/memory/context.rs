//! `agentctl memory context`: what would be put before a model, byte for byte as a model is given it, and what would not.

use super::sessions::session;
use super::{Where, ask};
use crate::app::{App, Outcome};
use ipc_proto::memory::{Area, Ask, Block, BlockAsk, Project, Said, words};
use ipc_proto::{Name, Text};
use serde_json::{Value, json};
use std::process::ExitCode;

/// The arguments of `memory context`.
#[derive(clap::Args)]
pub(crate) struct Context {
    /// What it would be for, such as the message that is to be answered: memories with these words come first
    #[arg(long, default_value = "")]
    words: String,
    /// Only what the words find, best first, as a hook gives it to one question: nothing where nothing fits them
    #[arg(long, requires = "words", conflicts_with = "compacting")]
    only: bool,
    /// The agent whose turn would be given it: what it keeps for you and then your own, within its own tokens, as its
    /// profile and policy let it
    #[arg(long, value_name = "NAME", value_parser = crate::cli::text::<64>, conflicts_with_all = ["area", "project", "only", "compacting"])]
    agent: Option<Name>,
    /// The project that the model would work in: a directory, or any other name
    #[arg(long, value_parser = crate::project::named)]
    project: Option<Project>,
    /// The session of a client that would be given it, such as claude-code:NAME
    #[arg(long, value_name = "CLIENT:NAME", value_parser = session)]
    session: Option<(Name, Text<128>)>,
    /// Most tokens of all of it; 4000 without it, or those of the agent
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=64_000))]
    tokens: Option<u32>,
    /// Most memories of its index, if fewer than [memory] max_index_entries
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(0..=100))]
    rows: Option<u16>,
    /// So many of the newest in full; with --only of the best
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u16).range(0..=20))]
    full: u16,
    /// As it would stand for a conversation that is made smaller: half the tokens, fewer memories, more of each
    #[arg(long)]
    compacting: bool,
    #[command(flatten)]
    place: Where,
}

/// Shows it. Without `--json` standard output has the block alone: no escaping, since nothing in it needs any.
pub(super) async fn context(app: &App, arguments: Context) -> Outcome {
    let Context { words: about, only, agent, project, session, tokens, rows, full, compacting, place } =
        arguments;
    let area = agent.map_or(place.area, Area::Agent);
    let wanted = BlockAsk {
        words: words(&about),
        only,
        tokens,
        rows,
        compacting,
        ..BlockAsk::new(project, session, full)
    };
    let block = ask(app, area, Ask::Block(Box::new(wanted)), Said::block).await?;
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
