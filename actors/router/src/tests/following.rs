//! Followers: what they see, when an answer counts as delivered, and that a restart neither repeats nor hides.

use super::answer;
use super::world::World;
use ipc_proto::ids::{CallId, TurnId};
use ipc_proto::router::MessageState::{Answered, Delivered};
use ipc_proto::router::{EventName, Followed, RouterError, TurnEvent};
use ipc_proto::tool::Outcome;
use ipc_proto::{List, Name, Text};
use manifest::command::Ended;

fn text(text: &str) -> TurnEvent {
    TurnEvent::Text(Text::clip(text))
}

fn emit(
    world: &mut World,
    turn: TurnId,
    from: u64,
    events: &[TurnEvent],
) -> Option<Result<u64, RouterError>> {
    let events = List::clip(events.to_vec());
    world.ask(|router, port| router.emit(turn, from, events, port))
}

fn follow(world: &mut World, turn: TurnId, from: u64) -> Option<Result<Followed, RouterError>> {
    world.ask(|router, port| router.follow(None, turn, from, 64, port))
}

#[test]
fn a_follower_sees_a_turn_to_its_end_and_the_answer_is_delivered() {
    let mut world = World::new();
    let accepted = world.say("s", "hello");
    assert_eq!(emit(&mut world, accepted.turn, 0, &[text("h"), text("i")]), Some(Ok(2)));
    let piece = follow(&mut world, accepted.turn, 0).unwrap().unwrap();
    assert_eq!(piece.events.to_vec(), [TurnEvent::Started { attempt: 1 }, text("h"), text("i")]);
    assert!(!piece.over);
    let mut more = world.begin(|router, port| router.follow(None, accepted.turn, piece.next, 64, port));
    assert!(more.try_recv().is_err(), "there is nothing yet");
    world.finish(accepted.turn, answer("hi"));
    let piece = more.try_recv().unwrap().unwrap();
    assert!(piece.over);
    assert!(matches!(&piece.events[..], [TurnEvent::Done(done)] if done.text.as_str() == "hi"));
    assert_eq!(world.state(accepted.message), Delivered);
    assert!(
        follow(&mut world, accepted.turn, 0).unwrap().unwrap().over,
        "whoever asks again is given it again"
    );
}

#[test]
fn an_answer_is_delivered_only_to_a_follower_who_is_still_there() {
    let mut world = World::new();
    let accepted = world.say("s", "hello");
    let gone = world.begin(|router, port| router.follow(None, accepted.turn, 0, 64, port));
    drop(gone);
    let left = world.begin(|router, port| router.follow(None, accepted.turn, u64::MAX, 64, port));
    drop(left);
    world.finish(accepted.turn, answer("hi"));
    assert_eq!(world.state(accepted.message), Answered);
    world.restart();
    assert!(follow(&mut world, accepted.turn, 0).is_some());
    assert_eq!(world.state(accepted.message), Delivered);
}

#[test]
fn after_a_restart_a_follower_gets_the_end_from_the_outbox() {
    let mut world = World::new();
    let accepted = world.say("s", "hello");
    world.finish(accepted.turn, answer("hi"));
    world.restart();
    for from in [0, 7, (1 << 32) + 57] {
        let piece = follow(&mut world, accepted.turn, from).unwrap().unwrap();
        assert_eq!((piece.from, piece.over), (from, true));
        assert!(matches!(&piece.events[..], [TurnEvent::Done(done)] if done.text.as_str() == "hi"));
    }
}

#[test]
fn after_a_restart_a_follower_misses_and_repeats_no_event() {
    let mut world = World::new();
    let turn = world.say("s", "hello").turn;
    emit(&mut world, turn, 0, &[text("a"), text("b")]);
    let seen = follow(&mut world, turn, 0).unwrap().unwrap();
    world.restart();
    let mut more = world.begin(|router, port| router.follow(None, turn, seen.next, 64, port));
    assert_eq!(emit(&mut world, turn, 2, &[text("c")]), Some(Ok(0)), "the gate is told to begin anew");
    assert!(more.try_recv().is_err());
    assert_eq!(emit(&mut world, turn, 0, &[text("a"), text("b"), text("c")]), Some(Ok(3)));
    assert_eq!(more.try_recv().unwrap().unwrap().events.to_vec(), [text("c")]);
}

#[test]
fn a_new_attempt_is_seen_as_such() {
    let mut world = World::new();
    let turn = world.say("s", "hello").turn;
    emit(&mut world, turn, 0, &[text("half an ans")]);
    let next = follow(&mut world, turn, 0).unwrap().unwrap().next;
    world.runner_ends(turn, Ended::Killed, 9);
    world.pass(1000);
    emit(&mut world, turn, 0, &[text("whole answer")]);
    let piece = follow(&mut world, turn, next).unwrap().unwrap();
    let [TurnEvent::Notice(_), TurnEvent::Started { attempt: 2 }, TurnEvent::Text(_)] = &piece.events[..]
    else {
        panic!("{piece:?}")
    };
}

