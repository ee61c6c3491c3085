//! Runners that end too early, are lost, or must end: their turns are retried up to a bound, and none runs twice at once.

use super::world::{World, verdict};
use super::{answer, reply, said};
use crate::state::RouterState;
use crate::state::effects::Effect;
use crate::state::moment::Moment;
use crate::state::requests::NewStep;
use crate::state::runner_exit::{LOSSES, RETRIES};
use ipc_proto::audit::Action;
use ipc_proto::content::Content;
use ipc_proto::ids::TurnId;
use ipc_proto::label::Label;
use ipc_proto::router::MessageState::{Accepted, Answered, Cancelled, Failed, Quarantined, Queued, Running};
use ipc_proto::router::{End, Finished, RouterError, Submission, Task, TurnEvent};
use ipc_proto::scanner::Judgement;
use ipc_proto::{List, Text};
use manifest::command::Ended;

fn finished(world: &mut World, turn: TurnId) -> Finished {
    let followed =
        world.ask(|router, port| router.follow(None, turn, u64::MAX - 1, 64, port)).unwrap().unwrap();
    match followed.events.last() {
        Some(TurnEvent::Done(finished)) => finished.clone(),
        _ => world.act(|router| {
            let head = router.store.message_of(turn).unwrap().unwrap();
            router.store.finished(head.seq).unwrap().unwrap()
        }),
    }
}

// Holds B-19.
#[test]
fn a_message_is_quarantined_when_its_third_runner_dies() {
    let mut world = World::new();
    let accepted = world.say("s", "hello");
    for attempt in 1..=RETRIES {
        world.runner_ends(accepted.turn, Ended::Killed, 9);
        assert_eq!(world.state(accepted.message), Queued);
        world.pass(u64::from(attempt) * 1000 - 500);
        assert_eq!(world.launched.len(), attempt as usize, "a failed runner is given time");
        world.pass(500);
        assert_eq!(world.launched.len(), attempt as usize + 1);
    }
    world.runner_ends(accepted.turn, Ended::Exited, 139);
    assert_eq!(
        world.trace(accepted.message),
        [Accepted, Queued, Running, Queued, Running, Queued, Running, Quarantined]
    );
    assert_eq!(world.recorded(Action::TurnRetried, accepted.turn), 2);
    assert_eq!(world.ends_on_record(accepted.turn), [Action::MessageQuarantined]);
    let end = finished(&mut world, accepted.turn);
    assert_eq!(end.attempts, 3);
    assert!(matches!(end.end, End::Quarantined(why) if why.contains("3 attempts") && why.contains("139")));
}

// Holds B-19.
#[test]
fn a_launch_that_the_host_refuses_for_now_is_no_attempt() {
    let mut world = World::new();
    let accepted = world.say("s", "hello");
    for tried in 1..=RETRIES as usize + 3 {
        world.runner_ends(accepted.turn, Ended::NotLaunched, 11);
        assert_eq!((world.state(accepted.message), world.launched.len()), (Queued, tried));
        world.pass(8_000);
        assert_eq!(world.launched.len(), tried + 1, "it is tried again");
    }
    let turn = world.act(|router| router.take(accepted.turn, 0)).unwrap();
    assert_eq!(turn.attempt, 1);
    assert_eq!(world.finish(accepted.turn, answer("hi")), Some(Ok(())));
    assert_eq!(world.state(accepted.message), Answered);
}

#[test]
fn a_message_whose_launch_was_refused_can_be_recalled() {
    let mut world = World::new();
    let accepted = world.say("s", "hello");
    world.runner_ends(accepted.turn, Ended::NotLaunched, 11);
    assert_eq!(world.recall(None, accepted.message), Some(Ok("hello".to_owned())));
}

#[test]
fn what_will_not_mend_is_not_tried_again() {
    for (how, code, timed_out) in [
        (Ended::TimedOut, 0, true),
        (Ended::Exited, 1, false),
        (Ended::NoWorkspace, 0, false),
        (Ended::NotLaunched, 2, false),
    ] {
        let mut world = World::new();
        let accepted = world.say("s", "hello");
        world.runner_ends(accepted.turn, how, code);
        assert_eq!(world.trace(accepted.message), [Accepted, Queued, Running, Failed], "{how:?}");
        assert_eq!(finished(&mut world, accepted.turn).end == End::TimedOut, timed_out);
    }
}

