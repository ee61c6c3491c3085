//! The pieces that a client of the API receives, whatever its model does.

use super::*;
use crate::model::budget::Patience;
use crate::passthrough::answer::decided::Decision;
use crate::passthrough::testing::{Fake, ask};
use crate::state::rates::{HELD, Rates};
use ipc_proto::config::RelayLimits;
use ipc_proto::model::Usage;
use std::cell::Cell;

fn text(text: &str) -> Piece {
    Piece::Text(Text::clip(text))
}

fn call(index: u16, args: &[&str]) -> Vec<Piece> {
    let start = Piece::CallStart { index, tool: Name::clip("send") };
    let deltas = args.iter().map(|args| Piece::CallDelta { index, args: Text::clip(args) });
    [start].into_iter().chain(deltas).chain([Piece::CallEnd { index }]).collect()
}

fn done() -> Piece {
    Piece::Done(Finish::Stop)
}

fn rates() -> Rates {
    Rates::new(RelayLimits { requests_per_minute: 1, streams_per_key: 1 })
}

async fn begin(host: &Fake) -> Answer {
    begin_in(host, &rates(), 0).await
}

/// Starts an answer to a request of this many bytes.
async fn begin_in(host: &Fake, rates: &Rates, bytes: usize) -> Answer {
    Answer::begin(host, decided(rates, bytes)).await.unwrap()
}

fn decided(rates: &Rates, bytes: usize) -> Decided {
    let load = rates.hold(bytes).unwrap();
    let decision = Decision::Due(Event::new(Action::ModelDecided, Result3::Success));
    let (id, requester) = (CallId::random(), Name::clip("key test"));
    Decided { request: ask(), id, requester, load, patience: Patience::NONE, decision }
}

/// All pieces until the end.
async fn all(host: &Fake, answer: &mut Answer) -> Vec<Piece> {
    let mut pieces = Vec::new();
    while !answer.is_over() {
        pieces.extend(answer.pull(host, 64).await.unwrap());
    }
    pieces
}

/// All pieces, from a model that returns these at once.
async fn heard(pieces: impl IntoIterator<Item = Piece>) -> Vec<Piece> {
    let host = Fake::giving([Pulled::Pieces(pieces.into_iter().collect())]);
    all(&host, &mut begin(&host).await).await
}

