//! The grammar of the command line. The commands themselves are in [`crate::commands`].

use crate::arguments::text;
use crate::commands::{
    acp, agents, alerts, approvals, audit, backup, channel, chat, config, cred, curator, doctor, events,
    hook, inspect, key, logs, mcp, memory, message, model, net, pairing, policy, queue, redteam, report, run,
    sandbox, scan, schedule, session, setup, steer, tree, tunnel, user, web, workspace,
};
use crate::failure::USAGE;
use crate::out::Out;
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use ipc_proto::Name;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// Shows and steers a Cordon host, and talks to its agents.
#[derive(Parser)]
#[command(name = "agentctl", version, about, disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// The host's control socket
    #[arg(long, global = true, env = "CORDON_SOCKET", value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    /// Print JSON: one document, or one line per event for a command that follows
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// The command
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Show the host and every process
    Status {
        /// Show it again every 2 seconds
        #[arg(long, short)]
        watch: bool,
    },
    /// Show one process, agentd too: its calls, its actors, its ends, its latest log lines
    Inspect(inspect::Inspect),
    /// Compare the kernel's facts of every process with the table
    Attest {
        /// Show every property, not only those that differ or cannot be read
        #[arg(long)]
        all: bool,
        /// Also try every jail from inside
        #[arg(long)]
        probe: bool,
    },
    /// Check this machine and the installation, with or without a running host
    Doctor(doctor::Doctor),
    /// Set up a provider: its configuration, its key, and a first call
    Setup(setup::Setup),
    /// Write a redacted report for a bug report
    Report(report::Report),
    /// Try every jail from inside: attempts that must be refused
    Redteam(redteam::Redteam),
    /// Show the table of privileges
    Manifest {
        /// Print it as a Graphviz graph
        #[arg(long)]
        dot: bool,
    },
    /// Show events: named events, starts and stops of processes, and refused attempts
    Events(events::Events),
    /// Show the logs of processes
    Logs(logs::Logs),
    /// Restart a process with the program that is installed now
    Restart {
        /// The process
        #[arg(value_parser = text::<64>)]
        name: Name,
    },
    /// Stop a process and keep it stopped
    Hold {
        /// The process
        #[arg(value_parser = text::<64>)]
        name: Name,
    },
    /// Start a held process
    Release {
        /// The process
        #[arg(value_parser = text::<64>)]
        name: Name,
    },
    /// Stop the host
    Shutdown,
    /// Show the numbers of waiting messages and running turns
    Queue,
    /// Pause the queue: messages wait, turns that have begun go on
    Pause(queue::Which),
    /// Resume the queue
    Resume(queue::Which),
    /// End turns at once, with the messages that wait behind them
    Stop(queue::Stop),
    /// Talk to an agent
    Chat(chat::Chat),
    /// Serve agents to an editor by the Agent Client Protocol, over standard input and output
    Acp(acp::Acp),
    /// Send a message into a running turn
    Steer(steer::Steer),
    /// Show a turn and those that work on its tasks
    Tree(tree::Tree),
    /// Run a coding agent, or any program that calls models, in a jail that has the model API and no key
    Run(run::Run),
    /// List, show and end conversations
    #[command(subcommand)]
    Session(session::Session),
    /// Messages and their states
    #[command(subcommand)]
    Message(message::Message),
    /// Users of the host
    #[command(subcommand)]
    User(user::User),
    /// Channels: accounts of messengers by which people reach the host
    #[command(subcommand)]
    Channel(channel::Channel),
    /// The way in for hooks from outside: a tunnel of a vendor's, or an address of your own
    #[command(subcommand)]
    Tunnel(tunnel::Tunnel),
    /// People who asked by a messenger to be admitted
    #[command(subcommand)]
    Pairing(pairing::Pairing),
    /// The requests that programs in jails sent out
    #[command(subcommand)]
    Net(net::Net),
    /// List and show agents
    #[command(subcommand)]
    Agent(agents::Agent),
    /// Models, their use and their budgets
    #[command(subcommand)]
    Model(model::Model),
    /// Workspaces of sessions
    #[command(subcommand)]
    Workspace(workspace::Workspace),
    /// Memories that the host keeps for you
    #[command(subcommand)]
    Memory(memory::Memory),
    /// Capture a coding agent's hook event from standard input, and print the memories that fit
    Hook(hook::Hook),
    /// Servers of the Model Context Protocol for agents; without a verb, serve memory to a client of the protocol
    Mcp(mcp::Mcp),
    /// Jobs, whose messages the host sends to an agent at their times
    #[command(subcommand)]
    Schedule(schedule::Schedule),
    /// The queue of background work for models
    #[command(subcommand)]
    Curator(curator::Curator),
    /// Rules for what agents may do, and the reasons of past decisions
    #[command(subcommand)]
    Policy(policy::Policy),
    /// Calls that wait for a person's approval
    #[command(subcommand)]
    Approvals(approvals::Approvals),
    /// Alerts: list them, or hand them to a program or a webhook
    #[command(subcommand)]
    Alerts(alerts::Alerts),
    /// The record of decisions and effects
    #[command(subcommand)]
    Audit(audit::Audit),
    /// Back up and restore the whole state of the host
    #[command(subcommand)]
    Backup(backup::Backup),
    /// Secrets, which are stored and never shown
    #[command(subcommand)]
    Cred(cred::Cred),
    /// API keys for programs that call the host over HTTP
    #[command(subcommand)]
    Key(key::Key),
    /// Run commands in a runner's jail
    #[command(subcommand)]
    Sandbox(sandbox::Sandbox),
    /// Scan texts from standard input, JSON lines {"text":…}, without a host
    Scan(scan::Scan),
    /// Check web addresses, and allow hosts
    #[command(subcommand)]
    Web(web::Web),
    /// Check the configuration file
    #[command(subcommand)]
    Config(config::Config),
    /// Print the completion script of a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// Reads the command line; help and usage errors are printed here.
