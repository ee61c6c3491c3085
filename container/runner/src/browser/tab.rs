//! The state of the one tab, as its events tell it.

use ipc_proto::browser::Note;
use ipc_proto::{List, Text};
use serde::Deserialize;
use std::cell::{Cell, RefCell};
use tokio::sync::Notify;

/// Dialogs between two commands; the next one stops the page's script.
const DIALOGS: u32 = 10;
/// Notes that are kept between two commands.
const NOTES: usize = 8;

/// The tab.
#[derive(Default)]
pub(super) struct Tab {
    /// The id of its main frame.
    main: RefCell<String>,
    /// How many documents its main frame has had.
    documents: Cell<u64>,
    /// The document has been read to its end.
    parsed: Cell<bool>,
    /// The main frame loads, or is about to.
    busy: Cell<bool>,
    dialogs: Cell<u32>,
    dead: Cell<bool>,
    notes: RefCell<Vec<Note>>,
    changed: Notify,
}

#[derive(Deserialize)]
struct Event {
    #[serde(default)]
    params: Params,
}

/// All that is read of any event.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Params {
    frame: Option<Frame>,
    frame_id: String,
    navigation_type: String,
    message: String,
    url: String,
    suggested_filename: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Frame {
    id: String,
    parent_id: Option<String>,
}

impl Tab {
    /// Names the main frame.
    pub(super) fn set_main(&self, id: String) {
        self.main.replace(id);
    }

    pub(super) fn is_dead(&self) -> bool {
        self.dead.get()
    }

    /// Nothing more comes from it.
    pub(super) fn die(&self) {
        self.dead.set(true);
        self.changed.notify_waiters();
    }

    /// How many documents there have been.
    pub(super) fn documents(&self) -> u64 {
        self.documents.get()
    }

    pub(super) fn is_busy(&self) -> bool {
        self.busy.get()
    }

    pub(super) fn is_parsed(&self) -> bool {
        self.parsed.get()
    }

    /// A command begins: what is noted from here on is of it.
    pub(super) fn begin(&self) {
        self.dialogs.set(0);
    }

    /// Counts a dialog. Returns true if the page asks for more than it may.
    pub(super) fn is_dialog_too_many(&self) -> bool {
        self.dialogs.set(self.dialogs.get().saturating_add(1));
        self.dialogs.get() > DIALOGS
    }

    /// Waits for a change of the state.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    pub(super) fn note(&self, note: Note) {
        let mut notes = self.notes.borrow_mut();
        if notes.len() < NOTES && !notes.contains(&note) {
            notes.push(note);
        }
    }

    /// The notes since they were last taken.
    pub(super) fn take_notes(&self) -> List<Note, NOTES> {
        List::new(self.notes.take()).unwrap_or_default()
    }

    /// Takes in an event.
    pub(super) fn event(&self, method: &str, message: &[u8]) {
        let params = serde_json::from_slice::<Event>(message).map(|event| event.params).unwrap_or_default();
        let is_main = params.frame_id == *self.main.borrow();
        match method {
            "Page.frameNavigated" => self.navigated(params.frame),
            "Page.frameStartedNavigating" if is_main && !params.navigation_type.contains("ameDocument") => {
                self.busy.set(true);
            }
            "Page.frameRequestedNavigation" | "Page.frameStartedLoading" if is_main => self.busy.set(true),
            "Page.frameStoppedLoading" if is_main => self.busy.set(false),
            "Page.domContentEventFired" => self.parsed.set(true),
            "Page.javascriptDialogOpening" if self.dialogs.get() > DIALOGS => self.note(Note::ScriptStopped),
            "Page.javascriptDialogOpening" => self.note(Note::DialogDismissed(Text::clip(&params.message))),
            "Page.windowOpen" => self.note(Note::PopupRefused(Text::clip(&params.url))),
            "Browser.downloadWillBegin" | "Page.downloadWillBegin" => {
                self.busy.set(false);
                self.note(Note::DownloadRefused(Text::clip(&params.suggested_filename)));
            }
            "Page.fileChooserOpened" => self.note(Note::ChooserRefused),
            "Inspector.targetCrashed" | "Target.detachedFromTarget" => self.dead.set(true),
            _ => return,
        }
        self.changed.notify_waiters();
    }

    /// A document has begun, in the main frame or in another.
    fn navigated(&self, frame: Option<Frame>) {
        let Some(frame) = frame.filter(|frame| frame.parent_id.is_none()) else { return };
        self.main.replace(frame.id);
        self.documents.set(self.documents.get() + 1);
        self.parsed.set(false);
        self.busy.set(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_dialogs_is_noted_once_and_stopped() {
        let tab = Tab::default();
        for number in 0..50 {
            let too_many = tab.is_dialog_too_many();
            assert_eq!(too_many, number >= DIALOGS, "dialog {number}");
            let message = format!("{{\"params\":{{\"message\":\"{}\"}}}}", number % 3);
            tab.event("Page.javascriptDialogOpening", message.as_bytes());
        }
        let notes = tab.take_notes();
        assert_eq!(notes.len(), 4);
        assert_eq!(notes.last(), Some(&Note::ScriptStopped));
        assert!(tab.take_notes().is_empty());
    }

    #[test]
    fn only_the_main_frame_makes_the_tab_busy() {
        let tab = Tab::default();
        tab.set_main("M".to_owned());
        tab.event("Page.frameStartedLoading", br#"{"params":{"frameId":"X"}}"#);
        assert!(!tab.is_busy());
        let same = br#"{"params":{"frameId":"M","navigationType":"sameDocument"}}"#;
        tab.event("Page.frameStartedNavigating", same);
        assert!(!tab.is_busy());
        tab.event("Page.frameNavigated", br#"{"params":{"frame":{"id":"X","parentId":"M"}}}"#);
        assert_eq!((tab.is_busy(), tab.documents()), (false, 0));
        tab.event("Page.frameNavigated", br#"{"params":{"frame":{"id":"N"}}}"#);
        tab.event("Page.frameStoppedLoading", br#"{"params":{"frameId":"M"}}"#);
        assert_eq!((tab.is_busy(), tab.documents()), (true, 1));
        tab.event("Page.frameStoppedLoading", br#"{"params":{"frameId":"N"}}"#);
        assert!(!tab.is_busy());
    }
}
