//! An answer on its way to a client: a sequence of events, written in the form of the API that was asked by. It must never end an answer
//! twice, nor add to it.

mod stream;

pub use stream::{Meter, of_events, respond};

use crate::fault::{Fault, Kind};
use crate::ids;
use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use data_encoding::HEXLOWER_PERMISSIVE as HEX;
use ipc_proto::Name;
use ipc_proto::ids::{CallId, TurnId};
use ipc_proto::model::{Finish, Per, Thought, Usage};
use serde_json::Value;
use std::time::{SystemTime, UNIX_EPOCH};

/// The header that names a budget which is used up, and only warns.
const OVER: &str = "x-budget-used-up";
/// Bytes of text and arguments in one answer; a model that never ends is cut off there.
const WHOLE: usize = 8 << 20;

/// Seconds since 1970, as an answer says when it was made.
pub(crate) fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// One event of a reply, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplyEvent {
    /// Text of the answer.
    Text(String),
    /// A call that the client is to run.
    Call(Call),
    /// A block of reasoning that the client is to hand back.
    Thought(Thought),
    /// The text so far is void: the answer begins again.
    Void,
    /// Another model answers than was asked for: this one.
    By(String),
    /// The whole text as it was stored. It replaces the text so far.
    Answer(String),
    /// Something that is no part of the answer.
    Note(String),
    /// Tokens so far.
    Usage(Usage),
    /// A budget that only warns is used up.
    OverBudget(Per),
    /// The end.
    Done(Finish),
    /// The end, by a fault.
    Failed(Fault),
}

/// Where an answer comes from.
pub trait Source: Send + 'static {
    /// The next events; none if that took about 20 s. After `Done` and `Failed` nothing follows.
    fn next(&mut self) -> impl Future<Output = Vec<ReplyEvent>> + Send;

    /// The origin of the answer.
    fn origin(&self) -> Origin;
}

/// A call that a model asks for; its arguments are whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its id.
    pub id: CallId,
    /// The tool.
    pub tool: Name,
    /// JSON.
    pub args: String,
}

/// A whole answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whole {
    /// Its text.
    pub text: String,
    /// The calls that it asks for.
    pub calls: Vec<Call>,
    /// Blocks of reasoning that the client is to hand back.
    pub thoughts: Vec<Thought>,
    /// Tokens.
    pub usage: Usage,
    /// Why it ended.
    pub finish: Finish,
    /// The model that answered, if it is another than was asked for.
    pub by: Option<String>,
    /// A budget that is used up, and only warns.
    pub over: Option<Per>,
}

/// The origin of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The agent's turn; none if a model was passed through to.
    pub turn: Option<TurnId>,
}

/// Writes an answer in the form of one API. Events go to the end of `out`, ready to be sent.
pub trait Writer: Send + 'static {
    /// The answer begins; called once, before anything else, for a stream and for a whole answer alike.
    fn begin(&mut self, origin: Origin);
    /// Another model answers than was asked for.
    fn by(&mut self, model: String);
    /// Returns true if the client takes one call at most. A model that asks for more is not asked again: it gets the result of the first
    /// and asks for the next.
    fn takes_one_call(&self) -> bool {
        false
    }
    /// Opens a stream.
    fn open(&mut self, out: &mut Vec<u8>);
    /// Text of the answer.
    fn text(&mut self, text: &str, out: &mut Vec<u8>);
    /// A whole block of reasoning. Only the API of the vendor that takes it back has a form for it.
    fn thought(&mut self, _: &Thought, _: &mut Vec<u8>) {}
    /// A call was asked for.
    fn call(&mut self, call: &Call, out: &mut Vec<u8>);
    /// The end.
    fn end(&mut self, finish: Finish, usage: Usage, out: &mut Vec<u8>);
    /// The end, by a fault.
    fn fail(&mut self, fault: &Fault, out: &mut Vec<u8>);
    /// Nothing has happened for a while.
    fn idle(&self, out: &mut Vec<u8>);
    /// The whole answer as one document, from the model that [`Writer::by`] named.
    fn compose(&mut self, whole: &Whole) -> Value;

    /// The whole answer as one document, from the model that gave it.
    fn whole(&mut self, whole: &Whole) -> Value {
        if let Some(model) = &whole.by {
            self.by(model.clone());
        }
        if self.takes_one_call() && whole.calls.len() > 1 {
            let calls = whole.calls.iter().take(1).cloned().collect();
            return self.compose(&Whole { calls, ..whole.clone() });
        }
        self.compose(whole)
    }
}

