//! People who use the host: each a thread that does one thing after the other over a connection of its own, and notes
//! what the host said that it had done.

use crate::asker::{Asker, Trouble};
use crate::dice::Dice;
use crate::promises::{Effect, Promises, Said};
use ipc_proto::approval::Reply;
use ipc_proto::content::Content;
use ipc_proto::control::{Ask, method};
use ipc_proto::ids::{MemoryId, TurnId};
use ipc_proto::label::Label;
use ipc_proto::memory::{Area, Entry};
use ipc_proto::router::Task;
use ipc_proto::{Name, Text};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Sessions that people share.
const SESSIONS: u64 = 5;
/// The longest pause between two acts of one person.
const PAUSE_MS: u64 = 700;

/// The acts of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Say(Effect),
    Remember,
    Answer,
    Recall,
    Cancel,
    Stop,
    Pause,
    Resume,
    Note,
}

const WEIGHTS: &[(u32, Act)] = &[
    (40, Act::Say(Effect::Line)),
    (10, Act::Say(Effect::Script)),
    (9, Act::Say(Effect::Asked)),
    (12, Act::Remember),
    (12, Act::Answer),
    (6, Act::Recall),
    (4, Act::Cancel),
    (1, Act::Stop),
    (2, Act::Pause),
    (6, Act::Resume),
    (3, Act::Note),
];

/// The state that all people share.
#[derive(Clone, Default)]
pub(crate) struct Shared {
    promises: Arc<Mutex<Promises>>,
    over: Arc<AtomicBool>,
}

impl Shared {
    /// The promises so far.
    pub(crate) fn promises(&self) -> MutexGuard<'_, Promises> {
        self.promises.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has everybody go home.
    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    fn goes_on(&self) -> bool {
        !self.over.load(Ordering::Relaxed)
    }
}

/// One of them.
pub(crate) struct Person {
    name: usize,
    dice: Dice,
    asker: Asker,
    shared: Shared,
    said: u64,
}

impl Person {
    /// Somebody who will act by these dice.
    pub(crate) fn new(name: usize, dice: Dice, socket: &Path, shared: Shared) -> io::Result<Self> {
        Ok(Self { name, dice, asker: Asker::new(socket)?, shared, said: 0 })
    }

    /// Acts until all are sent home.
    pub(crate) fn live(mut self) {
        while self.shared.goes_on() {
            match self.dice.weighed(WEIGHTS) {
                Some(Act::Say(effect)) => drop(self.say(effect)),
                Some(Act::Remember) => self.remember(),
                Some(Act::Answer) => self.answer(),
                Some(Act::Recall) => self.recall(),
                Some(Act::Cancel) => self.cancel(),
                Some(Act::Stop) => self.stop(),
                Some(Act::Pause) => self.pause(true),
                Some(Act::Resume) => self.pause(false),
                Some(Act::Note) => self.note(),
                None => {}
            }
            std::thread::sleep(Duration::from_millis(self.dice.below(PAUSE_MS)));
        }
    }

    /// Says something until it is acknowledged or refused; its number among what was said.
    fn say(&mut self, effect: Effect) -> usize {
        self.said += 1;
        let token = format!("p{}n{}", self.name, self.said);
        let shared = format!("s{}", self.dice.below(SESSIONS));
        let (session, agent, text) = match effect {
            Effect::Line => {
                (shared, None, format!("run: sleep 0.0{}; echo {token} >> ledger", self.said % 10))
            }
            // A session of its own: a question holds up all messages behind it.
            Effect::Asked => {
                (format!("q{}", self.name), None, format!("run: echo {token} >> ledger # PLEASE"))
            }
            Effect::Script => (format!("script-{token}"), Some("scribe"), "write both lines".to_owned()),
        };
        let ask = Ask {
            session: Text::clip(&session),
            agent: agent.map(Name::clip),
            content: Content::text(Text::clip(&text)),
            task: Task::Chat,
            workspace: None,
            workspace_label: None,
            key: Text::clip(&token),
        };
        let said = Said { token, effect, ask: ask.clone(), accepted: None, refused: false, recalled: false };
        let number = {
            let mut promises = self.shared.promises();
            promises.said.push(said);
            promises.said.len() - 1
        };
        let shared = self.shared.clone();
        let came = self.asker.patiently(
            &method::submit,
            || shared.goes_on(),
            async |control, context| control.submit(context, ask.clone()).await,
        );
        if let Some(said) = self.shared.promises().said.get_mut(number) {
            match came {
                Ok(accepted) => said.accepted = Some(accepted),
                Err(Trouble::Refused(_)) => said.refused = true,
                Err(Trouble::Away(_)) => {}
            }
        }
        number
    }

