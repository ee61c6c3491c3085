//! Renewal of OAuth logins: tokens that are about to expire, and those that a service has refused once, are asked for anew.
//! The token server's reply is the one body that credproxy parses.

use crate::address::Address;
use crate::binding::Wanted;
use crate::escape::percent;
use crate::headers;
use crate::login_value::{Bearer, TokenReply, bearer, holds, lasts, read, with, written};
use crate::pool::Purpose;
use crate::proxy::{Outside, Proxy, about};
use crate::secret::Secret;
use crate::vault::Fresh;
use crate::vault_actor::VaultRequest;
use bytes::Bytes;
use http::{Method, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use ipc_proto::audit::{Action, Result3};
use ipc_proto::credproxy::{CredError, Grant, Header, Login, REPLY_BOUND};
use ipc_proto::{List, Name, Text};
use tokio::time::timeout;
use zeroize::Zeroizing;

/// Returns true if a later attempt may succeed although nobody does anything.
const fn is_transient(fault: CredError) -> bool {
    matches!(fault, CredError::Dial(_) | CredError::Tls | CredError::Upstream | CredError::Stalled)
}

impl<O: Outside> Proxy<O> {
    /// The token of a login for this use. `refused` is one that its service no longer accepts: then, or where the token is
    /// about to expire, one request at a time asks for another, and all that waited use it. While the token still serves,
    /// no request waits for another's renewal.
    pub(crate) async fn token(
        &self,
        name: &Name,
        wanted: &Wanted,
        login: Login,
        refused: Option<&Secret>,
    ) -> Result<Bearer, CredError> {
        if refused.is_none() && holds(&login, kit::now_ms()) {
            return bearer(&login).ok_or(CredError::Login);
        }
        let turn = self.logins.of(name);
        let _turn = match turn.try_lock() {
            Ok(turn) => turn,
            Err(_) if refused.is_none() && lasts(&login, kit::now_ms()) => {
                return bearer(&login).ok_or(CredError::Login);
            }
            Err(_) => turn.lock().await,
        };
        let now = self.ask(|reply| VaultRequest::Again(name.clone(), wanted.clone(), reply)).await?;
        let login = read(now.reveal()).ok_or(CredError::Login)?;
        let known = bearer(&login).ok_or(CredError::Login)?;
        let refused = refused.is_some_and(|refused| refused.reveal() == known.access.reveal());
        if !refused && holds(&login, kit::now_ms()) {
            return Ok(known);
        }
        let event = about(Action::SecretUsed, Result3::Success, name).because("a login is renewed");
        self.outside.record(event).await?;
        let login = match self.granted(name, login.clone()).await {
            Err(fault) if !refused && is_transient(fault) && lasts(&login, kit::now_ms()) => {
                return Ok(known);
            }
            granted => granted?,
        };
        let value = written(&login)?;
        self.ask(|reply| VaultRequest::Renew(name.clone(), now, value, reply)).await?;
        bearer(&login).ok_or(CredError::Login)
    }

    /// A fresh login with its code becomes one with tokens, before it is stored.
    pub(crate) async fn logged_in(&self, name: &Name, fresh: Fresh) -> Result<Fresh, CredError> {
        match read(fresh.value().reveal()) {
            Some(login) if matches!(login.grant, Grant::Code { .. }) => {
                let login = self.granted(name, login).await?;
                Ok(fresh.with(written(&login)?))
            }
            _ => Ok(fresh),
        }
    }

    /// The login with the tokens that its server gives for its code or its refresh token.
    async fn granted(&self, name: &Name, login: Login) -> Result<Login, CredError> {
        let address = Address::parse(&login.token_url)?;
        if !address.tls && !self.plain_http.contains(&address.target) {
            return Err(CredError::BadUrl);
        }
        let purpose =
            Purpose { secret: Some(name.clone()), target: address.target.clone(), tls: address.tls };
        let (reply, _lease) = self.send(asked(&login, &address)?, &address, purpose).await?;
        let status = reply.status();
        let body = Limited::new(reply.into_body(), REPLY_BOUND).collect();
        let body = timeout(self.limits.stall, body).await.map_err(|_| CredError::Stalled)?;
        let body = Zeroizing::new(body.map_err(|_| CredError::Login)?.to_bytes().to_vec());
        if !status.is_success() {
            tracing::warn!(status = status.as_u16(), "the token server refused");
            // A server that is busy or broken has decided nothing about the login.
            let away = status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
            return Err(if away { CredError::Upstream } else { CredError::Login });
        }
        let tokens: TokenReply = serde_json::from_slice(&body).map_err(|_| CredError::Login)?;
        Ok(with(login, tokens, kit::now_ms()))
    }
}

/// The request to a token server.
fn asked(login: &Login, address: &Address) -> Result<http::Request<Full<Bytes>>, CredError> {
    let mut fields = vec![("client_id", login.client_id.as_str())];
    fields.extend(login.client_secret.as_deref().map(|secret| ("client_secret", secret)));
    fields.extend(login.resource.as_deref().map(|resource| ("resource", resource)));
    match &login.grant {
        Grant::Code { code, verifier, redirect_uri } => fields.extend([
            ("grant_type", "authorization_code"),
            ("code", code),
            ("code_verifier", verifier),
            ("redirect_uri", redirect_uri),
        ]),
        Grant::Tokens { refresh, .. } => {
            let refresh = refresh.as_deref().ok_or(CredError::Login)?;
            fields.extend([("grant_type", "refresh_token"), ("refresh_token", refresh)]);
        }
    }
    let mut form = Zeroizing::new(String::new());
    for (name, value) in fields {
        let mark = if form.is_empty() { "" } else { "&" };
        form.push_str(&Zeroizing::new(format!("{mark}{name}={}", *percent(value.as_bytes(), true))));
    }
    let header = |name: &str, value: &str| Header { name: Name::clip(name), value: Text::clip(value) };
    let own: List<Header, 2> = List::clip([
        header("content-type", "application/x-www-form-urlencoded"),
        header("accept", "application/json"),
    ]);
    let mut request = http::Request::new(Full::new(Bytes::copy_from_slice(form.as_bytes())));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = address.path.parse().map_err(|_| CredError::BadUrl)?;
    *request.headers_mut() = headers::build(&address.to_string(), &own, None, false)?;
    Ok(request)
}
