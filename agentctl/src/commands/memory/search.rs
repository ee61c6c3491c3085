//! `agentctl memory search`: the memories that match best.

use super::filter::Which;
use super::{Where, say_unread};
use crate::app::{App, Outcome};
use crate::arguments::named;
use crate::failure::Failure;
use crate::{text, view};
use ipc_proto::control::method;
use ipc_proto::memory::{Answered, Filter, Found, Manner, Question, Signal, WORDS, Why, words};
use ipc_proto::{List, Text};
use serde_json::json;
use std::process::ExitCode;

/// Results of one search at most.
const MOST: u16 = 100;

/// The arguments of `memory search`.
#[derive(clap::Args)]
pub(crate) struct Search {
    /// The words: any text, of which the first 2048 bytes count; without words, the newest memories that match
    words: Vec<String>,
    /// Show at most this many
    #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=100))]
    limit: u16,
    /// Skip this many of the best; a hundred can be shown in all
    #[arg(long, value_name = "COUNT", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=99))]
    offset: u16,
    /// The ranking: words, meaning, fused, weighted, plain, or usual, which is by words, and by meaning if there is an
    /// embedder
    #[arg(long, value_name = "MANNER", value_parser = named::<Manner>, default_value = "usual")]
    by: Manner,
    /// Rank repetitions of a better memory behind other memories
    #[arg(long)]
    varied: bool,
    /// Also multiply scores by these: recency, salience, trust, importance
    #[arg(long, value_name = "SIGNAL,...", value_delimiter = ',', value_parser = named::<Signal>)]
    weigh: Vec<Signal>,
    /// Rerank the first results by the model of `[curator]`
    #[arg(long)]
    rerank: bool,
    /// Show for each why it was found
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    place: Where,
}

/// Runs the search.
pub(super) async fn search(app: &App, arguments: Search) -> Outcome {
    let (limit, offset) = (arguments.limit, arguments.offset);
    let typed = arguments.words.join(" ");
    let words = words(typed.trim());
    let clipped = words.len() < typed.trim().len();
    let filter = *arguments.which.filter(app, &arguments.place.area).await?;
    if words.is_empty() && filter == Filter::default() {
        return Err(Failure::Usage("give words, or a filter such as --tag".to_owned()));
    }
    // A factor counts once, even if it is given twice.
    let weigh = List::clip(Signal::ALL.into_iter().filter(|signal| arguments.weigh.contains(signal)));
    let question = Question {
        filter,
        manner: arguments.by,
        varied: arguments.varied,
        reorder: arguments.rerank,
        weigh,
        ..Question::new(words, limit.saturating_add(offset).min(MOST))
    };
    let area = arguments.place.area;
    let question = Box::new(question);
    let answered = app
        .link
        .ask(&method::memory_find, async |c, cx| c.memory_find(cx, area.clone(), question.clone()).await);
    let answered = answered.await?;
    say_unread(app, area).await?;
    let Answered { rows, notes, .. } = *answered;
    let shown: Vec<Found> = rows.into_vec().into_iter().skip(offset.into()).take(limit.into()).collect();
    let clipped = clipped.then(|| format!("the first {WORDS} bytes of the words were looked for"));
    let notes: Vec<&str> = clipped.as_deref().into_iter().chain(notes.iter().map(Text::as_str)).collect();
    show(app, &shown, &notes, arguments.explain)
}

/// Prints the results and the remarks on the search.
fn show(app: &App, found: &[Found], notes: &[&str], explain: bool) -> Outcome {
    for note in notes {
        app.out.remark(note);
    }
    if app.out.json {
        let hits = found.iter().map(|found| if explain { view::found(found) } else { view::hit(&found.hit) });
        app.out.document(json!({ "hits": hits.collect::<Vec<_>>(), "notes": notes }))?;
        return Ok(ExitCode::SUCCESS);
    }
    if found.is_empty() {
        app.out.remark("no hits");
        return Ok(ExitCode::SUCCESS);
    }
    let rows = found.iter().map(|Found { hit, why: reasons }| {
        let (matched, most) =
            if explain { (why(reasons), 80) } else { (view::label(&hit.row.entry.label), 100) };
        let begun = text::begin(&hit.snippet, most);
        vec![hit.row.entry.id.to_string(), hit.score.to_string(), matched, begun]
    });
    let head = ["ID", "SCORE", if explain { "WHY" } else { "LABEL" }, "FOUND"];
    app.out.table(&head, rows.collect())?;
    Ok(ExitCode::SUCCESS)
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
