//! Ends that persons ask for: recalled messages, and a stop of everything. Neither comes back after a crash.

use super::crash::laws_hold;
use super::said;
use super::world::World;
use ipc_proto::audit::Action;
use ipc_proto::ids::MessageId;
use ipc_proto::router::MessageState::{Accepted, Answered, Cancelled, Queued, Recalled, Running};
use ipc_proto::router::{End, RouterError, Stopped, TurnEvent};
use ipc_proto::scanner::Judgement;

// Holds P7-54.
#[test]
fn a_message_that_has_not_begun_is_recalled_with_its_text() {
    let mut world = World::new();
    let ann = world.id(1001);
    let first = world.say("s", "one");
    let second = world.say("s", "two");
    let mut follower = world.begin(|router, port| router.follow(None, second.turn, 0, 64, port));
    for _ in 0..2 {
        assert_eq!(world.recall(Some(ann), second.message), Some(Ok("two".into())));
    }
    assert_eq!(world.trace(second.message), [Accepted, Queued, Recalled]);
    assert_eq!(world.ends_on_record(second.turn), [Action::MessageRecalled]);
    let told = follower.try_recv().unwrap().unwrap();
    assert!(matches!(&told.events[..], [TurnEvent::Done(done)] if done.end == End::Recalled));
    world.finish(first.turn, super::answer("done"));
    world.restart();
    assert_eq!(world.launched.len(), 1);
    assert_eq!(world.recall(Some(ann), second.message), Some(Ok("two".into())), "over a restart as well");
    let third = world.say("s", "three");
    let history = world.act(|router| router.take(third.turn, 100_000)).unwrap().history;
    assert!(history.iter().all(|it| !it.message.text.contains("two")), "no model sees what was taken back");
}

#[test]
fn a_message_that_the_scanner_has_not_seen_is_taken_back() {
    let mut world = World::new();
    world.scanner = None;
    let accepted = world.say("s", "one");
    assert_eq!(world.recall(None, accepted.message), Some(Ok("one".into())));
    world.scanner = Some(Judgement::Pass);
    world.pass(3000);
    assert_eq!(world.trace(accepted.message), [Accepted, Recalled]);
}

#[test]
fn what_has_begun_is_over_or_is_somebody_elses_cannot_be_taken_back() {
    let mut world = World::new();
    let guy = world.id(1002);
    let accepted = world.say("s", "one");
    let too_late = |state| Some(Err(RouterError::TooLate(state)));
    assert_eq!(world.recall(None, accepted.message), too_late(Running));
    world.runner_ends(accepted.turn, manifest::command::Ended::Killed, 9);
    assert_eq!(world.state(accepted.message), Queued);
    assert_eq!(world.recall(None, accepted.message), too_late(Queued), "a runner had it");
    world.pass(1000);
    world.finish(accepted.turn, super::answer("done"));
    assert_eq!(world.recall(None, accepted.message), too_late(Answered));
    let waiting = (world.say("s", "two"), world.say("s", "three")).1;
    for (user, message) in [(Some(guy), waiting.message), (None, MessageId::random())] {
        assert_eq!(world.recall(user, message), Some(Err(RouterError::NoMessage)));
    }
    assert_eq!(world.state(waiting.message), Queued);
}

// Holds P7-55.
#[test]
fn a_stop_ends_everything_of_its_session_and_nothing_elsewhere() {
    let mut world = World::new();
    let (running, waiting) = (world.say("s", "one"), world.say("s", "two"));
    let other = world.say("t", "three");
    assert_eq!(world.stop(None, Some("s")), Some(Ok(Stopped { running: 1, waiting: 1 })));
    assert_eq!(world.killed, [running.turn]);
    assert_eq!(world.trace(running.message), [Accepted, Queued, Running, Cancelled]);
    assert_eq!(world.trace(waiting.message), [Accepted, Queued, Cancelled]);
    assert_eq!(world.state(other.message), Running);
    assert_eq!(world.stop(None, Some("s")), Some(Ok(Stopped::default())));
    let stops = world.record.iter().filter(|event| event.action == Action::TurnsStopped);
    assert!(stops.clone().all(|event| event.session == Some(running.session)) && stops.count() == 2);
    assert_eq!(world.ends_on_record(running.turn), [Action::TurnEnded]);
    let after = world.say("s", "four");
    assert_eq!(world.state(after.message), Running, "a session that was stopped goes on with what is new");
}

