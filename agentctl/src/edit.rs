//! Editing a text in the person's own editor, which their environment names. The text lies in a file that nobody else can
//! read and that is removed once the text was delivered.

use crate::failure::Failure;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, ExitStatus};
use tempfile::NamedTempFile;

/// The editor if neither variable names one.
const EDITOR: &str = "vi";
/// Bytes that are read back: more than a message may have, so that a longer text is reported as too long.
const MOST: u64 = 1024 * 1024;

/// A text as the person left it.
pub(crate) struct Draft {
    /// The text.
    pub(crate) text: String,
    file: NamedTempFile,
}

impl Draft {
    /// Passes on the result for the text. If it failed, the file stays, and the failure names it.
    ///
    /// # Errors
    /// The failure that was passed in.
    pub(crate) fn settle<T>(self, result: Result<T, Failure>) -> Result<T, Failure> {
        result.map_err(|cause| keep_draft(self.file, cause))
    }
}

/// Keeps the file.
fn keep_draft(file: NamedTempFile, cause: Failure) -> Failure {
    match file.keep() {
        Ok((_, path)) => Failure::Undelivered { path, cause: Box::new(cause) },
        Err(_) => cause,
    }
}

/// Returns the text as the person saved it. A line break that the editor added at the end is not a change.
///
/// # Errors
/// There is no editor, it failed, or left nothing, or left what is no text.
pub(crate) fn edited(text: &str) -> Result<Draft, Failure> {
    let mut file = tempfile::Builder::new()
        .prefix("cordon-message-")
        .suffix(".txt")
        .tempfile()
        .map_err(|cause| at(&std::env::temp_dir(), cause))?;
    file.write_all(text.as_bytes()).map_err(|cause| at(file.path(), cause))?;
    let editor = editor(|name| std::env::var_os(name));
    let status = run(&editor, file.path()).map_err(|error| failed(&editor, &error.to_string()))?;
    if !status.success() {
        return Err(failed(&editor, &format!("it ended with {status}; nothing was sent")));
    }
    let mut after = match read(file.path()) {
        Ok(after) => after,
        Err(cause @ Failure::Usage(_)) => return Err(keep_draft(file, cause)),
        Err(gone) => return Err(gone),
    };
    if after.trim().is_empty() {
        return Err(Failure::Usage("the text is empty; nothing was sent".to_owned()));
    }
    if after.ends_with('\n') && !text.ends_with('\n') {
        after.pop();
    }
    Ok(Draft { text: after, file })
}

/// Reads the file by name: editors replace a file rather than write into it.
fn read(path: &Path) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(path).map_err(|cause| at(path, cause))?;
    opened.take(MOST).read_to_end(&mut bytes).map_err(|cause| at(path, cause))?;
    String::from_utf8(bytes)
        .map_err(|_| Failure::Usage("the edited text is not UTF-8; nothing was sent".to_owned()))
}

fn editor(variable: impl Fn(&str) -> Option<OsString>) -> OsString {
    let named = ["VISUAL", "EDITOR"].into_iter().filter_map(variable).find(|value| !value.is_empty());
    named.unwrap_or_else(|| OsString::from(EDITOR))
}

/// Runs the editor through a shell, since the variable may hold arguments after the program's name. The file's name is an
/// argument of the shell and is not split.
fn run(editor: &OsString, path: &Path) -> std::io::Result<ExitStatus> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the person's own editor, run as the person, outside the host"
    )]
    let mut shell = Command::new("/bin/sh");
    let mut script = editor.clone();
    script.push(" \"$@\"");
    shell.arg("-c").arg(script).arg("editor").arg(path).status()
}

fn at(path: &Path, cause: std::io::Error) -> Failure {
    Failure::File { path: path.to_owned(), cause }
}

fn failed(editor: &OsString, why: &str) -> Failure {
    Failure::Editor { name: editor.to_string_lossy().into_owned(), why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_names_an_editor_decides() {
        let with = |visual: Option<&str>, other: Option<&str>| {
            editor(|name| if name == "VISUAL" { visual } else { other }.map(OsString::from))
        };
        for (visual, other, expected) in [
            (Some("code -w"), Some("ed"), "code -w"),
            (Some(""), Some("ed"), "ed"),
            (None, Some("ed"), "ed"),
            (None, None, EDITOR),
        ] {
            assert_eq!(with(visual, other), OsString::from(expected));
        }
    }
}
