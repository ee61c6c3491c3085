//! Steering messages: each is taken in once by its turn, or is the session's next message, and never both.

use super::crash::laws_hold;
use super::world::{World, steered};
use super::{answer, config, reply, result, said};
use ipc_proto::audit::Action;
use ipc_proto::ids::TurnId;
use ipc_proto::label::Trust;
use ipc_proto::model::Role;
use ipc_proto::router::{End, MessageState, RouterError, Run, SteeringMessage, Task, TurnEvent};
use ipc_proto::scanner::Judgement;
use ipc_proto::{List, Text};
use manifest::command::Ended;
use ractor::concurrency::oneshot;

fn words(world: &mut World, turn: TurnId) -> Vec<SteeringMessage> {
    world.act(|router| router.steering_messages(turn)).unwrap().into_vec()
}

fn texts(words: &[SteeringMessage]) -> Vec<&str> {
    words.iter().map(|word| word.text.as_str()).collect()
}

// Holds P7-57.
#[test]
fn words_are_taken_in_once_whoever_dies_and_their_message_ends_there() {
    let mut world = World::new();
    let first = world.say("s", "hello");
    let steering = world.steer("s", "in red", false).unwrap();
    assert_eq!((steering.into, steering.accepted.waiting), (first.turn, 1));
    assert_eq!(world.steer("s", "in red", false).unwrap(), steering, "the same twice is said once");
    world.restart();
    let waiting = words(&mut world, first.turn);
    assert_eq!((texts(&waiting), waiting[0].label.trust), (vec!["in red"], Trust::User));
    world.take_in(first.turn, 0, &waiting[0]).unwrap();
    assert_eq!(world.state(steering.accepted.message), MessageState::TakenIn);
    assert_eq!(world.take_in(first.turn, 0, &waiting[0]), Ok(()), "the same step twice is one");
    assert_eq!(world.take_in(first.turn, 1, &waiting[0]), Err(RouterError::NoMessage));
    world.restart();
    assert!(words(&mut world, first.turn).is_empty());
    assert_eq!(world.steer("s", "in red", false).unwrap().into, first.turn, "asked again, it was said");
    let told =
        world.ask(|router, port| router.follow(None, steering.accepted.turn, 0, 9, port)).unwrap().unwrap();
    assert!(
        matches!(&told.events[..], [TurnEvent::Done(done)] if done.end == End::TakenIn(first.turn)),
        "{told:?}"
    );
    assert_eq!(world.ends_on_record(steering.accepted.turn), [Action::MessageTakenIn]);
    world.finish(first.turn, answer("red it is"));
    assert_eq!(world.launched.len(), 1, "nothing is left to be answered");
    laws_hold(&world.into_folder().path().join("queue.db"));
}

#[test]
fn steering_stands_behind_the_results_it_came_between() {
    let mut world = World::new();
    let first = world.say("s", "hello");
    world.keep(first.turn, 0, reply(1)).unwrap();
    world.steer("s", "in red", false).unwrap();
    let word = words(&mut world, first.turn).remove(0);
    world.take_in(first.turn, 1, &word).unwrap();
    world.keep(first.turn, 2, result(1, "found")).unwrap();
    world.finish(first.turn, answer("red it is"));
    let next = world.say("s", "and now?");
    let history = world.act(|router| router.take(next.turn, 1 << 20)).unwrap().history;
    let roles: Vec<Role> = history.iter().map(|it| it.message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool, Role::User, Role::Assistant], "{history:?}");
    assert_eq!(history[3].message.text.as_str(), "in red");
    let ann = world.id(1001);
    let shown = world.act(|router| router.session(Some(ann), "s")).unwrap().transcript;
    let said = shown.iter().filter(|it| it.message.text.as_str() == "in red").count();
    assert_eq!(said, 1, "a person sees it once as well");
}

#[test]
fn what_is_urgent_is_taken_in_first_and_marked() {
    let mut world = World::new();
    let first = world.say("s", "hello");
    for (text, urgent) in [("one", false), ("two", true), ("three", false)] {
        world.steer("s", text, urgent).unwrap();
    }
    assert_eq!(texts(&words(&mut world, first.turn)), ["[PRIORITY] two", "one", "three"]);
}

#[test]
fn words_that_their_turn_ends_before_are_the_session_s_next_message() {
    let mut world = World::new();
    let first = world.say("s", "hello");
    let steering = world.steer("s", "in red", false).unwrap();
    world.finish(first.turn, answer("blue it is"));
    assert_eq!(world.launched.last().map(|launch| launch.turn), Some(steering.accepted.turn));
    let turn = world.act(|router| router.take(steering.accepted.turn, 1000)).unwrap();
    assert_eq!(turn.content.plain(), "in red");
    let word =
        SteeringMessage { message: steering.accepted.message, text: Text::clip("in red"), label: turn.label };
    assert!(words(&mut world, steering.accepted.turn).is_empty(), "it is no word into itself");
    assert_eq!(
        world.take_in(steering.accepted.turn, 0, &word),
        Err(RouterError::NoMessage),
        "nor is it taken in any more"
    );
    world.finish(steering.accepted.turn, answer("red it is"));
    laws_hold(&world.into_folder().path().join("queue.db"));
}

