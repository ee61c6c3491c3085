//! Servers of the Model Context Protocol and browsers, which live in jails of their own: the terms that such a jail is given, the
//! requests that the gate makes of it, and what it gives back. All of that is a stranger's.

mod asks;
mod login;
mod package;
mod view;

use crate::browser;
use crate::egress::{OPAQUE, Origin, PATH};
use crate::tool::{ARGS_BOUND, OUTPUT_BOUND};
use crate::{List, Name, Text};
pub use asks::{ASKS, Ask, AskAnswer, AskAnswers, Asks, CHOICES, FORM_FIELDS, Field, FieldKind, PAGE};
pub use login::{LoginTerms, NoLogin, SCOPES, secret_of};
pub use package::{NoPackage, Package, Registry};
use serde::{Deserialize, Serialize};
pub use view::{Approving, McpError, PinState, ServerInfo, ServerView, ToolView};

/// Servers of a host.
pub const SERVERS: usize = 32;
/// Tools of a server; of a longer list the rest is left out.
pub const SERVER_TOOLS: usize = 256;
/// Bytes of a tool's description.
pub const DESCRIPTION: usize = 2048;
/// Bytes of a tool's schema, of its arguments or of its output.
pub const SCHEMA: usize = 64 * 1024;
/// Bytes of all that a server says of its tools.
pub const LISTED: usize = 2 * 1024 * 1024;
/// Bytes of a tool's own name, and of a server's and a tool's name together with the two underscores between them.
pub const TOOL_NAME: usize = 64;
/// Between the name of a server and that of its tool.
pub const SEPARATOR: &str = "__";
/// Resources and prompts of a server that are listed.
pub const ITEMS: usize = 256;
/// Bytes of the address of a resource.
pub const URI: usize = 2048;
/// Seconds that a server may take to start, and to install.
pub const START_SECONDS: u16 = 20;
/// Seconds that an installation may take.
pub const INSTALL_SECONDS: u16 = 280;
/// The folder of a server's files in its jail.
pub const FOLDER: &str = "/server";

/// The words of a command.
pub type Argv = List<Text<4096>, 64>;

/// The terms of a server's jail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// The server's name in the configuration.
    pub server: Name,
    /// How it is reached.
    pub start: Start,
    /// SHA-256 of the server's files, which they must have.
    pub tree: Option<[u8; 32]>,
    /// Programs in the jail have a way out.
    pub network: bool,
    /// The places to which their connections pass through undecrypted, as HOST:PORT.
    pub opaque: List<Text<260>, OPAQUE>,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Start {
    /// A program in the jail, which speaks over its standard streams.
    Program(Argv),
    /// A server elsewhere, which speaks over HTTP.
    Url {
        /// The server's place.
        origin: Origin,
        /// The path there.
        path: Text<PATH>,
    },
    /// None: a package is put into [`FOLDER`].
    Install(Package),
    /// None: the jail is a session's browser.
    Browser,
}

/// A tool as its server describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// The server's own name of it.
    pub name: Text<TOOL_NAME>,
    /// Its title; empty without one.
    pub title: Text<256>,
    /// Its description.
    pub description: Text<DESCRIPTION>,
    /// JSON Schema of its arguments, in the canonical form.
    pub input: Text<SCHEMA>,
    /// JSON Schema of its output; empty without one.
    pub output: Text<SCHEMA>,
    /// The server's own hints on what it does.
    pub hints: Hints,
}

/// A server's hints on a tool. A stranger's word can only make the host stricter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hints {
    /// It changes nothing.
    pub read_only: Option<bool>,
    /// It may destroy.
    pub destructive: Option<bool>,
    /// It may be repeated.
    pub idempotent: Option<bool>,
    /// It acts on the world outside.
    pub open_world: Option<bool>,
}

/// All that a server offers once it has started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// The name and the version by which it calls itself.
    pub calls_itself: Text<256>,
    /// The version of the protocol that was agreed on.
    pub protocol: Text<32>,
    /// Its instructions for the model.
    pub instructions: Text<4096>,
    /// Its tools.
    pub tools: List<Tool, SERVER_TOOLS>,
    /// The tools that are not offered, each with the reason.
    pub left_out: List<Text<256>, 64>,
    /// It has resources.
    pub resources: bool,
    /// It has prompts.
    pub prompts: bool,
}

