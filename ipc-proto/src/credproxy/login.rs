//! What a login of OAuth is as a secret's value: who seals it and who uses it share these types. As bytes it is
//! [`LOGIN`] and then JSON of a [`Login`].

use serde::{Deserialize, Serialize};

/// What the value of a login begins with.
pub const LOGIN: &str = "cordon-oauth-1 ";
/// Bytes of a token server's reply.
pub const REPLY_BOUND: usize = 16 * 1024;

/// A login. It has no `Debug`: most of it is secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Login {
    /// Where tokens are given out.
    pub token_url: String,
    /// Who asks for them.
    pub client_id: String,
    /// What proves it, where the server wants that of a program on somebody's own machine.
    pub client_secret: Option<String>,
    /// What there is to ask with.
    pub grant: Grant,
}

/// What may be known of a login.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoginInfo {
    /// When the token that requests carry now ends, unix ms, if its server said.
    pub until_ms: Option<u64>,
    /// True if another is asked for before that, by itself.
    pub renews: bool,
}

/// What tokens are asked for with.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub enum Grant {
    /// A person has just said yes: the code for that, once.
    Code {
        /// The code.
        code: String,
        /// What the challenge was made of.
        verifier: String,
        /// Where the code was sent to.
        redirect_uri: String,
    },
    /// Tokens that were given out.
    Tokens {
        /// What requests carry.
        access: String,
        /// What the next ones are asked for with, if the server gave one.
        refresh: Option<String>,
        /// When `access` ends, unix ms, if the server said.
        until_ms: Option<u64>,
    },
}
