//! A log for tests, and the offline program. It touches folders of its own beneath the system's temporary one.

use audit::bench;
use ipc_proto::audit::{Action, Event, Result3};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Milliseconds of a day.
const DAY: u64 = 86_400_000;

/// A log in a folder of its own.
pub(crate) struct Log {
    folder: tempfile::TempDir,
    kept: tempfile::TempDir,
}

impl Log {
    pub(crate) fn new() -> Self {
        let (folder, kept) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        bench::Log::open(folder.path()).unwrap();
        Self { folder, kept }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.folder().join(file)
    }

    /// Adds entries in one life of the host, which ends well.
    pub(crate) fn append(&self, number: u64) {
        self.append_on(20_000, number);
    }

    /// The same on a day.
    pub(crate) fn append_on(&self, day: u64, number: u64) {
        let mut log = bench::Log::open(self.folder()).unwrap();
        let event = |n: u64| {
            Event::new(Action::TurnStarted, Result3::Success)
                .about("a turn")
                .because(&format!("of {n} in this life"))
        };
        for first in (0..number).step_by(100) {
            log.append(day * DAY, (first..number.min(first + 100)).map(event)).unwrap();
        }
    }

    /// A file of it, kept elsewhere.
    pub(crate) fn keep(&self, file: &str) -> PathBuf {
        let to = self.kept.path().join(file);
        fs::copy(self.path(file), &to).unwrap();
        to
    }

    /// A copy of all of it.
    pub(crate) fn copy(&self) -> Self {
        let (folder, kept) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for file in self.files() {
            let to = folder.path().join(&file);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(self.path(&file), to).unwrap();
        }
        Self { folder, kept }
    }

    /// Every file of it.
    pub(crate) fn files(&self) -> Vec<String> {
        let (mut files, mut folders) = (Vec::new(), vec![self.folder().to_owned()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files.push(path.strip_prefix(self.folder()).unwrap().to_str().unwrap().to_owned());
                }
            }
        }
        files.sort();
        files
    }

    /// The exit code and the report of `verify`.
    pub(crate) fn verify(&self, words: &[&str]) -> (i32, Value) {
        let dir = ["verify", "--json", "--dir", self.folder().to_str().unwrap()];
        let (code, out) = run(&[&dir, words].concat());
        (code, json(&out))
    }

    /// Verification names this fault, and this entry.
    pub(crate) fn refuses(&self, kind: &str, index: Option<u64>) {
        let (code, found) = self.verify(&[]);
        let error = &found["error"];
        assert_eq!(
            (code, error["type"].as_str(), error["index"].as_u64()),
            (1, Some(kind), index),
            "{found}"
        );
    }
}

/// Runs the offline program: its exit status and output.
pub(crate) fn run(words: &[&str]) -> (i32, String) {
    #[expect(clippy::disallowed_methods, reason = "the program under test")]
    let output = Command::new(env!("CARGO_BIN_EXE_audit")).arg("--offline").args(words).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Where the entries of a bundle are.
pub(crate) fn entries(bytes: &[u8]) -> Vec<Range<usize>> {
    let (mut at, mut found) = (0, Vec::new());
    while at + 2 <= bytes.len() {
        let length = usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
        found.push(at + 2..at + 2 + length);
        at += 2 + length;
    }
    found
}

/// The leaf hash of an entry.
pub(crate) fn leaf(entry: &[u8]) -> [u8; 32] {
    Sha256::digest([&[0], entry].concat()).into()
}

/// Changes one byte of a file.
pub(crate) fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}
