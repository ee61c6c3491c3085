//! `agentctl schedule`: jobs, whose messages the host sends to an agent at their times.

use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::{text, view};
use ipc_proto::control::method;
use ipc_proto::ids::JobId;
use ipc_proto::router::{SessionName, Target};
use ipc_proto::scheduler::{Change, EXPRESSION, FireInfo, JobInfo, JobName, JobView, Missed, NewJob, When};
use ipc_proto::{Name, Text};
use serde_json::{Value, json};

/// The commands of `schedule`.
#[derive(clap::Subcommand)]
pub(crate) enum Schedule {
    /// Add a job by a cron expression: minute, hour, day, month, weekday
    Add {
        /// The expression, such as "30 8 * * 1-5"
        #[arg(value_parser = crate::arguments::text::<EXPRESSION>)]
        cron: Text<EXPRESSION>,
        #[command(flatten)]
        terms: Terms,
    },
    /// Add a job that sends its message once
    At {
        /// The time, such as 2026-12-01T08:00 in the job's zone, or 2026-12-01T08:00Z
        #[arg(value_parser = crate::arguments::text::<EXPRESSION>)]
        time: Text<EXPRESSION>,
        #[command(flatten)]
        terms: Terms,
    },
    /// Add a job that sends its message again and again
    Every {
        /// The interval: a number and s, m, h, d or w, such as 30m; at least 60s
        #[arg(value_parser = text::seconds)]
        interval: u64,
        #[command(flatten)]
        terms: Terms,
    },
    /// List jobs: yours, or for the owner everyone's
    List,
    /// Show a job with its message and its next times
    Show {
        #[command(flatten)]
        job: Job,
    },
    /// Send a job's message now, besides its times
    Run {
        #[command(flatten)]
        job: Job,
    },
    /// Pause a job
    Pause {
        #[command(flatten)]
        job: Job,
    },
    /// Resume a job; its failures are forgotten
    Resume {
        #[command(flatten)]
        job: Job,
    },
    /// Remove a job and its history
    Remove {
        #[command(flatten)]
        job: Job,
    },
    /// Show what became of the times of a job, or of all jobs, for 90 days
    History {
        /// The job's name or id
        #[arg(value_parser = crate::arguments::text::<64>)]
        job: Option<JobName>,
    },
}

/// A job.
#[derive(clap::Args)]
pub(crate) struct Job {
    /// The job's name or id
    #[arg(value_parser = crate::arguments::text::<64>)]
    job: JobName,
}

/// The terms of a new job.
#[derive(clap::Args)]
pub(crate) struct Terms {
    /// The message: what the agent is to do
    #[arg(value_name = "TEXT", required = true)]
    words: Vec<String>,
    /// The time zone, such as Europe/Berlin; the host's by default
    #[arg(long, value_name = "ZONE", value_parser = crate::arguments::text::<64>)]
    zone: Option<Text<64>>,
    /// The job's name; job-1 and so on by default
    #[arg(long, value_parser = crate::arguments::text::<64>)]
    name: Option<Name>,
    /// The agent
    #[arg(long, value_parser = crate::arguments::text::<64>)]
    agent: Option<Name>,
    /// The session that the messages go to; one of the job's own by default
    #[arg(long, value_name = "NAME", value_parser = crate::arguments::text::<128>)]
    session: Option<SessionName>,
    /// Where answers and failures are sent: a channel and the id of a group or a person there; none by default, so that answers stay in
    /// the session; session:NAME is the same as --session NAME
    #[arg(long, value_name = "CHANNEL:ID", value_parser = destination, default_value = "none")]
    to: Destination,
    /// The times to make up for, of those that were missed
    #[arg(long, value_enum, default_value_t = Missing::Once)]
    missed: Missing,
    /// The fate of a call that a person would be asked about
    #[arg(long, value_enum, default_value_t = Ask::Refuse)]
    ask: Ask,
    /// The most tokens of one message's turn; [scheduler] tokens_per_fire by default
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1000..=10_000_000))]
    tokens: Option<u32>,
}

/// The place of answers.
#[derive(Clone)]
enum Destination {
    /// The session of the job.
    Nowhere,
    /// This session, which the messages go to.
    Session(SessionName),
    /// A conversation.
    Channel(Target),
}

