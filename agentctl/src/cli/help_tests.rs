//! The help of every command at 80 columns.

use super::Cli;
use crate::wrap;
use clap::{Command, CommandFactory};

/// Columns of a line of help at most.
const COLUMNS: usize = 80;

fn visit(command: &Command, look: &mut impl FnMut(&Command)) {
    look(command);
    command.get_subcommands().for_each(|sub| visit(sub, look));
}

#[test]
fn no_line_of_help_is_over_80_columns_and_no_word_is_broken() {
    let mut root = Cli::command();
    root.build();
    let (mut wide, mut broken) = (Vec::new(), Vec::new());
    visit(&root, &mut |command| {
        for long in [false, true] {
            let render = |columns| {
                let mut command = command.clone().term_width(columns);
                let help = if long { command.render_long_help() } else { command.render_help() };
                help.to_string()
            };
            let shown = render(COLUMNS);
            wide.extend(shown.lines().filter(|line| wrap::width(line) > COLUMNS).map(str::to_owned));
            // A width of 0 breaks no line.
            if !shown.split_whitespace().eq(render(0).split_whitespace()) {
                broken.push(command.get_name().to_owned());
            }
        }
    });
    assert!(wide.is_empty() && broken.is_empty(), "too wide: {wide:#?}, broken: {broken:?}");
}

#[test]
fn a_mistyped_command_is_answered_with_the_nearest_one() {
    for (line, near) in [
        ("statsu", "status"),
        ("memory serach x", "search"),
        ("approvals aprove 1", "approve"),
        ("status --jsno", "--json"),
        ("doctr", "doctor"),
    ] {
        let words = std::iter::once("agentctl").chain(line.split_whitespace());
        let error = <Cli as clap::Parser>::try_parse_from(words).err().unwrap().render().to_string();
        assert!(error.contains("similar") && error.contains(near), "{line}: {error}");
    }
}
