//! `agentctl mcp`: servers of the Model Context Protocol for this host's agents; without a verb, this host's memory for a client that runs
//! the command.

mod add;
mod approve;
mod edit;
mod folder;
mod lines;
mod login;
mod material;
mod memory;
mod serve;
mod show;

use crate::app::{App, Outcome};
use ipc_proto::{Name, Text};
use std::path::PathBuf;

/// The arguments of `mcp`.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    command: Option<Command>,
    /// The folder that the client works in; the current one by default
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
}

/// The commands of `mcp`.
#[derive(clap::Subcommand)]
enum Command {
    /// Add a server to the configuration: a package of one version, a command, or an address
    Add(add::Add),
    /// List servers
    List,
    /// Show a server: how it is reached, and what it calls itself
    Show {
        /// The server's name in the configuration
        #[arg(value_parser = crate::arguments::text::<64>)]
        name: Name,
    },
    /// Show a server's tools as they were last offered, with what has changed since you approved them
    Tools {
        /// The server's name in the configuration
        #[arg(value_parser = crate::arguments::text::<64>)]
        name: Name,
        /// Start the server first and ask it anew
        #[arg(long)]
        refresh: bool,
    },
    /// Install a server's package where it is none, start it, show what waits of its tools, and approve them
    Approve(approve::Approve),
    /// Start a server and say if it answers
    Doctor {
        /// The server's name in the configuration
        #[arg(value_parser = crate::arguments::text::<64>)]
        name: Name,
    },
    /// Log in at a server elsewhere by OAuth in a browser, or forget a login
    Login(login::Arguments),
    /// Forget what you approved of a server, remove its files, and take it out of the configuration
    Remove(add::Remove),
    /// List a server's resources, or print one
    Resource {
        /// The server's name in the configuration
        #[arg(value_parser = crate::arguments::text::<64>)]
        name: Name,
        /// Print the resource of this address
        #[arg(value_parser = crate::arguments::text::<2048>)]
        uri: Option<Text<2048>>,
    },
    /// List a server's prompts, or print one for you to use
    Prompt {
        /// The server's name in the configuration
        #[arg(value_parser = crate::arguments::text::<64>)]
        name: Name,
        /// Print the prompt of this name
        #[arg(value_parser = crate::arguments::text::<128>)]
        prompt: Option<Text<128>>,
        /// Its arguments
        #[arg(value_name = "NAME=VALUE")]
        arguments: Vec<String>,
    },
}

/// Runs the command.
pub(crate) async fn mcp(app: &App, arguments: Mcp) -> Outcome {
    match arguments.command {
        None => serve::memory(app, arguments.project).await,
        Some(Command::Add(arguments)) => add::add(app, arguments).await,
        Some(Command::List) => show::list(app).await,
        Some(Command::Show { name }) => show::show(app, &name).await,
        Some(Command::Tools { name, refresh }) => show::tools(app, &name, refresh).await,
        Some(Command::Approve(arguments)) => approve::approve(app, arguments).await,
        Some(Command::Doctor { name }) => show::doctor(app, &name).await,
        Some(Command::Login(arguments)) => login::login(app, arguments).await,
        Some(Command::Remove(arguments)) => add::remove(app, &arguments).await,
        Some(Command::Resource { name, uri }) => material::resource(app, &name, uri).await,
        Some(Command::Prompt { name, prompt, arguments }) => {
            material::prompt(app, &name, prompt, &arguments).await
        }
    }
}
