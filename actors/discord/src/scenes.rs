//! The place of each channel: a message says in which channel it is, and not of which channel that is a thread.

use crate::cursor::Scene;
use crate::inbox::{Came, Inbox};
use crate::reply::Failure;
use crate::rest::{Ask, Rest};
use crate::wire::{Channel, Interaction, Message, THREADS};
use ipc_proto::channel::BATCH;
use serde::Deserialize;
use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;

/// The kind of a channel of direct messages.
const DIRECT: u64 = 1;
/// Channels that are remembered.
const REMEMBERED: usize = 4096;
/// The longest wait for a request's limit.
const PATIENCE: Duration = Duration::from_secs(10);

/// The channels that were looked up.
#[derive(Default)]
pub(crate) struct Scenes(RefCell<HashMap<u64, Scene>>);

/// The place of a channel as far as a message or an interaction says it.
enum Known {
    Yes(Scene),
    /// It may be a thread.
    Thread(u64),
}

impl Scenes {
    /// The place of a message; none while its channel has to be looked up.
    pub(crate) fn of_message(&self, message: &Message) -> Option<Scene> {
        self.settle(known(message.channel_id.0, message.channel_type, message.guild_id.is_some()))
    }

    /// The place of a press; none while its channel has to be looked up.
    pub(crate) fn of_press(&self, press: &Interaction) -> Option<Scene> {
        self.settle(known_press(press))
    }

    fn settle(&self, known: Known) -> Option<Scene> {
        match known {
            Known::Yes(scene) => Some(scene),
            Known::Thread(channel) => self.0.borrow().get(&channel).copied(),
        }
    }

    /// Looks up the channels of a batch of events that may be threads. A channel that cannot be seen is taken for no thread.
    pub(crate) async fn look_up(&self, inbox: &Inbox, rest: &Rest) -> Result<(), Failure> {
        let unknown = |came: &Came| match wanted(came) {
            Known::Thread(channel) if !self.0.borrow().contains_key(&channel) => Some(channel),
            Known::Thread(_) | Known::Yes(_) => None,
        };
        let mut channels = inbox.wanted(unknown, BATCH);
        channels.sort_unstable();
        channels.dedup();
        for channel in channels {
            let scene =
                match rest.ask(Ask::get(("channel", ""), format!("/channels/{channel}")), PATIENCE).await {
                    Ok(found) => scene(&found),
                    Err(Failure::Refused(refusal)) if refusal.status != 401 => Scene::Channel,
                    Err(failure) => return Err(failure),
                };
            let mut all = self.0.borrow_mut();
            if all.len() >= REMEMBERED {
                all.clear();
            }
            all.insert(channel, scene);
        }
        Ok(())
    }
}

fn wanted(came: &Came) -> Known {
    match came {
        Came::Message(message, _) => {
            known(message.channel_id.0, message.channel_type, message.guild_id.is_some())
        }
        Came::Press(press) => known_press(press),
    }
}

fn known(channel: u64, kind: Option<u64>, in_server: bool) -> Known {
    match kind {
        Some(DIRECT) => Known::Yes(Scene::Direct),
        Some(kind) if THREADS.contains(&kind) => Known::Thread(channel),
        Some(_) => Known::Yes(Scene::Channel),
        None if in_server => Known::Thread(channel),
        None => Known::Yes(Scene::Direct),
    }
}

fn known_press(press: &Interaction) -> Known {
    let id = press.channel_id.map_or(0, |id| id.0);
    let kind = press.channel.as_ref().and_then(|channel| channel.kind);
    match press.channel.as_ref().and_then(|channel| channel.parent_id) {
        Some(parent) if kind.is_some_and(|kind| THREADS.contains(&kind)) => {
            Known::Yes(Scene::Thread(parent.0))
        }
        _ => known(id, kind, press.guild_id.is_some()),
    }
}

/// The place of a channel of a server.
fn scene(found: &serde_json::Value) -> Scene {
    match Channel::deserialize(found) {
        Ok(Channel { kind: Some(kind), parent_id: Some(parent) }) if THREADS.contains(&kind) => {
            Scene::Thread(parent.0)
        }
        _ => Scene::Channel,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(more: &[(&str, serde_json::Value)]) -> Message {
        let mut message = json!({ "id": "1", "channel_id": "5" });
        more.iter().for_each(|(key, value)| message[*key] = value.clone());
        serde_json::from_value(message).unwrap()
    }

    #[test]
    fn a_thread_is_known_once_its_channel_was_looked_up() {
        let scenes = Scenes::default();
        let direct = [("channel_type", json!(1))];
        let channel = [("channel_type", json!(0)), ("guild_id", json!("9"))];
        let thread = [("channel_type", json!(11)), ("guild_id", json!("9"))];
        assert_eq!(scenes.of_message(&message(&direct)), Some(Scene::Direct));
        assert_eq!(scenes.of_message(&message(&[])), Some(Scene::Direct));
        assert_eq!(scenes.of_message(&message(&channel)), Some(Scene::Channel));
        assert_eq!(scenes.of_message(&message(&thread)), None);
        let found = scene(&json!({ "id": "5", "type": 11, "parent_id": "7", "name": "x" }));
        scenes.0.borrow_mut().insert(5, found);
        assert_eq!(scenes.of_message(&message(&thread)), Some(Scene::Thread(7)));
        assert_eq!(scene(&json!({ "type": 0, "parent_id": "8" })), Scene::Channel, "that is a category");
    }
}
