//! An answer on its way: from an agent's turn or from a model, told in the words of whichever API was asked by.
//!
//! A client that goes away ends what it alone pays for, a model's answer; an agent's turn goes on.

mod source;
mod stream;

pub(crate) use source::{Said, Source};
pub(crate) use stream::of_events;

use crate::desk::Desk;
use crate::fault::{Fault, Kind};
use crate::guard::Who;
use crate::kept::{self, Claim};
use crate::wish::Wish;
use crate::{agents, ids, relay};
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use ipc_proto::Name;
use ipc_proto::ids::{CallId, TurnId};
use ipc_proto::model::{Finish, Usage};
use serde_json::Value;
use std::sync::Arc;

/// What stands before the name of an agent where a model's is asked for.
pub(crate) const AGENT: &str = "agent/";
/// Bytes of text and arguments in one answer; a model that never ends is cut off there.
const WHOLE: usize = 8 << 20;

/// A call that a model asks for; its arguments are whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) id: CallId,
    pub(crate) tool: Name,
    /// JSON.
    pub(crate) args: String,
}

/// A whole answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Whole {
    pub(crate) text: String,
    pub(crate) calls: Vec<Call>,
    pub(crate) usage: Usage,
    pub(crate) finish: Finish,
}

/// What an answer is an answer of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The agent's turn; none if a model was passed through to.
    pub(crate) turn: Option<TurnId>,
}

/// Tells an answer in the words of one API. Events go to the end of `out`, ready to be sent.
pub(crate) trait Writer: Send + 'static {
    /// The answer begins; called once, before anything else, for a stream and for a whole answer alike.
    fn begin(&mut self, origin: Origin);
    /// What a stream opens with.
    fn open(&mut self, out: &mut Vec<u8>);
    /// Text was said.
    fn text(&mut self, text: &str, out: &mut Vec<u8>);
    /// A call was asked for.
    fn call(&mut self, call: &Call, out: &mut Vec<u8>);
    /// The end.
    fn end(&mut self, finish: Finish, usage: Usage, out: &mut Vec<u8>);
    /// The end, by a fault.
    fn fail(&mut self, fault: &Fault, out: &mut Vec<u8>);
    /// Nothing has happened for a while.
    fn idle(&self, out: &mut Vec<u8>);
    /// The whole answer as one document.
    fn whole(&mut self, whole: &Whole) -> Value;
}

/// One request for an answer.
pub(crate) struct Request<'a> {
    pub(crate) desk: &'a Arc<Desk>,
    pub(crate) who: &'a Who,
    pub(crate) headers: &'a HeaderMap,
    /// Its body, by which a repetition is known.
    pub(crate) body: &'a [u8],
    /// Whether it is to come as a stream.
    pub(crate) streams: bool,
}

/// Answers it.
///
/// # Errors
/// Why there is no answer, as long as nothing of one was sent.
pub(crate) async fn give(
    request: &Request<'_>,
    wish: Wish,
    mut writer: impl Writer,
) -> Result<Response, Fault> {
    let key = kept::key(request.headers)?;
    let is_agent = wish.request.model.starts_with(AGENT);
    // An agent's messages are kept apart by router itself, durably.
    let claim = match &key {
        Some(key) if !is_agent && !request.streams => {
            match request.desk.kept.claim(request.who.caller, key, request.body)? {
                Claim::Answered(body) => return Ok(document(Body::from(body))),
                Claim::Ours(claim) => Some(claim),
            }
        }
        _ => None,
    };
    let mut source = begin(request, &wish, key.as_deref()).await?;
    writer.begin(source.origin());
    if request.streams {
        return stream::respond(request.desk, source, writer).await;
    }
    let whole = collect(&mut source).await?;
    request.desk.metrics.spent(is_agent, whole.usage);
    let body = bytes::Bytes::from(writer.whole(&whole).to_string());
    if let Some(claim) = claim {
        claim.keep(&body);
    }
    Ok(document(Body::from(body)))
}

async fn begin(request: &Request<'_>, wish: &Wish, key: Option<&str>) -> Result<Source, Fault> {
    let Request { desk, who, headers, .. } = request;
    match wish.request.model.strip_prefix(AGENT) {
        Some(agent) => agents::begin(desk, who, headers, agent, wish, key).await.map(Source::Turn),
        None => relay::begin(desk, who, wish).await.map(Source::Relay),
    }
}

