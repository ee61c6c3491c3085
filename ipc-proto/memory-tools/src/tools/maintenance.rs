//! `mem-maintenance`: the section of memories in a folder's own files, for clients that read such files and no tool. The
//! section is the block that a model is given, quoted and within its budget; a person's text around it stays.

use crate::args::Args;
use crate::catalogue::{Tool, choice};
use crate::envelope::{Done, Fault};
use crate::request::{Answer, Request};
use crate::store::{FolderAct, SECTION, Store};
use crate::tools::ask;
use ipc_proto::memory::BlockAsk;
use serde_json::json;

/// Tokens of a section: it is read at each start of a client.
const TOKENS: u32 = 1000;
/// Rows of its index, and of those in full.
const ROWS: (u16, u16) = (20, 2);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    DryRun,
    Clean,
    Rebuild,
    Purge,
}

const ACTS: [(&str, Act); 4] = [
    ("folderContextDryRun", Act::DryRun),
    ("folderContextClean", Act::Clean),
    ("folderContextRebuild", Act::Rebuild),
    ("folderContextPurge", Act::Purge),
];

pub(crate) const TOOL: Tool = Tool {
    name: "mem-maintenance",
    description: "Keep the section of memories in the project's AGENTS.md and CLAUDE.md: see what would change, write it, \
                  take it out, or take it out with files that nothing else is in. Only over stdio.",
    reads: false,
    destroys: true,
    needs: &["action"],
    properties: || json!({ "action": choice(&ACTS, "What is to be done with the section.") }),
};

pub(crate) async fn run<S: Store>(store: &S, mut args: Args) -> Result<Done, Fault> {
    let names = || json!(ACTS.map(|(name, _)| name));
    let act = args.choice("action", &ACTS)?.ok_or_else(|| Fault::field("action", "is needed", names()))?;
    let act = match act {
        Act::DryRun => FolderAct::DryRun(section(store).await?),
        Act::Rebuild => FolderAct::Rebuild(section(store).await?),
        Act::Clean => FolderAct::Clean,
        Act::Purge => FolderAct::Purge,
    };
    Ok(Done::new(store.folder(act)?))
}

/// The text that stands in the files, between its comments; empty if there is nothing to say.
async fn section<S: Store>(store: &S) -> Result<String, Fault> {
    let asked = BlockAsk {
        tokens: Some(TOKENS),
        rows: Some(ROWS.0),
        ..BlockAsk::new(store.place().project.clone(), None, ROWS.1)
    };
    let block = ask(store, Request::Block(Box::new(asked)), Answer::block).await?;
    let text = block.text.trim();
    if text.is_empty() {
        return Ok(String::new());
    }
    // A comment in a row is escaped, so that no row ends the section.
    let text = text.replace("<!--", "<! --");
    Ok(format!("{}\n{text}\n{}", SECTION.0, SECTION.1))
}
