//! `agentctl memory search`: what fits the words best.

use super::filter::Which;
use super::{Where, ask, named};
use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::{text, view};
use ipc_proto::memory::{Answered, Ask, Manner, Question, Said, Signal, Why};
use ipc_proto::{List, Text};
use serde_json::json;
use std::process::ExitCode;

/// The arguments of `memory search`.
#[derive(clap::Args)]
pub(crate) struct Search {
    /// The words
    #[arg(required = true)]
    words: Vec<String>,
    /// At most so many
    #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=100))]
    limit: u16,
    /// By what memories are ranked: words, meaning, fused, weighted, plain, or usual: words, and meaning where there is an
    /// embedder
    #[arg(long, value_name = "MANNER", value_parser = named::<Manner>, default_value = "usual")]
    by: Manner,
    /// Put what repeats a better one behind what says something else
    #[arg(long)]
    varied: bool,
    /// Multiply scores by these as well: recency, salience, trust, importance
    #[arg(long, value_name = "SIGNAL,...", value_delimiter = ',', value_parser = named::<Signal>)]
    weigh: Vec<Signal>,
    /// Have the model of `[curator]` put the first of them into order
    #[arg(long)]
    rerank: bool,
    /// Say of each why it was found
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    place: Where,
}

/// Finds.
pub(super) async fn search(app: &App, arguments: Search) -> Outcome {
    let words: Text<2048> =
        Text::new(arguments.words.join(" ")).map_err(|why| Failure::TooLong { what: "the words", why })?;
    // Each counts once, however often it is named.
    let weigh = List::clip(Signal::ALL.into_iter().filter(|signal| arguments.weigh.contains(signal)));
    let question = Question {
        filter: *arguments.which.filter()?,
        manner: arguments.by,
        varied: arguments.varied,
        reorder: arguments.rerank,
        weigh,
        ..Question::new(words, arguments.limit)
    };
    let answered = ask(app, arguments.place.area, Ask::Find(Box::new(question)), Said::found).await?;
    show(app, &answered, arguments.explain)
}

/// Prints what was found, and what is to be said of how.
fn show(app: &App, answered: &Answered, explain: bool) -> Outcome {
    let found = &answered.rows;
    for note in &answered.notes {
        app.out.remark(note);
    }
    if app.out.json {
        let hits = found.iter().map(|found| if explain { view::found(found) } else { view::hit(&found.hit) });
        let notes: Vec<&str> = answered.notes.iter().map(Text::as_str).collect();
        app.out.document(json!({ "hits": hits.collect::<Vec<_>>(), "notes": notes }))?;
        return Ok(ExitCode::SUCCESS);
    }
    if explain {
        let head = ["ID", "SCORE", "WHY", "FOUND"];
        return Ok(app.out.list("hits", found, view::found, &head, |found| {
            let begun = text::begin(&found.hit.snippet, 80);
            vec![found.hit.row.entry.id.to_string(), found.hit.score.to_string(), why(&found.why), begun]
        })?);
    }
    let head = ["ID", "SCORE", "LABEL", "FOUND"];
    Ok(app.out.list(
        "hits",
        found,
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
    let model = why.by_model.map(|rank| format!("model #{rank}"));
    let signs = [(why.named, "named"), (why.dated, "dated"), (why.answers, "answers")];
    let signs = signs.into_iter().filter(|(holds, _)| *holds).map(|(_, sign)| sign.to_owned());
    let weighed = why.weighed.iter().map(|it| {
        let (whole, rest) = (it.factor / 1000, it.factor % 1000);
        format!("{} x {whole}.{rest:03}", it.signal.name())
    });
    words.into_iter().chain(meaning).chain(model).chain(signs).chain(weighed).collect::<Vec<_>>().join(", ")
}
