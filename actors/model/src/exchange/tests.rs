//! Tests of the exchange, over a provider made of a head and chunks.

use super::*;
use crate::offline::testing::{payer, request};
use crate::streams::Streams;
use ipc_proto::config::{Provider as Configured, ProviderKind, ProviderModel};
use ipc_proto::credproxy::Header;
use ipc_proto::model::{Embedding, Finish, Usage};
use ipc_proto::{Blob, List, Text};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use tokio::task::LocalSet;

/// The next action of a provider.
#[derive(Clone)]
enum Does {
    Sends(Vec<u8>),
    Waits(u64),
    Fails(ModelError),
}

/// A provider made of a head and a body; the body ends after it.
#[derive(Clone)]
struct Provider {
    status: Result<u16, ModelError>,
    headers: Vec<(&'static str, &'static str)>,
    does: Rc<RefCell<VecDeque<Does>>>,
    pulled: Rc<Cell<u32>>,
    closed: Rc<Cell<u32>>,
}

impl Provider {
    fn new(status: u16, does: impl IntoIterator<Item = Does>) -> Self {
        let does = Rc::new(RefCell::new(does.into_iter().collect()));
        let (pulled, closed) = (Rc::default(), Rc::default());
        Self { status: Ok(status), headers: Vec::new(), does, pulled, closed }
    }

    fn sends(parts: &[&[u8]]) -> Self {
        Self::new(200, parts.iter().map(|part| Does::Sends(part.to_vec())))
    }

    fn says(status: u16, headers: &[(&'static str, &'static str)], body: &str) -> Self {
        let headers = headers.to_vec();
        Self { headers, ..Self::new(status, [Does::Sends(body.into())]) }
    }
}

impl Upstream for Provider {
    async fn request(&self, _: credproxy::Request) -> Result<Head, ModelError> {
        let header =
            |(name, value): &(&str, &str)| Header { name: Text::clip(name), value: Text::clip(value) };
        let headers = List::clip(self.headers.iter().map(header));
        Ok(Head {
            reply: Reply(1),
            status: self.status?,
            retry_after: None,
            headers,
            first: Chunk::default(),
        })
    }

    async fn next(&self, _: Reply) -> Result<Chunk, ModelError> {
        self.pulled.set(self.pulled.get() + 1);
        loop {
            let next = self.does.borrow_mut().pop_front();
            let bytes = match next {
                Some(Does::Waits(s)) => {
                    tokio::time::sleep(Duration::from_secs(s)).await;
                    continue;
                }
                Some(Does::Fails(error)) => return Err(error),
                Some(Does::Sends(bytes)) => bytes,
                None => Vec::new(),
            };
            let last = self.does.borrow().is_empty();
            return Ok(Chunk { bytes: Blob::new(bytes).unwrap(), last });
        }
    }

    async fn close(&self, _: Reply) {
        self.closed.set(self.closed.get() + 1);
    }
}

const fn known(embeds: bool) -> ProviderModel {
    ProviderModel {
        context: 8000,
        output: 500,
        tools: true,
        vision: false,
        embeds,
        sampling: true,
        forced: true,
        prices: None,
        long: None,
    }
}

fn configured() -> Configured {
    let base_url = "https://host/v1".to_owned();
    Configured { kind: ProviderKind::Openai, base_url, secret: None, models: [].into() }
}

/// A question of three tokens.
fn asking() -> Ask {
    dialect::ask(&configured(), "m", known(false), &request(&[("user", "a question?")], &[])).unwrap()
}

/// Everything that the answer gave.
async fn answer(provider: &Provider) -> Vec<Piece> {
    let streams = Streams::default();
    let id = streams.start(|outlet, stop| converse(provider.clone(), asking(), outlet, stop)).unwrap();
    let mut pieces = Vec::new();
    while !matches!(pieces.last(), Some(Piece::Done(_) | Piece::Failed(_))) {
        pieces.extend(streams.next(id, 64).await.unwrap());
    }
    // The task lets its reply go after the last piece.
    tokio::task::yield_now().await;
    pieces
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    LocalSet::new().block_on(&runtime, work)
}

fn run(provider: &Provider) -> Vec<Piece> {
    block_on(answer(provider))
}

