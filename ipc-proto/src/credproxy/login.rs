//! The value of a secret that is an OAuth login. The process that seals it and the one that uses it share these
//! types. As bytes it is [`LOGIN`] and then JSON of a [`Login`].

use serde::{Deserialize, Serialize};

/// The prefix of a login's value.
pub const LOGIN: &str = "cordon-oauth-1 ";
/// Bytes of a token server's reply.
pub const REPLY_BOUND: usize = 16 * 1024;

/// A login. It has no `Debug`: most of it is secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Login {
    /// Where tokens are given out.
    pub token_url: String,
    /// The OAuth client.
    pub client_id: String,
    /// The client's secret, where the server demands one of a program on a person's own machine.
    pub client_secret: Option<String>,
    /// The address that tokens are asked for (RFC 8707), where the login names one.
    #[serde(default)]
    pub resource: Option<String>,
    /// The current grant.
    pub grant: Grant,
}

/// The public facts about a login.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoginInfo {
    /// When the token that requests carry now ends, unix ms, if its server said.
    pub until_ms: Option<u64>,
    /// True if another is asked for before that, by itself.
    pub renews: bool,
}

/// The credential with which tokens are requested.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub enum Grant {
    /// A person has just said yes: the code for that, once.
    Code {
        /// The code.
        code: String,
        /// The verifier that the challenge was computed from.
        verifier: String,
        /// Where the code was sent to.
        redirect_uri: String,
    },
    /// Tokens that were given out.
    Tokens {
        /// The token that requests carry.
        access: String,
        /// The token with which the next ones are requested, if the server gave one.
        refresh: Option<String>,
        /// When `access` ends, unix ms, if the server said.
        until_ms: Option<u64>,
    },
}
