//! A browser in the jail: Debian's headless shell, driven over its two pipes by commands from a closed list. The driver decides
//! nothing. Whatever the shell says is a stranger's, for a page may have taken it over: every message, list and wait has a bound.
//!
//! One tab. Dialogs are dismissed; further windows, downloads and the choice of files are refused; no script comes from outside.

mod element;
mod flags;
mod frames;
mod keys;
mod load;
mod program;
mod protocol;
mod snapshot;
mod tab;

use ipc_proto::browser::{BrowserError, Command, Format, Key, Outcome, Page};
use ipc_proto::{Blob, Text};
use load::settle;
pub use program::PROGRAM;
use program::Program;
use protocol::{CallFault, Client};
use serde::Deserialize;
use serde_json::{Value, json};
use snapshot::{Numbered, TIME};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;
use tab::Tab;

/// The time in which the shell begins to speak.
const START: Duration = Duration::from_secs(20);
/// How long the shell may take to end by itself.
const END: Duration = Duration::from_millis(500);
/// A picture and its encoding, of a page that paints slowly.
const PAINT: Duration = Duration::from_secs(15);

/// The terms of a launch.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// A folder in memory for its profile.
    pub folder: &'a Path,
    /// The proxy, `HOST:PORT`: the shell's only way out.
    pub proxy: &'a str,
    /// The key by which the proxy is known in TLS: base64 of SHA-256 of its public key.
    pub key: &'a str,
}

/// Why the browser did not start.
#[derive(Debug, thiserror::Error)]
pub enum LaunchFault {
    /// Its program could not be started.
    #[error("the browser's program cannot be started: {0}")]
    Program(#[from] std::io::Error),
    /// It does not speak as it should.
    #[error("the browser did not begin to speak")]
    Silent,
}

/// A browser that runs. It ends with this value.
pub struct Browser {
    client: Client,
    tab: Rc<Tab>,
    program: Program,
    /// The elements of the last snapshot, while its document is shown.
    numbered: Vec<Numbered>,
    /// The document that the last snapshot was of.
    document: u64,
    /// The next reference: no number is given twice.
    next: u32,
}

impl From<CallFault> for BrowserError {
    fn from(fault: CallFault) -> Self {
        match fault {
            CallFault::Gone => Self::Dead,
            CallFault::Slow => Self::TooLong,
            CallFault::TooLarge => Self::TooLarge,
            // The page changed while the command ran.
            CallFault::Refused => Self::StaleRef,
        }
    }
}

impl Browser {
    /// Starts the shell with an empty tab. Must run in a `LocalSet`.
    ///
    /// # Errors
    /// [`LaunchFault`].
    pub async fn launch(options: &Options<'_>) -> Result<Self, LaunchFault> {
        let (program, input, output) = program::start(options)?;
        let tab = Rc::new(Tab::default());
        let client = Client::over(input, output, Rc::clone(&tab));
        let opened = tokio::time::timeout(START, open(&client, &tab)).await;
        opened.map_err(|_| LaunchFault::Silent)?.map_err(|_| LaunchFault::Silent)?;
        Ok(Self { client, tab, program, numbered: Vec::new(), document: 0, next: 1 })
    }

    /// The id of its first process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.program.id()
    }

    /// Carries one command out.
    ///
    /// # Errors
    /// [`BrowserError`]. After [`BrowserError::Dead`] every command is refused with it.
    pub async fn perform(&mut self, command: Command) -> Result<Outcome, BrowserError> {
        self.tab.begin();
        let performed = self.act(command).await;
        if self.tab.is_dead() && performed != Ok(Outcome::Closed) {
            return Err(BrowserError::Dead);
        }
        performed
    }

    async fn act(&mut self, command: Command) -> Result<Outcome, BrowserError> {
        match command {
            Command::Navigate { url } => load::navigate(&self.client, &self.tab, &url).await?,
            Command::Snapshot => return self.snapshot().await,
            Command::Click { reference } => self.click(reference).await?,
            Command::Type { reference, text } => self.type_into(reference, &text).await?,
            Command::Select { reference, values } => {
                let values: Vec<&str> = values.iter().map(Text::as_str).collect();
                self.element(reference).await?.choose(&values).await?;
                settle(&self.client, &self.tab).await?;
            }
            Command::Press { key } => self.press(key).await?,
            Command::Back => load::back(&self.client, &self.tab).await?,
            Command::Screenshot => return self.screenshot().await,
            Command::Close => return Ok(self.close().await),
        }
        Ok(Outcome::Page(self.page().await?))
    }

