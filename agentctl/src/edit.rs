//! A text in the person's own editor. It lies in a file that nobody else can read, gone once the text has gone where it
//! should; the editor is what the person's environment names, run as the person.

use crate::failure::Failure;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, ExitStatus};
use tempfile::NamedTempFile;

/// Where neither variable names an editor.
const EDITOR: &str = "vi";
/// Bytes that are read back: more than any message may have, so that a longer one is seen to be too long.
const MOST: u64 = 1024 * 1024;

/// A text as the person left it.
pub(crate) struct Draft {
    /// The text.
    pub(crate) text: String,
    file: NamedTempFile,
}

impl Draft {
    /// Passes on what came of the text. Where it did not go where it should, its file stays, and the failure says where.
    ///
    /// # Errors
    /// What came of it.
    pub(crate) fn settle<T>(self, came: Result<T, Failure>) -> Result<T, Failure> {
        came.map_err(|cause| kept(self.file, cause))
    }
}

/// Lets the file stay.
fn kept(file: NamedTempFile, cause: Failure) -> Failure {
    match file.keep() {
        Ok((_, path)) => Failure::Kept { path, cause: Box::new(cause) },
        Err(_) => cause,
    }
}

/// The text as the person leaves it. A line break that their editor put at the end of it is no change.
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
        Err(cause @ Failure::Usage(_)) => return Err(kept(file, cause)),
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

/// Read anew by name: editors replace a file rather than write into it.
fn read(path: &Path) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(path).map_err(|cause| at(path, cause))?;
    opened.take(MOST).read_to_end(&mut bytes).map_err(|cause| at(path, cause))?;
    String::from_utf8(bytes)
        .map_err(|_| Failure::Usage("what was left is not UTF-8 text; nothing was sent".to_owned()))
}

fn editor(variable: impl Fn(&str) -> Option<OsString>) -> OsString {
    let named = ["VISUAL", "EDITOR"].into_iter().filter_map(variable).find(|value| !value.is_empty());
    named.unwrap_or_else(|| OsString::from(EDITOR))
}

/// The variable may hold words after the program's name, so a shell takes it apart, as everywhere; the file's name is
/// an argument and is taken apart by nobody.
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
