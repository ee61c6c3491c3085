//! Logins of OAuth as values of secrets: the tokens in them, how long they hold, and the token server's reply as a new
//! value. Pure.

use crate::secret::Secret;
use ipc_proto::credproxy::{CredError, Grant, LOGIN, Login, LoginInfo};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use std::time::Duration;
use zeroize::Zeroizing;

/// Tokens that end within so long are asked for anew, ms.
const EARLY_MS: u64 = 300_000;

/// A login, if the value is one.
pub(crate) fn read(value: &[u8]) -> Option<Login> {
    serde_json::from_slice(value.strip_prefix(LOGIN.as_bytes())?).ok()
}

/// The part of a login that may be shown; no other part is copied.
#[derive(Deserialize)]
struct Known {
    grant: KnownGrant,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum KnownGrant {
    Code(IgnoredAny),
    Tokens { refresh: Option<IgnoredAny>, until_ms: Option<u64> },
}

/// When a value that is a login expires, and whether it renews itself.
pub(crate) fn standing(value: &Secret) -> Option<LoginInfo> {
    let known: Known = serde_json::from_slice(value.reveal().strip_prefix(LOGIN.as_bytes())?).ok()?;
    match known.grant {
        KnownGrant::Tokens { refresh, until_ms } => Some(LoginInfo { until_ms, renews: refresh.is_some() }),
        KnownGrant::Code(_) => None,
    }
}

/// The parts of a value that nobody may see: each token of a login, or all of it.
pub(crate) fn parts(value: &Secret) -> Vec<Secret> {
    let Some(Login { client_secret, grant, .. }) = read(value.reveal()) else { return own(value) };
    let tokens = match grant {
        Grant::Code { code, verifier, .. } => [Some(code), Some(verifier), client_secret],
        Grant::Tokens { access, refresh, .. } => [Some(access), refresh, client_secret],
    };
    tokens.into_iter().flatten().filter_map(secret).collect()
}

fn own(value: &Secret) -> Vec<Secret> {
    Secret::new(Zeroizing::new(value.reveal().to_vec())).into_iter().collect()
}

fn secret(text: String) -> Option<Secret> {
    Secret::new(Zeroizing::new(text.into_bytes()))
}

/// The token of a login that a request carries.
pub(crate) struct Bearer {
    /// The token.
    pub(crate) access: Secret,
    /// True if another can be asked for.
    pub(crate) renewable: bool,
}

/// The token of a login; `None` for one that has only a code.
pub(crate) fn bearer(login: &Login) -> Option<Bearer> {
    let Grant::Tokens { access, refresh, .. } = &login.grant else { return None };
    Some(Bearer { access: secret(access.clone())?, renewable: refresh.is_some() })
}

/// Returns true if its token holds for five more minutes, or as long as anybody knows.
pub(crate) fn holds(login: &Login, now_ms: u64) -> bool {
    match &login.grant {
        Grant::Code { .. } => false,
        Grant::Tokens { refresh: None, .. } | Grant::Tokens { until_ms: None, .. } => true,
        Grant::Tokens { until_ms: Some(until), .. } => until.saturating_sub(EARLY_MS) > now_ms,
    }
}

/// Returns true if its token has not expired yet, so that it serves while its server is away.
pub(crate) fn lasts(login: &Login, now_ms: u64) -> bool {
    matches!(login.grant, Grant::Tokens { until_ms: Some(until), .. } if until > now_ms)
}

/// The fields of a token server's reply that are read.
#[derive(Deserialize)]
pub(crate) struct TokenReply {
    access_token: String,
    refresh_token: Option<String>,
    #[serde(default, deserialize_with = "seconds")]
    expires_in: Option<u64>,
}

/// Seconds: servers write them as a number, whole or not, or within quotes. Anything else is no expiry, and the token is
/// used until it is refused.
fn seconds<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Whole(u64),
        Number(f64),
        Quoted(String),
        Other(IgnoredAny),
    }
    Ok(match Written::deserialize(from)? {
        Written::Whole(seconds) => Some(seconds),
        Written::Number(number) => Duration::try_from_secs_f64(number).ok().map(|span| span.as_secs()),
        Written::Quoted(text) => text.trim().parse().ok(),
        Written::Other(_) => None,
    })
}

/// The login with the tokens of a reply.
pub(crate) fn with(login: Login, reply: TokenReply, now_ms: u64) -> Login {
    // A server that sends no new refresh token keeps the old one valid.
    let before = match login.grant {
        Grant::Tokens { refresh, .. } => refresh,
        Grant::Code { .. } => None,
    };
    let until = reply.expires_in.map(|seconds| now_ms.saturating_add(seconds.saturating_mul(1000)));
    let grant = Grant::Tokens {
        access: reply.access_token,
        refresh: reply.refresh_token.filter(|token| !token.is_empty()).or(before),
        until_ms: until,
    };
    Login { grant, ..login }
}