///
/// # Errors
/// The exit status: 0 for help and version, and for a hook, which never fails its client; 64 for a mistake.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Cli, ExitCode> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    Cli::try_parse_from(&arguments).map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // Nobody reads it if it cannot be printed.
            let _ = error.print();
            ExitCode::SUCCESS
        }
        _ if is_hook(&arguments) => {
            hook::misused(&error);
            ExitCode::SUCCESS
        }
        _ => {
            usage(&arguments, &error);
            ExitCode::from(USAGE)
        }
    })
}

/// Returns true if the command is `hook`, as far as the grammar can be read before the mistake. A hook never fails its client.
fn is_hook(arguments: &[OsString]) -> bool {
    let read = Cli::command().ignore_errors(true).try_get_matches_from(arguments);
    read.is_ok_and(|read| read.subcommand_name() == Some("hook"))
}

/// Reports a usage error. `--json` is looked up without the grammar, which did not accept the command line.
fn usage(arguments: &[OsString], error: &clap::Error) {
    let json = arguments.iter().take_while(|word| *word != "--").any(|word| word == "--json");
    if json {
        Out::new(true).complain("usage", &sentence(&error.render().to_string()));
    } else {
        let _ = error.print();
    }
}

/// Joins clap's paragraphs to one line for the JSON document. The hint at `--help` is left out.
fn sentence(printed: &str) -> String {
    let paragraphs = printed.split("\n\n").map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "));
    let shown = paragraphs.filter(|part| !part.is_empty() && !part.starts_with("For more information"));
    let shown = shown.collect::<Vec<_>>().join("; ");
    shown.strip_prefix("error: ").unwrap_or(&shown).to_owned()
}

#[cfg(test)]
mod help_tests;

#[cfg(test)]
mod tests {
    use super::*;

    const MAN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/man/agentctl.8");

    fn accepts(line: &str) -> bool {
        Cli::try_parse_from(std::iter::once("agentctl").chain(line.split_whitespace())).is_ok()
    }

    #[test]
    fn a_mistake_is_one_line_of_a_document() {
        for (line, shown) in [
            ("status --bogus", "unexpected argument '--bogus' found; Usage: agentctl status [OPTIONS]"),
            (
                "audit digest",
                "the following required arguments were not provided: <DAY>; Usage: agentctl audit digest <DAY>",
            ),
        ] {
            let words = std::iter::once("agentctl").chain(line.split_whitespace());
            let error = Cli::try_parse_from(words).err().unwrap();
            assert_eq!(sentence(&error.render().to_string()), shown);
        }
    }

    #[test]
    fn the_grammar_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn json_and_socket_are_understood_after_any_subcommand() {
        for line in [
            "status",
            "user list",
            "chat -m hello",
            "cred set k --host h",
            "sandbox run",
            "run",
            "audit tail -f",
        ] {
            let tail = if matches!(line, "sandbox run" | "run") { "-- true" } else { "" };
            assert!(accepts(&format!("{line} --json --socket /s {tail}")), "{line}");
            assert!(accepts(&format!("--json {line} {tail}")), "{line}");
        }
    }

