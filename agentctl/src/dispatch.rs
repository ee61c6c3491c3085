//! The table of commands, one line each: the parsed command on the left, its function on the right.

use crate::app::{App, Outcome};
use crate::cli::{Cli, Command};
use crate::commands::{
    acp, agents, alerts, approvals, attest, audit, backup, channel, chat, config, cred, curator, doctor,
    events, hook, inspect, key, logs, mcp, memory, message, model, net, pairing, policy, queue, redteam,
    report, restart, rows, run, sandbox, scan, schedule, session, setup, status, steer, tree, tunnel, user,
    web, workspace,
};
use agents::Agent;
use clap::CommandFactory;
use sandbox::Sandbox;
use session::Session;

/// Runs the command.
pub(crate) async fn run(app: &App, command: Command) -> Outcome {
    match command {
        Command::Status { watch } => status::status(app, watch).await,
        Command::Inspect(arguments) => inspect::inspect(app, arguments).await,
        Command::Attest { all, probe } => attest::attest(app, all, probe).await,
        Command::Redteam(arguments) => redteam::run(app, arguments).await,
        Command::Doctor(arguments) => doctor::doctor(app, arguments).await,
        Command::Setup(arguments) => setup::setup(app, arguments).await,
        Command::Report(arguments) => report::report(app, &arguments).await,
        Command::Manifest { dot } => rows::manifest(app, dot),
        Command::Events(arguments) => events::events(app, &arguments).await,
        Command::Logs(arguments) => logs::logs(app, arguments).await,
        Command::Restart { name } => restart::restart(app, name).await,
        Command::Hold { name } => restart::hold(app, name).await,
        Command::Release { name } => restart::release(app, name).await,
        Command::Shutdown => restart::shutdown(app).await,
        Command::Queue => queue::queue(app).await,
        Command::Pause(which) => queue::pause(app, which, true).await,
        Command::Resume(which) => queue::pause(app, which, false).await,
        Command::Stop(what) => queue::stop(app, what).await,
        Command::Chat(arguments) => chat::chat(app, arguments).await,
        Command::Acp(arguments) => acp::serve(app, arguments).await,
        Command::Steer(arguments) => steer::steer(app, arguments).await,
        Command::Tree(arguments) => tree::tree(app, arguments).await,
        Command::Session(Session::List) => session::list(app).await,
        Command::Session(Session::Show { name }) => session::show(app, name).await,
        Command::Session(Session::End { name }) => session::end(app, name).await,
        Command::Message(command) => message::run(app, command).await,
        Command::User(command) => user::run(app, command).await,
        Command::Channel(command) => channel::run(app, command).await,
        Command::Tunnel(command) => tunnel::run(app, command).await,
        Command::Net(command) => net::run(app, command).await,
        Command::Pairing(command) => pairing::run(app, command).await,
        Command::Agent(Agent::List) => agents::agents(app).await,
        Command::Agent(Agent::Show { name }) => agents::agent(app, name).await,
        Command::Model(command) => model::run(app, command).await,
        Command::Workspace(command) => workspace::run(app, command).await,
        Command::Memory(command) => memory::run(app, command).await,
        Command::Hook(arguments) => hook::hook(app, arguments).await,
        Command::Mcp(arguments) => mcp::mcp(app, arguments).await,
        Command::Schedule(command) => schedule::run(app, command).await,
        Command::Curator(command) => curator::run(app, command).await,
        Command::Policy(command) => policy::run(app, command).await,
        Command::Approvals(command) => approvals::run(app, command).await,
        Command::Alerts(command) => alerts::run(app, command).await,
        Command::Audit(command) => audit::run(app, command).await,
        Command::Backup(command) => backup::run(app, command).await,
        Command::Cred(command) => cred::run(app, command).await,
        Command::Key(command) => key::run(app, command).await,
        Command::Run(arguments) => run::run(app, arguments).await,
        Command::Sandbox(Sandbox::Run(arguments)) => sandbox::run(app, arguments).await,
        Command::Scan(arguments) => scan::scan(&arguments),
        Command::Web(arguments) => web::run(app, arguments).await,
        Command::Config(arguments) => config::run(app, arguments).await,
        Command::Completions { shell } => agents::completions(app, shell, Cli::command()),
    }
}