    fn remember(&mut self) {
        self.said += 1;
        let (id, text) =
            (MemoryId::random(), format!("the tide table has entry p{}m{}", self.name, self.said));
        let shared = self.shared.clone();
        let note = Box::new(Entry::new(id, Text::clip(&text), Label::bottom()));
        let added = self.asker.patiently(
            &method::memory_write,
            || shared.goes_on(),
            async |control, context| control.memory_write(context, Area::User, note.clone()).await,
        );
        if added.is_ok() {
            self.shared.promises().memories.push((id, text));
        }
    }

    /// Answers one question. An answer that may or may not have been taken is nobody's promise.
    fn answer(&mut self) {
        let listed = self
            .asker
            .once(&method::approvals, async |control, context| control.approvals(context, false).await);
        let Ok(waiting) = listed else { return };
        let Some(info) = self.dice.one(&waiting).cloned() else { return };
        let reply = if self.dice.below(3) == 0 { Reply::Deny } else { Reply::Once };
        let shared = self.shared.clone();
        let answered = self.asker.patiently(
            &method::answer,
            || shared.goes_on(),
            async |control, context| {
                control.answer(context, info.id, info.hash, reply, Text::default()).await
            },
        );
        let mut promises = self.shared.promises();
        if answered.is_ok() {
            promises.answers.entry(info.turn).or_insert(reply);
        } else {
            promises.unsure.insert(info.turn);
        }
    }

    /// Says something and takes it back at once, which may be too late.
    fn recall(&mut self) {
        let number = self.say(Effect::Line);
        let accepted = self.shared.promises().said.get(number).and_then(|said| said.accepted);
        let Some(accepted) = accepted else { return };
        let shared = self.shared.clone();
        let taken = self.asker.patiently(
            &method::recall,
            || shared.goes_on(),
            async |control, context| control.recall(context, accepted.message).await,
        );
        if let Some(said) = self.shared.promises().said.get_mut(number) {
            said.recalled = taken.is_ok();
        }
    }

    /// Cancels any turn of the last few.
    fn cancel(&mut self) {
        let last: Vec<TurnId> = {
            let promises = self.shared.promises();
            promises.accepted().map(|(_, accepted)| accepted.turn).collect()
        };
        let last = last.get(last.len().saturating_sub(8)..).unwrap_or_default();
        let Some(turn) = self.dice.one(last).copied() else { return };
        drop(self.asker.once(&method::cancel, async |control, context| control.cancel(context, turn).await));
    }

    fn stop(&mut self) {
        let session = Text::clip(&format!("s{}", self.dice.below(SESSIONS)));
        drop(self.asker.once(&method::stop, async |control, context| {
            control.stop(context, Some(session.clone()), false).await
        }));
    }

    /// Pauses a session, or lets one that somebody paused go on.
    fn pause(&mut self, paused: bool) {
        let session = if paused {
            Some(format!("s{}", self.dice.below(SESSIONS)))
        } else {
            let waiting: Vec<String> = self.shared.promises().paused.iter().cloned().collect();
            self.dice.one(&waiting).cloned()
        };
        let Some(session) = session else { return };
        if paused {
            // Also if it turns out not to have been: in the end all are let go.
            self.shared.promises().paused.insert(session.clone());
        }
        let asked = self.asker.once(&method::pause, async |control, context| {
            control.pause(context, Some(Text::clip(&session)), paused).await
        });
        if asked.is_ok() && !paused {
            self.shared.promises().paused.remove(&session);
        }
    }

    /// Keeps a signed note of the record, as a witness would.
    fn note(&mut self) {
        let noted = self.asker.once(&method::audit_checkpoint, async |control, context| {
            control.audit_checkpoint(context).await
        });
        if let Ok(note) = noted {
            self.shared.promises().notes.push(note.to_string());
        }
    }
}
