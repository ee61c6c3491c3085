//! A reply that holds its permits until its client has taken it, or has taken too long. It is sent in small parts: once its permits are
//! free, only the connection holds a rest of it.

use crate::permits::MemoryPermits;
use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use hyper::body::{Body as Parts, Frame, SizeHint};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

/// Bytes that are given on at once: less than a connection holds.
const PART: usize = 16 << 10;
/// How long a client may take over a reply; one that takes nothing at all for as long is ended by its connection.
const PATIENCE: Duration = Duration::from_secs(60);

/// The reply, which holds these permits until it was taken.
pub(crate) fn hold_until_sent<B>(reply: axum::http::Response<B>, places: MemoryPermits) -> Response
where
    B: Parts<Data = Bytes> + Unpin + Send + 'static,
    B::Error: Into<axum::BoxError>,
{
    reply.map(|body| {
        Body::new(Held { body, rest: Bytes::new(), until: Instant::now() + PATIENCE, _places: places })
    })
}

struct Held<B> {
    body: B,
    /// The data that has come and was not sent yet.
    rest: Bytes,
    until: Instant,
    _places: MemoryPermits,
}

impl<B> Parts for Held<B>
where
    B: Parts<Data = Bytes> + Unpin,
    B::Error: Into<axum::BoxError>,
{
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if Instant::now() >= self.until {
            return Poll::Ready(Some(Err(io::Error::from(io::ErrorKind::TimedOut).into())));
        }
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                Some(Err(error)) => return Poll::Ready(Some(Err(error.into()))),
                None => return Poll::Ready(None),
            }
        }
        let length = self.rest.len().min(PART);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, of_body) = (self.rest.len() as u64, self.body.size_hint());
        let mut hint = SizeHint::new();
        hint.set_lower(of_body.lower() + rest);
        if let Some(upper) = of_body.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permits::Permits;
    use http_body_util::{BodyExt, Full};
    use ipc_proto::ids::UserId;

    // Holds B-158.
    #[tokio::test]
    async fn a_reply_holds_its_permits_until_its_last_part_is_sent() {
        let permits = Permits::default();
        let places = permits.memory(UserId::from_bytes([1; 16])).await.unwrap();
        let all = Bytes::from(vec![7; 3 * PART + 1]);
        let mut body = hold_until_sent(Response::new(Full::new(all)), places).into_body();
        assert_eq!(body.size_hint().exact(), Some(3 * PART as u64 + 1));
        let mut parts = Vec::new();
        while !body.is_end_stream() {
            assert_eq!(permits.asking(), 1);
            parts.push(body.frame().await.unwrap().unwrap().into_data().unwrap().len());
        }
        assert_eq!(parts, [PART, PART, PART, 1]);
        drop(body);
        assert_eq!(permits.asking(), 0);
    }

    // Holds B-158.
    #[tokio::test]
    async fn a_client_that_takes_too_long_over_a_reply_is_ended() {
        let places = Permits::default().memory(UserId::from_bytes([1; 16])).await.unwrap();
        let mut held = Held {
            body: Full::new(Bytes::from("x")),
            rest: Bytes::new(),
            until: Instant::now(),
            _places: places,
        };
        assert!(held.frame().await.unwrap().is_err());
    }
}