/// The whole of an answer. What was said before a model was replaced by another is not part of it.
async fn collect(source: &mut Source) -> Result<Whole, Fault> {
    let mut whole =
        Whole { text: String::new(), calls: Vec::new(), usage: Usage::default(), finish: Finish::Stop };
    let mut bytes = 0;
    loop {
        for said in source.next().await {
            match said {
                Said::Text(text) => {
                    bytes += text.len();
                    whole.text.push_str(&text);
                }
                Said::Call(call) => {
                    bytes += call.args.len();
                    whole.calls.push(call);
                }
                Said::Void => {
                    whole.text.clear();
                    whole.calls.clear();
                }
                Said::Answer(text) => whole.text = text,
                Said::Usage(usage) => whole.usage = usage,
                Said::Note(_) => {}
                Said::Done(finish) => {
                    whole.finish = finish;
                    return Ok(whole);
                }
                Said::Failed(fault) => return Err(fault),
            }
            if bytes > WHOLE {
                return Err(endless());
            }
        }
    }
}

/// The answer is over its bound.
fn endless() -> Fault {
    Fault::new(Kind::Upstream, format!("The model said more than {WHOLE} bytes and was cut off."))
}

/// A response that is one document.
pub(crate) fn document(body: Body) -> Response {
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The id of an answer: that of the turn behind it, or a new one.
pub(crate) fn id(prefix: &str, origin: Origin) -> String {
    origin.turn.map_or_else(|| ids::fresh(prefix), |turn| format!("{prefix}{}", ids::hex(&turn.bytes())))
}

/// One event of a stream: its data, and its name where the API gives events names.
pub(crate) fn event(out: &mut Vec<u8>, name: Option<&str>, data: &impl serde::Serialize) {
    if let Some(name) = name {
        out.extend_from_slice(b"event: ");
        out.extend_from_slice(name.as_bytes());
        out.push(b'\n');
    }
    out.extend_from_slice(b"data: ");
    // Nothing that is sent here can fail to be written as JSON.
    if serde_json::to_writer(&mut *out, data).is_err() {
        out.extend_from_slice(b"{}");
    }
    out.extend_from_slice(b"\n\n");
}

/// A remark that clients pass over, on one line.
pub(crate) fn remark(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(b": ");
    out.extend(text.bytes().map(|byte| if byte.is_ascii_control() { b' ' } else { byte }));
    out.extend_from_slice(b"\n\n");
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests {
    use super::*;

    fn run<T>(test: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test)
    }

    fn text(text: &str) -> Said {
        Said::Text(text.into())
    }

    fn whole(said: Vec<Vec<Said>>) -> Result<Whole, Fault> {
        run(collect(&mut Source::given(said)))
    }

    #[test]
    fn a_whole_answer_leaves_out_what_became_void() {
        let call = Call { id: CallId::random(), tool: Name::clip("read"), args: "{}".into() };
        let usage = Usage { input: 3, output: 2, ..Usage::default() };
        let said = vec![
            vec![text("no"), Said::Call(call.clone()), Said::Void],
            vec![],
            vec![
                text("a"),
                text("b"),
                Said::Call(call.clone()),
                Said::Usage(usage),
                Said::Done(Finish::ToolUse),
            ],
        ];
        let expected = Whole { text: "ab".into(), calls: vec![call], usage, finish: Finish::ToolUse };
        assert_eq!(whole(said).unwrap(), expected);
        let turn = vec![vec![text("partly"), Said::Answer("all of it".into()), Said::Done(Finish::Stop)]];
        assert_eq!(whole(turn).unwrap().text, "all of it");
    }

    #[test]
    fn an_answer_that_fails_or_never_ends_is_a_fault() {
        let fault = Fault::new(Kind::Late, "late");
        assert_eq!(whole(vec![vec![text("a"), Said::Failed(fault.clone())]]).unwrap_err(), fault);
        let endless = vec![vec![text(&"a".repeat(1 << 20))]; 9];
        assert_eq!(whole(endless).unwrap_err().kind(), Kind::Upstream);
    }

    #[test]
    fn a_remark_is_one_line_whatever_it_says() {
        let mut out = Vec::new();
        remark(&mut out, "tool\ndata: {}\r\n\u{e9}");
        assert_eq!(String::from_utf8(out).unwrap(), ": tool data: {}  \u{e9}\n\n");
    }
}