// Holds P1-16.
#[test]
fn what_a_person_typed_is_not_run_again_once_it_may_have_begun() {
    let mut world = World::new();
    let ann = world.id(1001);
    let task = Task::Command { argv: List::clip([Text::clip("ls")]) };
    let command =
        |key| Submission { task: task.clone(), content: Content::default(), ..said(ann, key, key, "") };
    let begun = world.submit(&command("begun")).unwrap();
    world.act(|router| router.take(begun.turn, 0)).unwrap();
    world.runner_ends(begun.turn, Ended::Killed, 9);
    assert_eq!(world.trace(begun.message), [Accepted, Queued, Running, Failed]);
    let idle = world.submit(&command("idle")).unwrap();
    world.runner_ends(idle.turn, Ended::Killed, 9);
    assert_eq!(world.state(idle.message), Queued, "its runner died before it had its work");
    let lost = world.submit(&command("lost")).unwrap();
    world.runners.retain(|turn| *turn != lost.turn);
    world.restart();
    assert_eq!(world.trace(lost.message), [Accepted, Queued, Running, Failed]);
}

#[test]
fn a_retried_turn_holds_its_lane_and_keeps_its_steps() {
    let mut world = World::new();
    let first = world.say("s", "one");
    let second = world.say("s", "two");
    let new = NewStep { number: 0, step: reply(1), session: Label::bottom(), workspace: Label::bottom() };
    world.ask(|router, port| router.step(first.turn, new, port));
    world.runner_ends(first.turn, Ended::Killed, 9);
    assert_eq!(world.launched.len(), 1, "the later message waits");
    world.pass(1000);
    let turn = world.act(|router| router.take(first.turn, 0)).unwrap();
    assert_eq!((turn.attempt, turn.steps.to_vec()), (2, vec![reply(1)]));
    assert_eq!(world.act(|router| router.take(second.turn, 0)), Err(RouterError::NoTurn));
}

// Holds P6-28.
#[test]
fn a_retry_is_on_the_record_before_it_happens() {
    let mut world = World::new();
    let accepted = world.say("s", "hello");
    world.audit = false;
    world.runner_ends(accepted.turn, Ended::Killed, 9);
    world.pass(5000);
    assert_eq!((world.state(accepted.message), world.launched.len()), (Running, 1));
    world.audit = true;
    world.pass(3000);
    assert_eq!((world.state(accepted.message), world.launched.len()), (Running, 2));
    assert_eq!(world.recorded(Action::TurnRetried, accepted.turn), 1);
}

#[test]
fn an_answer_after_its_runners_death_is_accepted() {
    let mut world = World::new();
    let accepted = world.say("s", "hello");
    world.runner_ends(accepted.turn, Ended::Killed, 9);
    assert_eq!(world.finish(accepted.turn, answer("hi")), Some(Ok(())));
    world.pass(5000);
    assert_eq!(world.launched.len(), 1);
    assert_eq!(world.trace(accepted.message), [Accepted, Queued, Running, Queued, Answered]);
}

#[test]
fn a_turn_ends_once_and_whoever_comes_second_is_told() {
    let mut world = World::new();
    let accepted = world.say("s", "hello");
    assert_eq!(world.finish(accepted.turn, answer("hi")), Some(Ok(())));
    assert_eq!(world.finish(accepted.turn, answer("hi")), Some(Ok(())), "the same word twice is one");
    assert_eq!(world.finish(accepted.turn, answer("something else")), Some(Err(RouterError::NoTurn)));
    assert_eq!(
        world.ask(|router, port| router.cancel(None, accepted.turn, port)),
        Some(Err(RouterError::NoTurn))
    );
    assert_eq!(world.finish(TurnId::random(), answer("hi")), Some(Err(RouterError::NoTurn)));
    assert_eq!(world.recorded(Action::TurnEnded, accepted.turn), 1);
    let end = finished(&mut world, accepted.turn);
    assert_eq!((end.text.as_str(), end.attempts), ("hi", 1));
}

#[test]
fn a_runner_that_outlived_the_router_goes_on_and_a_lost_one_is_replaced() {
    let mut world = World::new();
    let (stays, goes) = (world.say("a", "one"), world.say("b", "two"));
    world.runners.retain(|turn| *turn == stays.turn);
    world.restart();
    assert_eq!(world.trace(stays.message), [Accepted, Queued, Running]);
    assert_eq!(world.trace(goes.message), [Accepted, Queued, Running, Queued, Running]);
    assert_eq!(world.launched.iter().filter(|it| it.turn == stays.turn).count(), 1);
    assert_eq!(world.finish(stays.turn, answer("hi")), Some(Ok(())));
}

