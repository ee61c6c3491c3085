//! `agentctl`, the operators' command: calls `control` over its Unix socket and shows the answers.
//!
//! It holds no privilege: the kernel tells control the caller's uid. It may read `/proc` (`attest`) and one public key
//! (`cred set`). It must never send a secret unsealed, nor show text of the host without escaping it.
//!
//! Modules depend downwards: texts, failures and output at the bottom; then the connection, the host's state and a turn;
//! then `commands`, a module each; then the grammar in `cli`, and `dispatch` on top.

mod answer_text;
mod app;
mod approval;
mod approval_card;
mod approval_prompt;
mod arguments;
mod atomic_file;
mod attach;
mod cli;
mod commands;
mod dispatch;
mod edit;
mod failure;
mod form;
mod host;
mod in_place;
mod interrupt;
mod json_lines;
mod kernel;
mod link;
mod live;
mod log_line;
mod out;
mod places;
mod project;
mod prompt;
mod secret_input;
mod sibling;
mod table;
mod text;
mod tool_line;
mod turn;
mod turn_end;
mod view;
mod wrap;

use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match cli::parse(std::env::args_os()) {
        Ok(cli) => cli,
        Err(exit) => return exit,
    };
    let app = app::App::new(cli.json, cli.socket);
    let outcome = match app::runtime() {
        Ok(runtime) => runtime.block_on(dispatch::run(&app, cli.command)),
        Err(failure) => Err(failure),
    };
    outcome.unwrap_or_else(|failure| app.out.failure(&failure))
}
