//! Tests of the promises while a flush is under way, and of its outcome.

use super::*;
use crate::open;
use ipc_proto::Name;
use ipc_proto::audit::{Action, Result3, Serial};
use std::path::Path;
use tokio::sync::oneshot;

type Answer = oneshot::Receiver<Result<Receipt, AuditError>>;

fn state(folder: &Path) -> State {
    State::new(Setup {
        opened: open::open(folder).unwrap(),
        config: config::Audit::DEFAULT,
        intake: Arc::default(),
        entries: watch::channel(0).0,
        flusher: Some(Flusher::new().unwrap().0),
        roomy: true,
        standing: Standing::new(manifest::command::RecordState::Whole),
    })
}

/// Asks for appends with these numbers.
fn ask(state: &mut State, numbers: impl IntoIterator<Item = u64>) -> Vec<Answer> {
    let ask = |number| {
        let (reply, answer) = oneshot::channel();
        let event = Event::new(Action::ToolDecided, Result3::Success);
        let serial = Serial { life: 1, number };
        state.intake.put(Append { witness: Name::clip("gate"), serial, event, reply });
        answer
    };
    let answers = numbers.into_iter().map(ask).collect();
    state.take_in();
    answers
}

fn indices(answers: Vec<Answer>) -> Vec<Result<u64, AuditError>> {
    answers.into_iter().map(|mut it| it.try_recv().unwrap().map(|receipt| receipt.index)).collect()
}

fn entries(folder: &Path) -> u64 {
    let found = crate::check::run(folder, None, None).unwrap();
    assert_eq!(found.faults.listed, vec![]);
    found.entries
}

// Holds P6-12.
#[test]
fn replies_wait_for_the_flush_and_keep_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let mut state = state(folder.path());
    let mut first = ask(&mut state, 1..=200);
    state.launch(true);
    assert!(state.flight.is_some());
    let mut later = ask(&mut state, 201..=700);
    assert!(first.iter_mut().chain(&mut later).all(|answer| answer.try_recv().is_err()));
    while state.flight.is_some() {
        state.land(true);
        state.launch(true);
    }
    let all: Vec<_> = indices(first).into_iter().chain(indices(later)).collect();
    assert_eq!(all, (0..700).map(Ok).collect::<Vec<_>>());
    drop(state);
    assert_eq!(entries(folder.path()), 700);
}

// Holds P6-13.
#[test]
fn a_failed_flush_fails_its_own_appends_alone() {
    let folder = tempfile::tempdir().unwrap();
    let mut state = state(folder.path());
    let before = ask(&mut state, 1..=3);
    state.drain();
    let on_the_way = ask(&mut state, 11..=15);
    state.launch(true);
    let behind = ask(&mut state, 16..=20);
    let flight = state.flight.take().unwrap();
    state.landed(flight, Err(io::ErrorKind::StorageFull.into()));
    let after = ask(&mut state, 11..=12);
    state.drain();
    assert_eq!(indices(before), [Ok(0), Ok(1), Ok(2)]);
    let promised: Vec<_> = indices(on_the_way).into_iter().chain(indices(behind)).collect();
    assert_eq!(promised, [Err(AuditError::NotDurable); 10]);
    assert_eq!(indices(after), [Ok(3), Ok(4)]);
    drop(state);
    assert_eq!(entries(folder.path()), 5);
}

#[test]
fn what_is_asked_twice_is_one_entry_wherever_the_first_is() {
    let folder = tempfile::tempdir().unwrap();
    let mut state = state(folder.path());
    let durable = ask(&mut state, 1..=1);
    state.drain();
    let on_the_way = ask(&mut state, 2..=6);
    state.launch(true);
    let again = ask(&mut state, [1, 4, 7, 7]);
    state.drain();
    assert_eq!(indices(durable), [Ok(0)]);
    assert_eq!(indices(on_the_way), (1..=5).map(Ok).collect::<Vec<_>>());
    assert_eq!(indices(again), [Ok(0), Ok(3), Ok(6), Ok(6)]);
    drop(state);
    assert_eq!(entries(folder.path()), 7);
}

// Holds P6-12.
#[test]
fn an_unflushed_append_is_whole_or_absent_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let mut killed = state(folder.path());
    let first = ask(&mut killed, 1..=9);
    killed.launch(true);
    let second = ask(&mut killed, 10..=15);
    std::mem::forget(killed);
    drop((first, second));
    let mut state = state(folder.path());
    let again = ask(&mut state, 1..=15);
    state.drain();
    assert_eq!(indices(again), (0..15).map(Ok).collect::<Vec<_>>());
    drop(state);
    assert_eq!(entries(folder.path()), 15);
}
