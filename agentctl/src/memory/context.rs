//! `agentctl memory context`: what would be put before a model, byte for byte as a model is given it.

use super::sessions::session;
use super::{Where, ask};
use crate::app::{App, Outcome};
use ipc_proto::memory::{Ask, BLOCK_TOKENS, BlockAsk, Project, Said};
use ipc_proto::{Name, Text};
use serde_json::json;
use std::process::ExitCode;

/// The arguments of `memory context`.
#[derive(clap::Args)]
pub(crate) struct Context {
    /// What it would be for, such as the message that is to be answered: memories with these words come first
    #[arg(long, value_parser = crate::cli::text::<2048>, default_value = "")]
    words: Text<2048>,
    /// The project that the model would work in: a directory, or any other name
    #[arg(long, value_parser = crate::project::named)]
    project: Option<Project>,
    /// The session of a client that would be given it, such as claude-code:NAME
    #[arg(long, value_name = "CLIENT:NAME", value_parser = session)]
    session: Option<(Name, Text<128>)>,
    /// Most tokens of all of it
    #[arg(long, value_name = "COUNT", default_value_t = BLOCK_TOKENS, value_parser = clap::value_parser!(u32).range(1..=64_000))]
    tokens: u32,
    /// Most memories of its index
    #[arg(long, value_name = "COUNT", default_value_t = 50, value_parser = clap::value_parser!(u16).range(0..=100))]
    rows: u16,
    /// So many of the newest in full
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
    let Context { words, project, session, tokens, rows, full, compacting, place } = arguments;
    let wanted = BlockAsk { project, session, words, tokens, rows, full, compacting };
    let block = ask(app, place.area, Ask::Block(Box::new(wanted)), Said::block).await?;
    if app.out.json {
        let rows: Vec<String> = block.rows.iter().map(ToString::to_string).collect();
        let fields = json!({
            "text": block.text, "label": block.label, "tokens": block.tokens,
            "discovery_tokens": block.discovery_tokens, "rows": rows, "muted": block.muted,
        });
        app.out.document(json!({ "context": fields }))?;
    } else if block.muted {
        app.out.remark("muted: nothing would be given");
    } else if block.text.is_empty() {
        app.out.remark("there is nothing to give");
    } else {
        app.out.raw(block.text.as_bytes(), false)?;
    }
    Ok(ExitCode::SUCCESS)
}