fn said(pieces: &[Piece]) -> String {
    let texts = pieces.iter().filter_map(|piece| match piece {
        Piece::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

// Holds P7-83.
#[tokio::test]
async fn a_program_waits_for_money_set_aside_with_one_decision() {
    for (patience, begins) in [(Patience::PROGRAM, true), (Patience::NONE, false)] {
        let host = Fake { unpaid: Cell::new(1), ..Fake::default() };
        let begun = Answer::begin(&host, Decided { patience, ..decided(&rates(), 0) }).await;
        assert_eq!(begun.is_ok(), begins);
        assert_eq!(*host.begun.borrow(), u64::from(begins));
        let decisions = |(action, _): &&(Action, Result3)| *action == Action::ModelDecided;
        assert_eq!(host.events.borrow().iter().filter(decisions).count(), 1);
    }
}

// Holds B-161.
#[tokio::test]
async fn pieces_and_faults_before_the_first_pull_are_delivered_by_it() {
    let giving = || Fake::giving([Pulled::Pieces(vec![text("hi"), done()])]);
    let host = giving();
    let mut answer = begin(&host).await;
    answer.listen(&host).await;
    assert!(!answer.is_over(), "nothing was given out yet");
    assert_eq!(answer.pull(&host, 64).await.unwrap(), [text("hi"), done()]);
    let host = Fake { away: true, ..giving() };
    let mut answer = begin(&host).await;
    answer.listen(&host).await;
    assert_eq!(answer.pull(&host, 64).await, Err(RelayError::Down(Name::clip("scanner"))));
}

// Holds P8-21.
#[tokio::test]
async fn text_goes_on_as_it_comes_and_a_secret_does_not_wherever_it_is_cut() {
    let whole = "so SECRET it is";
    for at in 0..=whole.len() {
        let (one, two) = whole.split_at(at);
        let host = Fake::giving([Pulled::Pieces(vec![text(one)]), Pulled::Pieces(vec![text(two), done()])]);
        let pieces = all(&host, &mut begin(&host).await).await;
        assert_eq!(said(&pieces), "so [cut] it is", "{at}");
        assert_eq!(pieces.last(), Some(&done()));
        let events = host.events.borrow();
        assert_eq!(
            *events,
            [
                (Action::ModelDecided, Result3::Success),
                (Action::SecretRedacted, Result3::Success),
                (Action::ModelEnded, Result3::Success)
            ]
        );
    }
}

// Holds P8-23.
#[tokio::test]
async fn calls_are_given_out_whole_at_the_end_and_after_the_text() {
    let usage = Piece::Usage(Usage { input: 3, output: 4, ..Usage::default() });
    let pieces = [text("first")]
        .into_iter()
        .chain(call(4, &["{\"a\"", ":1}"]))
        .chain([text(" then")])
        .chain(call(2, &[""]))
        .chain([usage.clone(), done()]);
    let mut expected = vec![usage, text("first then")];
    expected.extend(call(0, &["{\"a\":1}"]));
    expected.extend(call(1, &["{}"]));
    expected.push(done());
    assert_eq!(heard(pieces).await, expected);
}

// Holds P8-23.
#[tokio::test]
async fn a_call_that_is_not_whole_or_no_object_is_never_given_out() {
    let invalid = [Piece::Failed(ModelError::InvalidJson)];
    for args in ["{\"a\":", "[1]", "\"x\"", "nonsense"] {
        assert_eq!(heard(call(0, &[args]).into_iter().chain([done()])).await, invalid, "{args}");
    }
    let open = [Piece::CallStart { index: 0, tool: Name::clip("send") }, done()];
    assert_eq!(heard(open).await, [Piece::Failed(ModelError::Truncated)]);
}

// Holds P8-21.
#[tokio::test]
async fn a_secret_in_arguments_is_cut_out_of_them() {
    let mut expected = call(0, &[r#"{"key":"[cut]"}"#]);
    expected.push(done());
    assert_eq!(heard(call(0, &[r#"{"key":"SEC"#, r#"RET"}"#]).into_iter().chain([done()])).await, expected);
}

// Holds P8-21.
#[tokio::test]
async fn reasoning_goes_before_the_text_and_is_dropped_after_it() {
    let think = |words: &str| Piece::Reasoning(Text::clip(words));
    let pieces = heard([think("a SEC"), think("RET"), text("answer"), think("more"), done()]).await;
    assert_eq!(pieces, [think("a [cut]"), text("answer"), done()]);
}

// Holds P7-80.
#[tokio::test]
async fn an_answer_that_nobody_heard_begins_again_and_one_that_was_heard_ends() {
    let rest = || Pulled::Pieces(vec![text("whole"), done()]);
    let host = Fake::giving([Pulled::Pieces(vec![text("held")]), Pulled::Lost, rest()]);
    let pieces = all(&host, &mut begin(&host).await).await;
    assert_eq!((pieces, *host.begun.borrow()), (vec![text("whole"), done()], 2));
    let host = Fake::giving([Pulled::Pieces(vec![text("heard by now ")]), Pulled::Lost, rest()]);
    let mut answer = begin(&host).await;
    assert_eq!(answer.pull(&host, 64).await.unwrap(), [text("heard by now ")]);
    assert_eq!(all(&host, &mut answer).await, [Piece::Failed(ModelError::Truncated)]);
    assert_eq!(*host.begun.borrow(), 1);
    let host = Fake::giving([Pulled::Lost, Pulled::Lost, Pulled::Lost, rest()]);
    assert_eq!(
        all(&host, &mut begin(&host).await).await,
        [Piece::Failed(ModelError::Truncated)],
        "not for ever"
    );
}

// Holds P7-80.
#[tokio::test]
async fn another_model_s_answer_begins_anew_and_the_client_is_told() {
    let over = Piece::Failover {
        from: ModelName::clip("corp/one"),
        why: ModelError::Timeout,
        to: ModelName::clip("corp/two"),
    };
    let host = Fake::giving([Pulled::Pieces(vec![text("void words"), over.clone(), text("good"), done()])]);
    let mut answer = begin(&host).await;
    assert_eq!(all(&host, &mut answer).await, [over, text("good"), done()]);
    assert_eq!(answer.model(), "corp/two");
}

// Holds P7-78.
#[tokio::test]
async fn after_a_failover_and_a_restart_the_model_that_answers_is_named() {
    let over = || Piece::Failover {
        from: ModelName::clip("corp/one"),
        why: ModelError::Timeout,
        to: ModelName::clip("corp/two"),
    };
    let back =
        Piece::Failover { from: ModelName::clip("corp/two"), why: ModelError::Truncated, to: ask().model };
    let rest = || Pulled::Pieces(vec![text("good"), done()]);
    let host = Fake::giving([Pulled::Pieces(vec![over()]), Pulled::Lost, rest()]);
    let mut answer = begin(&host).await;
    assert_eq!(answer.pull(&host, 64).await.unwrap(), [over()]);
    assert_eq!(all(&host, &mut answer).await, [back.clone(), text("good"), done()]);
    assert_eq!(answer.model(), ask().model.as_str());
    // It takes over once more.
    let host =
        Fake::giving([Pulled::Pieces(vec![over()]), Pulled::Lost, Pulled::Pieces(vec![over()]), rest()]);
    let mut answer = begin(&host).await;
    assert_eq!(answer.pull(&host, 64).await.unwrap(), [over()]);
    assert_eq!(all(&host, &mut answer).await, [back, over(), text("good"), done()]);
    // Nobody had been told of another.
    let host = Fake::giving([Pulled::Pieces(vec![text("held")]), Pulled::Lost, rest()]);
    assert_eq!(all(&host, &mut begin(&host).await).await, [text("good"), done()]);
}

// Holds P7-80.
#[tokio::test]
async fn a_cancelled_pull_ends_the_answer_rather_than_leave_a_gap() {
    let host = Fake::giving([Pulled::Pieces(vec![text("lost "), text("found ")])]);
    let mut answer = begin(&host).await;
    answer.pulling = true;
    assert_eq!(all(&host, &mut answer).await, [Piece::Failed(ModelError::Truncated)]);
    assert_eq!(*host.cancelled.borrow(), [StreamId(1)]);
}

// Holds P8-19.
#[tokio::test]
async fn an_answer_without_a_recorded_decision_is_cancelled_before_its_pull() {
    let host = Fake { unrecorded: true, ..Fake::giving([Pulled::Pieces(vec![text("words "), done()])]) };
    let begun = Answer::begin(&host, decided(&rates(), 0)).await;
    assert_eq!(begun.unwrap_err(), RelayError::Down(Name::clip("audit")));
    assert_eq!((host.cancelled.borrow().len(), host.pulls.borrow().len()), (1, 1));
}

// Holds P8-21.
#[tokio::test]
async fn with_the_scanner_away_nothing_is_given_out() {
    let host = Fake { away: true, ..Fake::giving([Pulled::Pieces(vec![text("words "), done()])]) };
    let mut answer = begin(&host).await;
    assert_eq!(answer.pull(&host, 64).await, Err(RelayError::Down(Name::clip("scanner"))));
    answer.give_up(&host).await;
    assert_eq!(*host.cancelled.borrow(), [StreamId(1)]);
    let ended = (Action::ModelEnded, Result3::Error);
    assert_eq!(*host.events.borrow(), [(Action::ModelDecided, Result3::Success), ended]);
    answer.give_up(&host).await;
    assert_eq!(host.events.borrow().len(), 2, "it ends once");
}

// Holds B-84.
#[tokio::test]
async fn what_is_given_out_at_once_is_bounded_by_credit_and_by_the_interface() {
    let long = "x ".repeat(8 * 1024);
    let pieces: Vec<Piece> = (0..64).map(|_| text(&long)).collect();
    let host = Fake::giving([Pulled::Pieces(pieces), Pulled::Pieces(vec![done()])]);
    let mut answer = begin(&host).await;
    assert_eq!(answer.pull(&host, 0).await.unwrap(), []);
    assert_eq!(answer.pull(&host, 3).await.unwrap().len(), 3);
    let most = answer.pull(&host, u16::MAX).await.unwrap();
    let bytes: usize = most.iter().map(|piece| said(std::slice::from_ref(piece)).len()).sum();
    assert!(most.len() <= BATCH && bytes < ipc_proto::gate::method::relayed.bound - 8 * 1024);
    let rest = all(&host, &mut answer).await;
    assert_eq!(3 + most.len() + rest.len() - 1, 64);
}

// Holds B-69.
#[tokio::test]
async fn an_answer_without_room_ends_as_busy_and_a_pulled_one_makes_room() {
    let long = "x ".repeat(8 * 1024);
    let giving = || {
        let parts = (0..8).map(|_| Pulled::Pieces(vec![text(&long)]));
        Fake::giving(parts.chain([Pulled::Pieces(vec![done()])]))
    };
    let rates = rates();
    let room = 4 * long.len();
    let host = giving();
    let mut slow = begin_in(&host, &rates, HELD - room).await;
    let pieces = all(&host, &mut slow).await;
    assert_eq!(said(&pieces).len(), 8 * long.len(), "what was taken is held no longer");
    drop(slow);
    let other = rates.hold(HELD - long.len() / 2).unwrap();
    let host = giving();
    let mut late = begin_in(&host, &rates, 0).await;
    assert_eq!(all(&host, &mut late).await, [Piece::Failed(ModelError::Busy)]);
    assert_eq!(*host.cancelled.borrow(), [StreamId(1)]);
    drop((other, late));
    assert!(rates.hold(HELD).is_ok());
}

/// A block of reasoning as a model gives it.
fn block(said: &str, seal: &str, spoken: bool, calls: u16) -> Vec<Piece> {
    let part = |seal, part: &str| Piece::Thought { seal, part: Text::clip(part) };
    let end = Piece::ThoughtEnd { by: Text::clip("one"), hidden: false, spoken, calls };
    vec![part(false, said), part(true, seal), end]
}

// Holds P8-22.
#[tokio::test]
async fn a_block_of_reasoning_is_given_out_unchanged_in_its_place_or_not_at_all() {
    let (first, later) = (block("hm", "s1", false, 0), block("so", "s2", true, 1));
    let given = [first.clone(), vec![text("well ")], call(0, &["{}"]), later.clone(), call(1, &["{}"])];
    let pieces = heard(given.concat().into_iter().chain([done()])).await;
    let expected = [first, vec![text("well ")], call(0, &["{}"]), later, call(1, &["{}"]), vec![done()]];
    assert_eq!(pieces, expected.concat());
    let shows = block("the SECRET", "s", false, 0);
    let host = Fake::giving([Pulled::Pieces([shows, vec![text("x"), done()]].concat())]);
    assert_eq!(all(&host, &mut begin(&host).await).await, [text("x"), done()]);
    assert_eq!(host.events.borrow()[1], (Action::SecretRedacted, Result3::Success));
}
