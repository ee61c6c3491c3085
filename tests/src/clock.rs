//! The clock of a host, stepped while it runs by a flag of debug builds. The machine's clock is nobody's.

use crate::{Host, Setup};
use std::fs;
use std::path::{Path, PathBuf};

/// The clock of a host, which is off the machine's by as much as its file says.
pub struct Clock(PathBuf);

impl Clock {
    /// A clock whose file is in this folder.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        let clock = Self(folder.join("clock"));
        clock.put(0);
        clock
    }

    /// Sets it, without waiting until the host was told.
    ///
    /// # Panics
    /// Its file cannot be written.
    pub fn put(&self, ms: i64) {
        let fresh = self.0.with_extension("new");
        fs::write(&fresh, format!("{ms}\n")).expect("the clock");
        fs::rename(fresh, &self.0).expect("the clock");
    }

    /// Steps it, and waits until every process was told.
    pub fn step(&self, host: &Host, ms: i64) {
        let line = format!("the clock is stepped to {ms} ms");
        let said = || host.log().matches(&line).count();
        let before = said();
        self.put(ms);
        host.wait_for(&line, || said() > before);
    }

    /// A host with this clock, to be started.
    #[must_use]
    pub fn setup(&self) -> Setup {
        let path = self.0.to_string_lossy().into_owned();
        Setup::default().arguments(&["--clock-offset", &path])
    }
}
