//! No path leads out: `..`, links, links put there meanwhile, pipes and devices.

use super::{Bench, Context, names};
use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn every_tool(path: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("read", json!({"path": path})),
        ("write", json!({"path": path, "content": "hijacked"})),
        ("edit", json!({"path": path, "edits": [{"oldText": "secret", "newText": "hijacked"}]})),
        ("glob", json!({"pattern": "*", "path": path})),
        ("grep", json!({"pattern": "secret", "path": path})),
        ("bash", json!({"command": "true", "cwd": path})),
    ]
}

// Holds P1-14.
#[test]
fn no_path_leads_out_of_the_workspace() {
    let bench = Bench::new();
    let outside = bench.outside();
    symlink(&outside, bench.path("absolute")).unwrap();
    symlink("../outside", bench.path("relative")).unwrap();
    symlink("/", bench.path("slash")).unwrap();
    symlink(outside.join("secret"), bench.path("file")).unwrap();
    fs::create_dir(bench.path("sub")).unwrap();
    symlink("../../outside", bench.path("sub/deep")).unwrap();
    let full = |end: &str| format!("{}{end}", bench.dir.path().display());
    let paths = [
        "../outside/secret".to_owned(),
        "..".to_owned(),
        "sub/../../outside/secret".to_owned(),
        "absolute/secret".to_owned(),
        "relative/secret".to_owned(),
        "slash/etc/passwd".to_owned(),
        "file".to_owned(),
        "sub/deep/secret".to_owned(),
        "sub/deep/../outside/secret".to_owned(),
        "/etc/passwd".to_owned(),
        "/proc/self/root/etc/passwd".to_owned(),
        full("/outside/secret"),
        full("/workspace/../outside/secret"),
        full("/workspace-not"),
        full("/skills/../outside/secret"),
    ];
    for path in &paths {
        for (tool, args) in every_tool(path) {
            let (code, said) = bench.fails(tool, args);
            let refused = ["outside_workspace", "symbolic_link", "read_only", "is_a_folder"].contains(&code);
            assert!(refused && !said.contains("the secret"), "{tool} {path}: {code} {said}");
        }
    }
    assert_eq!(fs::read_to_string(outside.join("secret")).unwrap(), "the secret\n");
    assert_eq!(names(&outside), ["secret"]);
}

#[test]
fn nothing_is_created_through_a_link_to_the_outside() {
    let bench = Bench::new();
    symlink(bench.outside(), bench.path("out")).unwrap();
    symlink(bench.outside().join("fresh"), bench.path("dangling")).unwrap();
    for path in ["out/new", "out/folder/new", "dangling", "dangling/new", "../outside/a/b"] {
        bench.fails("write", json!({"path": path, "content": "x"}));
    }
    assert_eq!(names(&bench.outside()), ["secret"]);
}

#[test]
fn a_link_that_stays_inside_is_read_through_and_never_written_through() {
    let bench = Bench::new();
    bench.put("real/f", "inside");
    symlink("real", bench.path("folder")).unwrap();
    symlink("real/f", bench.path("file")).unwrap();
    assert_eq!(bench.ok("read", json!({"path": "folder/f"})), "inside");
    assert_eq!(bench.ok("read", json!({"path": "file"})), "inside");
    let (code, _) = bench.fails("write", json!({"path": "file", "content": "x"}));
    assert_eq!(code, "symbolic_link");
    let (code, _) = bench.fails("edit", json!({"path": "file", "edits": [{"oldText": "in", "newText": ""}]}));
    assert_eq!(code, "symbolic_link");
    bench.ok("write", json!({"path": "folder/g", "content": "x"}));
    assert_eq!(bench.get("real/g"), "x");
}

#[test]
fn a_readable_root_is_not_written() {
    let bench = Bench::new();
    let path = bench.dir.path().join("skills/SKILL.md");
    let path = path.to_str().unwrap();
    let (code, _) = bench.fails("write", json!({"path": path, "content": "x"}));
    assert_eq!(code, "read_only");
    let (code, _) = bench.fails("edit", json!({"path": path, "edits": [{"oldText": "a", "newText": "b"}]}));
    assert_eq!(code, "read_only");
    assert_eq!(fs::read_to_string(path).unwrap(), "a skill\n");
}

