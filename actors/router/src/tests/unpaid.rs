//! Messages of clients whose turns failed for want of money, and what a client's turn is said to wait for.

use super::world::World;
use super::{answer, reply, result, said};
use ipc_proto::api::Caller;
use ipc_proto::audit::Action;
use ipc_proto::ids::{TurnId, UserId};
use ipc_proto::model::{ModelError, Per};
use ipc_proto::router::MessageState::{Failed, Requeued, Running};
use ipc_proto::router::{Accepted, End, Finished, RouterError};
use ipc_proto::{List, Name, Text};
use manifest::command::Room;

/// Ann, by her uid.
const ANN: Caller = Caller::Peer(1001);

fn submit(world: &mut World, session: &str, key: &str) -> Result<Accepted, RouterError> {
    let said = said(UserId::from_bytes([9; 16]), session, key, "hello");
    world.ask(|router, port| router.api_submit(ANN, said, port)).unwrap()
}

fn fails(world: &mut World, turn: TurnId, why: &ModelError) {
    let end = End::Failed(Text::clip(&why.to_string()));
    world.finish(turn, Finished { end, ..answer("") }).unwrap().unwrap();
}

fn waits(world: &mut World, turn: TurnId) -> Vec<String> {
    let waits = world.act(|router| router.api_blocked_on(ANN, turn)).unwrap();
    waits.iter().map(ToString::to_string).collect()
}

// Holds P7-83.
#[test]
fn only_an_unpaid_message_counts_as_new_when_it_comes_again() {
    let mut world = World::new();
    let budget = ModelError::Budget { per: Per::Day, again_s: 2 };
    let first = submit(&mut world, "s", "k").unwrap();
    fails(&mut world, first.turn, &budget);
    let mut last = first;
    for round in 0..3 {
        let again = submit(&mut world, "s", "k").unwrap();
        assert_ne!(again.turn, last.turn, "{round}");
        assert_eq!((world.state(last.message), world.state(again.message)), (Requeued, Running));
        let links = world.act(|router| router.message(None, again.message)).unwrap();
        assert_eq!(links.stands_for, Some(last.message));
        assert_eq!(submit(&mut world, "s", "k").unwrap().turn, again.turn, "it is under way");
        world.restart();
        assert_eq!(submit(&mut world, "s", "k").unwrap().turn, again.turn, "after a restart as well");
        last = again;
        fails(&mut world, last.turn, if round < 2 { &budget } else { &ModelError::Timeout });
    }
    assert_eq!(submit(&mut world, "s", "k").unwrap().turn, last.turn, "that failed for another reason");
    assert_eq!(world.state(last.message), Failed);
    let again = world.record.iter().filter(|event| event.action == Action::MessageRequeued).count();
    assert_eq!(again, 3, "each on the record");
    let answered = submit(&mut world, "t", "l").unwrap();
    world.finish(answered.turn, answer("hi")).unwrap().unwrap();
    assert_eq!(submit(&mut world, "t", "l").unwrap().turn, answered.turn);
}

// Holds P7-83.
#[test]
fn a_requeued_message_is_answered_by_its_successor() {
    let mut world = World::new();
    let budget = ModelError::Budget { per: Per::Day, again_s: 900 };
    let first = submit(&mut world, "s", "k").unwrap();
    world.keep(first.turn, 0, reply(1)).unwrap();
    world.keep(first.turn, 1, result(1, "it was carried out")).unwrap();
    fails(&mut world, first.turn, &budget);
    let second = world.requeue(None, first.message, None).unwrap().unwrap();
    let history = world.act(|router| router.take(second.turn, 1 << 20)).unwrap().history;
    let told = |text: &str| history.iter().any(|past| past.message.text.contains(text));
    assert!(told("it was carried out"), "what the first attempt did is known: {history:?}");
    assert_eq!(submit(&mut world, "s", "k").unwrap().turn, second.turn, "it is under way");
    fails(&mut world, second.turn, &budget);
    let third = submit(&mut world, "s", "k").unwrap();
    assert!(third.turn != second.turn && third.turn != first.turn);
    assert_eq!((world.state(second.message), world.state(third.message)), (Requeued, Running));
    world.restart();
    assert_eq!(submit(&mut world, "s", "k").unwrap().turn, third.turn);
    world.finish(third.turn, answer("hi")).unwrap().unwrap();
    assert_eq!(submit(&mut world, "s", "k").unwrap().turn, third.turn, "answered once");
}

// Holds P7-83.
#[test]
fn without_the_record_a_message_that_was_not_paid_stays_as_it_is() {
    let mut world = World::new();
    let first = submit(&mut world, "s", "k").unwrap();
    fails(&mut world, first.turn, &ModelError::Budget { per: Per::Key, again_s: 900 });
    world.audit = false;
    assert_eq!(submit(&mut world, "s", "k"), Err(RouterError::NotDurable));
    world.audit = true;
    assert_eq!(world.state(first.message), Failed);
    assert_ne!(submit(&mut world, "s", "k").unwrap().turn, first.turn);
}

// Holds P7-91.
#[test]
fn a_turn_is_blocked_on_its_next_steps_peers_or_its_lanes_first() {
    let mut world = World::new();
    world.scanner = None;
    let first = submit(&mut world, "s", "k").unwrap();
    assert_eq!(waits(&mut world, first.turn), ["audit", "scanner"]);
    world.scanner = Some(ipc_proto::scanner::Judgement::Pass);
    world.pass(2000);
    assert_eq!(world.state(first.message), Running);
    let others = world.say("chat", "hello");
    assert_eq!(waits(&mut world, first.turn), ["gate", "model"], "the gate has not said anything of it");
    let named = |names: &[&str]| List::clip(names.iter().map(|name| Name::clip(name)));
    world.act(|router| router.set_blocked_on(first.turn, named(&["credproxy", "model"])));
    let second = submit(&mut world, "s", "l").unwrap();
    for turn in [first.turn, second.turn] {
        assert_eq!(waits(&mut world, turn), ["gate", "credproxy", "model"]);
    }
    world.act(|router| router.set_blocked_on(first.turn, named(&[])));
    assert_eq!(waits(&mut world, first.turn), ["gate"], "a tool runs");
    world.act(|router| router.set_disk_room(Room { low: true, free_mib: 1, kept_mib: 9 }));
    world.finish(first.turn, answer("hi")).unwrap().unwrap();
    assert_eq!(waits(&mut world, second.turn), ["audit", "room on the disk"]);
    assert!(waits(&mut world, first.turn).is_empty(), "it is over");
    assert_eq!(world.act(|router| router.api_blocked_on(ANN, others.turn)), Err(RouterError::NoTurn));
}
