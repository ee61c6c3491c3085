//! Reasons for which credproxy refuses or fails, and the one question a sender has about each: may the request have left?

use serde::{Deserialize, Serialize};

/// The reason for which a request was not sent, or a secret not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum CredError {
    /// No secret of this name.
    #[error("no secret of this name; set it with `agentctl cred set NAME --host HOST`")]
    NoSecret,
    /// The secret is not bound to this host, or not to this use of it.
    #[error(
        "the secret is not bound to this use: the host, the verb, the path or the place is another; see `agentctl \
         cred show`"
    )]
    NotBound,
    /// Not a URL that may be used: `https`, no user part; `http` only to hosts the configuration names.
    #[error("the address is not allowed; use https, or name the host in [credproxy] plain_http")]
    BadUrl,
    /// The sealed value does not open with this vault's key, or was sealed for another name or other hosts.
    #[error("the sealed value does not open for this name and these hosts; read the public key again")]
    NotSealed,
    /// The vault cannot be read or written.
    #[error("the vault cannot be read or written; `agentctl doctor` says what is wrong")]
    Vault,
    /// No connection.
    #[error("no connection: {0}")]
    Dial(crate::dialer::DialError),
    /// TLS failed.
    #[error("the TLS handshake failed; check the host's name and certificate")]
    Tls,
    /// The connection was over before anything of the request had left, or the login that it needs could not be renewed.
    #[error(
        "nothing of the request was sent: the connection was over, or its login could not be renewed; try again"
    )]
    Unsent,
    /// The upstream broke HTTP, or went away.
    #[error("the upstream broke the protocol or went away; check the address, and try again")]
    Upstream,
    /// The server answered in the place of the upgrade to a WebSocket, or gave no address for one.
    #[error("the server answered {status} in the place of a WebSocket; check the token and the address")]
    NoUpgrade {
        /// Its HTTP status.
        status: u16,
    },
    /// Nothing came for too long.
    #[error("the upstream stalled; try again later")]
    Stalled,
    /// No such reply, or it was closed.
    #[error("no such reply; ask again")]
    NoReply,
    /// Too many secrets, replies or proofs at once.
    #[error("too many at once; try again, or remove a secret (`agentctl cred list`)")]
    Full,
    /// The use could not be recorded, so it did not happen.
    #[error("the use could not be recorded; `agentctl status` says why")]
    NotRecorded,
    /// A header that callers may not set, or that is not a header.
    #[error("a header is not one that may be set, or is malformed; leave it out")]
    BadHeader,
    /// A value that no header can carry, or that is too short to be found again in a reply.
    #[error(
        "the value is shorter than 8 bytes, or holds something other than printable ASCII; give the value as the \
         service issued it"
    )]
    BadValue,
    /// One to eight exact hosts, a name of letters and digits, and nothing that can never be asked for.
    #[error(
        "bad name, host, path or place; use a name of letters, digits, `.`, `_` and `-`; one to eight hosts, each `host` or `host:port`; \
         paths without segments of dots; headers that a request may set"
    )]
    BadBinding,
    /// The vault waits for its passphrase.
    #[error("the vault is locked; unlock it with `agentctl cred unlock`")]
    Locked,
    /// The passphrase does not open the vault.
    #[error("this is not the vault's passphrase or key; try again with the right one")]
    WrongPassphrase,
    /// A passphrase that is too short or too long.
    #[error("a passphrase has 12 to 1,024 bytes; choose another")]
    BadPassphrase,
    /// The configuration has the vault opened by another key.
    #[error("the vault is not opened by a passphrase; set `[credproxy] key = \"passphrase\"` to have it so")]
    NotByPassphrase,
    /// The secret was revoked.
    #[error("the secret was revoked; set it again to use it")]
    Revoked,
    /// The secret's time is over.
    #[error("the secret has expired; set it again to use it")]
    Expired,
    /// The secret was used as often as it may be.
    #[error("the secret was used as often as it may be; set it again to use it")]
    Spent,
    /// A binding that is wider than the one that holds.
    #[error("a binding can only be narrowed; for a wider one give the value again with `agentctl cred set`")]
    Widens,
    /// A secret for a field of a body or for a login cannot be tried by a request without one.
    #[error("the secret goes into a body, which a trial has not; use it in a call of an agent")]
    NoTrial,
    /// The placeholder stands nowhere, twice, or in another place than the secret's.
    #[error(
        "the mark of the secret is missing or misplaced; put it once into the request, exactly where the secret goes"
    )]
    Misplaced,
    /// The token server refused, or its answer cannot be used.
    #[error("the login has ended or was refused; log in again with `agentctl cred login`")]
    Login,
    /// A reply is searched for secrets, which is impossible in a compressed one.
    #[error(
        "the upstream compressed its reply although it was asked for `identity`; use another address of the service"
    )]
    Compressed,
}

impl CredError {
    /// Returns true if nothing of the request has left this machine, or what left was refused and had no effect, so that it may
    /// be sent again. After any other error the outcome is unknown.
    #[must_use]
    pub const fn never_left(self) -> bool {
        !matches!(self, Self::Upstream | Self::Stalled | Self::Compressed | Self::NoReply)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialer::DialError;

    // Holds P4-33.
    #[test]
    fn only_what_failed_before_the_request_left_may_be_sent_again() {
        let before = [
            CredError::Unsent,
            CredError::Dial(DialError::Refused),
            CredError::Tls,
            CredError::Full,
            CredError::NotRecorded,
            CredError::Locked,
            CredError::NotBound,
        ];
        assert!(before.iter().all(|error| error.never_left()));
        let unknown = [CredError::Upstream, CredError::Stalled, CredError::Compressed, CredError::NoReply];
        assert!(unknown.iter().all(|error| !error.never_left()));
    }
}
