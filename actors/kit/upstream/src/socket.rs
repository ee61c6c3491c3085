//! WebSockets over a connection that dialer made: the upgrade, and whole messages in both directions. Nothing is compressed, and
//! pings are answered while messages are read.

use crate::conversation::{Bytewise, Fault};
use bytes::Bytes;
use futures::{SinkExt, StreamExt};
use http::header::{CONNECTION, HOST, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE};
use http::{HeaderMap, HeaderValue, Request};
use std::time::Duration;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};

/// An upgraded connection. Dropping it closes it.
pub struct Socket(WebSocketStream<Box<dyn Bytewise>>);

/// A part of what comes in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// A whole message, text or not.
    Message(Bytes),
    /// The other end has closed it, for this reason.
    Closed(Option<u16>),
}

/// Why an upgrade came to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoUpgrade {
    /// The server answered with this status in the place of the upgrade.
    #[error("the server answered {0} in the place of the upgrade")]
    Status(u16),
    /// The connection failed.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl Socket {
    /// Asks for an upgrade on this path with these headers, among them the host. A message is at most `bound` bytes long.
    ///
    /// # Errors
    /// [`NoUpgrade`].
    pub async fn upgrade(
        stream: Box<dyn Bytewise>,
        path: &str,
        mut headers: HeaderMap,
        bound: usize,
        patience: Duration,
    ) -> Result<Self, NoUpgrade> {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok()).ok_or(Fault::Name)?;
        let mut request = Request::new(());
        *request.uri_mut() = format!("wss://{host}{path}").parse().map_err(|_| Fault::Name)?;
        let key = HeaderValue::from_str(&generate_key()).map_err(|_| Fault::Protocol)?;
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
        headers.insert(SEC_WEBSOCKET_KEY, key);
        *request.headers_mut() = headers;
        let limits = WebSocketConfig::default().max_message_size(Some(bound)).max_frame_size(Some(bound));
        let asked = tokio_tungstenite::client_async_with_config(request, stream, Some(limits));
        match timeout(patience, asked).await {
            Ok(Ok((socket, _))) => Ok(Self(socket)),
            Ok(Err(Error::Http(reply))) => Err(NoUpgrade::Status(reply.status().as_u16())),
            Ok(Err(_)) => Err(Fault::Protocol.into()),
            Err(_) => Err(Fault::Stalled.into()),
        }
    }

    /// The next message. It may be dropped and asked again without a loss.
    ///
    /// # Errors
    /// [`Fault::Protocol`]: the connection broke, or a message was over the bound.
    pub async fn next(&mut self) -> Result<Received, Fault> {
        loop {
            return match self.0.next().await {
                Some(Ok(Message::Text(text))) => Ok(Received::Message(text.into())),
                Some(Ok(Message::Binary(bytes))) => Ok(Received::Message(bytes)),
                Some(Ok(Message::Close(frame))) => {
                    Ok(Received::Closed(frame.map(|frame| u16::from(frame.code))))
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
                Some(Err(_)) => Err(Fault::Protocol),
                None => Ok(Received::Closed(None)),
            };
        }
    }

    /// Sends a text message.
    ///
    /// # Errors
    /// [`Fault::Protocol`], [`Fault::Stalled`]; whether it arrived is unknown.
    pub async fn send(&mut self, text: String, patience: Duration) -> Result<(), Fault> {
        match timeout(patience, self.0.send(Message::text(text))).await {
            Ok(sent) => sent.map_err(|_| Fault::Protocol),
            Err(_) => Err(Fault::Stalled),
        }
    }
}
