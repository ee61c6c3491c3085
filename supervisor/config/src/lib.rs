//! agentd's configuration child: reads `cordon.toml`, checks all of it, and either reports every error or writes the settings of
//! agentd and the section of each process.
//!
//! It reads the file, the prompt files and the model that it names, and this machine's accounts. It must never start, bind or change
//! anything, and never print text that could be a secret.

pub mod accounts;
pub mod agents;
pub mod allowed;
pub mod args;
pub mod asking;
pub mod audit;
pub mod channels;
pub mod curator;
pub mod embedding;
pub mod engines;
pub mod files;
pub mod forms;
pub mod gateway;
pub mod host;
pub mod hosts;
pub mod keys;
pub mod kind;
pub mod known;
pub mod machine;
pub mod mcp;
pub mod models;
pub mod network;
pub mod plan;
pub mod policy;
pub mod problem;
pub mod providers;
pub mod reference;
pub mod services;
pub mod shape;
pub mod summary;
pub mod time_zone;
pub mod tools;
pub mod users;
pub mod view;
pub mod web;

use machine::Machine;
use plan::Plan;
use problem::{Problems, Report};
use shape::{Lines, Place, Shape, Table};
use std::path::{Path, PathBuf};
use toml::de::DeTable;
use view::View;

/// The name of the configuration in reports where there is no file.
pub const NO_FILE: &str = "(defaults)";

/// A configuration before its check.
#[derive(Debug)]
pub struct Source {
    /// Its name in reports.
    pub name: String,
    /// The folder of its relative paths.
    pub folder: PathBuf,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl Source {
    /// The file at `path`, or no file: then every key has its default.
    ///
    /// # Errors
    /// A [`Report`]: the reason why the file cannot be used.
    pub fn open(path: Option<&Path>) -> Result<Self, Report> {
        let Some(path) = path else {
            return Ok(Self { name: NO_FILE.to_owned(), folder: PathBuf::new(), bytes: Vec::new() });
        };
        let name = path.to_string_lossy().into_owned();
        match files::read(path, files::CONFIG_BOUND) {
            Ok(bytes) => {
                let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
                Ok(Self { name, folder, bytes })
            }
            Err(fault) => {
                let mut problems = Problems::default();
                let valid = format!("a readable file of at most {} bytes", files::CONFIG_BOUND);
                problems.add(1, "file", format!("it {fault}"), valid);
                Err(problems.report(&name))
            }
        }
    }
}

/// Checks all of `source`.
///
/// # Errors
/// A [`Report`] of every error.
pub fn read(source: &Source, machine: &Machine) -> Result<Plan, Report> {
    let mut problems = Problems::default();
    let tree = tree(&source.bytes, &mut problems);
    let plan = Plan::resolve(&View::new(&tree), &source.folder, machine, &mut problems);
    if problems.is_empty() { Ok(plan) } else { Err(problems.report(&source.name)) }
}

/// The first pass: TOML, then the table of keys. After broken TOML the reading continues behind it, so that the rest is checked as
/// well.
fn tree(bytes: &[u8], problems: &mut Problems) -> Table {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(fault) => {
            let before = bytes.iter().take(fault.valid_up_to());
            problems.add_syntax(1 + before.filter(|byte| **byte == b'\n').count(), "this is not UTF-8 text");
            return Table::default();
        }
    };
    let lines = Lines::new(text);
    let (file, faults) = DeTable::parse_recoverable(text);
    for fault in faults {
        problems.add_syntax(lines.of(fault.span().map_or(0, |span| span.start)), fault.message());
    }
    Shape { lines: &lines, problems }.table(&Place::default(), file.get_ref(), 1)
}