/// A login as a value. Tokens that no header can carry are refused.
pub(crate) fn written(login: &Login) -> Result<Secret, CredError> {
    let Grant::Tokens { access, refresh, .. } = &login.grant else { return Err(CredError::Login) };
    let fits = |token: &String| secret(token.clone()).is_some();
    let json = serde_json::to_string(login).map(Zeroizing::new).map_err(|_| CredError::Login)?;
    let value = Secret::new(Zeroizing::new([LOGIN.as_bytes(), json.as_bytes()].concat()));
    value.filter(|_| fits(access) && refresh.as_ref().is_none_or(fits)).ok_or(CredError::Login)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(refresh: Option<&str>, until_ms: Option<u64>) -> Login {
        Login {
            token_url: "https://login.test/token".to_owned(),
            client_id: "me".to_owned(),
            client_secret: None,
            resource: None,
            grant: Grant::Tokens {
                access: "access-token-1".to_owned(),
                refresh: refresh.map(str::to_owned),
                until_ms,
            },
        }
    }

    #[test]
    fn a_renewable_token_is_renewed_five_minutes_before_its_end() {
        let until = 1_000_000;
        for (login, now, good) in [
            (tokens(Some("refresh-1"), Some(until)), until - EARLY_MS - 1, true),
            (tokens(Some("refresh-1"), Some(until)), until - EARLY_MS, false),
            (tokens(Some("refresh-1"), Some(until)), until + 1, false),
            (tokens(Some("refresh-1"), None), until, true),
            (tokens(None, Some(until)), until + 1, true),
        ] {
            assert_eq!(holds(&login, now), good, "{now}");
        }
    }

    #[test]
    fn a_login_is_read_back_and_its_tokens_are_its_secret_parts() {
        let login = tokens(Some("refresh-token-1"), Some(7));
        let value = written(&login).unwrap();
        assert!(read(value.reveal()).unwrap() == login);
        assert_eq!(standing(&value), Some(LoginInfo { until_ms: Some(7), renews: true }));
        let parts: Vec<String> =
            parts(&value).iter().map(|part| String::from_utf8(part.reveal().to_vec()).unwrap()).collect();
        assert_eq!(parts, ["access-token-1", "refresh-token-1"]);
        let plain = Secret::new(Zeroizing::new(b"just-a-key".to_vec())).unwrap();
        assert!(read(plain.reveal()).is_none() && standing(&plain).is_none());
        assert_eq!(super::parts(&plain)[0].reveal(), b"just-a-key");
    }

    // Holds P4-16.
    #[test]
    fn an_expiry_is_read_in_every_form_that_servers_write() {
        for (written, seconds) in [
            ("3600", Some(3600)),
            ("\"3600\"", Some(3600)),
            ("\" 3600 \"", Some(3600)),
            ("3599.9", Some(3599)),
            ("-1", None),
            ("1e300", None),
            ("null", None),
            ("\"soon\"", None),
            ("{\"x\":[1]}", None),
        ] {
            let reply = format!(r#"{{"access_token":"access-token-1","expires_in":{written}}}"#);
            let reply: TokenReply = serde_json::from_str(&reply).unwrap();
            assert_eq!(reply.expires_in, seconds, "{written}");
        }
        let reply: TokenReply = serde_json::from_str(r#"{"access_token":"access-token-1"}"#).unwrap();
        assert!(reply.expires_in.is_none() && reply.refresh_token.is_none());
    }

    #[test]
    fn a_refresh_token_that_is_not_replaced_stays_and_one_that_is_does_not() {
        let reply = |refresh: Option<&str>| TokenReply {
            access_token: "access-token-2".to_owned(),
            refresh_token: refresh.map(str::to_owned),
            expires_in: Some(10),
        };
        for (refresh, want) in
            [(None, "refresh-1"), (Some(""), "refresh-1"), (Some("refresh-2"), "refresh-2")]
        {
            let next = with(tokens(Some("refresh-1"), None), reply(refresh), 1000);
            let Grant::Tokens { access, refresh, until_ms } = next.grant else { panic!("a code") };
            assert_eq!((access.as_str(), refresh.as_deref()), ("access-token-2", Some(want)));
            assert_eq!(until_ms, Some(11_000));
        }
        let broken = with(
            tokens(None, None),
            TokenReply { access_token: "line\nend".to_owned(), refresh_token: None, expires_in: None },
            0,
        );
        assert!(written(&broken).is_err());
    }
}
