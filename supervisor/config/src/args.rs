//! The command line. It is short and agentd writes it, so it is read by hand.

use std::ffi::OsString;
use std::path::PathBuf;

/// The usage line.
pub const USAGE: &str = "usage: agentd-config [--config FILE] [--state-dir DIR] [--owner UID] [--check]\n       \
                         agentd-config --print-reference | --print-man\n";

/// The action.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Task {
    /// The document for agentd.
    #[default]
    Write,
    /// A short report for people on the file.
    Check,
    /// The reference of all keys, in Markdown.
    Reference,
    /// The same for the man page.
    Man,
}

/// The command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Args {
    /// The action.
    pub task: Task,
    /// The file; none for the defaults.
    pub config: Option<PathBuf>,
    /// The state directory; none for the system's.
    pub state_dir: Option<PathBuf>,
    /// Uid of the person who runs the host; none for the user who runs this.
    pub owner: Option<u32>,
}

impl Args {
    /// Reads the words after the program's name; `None` for anything that is not in [`USAGE`].
    #[must_use]
    pub fn parse(words: impl IntoIterator<Item = OsString>) -> Option<Self> {
        let mut args = Self::default();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            match word.to_str()? {
                "--config" if args.config.is_none() => args.config = Some(words.next()?.into()),
                "--state-dir" if args.state_dir.is_none() => args.state_dir = Some(words.next()?.into()),
                "--owner" if args.owner.is_none() => args.owner = Some(words.next()?.to_str()?.parse().ok()?),
                task if args.task == Task::Write => args.task = task_named(task)?,
                _ => return None,
            }
        }
        Some(args)
    }
}

fn task_named(word: &str) -> Option<Task> {
    match word {
        "--check" => Some(Task::Check),
        "--print-reference" => Some(Task::Reference),
        "--print-man" => Some(Task::Man),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Option<Args> {
        Args::parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn what_the_usage_says_is_understood() {
        assert_eq!(parse(""), Some(Args::default()));
        let all = Args {
            task: Task::Check,
            config: Some("a.toml".into()),
            state_dir: Some("/s".into()),
            owner: Some(1000),
        };
        assert_eq!(parse("--owner 1000 --check --config a.toml --state-dir /s"), Some(all));
        assert_eq!(parse("--print-man").unwrap().task, Task::Man);
    }

    #[test]
    fn anything_else_is_a_usage_error() {
        for bad in [
            "x",
            "--config",
            "--owner x",
            "--owner -1",
            "--check --check",
            "--config a --config b",
            "--check --print-man",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
