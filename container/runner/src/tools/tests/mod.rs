//! Tests of the tools with real files and real programs, in folders of their own. What they need is a tempdir, bash
//! and coreutils; nothing here may depend on the machine's own files.

mod agreement;
mod commands;
mod escapes;
mod files;
mod searches;

use super::{Context, Outcome, Prepared, prepare};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A workspace, a readable root beside it and files outside both.
struct Bench {
    dir: TempDir,
    context: Context,
}

impl Bench {
    fn new() -> Self {
        Self::with_deadline(Duration::from_secs(60))
    }

    fn with_deadline(time: Duration) -> Self {
        let dir = TempDir::new().unwrap();
        for folder in ["workspace", "skills", "scratch", "outside"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
        }
        fs::write(dir.path().join("outside/secret"), "the secret\n").unwrap();
        fs::write(dir.path().join("skills/SKILL.md"), "a skill\n").unwrap();
        let at = |name: &str| dir.path().join(name);
        let deadline = Instant::now() + time;
        let context =
            Context::open(&at("workspace"), &[&at("skills"), &at("missing")], &at("scratch"), deadline);
        Self { context: context.unwrap(), dir }
    }

    fn path(&self, rel: &str) -> PathBuf {
        self.dir.path().join("workspace").join(rel)
    }

    fn outside(&self) -> PathBuf {
        self.dir.path().join("outside")
    }

    fn put(&self, rel: &str, content: impl AsRef<[u8]>) {
        let path = self.path(rel);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn get(&self, rel: &str) -> String {
        fs::read_to_string(self.path(rel)).unwrap()
    }

    /// Runs a call that must pass validation.
    fn run(&self, tool: &str, args: Value) -> Outcome {
        match prepare(tool, &args.to_string()) {
            Ok(Prepared::Jail(call)) => call.run(&self.context),
            other => panic!("{tool} {args}: {other:?}"),
        }
    }

    /// Runs a call that must come out well, and gives its output.
    fn ok(&self, tool: &str, args: Value) -> String {
        let outcome = self.run(tool, args);
        assert!(outcome.ok, "{}", outcome.output);
        outcome.output
    }

    /// Runs a call that must fail, and returns its code and its text.
    fn fails(&self, tool: &str, args: Value) -> (&'static str, String) {
        let outcome = self.run(tool, args);
        assert!(!outcome.ok, "{}", outcome.output);
        (outcome.error.unwrap(), outcome.output)
    }
}

/// The answer to a call that must not pass validation.
fn refused(tool: &str, args: &Value) -> String {
    prepare(tool, &args.to_string()).expect_err("must not pass validation")
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Runs an ignored test of this program, alone, in namespaces of its own. Where the machine grants none it says so.
fn in_namespaces(which: &[&str], name: &str) {
    let unshare = |rest: &[&str]| {
        #[expect(clippy::disallowed_methods, reason = "a test that needs namespaces of its own")]
        let mut command = std::process::Command::new("unshare");
        command.args(["--user", "--map-root-user"]).args(which).args(rest);
        command.stdin(Stdio::piped()).output().unwrap()
    };
    if !unshare(&["true"]).status.success() {
        println!("NOT RUN: {name}: no user namespaces here");
        return;
    }
    let program = std::env::current_exe().unwrap();
    let program = program.to_str().unwrap();
    let output = unshare(&[program, "--exact", name, "--ignored", "--nocapture", "--test-threads=1"]);
    let said = String::from_utf8_lossy(&output.stdout);
    let passed = output.status.success() && said.contains("1 passed");
    assert!(passed, "{said} {}", String::from_utf8_lossy(&output.stderr));
}
