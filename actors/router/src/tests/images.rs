//! Images of a message: the agents that take them, the label of the session before a model sees one, and the text in their place in later
//! turns.

use super::world::World;
use super::{answer, config, said};
use ipc_proto::content::{IMAGES_BOUND, Media, Part, Place};
use ipc_proto::label::Trust;
use ipc_proto::model::ModelError;
use ipc_proto::router::{MessageState, RouterError, Submission};
use ipc_proto::{Blob, Name, Text};

/// A message with this text and an image of so many bytes.
fn showing(world: &mut World, key: &str, bytes: usize) -> Submission {
    let mut said = said(world.id(1001), "s", key, "look");
    let place = Place::Bytes(Blob::new(vec![7; bytes]).unwrap());
    let image = Media { place, media_type: Text::clip("image/png"), name: None };
    said.content.parts.push(Part::Image(image)).unwrap();
    said
}

// Holds P3-42.
#[test]
fn images_for_an_agent_without_vision_are_refused_at_once() {
    let mut config = config();
    config.agents.get_mut("default").unwrap().sees = false;
    let mut world = World::with(config);
    let blind = showing(&mut world, "k", 9);
    assert_eq!(world.submit(&blind), Err(RouterError::NoVision(Name::clip("default"))));
    assert!(world.act(|router| router.sessions(None)).unwrap().is_empty());
    let other = Submission { agent: Some(Name::clip("other")), ..blind };
    assert!(world.submit(&other).is_ok());
    let same_session = showing(&mut world, "l", 9);
    assert!(world.submit(&same_session).is_ok(), "it is the session's agent that counts");
}

// Holds P3-42.
#[test]
fn a_waiting_image_fails_its_turn_when_its_agent_loses_vision() {
    let mut world = World::new();
    let before = world.say("s", "hello").turn;
    let message = showing(&mut world, "k", 9);
    let waits = world.submit(&message).unwrap();
    let mut blind = config();
    blind.agents.get_mut("default").unwrap().sees = false;
    let mut world = World::over(world.into_folder(), blind);
    world.finish(before, answer("hi"));
    assert_eq!(world.state(waits.message), MessageState::Failed);
    let note = world.act(|router| router.trace(None, waits.message)).unwrap().last().unwrap().note.clone();
    assert_eq!(note.as_str(), ModelError::NoVision.to_string());
}

// Holds B-154.
#[test]
fn images_over_their_bound_together_are_refused() {
    let mut world = World::new();
    let mut most = showing(&mut world, "k", IMAGES_BOUND - 1);
    let small = showing(&mut world, "k", 1).content.parts[1].clone();
    most.content.parts.push(small.clone()).unwrap();
    assert!(world.submit(&most).is_ok());
    most.key = Text::clip("l");
    most.content.parts.push(small).unwrap();
    assert_eq!(world.submit(&most), Err(RouterError::BadMessage));
}

// Holds P5-03.
#[test]
fn an_image_makes_its_session_untrusted_and_not_the_text_beside_it() {
    let mut world = World::new();
    let plain = world.say("t", "hello").turn;
    assert_eq!(world.act(|router| router.take(plain, 0)).unwrap().session_label.trust, Trust::User);
    let message = showing(&mut world, "k", 9);
    let shows = world.submit(&message).unwrap().turn;
    let turn = world.act(|router| router.take(shows, 0)).unwrap();
    assert_eq!((turn.session_label.trust, turn.label.trust), (Trust::Untrusted, Trust::User));
    assert!(turn.session_label.sources.iter().any(|source| source.as_str() == "image"));
    assert_eq!(turn.workspace_label.trust, Trust::Untrusted, "what was seen may be left there");
    assert_eq!(turn.content, message.content, "the very bytes");
}

// Holds P3-41.
#[test]
fn a_later_turn_is_told_that_there_was_an_image_and_is_not_shown_it_again() {
    let mut world = World::new();
    let message = showing(&mut world, "k", 9);
    let first = world.submit(&message).unwrap().turn;
    world.finish(first, answer("a lighthouse"));
    let second = world.say("s", "and its colour?").turn;
    let turn = world.act(|router| router.take(second, 1000)).unwrap();
    assert_eq!(turn.history[0].message.text.as_str(), "look\n[image: image/png, not shown]");
    assert_eq!(turn.content.images().count(), 0);
    let ann = world.id(1001);
    let shown = world.act(|router| router.session(Some(ann), "s")).unwrap().transcript;
    assert_eq!(shown[0].message.text.as_str(), "look\n[image: image/png]", "as its person reads it");
}
