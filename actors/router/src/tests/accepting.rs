//! Accepted messages that the scanner has not judged yet: they stand in one index alone, and are found, listed and counted like any other.

use super::crash::laws_hold;
use super::said;
use super::world::World;
use ipc_proto::ids::{MessageId, UserId};
use ipc_proto::router::MessageState::{Accepted, Answered, Failed, Queued, Recalled, Running};
use ipc_proto::router::{MessageState, RouterError};

/// A world whose scanner and record are away, with three messages of ann's in two sessions.
fn unseen() -> (World, UserId, Vec<MessageId>) {
    let mut world = World::new();
    (world.audit, world.scanner) = (false, None);
    let ann = world.id(1001);
    let all = [("s", "1"), ("t", "2"), ("s", "3")].map(|(session, key)| {
        world.ms += 1000;
        world.submit(&said(ann, session, key, "hello")).unwrap().message
    });
    (world, ann, all.to_vec())
}

/// Messages with their states; sessions with how many messages each has had, and when the last.
type Messages = Vec<(MessageId, MessageState)>;
type Sessions = Vec<(String, u32, u64)>;

/// The listings: messages with their states, newest first, and sessions with how many messages each has had.
fn listed(world: &mut World, ann: UserId) -> (Messages, Sessions) {
    let messages = world.act(|router| router.messages(Some(ann), 100, false)).unwrap();
    let messages = messages.iter().map(|it| (it.id, it.state)).collect();
    let sessions = world.act(|router| router.sessions(Some(ann))).unwrap();
    (messages, sessions.iter().map(|it| (it.name.to_string(), it.messages, it.used_ms)).collect())
}

fn found_as_any_other(world: &mut World, ann: UserId, all: &[MessageId]) {
    let (messages, sessions) = listed(world, ann);
    assert_eq!(messages, [all[2], all[1], all[0]].map(|id| (id, Accepted)));
    assert_eq!(sessions, [("s".to_owned(), 2, 1_003_000), ("t".to_owned(), 1, 1_002_000)]);
    let view = world.act(|router| router.session(Some(ann), "s")).unwrap();
    assert_eq!((view.info.messages, view.info.used_ms, view.transcript.len()), (2, 1_003_000, 2));
    let spaces = world.act(|router| router.workspaces(Some(ann))).unwrap();
    assert_eq!(spaces.iter().map(|it| it.session.as_str()).collect::<Vec<_>>(), ["s", "t"]);
    assert_eq!(world.act(|router| router.queue(Some(ann))).unwrap().waiting, 3);
    for id in all {
        assert_eq!(world.trace(*id), [Accepted]);
        let shown = world.act(|router| router.message(Some(ann), *id)).unwrap();
        assert_eq!((shown.info.state, shown.text.as_str(), shown.states.len()), (Accepted, "hello", 1));
        assert_eq!(shown.states[0].at_ms, shown.info.accepted_ms);
    }
    let guy = world.id(1002);
    assert!(listed(world, guy).0.is_empty());
    assert_eq!(world.act(|router| router.message(Some(guy), all[0])).unwrap_err(), RouterError::NoMessage);
}

// Holds P7-63.
#[test]
fn an_unscanned_message_is_listed_like_any_other_even_after_a_kill() {
    let (mut world, ann, all) = unseen();
    found_as_any_other(&mut world, ann, &all);
    world.restart();
    found_as_any_other(&mut world, ann, &all);
    let folder = world.into_folder();
    laws_hold(&folder.path().join("queue.db"));
}

// Holds P7-63.
#[test]
fn a_key_is_one_message_before_its_first_step_after_it_and_after_its_end() {
    let (mut world, ann, all) = unseen();
    let again =
        |world: &mut World| world.submit(&said(ann, "s", "1", "something else")).unwrap().message == all[0];
    assert!(again(&mut world));
    world.restart();
    assert!(again(&mut world));
    (world.audit, world.scanner) = (true, Some(ipc_proto::scanner::Judgement::Pass));
    world.pass(3000);
    assert_eq!(world.state(all[0]), Running);
    assert!(again(&mut world));
    let turn = world.act(|router| router.message(None, all[0])).unwrap().info.turn;
    world.finish(turn, super::answer("hi")).unwrap().unwrap();
    assert_eq!(world.state(all[0]), Answered);
    assert!(again(&mut world));
    assert_eq!(listed(&mut world, ann).0.len(), 3);
}

// Holds P7-63.
#[test]
fn a_scanned_message_is_listed_and_counted_once() {
    let (mut world, ann, all) = unseen();
    (world.audit, world.scanner) = (true, Some(ipc_proto::scanner::Judgement::Pass));
    world.pass(3000);
    assert_eq!(all.iter().map(|id| world.trace(*id)).collect::<Vec<_>>()[2], [Accepted, Queued]);
    assert_eq!(world.trace(all[1]), [Accepted, Queued, Running]);
    let sessions = listed(&mut world, ann).1;
    assert_eq!(sessions, [("s".to_owned(), 2, 1_003_000), ("t".to_owned(), 1, 1_002_000)]);
    world.restart();
    assert_eq!(listed(&mut world, ann).1, sessions);
    let folder = world.into_folder();
    laws_hold(&folder.path().join("queue.db"));
}

#[test]
fn it_can_be_taken_back_and_cancelled_before_anybody_looks_at_it() {
    let (mut world, ann, all) = unseen();
    world.audit = true;
    world.pass(2000);
    assert_eq!(world.state(all[0]), Accepted, "the scanner is away");
    assert_eq!(world.recall(Some(ann), all[0]), Some(Ok("hello".to_owned())));
    assert_eq!(world.trace(all[0]), [Accepted, Recalled]);
    let turn = world.act(|router| router.message(None, all[1])).unwrap().info.turn;
    world.ask(|router, port| router.cancel(Some(ann), turn, port)).unwrap().unwrap();
    assert_eq!(world.trace(all[1]), [Accepted, MessageState::Cancelled]);
    assert_eq!(listed(&mut world, ann).1.iter().map(|it| it.1).collect::<Vec<_>>(), [2, 1]);
    let folder = world.into_folder();
    laws_hold(&folder.path().join("queue.db"));
}

#[test]
fn a_successor_that_nobody_has_looked_at_is_one_for_whoever_asks_again() {
    let mut world = World::new();
    let dead = world.poison("s");
    world.scanner = None;
    let again = world.requeue(None, dead.message, None).unwrap().unwrap();
    assert_eq!(world.trace(again.message), [Accepted]);
    assert_eq!(world.requeue(None, dead.message, None).unwrap().unwrap().message, again.message);
    world.restart();
    assert_eq!(world.requeue(None, dead.message, None).unwrap().unwrap().message, again.message);
    assert!(!world.trace(dead.message).contains(&Failed));
    let folder = world.into_folder();
    laws_hold(&folder.path().join("queue.db"));
}
