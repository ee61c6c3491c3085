//! `agentctl curator`: the queue of background work for models. `agentctl memory show` shows the subject of a memory's job.

use crate::app::{App, Outcome};
use crate::arguments::named;
use crate::failure::Failure;
use crate::{edit, text, view};
use ipc_proto::Text;
use ipc_proto::control::{ControlError, method};
use ipc_proto::curator::{
    AnswerType, CuratorError, Edit, JobInfo, JobState, JobView, LISTED, Listing, PROMPT_BOUND, Priority,
    PromptJob,
};
use ipc_proto::ids::JobId;
use ipc_proto::model::ModelName;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Display;
use std::process::ExitCode;

/// Every state of a job.
const STATES: [JobState; 4] = [JobState::Running, JobState::Waiting, JobState::Dead, JobState::Done];

/// The commands of `curator`.
#[derive(clap::Subcommand)]
pub(crate) enum Curator {
    /// List jobs, and the reasons why they wait
    List {
        /// Only jobs in this state
        #[arg(long, value_parser = named::<JobState>)]
        state: Option<JobState>,
    },
    /// Show one job in full
    Show {
        /// Its id, or the first digits of it
        id: String,
    },
    /// Queue a prompt; `curator show` shows its answer
    Ask {
        /// The prompt
        #[arg(value_parser = words::<PROMPT_BOUND>)]
        prompt: Text<PROMPT_BOUND>,
        /// The type of the answer: response, json or raw
        #[arg(long = "as", value_name = "TYPE", default_value = "response", value_parser = named::<AnswerType>)]
        wants: AnswerType,
        /// The priority: high, normal or low
        #[arg(long, default_value = "normal", value_parser = named::<Priority>)]
        priority: Priority,
        /// The model; the configured one by default
        #[arg(long, value_name = "MODEL", value_parser = words::<128>)]
        model: Option<ModelName>,
    },
    /// Change a job that waits or has failed; without a flag, edit its prompt in your editor
    Edit {
        /// Its id, or the first digits of it
        id: String,
        /// The priority: high, normal or low
        #[arg(long, value_parser = named::<Priority>)]
        priority: Option<Priority>,
        /// The new model
        #[arg(long, value_name = "MODEL", value_parser = words::<128>)]
        model: Option<ModelName>,
        /// The new prompt
        #[arg(long, value_parser = words::<PROMPT_BOUND>)]
        prompt: Option<Text<PROMPT_BOUND>>,
    },
    /// Queue a failed job again
    Requeue {
        /// Its id, or the first digits of it
        id: String,
    },
    /// Remove a job; captured events stay as they are
    Drop {
        /// Its id, or the first digits of it
        id: String,
    },
    /// Pause the queue until `curator resume`, also over restarts
    Pause,
    /// Resume the queue
    Resume,
    /// Cancel running jobs; they wait again
    Abort {
        /// Only this job
        id: Option<String>,
    },
    /// Look for new work now
    Run,
}

/// Parses a text that is not empty.
fn words<const N: usize>(text: &str) -> Result<Text<N>, String> {
    let text = crate::arguments::text::<N>(text).map_err(|long| long.to_string())?;
    if text.trim().is_empty() { Err("it is empty".to_owned()) } else { Ok(text) }
}

/// Runs the command.
pub(crate) async fn run(app: &App, command: Curator) -> Outcome {
    match command {
        Curator::List { state } => list(app, state).await,
        Curator::Show { id } => show(app, &id).await,
        Curator::Ask { prompt, wants, priority, model } => {
            let (id, job) = (JobId::random(), PromptJob { prompt, wants, priority, model });
            let put =
                app.link.ask(&method::curator_ask, async |c, cx| c.curator_ask(cx, id, job.clone()).await);
            changed(app, &put.await?, "put in")
        }
        Curator::Edit { id, priority, model, prompt } => {
            change(app, &id, Edit { prompt, priority, model }).await
        }
        Curator::Requeue { id } => {
            let id = find(app, &id).await?;
            let put = app.link.ask(&method::curator_requeue, async |c, cx| c.curator_requeue(cx, id).await);
            changed(app, &put.await?, "in the queue again")
        }
        Curator::Drop { id } => {
            let id = find(app, &id).await?;
            app.link.ask(&method::curator_drop, async |c, cx| c.curator_drop(cx, id).await).await?;
            Ok(app.out.done(json!({ "id": id.to_string() }), &format!("{id} is taken out"))?)
        }
        Curator::Pause => pause(app, true).await,
        Curator::Resume => pause(app, false).await,
        Curator::Abort { id } => {
            let id = match id {
                Some(id) => Some(find(app, &id).await?),
                None => None,
            };
            let aborted = app.link.ask(&method::curator_abort, async |c, cx| c.curator_abort(cx, id).await);
            count(app, aborted.await?, "aborted", "interrupted")
        }
        Curator::Run => {
            let waiting = app.link.ask(&method::curator_run, async |c, cx| c.curator_run(cx).await);
            count(app, waiting.await?, "waiting", "waiting; curator looks for work now")
        }
    }
}

