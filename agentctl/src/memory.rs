//! `agentctl memory`: what the host remembers for the caller, and how well it finds it. It shows text of the host only
//! escaped, and reads no memory but by asking.

use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::{sibling, text, view};
use ipc_proto::control::method;
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{Area, CONTENT_BOUND, Manner, Question, Why};
use ipc_proto::{List, Name, Text};
use serde_json::json;
use std::ffi::OsStr;
use std::process::ExitCode;

/// Memory's program.
const PROGRAM: &str = "memory";

/// The commands of `memory`.
#[derive(clap::Subcommand)]
pub(crate) enum Memory {
    /// Remember a text
    Add {
        /// What to remember
        content: String,
        /// A word to find it by; may be given again
        #[arg(long = "tag", value_name = "WORD", value_parser = crate::cli::text::<64>)]
        tags: Vec<Name>,
        #[command(flatten)]
        place: Where,
    },
    /// Find what fits the words best
    Search {
        /// The words
        #[arg(required = true)]
        words: Vec<String>,
        /// At most so many
        #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=100))]
        limit: u16,
        #[command(flatten)]
        how: How,
        #[command(flatten)]
        place: Where,
    },
    /// Show one memory
    Show {
        /// Its id
        id: MemoryId,
        #[command(flatten)]
        place: Where,
    },
    /// Forget one memory
    Delete {
        /// Its id
        id: MemoryId,
        #[command(flatten)]
        place: Where,
    },
    /// Measure how well turns of conversations are found, without a host: JSON lines on standard input
    Eval {
        /// Turns found for each question, at most
        #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=100))]
        limit: u16,
        /// By what turns are ranked: words, meaning, fused, weighted or plain
        #[arg(long, value_name = "MANNER", value_parser = named::<Manner>, default_value = "words")]
        by: Manner,
    },
    /// List memories, newest first
    List {
        /// At most so many
        #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=100))]
        limit: u16,
        /// Leave out so many of the newest
        #[arg(long, value_name = "COUNT", default_value_t = 0)]
        offset: u32,
        #[command(flatten)]
        place: Where,
    },
}

/// How to look.
#[derive(clap::Args)]
pub(crate) struct How {
    /// By what memories are ranked: words, meaning, fused, weighted or plain
    #[arg(long, value_name = "MANNER", value_parser = named::<Manner>, default_value = "words")]
    by: Manner,
    /// A tag that a memory must have; may be given again
    #[arg(long = "tag", value_name = "WORD", value_parser = crate::cli::text::<64>)]
    tags: Vec<Name>,
    /// Put what repeats a better one behind what says something else
    #[arg(long)]
    varied: bool,
    /// Say of each why it was found
    #[arg(long)]
    explain: bool,
}

/// In which part of the caller's memory.
#[derive(clap::Args)]
pub(crate) struct Where {
    /// Which part of your memory: user, global or agent:NAME
    #[arg(long, value_name = "AREA", default_value = "user", value_parser = area)]
    area: Area,
}

fn area(text: &str) -> Result<Area, String> {
    match text {
        "user" => Ok(Area::User),
        "global" => Ok(Area::Global),
        _ => match text.strip_prefix("agent:") {
            Some(name) if !name.is_empty() => Name::new(name).map(Area::Agent).map_err(|why| why.to_string()),
            _ => Err("one of user, global, agent:NAME".to_owned()),
        },
    }
}

/// Remembers. The id is chosen here, so that asking twice is one memory.
pub(crate) async fn add(app: &App, content: String, tags: Vec<Name>, place: Where) -> Outcome {
    let content: Text<CONTENT_BOUND> =
        Text::new(content).map_err(|why| Failure::TooLong { what: "the memory", why })?;
    let tags: List<Name, 16> = List::new(tags).map_err(|why| Failure::TooLong { what: "--tag", why })?;
    let (id, area) = (MemoryId::random(), place.area);
    let call = app.link.ask(&method::memory_add, async |c, cx| {
        c.memory_add(cx, id, area.clone(), content.clone(), tags.clone()).await
    });
    let id = call.await?;
    Ok(app.out.done(json!({ "id": id.to_string() }), &id.to_string())?)
}

