//! `agentctl memory search`: what fits the words best.

use super::filter::Which;
use super::{Where, ask, named};
use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::{text, view};
use ipc_proto::Text;
use ipc_proto::memory::{Ask, Manner, Question, Said, Why};

/// The arguments of `memory search`.
#[derive(clap::Args)]
pub(crate) struct Search {
    /// The words
    #[arg(required = true)]
    words: Vec<String>,
    /// At most so many
    #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=100))]
    limit: u16,
    /// By what memories are ranked: words, meaning, fused, weighted or plain
    #[arg(long, value_name = "MANNER", value_parser = named::<Manner>, default_value = "words")]
    by: Manner,
    /// Put what repeats a better one behind what says something else
    #[arg(long)]
    varied: bool,
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
    let question = Question {
        filter: *arguments.which.filter()?,
        manner: arguments.by,
        varied: arguments.varied,
        ..Question::new(words, arguments.limit)
    };
    let found = ask(app, arguments.place.area, Ask::Find(Box::new(question)), Said::found).await?;
    if arguments.explain {
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
