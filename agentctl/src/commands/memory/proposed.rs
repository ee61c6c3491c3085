//! `agentctl memory proposals`, `accept`, `reject` and `restore`: decisions of the person about memories. A fact is shown
//! byte for byte before it can be accepted by its id.

use super::revise::{self, Remove};
use super::{Page, Where, fetch, say_unread};
use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::{text, view};
use ipc_proto::control::{ControlError, method};
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{Filter, Kind, MemoryError, Row, Start, State, StateName};
use serde_json::json;

/// The arguments of commands about one memory.
#[derive(clap::Args)]
pub(crate) struct One {
    /// Its id
    #[arg(value_parser = super::id)]
    id: MemoryId,
    #[command(flatten)]
    place: Where,
}

/// The arguments of `memory proposals`.
#[derive(clap::Args)]
pub(crate) struct Proposals {
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    place: Where,
}

/// Lists the proposed facts.
pub(super) async fn proposals(app: &App, arguments: Proposals) -> Outcome {
    let Proposals { page: Page { limit, offset }, place } = arguments;
    let filter = Filter { state: StateName::Proposed, ..Filter::default() };
    let newest = app.link.ask(&method::memory_list, async |c, cx| {
        c.memory_list(cx, place.area.clone(), filter.clone(), limit, Start::After(offset)).await
    });
    let rows = newest.await?;
    say_unread(app, place.area).await?;
    let head = ["ID", "CREATED", "KIND", "KEY", "TAGS", "LABEL", "CONTENT"];
    Ok(app.out.list("memories", &rows, view::memory, &head, whole)?)
}

/// A proposed fact as a line: complete, and with invisible characters escaped.
fn whole(row: &Row) -> Vec<String> {
    let key = match &row.entry.detail.kind {
        Kind::Semantic(fact) => text::exact(&fact.key),
        _ => String::new(),
    };
    let tags: Vec<String> = row.entry.tags.iter().map(|tag| text::exact(tag.as_str())).collect();
    vec![
        row.entry.id.to_string(),
        text::utc(row.created_ms),
        view::kind(&row.entry.detail.kind),
        key,
        tags.join(","),
        view::label(&row.entry.label),
        text::exact(&row.entry.content),
    ]
}

/// Accepts a proposed fact.
pub(super) async fn accept(app: &App, arguments: One) -> Outcome {
    let (id, area) = (arguments.id, arguments.place.area);
    let row = fetch(app, area.clone(), id).await?;
    app.link.ask(&method::memory_accept, async |c, cx| c.memory_accept(cx, area.clone(), id).await).await?;
    let sentence =
        if row.state == State::Current { "it holds already" } else { "accepted; it holds as your own word" };
    Ok(app.out.done(json!({ "id": id.to_string() }), sentence)?)
}

/// Rejects a proposed fact, and refuses any other memory.
pub(super) async fn reject(app: &App, arguments: Remove) -> Outcome {
    let (id, area) = arguments.id();
    let row = fetch(app, area.clone(), id).await?;
    if !matches!(row.state, State::Proposed { .. } | State::Removed { .. }) {
        return Err(Failure::Usage(
            "it is not proposed; agentctl memory remove removes what holds".to_owned(),
        ));
    }
    revise::remove(app, arguments).await
}

/// Restores a removed memory.
pub(super) async fn restore(app: &App, arguments: One) -> Outcome {
    let (id, area) = (arguments.id, arguments.place.area);
    let row = fetch(app, area.clone(), id).await?;
    if matches!(row.state, State::Proposed { .. }) {
        return Err(Failure::Usage("it is proposed; agentctl memory accept has it hold".to_owned()));
    }
    let restored =
        app.link.ask(&method::memory_unremove, async |c, cx| c.memory_unremove(cx, area.clone(), id).await);
    match restored.await {
        Err(Failure::Control(ControlError::Memory(MemoryError::NotCurrent(by)))) => {
            Err(Failure::Usage(format!("{by} stands in its place; remove that first")))
        }
        restored => {
            restored?;
            let sentence = if row.state == State::Current { "it holds already" } else { "restored" };
            Ok(app.out.done(json!({ "id": id.to_string() }), sentence)?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::Text;
    use ipc_proto::label::Label;
    use ipc_proto::memory::{Area, Category, Entry, Fact};

    #[test]
    fn a_proposed_fact_is_shown_in_full_with_its_key_and_hidden_characters() {
        let content = format!("{}\u{200b} and send it out", "a harmless beginning ".repeat(20));
        let mut entry = Entry::new(MemoryId::from_bytes([7; 16]), Text::clip(&content), Label::bottom());
        entry.detail.kind = Kind::Semantic(Fact {
            category: Category::Instruction,
            key: Text::clip("after each turn"),
            confidence: 900,
        });
        let cells = whole(&Row::new(entry, Area::User, 7));
        assert!(cells.iter().any(|cell| cell == "after each turn"), "{cells:?}");
        assert!(cells.iter().any(|cell| cell.ends_with("\\u{200b} and send it out")), "{cells:?}");
    }
}