async fn job(app: &App, id: JobId) -> Result<JobView, Failure> {
    app.link.ask(&method::curator_job, async |c, cx| c.curator_job(cx, id).await).await
}

async fn listing(app: &App, state: Option<JobState>) -> Result<Listing, Failure> {
    app.link.ask(&method::curator_jobs, async |c, cx| c.curator_jobs(cx, state).await).await
}

/// The only job with this prefix of its id.
async fn find(app: &App, id: &str) -> Result<JobId, Failure> {
    if let Ok(id) = id.parse() {
        return Ok(id);
    }
    // All states in one call if they fit: a job that begins between two calls would be in neither list.
    let all = listing(app, None).await?;
    let mut is_whole = all.jobs.len() < LISTED;
    let mut jobs = all.jobs.into_vec();
    if !is_whole {
        is_whole = true;
        for state in STATES {
            let listing = listing(app, Some(state)).await?;
            is_whole &= listing.jobs.len() < LISTED;
            jobs.extend(listing.jobs.into_vec());
        }
    }
    let begins = |job: &&JobInfo| job.id.to_string().starts_with(&id.to_ascii_lowercase());
    let found: BTreeSet<JobId> = jobs.iter().filter(begins).map(|job| job.id).collect();
    match (found.first(), found.len()) {
        (_, 2..) => Err(Failure::Usage(format!("{id}: more than one job begins so"))),
        (Some(id), _) if is_whole => Ok(*id),
        (None, _) if is_whole => Err(ControlError::Curator(CuratorError::NoJob).into()),
        // Jobs beyond the list may have the same prefix.
        _ => Err(Failure::Usage(format!(
            "{id}: there are more jobs than {LISTED} of a state; give the whole id"
        ))),
    }
}

