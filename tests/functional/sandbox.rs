//! `agentctl sandbox run`: any command in a runner's jail.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tests::{Host, Setup, kill};

/// Commands that a jail does not have or cannot run, each with its exit code.
pub(crate) const NOT_RUN: [(&str, i32); 5] = [
    ("nosuchprogram", 127),
    ("/no/such/program", 127),
    ("/etc/passwd", 126),
    ("/etc/passwd/x", 126),
    ("/etc", 126),
];

fn run(host: &Host, script: &str) -> (Option<i32>, String, String) {
    let output = host.ctl(&["sandbox", "run", "--", "sh", "-c", script]);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn output_and_exit_status_are_the_commands_own() {
    let host = Host::start();
    assert_eq!(run(&host, "echo out; echo err >&2; exit 7"), (Some(7), "out\n".into(), "err\n".into()));
    // A program that it leaves behind holds its output open, and ends with the jail.
    let left = run(&host, "(setsid sleep 600 &); echo out; exit 3");
    assert_eq!(left, (Some(3), "out\n".into(), String::new()));
    for (program, status) in NOT_RUN {
        let output = host.ctl(&["sandbox", "run", "--", program]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code() == Some(status) && said.starts_with(&format!("{program}: ")),
            "{output:?}"
        );
    }
}

/// The modes, with the ways by which a program comes into a jail in each.
const INTERRUPTED: [(&str, &[&[&str]]); 2] =
    [("auto", &[&["sandbox", "run"], &["run"]]), ("flat", &[&["sandbox", "run"]])];
/// A shell can take no signal that was ignored when it began.
const TAKES: &str = "for name in INT QUIT HUP; do trap \"echo $name\" $name; kill -$name $$; done";

// Holds P1-24.
#[test]
fn a_program_can_be_interrupted_whatever_signals_the_hosts_parent_ignores() {
    let folder = tempfile::tempdir().unwrap();
    let programs = tests::programs();
    // As `nohup` and the `&` of a script start it.
    let starter = format!("#!/bin/sh\ntrap '' INT QUIT HUP\nexec '{}/agentd' \"$@\"\n", programs.display());
    fs::write(folder.path().join("agentd"), starter).unwrap();
    fs::set_permissions(folder.path().join("agentd"), Permissions::from_mode(0o755)).unwrap();
    symlink(programs.join("agentctl"), folder.path().join("agentctl")).unwrap();
    for (mode, ways) in INTERRUPTED {
        let config = format!("[host]\nmode = '{mode}'\n");
        let host = Setup::default().config(&config).programs(folder.path()).start();
        for way in ways.iter().copied() {
            let output = host.ctl(&[way, &["--", "sh", "-c", TAKES]].concat());
            assert_eq!(output.stdout, b"INT\nQUIT\nHUP\n", "{mode} {way:?} {output:?}");
        }
    }
}

// Holds P1-16.
#[test]
fn a_command_whose_jail_is_lost_is_not_run_again_by_itself() {
    let host = Host::start();
    let (dir, script) = (host.dir().join("work"), "echo x >> ran; sleep 60");
    std::fs::create_dir(&dir).unwrap();
    let mut command =
        host.command(&["sandbox", "run", "-w", dir.to_str().unwrap(), "--", "sh", "-c", script]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let ran = || std::fs::read_to_string(dir.join("ran")).unwrap_or_default();
    host.wait_for("it has begun", || ran() == "x\n");
    kill(host.runners()[0]);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains("not run again by itself"), "{said}");
    assert_eq!(ran(), "x\n");
}

// Holds P1-15.
#[test]
fn sh_git_python3_and_node_found_on_the_host_work_inside() {
    let host = Host::start();
    let scripts = [
        ("sh", "echo ok"),
        (
            "git",
            "git init -q r && cd r && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git log --oneline | wc -l && echo ok",
        ),
        (
            "python3",
            "/usr/bin/python3 -c 'import json, subprocess, threading; t = threading.Thread(target=print); t.start(); t.join(); print(\"ok\")'",
        ),
        ("node", "node -e 'setTimeout(() => console.log(\"ok\"), 10)'"),
    ];
    for (program, script) in scripts {
        let there = ["/usr/bin", "/bin", "/usr/local/bin"]
            .iter()
            .any(|folder| std::path::Path::new(folder).join(program).exists());
        if there {
            let (code, out, err) = run(&host, script);
            assert!(code == Some(0) && out.contains("ok"), "{program}: {code:?} {out} {err}");
        }
    }
}

/// Programs that fetch, each with a command that needs a network.
const FETCHES: [(&str, &str); 5] = [
    ("git", "git ls-remote https://example.com/x.git"),
    ("curl", "curl -sS https://example.com/"),
    ("pip", "pip download --no-deps six"),
    ("pip", "pip install --no-deps no-such-package"),
    ("npm", "npm view left-pad"),
];
/// The longest for which one of them may try on a busy machine. By its own defaults pip or npm would try for longer.
const GIVES_UP: Duration = Duration::from_secs(10);

// Holds P1-42.
#[test]
fn git_curl_pip_and_npm_give_up_at_once_and_one_sentence_says_why() {
    let host = Host::start();
    for (program, script) in FETCHES {
        let there =
            ["/usr/bin", "/usr/local/bin"].iter().any(|folder| Path::new(folder).join(program).exists());
        assert!(there || matches!(program, "pip" | "npm"), "this test needs {program}");
        for way in [&["sandbox", "run"][..], &["run"]].into_iter().filter(|_| there) {
            let began = Instant::now();
            let output = host.ctl(&[way, &["--", "sh", "-c", script]].concat());
            let (took, said) = (began.elapsed(), String::from_utf8_lossy(&output.stderr));
            assert_eq!(
                said.matches("this jail has no network by design").count(),
                1,
                "{way:?} {script}: {said}"
            );
            assert!(!output.status.success() && took < GIVES_UP, "{way:?} {script}: {took:?} {output:?}");
        }
    }
}

#[test]
fn a_file_is_put_into_a_workspace_and_given_out_again() {
    let host = Host::start();
    let file = host.dir().join("note.txt");
    std::fs::write(&file, "forty-two\n").unwrap();
    let _ = host.json(&["workspace", "put", "s", "deep/note.txt", file.to_str().unwrap()]);
    assert!(host.chat("s", "read deep/note.txt").contains("forty-two"));
    assert_eq!(host.ctl(&["workspace", "get", "s", "deep/note.txt"]).stdout, b"forty-two\n");
}
