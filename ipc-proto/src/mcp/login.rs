//! Logging in at a server elsewhere, by OAuth: the addresses that the server and its authorization server publish. All of it is a
//! stranger's word, and is shown to the owner before it is used.

use crate::{List, Text};
use serde::{Deserialize, Serialize};

/// Scopes of a login.
pub const SCOPES: usize = 32;

/// The name of the secret that holds the login of this server.
#[must_use]
pub fn secret_of(server: &str) -> String {
    format!("mcp.{server}")
}

/// The terms of a login.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoginTerms {
    /// The server's own address, for which tokens are asked.
    pub resource: Text<2048>,
    /// Its host and port, the only ones that a token goes to.
    pub host: Text<260>,
    /// The authorization server, as it calls itself.
    pub issuer: Text<1024>,
    /// The address where a person consents.
    pub authorization_endpoint: Text<1024>,
    /// The address that gives tokens out.
    pub token_endpoint: Text<1024>,
    /// The address at which a client registers itself, where there is one.
    pub registration_endpoint: Option<Text<1024>>,
    /// The scopes that the server wants.
    pub scopes: List<Text<128>, SCOPES>,
    /// An answer has to name the issuer (RFC 9207).
    pub names_issuer: bool,
    /// A client may be known by the address of its metadata.
    pub client_documents: bool,
    /// The configuration has this token endpoint, so that credproxy may ask it.
    pub configured: bool,
}

/// Why there are no terms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum NoLogin {
    /// It is a program of this host.
    #[error("it is a program of this host, and one logs in at a server with a `url` alone")]
    Program,
    /// A service has its secret.
    #[error("its requests carry the secret of the service {0}; take `service` out of its table first")]
    Service(Text<64>),
    /// Metadata could not be fetched; the address, and why.
    #[error("{url} gave no metadata: {why}")]
    Fetch {
        /// The address.
        url: Text<1024>,
        /// Why.
        why: Text<512>,
    },
    /// Metadata say what they must not; the address, and the rule.
    #[error("the metadata at {url} are refused: {rule}")]
    Refused {
        /// The address.
        url: Text<1024>,
        /// The rule.
        rule: Text<256>,
    },
    /// The authorization server registers no client.
    #[error(
        "the authorization server registers no clients; register one there by hand, with the redirect address \
         http://127.0.0.1/callback, and give it as --client-id"
    )]
    NoRegistration,
}
