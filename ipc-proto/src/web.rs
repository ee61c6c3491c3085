//! Web fetches and searches the public web, over connections that dialer made. It holds no secret and serves the
//! gate alone; everything it gives back is untrusted.

use crate::credproxy::{CredError, Header};
use crate::dialer::DialError;
use crate::service::service;
use crate::{Blob, List, Name, Text};
use serde::{Deserialize, Serialize};

/// Bytes of a page that are read at most, and by default.
pub const PAGE_BOUND: usize = 1024 * 1024;
/// Time for one fetch by default, ms.
pub const FETCH_MS: u32 = 10_000;
/// Time for one fetch at most, ms.
pub const FETCH_MAX_MS: u32 = 30_000;
/// Redirects followed at most, each checked whole.
pub const REDIRECTS: u8 = 5;
/// Bytes of a challenge; of a longer one nothing is given.
pub const CHALLENGE: usize = 2048;
/// Bytes of a URL.
pub const URL_BOUND: usize = 2048;

/// How a fetch asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// Reads.
    Get,
    /// Reads the head.
    Head,
    /// Sends.
    Post,
    /// Replaces.
    Put,
    /// Changes.
    Patch,
    /// Removes.
    Delete,
}

/// The extent of the web that a profile or the owner permits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The hosts on the list.
    #[default]
    Allowlist,
    /// All but the hosts on the list.
    Blocklist,
    /// All public hosts.
    Unrestricted,
}

/// The addresses that a fetch and each of its redirects may go to. Only public addresses, whatever the rule
/// says, except hosts that the configuration names for this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// How the lists are meant.
    pub mode: Mode,
    /// Host globs, `*` standing for any number of labels or characters within one: with `allowlist` the only ones.
    pub allow: List<Text<253>, 64>,
    /// Host globs that are refused, in every mode.
    pub block: List<Text<253>, 64>,
    /// Ports that are refused.
    pub blocked_ports: List<u16, 64>,
    /// `host:port` that may be reached although not public; the lists hold for them all the same.
    pub private: List<Text<260>, 32>,
}

/// A fetch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fetch {
    /// The URL.
    pub url: Text<URL_BOUND>,
    /// How.
    pub method: Method,
    /// Headers besides those web sets; not carried to another origin.
    pub headers: List<Header, 16>,
    /// The body of the request; not carried over a redirect.
    pub body: Option<Blob<65536>>,
    /// Bytes read at most.
    pub max_bytes: u32,
    /// Time for all of it, ms.
    pub timeout_ms: u32,
    /// Where it may go.
    pub rule: Rule,
    /// A redirect to another origin is refused.
    pub same_origin: bool,
}

/// A fetched page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// HTTP status.
    pub status: u16,
    /// The address it came from in the end.
    pub url: Text<URL_BOUND>,
    /// Its media type.
    pub media_type: Text<128>,
    /// Its text: HTML as readable text, other text as it is; bytes that are no text are named, not shown.
    pub text: Text<PAGE_BOUND>,
    /// More followed than was read.
    pub cut: bool,
    /// Redirects that were followed.
    pub redirects: u8,
    /// The first header `WWW-Authenticate` of a reply of 401, where it is text; empty else.
    pub challenge: Text<CHALLENGE>,
}

/// A hit of a search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Its title.
    pub title: Text<512>,
    /// Its address.
    pub url: Text<URL_BOUND>,
    /// The words around the match.
    pub snippet: Text<2048>,
}

/// Why nothing was fetched or found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum WebError {
    /// The address, or one that it redirected to, is refused by the rule; the reason is a fixed phrase.
    #[error(
        "the address is refused: {0}; name the host in [web] allow or [web] private_hosts if it is meant"
    )]
    Refused(Name),
    /// No connection.
    #[error("no connection: {0}")]
    Dial(DialError),
    /// TLS failed.
    #[error("the TLS handshake failed; check the host's name and certificate")]
    Tls,
    /// The server broke HTTP, or went away.
    #[error("the server broke the protocol or went away; try again")]
    Upstream,
    /// Nothing is unpacked here.
    #[error("the server compressed its reply although it was asked for `identity`; use another address")]
    Compressed,
    /// More redirects than are followed.
    #[error("more than {REDIRECTS} redirects; use the address that they lead to")]
    Redirects,
    /// A redirect would have left TLS; both origins, as in a URL. Nothing was dialled for it.
    #[error("{from} redirects to {to}, which has no TLS; use {to} by itself if it may be read in the clear")]
    Downgrade {
        /// The origin that was asked.
        from: Text<272>,
        /// The origin that it names.
        to: Text<272>,
    },
    /// It took too long.
    #[error("no answer in time; try again later")]
    TimedOut,
    /// No search provider is configured.
    #[error("no search provider is configured: set `web.search.provider`")]
    NoProvider,
    /// The search provider refused or failed.
    #[error("the search provider answered with status {0}; check its key and address in [web.search]")]
    Provider(u16),
    /// The search provider's credentials.
    #[error("{0}")]
    Credentials(CredError),
    /// The query is empty or over 500 characters, or another field is out of its bounds.
    #[error("a field is out of its bounds: {0}; give a smaller one")]
    BadRequest(Name),
    /// Too many fetches at once.
    #[error("too many fetches at once; try again")]
    Busy,
}

service! {
    /// The public web.
    pub trait Web {
        /// Fetches one address.
        [once, 128, 40]
        async fn fetch(fetch: Fetch) -> Result<Page, WebError>;
        /// Searches; `max` is 1 to 20.
        [once, 4, 40]
        async fn search(query: Text<2048>, max: u8) -> Result<List<Found, 20>, WebError>;
    }
}