/// A package that was installed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Installed {
    /// SHA-256 of all its files.
    pub tree: [u8; 32],
    /// How many files it has.
    pub files: u32,
    /// The programs of the package, as paths in the jail.
    pub programs: List<Text<4096>, 16>,
}

/// A report of a jail's bridge, besides replies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Report {
    /// The server has started, or its list of tools has changed.
    Offers(Box<Offer>),
    /// The package was installed.
    Installed(Installed),
    /// The browser has started.
    Opened,
    /// It cannot go on; the bridge ends after this.
    Failed(Trouble),
}

/// Why a server is of no use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Trouble {
    /// Its package is not installed.
    #[error("its package is not installed; the owner installs it: agentctl mcp approve NAME")]
    NotYet,
    /// Its files are others than those that were approved.
    #[error(
        "its files are not those that were installed; the owner installs it again: agentctl mcp approve NAME --install"
    )]
    OtherFiles,
    /// Its program could not be started.
    #[error("its program could not be started: {0}")]
    NotStarted(Text<256>),
    /// It broke the protocol.
    #[error("it broke the protocol: {0}")]
    Protocol(Text<256>),
    /// It did not answer in time.
    #[error("it did not start in time")]
    TooSlow,
    /// Its program ended.
    #[error("its program ended: {0}")]
    Ended(Text<256>),
    /// The installer failed; the end of its output.
    #[error("the package could not be installed:\n{0}")]
    NotInstalled(Text<4096>),
    /// The browser's program is not on this machine, or did not begin to speak.
    #[error("the browser did not start ({0}); the owner installs Debian's package chromium-headless-shell")]
    NoBrowser(Text<256>),
    /// The package has no program, or its files cannot be read.
    #[error("the package has nothing to start: {0}")]
    NoProgram(Text<256>),
    /// It wants somebody to log in.
    #[error("it wants a login; the owner runs `agentctl mcp login {0}`")]
    Login(Name),
    /// The jail ended.
    #[error("its jail ended: {0}")]
    JailEnded(Text<256>),
    /// The jail could not be launched.
    #[error("its jail could not be launched: {0}")]
    NotLaunched(Text<256>),
}

/// A request of the gate to a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Its number, which the reply has.
    pub id: u64,
    /// Seconds until it is given up.
    pub seconds: u16,
    /// The request.
    pub act: Act,
}

/// The act that is asked of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Act {
    /// A call of a tool.
    Call {
        /// The server's own name of the tool.
        tool: Text<TOOL_NAME>,
        /// Its arguments, a JSON object.
        args: Text<ARGS_BOUND>,
    },
    /// A list of its resources.
    Resources,
    /// A resource.
    Read {
        /// Its address.
        uri: Text<URI>,
    },
    /// A list of its prompts.
    Prompts,
    /// A prompt.
    Prompt {
        /// Its name.
        name: Text<128>,
        /// Its arguments, a JSON object of texts.
        args: Text<4096>,
    },
    /// A command for a browser.
    Browse(browser::Command),
    /// A request that the server has answered with questions goes on with what a person said.
    Resume {
        /// The number of that request.
        request: u64,
        /// The answers.
        answers: AskAnswers,
    },
}

/// A reply of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// The text of the answer.
    Done {
        /// The text.
        text: Text<OUTPUT_BOUND>,
        /// The server says that the call failed.
        failed: bool,
    },
    /// A list.
    Items(List<Item, ITEMS>),
    /// The result of a command for a browser.
    Browsed(Result<browser::Outcome, browser::BrowserError>),
    /// The server first asks a person; the request waits until it is resumed.
    Asks {
        /// The number of the request.
        request: u64,
        /// The questions.
        asks: Asks,
    },
    /// The server refused, in its own words.
    Refused(Text<1024>),
    /// There was no answer in time.
    TimedOut,
    /// The server is gone.
    Gone,
}

/// A resource or a prompt in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Its address or its name.
    pub name: Text<URI>,
    /// Its description.
    pub description: Text<DESCRIPTION>,
}
