//! The events that are looked at as they come: a press is noticed within Discord's three seconds, whatever else goes on; and a message of
//! the bot itself tells, by its mark, that it arrived.

use crate::message::is_press;
use crate::payload::Event;
use crate::request::noticed;
use crate::rest::{Ask, Rest};
use crate::wire::{Message, Nonce};
use ipc_proto::credproxy::Verb;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Messages of the bot that are remembered.
const REMEMBERED: usize = 256;
/// Presses that are being noticed.
const PRESSES: usize = 64;
/// The time in which a press is to be noticed.
const IN_TIME: Duration = Duration::from_millis(2500);

/// The watch of one account.
pub(crate) struct Watch {
    rest: Rc<Rest>,
    me: Cell<u64>,
    marks: RefCell<VecDeque<(String, u64)>>,
    marked: Notify,
    presses: RefCell<HashMap<String, JoinHandle<()>>>,
}

impl Watch {
    pub(crate) fn new(rest: Rc<Rest>) -> Self {
        Self {
            rest,
            me: Cell::default(),
            marks: RefCell::default(),
            marked: Notify::default(),
            presses: RefCell::default(),
        }
    }

    /// Notes the bot's own id.
    pub(crate) fn is(&self, me: u64) {
        self.me.set(me);
    }

    /// Looks at an event.
    pub(crate) fn notice(&self, event: &Event) {
        match event {
            Event::Message { message, edit: false } => self.remember(message),
            Event::Press(press) if is_press(press) => {
                let path = format!("/interactions/{}/{}/callback", press.id.0, press.token);
                let (rest, token) = (Rc::clone(&self.rest), press.token.clone());
                let task = tokio::task::spawn_local(async move {
                    let ask = Ask::json(Verb::Post, ("notice", ""), path, &noticed()).unsigned();
                    // A press that is noticed too late is shown as failed; its effect is not.
                    drop(rest.ask(ask, IN_TIME).await);
                });
                let mut presses = self.presses.borrow_mut();
                presses.retain(|_, task| !task.is_finished());
                if presses.len() < PRESSES {
                    presses.insert(token, task);
                }
            }
            _ => {}
        }
    }

    fn remember(&self, message: &Message) {
        let own = message.author.as_ref().is_some_and(|author| author.id.0 == self.me.get());
        let Some(Nonce::Text(mark)) = message.nonce.as_ref().filter(|_| own) else { return };
        let mut marks = self.marks.borrow_mut();
        if marks.len() >= REMEMBERED {
            marks.pop_front();
        }
        marks.push_back((mark.clone(), message.id.0));
        drop(marks);
        self.marked.notify_waiters();
    }

    /// The bot's own id.
    pub(crate) fn me(&self) -> u64 {
        self.me.get()
    }

    /// The message with this mark, once it has come; waits so long for it.
    pub(crate) async fn arrived(&self, mark: &str, wait: Duration) -> Option<u64> {
        let found = || self.marks.borrow().iter().find(|(known, _)| known == mark).map(|(_, id)| *id);
        let came = async {
            loop {
                let marked = self.marked.notified();
                if let Some(id) = found() {
                    return id;
                }
                marked.await;
            }
        };
        timeout(wait, came).await.ok()
    }

    /// Waits until a press was noticed.
    pub(crate) async fn noticed(&self, token: &str) {
        let task = self.presses.borrow_mut().remove(token);
        if let Some(task) = task {
            let _ = timeout(IN_TIME, task).await;
        }
    }
}
