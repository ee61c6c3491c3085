//! An answer as a stream of server-sent events. It is pulled from the peers only as fast as the client takes it, and what
//! came together is sent together.

use super::{ReplyEvent, Source, Writer, endless, remark, warned};
use crate::fault::{Fault, Kind};
use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use ipc_proto::model::Usage;
use std::convert::Infallible;
use std::time::{Duration, Instant};

/// How long the first text is waited for before the head of the response is sent. Until then a fault is a response of its
/// own, with its status, as it would be upstream.
const FIRST: Duration = Duration::from_secs(10);
/// Text between a void part and the new beginning, since nothing can be taken back from a stream.
const AGAIN: &str = "\n\n";

/// Counts streams and their usage.
pub trait Meter: Send + 'static {
    /// A stream has begun.
    fn began(&self);
    /// Its usage is known.
    fn spent(&self, usage: Usage);
    /// A part of it is sent; with the `last` one the answer is whole. One that fails has no such part.
    fn sent(&mut self, part: &[u8], last: bool);
    /// It has ended, or nobody takes it any more.
    fn ended(&self);
}

/// Counts nothing.
impl Meter for () {
    fn began(&self) {}
    fn spent(&self, _: Usage) {}
    fn sent(&mut self, _: &[u8], _: bool) {}
    fn ended(&self) {}
}

/// A stream under way.
struct Stream<S, W, M: Meter> {
    meter: M,
    source: S,
    writer: W,
    /// The events that came before the head was sent.
    first: Option<Vec<ReplyEvent>>,
    usage: Usage,
    /// Bytes of text and arguments.
    bytes: usize,
    /// True if any text was sent since the answer began or began again.
    spoke: bool,
    /// Calls that were sent; they cannot be taken back.
    calls: usize,
    over: bool,
    /// It ended as it should.
    whole: bool,
}

/// The response, once there is something to say.
///
/// # Errors
/// The answer failed before anything of it was said.
pub async fn respond(
    mut source: impl Source,
    writer: impl Writer,
    meter: impl Meter,
) -> Result<Response, Fault> {
    let first = first(&mut source).await?;
    let over = first.iter().find_map(|said| match said {
        ReplyEvent::OverBudget(per) => Some(*per),
        _ => None,
    });
    meter.began();
    let stream = Stream {
        meter,
        source,
        writer,
        first: Some(first),
        usage: Usage::default(),
        bytes: 0,
        spoke: false,
        calls: 0,
        over: false,
        whole: false,
    };
    let body = futures::stream::unfold(stream, |mut stream| async move {
        let bytes = stream.next().await?;
        Some((Ok::<_, Infallible>(bytes), stream))
    });
    Ok(warned(of_events(Body::from_stream(body)), over))
}

/// A response that is a stream of events.
pub fn of_events(body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // A reverse proxy that gathers what it passes on would hold the stream back.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// The events until the answer has text or time is up.
async fn first(source: &mut impl Source) -> Result<Vec<ReplyEvent>, Fault> {
    let began = Instant::now();
    let mut all = Vec::new();
    loop {
        let mut is_word = false;
        for said in source.next().await {
            match said {
                ReplyEvent::Failed(fault) if !is_word => return Err(fault),
                ReplyEvent::Note(_)
                | ReplyEvent::Usage(_)
                | ReplyEvent::OverBudget(_)
                | ReplyEvent::Void
                | ReplyEvent::By(_) => {}
                _ => is_word = true,
            }
            all.push(said);
        }
        if is_word || began.elapsed() >= FIRST {
            return Ok(all);
        }
    }
}

impl<S: Source, W: Writer, M: Meter> Stream<S, W, M> {
    /// The next bytes to send; `None` after the end.
    async fn next(&mut self) -> Option<Bytes> {
        if self.over {
            return None;
        }
        let mut out = Vec::with_capacity(1024);
        let said = match self.first.take() {
            Some(first) => {
                self.name(&first);
                self.writer.open(&mut out);
                first
            }
            None => self.source.next().await,
        };
        if said.is_empty() && out.is_empty() {
            self.writer.idle(&mut out);
        }
        for said in said {
            self.take(said, &mut out);
            if self.over {
                self.meter.spent(self.usage);
                break;
            }
        }
        // A body may not have an empty part in it.
        if out.is_empty() {
            self.writer.idle(&mut out);
        }
        self.meter.sent(&out, self.whole);
        Some(Bytes::from(out))
    }

    fn take(&mut self, said: ReplyEvent, out: &mut Vec<u8>) {
        match said {
            ReplyEvent::Text(text) => self.say(&text, out),
            ReplyEvent::Call(_) if self.calls > 0 && self.writer.takes_one_call() => {}
            ReplyEvent::Call(call) => {
                self.bytes += call.args.len();
                self.calls += 1;
                self.writer.call(&call, out);
            }
            ReplyEvent::Thought(thought) => {
                self.bytes += thought.bytes();
                self.writer.thought(&thought, out);
            }
            ReplyEvent::Void if self.calls > 0 => {
                let message = "The model failed after it had asked for calls, which cannot be taken back.";
                self.fail(&Fault::new(Kind::Upstream, message), out);
            }
            ReplyEvent::Void if self.spoke => {
                self.say(AGAIN, out);
                self.spoke = false;
            }
            ReplyEvent::Void => {}
            ReplyEvent::By(model) => self.writer.by(model),
            // It was sent in pieces, unless those were lost.
            ReplyEvent::Answer(text) => {
                if !self.spoke && !text.is_empty() {
                    self.say(&text, out);
                }
            }
            ReplyEvent::Note(note) => remark(out, &note),
            ReplyEvent::OverBudget(per) => {
                remark(out, &format!("the budget per {per} is used up, and only warns"));
            }
            ReplyEvent::Usage(usage) => self.usage = usage,
            ReplyEvent::Done(finish) => {
                (self.over, self.whole) = (true, true);
                self.writer.end(finish, self.usage, out);
            }
            ReplyEvent::Failed(fault) => self.fail(&fault, out),
        }
        if self.bytes > super::WHOLE && !self.over {
            self.fail(&endless(), out);
        }
    }

    /// The head of a stream names who answers, as far as that is known by then.
    fn name(&mut self, first: &[ReplyEvent]) {
        for said in first {
            if let ReplyEvent::By(model) = said {
                self.writer.by(model.clone());
            }
        }
    }

    fn say(&mut self, text: &str, out: &mut Vec<u8>) {
        self.bytes += text.len();
        self.spoke = true;
        self.writer.text(text, out);
    }

    fn fail(&mut self, fault: &Fault, out: &mut Vec<u8>) {
        self.over = true;
        self.writer.fail(fault, out);
    }
}

impl<S, W, M: Meter> Drop for Stream<S, W, M> {
    fn drop(&mut self) {
        self.meter.ended();
    }
}