// Holds P7-66.
#[test]
fn a_repeated_stop_counts_what_the_first_stopped_and_a_new_one_does_not() {
    // The router dies before the record is asked, or after it is made and before it hears so.
    for heard in [false, true] {
        let mut world = World::new();
        let guy = world.id(1002);
        for text in ["one", "two", "three"] {
            world.say("s", text);
        }
        world.say("t", "elsewhere");
        (world.deaf, world.effects_left) = (heard, (!heard).then_some(0));
        assert_eq!(world.stop(None, Some("s")), None, "nobody answers");
        (world.deaf, world.effects_left) = (false, None);
        world.restart();
        let before = Some(Ok(Stopped { running: 1, waiting: 2 }));
        assert_eq!(world.stop_again(None, Some("s")), before);
        world.pass(2000);
        assert_eq!(world.stop_again(None, Some("s")), before, "also once they are over");
        assert_eq!(world.stop(None, Some("s")), Some(Ok(Stopped::default())));
        assert_eq!(world.stop_again(Some(guy), None), Some(Ok(Stopped::default())), "nothing of theirs");
        assert_eq!(world.stop_again(None, None), Some(Ok(Stopped { running: 2, waiting: 2 })));
    }
}

#[test]
fn a_stop_reaches_as_far_as_whoever_gives_it_may() {
    let mut world = World::new();
    let (ann, guy) = (world.id(1001), world.id(1002));
    let mine = world.say("s", "one");
    let theirs = world.submit(&said(guy, "s", "k", "two")).unwrap();
    assert!(matches!(world.stop(Some(guy), Some("t")), Some(Err(RouterError::NoSession(_)))));
    assert_eq!(world.stop(Some(guy), None), Some(Ok(Stopped { running: 1, waiting: 0 })));
    assert_eq!((world.state(mine.message), world.state(theirs.message)), (Running, Cancelled));
    assert_eq!(world.stop(Some(ann), Some("s")), Some(Ok(Stopped { running: 1, waiting: 0 })));
    let rest = ["a", "b", "c"].map(|session| world.say(session, "x"));
    assert_eq!(world.stop(None, None), Some(Ok(Stopped { running: 2, waiting: 1 })));
    assert!(rest.iter().all(|it| world.state(it.message) == Cancelled));
}

// Holds P7-55.
#[test]
fn a_stop_ends_runners_with_audit_away_and_is_said_when_it_is_durable() {
    let mut world = World::new();
    let accepted = world.say("s", "one");
    world.audit = false;
    assert_eq!(world.stop(None, None), Some(Err(RouterError::NotDurable)));
    assert_eq!(world.killed, [accepted.turn]);
    world.restart();
    world.audit = true;
    world.pass(1500);
    assert_eq!(world.trace(accepted.message), [Accepted, Queued, Running, Cancelled]);
    assert_eq!(world.launched.len(), 1, "it did not come back");
}

/// A way to end a message that waits behind a running one, and a death in the middle of it.
type Way = (&'static str, fn(&mut World, MessageId), Action);

// Holds P7-54.
#[test]
fn a_decided_end_comes_after_any_crash_and_no_other_does() {
    let ways: [Way; 4] = [
        ("recall", |world, message| drop(world.recall(None, message)), Action::MessageRecalled),
        ("stop", |world, _| drop(world.stop(None, Some("s"))), Action::TurnEnded),
        (
            "cancel",
            |world, message| {
                let turn = world.act(|router| router.message(None, message)).unwrap().info.turn;
                drop(world.ask(|router, port| router.cancel(None, turn, port)));
            },
            Action::TurnEnded,
        ),
        (
            "quarantine",
            |world, message| {
                let turn = world.act(|router| router.message(None, message)).unwrap().info.turn;
                world.runner_ends(turn, manifest::command::Ended::Killed, 9);
            },
            Action::MessageQuarantined,
        ),
    ];
    for (name, end, expected) in ways {
        // The router dies before the record is asked, or after it is made and before it hears so.
        for heard in [false, true] {
            let mut world = World::new();
            let (first, last) = (world.say("s", "one"), world.say("s", "two"));
            let ended = if name == "quarantine" { first } else { last };
            for wait in [1000, 2000].into_iter().filter(|_| name == "quarantine") {
                world.runner_ends(ended.turn, manifest::command::Ended::Killed, 9);
                world.pass(wait);
            }
            (world.deaf, world.effects_left) = (heard, (!heard).then_some(0));
            end(&mut world, ended.message);
            (world.deaf, world.effects_left) = (false, None);
            let launched = world.launched.iter().filter(|it| it.turn == ended.turn).count();
            world.restart();
            world.pass(60_000);
            let again = world.launched.iter().filter(|it| it.turn == ended.turn).count();
            assert_eq!(again, launched, "{name}: it came back");
            let on_record = world.ends_on_record(ended.turn);
            assert!(
                !on_record.is_empty() && on_record.iter().all(|it| *it == expected),
                "{name}: {on_record:?}"
            );
            let folder = world.into_folder();
            laws_hold(&folder.path().join("queue.db"));
        }
    }
}
