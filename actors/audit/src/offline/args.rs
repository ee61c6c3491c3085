//! The arguments of an offline command: options with a value, flags, and one positional argument.

use super::{HELP, OfflineFault};
use crate::keys::PUBLIC;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

/// Options without a value.
const FLAGS: &[&str] = &["json", "follow"];
/// Options with a value.
const OPTIONS: &[&str] = &[
    "dir", "key", "checkpoint", "tree", "against", "file", "from", "position", "format", "action",
    "category", "result", "severity", "witness", "subject", "session", "since", "until",
];

/// Bytes of a key, or of a file of checkpoints, of which a witness writes one for each time it is asked.
const TEXT: u64 = 16 << 20;

/// A command and its arguments.
pub(crate) struct Args {
    pub(crate) command: String,
    options: HashMap<String, String>,
    /// The positional argument.
    pub(crate) bare: Option<String>,
}

impl Args {
    /// Reads the arguments.
    pub(crate) fn read(mut args: impl Iterator<Item = String>) -> Result<Self, OfflineFault> {
        let usage = |what: String| OfflineFault::Usage(format!("{what}\n{HELP}"));
        let command = args.next().ok_or_else(|| usage("no command".to_owned()))?;
        let (mut options, mut bare) = (HashMap::new(), None);
        while let Some(word) = args.next() {
            match word.strip_prefix("--") {
                Some(flag) if FLAGS.contains(&flag) => {
                    options.insert(flag.to_owned(), String::new());
                }
                Some(option) if OPTIONS.contains(&option) => {
                    let value = args.next().ok_or_else(|| usage(format!("--{option} needs a value")))?;
                    options.insert(option.to_owned(), value);
                }
                None if bare.is_none() => bare = Some(word),
                _ => return Err(usage(format!("unknown: {word}"))),
            }
        }
        Ok(Self { command, options, bare })
    }

    /// An option's value.
    pub(crate) fn get(&self, option: &str) -> Option<&str> {
        self.options.get(option).map(String::as_str)
    }

    /// Returns whether a flag is there.
    pub(crate) fn has(&self, flag: &str) -> bool {
        self.options.contains_key(flag)
    }

    /// The log's folder.
    pub(crate) fn dir(&self) -> Result<PathBuf, OfflineFault> {
        self.get("dir")
            .map(PathBuf::from)
            .ok_or_else(|| OfflineFault::Usage(format!("--dir is needed\n{HELP}")))
    }

    /// The same where a log must be: entries of a folder that is none are not none.
    pub(crate) fn log(&self) -> Result<PathBuf, OfflineFault> {
        let dir = self.dir()?;
        match dir.join(PUBLIC).try_exists() {
            Ok(true) => Ok(dir),
            Ok(false) => {
                let message =
                    format!("there is no {PUBLIC} in {}: this is no log of Cordon's", dir.display());
                Err(OfflineFault::Log(message))
            }
            Err(cause) => Err(OfflineFault::File { file: dir.display().to_string(), cause }),
        }
    }

    /// An option that is a number.
    pub(crate) fn number(&self, option: &str) -> Result<Option<u64>, OfflineFault> {
        let read = |word: &str| {
            word.parse().map_err(|_| OfflineFault::Usage(format!("--{option}: {word} is no number")))
        };
        self.get(option).map(read).transpose()
    }

    /// The text of the file that an option names.
    pub(crate) fn text(&self, option: &str) -> Result<Option<String>, OfflineFault> {
        let read =
            |file: &str| read(file).map_err(|cause| OfflineFault::File { file: file.to_owned(), cause });
        self.get(option).map(read).transpose()
    }
}

/// A file's text: a device, or a pipe, may have no end.
fn read(file: &str) -> io::Result<String> {
    let mut text = String::new();
    let length = File::open(file)?.take(TEXT + 1).read_to_string(&mut text)?;
    if length as u64 > TEXT {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "longer than it can be"));
    }
    Ok(text)
}
