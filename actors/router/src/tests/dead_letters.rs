//! Dead letters: listed, shown with what is known of every effect, and put into the queue again once.

use super::world::World;
use super::{answer, reply, result, said};
use ipc_proto::audit::Action;
use ipc_proto::content::{Media, Part, Place};
use ipc_proto::router::MessageState::{Answered, Failed, Quarantined, Queued, Requeued, Running};
use ipc_proto::router::{Effect, End, MessageState, RouterError, Task};
use ipc_proto::{Blob, Text};
use manifest::command::Ended;

fn dead(world: &mut World) -> Vec<MessageState> {
    let listed = world.act(|router| router.messages(None, 100, true)).unwrap();
    listed.iter().map(|info| info.state).collect()
}

#[test]
fn dead_letters_are_listed_and_counted_apart_from_everything_else() {
    let mut world = World::new();
    let (ann, guy) = (world.id(1001), world.id(1002));
    world.poison("s");
    let failed = world.say("t", "fails");
    world.runner_ends(failed.turn, Ended::Exited, 1);
    world.say("t", "runs");
    assert_eq!(dead(&mut world), [Failed, Quarantined]);
    assert_eq!(world.act(|router| router.queue(Some(ann))).unwrap().dead, 2);
    assert_eq!(world.act(|router| router.queue(Some(guy))).unwrap().dead, 0);
    assert!(world.act(|router| router.messages(Some(guy), 100, true)).unwrap().is_empty());
}

// Holds P7-60.
#[test]
fn a_dead_letter_is_shown_whole_with_calls_whose_outcome_nobody_knows() {
    let mut world = World::new();
    let guy = world.id(1002);
    let accepted = world.say("s", "poison");
    let effects = |world: &mut World| -> Vec<Effect> {
        let view = world.act(|router| router.message(None, accepted.message)).unwrap();
        view.calls.iter().map(|call| call.effect).collect()
    };
    world.keep(accepted.turn, 0, reply(1)).unwrap();
    world.keep(accepted.turn, 1, result(1, "found")).unwrap();
    world.keep(accepted.turn, 2, reply(2)).unwrap();
    assert_eq!(effects(&mut world), [Effect::Done, Effect::Running]);
    world.runner_ends(accepted.turn, Ended::Killed, 9);
    assert_eq!(effects(&mut world)[1], Effect::Unknown);
    world.pass(1000);
    assert_eq!((world.state(accepted.message), effects(&mut world)[1]), (Running, Effect::Unknown));
    world.runner_ends(accepted.turn, Ended::Killed, 9);
    world.pass(2000);
    world.runner_ends(accepted.turn, Ended::Killed, 9);
    let view = world.act(|router| router.message(None, accepted.message)).unwrap();
    assert_eq!((view.info.state, view.text.as_str(), view.info.attempts), (Quarantined, "poison", 3));
    assert_eq!(view.states.last().map(|it| it.state), Some(Quarantined));
    assert!(view.label.is_some() && view.finished.is_some_and(|it| matches!(it.end, End::Quarantined(_))));
    assert_eq!((view.calls[1].record, view.calls[1].effect), (2, Effect::Unknown));
    assert_eq!((view.stands_for, view.replaced_by), (None, None));
    assert_eq!(world.act(|router| router.message(Some(guy), accepted.message)), Err(RouterError::NoMessage));
}