/// The whole of an answer. What was said before a model was replaced by another is not part of it.
///
/// # Errors
/// The answer failed, or has no end.
pub async fn collect(source: &mut impl Source) -> Result<Whole, Fault> {
    let mut whole = Whole {
        text: String::new(),
        calls: Vec::new(),
        thoughts: Vec::new(),
        usage: Usage::default(),
        finish: Finish::Stop,
        by: None,
        over: None,
    };
    let mut bytes = 0;
    loop {
        for said in source.next().await {
            match said {
                ReplyEvent::Text(text) => {
                    bytes += text.len();
                    whole.text.push_str(&text);
                }
                ReplyEvent::Call(call) => {
                    bytes += call.args.len();
                    whole.calls.push(call);
                }
                ReplyEvent::Thought(thought) => {
                    bytes += thought.bytes();
                    whole.thoughts.push(thought);
                }
                ReplyEvent::Void => {
                    whole.text.clear();
                    whole.calls.clear();
                    whole.thoughts.clear();
                }
                ReplyEvent::By(model) => whole.by = Some(model),
                ReplyEvent::Answer(text) => whole.text = text,
                ReplyEvent::Usage(usage) => whole.usage = usage,
                ReplyEvent::OverBudget(per) => whole.over = Some(per),
                ReplyEvent::Note(_) => {}
                ReplyEvent::Done(finish) => {
                    whole.finish = finish;
                    return Ok(whole);
                }
                ReplyEvent::Failed(fault) => return Err(fault),
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

/// The same response, which says in its head which budget is used up, and only warns.
#[must_use]
pub fn warned(mut response: Response, over: Option<Per>) -> Response {
    if let Some(per) = over.and_then(|per| HeaderValue::from_str(&per.to_string()).ok()) {
        response.headers_mut().insert(OVER, per);
    }
    response
}

/// A response that is one document.
pub fn document(body: Body) -> Response {
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The id of an answer: that of the turn behind it, or a new one.
pub fn id(prefix: &str, origin: Origin) -> String {
    origin.turn.map_or_else(|| ids::fresh(prefix), |turn| format!("{prefix}{}", HEX.encode(&turn.bytes())))
}

/// One event of a stream: its data, and its name where the API gives events names.
pub fn event(out: &mut Vec<u8>, name: Option<&str>, data: &impl serde::Serialize) {
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
pub fn remark(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(b": ");
    out.extend(text.bytes().map(|byte| if byte.is_ascii_control() { b' ' } else { byte }));
    out.extend_from_slice(b"\n\n");
}

#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::Text;

    struct Scripted(std::collections::VecDeque<Vec<ReplyEvent>>);

    impl Source for Scripted {
        async fn next(&mut self) -> Vec<ReplyEvent> {
            self.0.pop_front().unwrap_or_default()
        }

        fn origin(&self) -> Origin {
            Origin { turn: None }
        }
    }

    fn run<T>(test: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test)
    }

    fn text(text: &str) -> ReplyEvent {
        ReplyEvent::Text(text.into())
    }

    fn whole(said: Vec<Vec<ReplyEvent>>) -> Result<Whole, Fault> {
        run(collect(&mut Scripted(said.into())))
    }

    #[test]
    fn a_whole_answer_leaves_out_what_became_void() {
        let call = Call { id: CallId::random(), tool: Name::clip("read"), args: "{}".into() };
        let usage = Usage { input: 3, output: 2, ..Usage::default() };
        let said = vec![
            vec![
                text("no"),
                ReplyEvent::Thought(Thought { text: Text::clip("hm"), ..Thought::default() }),
                ReplyEvent::Call(call.clone()),
                ReplyEvent::OverBudget(Per::Day),
                ReplyEvent::Void,
                ReplyEvent::By("c/d".into()),
            ],
            vec![],
            vec![
                text("a"),
                text("b"),
                ReplyEvent::Call(call.clone()),
                ReplyEvent::Usage(usage),
                ReplyEvent::Done(Finish::ToolUse),
            ],
        ];
        let expected = Whole {
            text: "ab".into(),
            calls: vec![call],
            thoughts: vec![],
            usage,
            finish: Finish::ToolUse,
            by: Some("c/d".into()),
            over: Some(Per::Day),
        };
        assert_eq!(whole(said).unwrap(), expected);
        let turn = vec![vec![
            text("partly"),
            ReplyEvent::Answer("all of it".into()),
            ReplyEvent::Done(Finish::Stop),
        ]];
        assert_eq!(whole(turn).unwrap().text, "all of it");
    }

    // Holds B-155.
    #[test]
    fn an_answer_that_fails_or_never_ends_is_a_fault() {
        let fault = Fault::new(Kind::Late, "late");
        assert_eq!(whole(vec![vec![text("a"), ReplyEvent::Failed(fault.clone())]]).unwrap_err(), fault);
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