// Holds B-19.
#[test]
fn losing_runners_to_restarts_does_not_use_up_retries_but_is_not_endless() {
    let mut world = World::new();
    let accepted = world.say("s", "hello");
    for _ in 0..LOSSES {
        world.runners.clear();
        world.restart();
        assert_eq!(world.state(accepted.message), Running);
    }
    world.runners.clear();
    world.restart();
    assert_eq!(world.state(accepted.message), Quarantined);
}

#[test]
fn nothing_is_launched_before_it_is_known_which_runners_live() {
    let mut world = World::new();
    world.audit = false;
    world.say("s", "hello");
    let config = world.config.clone();
    let folder = world.into_folder();
    let mut router = RouterState::open(&folder.path().join("queue.db"), config, Moment::now()).unwrap();
    let mut launched = 0;
    for known in [false, true] {
        if known {
            router.runners_known();
        }
        router.tick();
        while let Some(effect) = router.effects.pop() {
            match effect {
                Effect::Record(_, then) => router.recorded(then, true),
                Effect::Scan(subject, _, job) => {
                    router.scanned(&job, Some(&verdict(Judgement::Pass, subject.conversation)));
                }
                Effect::Launch(_) => launched += 1,
                Effect::Kill(_)
                | Effect::Verify { .. }
                | Effect::SetDeadline(..)
                | Effect::RemoveWorkspace(_)
                | Effect::CloseDirectory(_) => {
                    panic!("there is no runner")
                }
            }
        }
        assert_eq!(launched, u32::from(known));
    }
}

#[test]
fn a_runner_whose_turn_is_over_is_ended_when_the_router_comes_back() {
    let mut world = World::new();
    let accepted = world.say("s", "hello");
    world.ask(|router, port| router.finish(accepted.turn, answer("hi"), port));
    assert_eq!(world.runners, [accepted.turn]);
    world.restart();
    assert_eq!(world.killed, [accepted.turn]);
}

#[test]
fn a_cancel_ends_the_runner_at_once_and_is_confirmed_when_durable() {
    let mut world = World::new();
    let accepted = world.say("s", "hello");
    world.audit = false;
    let cancelled = world.ask(|router, port| router.cancel(None, accepted.turn, port));
    assert_eq!(world.killed, [accepted.turn]);
    assert_eq!(cancelled, Some(Err(RouterError::NotDurable)));
    world.audit = true;
    world.pass(1500);
    assert_eq!(world.trace(accepted.message), [Accepted, Queued, Running, Cancelled]);
    assert_eq!(
        world.ask(|router, port| router.cancel(None, accepted.turn, port)),
        Some(Ok(())),
        "twice is once"
    );
    assert_eq!(world.finish(accepted.turn, answer("late")), Some(Err(RouterError::NoTurn)));
    assert_eq!(world.launched.len(), 1, "a cancelled turn's runner is not replaced");
}

#[test]
fn what_waits_can_be_cancelled_by_its_person_and_by_nobody_else() {
    let mut world = World::new();
    let (ann, guy) = (world.id(1001), world.id(1002));
    world.say("s", "one");
    let waiting = world.say("s", "two");
    let refused = world.ask(|router, port| router.cancel(Some(guy), waiting.turn, port));
    assert_eq!(refused, Some(Err(RouterError::NoTurn)));
    assert_eq!(world.ask(|router, port| router.cancel(Some(ann), waiting.turn, port)), Some(Ok(())));
    assert_eq!(world.trace(waiting.message), [Accepted, Queued, Cancelled]);
    world.scanner = None;
    let unscanned = world.say("s", "three");
    assert_eq!(world.ask(|router, port| router.cancel(None, unscanned.turn, port)), Some(Ok(())));
    assert_eq!(world.trace(unscanned.message), [Accepted, Cancelled]);
}

#[test]
fn agentd_is_asked_again_to_end_a_runner_and_not_for_ever() {
    let mut world = World::new();
    world.agentd = false;
    let accepted = world.say("s", "hello");
    world.ask(|router, port| router.cancel(None, accepted.turn, port));
    world.pass(20_000);
    assert_eq!(world.killed.len(), 5);
}

#[test]
fn a_runner_that_agentd_lets_outlive_its_wall_clock_is_given_up() {
    let mut world = World::new();
    let accepted = world.say("s", "hello");
    world.pass(149_000);
    assert_eq!(world.state(accepted.message), Running);
    world.pass(2000);
    assert_eq!(world.state(accepted.message), Failed);
    assert_eq!(finished(&mut world, accepted.turn).end, End::TimedOut);
    assert!(world.killed.contains(&accepted.turn));
}
