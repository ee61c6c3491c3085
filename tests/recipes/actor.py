#!/usr/bin/env python3
"""`make recipes`: follows CONTRIBUTING.md, "Recipe: an actor", in a copy of the tree below target/recipes. It adds the actor `echo` by
what the recipe names and by nothing else, builds, and starts a host: the actor runs, is drawn and listed, is probed, and answers
control and nobody else. The first run takes as long as a build of all programs of this workspace; later ones build what changed."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "target" / "recipes"
TREE = WORK / "tree"
BUILT = WORK / "target" / "debug"

LINE = """            /// Gives back the text that it is sent.
            Echo {id} "echo" [echo EchoClient EchoRequest];
"""

ROW = """    Row {
        process: crate::process::Process::Echo,
        does: "gives back the text that it is sent",
        user: "cordon-echo",
        syscalls: &[&BASE, &LINKS],
        config: &["log"],
        serves: &[to(&[Control], "the operators' surface", &["echo"])],
        ..NOTHING
    },
"""

INTERFACE = """//! Echo gives back the text that it is sent.

use crate::Text;
use crate::service::service;

service! {
    /// Gives back the text that it is sent.
    pub trait Echo {
        /// The same text.
        [idempotent, 4, 5]
        async fn echo(text: Text<1024>) -> Text<1024>;
    }
}
"""

MANIFEST = """[package]
name = "echo"
description = "Gives back the text that it is sent"
version.workspace = true
edition.workspace = true
rust-version.workspace = true
license.workspace = true
publish.workspace = true

[dependencies]
ipc-proto = { workspace = true }
kit = { workspace = true }
manifest = { workspace = true }
tarpc = { workspace = true }

[lints]
workspace = true
"""

README = """# echo

Duty: gives back the text that it is sent. It holds nothing and asks nobody.

An attacker who owns it: sees the texts that control sends it. Held by
`tests/security/files.rs::a_process_that_keeps_no_files_dies_by_opening_one_after_the_seal`.
"""

MAIN = """//! `echo` gives back the text that it is sent. It opens nothing and calls nobody.

mod server;

use std::process::ExitCode;

fn main() -> ExitCode {
    kit::run::<server::Process>()
}
"""

SERVER = """//! The interface of echo.

use ipc_proto::Text;
use ipc_proto::config::NoKeys;
use ipc_proto::echo::{Echo, FRAME_BOUND};
use kit::{Actor, Edge, Host, OpenFault, Place};
use tarpc::context::Context;

/// The process.
pub(crate) struct Process;

impl Actor for Process {
    const PROCESS: manifest::Process = manifest::Process::Echo;
    type Config = NoKeys;
    type Opened = ();

    fn open(_: NoKeys, _: &Place) -> Result<(), OpenFault> {
        Ok(())
    }

    async fn start((): (), _: Host) -> Self {
        Self
    }

    async fn serve(&self, edge: Edge) {
        edge.serve(FRAME_BOUND, Server.serve()).await;
    }
}

#[derive(Clone)]
struct Server;

