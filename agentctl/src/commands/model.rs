//! `agentctl model`: models, a test call of one, their use and their budgets.

use crate::app::{App, Outcome};
use crate::text::{self, seconds, usd};
use crate::view;
use ipc_proto::control::method;
use ipc_proto::model::{BudgetInfo, GroupBy, ModelInfo, ModelName, Per, UsageRow};
use serde_json::{Value, json};

/// The commands of `model`.
#[derive(clap::Subcommand)]
pub(crate) enum Model {
    /// List models, and the tasks that name some
    List,
    /// Ask a model one short question, which may cost money
    Test {
        /// The model, or a task
        #[arg(value_parser = crate::arguments::text::<128>)]
        model: ModelName,
    },
    /// Show use and costs
    Usage(Usage),
    /// Show every budget and its use
    Budget,
}

/// The arguments of `model usage`.
#[derive(clap::Args)]
pub(crate) struct Usage {
    /// Sum by model, day, agent, session, key or user
    #[arg(long, value_name = "WHAT", default_value = "model", value_parser = group)]
    by: GroupBy,
    /// The period, from its first full hour: a number and s, m, h, d or w, such as 7d
    #[arg(long, value_name = "SPAN", default_value = "30d", value_parser = seconds)]
    since: u64,
}

fn group(word: &str) -> Result<GroupBy, String> {
    let known = serde_json::from_value(Value::String(word.to_owned()));
    known.map_err(|_| "one of model, day, agent, session, key, user".to_owned())
}

/// Runs the command.
pub(crate) async fn run(app: &App, command: Model) -> Outcome {
    match command {
        Model::List => list(app).await,
        Model::Test { model } => test(app, model).await,
        Model::Usage(arguments) => usage(app, &arguments).await,
        Model::Budget => budget(app).await,
    }
}

async fn list(app: &App) -> Outcome {
    let found = app.link.ask(&method::models, async |c, cx| c.models(cx).await).await?;
    let head = ["MODEL", "TAKES IN", "GIVES OUT", "TOOLS", "IMAGES", "A MILLION IN AND OUT"];
    let word = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    Ok(app.out.list("models", &found, view::model, &head, |model| {
        let output = if model.embeds { "vectors".to_owned() } else { model.output.to_string() };
        vec![
            model.name.to_string(),
            model.context.to_string(),
            output,
            word(model.tools),
            word(model.vision),
            price(model),
        ]
    })?)
}

fn price(model: &ModelInfo) -> String {
    match (model.priced, model.input_micros, model.output_micros) {
        (false, ..) => "not known".to_owned(),
        (true, 0, 0) => "free".to_owned(),
        (true, input, output) => format!("{}, {}", usd(input), usd(output)),
    }
}

async fn test(app: &App, model: ModelName) -> Outcome {
    let tried =
        app.link.ask(&method::model_test, async |c, cx| c.model_test(cx, model.clone()).await).await?;
    let (read, written) = tried.tokens;
    let document = json!({
        "model": model, "first_ms": tried.first_ms, "whole_ms": tried.whole_ms,
        "tokens": { "input": read, "output": written }, "cost_micros": tried.cost_micros,
    });
    let facts = [
        ("model", model.to_string()),
        ("first piece", format!("{} ms", tried.first_ms)),
        ("whole answer", format!("{} ms", tried.whole_ms)),
        ("tokens", format!("{read} read, {written} written")),
        ("cost", usd(tried.cost_micros)),
    ];
    Ok(app.out.facts(document, &facts)?)
}

async fn usage(app: &App, arguments: &Usage) -> Outcome {
    let since_ms = text::now_ms().saturating_sub(arguments.since.saturating_mul(1000));
    let ask =
        app.link.ask(&method::model_usage, async |c, cx| c.model_usage(cx, arguments.by, since_ms).await);
    let rows = ask.await?;
    if app.out.json {
        let total: u64 = rows.iter().map(|row| row.cost_micros).sum();
        return Ok(app.out.done(
            json!({ "by": arguments.by, "since_ms": since_ms, "usage": &rows[..], "cost_micros": total }),
            "",
        )?);
    }
    let first = json!(arguments.by).as_str().unwrap_or_default().to_uppercase();
    let head = [
        first.as_str(),
        "ANSWERS",
        "READ",
        "OF IT CACHED",
        "WRITTEN",
        "COST",
        "ESTIMATED",
        "NOT BELIEVED",
        "CLAIMED",
    ];
    Ok(app.out.list("usage", &rows, |row| json!(row), &head, cells)?)
}

fn cells(row: &UsageRow) -> Vec<String> {
    vec![
        row.group.to_string(),
        row.answers.to_string(),
        row.input.to_string(),
        row.cache_read.to_string(),
        row.output.to_string(),
        usd(row.cost_micros),
        row.estimated.to_string(),
        row.disbelieved.to_string(),
        usd(row.claimed_micros),
    ]
}

async fn budget(app: &App) -> Outcome {
    let rows = app.link.ask(&method::model_budgets, async |c, cx| c.model_budgets(cx).await).await?;
    let head = ["BUDGET", "WHOSE", "SPENT", "SET ASIDE", "RESETS", "AT THE BOUND"];
    Ok(app.out.list(
        "budgets",
        &rows,
        |row| {
            let mut shown = json!(row);
            if let Some(fields) = shown.as_object_mut() {
                fields.insert("used_up".to_owned(), json!(is_used_up(row)));
            }
            shown
        },
        &head,
        |row| {
            vec![
                row.per.to_string(),
                row.whose.to_string(),
                format!("{} of {}", usd(row.spent_micros), usd(row.limit_micros)),
                usd(row.reserved_micros),
                resets(row.per).to_owned(),
                at_limit(row),
            ]
        },
    )?)
}

/// Returns true if its spending and reservations have reached the bound.
const fn is_used_up(row: &BudgetInfo) -> bool {
    row.spent_micros.saturating_add(row.reserved_micros) >= row.limit_micros
}

/// When a budget begins anew.
const fn resets(per: Per) -> &'static str {
    match per {
        Per::Day | Per::Agent | Per::Key => "00:00 UTC",
        Per::Month => "00:00 UTC on the 1st",
        Per::Session => "never",
    }
}

/// The effect of the budget's bound, and if it is reached.
fn at_limit(row: &BudgetInfo) -> String {
    if is_used_up(row) { format!("{}, and it is used up", row.at_limit) } else { row.at_limit.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_summed_by_is_one_of_six_words() {
        for word in ["model", "day", "agent", "session", "key", "user"] {
            assert_eq!(json!(group(word).unwrap()), word);
        }
        assert!(group("Model").is_err() && group("").is_err());
    }

    #[test]
    fn an_unknown_price_is_not_shown_as_free() {
        let model = |priced, input_micros, output_micros| ModelInfo {
            name: ModelName::clip("a/b"),
            context: 1,
            output: 1,
            tools: false,
            vision: false,
            embeds: false,
            priced,
            input_micros,
            output_micros,
        };
        assert_eq!(price(&model(false, 0, 0)), "not known");
        assert_eq!(price(&model(true, 0, 0)), "free");
        assert_eq!(price(&model(true, 3_000_000, 150_000)), "$3.00, $0.15");
    }
}
