//! `agentctl memory add`: stores a text with its kind.

use super::Where;
use super::observed::Observed;
use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::text;
use ipc_proto::control::method;
use ipc_proto::ids::MemoryId;
use ipc_proto::label::Label;
use ipc_proto::memory::{
    Category, Detail, Entry, Fact, Importance, Kind, Observation, ObservationType, Project,
};
use ipc_proto::{List, Name, Text};
use serde_json::json;

/// Characters of a title that is taken from the text.
const TITLE: usize = 80;

/// The arguments of `memory add`.
#[derive(clap::Args)]
pub(crate) struct Add {
    /// The text to remember
    content: String,
    /// The kind: note, episodic, fact, preference, instruction, or an observation: decision, bugfix, feature, refactor, discovery, change
    #[arg(long, value_name = "KIND", value_parser = kind, default_value = "note")]
    kind: Named,
    /// The subject of a fact, or the key of a note: an earlier memory with the same key is superseded
    #[arg(long, value_parser = crate::arguments::text::<256>)]
    key: Option<Text<256>>,
    #[command(flatten)]
    observed: Observed,
    /// The confidence of a fact, in thousandths; 1000 by default
    #[arg(long, value_name = "THOUSANDTHS", value_parser = clap::value_parser!(u16).range(0..=1000))]
    confidence: Option<u16>,
    /// A tag; may be given again
    #[arg(long = "tag", value_name = "WORD", value_parser = super::tag)]
    tags: Vec<Name>,
    /// The project it belongs to: a directory, or any other name
    #[arg(long, value_parser = crate::project::named)]
    project: Option<Project>,
    /// Its importance, 1 to 5
    #[arg(long, value_name = "NUMBER", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=5))]
    importance: u8,
    /// Its lifetime: a number and s, m, h, d or w, such as 30d
    #[arg(long, value_name = "SPAN", value_parser = text::seconds)]
    expires: Option<u64>,
    #[command(flatten)]
    place: Where,
}

/// The confidence of a fact that its person states, in thousandths.
const SURE: u16 = 1000;

/// Parses a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    Note,
    Episodic,
    Semantic(Category),
    Observation(ObservationType),
}

fn kind(name: &str) -> Result<Named, String> {
    let known = match name {
        "note" => Some(Named::Note),
        "episodic" => Some(Named::Episodic),
        _ => crate::arguments::named(name)
            .map(Named::Semantic)
            .or_else(|_| crate::arguments::named(name).map(Named::Observation))
            .ok(),
    };
    known.ok_or_else(|| {
        "one of note, episodic, fact, preference, instruction, decision, bugfix, feature, refactor, discovery, change"
            .to_owned()
    })
}

/// Stores the memory. The id is chosen here, so that a repeated call is one memory.
pub(super) async fn add(app: &App, arguments: Add) -> Outcome {
    let area = arguments.place.area.clone();
    let place = area.clone();
    let entry = Box::new(entry(arguments)?);
    let sent = entry.content.clone();
    let id = app
        .link
        .ask(&method::memory_write, async |c, cx| c.memory_write(cx, area.clone(), entry.clone()).await);
    let id = id.await?;
    // The stored text is compared with the sent one: a secret is cut out before it is remembered.
    let stored = super::read(app, &place, List::clip([id])).await.ok();
    let stored = stored.and_then(|rows| rows.into_vec().into_iter().find(|row| row.entry.id == id));
    let cut = stored.map(|row| row.entry.content).filter(|content| *content != sent);
    let fields = json!({ "id": id.to_string(), "stored": cut });
    let done = app.out.done(fields, &id.to_string())?;
    if let Some(content) = cut {
        app.out.remark(&format!("a secret was cut out; it is remembered as: {}", text::line(&content)));
    }
    Ok(done)
}

fn entry(arguments: Add) -> Result<Entry, Failure> {
    let content =
        Text::new(&*arguments.content).map_err(|why| Failure::TooLong { what: "the memory", why })?;
    let tags = List::new(arguments.tags).map_err(|why| Failure::TooLong { what: "--tag", why })?;
    if !matches!(arguments.kind, Named::Observation(_)) {
        arguments.observed.none()?;
    }
    if !matches!(arguments.kind, Named::Note | Named::Semantic(_)) && arguments.key.is_some() {
        let why = "--key is for a note, a fact, a preference or an instruction";
        return Err(Failure::Usage(why.to_owned()));
    }
    if !matches!(arguments.kind, Named::Semantic(_)) && arguments.confidence.is_some() {
        let why = "--confidence is for a fact, a preference or an instruction";
        return Err(Failure::Usage(why.to_owned()));
    }
    let kind = match arguments.kind {
        Named::Note => Kind::Note { key: arguments.key },
        Named::Episodic => Kind::Episodic { role: Name::clip("user") },
        Named::Semantic(category) => {
            let key = arguments
                .key
                .ok_or_else(|| Failure::Usage("--key is needed: what it is about, in a word".to_owned()))?;
            Kind::Semantic(Fact { category, key, confidence: arguments.confidence.unwrap_or(SURE) })
        }
        Named::Observation(r#type) => {
            let title = Text::clip(&text::begin(&content, TITLE));
            let mut seen = Observation { r#type, title, ..Observation::default() };
            arguments.observed.put(&mut seen)?;
            Kind::Observation(Box::new(seen))
        }
    };
    let expires_ms = arguments.expires.map(|span| text::now_ms().saturating_add(span.saturating_mul(1000)));
    let detail = Detail {
        kind,
        importance: Importance::of(arguments.importance),
        project: arguments.project,
        expires_ms,
        ..Detail::default()
    };
    // The host decides the trust, whatever label is sent.
    Ok(Entry { tags, detail, ..Entry::new(MemoryId::random(), content, Label::bottom()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_name_and_no_other_has_one() {
        for (name, expected) in [
            ("note", Named::Note),
            ("episodic", Named::Episodic),
            ("preference", Named::Semantic(Category::Preference)),
            ("decision", Named::Observation(ObservationType::Decision)),
        ] {
            assert_eq!(kind(name), Ok(expected));
        }
        for wrong in ["", "Note", "summary", "semantic"] {
            assert!(kind(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_a_kind_does_not_have_is_refused_by_its_option() {
        #[derive(clap::Parser)]
        struct Typed {
            #[command(flatten)]
            add: Add,
        }
        let entry = |words: &str| {
            let words = format!("add text {words}");
            entry(<Typed as clap::Parser>::try_parse_from(words.split_whitespace()).unwrap().add)
        };
        for (words, option) in [
            ("--confidence 500", "--confidence"),
            ("--kind decision --confidence 500", "--confidence"),
            ("--kind episodic --key k", "--key"),
            ("--kind decision --key k", "--key"),
            ("--title t", "--title"),
        ] {
            let why = entry(words).unwrap_err();
            assert!(matches!(&why, Failure::Usage(why) if why.contains(option)), "{words}: {why}");
        }
        for words in ["--key k", "--kind fact --key k --confidence 500", "--kind decision --title t"] {
            assert!(entry(words).is_ok(), "{words}");
        }
    }
}
