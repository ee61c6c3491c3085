//! The lines of an MCP client as the SDK's server takes them. A line that is no message is answered by its code here, and so
//! is a question before the greeting; the SDK sees what is left, and writes as it always does. It must never end for what a
//! client said.

use futures::StreamExt;
use futures::future::BoxFuture;
use memory_tools::hear;
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, GetMeta, JsonRpcError, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use std::io;
use tokio::io::{AsyncRead, AsyncWrite, Empty, empty};
use tokio_util::bytes::{Bytes, BytesMut};
use tokio_util::codec::{AnyDelimiterCodec, AnyDelimiterCodecError, Decoder, FramedRead};

/// Bytes of one message of a client; a longer one is refused unread.
const LINE: usize = 8 << 20;
/// What a question is answered with that came before the greeting, as open-mem answers it.
const NOT_GREETED: ErrorCode = ErrorCode(-32002);

/// A line that is longer than any may be; it is skipped to its end.
struct TooLong;

/// Lines, of which one that is too long is no failure of those behind it.
struct Split(AnyDelimiterCodec);

impl Decoder for Split {
    type Item = Result<Bytes, TooLong>;
    type Error = io::Error;

    fn decode(&mut self, bytes: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        told(self.0.decode(bytes))
    }

    fn decode_eof(&mut self, bytes: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        told(self.0.decode_eof(bytes))
    }
}

fn told(line: Result<Option<Bytes>, AnyDelimiterCodecError>) -> io::Result<Option<Result<Bytes, TooLong>>> {
    match line {
        Ok(line) => Ok(line.map(Ok)),
        Err(AnyDelimiterCodecError::MaxChunkLengthExceeded) => Ok(Some(Err(TooLong))),
        Err(AnyDelimiterCodecError::Io(error)) => Err(error),
    }
}

/// A client at the other end of two pipes.
pub(super) struct Lines<R, W: AsyncWrite> {
    input: FramedRead<R, Split>,
    output: AsyncRwTransport<RoleServer, Empty, W>,
    /// A refusal on its way. Who waits for a message may stop waiting and begin again: it is kept meanwhile.
    refusal: Option<BoxFuture<'static, io::Result<()>>>,
    greeted: bool,
    /// A question went on that the SDK may begin with.
    begun: bool,
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> Lines<R, W> {
    pub(super) fn new(input: R, output: W) -> Self {
        let lines = AnyDelimiterCodec::new_with_max_length(b"\n".to_vec(), b"\n".to_vec(), LINE);
        Self {
            input: FramedRead::new(input, Split(lines)),
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
                    let heard = hear(&mut Vec::from(line));
                    // What is no question is about nothing yet, and the SDK would end for it.
                    let is_early = !self.begun
                        && heard.as_ref().is_ok_and(|said| !matches!(said, ClientJsonRpcMessage::Request(_)));
                    if !is_early {
                        return Some(heard.and_then(|said| self.in_order(said)));
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

    /// The message, unless it is a question that comes too early. One that says which version it speaks needs no greeting.
    fn in_order(&mut self, said: ClientJsonRpcMessage) -> Result<ClientJsonRpcMessage, Box<JsonRpcError>> {
        let ClientJsonRpcMessage::Request(asked) = &said else { return Ok(said) };
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
        Ok(said)
    }
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> Transport<RoleServer>
    for Lines<R, W>
{
    type Error = io::Error;

    fn send(&mut self, said: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.output.send(said)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            // Nothing more is read before it is written, so that a client that reads nothing fills nobody's memory.
            if let Some(refusal) = &mut self.refusal {
                let written = refusal.await;
                self.refusal = None;
                written.ok()?;
            }
            match self.next().await? {
                Ok(said) => return Some(said),
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
    fn what_is_no_question_is_passed_over_until_there_was_one_that_the_sdk_begins_with() {
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
        let heard = runtime.block_on(async {
            let mut heard = Vec::new();
            while let Some(said) = lines.next().await {
                heard.push(matches!(said, Ok(ClientJsonRpcMessage::Request(_))));
            }
            heard
        });
        assert_eq!(heard, [true, true, false], "ping, greeting and what follows it");
    }
}
