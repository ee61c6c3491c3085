//! Says how a URL is read and where it may go: one decision for fetch, redirect and connection.
//!
//! Pure: it resolves, connects and reads nothing. What two parsers could read in two ways is refused rather than
//! read, and the [`Target`] that was judged is what is dialled: nobody parses the text a second time.

mod ranges;
mod reach;
mod segments;
mod target;

pub use ranges::is_public;
pub use reach::{host_matches, may_connect, may_go};
pub use segments::{leads_under, reads_one_way};
pub use target::{Scheme, Target, parse};

/// Why a URL, or a place, is refused. No variant carries text of the URL: the phrase may be logged and shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{}", self.phrase())]
pub enum Unfit {
    /// Longer than a URL may be.
    TooLong,
    /// A control character, a space or a backslash: parsers drop them, or read them as something else.
    Character,
    /// No scheme, or not `http` or `https`.
    Scheme,
    /// No `//` and a host behind the scheme.
    NoHost,
    /// A user part before the host.
    UserPart,
    /// The host can be read in two ways, or in none: a number that is nearly an address, escapes, empty labels,
    /// characters that are mapped to others.
    Host,
    /// The port is not a plain number from 1 to 65535.
    Port,
    /// The rest does not parse.
    Malformed,
    /// The host is on no allow list, where one is needed.
    NotListed,
    /// The host is on the block list.
    Blocked,
    /// The port is blocked.
    BlockedPort,
    /// The host is an address that is not public.
    NotPublic,
    /// The host is a name that stands for this machine, its network, or a cloud's metadata.
    LocalName,
    /// The name has no address.
    Unresolved,
    /// Some address of the name is not public.
    PrivateAnswer,
}

impl Unfit {
    /// The phrase that a person is shown; fixed text.
    #[must_use]
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::TooLong => "the URL is too long",
            Self::Character => "a control character, space or backslash in the URL",
            Self::Scheme => "not http or https",
            Self::NoHost => "no host in the URL",
            Self::UserPart => "a user part in the URL",
            Self::Host => "the host can be read in two ways",
            Self::Port => "not a port",
            Self::Malformed => "not a URL",
            Self::NotListed => "the host is not on the allow list",
            Self::Blocked => "the host is on the block list",
            Self::BlockedPort => "the port is blocked",
            Self::NotPublic => "the address is not public",
            Self::LocalName => "a name of this machine, its network or its cloud",
            Self::Unresolved => "the name does not resolve",
            Self::PrivateAnswer => "the name resolves to an address that is not public",
        }
    }
}
