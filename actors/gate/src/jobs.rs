//! The jobs of agents: what a person reads before they approve one, and the calls to the scheduler. The label that a job is proposed
//! under is the session's; a turn that nobody sits before proposes none.

use crate::state::blocked_on;
use crate::state::context::GateContext;
use crate::turn::context::TurnContext;
use ipc_proto::ids::{CallId, JobId};
use ipc_proto::router::Target;
use ipc_proto::scheduler::{
    JobInfo, JobName, Missed, NewJob, Proposal, ProposedJobs, Proposer, SchedulerClient, SchedulerError,
    When, method,
};
use ipc_proto::tool::ToolCall;
use ipc_proto::{Fault, Method, Name, Text};
use serde_json::{Map, Value};
use std::fmt::Write as _;
use tarpc::client::RpcError;
use tarpc::context::Context;
use toolset::schedule_tools::{ADD_CRON, RUN_AT, SET};

/// The reason for which a job cannot be proposed. The model is told.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unfit {
    /// Nobody sits before the turn.
    #[error(
        "{0}: this is the message of a job, and jobs add no jobs; say in the answer which one you would add"
    )]
    Unattended(Name),
    /// The scheduler refused.
    #[error("{0}: {1}")]
    Refused(Name, SchedulerError),
    /// The scheduler is not there.
    #[error("{0}: the scheduler is held or away; try again later")]
    Away(Name),
    /// The arguments grow over their bound.
    #[error("{0}: the arguments are too long")]
    TooLong(Name),
}

/// Returns true if a tool adds a job.
pub(crate) fn adds(tool: &str) -> bool {
    tool == ADD_CRON || tool == RUN_AT
}

/// Has the scheduler check a call that adds a job, and sets in its arguments what a person is to read, in place of a model's own words on
/// it. A call of another tool is left as it is.
pub(crate) async fn complete(
    gate: &GateContext,
    context: &TurnContext,
    call: &mut ToolCall,
    args: &mut Map<String, Value>,
) -> Result<(), Unfit> {
    if !adds(&call.tool) {
        return Ok(());
    }
    let tool = || call.tool.clone();
    if context.turn.unattended.is_some() {
        return Err(Unfit::Unattended(tool()));
    }
    for name in SET {
        args.remove(name);
    }
    let job = NewJob { to: context.turn.conversation.clone(), ..new_job(args) };
    let by = proposer(context);
    let checked = ask(gate, &method::check_proposed, |scheduler, rpc| {
        let (by, job) = (by.clone(), job.clone());
        async move { scheduler.check_proposed(rpc, by, job).await }
    });
    let proposal = match checked.await {
        Ok(Ok(proposal)) => proposal,
        Ok(Err(error)) => return Err(Unfit::Refused(tool(), error)),
        Err(_) => return Err(Unfit::Away(tool())),
    };
    args.extend(told(&proposal));
    let text = Value::Object(args.clone()).to_string();
    call.args = Text::new(text).map_err(|_| Unfit::TooLong(call.tool.clone()))?;
    Ok(())
}