#[test]
fn a_turn_is_followed_by_its_own_person_or_by_whoever_may_follow_any() {
    let mut world = World::new();
    let (ann, guy) = (world.id(1001), world.id(1002));
    let turn = world.say("s", "hello").turn;
    for (user, turn, expected) in [
        (Some(guy), turn, Some(Err(RouterError::NoTurn))),
        (None, TurnId::random(), Some(Err(RouterError::NoTurn))),
    ] {
        assert_eq!(world.ask(|router, port| router.follow(user, turn, 0, 64, port)), expected);
    }
    for user in [Some(ann), None] {
        assert!(world.ask(|router, port| router.follow(user, turn, 0, 64, port)).unwrap().is_ok());
    }
}

#[test]
fn events_are_taken_of_turns_that_are_under_way_alone() {
    let mut world = World::new();
    let first = world.say("s", "one").turn;
    let second = world.say("s", "two").turn;
    let no_turn = Some(Err(RouterError::NoTurn));
    assert_eq!(emit(&mut world, second, 0, &[text("x")]), no_turn, "it has not begun");
    world.finish(first, answer("done"));
    assert_eq!(emit(&mut world, first, 0, &[text("x")]), no_turn);
    assert_eq!(emit(&mut world, second, 0, &[]), Some(Ok(0)), "no events is a question");
}

#[test]
fn tools_that_begin_and_end_are_named_events_and_refused_ones_are_not() {
    let mut world = World::new();
    let turn = world.say("s", "hello").turn;
    let start = |n: u8, refused: Option<&str>| TurnEvent::ToolStart {
        call: CallId::from_bytes([n; 16]),
        tool: Name::clip("read"),
        args: Text::default(),
        refused: refused.map(Text::clip),
        record: 0,
    };
    let end =
        |n: u8, outcome| TurnEvent::ToolEnd { call: CallId::from_bytes([n; 16]), outcome, duration_ms: 1 };
    let events = [start(1, None), end(1, Outcome::Success), start(2, Some("no")), end(2, Outcome::Blocked)];
    emit(&mut world, turn, 0, &events);
    let told = world.act(|router| router.events.after(4));
    let names: Vec<_> =
        told.iter().map(|it| (it.name, it.subject.as_deref(), it.detail.as_deref())).collect();
    let expected = [
        (EventName::ToolStarted, Some("read"), None),
        (EventName::ToolCompleted, Some("read"), Some("success")),
    ];
    assert_eq!(names, expected);
}

#[test]
fn a_follower_that_is_behind_holds_the_gate_up_and_loses_nothing() {
    let mut world = World::new();
    let turn = world.say("s", "hello").turn;
    let chunk = TurnEvent::Output { error: false, bytes: ipc_proto::Blob::new(vec![7; 32768]).unwrap() };
    let mut next = follow(&mut world, turn, 0).unwrap().unwrap().next;
    let mut from = 0;
    let mut held = loop {
        let mut taken =
            world.begin(|router, port| router.emit(turn, from, List::clip(vec![chunk.clone(); 8]), port));
        match taken.try_recv() {
            Ok(needs) => from = needs.unwrap(),
            Err(_) => break taken,
        }
        assert!(from < 100, "it is never held up");
    };
    let mut seen = 0;
    while let Some(piece) = follow(&mut world, turn, next) {
        let piece = piece.unwrap();
        assert_eq!(piece.from, next, "nothing is skipped");
        seen += piece.events.len() as u64;
        next = piece.next;
    }
    assert_eq!(held.try_recv().unwrap().unwrap(), from + 8);
    assert_eq!(seen, from + 8);
}

// Holds B-21.
#[test]
fn a_follower_that_went_away_holds_nobody_up_for_long() {
    let mut world = World::new();
    let turn = world.say("s", "hello").turn;
    let chunk = TurnEvent::Output { error: false, bytes: ipc_proto::Blob::new(vec![7; 32768]).unwrap() };
    follow(&mut world, turn, 0);
    let mut held = None;
    for from in (0..40).step_by(8) {
        let mut taken =
            world.begin(|router, port| router.emit(turn, from, List::clip(vec![chunk.clone(); 8]), port));
        if taken.try_recv().is_err() {
            held = Some(taken);
            break;
        }
    }
    world.pass(5500);
    assert!(held.unwrap().try_recv().is_ok());
}

#[test]
fn whoever_waits_for_named_events_is_told_when_there_are_some() {
    let mut world = World::new();
    let mut waiting = world.begin(|router, port| router.watch(0, port));
    assert!(waiting.try_recv().is_err());
    world.say("s", "hello");
    assert_eq!(waiting.try_recv().unwrap()[0].name, EventName::SessionStarted);
}

#[test]
fn rings_of_turns_that_are_over_are_let_go_of_and_their_end_is_still_told() {
    let mut world = World::new();
    let turn = world.say("s", "hello").turn;
    emit(&mut world, turn, 0, &[text("hi")]);
    world.finish(turn, answer("hi"));
    assert_eq!(follow(&mut world, turn, 0).unwrap().unwrap().events.len(), 3);
    world.pass(61_000);
    assert_eq!(follow(&mut world, turn, 0).unwrap().unwrap().events.len(), 1);
}
