//! `agentctl policy`: the rules for what agents may do, and the reasons of past decisions.
//!
//! Commands that need no host run the gate's own program in its offline mode, so that the same code decides.

use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::{sibling, view};
use ipc_proto::control::method;
use ipc_proto::gate::{POLICY_BOUND, PolicyInfo};
use ipc_proto::ids::CallId;
use ipc_proto::router::{CallVerdict, Released, Why};
use ipc_proto::{Name, Text};
use serde_json::{Map, Value, json};
use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The gate's program.
const PROGRAM: &str = "gate";

/// The commands of `policy`.
#[derive(clap::Subcommand)]
pub(crate) enum Policy {
    /// List the policy files in force
    List,
    /// Add a policy file of your own, or replace it; all files are checked before any is changed
    Set {
        /// Its name
        #[arg(value_parser = crate::arguments::text::<64>)]
        name: Name,
        /// The file
        file: PathBuf,
    },
    /// Remove a policy file of your own
    Remove {
        /// Its name
        #[arg(value_parser = crate::arguments::text::<64>)]
        name: Name,
    },
    /// Check policy files without a host
    Check {
        /// The files
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Show the built-in policies, without a host
    Show {
        /// Show this one in full
        name: Option<String>,
    },
    /// Explain a decision
    Explain {
        /// The id of a call that the host decided; or a call as a JSON object, to be decided here without a host
        call: String,
        /// Policy files besides the built-in ones, for a call that is decided here
        #[arg(long = "policy", value_name = "FILE")]
        policies: Vec<PathBuf>,
    },
    /// Read sessions and calls as JSON lines, and print a verdict for each call, without a host
    Simulate {
        /// A policy file besides the built-in ones; may be given again
        #[arg(long = "policy", value_name = "FILE")]
        policies: Vec<PathBuf>,
    },
}

/// Runs the command.
pub(crate) async fn run(app: &App, command: Policy) -> Outcome {
    match command {
        Policy::List => list(app).await,
        Policy::Set { name, file } => set(app, name, &file).await,
        Policy::Remove { name } => remove(app, name).await,
        Policy::Check { files } => check(app, &files),
        Policy::Show { name } => show(app, name.as_deref()),
        Policy::Explain { call, policies } => explain(app, &call, &policies).await,
        Policy::Simulate { policies } => simulate(app, &policies),
    }
}

/// Lists the files.
async fn list(app: &App) -> Outcome {
    let found = app.link.ask(&method::policies, async |c, cx| c.policies(cx).await).await?;
    if app.out.json {
        let files: Vec<Value> = found.files.iter().map(document).collect();
        app.out.document(json!({ "version": found.version, "policies": files }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let head = ["POLICY FILE", "POLICIES", "WHOSE"];
    app.out.list("policies", &found.files, document, &head, |file| {
        let whose = if file.built_in { "built in" } else { "the owner's" };
        vec![file.name.to_string(), file.policies.to_string(), whose.to_owned()]
    })?;
    app.out.remark(&format!("version {}", found.version));
    Ok(ExitCode::SUCCESS)
}

fn document(file: &PolicyInfo) -> Value {
    json!({ "name": file.name, "built_in": file.built_in, "policies": file.policies, "text": file.text })
}

/// Adds or replaces a file.
async fn set(app: &App, name: Name, file: &Path) -> Outcome {
    let fault = |cause| Failure::File { path: file.to_owned(), cause };
    let most = u64::try_from(POLICY_BOUND).unwrap_or(u64::MAX).saturating_add(1);
    let mut text = String::new();
    std::fs::File::open(file).map_err(fault)?.take(most).read_to_string(&mut text).map_err(fault)?;
    let text: Text<POLICY_BOUND> =
        Text::new(text).map_err(|why| Failure::TooLong { what: "the policy file", why })?;
    let call =
        app.link.ask(&method::set_policy, async |c, cx| c.set_policy(cx, name.clone(), text.clone()).await);
    let version = call.await?;
    let sentence = format!("policy {name} holds; version {version}");
    Ok(app.out.done(json!({ "name": name, "version": version }), &sentence)?)
}

/// Removes a file.
async fn remove(app: &App, name: Name) -> Outcome {
    let call = app.link.ask(&method::remove_policy, async |c, cx| c.remove_policy(cx, name.clone()).await);
    let version = call.await?;
    let sentence = format!("policy {name} is removed; version {version}");
    Ok(app.out.done(json!({ "name": name, "version": version }), &sentence)?)
}

/// Runs the gate's program to check files.
fn check(app: &App, files: &[PathBuf]) -> Outcome {
    let files: Vec<&OsStr> = files.iter().map(|file| file.as_os_str()).collect();
    offline(app, "check", &[], &files)
}

/// Runs the gate's program to show its policies.
fn show(app: &App, name: Option<&str>) -> Outcome {
    offline(app, "show", &[], &name.map(OsStr::new).into_iter().collect::<Vec<_>>())
}

/// Runs the gate's program to simulate, with this process's standard input and output.
fn simulate(app: &App, policies: &[PathBuf]) -> Outcome {
    offline(app, "simulate", policies, &[])
}

/// Explains a call of a host by its id, or a call as JSON.
async fn explain(app: &App, call: &str, policies: &[PathBuf]) -> Outcome {
    if call.trim_start().starts_with('{') {
        return offline(app, "explain", policies, &[OsStr::new(call)]);
    }
    if !policies.is_empty() {
        return Err(Failure::Usage("--policy is for a call as JSON".to_owned()));
    }
    let id: CallId = call.parse().map_err(|_| {
        Failure::Usage("CALL is the id of a call, as `session show` has it, or a JSON object, such as '{\"tool\": \"bash\", \"args\": {\"command\": \"ls\"}}'".to_owned())
    })?;
    let released = app.link.ask(&method::call, async |c, cx| c.call(cx, id).await).await?;
    let fields = released_document(&released);
    let mut facts = vec![
        ("call", released.call.id.to_string()),
        ("tool", released.call.tool.to_string()),
        ("verdict", verdict(&released.verdict).to_owned()),
    ];
    facts.extend(reason(&released.verdict).map(|reason| ("reason", reason)));
    facts.extend(rests_on(&released.why));
    facts.push(("record", released.record.to_string()));
    Ok(app.out.facts(fields, &facts)?)
}

const fn verdict(verdict: &CallVerdict) -> &'static str {
    match verdict {
        CallVerdict::Run => "allow",
        CallVerdict::Refused(_) => "deny",
        CallVerdict::Asking(_) => "ask",
    }
}

fn reason(verdict: &CallVerdict) -> Option<String> {
    match verdict {
        CallVerdict::Run => None,
        CallVerdict::Refused(reason) => Some(reason.to_string()),
        CallVerdict::Asking(id) => Some(format!("waits for approval {id}")),
    }
}

const fn word(vouched: bool) -> &'static str {
    if vouched { "vouched" } else { "untrusted" }
}

/// The grounds of a verdict, as names and values.
fn rests_on(why: &Why) -> Vec<(&'static str, String)> {
    let mut facts: Vec<_> = why.policies.iter().map(|policy| ("policy", policy.to_string())).collect();
    facts.push(("label", view::label(&why.label)));
    facts.extend(why.args.iter().map(|(name, vouched)| ("argument", format!("{name}: {}", word(*vouched)))));
    facts.extend(why.planned.map(|planned| ("planned", if planned { "yes" } else { "no" }.to_owned())));
    facts.push(("taint", format!("{:.3}", f64::from(why.taint) / 1000.0)));
    facts.extend(why.path.as_ref().map(|path| ("path", path.to_string())));
    facts.extend(why.command.as_ref().map(|command| ("command", command.to_string())));
    facts.push(("version", why.version.to_string()));
    facts
}

/// The same as one document, in the form of the offline command.
fn released_document(released: &Released) -> Value {
    let why = &released.why;
    let args: Map<String, Value> =
        why.args.iter().map(|(name, vouched)| (name.to_string(), word(*vouched).into())).collect();
    json!({
        "id": released.call.id.to_string(), "tool": released.call.tool, "verdict": verdict(&released.verdict),
        "reason": reason(&released.verdict), "policies": why.policies, "label": why.label, "args": args,
        "planned": why.planned, "taint": f64::from(why.taint) / 1000.0, "path": why.path,
        "command": why.command, "version": why.version, "record": released.record,
    })
}

/// Runs the gate's program with this process's own input and outputs. Arguments after `--` are never flags there.
fn offline(app: &App, command: &'static str, policies: &[PathBuf], rest: &[&OsStr]) -> Outcome {
    let mut arguments: Vec<&OsStr> = ["--offline", "policy", command].map(OsStr::new).to_vec();
    if app.out.json {
        arguments.push(OsStr::new("--json"));
    }
    for policy in policies {
        arguments.extend([OsStr::new("--policy"), policy.as_os_str()]);
    }
    arguments.push(OsStr::new("--"));
    arguments.extend(rest);
    sibling::stream(PROGRAM, &arguments)
}
