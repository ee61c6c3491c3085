//! The work of a turn and the input of a running program.

use crate::content::{Content, MEDIA_BOUND};
use crate::engine::Profile;
use crate::{Blob, List, Text};
use serde::{Deserialize, Serialize};

/// Bytes of one piece of output.
pub const OUTPUT_CHUNK: usize = 32 * 1024;
/// Bytes of a file that is put into a workspace.
pub const FILE_BOUND: usize = 2 * 1024 * 1024;

/// The task of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Task {
    /// Answer the message.
    Chat,
    /// Run a command in the jail; the person gave it.
    Command {
        /// Program and arguments.
        argv: List<Text<8192>, 64>,
    },
    /// Put a file into the workspace.
    Put {
        /// Its path beneath the workspace.
        path: Text<1024>,
        /// The file's content.
        bytes: Blob<FILE_BOUND>,
    },
    /// Give a file of the workspace out.
    Get {
        /// Its path beneath the workspace.
        path: Text<1024>,
    },
    /// Run a program that asks models by itself; the person gave it.
    Run(Run),
}

impl Task {
    /// The images that a message with this task puts before a model: those of a chat.
    pub fn images<'a>(
        &'a self,
        content: &'a Content,
    ) -> impl Iterator<Item = (&'a Text<128>, &'a Blob<MEDIA_BOUND>)> {
        content.images().filter(|_| *self == Self::Chat)
    }
}

/// A program that asks models by itself, as a person wants it run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Program and arguments.
    pub argv: List<Text<8192>, 64>,
    /// Its further needs.
    pub profile: Profile,
    /// The terminal that it is to have of its own; streams without one.
    pub terminal: Option<Terminal>,
    /// Hosts that the person lets it reach, each `HOST:PORT read` or `HOST:PORT send`.
    pub allow: List<Text<300>, 16>,
}

/// The terminal of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terminal {
    /// Its kind, as `TERM` says it.
    pub kind: Text<64>,
    /// Its size.
    pub size: Size,
}

/// The size of a terminal, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// Lines.
    pub rows: u16,
    /// Characters in one.
    pub columns: u16,
}

/// Bytes that a person types at once.
pub const TYPED_CHUNK: usize = 16 * 1024;

/// A person's input to a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Typed {
    /// They type, or something is piped in.
    Bytes(Blob<TYPED_CHUNK>),
    /// Their terminal has another size.
    Size(Size),
    /// Nothing more comes.
    End,
}

/// The input for a program, from one number on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// The number of the first piece.
    pub from: u64,
    /// The pieces.
    pub typed: List<Typed, 64>,
}
