//! Leases: a silent turn is retried once its runner has ended, and any sign of life renews the lease.

use super::world::World;
use super::{question, reply};
use crate::state::lease::LEASE;
use ipc_proto::List;
use ipc_proto::audit::Action;
use ipc_proto::ids::TurnId;
use ipc_proto::router::MessageState::{Quarantined, Queued, Running};

fn lease_ms() -> u64 {
    u64::try_from(LEASE.as_millis()).unwrap()
}

fn silent() -> World {
    let mut world = World::new();
    world.beats = false;
    world
}

// Holds B-28, P7-61.
#[test]
fn a_silent_turn_loses_its_runner_and_is_retried() {
    let mut world = silent();
    let accepted = world.say("s", "hello");
    world.pass(lease_ms() - 500);
    assert!(world.killed.is_empty());
    world.pass(500);
    assert_eq!((world.killed.clone(), world.state(accepted.message)), (vec![accepted.turn], Queued));
    let trace = world.act(|router| router.trace(None, accepted.message)).unwrap();
    assert!(trace.last().unwrap().note.contains("nothing was heard"));
    world.pass(1000);
    assert_eq!((world.runners.clone(), world.state(accepted.message)), (vec![accepted.turn], Running));
    world.pass(2 * lease_ms() + 5000);
    assert_eq!(world.state(accepted.message), Quarantined, "it counts as a failure");
    assert_eq!(world.recorded(Action::TurnRetried, accepted.turn), 2);
}

#[test]
fn every_sign_of_life_renews_the_lease() {
    type Sign = fn(&mut World, TurnId, u8);
    let signs: [Sign; 5] = [
        |world, turn, _| drop(world.act(|router| router.take(turn, 0))),
        |world, turn, n| drop(world.keep(turn, u32::from(n), reply(n))),
        |world, turn, _| drop(world.begin(|router, port| router.emit(turn, 0, List::default(), port))),
        |world, turn, n| drop(world.act(|router| router.ask(turn, &question(n, router.now.ms + 1_000_000)))),
        |world, turn, n| drop(world.told(turn, super::approval(n))),
    ];
    for sign in signs {
        let mut world = silent();
        let turn = world.say("s", "hello").turn;
        for n in 0..3 {
            world.pass(lease_ms() - 10_000);
            sign(&mut world, turn, n);
        }
        assert!(world.killed.is_empty() && world.runners == [turn]);
    }
}

#[test]
fn a_lease_outlives_the_router_anew() {
    let mut world = silent();
    let accepted = world.say("s", "hello");
    for _ in 0..3 {
        world.pass(lease_ms() - 1000);
        world.restart();
    }
    assert_eq!((world.runners.clone(), world.killed.len()), (vec![accepted.turn], 0));
}

#[test]
fn a_router_that_was_stopped_blames_no_runner_for_what_it_did_not_hear() {
    let mut world = silent();
    let accepted = world.say("s", "hello");
    world.pass(1000);
    world.ms += 2 * lease_ms();
    world.pass(1000);
    assert!(world.killed.is_empty());
    assert_eq!(world.state(accepted.message), Running);
}

#[test]
fn a_runner_of_which_agentd_never_heard_is_given_up_and_replaced() {
    let mut world = silent();
    world.agentd = false;
    let accepted = world.say("s", "hello");
    world.pass(lease_ms() + 29_000);
    assert_eq!((world.state(accepted.message), world.launched.len()), (Running, 1), "agentd is given time");
    assert!(world.killed.iter().all(|turn| *turn == accepted.turn) && !world.killed.is_empty());
    world.agentd = true;
    world.pass(3000);
    assert_eq!((world.runners.clone(), world.launched.len()), (vec![accepted.turn], 2));
}