impl Echo for Server {
    async fn echo(self, _: Context, text: Text<1024>) -> Text<1024> {
        text
    }
}
"""

# The files of the tree that the recipe has one edit, each with what the edit stands before.
EDITS = {
    "ipc-proto/manifest/src/process.rs": "            /// Serves `agentctl`.\n",
    "ipc-proto/manifest/src/table.rs": "    Row {\n        process: Control,\n",
    "ipc-proto/src/lib.rs": "pub mod embedder;\n",
}
# New files.
FILES = {
    "ipc-proto/src/echo.rs": INTERFACE,
    "actors/echo/Cargo.toml": MANIFEST,
    "actors/echo/README.md": README,
    "actors/echo/src/main.rs": MAIN,
    "actors/echo/src/server.rs": SERVER,
}


def run(*words, **options):
    print("+", *words, flush=True)
    return subprocess.run(words, check=True, **options)


def copy():
    """Brings the files of the tree into the copy. A file that is the same keeps its time, so that little is built anew."""
    listed = run("git", "ls-files", "-co", "--exclude-standard", "-z", cwd=ROOT, capture_output=True, text=True).stdout
    names = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
    # Cargo reads the tree's own, which lies above the copy, and would join the same flags to it once more.
    names.discard(".cargo/config.toml")
    for name in names - set(EDITS):
        source, target = ROOT / name, TREE / name
        if not target.exists() or target.read_bytes() != source.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    for target in TREE.rglob("*"):
        name = str(target.relative_to(TREE))
        if target.is_file() and name not in names and name not in FILES:
            target.unlink()
    if not BUILT.exists() and (ROOT / "target/debug").exists():
        # Other people's crates are built already: links to them, which cost nothing. Cargo and build scripts write the other two
        # folders in place, so those are copies: through a link, the tree's own build would pass for newer than it is.
        BUILT.mkdir(parents=True)
        run("cp", "-rl", ROOT / "target/debug/deps", BUILT / "deps")
        for folder in ("build", ".fingerprint"):
            run("cp", "-a", ROOT / "target/debug" / folder, BUILT / folder)


def follow():
    """Does what the recipe says."""
    processes = (ROOT / "ipc-proto/manifest/src/process.rs").read_text()
    ids = [int(number) for number in re.findall(r'^ {12}\w+ (\d+) "', processes, re.M)]
    texts = {
        "ipc-proto/manifest/src/process.rs": LINE.format(id=max(ids) + 1),
        "ipc-proto/manifest/src/table.rs": ROW,
        "ipc-proto/src/lib.rs": "pub mod echo;\n",
    }
    for name, before in EDITS.items():
        text = (ROOT / name).read_text()
        if text.count(before) != 1:
            sys.exit(f"{name}: `{before.strip()}` does not stand there once")
        write(TREE / name, text.replace(before, texts[name] + before))
    for name, text in FILES.items():
        write(TREE / name, text)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def cargo(*words):
    environment = {**os.environ, "CARGO_TARGET_DIR": str(BUILT.parent)}
    run(os.environ.get("CARGO", "cargo"), *words, cwd=TREE, env=environment)


def host():
    """A host with the actor: what its own tools say."""
    work = Path(subprocess.check_output(["mktemp", "-d", "/tmp/cordon-recipe.XXXXXX"], text=True).strip())
    work.chmod(0o755)
    (work / "cordon.toml").write_text("")
    (work / "cordon.toml").chmod(0o644)
    log = open(work / "log", "wb")
    agentd = subprocess.Popen(
        [BUILT / "agentd", "run", "--config", work / "cordon.toml", "--state-dir", work / "state",
         "--runtime-dir", work / "run"], stdout=log, stderr=log)

    def ctl(*words):
        return subprocess.run([BUILT / "agentctl", "--socket", work / "run/control.sock", *words],
                              capture_output=True, text=True)

    try:
        until = time.monotonic() + 60
        while True:
            status = ctl("status", "--json")
            if status.returncode == 0 and json.loads(status.stdout)["host"]["state"] == "ready":
                break
            if agentd.poll() is not None or time.monotonic() > until:
                sys.exit((work / "log").read_text())
            time.sleep(0.1)
        echo = [each for each in json.loads(status.stdout)["processes"] if each["name"] == "echo"]
        check("it runs and is ready", len(echo) == 1 and echo[0]["state"] == "ready")
        check("it is drawn with its edge", "control -> echo;" in ctl("manifest", "--dot").stdout)
        check("it is inspected", "gives back the text" in ctl("inspect", "echo", "--table").stdout)
        check("the kernel confirms its confinement", ctl("attest").returncode == 0)
        probed = ctl("redteam", "--row", "echo")
        print(probed.stdout)
        check("its jail holds against every probe", probed.returncode == 0)
    finally:
        agentd.terminate()
        agentd.wait()
        shutil.rmtree(work, ignore_errors=True)


def check(what, holds):
    print("ok" if holds else "FAILED", what, flush=True)
    if not holds:
        sys.exit(1)


def main():
    copy()
    follow()
    run("make", "--no-print-directory", "lists", cwd=TREE, env={**os.environ, "CARGO_TARGET_DIR": str(BUILT.parent)})
    cargo("build", "--workspace", "--bins")
    host()
    # Laws of the table, of the tree and of its documents hold with the actor, and the matrix of callers has it.
    cargo("test", "--quiet", "-p", "manifest", "-p", "ipc-proto", "-p", "agentd-config")
    cargo("test", "--quiet", "-p", "tests", "--test", "style")
    cargo("test", "--quiet", "-p", "tests", "--test", "security", "--", "callers::")


if __name__ == "__main__":
    main()
