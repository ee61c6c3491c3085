//! Turns that meet an obstacle wait in the queue, however often, and go on once it is over.

use super::world::World;
use super::{answer, config, reply, said};
use ipc_proto::Name;
use ipc_proto::api::Caller;
use ipc_proto::audit::Action;
use ipc_proto::config::Router;
use ipc_proto::ids::TurnId;
use ipc_proto::router::MessageState::{Answered, Queued, Running};
use ipc_proto::router::{Obstacle, RouterError};
use manifest::command::Ended;

/// Ann, by her uid.
const ANN: Caller = Caller::Peer(1001);

/// The gate reports an obstacle, and the runner ends.
fn meets(world: &mut World, turn: TurnId, obstacle: Obstacle, again_s: u32) -> Result<bool, RouterError> {
    let waits = world.act(|router| router.postpone(turn, obstacle, "waits: for a test", again_s));
    world.runner_ends(turn, Ended::Exited, 128);
    waits
}

// Holds P7-94.
#[test]
fn a_message_whose_turn_meets_an_obstacle_is_no_dead_letter() {
    let mut world = World::new();
    let accepted = world.say("s", "hello");
    for round in 0..12 {
        assert_eq!(meets(&mut world, accepted.turn, Obstacle::Key, 0), Ok(true), "{round}");
        assert_eq!(world.state(accepted.message), Queued, "{round}");
        world.pass(61_000);
        assert_eq!(world.state(accepted.message), Running, "it is tried again: {round}");
    }
    let dead = world.act(|router| router.queue(None)).unwrap().dead;
    assert_eq!(dead, 0);
    world.finish(accepted.turn, answer("done")).unwrap().unwrap();
    assert_eq!(world.state(accepted.message), Answered);
}

// Holds P7-94.
#[test]
fn a_message_that_waits_says_for_what_and_may_be_cancelled() {
    let mut world = World::new();
    let accepted = world.say("s", "hello");
    assert_eq!(meets(&mut world, accepted.turn, Obstacle::Budget, 3600), Ok(true));
    let passed = world.act(|router| router.trace(None, accepted.message)).unwrap();
    assert_eq!(passed.last().map(|last| last.note.as_str()), Some("waits: for a test"));
    let other = world.say("t", "another session goes on");
    assert_eq!(world.state(other.message), Running);
    assert_eq!(world.ask(|router, port| router.cancel(None, accepted.turn, port)), Some(Ok(())));
    assert_ne!(world.state(accepted.message), Queued);
    assert_eq!(meets(&mut world, accepted.turn, Obstacle::Budget, 1), Err(RouterError::NoTurn));
}

// Holds B-183.
#[test]
fn the_oldest_message_alone_is_tried_against_an_obstacle() {
    let mut world = World::with(Router { turns_per_user: 9, turns_at_once: 9, ..config() });
    let waiting: Vec<_> = (0..5).map(|n| world.say(&format!("s{n}"), "hello")).collect();
    for accepted in &waiting {
        assert_eq!(meets(&mut world, accepted.turn, Obstacle::Key, 0), Ok(true));
    }
    let started = |world: &World| world.record.iter().filter(|it| it.action == Action::TurnStarted).count();
    for round in 1..=6 {
        world.pass(61_000);
        assert_eq!(started(&world), 5 + round, "one probe: {round}");
        assert_eq!(world.runners, [waiting[0].turn]);
        assert_eq!(meets(&mut world, waiting[0].turn, Obstacle::Key, 0), Ok(true));
    }
    // The next is tried once the oldest is gone.
    assert_eq!(world.ask(|router, port| router.cancel(None, waiting[0].turn, port)), Some(Ok(())));
    world.pass(2000);
    assert_eq!(world.runners, [waiting[1].turn]);
    // Another user's message does not wait behind it, and neither does one that meets something else.
    let guy = world.id(1002);
    let theirs = world.submit(&said(guy, "g", "k", "hello")).unwrap();
    assert_eq!(meets(&mut world, theirs.turn, Obstacle::Key, 0), Ok(true));
    world.pass(9000);
    assert_eq!(world.state(theirs.message), Running);
    // Once it is over all go on.
    world.keep(waiting[1].turn, 0, reply(1)).unwrap();
    world.pass(2000);
    assert!(waiting[2..].iter().all(|accepted| world.state(accepted.message) == Running));
}

// Holds P7-94.
#[test]
fn after_a_restart_it_is_tried_at_once() {
    let mut world = World::new();
    let accepted = world.say("s", "hello");
    assert_eq!(meets(&mut world, accepted.turn, Obstacle::Budget, 86_400), Ok(true));
    world.restart();
    world.pass(1000);
    assert_eq!(world.state(accepted.message), Running);
}

// Holds P7-94.
#[test]
fn a_client_waits_for_a_process_and_is_refused_for_money_and_keys() {
    let mut world = World::new();
    let user = world.id(1001);
    let message = said(user, "s", "k", "hello");
    let accepted = world.ask(|router, port| router.api_submit(ANN, message, port)).unwrap().unwrap();
    let ask = |world: &mut World, obstacle| {
        world.act(|router| router.postpone(accepted.turn, obstacle, "waits", 900))
    };
    assert_eq!(ask(&mut world, Obstacle::Budget), Ok(false));
    assert_eq!(ask(&mut world, Obstacle::Key), Ok(false));
    assert_eq!(meets(&mut world, accepted.turn, Obstacle::Process(Name::clip("model")), 0), Ok(true));
    assert_eq!(world.state(accepted.message), Queued);
    let waits = world.act(|router| router.api_blocked_on(ANN, accepted.turn)).unwrap();
    assert!(waits.iter().any(|name| name.as_str() == "model"), "{waits:?}");
    world.pass(61_000);
    world.runner_ends(accepted.turn, Ended::Killed, 9);
    assert_eq!(world.state(accepted.message), Queued);
    let waits = world.act(|router| router.api_blocked_on(ANN, accepted.turn)).unwrap();
    assert!(waits.iter().all(|name| name.as_str() != "model"), "that obstacle is over: {waits:?}");
}
