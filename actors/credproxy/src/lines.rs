//! Opening a line of IMAP or SMTP: to a host of the account, over TLS, logged in with a secret of the account after that use is on
//! the record.

use crate::binding::Wanted;
use crate::line_login::Dialogue;
use crate::line_stream::LineStream;
use crate::proxy::{Outside, Proxy, Used};
use crate::streams::Owner;
use crate::upstream::broken;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::credproxy::{At, CredError, LineProtocol, Mechanism, Verb};
use ipc_proto::dialer::{Host, HostPort, NoHost};
use ipc_proto::{Name, Text};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use tokio::time::timeout;

/// The line to open.
pub(crate) struct Line {
    /// Its protocol.
    pub(crate) protocol: LineProtocol,
    /// The server.
    pub(crate) server: HostPort,
    /// True if TLS begins after a command.
    pub(crate) upgrade: bool,
    /// The name by which this host greets.
    pub(crate) name: Text<253>,
    /// The user.
    pub(crate) user: Text<320>,
    /// The user's secret.
    pub(crate) secret: Name,
    /// The way in which it is given.
    pub(crate) mechanism: Mechanism,
}

/// The server of a line.
pub(crate) fn server_of(text: &str) -> Result<HostPort, CredError> {
    text.parse().map_err(|NoHost| CredError::BadUrl)
}

impl<O: Outside> Proxy<O> {
    /// Opens a line and logs in.
    pub(crate) async fn open_line(
        &self,
        (caller, account): Owner,
        line: Line,
    ) -> Result<LineStream, CredError> {
        let named = line.name.parse::<Host>().is_ok();
        if !named || line.user.chars().any(char::is_control) {
            return Err(CredError::BadHeader);
        }
        let sum: [u8; 32] = Sha256::digest(format!("{} {}", line.server, line.user.as_str())).into();
        if !self.accounts.admits(caller, &account, &line.server, Some(&line.secret)) {
            tracing::warn!(caller = caller.name(), "refused: a login that is not the account's");
            let event = Event::new(Action::SecretMisdirected, Result3::Blocked).about(&line.secret);
            let why = "not a host or a secret of the account";
            self.note(Event { hash: Some(sum), ..event.because(why) }).await;
            return Err(CredError::NotBound);
        }
        let wanted =
            Wanted { target: line.server.clone(), verb: Verb::Get, path: "/".to_owned(), at: At::Login };
        let used = Used { name: line.secret.clone(), wanted, sum, bytes: 0, poll: None };
        match timeout(self.limits.head, self.log_in(&line, &used)).await {
            Ok(opened) => opened,
            Err(_) => Err(CredError::Stalled),
        }
    }

    async fn log_in(&self, line: &Line, used: &Used) -> Result<LineStream, CredError> {
        let Line { protocol, server, .. } = line;
        // HTTP is no protocol of this connection.
        let mut tls = (*self.tls).clone();
        tls.alpn_protocols.clear();
        let tls = Arc::new(tls);
        let descriptor = self.outside.dial(server).await?;
        let at_once = (!line.upgrade).then_some(&tls);
        let opened = ::upstream::open(descriptor, &server.host, at_once, self.limits.handshake).await;
        let mut dialogue = Dialogue::new(*protocol, opened.map_err(broken)?);
        dialogue.greeting().await?;
        if line.upgrade {
            let stream = dialogue.begin_tls(&line.name).await?;
            let secured = ::upstream::secure(stream, &server.host, &tls, self.limits.handshake).await;
            dialogue = Dialogue::new(*protocol, secured.map_err(broken)?);
        }
        dialogue.capabilities(&line.name).await?;
        let value = self.value(used).await?;
        dialogue.login(line.mechanism, &line.user, &value).await?;
        let (stream, first) = dialogue.into_parts();
        let live = Arc::clone(&self.patterns.borrow());
        Ok(LineStream::new(stream, &first, &live))
    }
}