const STREAM: &str = ": hello\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"h\u{e9}\u{1F600}\"}}]}\r\n\r\n\
    data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"x\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n\
    data: {\"choices\":[],\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n";
const WORD: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n";

fn word() -> Piece {
    Piece::Text(Text::clip("x"))
}

/// The tokens of an answer that broke off after one word.
fn spent() -> Piece {
    Piece::Usage(Usage { input: 3, output: 1, estimated: true, ..Usage::default() })
}

fn whole() -> Vec<Piece> {
    vec![
        Piece::Text(Text::clip("h\u{e9}\u{1F600}")),
        Piece::CallStart { index: 0, tool: Text::clip("x") },
        Piece::CallDelta { index: 0, args: Text::clip("{}") },
        Piece::CallEnd { index: 0 },
        Piece::Usage(Usage { input: 4, output: 2, ..Usage::default() }),
        Piece::Done(Finish::ToolUse),
    ]
}

#[test]
fn the_same_answer_comes_wherever_the_body_is_cut() {
    for at in 0..=STREAM.len() {
        let (first, second) = STREAM.as_bytes().split_at(at);
        let provider = Provider::sends(&[first, second]);
        assert_eq!(run(&provider), whole(), "{at}");
        assert_eq!(provider.closed.get(), 0, "{at}: what was read to its end need not be let go");
    }
}

// Holds B-86.
#[test]
fn a_reply_that_ends_keeps_its_connection() {
    let sends = |rest: &[Does]| {
        let provider = Provider::new(200, [&[Does::Sends(STREAM.into())], rest].concat());
        block_on(async {
            assert_eq!(answer(&provider).await, whole(), "nothing after it is waited for");
            tokio::time::sleep(Duration::from_secs(1)).await;
        });
        provider.closed.get()
    };
    assert_eq!(sends(&[Does::Sends(Vec::new())]), 0);
    assert_eq!(sends(&[Does::Sends(b": bye\n\n".to_vec()), Does::Sends(Vec::new())]), 0);
    assert_eq!(sends(&[Does::Waits(3600)]), 1);
    assert_eq!(sends(&[Does::Fails(ModelError::Truncated)]), 1);
}

#[test]
fn a_body_that_breaks_off_is_truncated_and_never_an_answer() {
    let begun = STREAM.find("data").unwrap();
    let finished = STREAM.find("data: {\"choices\":[],").unwrap();
    for at in begun..finished - 2 {
        let provider = Provider::sends(&[&STREAM.as_bytes()[..at]]);
        let last = run(&provider).pop();
        assert_eq!(last, Some(Piece::Failed(ModelError::Truncated)), "{at}");
    }
    let provider =
        Provider::new(200, [Does::Sends(STREAM[..finished].into()), Does::Fails(ModelError::Timeout)]);
    assert_eq!(
        run(&provider).pop(),
        Some(Piece::Done(Finish::ToolUse)),
        "the provider had said why it ended"
    );
}

#[test]
fn a_reply_that_is_no_stream_is_read_as_one_document() {
    let json = r#" {"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}"#;
    for at in 0..=json.len() {
        let (first, second) = json.as_bytes().split_at(at);
        let pieces = run(&Provider::sends(&[first, second]));
        assert_eq!(pieces[0], Piece::Text(Text::clip("hi")), "{at}");
        assert_eq!(pieces.last(), Some(&Piece::Done(Finish::Stop)), "{at}");
    }
    for broken in ["{", "[]", "{}", "{}x", r#"{"choices":[]}"#, "<html>", ""] {
        let last = run(&Provider::sends(&[broken.as_bytes()])).pop();
        let error = if broken == "<html>" || broken.is_empty() {
            ModelError::Truncated
        } else {
            ModelError::InvalidJson
        };
        assert_eq!(last, Some(Piece::Failed(error)), "{broken}");
    }
}

#[test]
fn a_refusal_is_what_its_status_its_headers_and_its_body_say() {
    let limited = ModelError::RateLimited { retry_after_s: 20 };
    let reset = [("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "20s")];
    for (status, headers, body, error) in [
        (401, &[][..], "secret words", ModelError::Auth),
        (503, &[], "", ModelError::Server { status: 503 }),
        (429, &reset, "{}", limited),
        (429, &reset, r#"{"error":{"code":"insufficient_quota"}}"#, ModelError::Rejected { status: 402 }),
        (400, &[], r#"{"error":{"code":"context_length_exceeded"}}"#, ModelError::TooLong { context: 8000 }),
        (404, &[], r#"{"error":{"code":"model_not_found"}}"#, ModelError::UnknownModel),
    ] {
        let provider = Provider::says(status, headers, body);
        assert_eq!(run(&provider), [Piece::Failed(error)], "{status} {body}");
        assert_eq!(provider.closed.get(), 0);
    }
    let mut provider = Provider::new(200, []);
    provider.status = Err(ModelError::Credentials(CredError::NoSecret));
    assert_eq!(run(&provider), [Piece::Failed(ModelError::Credentials(CredError::NoSecret))]);
    assert_eq!(provider.closed.get(), 0);
}

// Holds B-87.
#[test]
fn a_refusal_whose_body_stalls_or_never_ends_is_told_by_its_status() {
    let stalls = Provider::new(500, [Does::Waits(3600)]);
    assert_eq!(run(&stalls), [Piece::Failed(ModelError::Server { status: 500 })]);
    let endless = Provider::new(403, (0..1000).map(|_| Does::Sends(vec![b' '; CHUNK])));
    assert_eq!(run(&endless), [Piece::Failed(ModelError::Auth)]);
    assert_eq!((endless.pulled.get(), endless.closed.get()), (1, 1), "no more is read than is needed");
}

#[test]
fn a_reply_lost_by_credproxy_differs_from_a_broken_one() {
    let again = ModelError::Credentials(CredError::NoReply);
    assert_eq!(
        [lost(Fault::PeerRestarted), lost(Fault::Unreachable), broken_off(CredError::NoReply)],
        [again; 3]
    );
    assert_eq!(broken_off(CredError::Upstream), ModelError::Truncated);
    assert_eq!(unsent(CredError::Upstream), ModelError::Credentials(CredError::Upstream));
    let timeout = ModelError::Timeout;
    assert_eq!(
        [lost(Fault::Deadline), unsent(CredError::Stalled), broken_off(CredError::Stalled)],
        [timeout; 3]
    );
}

// Holds B-91.
#[test]
fn slow_pieces_are_waited_for_and_silence_is_not() {
    let parts = STREAM.as_bytes().chunks(40).flat_map(|part| [Does::Waits(20), Does::Sends(part.to_vec())]);
    assert_eq!(run(&Provider::new(200, parts)), whole());
    let comments = (0..10).flat_map(|_| [Does::Waits(15), Does::Sends(b": still here\n".to_vec())]);
    assert_eq!(run(&Provider::new(200, comments)), [Piece::Failed(ModelError::Timeout)]);
    let endless = (0..100).flat_map(|_| [Does::Waits(60), Does::Sends(WORD.into())]);
    assert_eq!(run(&Provider::new(200, endless)).pop(), Some(Piece::Failed(ModelError::Timeout)));
}

#[test]
fn what_broke_off_is_told_with_the_tokens_that_it_took() {
    let failed = |does: Does| run(&Provider::new(200, [Does::Sends(WORD.into()), does]));
    let broken = failed(Does::Sends(b"data: {broken\n\n".to_vec()));
    assert_eq!(broken, [word(), spent(), Piece::Failed(ModelError::InvalidJson)]);
    let told = failed(Does::Sends(b"data: {\"error\":{\"type\":\"overloaded_error\"}}\n\n".to_vec()));
    let busy = ModelError::RateLimited { retry_after_s: 30 };
    assert_eq!(told, [word(), spent(), Piece::Failed(busy)]);
    let stalled = failed(Does::Waits(3600));
    assert_eq!(stalled, [word(), spent(), Piece::Failed(ModelError::Timeout)]);
    let line = (0..20).map(|_| Does::Sends(vec![b'x'; CHUNK]));
    assert_eq!(run(&Provider::new(200, line)), [Piece::Failed(ModelError::InvalidJson)]);
}

// Holds B-90.
#[test]
fn a_provider_is_pulled_no_faster_than_its_answer_is_read() {
    let provider = Provider::new(200, (0..1000).map(|_| Does::Sends(WORD.into())));
    block_on(async {
        let streams = Streams::default();
        let id = streams.start(|outlet, stop| converse(provider.clone(), asking(), outlet, stop)).unwrap();
        streams.next(id, 0).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let ahead = provider.pulled.get();
        assert!(ahead < 70, "{ahead}");
        streams.next(id, 10).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(provider.pulled.get(), ahead + 10);
        streams.cancel(id);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(provider.closed.get(), 1, "a cancelled answer lets its reply go");
    });
}

fn embedding() -> EmbedAsk {
    let texts = List::clip([Text::clip("words")]);
    let request = Embedding { model: Text::clip("p/m"), texts, dimensions: None, payer: payer() };
    EmbedAsk::Upstream(Box::new(embedding::ask(&configured(), "m", known(true), &request).unwrap()))
}

// Holds B-85.
#[test]
fn vectors_come_however_the_body_is_cut_and_errors_as_of_any_request() {
    let json = r#"{"data":[{"index":0,"embedding":[1,2]}],"usage":{"prompt_tokens":5}}"#;
    for at in 0..=json.len() {
        let (first, second) = json.as_bytes().split_at(at);
        let provider = Provider::sends(&[first, second]);
        let embedded = block_on(embed(provider.clone(), embedding())).unwrap();
        assert_eq!((embedded.vectors[0].to_vec(), embedded.usage.input), (vec![1.0, 2.0], 5), "{at}");
        assert_eq!(provider.closed.get(), 0, "{at}");
    }
    for (provider, error, closed) in [
        (Provider::says(401, &[], ""), ModelError::Auth, 0),
        (Provider::says(200, &[], "{}"), ModelError::InvalidJson, 0),
        (Provider::new(200, [Does::Waits(3600)]), ModelError::Timeout, 1),
        (Provider::new(200, [Does::Fails(ModelError::Truncated)]), ModelError::Truncated, 1),
        (Provider::new(200, (0..200).map(|_| Does::Sends(vec![b' '; CHUNK]))), ModelError::InvalidJson, 1),
    ] {
        assert_eq!(block_on(embed(provider.clone(), embedding())), Err(error), "{error}");
        assert_eq!(provider.closed.get(), closed, "{error}");
    }
}

#[test]
fn whoever_no_longer_waits_for_vectors_has_their_reply_let_go() {
    let provider = Provider::new(200, [Does::Waits(100)]);
    block_on(async {
        let waiting = tokio::time::timeout(Duration::from_secs(1), embed(provider.clone(), embedding()));
        assert!(waiting.await.is_err());
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(provider.closed.get(), 1);
    });
}