// Holds P7-59.
#[test]
fn a_dead_letter_is_requeued_as_one_message_however_often() {
    let mut world = World::new();
    let ann = world.id(1001);
    let old = world.poison("s");
    let behind = (world.say("s", "one"), world.say("s", "two")).1;
    let again = world.requeue(Some(ann), old.message, None).unwrap().unwrap();
    assert_eq!((again.session, again.waiting), (old.session, 2), "at the end of its lane");
    assert_eq!(world.requeue(Some(ann), old.message, Some("other")).unwrap().unwrap().message, again.message);
    world.restart();
    assert_eq!(world.requeue(None, old.message, None).unwrap().unwrap().message, again.message);
    assert_eq!((world.state(old.message), world.state(behind.message)), (Requeued, Queued));
    let (before, after) =
        [old, again].map(|it| world.act(|router| router.message(None, it.message)).unwrap()).into();
    assert_eq!((before.replaced_by, after.stands_for), (Some(again.message), Some(old.message)));
    assert_eq!(after.text.as_str(), "poison");
    let on_record: Vec<_> = world.record.iter().filter(|it| it.action == Action::MessageRequeued).collect();
    assert_eq!((on_record.len(), on_record[0].turn), (1, Some(old.turn)));
    assert_eq!(on_record[0].reason.as_deref(), Some(again.message.to_string().as_str()));
    assert!(dead(&mut world).is_empty());
    for turn in [world.launched.last().unwrap().turn, behind.turn, again.turn] {
        assert_eq!(world.finish(turn, answer("done")), Some(Ok(())));
    }
    assert_eq!(world.state(again.message), Answered);
    assert_eq!(world.requeue(None, again.message, None), Some(Err(RouterError::NotDead(Answered))));
}

#[test]
fn other_words_replace_the_text_and_leave_media_and_task_as_they_were() {
    let mut world = World::new();
    let ann = world.id(1001);
    let medium = Media {
        place: Place::Bytes(Blob::new(vec![7; 100]).unwrap()),
        media_type: Text::clip("image/png"),
        name: None,
    };
    let mut put = said(ann, "s", "k", "bad words");
    put.content.parts.push(Part::Image(medium.clone())).unwrap();
    put.task = Task::Put { path: Text::clip("a"), bytes: Blob::new(vec![1, 2, 3]).unwrap() };
    let old = world.submit(&put).unwrap();
    world.runner_ends(old.turn, Ended::Exited, 1);
    let again = world.requeue(None, old.message, Some("good words")).unwrap().unwrap();
    let turn = world.act(|router| router.take(again.turn, 0)).unwrap();
    assert_eq!(turn.content.parts.to_vec(), [Part::Text(Text::clip("good words")), Part::Image(medium)]);
    assert_eq!(turn.task, put.task);
    let view = world.act(|router| router.message(None, old.message)).unwrap();
    assert!(view.text.contains("bad words"), "the dead letter stays as it was");
}

// Holds P7-59.
#[test]
fn what_cannot_be_put_into_the_queue_again_stays_a_dead_letter() {
    let mut world = World::new();
    let guy = world.id(1002);
    let old = world.poison("s");
    assert_eq!(world.requeue(Some(guy), old.message, None), Some(Err(RouterError::NoMessage)));
    let texts = ["0", "1", "2", "3", "4", "5"].map(|text| world.say("s", text));
    let full = world.requeue(None, old.message, None);
    assert!(matches!(full, Some(Err(RouterError::Busy { waiting: 5, retry_s: 25 }))), "{full:?}");
    assert_eq!(world.requeue(None, texts[5].message, None), Some(Err(RouterError::NotDead(Queued))));
    world.stop(None, None).unwrap().unwrap();
    world.audit = false;
    assert_eq!(world.requeue(None, old.message, None), Some(Err(RouterError::NotDurable)));
    world.audit = true;
    assert_eq!(dead(&mut world), [Quarantined]);
    world.ask(|router, port| router.end_session(None, &Text::clip("s"), port)).unwrap().unwrap();
    assert_eq!(world.requeue(None, old.message, None), Some(Err(RouterError::SessionOver)));
    assert_eq!(dead(&mut world), [Quarantined]);
}

// Holds P7-59.
#[test]
fn a_crash_during_a_requeue_leads_to_the_same_successor() {
    let mut world = World::new();
    let old = world.poison("s");
    world.deaf = true;
    assert_eq!(world.requeue(None, old.message, None), None);
    world.deaf = false;
    world.restart();
    assert_eq!(dead(&mut world), [Quarantined]);
    let again = world.requeue(None, old.message, None).unwrap().unwrap();
    let reasons = world.record.iter().filter(|it| it.action == Action::MessageRequeued);
    assert!(reasons.into_iter().all(|it| it.reason.as_deref() == Some(again.message.to_string().as_str())));
}
