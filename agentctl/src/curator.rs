//! `agentctl curator`: the queue of background model work. What a job of memory's is about, `agentctl memory show` shows.

use crate::app::{App, Outcome};
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
    /// List jobs, and what holds them
    List {
        /// Only jobs in this state
        #[arg(long, value_parser = said::<JobState>)]
        state: Option<JobState>,
    },
    /// Show one job whole
    Show {
        /// Its id, or the beginning of it
        id: String,
    },
    /// Put a prompt into the queue; its answer is shown by `curator show`
    Ask {
        /// The prompt
        #[arg(value_parser = words::<PROMPT_BOUND>)]
        prompt: Text<PROMPT_BOUND>,
        /// What the answer is to be: response, json or raw
        #[arg(long = "as", value_name = "TYPE", default_value = "response", value_parser = said::<AnswerType>)]
        wants: AnswerType,
        /// high, normal or low
        #[arg(long, default_value = "normal", value_parser = said::<Priority>)]
        priority: Priority,
        /// The model; the configured one without it
        #[arg(long, value_name = "MODEL", value_parser = words::<128>)]
        model: Option<ModelName>,
    },
    /// Change a job that waits or was given up: with no flag, the words of a prompt in your editor
    Edit {
        /// Its id, or the beginning of it
        id: String,
        /// high, normal or low
        #[arg(long, value_parser = said::<Priority>)]
        priority: Option<Priority>,
        /// Another model
        #[arg(long, value_name = "MODEL", value_parser = words::<128>)]
        model: Option<ModelName>,
        /// Other words
        #[arg(long, value_parser = words::<PROMPT_BOUND>)]
        prompt: Option<Text<PROMPT_BOUND>>,
    },
    /// Put a job that was given up into the queue again
    Requeue {
        /// Its id, or the beginning of it
        id: String,
    },
    /// Take a job out; what was captured stays as it is
    Drop {
        /// Its id, or the beginning of it
        id: String,
    },
    /// Begin nothing, until `curator resume`; this outlives restarts
    Pause,
    /// Begin again
    Resume,
    /// Break off what is under way; it waits again
    Abort {
        /// Only this job
        id: Option<String>,
    },
    /// Look for work now
    Run,
}

/// A word of the interface.
fn said<T: serde::de::DeserializeOwned>(word: &str) -> Result<T, String> {
    serde_json::from_value(Value::String(word.to_owned())).map_err(|error| error.to_string())
}

/// A text that says something.
fn words<const N: usize>(text: &str) -> Result<Text<N>, String> {
    let text = crate::cli::text::<N>(text).map_err(|long| long.to_string())?;
    if text.trim().is_empty() { Err("it is empty".to_owned()) } else { Ok(text) }
}

/// Does what was asked of the queue.
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

/// The one job whose id begins so.
async fn find(app: &App, id: &str) -> Result<JobId, Failure> {
    if let Ok(id) = id.parse() {
        return Ok(id);
    }
    // All at once where they fit: of state after state, a job that is begun meanwhile is in none.
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
        // Others may begin so that were not looked at.
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
    let paused =
        if listing.paused { "everything; to let it go on: agentctl curator resume" } else { "nothing" };
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
    for said in [job.prompt.as_str(), job.answer.as_str()].into_iter().filter(|said| !said.is_empty()) {
        app.out.line("")?;
        for line in said.lines() {
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
        let came = match Text::new(&draft.text) {
            Ok(prompt) => {
                edit.prompt = Some(prompt);
                write(app, id, &edit).await
            }
            Err(why) => Err(Failure::TooLong { what: "the prompt", why }),
        };
        return draft.settle(came);
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
        "background work is paused: what is under way goes on, nothing is begun"
    } else {
        "background work goes on"
    };
    Ok(app.out.done(json!({ "paused": paused }), sentence)?)
}

fn count(app: &App, count: u32, name: &str, what: &str) -> Outcome {
    Ok(app.out.done(json!({ name: count }), &format!("{count} {what}"))?)
}