/// The times to make up for.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Missing {
    /// Nothing
    Skip,
    /// The last is made up for
    Once,
    /// The last 24 are made up for
    All,
}

/// The fate of a call that a person would be asked about.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Ask {
    /// It is refused, and the agent is told
    Refuse,
    /// It waits for your answer, for a day at most
    Wait,
}

fn destination(given: &str) -> Result<Destination, String> {
    match given.strip_prefix("session:") {
        Some(name) => Text::new(name).map(Destination::Session).map_err(|why| why.to_string()),
        None if given == "none" => Ok(Destination::Nowhere),
        None => target(given).map(Destination::Channel),
    }
}

/// A conversation of a channel.
fn target(given: &str) -> Result<Target, String> {
    let wrong = || "the name of a channel, a colon, and the id of a group or person there".to_owned();
    let (account, id) = given
        .split_once(':')
        .filter(|(account, id)| !account.is_empty() && !id.is_empty())
        .ok_or_else(wrong)?;
    let account = Name::new(account.to_owned()).map_err(|_| wrong())?;
    Ok(Target { account, id: Text::new(id.to_owned()).map_err(|_| wrong())? })
}

/// Runs the command.
pub(crate) async fn run(app: &App, command: Schedule) -> Outcome {
    match command {
        Schedule::Add { cron, terms } => add(app, When::Cron(cron), terms).await,
        Schedule::At { time, terms } => add(app, When::At(time), terms).await,
        Schedule::Every { interval, terms } => {
            let seconds = u32::try_from(interval).unwrap_or(u32::MAX);
            add(app, When::Every(seconds), terms).await
        }
        Schedule::List => list(app).await,
        Schedule::Show { job } => show(app, job.job).await,
        Schedule::Run { job } => {
            change(app, job.job, Change::Run(text::now_ms()), "sends its message now").await
        }
        Schedule::Pause { job } => change(app, job.job, Change::Pause, "is paused").await,
        Schedule::Resume { job } => change(app, job.job, Change::Resume, "is resumed").await,
        Schedule::Remove { job } => change(app, job.job, Change::Remove, "is removed").await,
        Schedule::History { job } => history(app, job).await,
    }
}

async fn add(app: &App, when: When, terms: Terms) -> Outcome {
    let Terms { words, zone, name, agent, session, to, missed, ask, tokens } = terms;
    let prompt = Text::new(words.join(" ")).map_err(|why| Failure::TooLong { what: "TEXT", why })?;
    let missed = match missed {
        Missing::Skip => Missed::Skip,
        Missing::Once => Missed::Once,
        Missing::All => Missed::All,
    };
    let asks = ask == Ask::Wait;
    let (session, to) = match to {
        Destination::Nowhere => (session, None),
        Destination::Channel(target) => (session, Some(target)),
        Destination::Session(name) if session.as_ref().is_some_and(|other| *other != name) => {
            return Err(Failure::Usage("--session and --to name two sessions; give one of them".to_owned()));
        }
        Destination::Session(name) => (Some(name), None),
    };
    let job = NewJob { name, when, zone, prompt, agent, session, to, missed, asks, tokens };
    let id = JobId::random();
    let add = async |c: ipc_proto::control::ControlClient, cx| c.schedule_add(cx, id, job.clone()).await;
    let added = app.link.ask(&method::schedule_add, add).await?;
    let next = added.info.next.as_ref().map_or("never", |next| next.shown.as_str());
    let sentence = format!("job {} is added; it sends its message first on {next}", added.info.name);
    Ok(app.out.done(json!({ "job": full(&added) }), &sentence)?)
}

async fn list(app: &App) -> Outcome {
    let jobs = app.link.ask(&method::schedule_list, async |c, cx| c.schedule_list(cx).await).await?;
    let head = ["JOB", "USER", "WHEN", "STATE", "NEXT", "LAST"];
    Ok(app.out.list("jobs", &jobs, listed, &head, |job| {
        vec![
            text::exact(&job.name),
            text::exact(&job.user),
            when(&job.when),
            view::word(job.state),
            job.next.as_ref().map_or_else(|| "-".to_owned(), |next| next.shown.to_string()),
            last(job),
        ]
    })?)
}

