//! The fields of an observation that a client may give when it makes or revises one.

use crate::args::{Args, TYPES};
use crate::catalogue::{choice, number, text, texts};
use crate::envelope::Fault;
use ipc_proto::memory::{CONTENT_BOUND, FilePath, Importance, LISTED, ObservationType, Source, SourceType};
use ipc_proto::{List, Name, Text};
use serde_json::{Map, Value};

/// The fields that the call gives; an absent field stays as it is.
#[derive(Debug)]
pub(super) struct Fields {
    pub(super) title: Option<Text<200>>,
    pub(super) r#type: Option<ObservationType>,
    pub(super) narrative: Option<Text<CONTENT_BOUND>>,
    pub(super) concepts: Option<List<Name, 16>>,
    pub(super) files: Option<List<FilePath, LISTED>>,
    pub(super) importance: Option<Importance>,
}

impl Fields {
    pub(super) fn of(args: &mut Args) -> Result<Self, Fault> {
        let title = args.has("title").then(|| args.words("title")).transpose()?;
        let narrative = args.has("narrative").then(|| args.words("narrative")).transpose()?;
        Ok(Self {
            title,
            r#type: args.choice("type", &TYPES)?,
            narrative,
            concepts: args.texts("concepts")?,
            files: args.texts("files")?,
            importance: args.number("importance", 1..=5)?.map(Importance::of),
        })
    }

    /// The names of the given fields that only an observation has.
    pub(super) fn of_observations(&self) -> Option<&'static str> {
        let given = [
            ("title", self.title.is_some()),
            ("type", self.r#type.is_some()),
            ("files", self.files.is_some()),
        ];
        given.into_iter().find_map(|(name, is_given)| is_given.then_some(name))
    }
}

/// Their schemas.
pub(super) fn properties() -> Map<String, Value> {
    let all = [
        ("title", text(200, "What it is, in a few words.")),
        ("type", choice(&TYPES, "Of which type it is.")),
        ("narrative", text(CONTENT_BOUND, "What was learned, and why it matters.")),
        ("concepts", texts(16, 64, "Words to find it by, such as gotcha, pattern, trade-off.")),
        ("files", texts(LISTED, 256, "Files that it is about, as paths in the project.")),
        ("importance", number(1, 5, None, "How much it matters: 1 little, 3 as most, 5 very much.")),
    ];
    all.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect()
}

/// The origin: a model concluded it, in a client outside of the host.
pub(super) fn source(tool: &str) -> Source {
    let tool = Some(Name::clip(tool));
    Source { r#type: SourceType::AiInference, tool, external: true, ..Source::default() }
}

/// Replaces a value where one is given.
pub(super) fn put<T>(into: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *into = given;
    }
}