    #[test]
    fn a_hook_is_known_as_one_whatever_is_wrong_with_it_and_nothing_else_is() {
        let of = |line: &str| {
            let words = std::iter::once("agentctl").chain(line.split_whitespace());
            is_hook(&words.map(OsString::from).collect::<Vec<_>>())
        };
        for line in [
            "hook",
            "hook vim",
            "hook claude-code --timeout x",
            "--socket /s hook opencode e --new",
            "hook --json x",
        ] {
            assert!(of(line) && !accepts(line), "{line}");
        }
        for line in
            ["", "nothing", "memory add hook --importance 9", "run --resume hook", "--socket hook nothing"]
        {
            assert!(!of(line), "{line}");
        }
    }

    #[test]
    fn what_follows_two_dashes_is_the_commands_own() {
        let cli = Cli::try_parse_from(["agentctl", "sandbox", "run", "--", "ls", "--json", "-f"]).unwrap();
        assert!(!cli.json);
    }

    #[test]
    fn values_out_of_bounds_and_unknown_words_are_refused() {
        let long = "x".repeat(65);
        for line in [
            "",
            "nothing",
            "restart",
            &format!("restart {long}"),
            "cred set NAME",
            "cred set NAME VALUE --host h",
            "message trace not-an-id",
            "message list --limit 0",
            "message requeue not-an-id",
            "message requeue 01010101-0101-0101-0101-010101010101 --edit --text new",
            "stop",
            "stop --session s --all",
            "memory list --limit 101",
            "memory add text --area nowhere",
            "memory add text --kind summary",
            "memory add text --importance 6",
            "memory list --state gone",
            "memory list --since soon",
            "memory forget",
            "memory forget --topic a --before 7d",
            "memory mute",
            "memory mute --session opencode",
            "memory import f --mode join",
            "hook",
            "hook vim",
            "hook opencode event --timeout 0",
            "user add bob --role king",
            "approvals approve",
            "key create",
            "key create k --day-usd 0",
            "key create k --expires soon",
            "key revoke",
            "approvals deny not-an-id",
            "chat --workspace-trust user -m x",
            "chat --workspace d --workspace-trust system -m x",
            "sandbox run",
            "run",
            "run --resume nothing",
            "run --profile none -- sh",
            "redteam --row nobody",
            "redteam --act nothing",
            "redteam --probes f --row gate",
            "redteam --list --act shadow",
            "completions csh",
            "alerts send",
            "alerts send --command x --webhook https://a",
            "alerts send --command x --quiet 25:00-07:00",
            "logs --level loud",
            "logs --since soon",
        ] {
            assert!(!accepts(line), "{line}");
        }
    }

    #[test]
    fn every_command_and_flag_stands_in_the_man_page() {
        let page = std::fs::read_to_string(MAN).unwrap().replace("\\-", "-");
        let heads: Vec<String> = page.lines().zip(page.lines().skip(1)).filter_map(head).collect();
        let mut missing = Vec::new();
        look_up(&Cli::command(), "", &page, &heads, &mut missing);
        assert!(missing.is_empty(), "not in agentctl.8: {missing:?}");
    }

    /// The words of a paragraph's head: the line after `.TP` without its macro, fonts and quotes.
    fn head((before, line): (&str, &str)) -> Option<String> {
        let (macro_name, words) = line.split_once(' ')?;
        (before == ".TP" && macro_name.starts_with('.')).then(|| words.replace('"', ""))
    }

    fn look_up(command: &clap::Command, path: &str, page: &str, heads: &[String], missing: &mut Vec<String>) {
        let flags = command.get_arguments().filter_map(clap::Arg::get_long);
        for flag in flags.filter(|flag| !matches!(*flag, "help" | "version")) {
            if !page.contains(&format!("--{flag}")) {
                missing.push(format!("{path} --{flag}"));
            }
        }
        for sub in command.get_subcommands() {
            let path = format!("{path} {}", sub.get_name()).trim_start().to_owned();
            let named = heads.iter().any(|head| head == &path || head.starts_with(&format!("{path} ")));
            if !sub.has_subcommands() && !named {
                missing.push(path.clone());
            }
            look_up(sub, &path, page, heads, missing);
        }
    }
}
