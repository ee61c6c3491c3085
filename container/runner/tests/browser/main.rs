//! The real shell against a shop on this machine, outside of a jail. Needs Debian's package `chromium-headless-shell`.
#![expect(
    clippy::tests_outside_test_module,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod acts;
mod hostile;
mod pages;
mod shop;

use ipc_proto::browser::{BrowserError, Command, Outcome, Page};
use ipc_proto::{List, Text};
use runner::browser::{Browser, Options, PROGRAM};
use shop::Shop;
use std::path::Path;
use std::time::{Duration, Instant};

/// A browser and its shop.
pub(crate) struct Visit {
    pub(crate) browser: Browser,
    pub(crate) shop: Shop,
    pub(crate) text: String,
    pub(crate) ready: Duration,
    _folder: tempfile::TempDir,
}

/// Runs a test with a browser of its own.
pub(crate) fn visit<F: Future<Output = ()>>(test: impl FnOnce(Visit) -> F) {
    assert!(Path::new(PROGRAM).exists(), "no {PROGRAM}: apt-get install chromium-headless-shell");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let shop = Shop::open().await;
        let folder = tempfile::tempdir().unwrap();
        let options = Options { folder: folder.path(), proxy: &shop.address, key: &shop.key };
        let begun = Instant::now();
        let browser = Browser::launch(&options).await.unwrap();
        let ready = begun.elapsed();
        test(Visit { browser, shop, ready, text: String::new(), _folder: folder }).await;
    });
}

/// The processes of the group that this one leads.
fn processes(leader: u32) -> Vec<u32> {
    let all = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let is_of = |id: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let group = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(2)?.parse().ok());
        group == Some(leader)
    };
    all.filter(is_of).collect()
}

impl Visit {
    pub(crate) async fn act(&mut self, command: Command) -> Result<Page, BrowserError> {
        match self.browser.perform(command).await? {
            Outcome::Page(page) => Ok(page),
            Outcome::Snapshot { page, text, .. } => {
                self.text = text.to_string();
                Ok(page)
            }
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn go(&mut self, url: &str) -> Page {
        let page = self.act(Command::Navigate { url: Text::new(url).unwrap() }).await.unwrap();
        self.act(Command::Snapshot).await.unwrap();
        page
    }

    /// The number of the line that holds this.
    pub(crate) fn number(&self, what: &str) -> u32 {
        let line = self.text.lines().find(|line| line.starts_with('[') && line.contains(what));
        let line = line.unwrap_or_else(|| panic!("no {what} in\n{}", self.text));
        line[1..line.find(']').unwrap()].parse().unwrap()
    }

    pub(crate) async fn click(&mut self, what: &str) -> Result<Page, BrowserError> {
        let reference = self.number(what);
        self.act(Command::Click { reference }).await
    }

    pub(crate) async fn type_into(&mut self, what: &str, text: &str) -> Result<Page, BrowserError> {
        let reference = self.number(what);
        self.act(Command::Type { reference, text: Text::new(text).unwrap() }).await
    }

    pub(crate) async fn select(&mut self, what: &str, values: &[&str]) -> Result<Page, BrowserError> {
        let reference = self.number(what);
        let values = values.iter().map(|value| Text::new(*value).unwrap()).collect::<Vec<_>>();
        self.act(Command::Select { reference, values: List::new(values).unwrap() }).await
    }

    pub(crate) async fn look(&mut self) {
        self.act(Command::Snapshot).await.unwrap();
    }
}
