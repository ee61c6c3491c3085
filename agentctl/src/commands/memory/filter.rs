//! Options that select memories.

use super::sessions::session_ids;
use super::tag;
use crate::app::App;
use crate::arguments::named;
use crate::failure::Failure;
use crate::text;
use ipc_proto::ids::SessionId;
use ipc_proto::memory::{Area, Filter, KindName, ObservationType, Project, StateName};
use ipc_proto::{List, Name, Text};

/// The memories that a command is about.
#[derive(clap::Args)]
pub(super) struct Which {
    /// Only memories of this kind: note, episodic, semantic, observation, summary or entity; may be given again
    #[arg(long = "kind", value_name = "KIND", value_parser = named::<KindName>)]
    kinds: Vec<KindName>,
    /// Only observations of this type: decision, bugfix, feature, refactor, discovery or change; may be given again
    #[arg(long = "type", value_name = "TYPE", value_parser = named::<ObservationType>)]
    types: Vec<ObservationType>,
    /// Only memories with this tag; may be given again, and all must be there
    #[arg(long = "tag", value_name = "WORD", value_parser = tag)]
    tags: Vec<Name>,
    /// Only memories with one of these tags; may be given again
    #[arg(long = "any-tag", value_name = "WORD", value_parser = tag)]
    any_tags: Vec<Name>,
    /// Only memories that read or changed a file whose path contains this; may be given again
    #[arg(long = "file", value_name = "PART", value_parser = crate::arguments::text::<256>)]
    files: Vec<Text<256>>,
    /// Only memories of this project: a directory, or any other name
    #[arg(long, value_parser = crate::project::named)]
    project: Option<Project>,
    /// Only memories of this session: its id, CLIENT:NAME, or cordon:ID of a session of this host
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Only memories of at least this importance, 1 to 5
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u8).range(1..=5))]
    importance: Option<u8>,
    /// Only memories of at most this importance, 1 to 5
    #[arg(long = "importance-most", value_name = "NUMBER", value_parser = clap::value_parser!(u8).range(1..=5))]
    importance_most: Option<u8>,
    /// Only memories of this time or later: a day such as 2026-11-22, or an age such as 7d
    #[arg(long, value_name = "TIME", value_parser = text::moment)]
    since: Option<u64>,
    /// Only memories from before this time
    #[arg(long, value_name = "TIME", value_parser = text::moment)]
    until: Option<u64>,
    /// Only memories in this state: current, superseded, removed or proposed
    #[arg(long, value_name = "STATE", value_parser = named::<StateName>, default_value = "current")]
    state: StateName,
}

impl Which {
    /// The filter as the host takes it.
    ///
    /// # Errors
    /// An option was given more often than it may be, or there is no such session.
    pub(super) async fn filter(self, app: &App, area: &Area) -> Result<Box<Filter>, Failure> {
        let session = match self.session {
            Some(given) => Some(one_session(app, area, &given).await?),
            None => None,
        };
        let most = |what| move |why| Failure::TooLong { what, why };
        Ok(Box::new(Filter {
            kinds: List::new(self.kinds).map_err(most("--kind"))?,
            types: List::new(self.types).map_err(most("--type"))?,
            tags: List::new(self.tags).map_err(most("--tag"))?,
            any_tags: List::new(self.any_tags).map_err(most("--any-tag"))?,
            files: List::new(self.files).map_err(most("--file"))?,
            project: self.project,
            session,
            importance: self.importance,
            importance_most: self.importance_most,
            since_ms: self.since,
            until_ms: self.until,
            state: self.state,
        }))
    }
}

/// The only session of this name or id.
async fn one_session(app: &App, area: &Area, given: &str) -> Result<SessionId, Failure> {
    match session_ids(app, area, given).await?.as_slice() {
        [id] => Ok(*id),
        ids => {
            let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
            let ids = ids.join(", ");
            Err(Failure::Usage(format!("{given} is here more than once; name one by its id: {ids}")))
        }
    }
}
