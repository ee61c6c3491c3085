//! Pauses: what they hold up, what goes on, and that they outlive the router.

use super::world::World;
use super::{answer, said};
use ipc_proto::audit::Action;
use ipc_proto::router::MessageState::{Queued, Running};
use ipc_proto::router::RouterError;
use manifest::command::Ended;

fn queue_words(world: &mut World) -> (bool, Vec<String>, u32, u32) {
    let queue = world.act(|router| router.queue(None)).unwrap();
    let names = queue.paused_sessions.iter().map(ToString::to_string).collect();
    (queue.paused, names, queue.waiting, queue.running)
}

// Holds P7-56.
#[test]
fn a_paused_session_accepts_messages_and_begins_none() {
    let mut world = World::new();
    let running = world.say("s", "one");
    assert_eq!(world.pause(None, Some("s"), true), Some(Ok(())));
    let waiting = world.say("s", "two");
    let other = world.say("t", "three");
    world.finish(running.turn, answer("done"));
    world.restart();
    world.pass(5000);
    assert_eq!((world.state(waiting.message), world.state(other.message)), (Queued, Running));
    assert_eq!(queue_words(&mut world), (false, vec!["s".into()], 1, 1));
    assert_eq!(world.pause(None, Some("s"), false), Some(Ok(())));
    assert_eq!(world.state(waiting.message), Running);
    assert_eq!(queue_words(&mut world), (false, vec![], 0, 2));
}

#[test]
fn a_pause_of_everything_lets_running_turns_go_on() {
    let mut world = World::new();
    let running = world.say("s", "one");
    assert_eq!(world.pause(None, None, true), Some(Ok(())));
    let waiting = world.say("t", "two");
    world.runner_ends(running.turn, Ended::Killed, 9);
    world.pass(2000);
    assert_eq!((world.state(running.message), world.state(waiting.message)), (Running, Queued));
    assert_eq!(world.launched.len(), 2, "a turn that has begun is taken up again");
    world.restart();
    world.pass(2000);
    assert_eq!(queue_words(&mut world), (true, vec![], 1, 1));
    assert_eq!(world.pause(None, None, false), Some(Ok(())));
    assert_eq!(world.state(waiting.message), Running);
}

#[test]
fn a_user_pauses_their_own_sessions_those_to_come_included_and_no_others() {
    let mut world = World::new();
    let (ann, guy) = (world.id(1001), world.id(1002));
    assert_eq!(world.pause(Some(guy), None, true), Some(Ok(())));
    let theirs = world.submit(&said(guy, "new", "k", "one")).unwrap();
    let mine = world.say("s", "two");
    assert_eq!((world.state(theirs.message), world.state(mine.message)), (Queued, Running));
    assert!(world.act(|router| router.queue(Some(guy))).unwrap().paused);
    assert!(!world.act(|router| router.queue(Some(ann))).unwrap().paused);
    assert!(matches!(world.pause(Some(ann), Some("new"), false), Some(Err(RouterError::NoSession(_)))));
    assert_eq!(world.pause(Some(guy), None, false), Some(Ok(())));
    assert_eq!(world.state(theirs.message), Running);
}

#[test]
fn a_pause_is_on_the_record_once_before_it_holds() {
    let mut world = World::new();
    let session = world.say("s", "one").session;
    world.audit = false;
    assert_eq!(world.pause(None, Some("s"), true), Some(Err(RouterError::NotDurable)));
    assert_eq!(queue_words(&mut world).1, Vec::<String>::new());
    world.audit = true;
    for _ in 0..2 {
        assert_eq!(world.pause(None, Some("s"), true), Some(Ok(())));
    }
    let paused: Vec<_> = world.record.iter().filter(|it| it.action == Action::QueuePaused).collect();
    assert_eq!((paused.len(), paused[0].session), (1, Some(session)));
    assert_eq!(
        (paused[0].subject.as_deref(), paused[0].reason.as_deref()),
        (Some("s"), Some("paused, by mia"))
    );
}

#[test]
fn a_paused_session_that_ends_is_forgotten_and_cannot_be_paused() {
    let mut world = World::new();
    world.say("s", "one");
    world.pause(None, Some("s"), true).unwrap().unwrap();
    world.ask(|router, port| router.end_session(None, &ipc_proto::Text::clip("s"), port)).unwrap().unwrap();
    assert_eq!(queue_words(&mut world), (false, vec![], 0, 0));
    assert_eq!(world.pause(None, Some("s"), true), Some(Err(RouterError::SessionOver)));
}
