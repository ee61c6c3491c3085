//! `agentctl memory proposals`, `accept`, `reject` and `restore`: what holds because the person says so. A fact is shown as
//! it would hold, byte for byte, before it can be accepted by its id.

use super::revise::{self, Remove};
use super::{Where, ask, done, fetch, show};
use crate::app::{App, Outcome};
use crate::failure::Failure;
use ipc_proto::control::ControlError;
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{Ask, Filter, MemoryError, Said, State, StateName};
use serde_json::json;

/// The arguments of what is about one memory.
#[derive(clap::Args)]
pub(crate) struct One {
    /// Its id
    id: MemoryId,
    #[command(flatten)]
    place: Where,
}

/// The arguments of `memory proposals`.
#[derive(clap::Args)]
pub(crate) struct Proposals {
    /// At most so many
    #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=100))]
    limit: u16,
    /// Leave out so many of the newest
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    offset: u32,
    #[command(flatten)]
    place: Where,
}

/// Lists what waits for the person's word.
pub(super) async fn proposals(app: &App, arguments: Proposals) -> Outcome {
    let Proposals { limit, offset, place } = arguments;
    let filter = Box::new(Filter { state: StateName::Proposed, ..Filter::default() });
    show::rows(app, &ask(app, place.area, Ask::List { filter, limit, offset }, Said::rows).await?)
}

/// Has a proposed fact hold.
pub(super) async fn accept(app: &App, arguments: One) -> Outcome {
    ask(app, arguments.place.area, Ask::Accept(arguments.id), done).await?;
    Ok(app.out.done(json!({ "id": arguments.id.to_string() }), "accepted; it holds as your own word")?)
}

/// Leaves a tombstone of a proposed fact, and of nothing else.
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

/// Has a memory hold again that was removed.
pub(super) async fn restore(app: &App, arguments: One) -> Outcome {
    let (id, area) = (arguments.id, arguments.place.area);
    let row = fetch(app, area.clone(), id).await?;
    if matches!(row.state, State::Proposed { .. }) {
        return Err(Failure::Usage("it is proposed; agentctl memory accept has it hold".to_owned()));
    }
    match ask(app, area, Ask::Unremove(id), done).await {
        Err(Failure::Control(ControlError::Memory(MemoryError::NotCurrent(by)))) => {
            Err(Failure::Usage(format!("{by} stands in its place; remove that first")))
        }
        restored => {
            restored?;
            Ok(app.out.done(json!({ "id": id.to_string() }), "restored")?)
        }
    }
}