    /// The state of the page. One that is of no kind that may be read is left.
    async fn page(&self) -> Result<Page, BrowserError> {
        let shown = load::shown(&self.client).await?;
        if !load::is_page(&shown.url) {
            let blank = json!({"url": "about:blank"});
            let _: Value = self.client.call("Page.navigate", blank, TIME).await?;
            return Err(BrowserError::BadUrl);
        }
        let notes = self.tab.take_notes();
        Ok(Page { url: Text::clip(&shown.url), title: Text::clip(&shown.title), notes })
    }

    async fn snapshot(&mut self) -> Result<Outcome, BrowserError> {
        self.numbered.clear();
        let page = self.page().await?;
        let document = self.tab.documents();
        let first = self.next;
        let described = snapshot::describe(&self.client, first).await?;
        (self.numbered, self.document, self.next) = (described.numbered, document, described.next);
        let (text, cut) = (described.text, described.cut);
        Ok(Outcome::Snapshot { page, text, first, count: described.next - first, cut })
    }

    /// The element of a number, if the document of the last snapshot is still shown.
    async fn element(&self, reference: u32) -> Result<element::Element<'_>, BrowserError> {
        if self.document != self.tab.documents() {
            return Err(BrowserError::StaleRef);
        }
        element::find(&self.client, &self.numbered, reference).await
    }

    async fn click(&self, reference: u32) -> Result<(), BrowserError> {
        let (x, y) = self.element(reference).await?.place().await?;
        for (kind, button) in [("mouseMoved", "none"), ("mousePressed", "left"), ("mouseReleased", "left")] {
            let event = json!({"type": kind, "x": x, "y": y, "button": button, "clickCount": 1});
            self.input("Input.dispatchMouseEvent", event).await?;
        }
        settle(&self.client, &self.tab).await
    }

    async fn type_into(&self, reference: u32, text: &str) -> Result<(), BrowserError> {
        if self.element(reference).await?.focus(text).await? {
            if text.is_empty() {
                return self.press(Key::Delete).await;
            }
            self.input("Input.insertText", json!({"text": text})).await?;
        }
        settle(&self.client, &self.tab).await
    }

    async fn press(&self, key: Key) -> Result<(), BrowserError> {
        for event in keys::events(key) {
            self.input("Input.dispatchKeyEvent", event).await?;
        }
        settle(&self.client, &self.tab).await
    }

    /// An input. A page that goes away by it, or is kept by a dialog, need not answer it.
    async fn input(&self, method: &str, event: Value) -> Result<(), BrowserError> {
        match self.client.call::<Value>(method, event, TIME).await {
            Ok(_) | Err(CallFault::Refused) => Ok(()),
            Err(fault) => Err(fault.into()),
        }
    }

    async fn screenshot(&self) -> Result<Outcome, BrowserError> {
        for (format, name) in [(Format::Png, "png"), (Format::Jpeg, "jpeg")] {
            let params = json!({"format": name, "quality": 60, "optimizeForSpeed": false});
            let taken: Picture = match self.client.call("Page.captureScreenshot", params, PAINT).await {
                Err(CallFault::TooLarge) => continue,
                other => other?,
            };
            let bytes = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, taken.data);
            if let Ok(Ok(bytes)) = bytes.map(Blob::new) {
                return Ok(Outcome::Picture { page: self.page().await?, format, bytes });
            }
        }
        Err(BrowserError::TooLarge)
    }

    async fn close(&self) -> Outcome {
        let closed: Result<Value, CallFault> = self.client.call("Browser.close", json!({}), END).await;
        drop(closed);
        self.tab.die();
        Outcome::Closed
    }
}

#[derive(Deserialize)]
struct Picture {
    data: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Created {
    target_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Attached {
    session_id: String,
}

/// Opens the tab and sets its rules.
async fn open(client: &Client, tab: &Tab) -> Result<(), CallFault> {
    let refuse = json!({"behavior": "deny", "eventsEnabled": true});
    let _: Value = client.call("Browser.setDownloadBehavior", refuse, START).await?;
    let created: Created = client.call("Target.createTarget", json!({"url": "about:blank"}), START).await?;
    let params = json!({"targetId": created.target_id, "flatten": true});
    let attached: Attached = client.call("Target.attachToTarget", params, START).await?;
    client.enter(attached.session_id);
    for (method, params) in [
        ("Page.enable", json!({})),
        ("Inspector.enable", json!({})),
        ("DOM.enable", json!({})),
        ("Page.setInterceptFileChooserDialog", json!({"enabled": true})),
    ] {
        let _: Value = client.call(method, params, START).await?;
    }
    let frames = snapshot::frames(client).await?;
    if let Some(frame) = frames.first() {
        tab.set_main(frame.id.clone());
    }
    Ok(())
}
