//! A person at a terminal: a program of the host's with a pseudo-terminal at both ends, what it shows, and what is
//! typed to it.

use nix::pty::{Winsize, openpty};
use nix::sys::termios::{LocalFlags, tcgetattr};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long something to be shown is waited for.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);
/// Comes behind all that a program showed, and is itself nothing to see.
const END: &str = "\0";

/// A person at a terminal with a program in it.
pub struct Person {
    child: Child,
    /// The program's end, kept so that the terminal outlives it.
    terminal: OwnedFd,
    keys: File,
    shown: Arc<Mutex<String>>,
}

impl Person {
    /// Starts this program at a terminal of 80 columns.
    ///
    /// # Panics
    /// It cannot be started.
    #[must_use]
    pub fn with(mut command: Command) -> Self {
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        let ends = openpty(Some(&size), None).expect("a terminal");
        let end = || ends.slave.try_clone().expect("its end");
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().expect("it runs");
        let keys = File::from(ends.master);
        let mut screen = keys.try_clone().expect("its screen");
        let shown = Arc::<Mutex<String>>::default();
        let keeps = Arc::clone(&shown);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = screen.read(&mut buffer) {
                let part = String::from_utf8_lossy(&buffer[..length]).into_owned();
                keeps.lock().expect("the screen").push_str(&part);
            }
        });
        Self { child, terminal: ends.slave, keys, shown }
    }

    /// Everything that was shown so far.
    #[must_use]
    pub fn shown(&self) -> String {
        self.shown.lock().expect("the screen").clone()
    }

    /// Waits until this is shown.
    ///
    /// # Panics
    /// It is not.
    pub fn sees(&self, text: &str) {
        let begun = Instant::now();
        while !self.shown().contains(text) {
            assert!(begun.elapsed() < PATIENCE, "{text:?} is not shown: {:?}", self.shown());
            std::thread::sleep(PAUSE);
        }
    }

    /// Types a line.
    ///
    /// # Panics
    /// The terminal is gone.
    pub fn types(&mut self, line: &str) {
        self.keys.write_all(format!("{line}\r").as_bytes()).expect("the keys");
    }

    /// Returns whether what is typed is shown, as a terminal does that is not in raw mode.
    ///
    /// # Panics
    /// The terminal is gone.
    #[must_use]
    pub fn is_echoed(&self) -> bool {
        tcgetattr(&self.terminal).expect("the terminal").local_flags.contains(LocalFlags::ECHO)
    }

    /// The program.
    #[must_use]
    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("a process id")
    }

    /// Waits until the program has ended and everything that it showed is here.
    ///
    /// # Panics
    /// It cannot be waited for.
    pub fn ended(&mut self) -> ExitStatus {
        let status = self.child.wait().expect("its end");
        // A terminal keeps the order of what is written to it.
        let mut terminal = File::from(self.terminal.try_clone().expect("the terminal"));
        terminal.write_all(END.as_bytes()).expect("the terminal");
        self.sees(END);
        status
    }
}