/// While a folder and a link to the outside keep changing places, no call may reach the outside.
// Holds P1-14.
#[test]
fn a_link_swapped_in_during_a_call_leads_nowhere() {
    let bench = Bench::new();
    bench.put("place/secret", "harmless\n");
    symlink(bench.outside(), bench.path("link")).unwrap();
    let stop = AtomicBool::new(false);
    let (place, link) = (bench.path("place"), bench.path("link"));
    let reached = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                renameat2(AT_FDCWD, &place, AT_FDCWD, &link, RenameFlags::RENAME_EXCHANGE).unwrap();
            }
        });
        let until = Instant::now() + Duration::from_secs(2);
        let mut reached = 0;
        while Instant::now() < until {
            for (tool, args) in every_tool("place/secret").into_iter().take(3) {
                let outcome = bench.run(tool, args);
                reached += usize::from(outcome.ok);
                assert!(!outcome.output.contains("the secret"), "{tool}");
            }
            let found = bench.run("grep", json!({"pattern": "secret", "path": "."}));
            assert!(!found.output.contains("the secret"), "{}", found.output);
            bench.run("write", json!({"path": "place/new/deep", "content": "x"}));
        }
        stop.store(true, Ordering::Relaxed);
        reached
    });
    assert!(reached > 0, "the race never let a call through, so it shows nothing");
    assert_eq!(names(&bench.outside()), ["secret"]);
    assert_eq!(fs::read_to_string(bench.outside().join("secret")).unwrap(), "the secret\n");
}

#[test]
fn pipes_sockets_and_devices_are_refused_at_once() {
    let bench = Bench::new();
    mkfifo(&bench.path("pipe"), Mode::S_IRWXU).unwrap();
    let _socket = UnixListener::bind(bench.path("socket")).unwrap();
    let started = Instant::now();
    for path in ["pipe", "socket"] {
        for (tool, args) in every_tool(path) {
            let (code, said) = bench.fails(tool, args);
            assert!(["not_a_regular_file", "not_a_folder"].contains(&code), "{tool} {path}: {code} {said}");
        }
    }
    let context =
        Context::open(&bench.path(""), &[Path::new("/dev")], &bench.path(""), bench.context.deadline);
    let bench = Bench { context: context.unwrap(), dir: bench.dir };
    for path in ["/dev/zero", "/dev/null"] {
        let (code, said) = bench.fails("read", json!({"path": path}));
        assert!(code == "not_a_regular_file" && said.contains("a device"), "{said}");
    }
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_search_passes_by_a_pipe_even_one_called_gitignore() {
    let bench = Bench::new();
    bench.put("sub/f", "needle\n");
    mkfifo(&bench.path("pipe"), Mode::S_IRWXU).unwrap();
    mkfifo(&bench.path(".gitignore"), Mode::S_IRWXU).unwrap();
    symlink("/dev/zero", bench.path("sub/.gitignore")).unwrap();
    assert_eq!(bench.ok("grep", json!({"pattern": "needle"})), "sub/f:1:needle");
    assert_eq!(bench.ok("glob", json!({"pattern": "**/f"})), "sub/f");
}

#[test]
fn after_the_workspace_was_moved_away_calls_still_reach_that_one_only() {
    let bench = Bench::new();
    bench.put("f", "mine");
    let moved = bench.dir.path().join("moved");
    fs::rename(bench.path(""), &moved).unwrap();
    symlink(bench.outside(), bench.dir.path().join("workspace")).unwrap();
    assert_eq!(bench.ok("read", json!({"path": "f"})), "mine");
    bench.ok("write", json!({"path": "g", "content": "x"}));
    assert_eq!(
        (names(&moved), names(&bench.outside())),
        (vec!["f".into(), "g".into()], vec!["secret".into()])
    );
}