#[test]
fn a_retried_turn_finds_the_steering_it_took_in_and_that_which_waits() {
    let mut world = World::new();
    let first = world.say("s", "hello");
    world.steer("s", "one", false).unwrap();
    let word = words(&mut world, first.turn).remove(0);
    world.take_in(first.turn, 0, &word).unwrap();
    world.steer("s", "two", false).unwrap();
    world.runner_ends(first.turn, Ended::Killed, 9);
    assert!(world.steer("s", "three", false).is_ok(), "it goes on");
    world.pass(5000);
    let turn = world.act(|router| router.take(first.turn, 1000)).unwrap();
    assert_eq!((turn.steps.len(), turn.attempt), (1, 2));
    assert_eq!(texts(&words(&mut world, first.turn)), ["two", "three"]);
}

// Holds P7-58.
#[test]
fn recalled_blocked_or_foreign_steering_is_never_taken_in() {
    let mut world = World::new();
    let first = world.say("s", "hello");
    let steering = world.steer("s", "in red", false).unwrap();
    let word = words(&mut world, first.turn).remove(0);
    let ann = world.id(1001);
    assert_eq!(world.recall(Some(ann), steering.accepted.message), Some(Ok("in red".to_owned())));
    assert_eq!(world.take_in(first.turn, 0, &word), Err(RouterError::NoMessage));
    world.scanner = Some(Judgement::Block);
    let blocked = world.steer("s", "obey", false).unwrap();
    assert_eq!(world.state(blocked.accepted.message), MessageState::Blocked);
    assert!(words(&mut world, first.turn).is_empty());
    world.scanner = Some(Judgement::Pass);
    let other = world.say("t", "hello");
    let elsewhere = world.steer("t", "in blue", false).unwrap();
    let word = words(&mut world, other.turn).remove(0);
    assert_eq!(word.message, elsewhere.accepted.message);
    assert_eq!(world.take_in(first.turn, 0, &word), Err(RouterError::NoMessage));
}

// Holds P7-57.
#[test]
fn steering_is_taken_in_or_recalled_and_never_both() {
    for recorded in [true, false] {
        let mut world = World::new();
        let first = world.say("s", "hello");
        world.steer("s", "in red", false).unwrap();
        let word = words(&mut world, first.turn).remove(0);
        world.audit = recorded;
        let ((step, mut taken), (recall, mut recalled)) = (oneshot(), oneshot());
        // Nothing is put on the record before both were asked for.
        world.act(|router| {
            router.step(first.turn, steered(0, &word), step.into());
            router.recall(None, word.message, recall.into());
        });
        if recorded {
            assert_eq!(taken.try_recv().unwrap(), Ok(()));
            assert_eq!(recalled.try_recv().unwrap(), Err(RouterError::TooLate(MessageState::TakenIn)));
        } else {
            assert_eq!(taken.try_recv().unwrap(), Err(RouterError::NotDurable));
            let said = recalled.try_recv().unwrap();
            assert_eq!(said, Err(RouterError::NotDurable), "as whoever asks while audit is away is told");
            assert_ne!(world.state(word.message), MessageState::TakenIn);
        }
        laws_hold(&world.into_folder().path().join("queue.db"));
    }
}

// Holds P7-57.
#[test]
fn what_is_not_on_the_record_is_not_taken_in() {
    let mut world = World::new();
    let first = world.say("s", "hello");
    let steering = world.steer("s", "in red", false).unwrap();
    let word = words(&mut world, first.turn).remove(0);
    world.audit = false;
    assert_eq!(world.take_in(first.turn, 0, &word), Err(RouterError::NotDurable));
    assert_eq!(world.state(steering.accepted.message), MessageState::Queued);
    world.audit = true;
    world.take_in(first.turn, 0, &word).unwrap();
    let event = world.record.iter().find(|event| event.action == Action::MessageTakenIn).unwrap();
    assert_eq!((event.turn, event.bytes), (Some(steering.accepted.turn), 6));
    assert_eq!(event.reason.as_deref(), Some(first.turn.to_string().as_str()));
}

// Holds B-76.
#[test]
fn words_for_nothing_under_way_are_refused_and_so_are_none_and_too_many() {
    let mut world = World::new();
    assert!(matches!(world.steer("s", "x", false), Err(RouterError::NoSession(_))));
    let first = world.say("s", "hello");
    assert_eq!(world.steer("s", "  ", false), Err(RouterError::BadWords));
    let long = "x".repeat(ipc_proto::router::STEERING_BOUND);
    assert_eq!(world.steer("s", &long, false), Err(RouterError::BadWords), "the mark has to fit as well");
    world.finish(first.turn, answer("hi"));
    assert_eq!(world.steer("s", "x", false), Err(RouterError::NotUnderWay));
    let guy = world.id(1002);
    let _ = world.say("s", "again");
    let steer = ipc_proto::router::Steer {
        session: Text::clip("s"),
        text: Text::clip("x"),
        urgent: false,
        key: Text::clip("k"),
    };
    assert!(
        matches!(world.act(|router| router.steer(guy, &steer)), Err(RouterError::NoSession(_))),
        "another's session is none of theirs"
    );
    let ann = world.id(1001);
    let run = Run {
        argv: List::default(),
        profile: ipc_proto::router::Profile::Plain,
        terminal: None,
        allow: List::default(),
    };
    let run = ipc_proto::router::Submission { task: Task::Run(run), ..said(ann, "r", "r", "") };
    world.submit(&run).unwrap();
    assert_eq!(world.steer("r", "x", false), Err(RouterError::NotUnderWay), "a program has a keyboard");
    for n in 0..config().queue_per_session {
        world.steer("s", &format!("word {n}"), false).unwrap();
    }
    assert!(matches!(world.steer("s", "one more", false), Err(RouterError::Busy { .. })));
}
