//! The prompt of an interactive chat: line editing and a history in a file of the user's own.

use crate::failure::Failure;
use crate::places;
use rustyline::Editor;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

/// The prompt with its history.
pub(crate) struct Prompt {
    text: String,
    editor: Editor<(), FileHistory>,
    history: Option<PathBuf>,
}

impl Prompt {
    /// With this text before each line, and the history kept in `file`, else in the user's state folder; the last `size` lines are kept.
    ///
    /// # Errors
    /// The terminal cannot be used.
    pub(crate) fn new(text: String, file: Option<PathBuf>, size: usize) -> Result<Self, Failure> {
        let config = rustyline::Config::builder().max_history_size(size).map_err(terminal)?;
        let config = config.auto_add_history(true).build();
        let mut editor = Editor::with_config(config).map_err(terminal)?;
        let history = file.or_else(default_file);
        if let Some(path) = &history {
            // The first chat of a user has no history yet.
            let _ = editor.load_history(path);
        }
        Ok(Self { text, editor, history })
    }

    /// The next line that says something; none at the end of input.
    ///
    /// # Errors
    /// The terminal cannot be used.
    pub(crate) fn line(&mut self) -> Result<Option<String>, Failure> {
        loop {
            match self.editor.readline(&self.text) {
                Ok(line) if line.trim().is_empty() => {}
                Ok(line) => return Ok(Some(line)),
                Err(ReadlineError::Interrupted) => {}
                Err(ReadlineError::Eof) => return Ok(None),
                Err(error) => return Err(terminal(error)),
            }
        }
    }
}

impl Drop for Prompt {
    fn drop(&mut self) {
        if let Some(path) = &self.history {
            // A history that cannot be kept is no reason to fail a chat that went well.
            let _ = self.editor.save_history(path);
        }
    }
}

/// `cordon/history` in the user's state folder, which is made if need be.
fn default_file() -> Option<PathBuf> {
    let folder = places::user_state()?;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).ok()?;
    Some(folder.join("history"))
}

fn terminal(error: ReadlineError) -> Failure {
    match error {
        ReadlineError::Io(error) => Failure::Output(error),
        error => Failure::Output(std::io::Error::other(error.to_string())),
    }
}