/// Finds.
pub(crate) async fn search(app: &App, words: Vec<String>, limit: u16, how: How, place: Where) -> Outcome {
    let words: Text<2048> =
        Text::new(words.join(" ")).map_err(|why| Failure::TooLong { what: "the words", why })?;
    let tags: List<Name, 16> = List::new(how.tags).map_err(|why| Failure::TooLong { what: "--tag", why })?;
    let question =
        Question { words, tags, since_ms: None, until_ms: None, manner: how.by, varied: how.varied, limit };
    let area = place.area;
    let call = app
        .link
        .ask(&method::memory_find, async |c, cx| c.memory_find(cx, area.clone(), question.clone()).await);
    let found = call.await?;
    if how.explain {
        let head = ["ID", "SCORE", "WHY", "FOUND"];
        return Ok(app.out.list("hits", &found, view::found, &head, |found| {
            let begun = text::begin(&found.hit.snippet, 80);
            vec![found.hit.row.entry.id.to_string(), found.hit.score.to_string(), why(&found.why), begun]
        })?);
    }
    let head = ["ID", "SCORE", "LABEL", "FOUND"];
    Ok(app.out.list(
        "hits",
        &found,
        |found| view::hit(&found.hit),
        &head,
        |found| {
            let hit = &found.hit;
            vec![
                hit.row.entry.id.to_string(),
                hit.score.to_string(),
                view::label(&hit.row.entry.label),
                text::begin(&hit.snippet, 100),
            ]
        },
    )?)
}

/// The reasons in a few words.
fn why(why: &Why) -> String {
    let words = why.by_words.map(|rank| format!("words #{rank} ({} own, {} around)", why.own, why.around));
    let meaning = why.by_meaning.map(|rank| format!("meaning #{rank} ({})", why.likeness));
    let signs = [(why.named, "named"), (why.dated, "dated"), (why.answers, "answers")];
    let signs = signs.into_iter().filter(|(holds, _)| *holds).map(|(_, sign)| sign.to_owned());
    words.into_iter().chain(meaning).chain(signs).collect::<Vec<_>>().join(", ")
}

/// Has memory's own program measure how well it finds. This process looks at neither the turns nor the answers.
pub(crate) fn eval(app: &App, limit: u16, by: Manner) -> Outcome {
    let (limit, by) = (limit.to_string(), name(by));
    let words = ["--offline", "eval", "--limit", &limit, "--by", &by];
    let json = app.out.json.then_some("--json");
    sibling::stream(PROGRAM, &words.into_iter().chain(json).map(OsStr::new).collect::<Vec<_>>())
}

/// A value by the name that it has on the wire.
fn named<T: serde::de::DeserializeOwned>(name: &str) -> Result<T, serde_json::Error> {
    serde_json::from_value(name.into())
}

/// That name.
fn name<T: serde::Serialize>(value: T) -> String {
    serde_json::to_value(value).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Shows one.
pub(crate) async fn show(app: &App, id: MemoryId, place: Where) -> Outcome {
    let area = place.area;
    let call = app.link.ask(&method::memory_show, async |c, cx| c.memory_show(cx, area.clone(), id).await);
    let row = call.await?;
    if app.out.json {
        app.out.document(json!({ "memory": view::memory(&row) }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let entry = &row.entry;
    app.out.pairs(&[
        ("id", entry.id.to_string()),
        ("area", view::area(&row.area)),
        ("tags", entry.tags.iter().map(|tag| tag.as_str()).collect::<Vec<_>>().join(", ")),
        ("label", view::label(&entry.label)),
        ("created", text::utc(row.created_ms)),
    ])?;
    app.out.line(&format!("\n{}", entry.content.trim_end()))?;
    Ok(ExitCode::SUCCESS)
}

/// Forgets one.
pub(crate) async fn delete(app: &App, id: MemoryId, place: Where) -> Outcome {
    let area = place.area;
    let call =
        app.link.ask(&method::memory_delete, async |c, cx| c.memory_delete(cx, area.clone(), id).await);
    call.await?;
    Ok(app.out.done(json!({ "id": id.to_string() }), "forgotten")?)
}

/// Lists them.
pub(crate) async fn list(app: &App, limit: u16, offset: u32, place: Where) -> Outcome {
    let area = place.area;
    let call = app
        .link
        .ask(&method::memory_list, async |c, cx| c.memory_list(cx, area.clone(), limit, offset).await);
    let head = ["ID", "CREATED", "TAGS", "LABEL", "CONTENT"];
    Ok(app.out.list("memories", &call.await?, view::memory, &head, |row| {
        vec![
            row.entry.id.to_string(),
            text::utc(row.created_ms),
            row.entry.tags.iter().map(|tag| tag.as_str()).collect::<Vec<_>>().join(","),
            view::label(&row.entry.label),
            text::begin(&row.entry.content, 80),
        ]
    })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_area_is_read_as_it_is_written() {
        for text in ["user", "global", "agent:default"] {
            assert_eq!(view::area(&area(text).unwrap()), text);
        }
        for wrong in ["", "agent", "agent:", "User"] {
            assert!(area(wrong).is_err(), "{wrong}");
        }
    }
}
