//! The lines of an MCP client for the SDK's server. A line that is no message gets its error here, as does a request before
//! the greeting; the SDK receives the other lines. No input of a client may end the server.

use crate::json_lines::{self, LINE, TooLong};
use futures::StreamExt;
use futures::future::BoxFuture;
use memory_tools::read_message;
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, GetMeta, JsonRpcError, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use std::io;
use tokio::io::{AsyncRead, AsyncWrite, Empty, empty};

/// The error for a request before the greeting, as open-mem answers it.
const NOT_GREETED: ErrorCode = ErrorCode(-32002);

/// A client at the other end of two pipes.
pub(super) struct Lines<R, W: AsyncWrite> {
    input: json_lines::Lines<R>,
    output: AsyncRwTransport<RoleServer, Empty, W>,
    /// A refusal that is being written. It stays here if the future that reads a message is dropped.
    refusal: Option<BoxFuture<'static, io::Result<()>>>,
    greeted: bool,
    /// True after a request with which the SDK may begin.
    begun: bool,
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> Lines<R, W> {
    pub(super) fn new(input: R, output: W) -> Self {
        Self {
            input: json_lines::lines(input),
            output: AsyncRwTransport::new_server(empty(), output),
            refusal: None,
            greeted: false,
            begun: false,
        }
    }

    /// The next line as a message or a refusal; none at the end.
    async fn next(&mut self) -> Option<Result<ClientJsonRpcMessage, Box<JsonRpcError>>> {
        loop {
            match self.input.next().await {
                Some(Ok(Ok(line))) if line.trim_ascii().is_empty() => {}
                Some(Ok(Ok(line))) => {
                    let received = read_message(&mut Vec::from(line));
                    // A notification before the greeting has no meaning yet, and the SDK would end at it.
                    let is_early = !self.begun
                        && received
                            .as_ref()
                            .is_ok_and(|message| !matches!(message, ClientJsonRpcMessage::Request(_)));
                    if !is_early {
                        return Some(received.and_then(|message| self.in_order(message)));
                    }
                }
                Some(Ok(Err(TooLong))) => {
                    let why = format!("Invalid request: a message has at most {LINE} bytes");
                    return Some(Err(Box::new(JsonRpcError::new(
                        None,
                        ErrorData::invalid_request(why, None),
                    ))));
                }
                Some(Err(_)) | None => return None,
            }
        }
    }

    /// The message, unless it is a request that comes too early. A request with a protocol version needs no greeting.
    fn in_order(&mut self, message: ClientJsonRpcMessage) -> Result<ClientJsonRpcMessage, Box<JsonRpcError>> {
        let ClientJsonRpcMessage::Request(asked) = &message else { return Ok(message) };
        match &asked.request {
            ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => {}
            ClientRequest::InitializeRequest(_) => (self.greeted, self.begun) = (true, true),
            request if self.greeted || request.get_meta().protocol_version().is_some() => self.begun = true,
            _ => {
                let why = "Server not initialized: `initialize` comes first";
                return Err(Box::new(JsonRpcError::new(
                    Some(asked.id.clone()),
                    ErrorData::new(NOT_GREETED, why, None),
                )));
            }
        }
        Ok(message)
    }
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> Transport<RoleServer>
    for Lines<R, W>
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.output.send(message)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            // Nothing more is read before it is written, so a client that reads nothing cannot fill the memory.
            if let Some(refusal) = &mut self.refusal {
                let written = refusal.await;
                self.refusal = None;
                written.ok()?;
            }
            match self.next().await? {
                Ok(message) => return Some(message),
                Err(error) => {
                    self.refusal = Some(Box::pin(self.output.send(ServerJsonRpcMessage::Error(*error))))
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.close().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notifications_before_the_first_request_are_skipped() {
        let lines = [
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        ]
        .join("\n");
        let mut lines = Lines::new(lines.as_bytes(), tokio::io::sink());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let received = runtime.block_on(async {
            let mut received = Vec::new();
            while let Some(message) = lines.next().await {
                received.push(matches!(message, Ok(ClientJsonRpcMessage::Request(_))));
            }
            received
        });
        assert_eq!(received, [true, true, false], "ping, greeting and what follows it");
    }
}
