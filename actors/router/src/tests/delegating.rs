//! Tasks that turns hand out: each is one message, none outlives the turn above it, and a tree of any form comes to its end.

use super::world::World;
use super::{answer, config};
use ipc_proto::ids::{CallId, TurnId};
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::router::MessageState::{Answered, Cancelled, Running};
use ipc_proto::router::{CHILDREN, Delegation, RouterError, Terms};
use ipc_proto::{List, Name, Text};
use proptest::prelude::*;

fn delegation(chain: &[&str]) -> Delegation {
    Delegation {
        agent: Name::clip("other"),
        task: Text::clip("count them"),
        label: Label::of(Trust::Untrusted, Class::Sensitive, "web"),
        terms: Terms {
            chain: List::clip(chain.iter().map(|name| Name::clip(name))),
            tools: List::default(),
            plan: List::default(),
            profile: Name::clip("paranoid"),
            network: false,
            seconds: 30,
            unattended: None,
        },
    }
}

fn hand_out(world: &mut World, turn: TurnId, call: CallId, chain: &[&str]) -> Result<TurnId, RouterError> {
    world.act(|router| router.delegate(turn, call, delegation(chain)))
}

// Holds P7-100.
#[test]
fn a_repeated_call_is_one_task_with_the_label_and_bounds_it_was_given() {
    let mut world = World::new();
    let top = world.say("s", "one");
    let call = CallId::random();
    let task = hand_out(&mut world, top.turn, call, &["default"]).unwrap();
    assert_eq!(hand_out(&mut world, top.turn, call, &["default"]), Ok(task));
    world.restart();
    assert_eq!(hand_out(&mut world, top.turn, call, &["default"]), Ok(task), "over a restart as well");
    let taken = world.act(|router| router.take(task, 10_000)).unwrap();
    assert_eq!((taken.agent.as_str(), taken.attempt), ("other", 1));
    assert_eq!((taken.label.trust, taken.label.class), (Trust::Untrusted, Class::Sensitive));
    assert_eq!(taken.delegated.map(|terms| terms.seconds), Some(30));
    let space = world.act(|router| router.take(top.turn, 10_000)).unwrap().workspace;
    assert_eq!(taken.workspace, space, "it works where the turn above works");
}

// Holds P7-101.
#[test]
fn no_task_outlives_the_turn_that_handed_it_out() {
    for restarted in [false, true] {
        let mut world = World::new();
        let top = world.say("s", "one");
        let task = hand_out(&mut world, top.turn, CallId::random(), &["default"]).unwrap();
        let deep = hand_out(&mut world, task, CallId::random(), &["default", "other"]).unwrap();
        assert_eq!([task, deep].map(|turn| world.state_of_turn(turn)), [Running, Running]);
        if restarted {
            world.restart();
        }
        world.finish(top.turn, answer("done"));
        world.pass(1000);
        assert_eq!([task, deep].map(|turn| world.state_of_turn(turn)), [Cancelled, Cancelled]);
        let late = hand_out(&mut world, top.turn, CallId::random(), &["default"]);
        assert_eq!(late, Err(RouterError::NoTurn));
    }
}

// Holds P7-102.
#[test]
fn tasks_are_bounded_by_turn_by_depth_and_by_host() {
    let mut config = config();
    config.turns_delegated = 8;
    let mut world = World::with(config);
    let top = world.say("s", "one");
    let call = || CallId::random();
    let first = hand_out(&mut world, top.turn, call(), &["default"]).unwrap();
    for _ in 1..CHILDREN {
        assert!(hand_out(&mut world, top.turn, call(), &["default"]).is_ok());
    }
    let most = u32::try_from(CHILDREN).unwrap();
    assert_eq!(hand_out(&mut world, top.turn, call(), &["default"]), Err(RouterError::TooManyTasks { most }));
    world.finish(first, answer("one"));
    let second = hand_out(&mut world, top.turn, call(), &["default"]).unwrap();
    world.pass(1000);
    let deep = hand_out(&mut world, second, call(), &["default", "other"]).unwrap();
    assert_eq!(
        hand_out(&mut world, second, call(), &["default"]),
        Err(RouterError::TooDeep),
        "it lies of its depth"
    );
    world.pass(1000);
    let deeper = hand_out(&mut world, deep, call(), &["default", "other"]);
    assert_eq!(deeper, Err(RouterError::TooDeep));
}

#[test]
fn a_task_waits_no_longer_than_its_turn_may_take() {
    let mut world = World::new();
    let top = world.say("s", "one");
    let task = hand_out(&mut world, top.turn, CallId::random(), &["default"]).unwrap();
    let wall = |turn| world.launched.iter().find(|launch| launch.turn == turn).map(|launch| launch.wall_ms);
    assert_eq!((wall(top.turn), wall(task)), (Some(120_000), Some(30_000)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    // Holds P7-102.
    #[test]
    fn trees_of_any_form_come_to_their_end(choices in prop::collection::vec(any::<u8>(), 1..80)) {
        let mut config = config();
        config.turns_at_once = 2;
        config.turns_delegated = 2;
        let mut world = World::with(config);
        let tops = [world.say("s", "one"), world.say("t", "two")];
        // Each running turn hands tasks out or, once all of its own are over, is answered.
        let mut open: Vec<(TurnId, u8, Option<TurnId>)> = tops.iter().map(|top| (top.turn, 0, None)).collect();
        let chains: [&[&str]; 2] = [&["default"], &["default", "other"]];
        for choice in choices {
            let (turn, depth, _) = open[usize::from(choice / 2) % open.len()];
            if choice % 2 == 0 && depth < 2 && world.state_of_turn(turn) == Running {
                let task = hand_out(&mut world, turn, CallId::random(), chains[usize::from(depth)]);
                open.extend(task.into_iter().map(|task| (task, depth + 1, Some(turn))));
            }
        }
        for _ in 0..open.len() * 3 {
            world.pass(500);
            let done = open.iter().position(|(turn, ..)| {
                let waits = open.iter().any(|(_, _, parent)| *parent == Some(*turn));
                !waits && world.state_of_turn(*turn) == Running
            });
            let Some(at) = done else { break };
            let (turn, ..) = open.remove(at);
            world.finish(turn, answer("done"));
            prop_assert_eq!(world.state_of_turn(turn), Answered);
        }
        prop_assert!(open.is_empty(), "{} turns wait for each other", open.len());
    }
}