async fn show(app: &App, job: JobName) -> Outcome {
    let show = async |c: ipc_proto::control::ControlClient, cx| c.schedule_show(cx, job.clone()).await;
    let view = app.link.ask(&method::schedule_show, show).await?;
    let info = &view.info;
    let or = |text: Option<String>, none: &str| text.unwrap_or_else(|| none.to_owned());
    let facts = [
        ("job", format!("{} ({})", info.name, info.id)),
        ("user", info.user.to_string()),
        ("when", format!("{}, {}", when(&info.when), info.zone)),
        ("state", format!("{}{}", view::word(info.state), because(&info.why))),
        ("next", view.next.iter().map(|next| next.shown.to_string()).collect::<Vec<_>>().join(", ")),
        ("last", last(info)),
        ("agent", or(view.agent.as_ref().map(ToString::to_string), "the default")),
        ("session", view.session.to_string()),
        ("answers go to", or(view.to.as_ref().map(ToString::to_string), "the session alone")),
        ("missed times", view::word(view.missed)),
        ("questions", if view.asks { "wait for an answer" } else { "are refused" }.to_owned()),
        ("tokens", view.tokens.to_string()),
        ("written by", if view.proposed { "the agent, and approved" } else { "a person" }.to_owned()),
        ("message", text::shown(&view.prompt)),
    ];
    Ok(app.out.facts(json!({ "job": full(&view) }), &facts)?)
}

async fn change(app: &App, job: JobName, change: Change, done: &str) -> Outcome {
    let ask =
        async |c: ipc_proto::control::ControlClient, cx| c.schedule_change(cx, job.clone(), change).await;
    let info = app.link.ask(&method::schedule_change, ask).await?;
    Ok(app.out.done(json!({ "job": listed(&info) }), &format!("job {} {done}", info.name))?)
}

async fn history(app: &App, job: Option<JobName>) -> Outcome {
    let ask = async |c: ipc_proto::control::ControlClient, cx| c.schedule_history(cx, job.clone()).await;
    let fires = app.link.ask(&method::schedule_history, ask).await?;
    let head = ["JOB", "DUE", "STATE", "MESSAGE", "REASON"];
    Ok(app.out.list("fires", &fires, fired, &head, |fire| {
        vec![
            text::exact(&fire.name),
            text::utc(fire.due_ms),
            view::word(fire.state),
            fire.message.map_or_else(|| "-".to_owned(), |id| id.to_string()),
            text::exact(&fire.reason),
        ]
    })?)
}

fn when(when: &When) -> String {
    match when {
        When::Cron(cron) => text::exact(cron),
        When::At(time) => format!("at {}", text::exact(time)),
        When::Every(seconds) => format!("every {}", text::span(u64::from(*seconds) * 1000)),
    }
}

fn last(job: &JobInfo) -> String {
    job.last.map_or_else(|| "-".to_owned(), |(due, state)| format!("{} {}", text::utc(due), state.name()))
}

fn because(why: &str) -> String {
    if why.is_empty() { String::new() } else { format!(": {}", text::exact(why)) }
}

fn listed(job: &JobInfo) -> Value {
    json!({
        "id": job.id.to_string(),
        "name": job.name,
        "user": job.user,
        "when": job.when,
        "zone": job.zone,
        "state": job.state,
        "why": job.why,
        "next": job.next,
        "last_ms": job.last.map(|(due, _)| due),
        "last": job.last.map(|(_, state)| state),
        "failures": job.failures,
    })
}

fn full(view: &JobView) -> Value {
    let mut document = listed(&view.info);
    let more = json!({
        "message": view.prompt,
        "agent": view.agent,
        "session": view.session,
        "to": view.to.as_ref().map(ToString::to_string),
        "missed": view.missed,
        "asks": view.asks,
        "proposed": view.proposed,
        "tokens": view.tokens,
        "created_ms": view.created_ms,
        "times": view.next,
    });
    if let (Some(fields), Value::Object(more)) = (document.as_object_mut(), more) {
        fields.extend(more);
    }
    document
}

fn fired(fire: &FireInfo) -> Value {
    json!({
        "job": fire.job.to_string(),
        "name": fire.name,
        "due_ms": fire.due_ms,
        "at_ms": fire.at_ms,
        "state": fire.state,
        "message": fire.message.map(|id| id.to_string()),
        "reason": fire.reason,
    })
}