/// The arguments that a person reads of a job besides those that the model wrote.
fn told(proposal: &Proposal) -> Map<String, Value> {
    let next: Vec<&str> = proposal.next.iter().map(|moment| moment.shown.as_str()).collect();
    let words = format!("{}, {}", proposal.words, proposal.zone);
    let answers = proposal.to.as_ref().map(|to| Value::from(to.to_string()));
    let told = [
        ("zone", Some(Value::from(proposal.zone.as_str()))),
        ("schedule", Some(words.into())),
        ("next", Some(next.join("; ").into())),
        ("answers", answers),
    ];
    told.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// The job that the arguments of a call say.
fn new_job(args: &Map<String, Value>) -> NewJob {
    let text = |name: &str| args.get(name).and_then(Value::as_str);
    let when = match (text("cron"), text("at")) {
        (Some(cron), _) => When::Cron(Text::clip(cron)),
        (None, at) => When::At(Text::clip(at.unwrap_or_default())),
    };
    let to = text("answers").and_then(|to| to.split_once(':'));
    NewJob {
        name: text("name").map(Name::clip),
        when,
        zone: text("zone").map(Text::clip),
        prompt: Text::clip(text("prompt").unwrap_or_default()),
        agent: None,
        session: None,
        to: to.map(|(account, id)| Target { account: Name::clip(account), id: Text::clip(id) }),
        missed: Missed::default(),
        asks: false,
        tokens: None,
    }
}

fn proposer(context: &TurnContext) -> Proposer {
    let turn = &context.turn;
    Proposer {
        user: turn.user,
        user_name: turn.user_name.clone(),
        agent: turn.agent.clone(),
        class: context.session.label.class,
    }
}

/// Adds the job of an approved call, and says so. Its id is the call's, so the same call twice is one job.
pub(crate) async fn add(
    gate: &GateContext,
    context: &TurnContext,
    call: CallId,
    args: &Map<String, Value>,
) -> Result<Result<String, SchedulerError>, Fault> {
    let (by, id, job) = (proposer(context), JobId::from_bytes(call.bytes()), new_job(args));
    let added = ask(gate, &method::add_proposed, |scheduler, rpc| {
        let (by, job) = (by.clone(), job.clone());
        async move { scheduler.add_proposed(rpc, by, id, job).await }
    });
    Ok(added.await?.map(|view| {
        let next = view.info.next.as_ref().map_or("never", |next| next.shown.as_str());
        format!("the job {} is added; its message is sent to you first on {next}", view.info.name)
    }))
}

/// Removes a job that this agent added.
pub(crate) async fn remove(
    gate: &GateContext,
    context: &TurnContext,
    job: &str,
) -> Result<Result<JobInfo, SchedulerError>, Fault> {
    let (by, job): (_, JobName) = (proposer(context), Text::clip(job));
    ask(gate, &method::remove_proposed, |scheduler, rpc| {
        let (by, job) = (by.clone(), job.clone());
        async move { scheduler.remove_proposed(rpc, by, job).await }
    })
    .await
}

/// The jobs that this agent added.
pub(crate) async fn list(
    gate: &GateContext,
    context: &TurnContext,
) -> Result<Result<ProposedJobs, SchedulerError>, Fault> {
    let by = proposer(context);
    ask(gate, &method::proposed, |scheduler, rpc| {
        let by = by.clone();
        async move { scheduler.proposed(rpc, by).await }
    })
    .await
}

/// Jobs as the model reads them.
pub(crate) fn listed(jobs: &ProposedJobs) -> String {
    let mut out = String::new();
    for (job, prompt) in jobs.jobs.iter() {
        let when = match &job.when {
            When::Cron(cron) => format!("cron {cron}"),
            When::At(time) => format!("at {time}"),
            When::Every(seconds) => format!("every {seconds} s"),
        };
        let next = job.next.as_ref().map_or("none", |next| next.shown.as_str());
        let _ = writeln!(out, "{}: {when}, {}; next: {next}; message: {prompt}", job.name, job.zone);
    }
    if out.is_empty() { "there are none".to_owned() } else { out }
}

async fn ask<R, F, Fut>(
    gate: &GateContext,
    method: &Method,
    ask: F,
) -> Result<Result<R, SchedulerError>, Fault>
where
    F: Fn(SchedulerClient, Context) -> Fut,
    Fut: Future<Output = Result<Result<R, SchedulerError>, RpcError>>,
{
    blocked_on::during("scheduler", gate.scheduler.call(method, ask)).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::scheduler::{EXPRESSION, Moment, PROPOSED};
    use ipc_proto::{List, Text};
    use toolset::schedule_tools::{MAX_NAME, MAX_PROMPT, MAX_TIME};

    // Holds P12-46.
    #[test]
    fn the_job_that_is_added_is_the_one_that_was_shown() {
        let proposal = Proposal {
            words: Text::clip("at 08:00"),
            zone: Text::clip("Europe/Berlin"),
            next: List::clip([
                Moment { ms: 1, shown: Text::clip("Tue") },
                Moment { ms: 2, shown: Text::clip("Wed") },
            ]),
            session: Text::clip("job:a"),
            to: Some(Target { account: Name::clip("main"), id: Text::clip("user:7") }),
        };
        let args = serde_json::json!({"cron": "0 8 * * *", "prompt": "hello", "name": "a"});
        let mut args = args.as_object().cloned().unwrap_or_default();
        args.extend(told(&proposal));
        assert_eq!(args["schedule"], "at 08:00, Europe/Berlin");
        assert_eq!(args["next"], "Tue; Wed");
        let job = new_job(&args);
        assert_eq!((job.to, job.zone, job.asks), (proposal.to, Some(proposal.zone), false));
        assert_eq!(job.when, When::Cron(Text::clip("0 8 * * *")));
    }

    #[test]
    fn the_tools_bounds_are_those_of_the_interface() {
        assert_eq!([MAX_PROMPT, MAX_TIME, MAX_NAME], [PROPOSED, EXPRESSION, 64]);
    }
}