async fn list(app: &App, state: Option<JobState>) -> Outcome {
    let listing = listing(app, state).await?;
    if app.out.json {
        app.out.document(document(&listing))?;
        return Ok(ExitCode::SUCCESS);
    }
    app.out.pairs(&numbers(&listing))?;
    if !listing.jobs.is_empty() {
        let head = ["ID", "STATE", "KIND", "PRIORITY", "MODEL", "TRIES", "DUE", "REASON"];
        let now = text::now_ms();
        app.out.table(&head, listing.jobs.iter().map(|job| row(job, now)).collect())?;
    }
    if listing.jobs.len() == LISTED {
        app.out.line(&format!("at most {LISTED} jobs are listed; --state shows those of one state"))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn numbers(listing: &Listing) -> Vec<(&'static str, String)> {
    let paused = if listing.paused { "everything; to resume: agentctl curator resume" } else { "nothing" };
    let most = match listing.tokens_a_day {
        0 => String::new(),
        most => format!(" of {most}"),
    };
    let mut numbers = vec![
        ("waiting", listing.waiting.to_string()),
        ("running", listing.running.to_string()),
        ("given up", listing.dead.to_string()),
        ("paused", paused.to_owned()),
        ("tokens today", format!("{}{most}", listing.tokens_today)),
    ];
    for held in &listing.held {
        let until = text::utc(held.until_ms);
        numbers.push(("held", format!("{} until {until}: {}", held.resource, held.reason)));
    }
    numbers
}

fn row(job: &JobInfo, now_ms: u64) -> Vec<String> {
    let due = match job.due_ms.checked_sub(now_ms) {
        Some(left) if job.state == JobState::Waiting && left > 0 => format!("in {}", text::span(left)),
        _ => String::new(),
    };
    vec![
        job.id.to_string(),
        view::word(job.state),
        view::word(job.kind),
        view::word(job.priority),
        model(job),
        job.attempts.to_string(),
        due,
        text::begin(&job.reason, 100),
    ]
}

fn model(job: &JobInfo) -> String {
    job.model.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string)
}

fn described(job: &JobInfo) -> Value {
    json!({
        "id": job.id.to_string(),
        "kind": job.kind,
        "state": job.state,
        "priority": job.priority,
        "owner": job.owner.to_string(),
        "area": view::area(&job.area),
        "about": job.about,
        "model": job.model,
        "attempts": job.attempts,
        "created_ms": job.created_ms,
        "due_ms": job.due_ms,
        "reason": job.reason,
    })
}

fn document(listing: &Listing) -> Value {
    let held = listing.held.iter();
    json!({
        "paused": listing.paused,
        "waiting": listing.waiting,
        "running": listing.running,
        "dead": listing.dead,
        "held": held.map(|it| json!({ "resource": it.resource, "until_ms": it.until_ms, "reason": it.reason })).collect::<Vec<_>>(),
        "tokens_today": listing.tokens_today,
        "tokens_a_day": listing.tokens_a_day,
        "jobs": listing.jobs.iter().map(described).collect::<Vec<_>>(),
    })
}

fn whole(job: &JobView) -> Value {
    let mut shown = described(&job.info);
    if let Some(map) = shown.as_object_mut() {
        map.insert("as".to_owned(), json!(job.wants));
        map.insert("prompt".to_owned(), json!(job.prompt));
        map.insert("answer".to_owned(), json!(job.answer));
    }
    shown
}

async fn show(app: &App, id: &str) -> Outcome {
    let job = job(app, find(app, id).await?).await?;
    if app.out.json {
        app.out.document(json!({ "job": whole(&job) }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let info = &job.info;
    let mut facts = vec![
        ("id", info.id.to_string()),
        ("kind", view::word(info.kind)),
        ("state", view::word(info.state)),
        ("priority", view::word(info.priority)),
        ("model", model(info)),
        ("tries", info.attempts.to_string()),
        ("came", text::utc(info.created_ms)),
    ];
    let more = [("about", info.about.to_string()), ("reason", info.reason.to_string())];
    facts.extend(more.into_iter().filter(|(_, value)| !value.is_empty()));
    app.out.pairs(&facts)?;
    for text in [job.prompt.as_str(), job.answer.as_str()].into_iter().filter(|text| !text.is_empty()) {
        app.out.line("")?;
        for line in text.lines() {
            app.out.line(line)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Changes a job; with nothing to change, its prompt is edited.
async fn change(app: &App, id: &str, mut edit: Edit) -> Outcome {
    let id = find(app, id).await?;
    if edit == Edit::default() {
        let job = job(app, id).await?;
        if job.prompt.is_empty() {
            return Err(ControlError::Curator(CuratorError::NotSo).into());
        }
        let draft = edit::edited(&job.prompt)?;
        if draft.text == job.prompt.as_str() {
            return Ok(app.out.done(json!({ "job": whole(&job) }), &format!("{id} is as it was"))?);
        }
        let edited = match Text::new(&draft.text) {
            Ok(prompt) => {
                edit.prompt = Some(prompt);
                write(app, id, &edit).await
            }
            Err(why) => Err(Failure::TooLong { what: "the prompt", why }),
        };
        return draft.settle(edited);
    }
    write(app, id, &edit).await
}

async fn write(app: &App, id: JobId, edit: &Edit) -> Outcome {
    let job = app.link.ask(&method::curator_edit, async |c, cx| c.curator_edit(cx, id, edit.clone()).await);
    changed(app, &job.await?, "changed")
}

fn changed(app: &App, job: &JobView, how: impl Display) -> Outcome {
    Ok(app.out.done(json!({ "job": whole(job) }), &format!("{} is {how}", job.info.id))?)
}

async fn pause(app: &App, paused: bool) -> Outcome {
    app.link.ask(&method::curator_pause, async |c, cx| c.curator_pause(cx, paused).await).await?;
    let sentence = if paused {
        "background work is paused: running jobs go on, no other is begun"
    } else {
        "background work is resumed"
    };
    Ok(app.out.done(json!({ "paused": paused }), sentence)?)
}

fn count(app: &App, count: u32, name: &str, what: &str) -> Outcome {
    Ok(app.out.done(json!({ name: count }), &format!("{count} {what}"))?)
}
