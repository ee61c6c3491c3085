//! Fail closed, and heal: with a process away nothing takes effect and nothing is promised, whoever asks is told why,
//! what only shows goes on, and nothing has to be started again by hand but what was held.

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;
use tests::{Host, Setup, is_root, signal};

/// An agent that waits, writes a line and ends.
const SLOW: &str = "[agent.slow]\nmodel = \"scripted/slow\"\n";

/// Puts its script where the model has it from.
fn script(state: &Path, delay_ms: u32) {
    let write = json!({ "call": { "tool": "bash", "args": { "command": "echo done >> ledger" } } });
    let script = [
        json!({ "pieces": [{ "delay_ms": delay_ms }, write] }),
        json!({ "pieces": [{ "text": "that is all" }] }),
    ];
    let path = state.join("model/scripts/slow");
    fs::write(&path, script.map(|line| line.to_string()).join("\n")).unwrap();
    fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
}

/// Lines of all ledgers, as the disk has them.
fn lines(state: &Path) -> usize {
    let folders = fs::read_dir(state.join("runner")).unwrap().flatten();
    let ledgers = folders.filter_map(|folder| fs::read_to_string(folder.path().join("ledger")).ok());
    ledgers.map(|ledger| ledger.lines().count()).sum()
}

fn states(host: &Host) -> Vec<String> {
    let listed = host.json(&["message", "list"]);
    let messages = listed["messages"].as_array().unwrap().iter();
    messages.map(|message| tests::text(message, "state")).collect()
}

fn degraded_by(host: &Host) -> Vec<String> {
    let status = host.json(&["status"]);
    assert_eq!(status["host"]["state"], "degraded", "{status}");
    status["degraded"].as_array().unwrap().iter().map(|process| tests::text(process, "name")).collect()
}

fn error(value: &Value) -> (&str, &str) {
    let of = |name: &str| value["error"][name].as_str().unwrap_or_default();
    (of("type"), of("message"))
}

// Holds P8-28.
#[test]
fn with_audit_held_no_call_takes_effect_listings_go_on_and_it_heals() {
    let host = Setup::default().config(SLOW).start();
    script(&host.state(), 1500);
    let turn = host.say_with(&["--session", "slow", "--agent", "slow", "-m", "go on"]);
    host.wait_for("its model was asked", || host.recorded("model_decided").len() == 1);
    let _ = host.json(&["hold", "audit"]);
    assert_eq!(degraded_by(&host), ["audit"]);
    let later = host.say("later", "run: echo later >> ledger");
    let refused = host.ask(&["memory", "add", "the tide turns at noon"]);
    assert_eq!(error(&refused).0, "not_recorded", "{refused}");
    let refused = host.ask(&["approvals", "grants"]);
    assert_eq!(refused["ok"], true, "what only shows needs no record: {refused}");
    // Longer than a decision waits for audit: the turn has come to its call, and given up waiting once.
    thread::sleep(Duration::from_secs(13));
    assert_eq!(lines(&host.state()), 0, "an effect without its record");
    assert!(states(&host).iter().all(|state| ["accepted", "queued", "running"].contains(&state.as_str())));
    for listing in [["session", "list"], ["memory", "list"], ["approvals", "list"], ["agent", "list"]] {
        assert_eq!(host.json(&listing)["ok"], true);
    }
    let asked = host.ask(&["audit", "tail"]);
    assert_eq!(error(&asked).0, "down", "{asked}");
    let _ = host.json(&["release", "audit"]);
    let (turn, later) = (turn.ended(), later.ended());
    assert_eq!((&turn["end"], &later["end"]), (&json!("answered"), &json!("answered")), "{turn} {later}");
    assert_eq!(lines(&host.state()), 2);
    assert_eq!(host.json(&["status"])["host"]["state"], "ready");
    assert_eq!(host.json(&["audit", "verify"])["ok"], true);
}

// Holds P8-28, P8-29.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn with_the_disk_full_no_call_takes_effect_and_room_alone_heals_it() {
    // A disk of the host's own needs a mount.
    assert!(is_root(), "make test-confined needs root");
    let mount = tempfile::tempdir().unwrap();
    let options = Some("size=8m,mode=755");
    let flags = nix::mount::MsFlags::empty();
    nix::mount::mount(Some("tmpfs"), mount.path(), Some("tmpfs"), flags, options).unwrap();
    {
        let state = mount.path().join("state");
        let config = format!("[host]\ndisk_reserve = 0\n{SLOW}");
        let host = Setup::default().config(&config).state(&state).start();
        // So long that the disk is full before the model says what to do.
        script(&state, 4500);
        let turn = host.say_with(&["--session", "slow", "--agent", "slow", "-m", "go on"]);
        host.wait_for("its model was asked", || host.recorded("model_decided").len() == 1);
        let filler = mount.path().join("filler");
        fill(&filler);
        // Room in the last pages of the files does not matter.
        let add = || tests::text(&host.ask(&["memory", "add", "the tide turns at noon"])["error"], "type");
        host.wait_for("nothing can be recorded", || ["not_recorded", "storage"].contains(&add().as_str()));
        host.wait_for("the host says so", || {
            // The record's last page may have had room for what the store had none for.
            let _ = add();
            is(&host, "degraded", "record: cannot be written")
        });
        thread::sleep(Duration::from_secs(5));
        assert_eq!(lines(&state), 0, "an effect that could not be recorded");
        for listing in [["session", "list"], ["memory", "list"], ["message", "list"], ["approvals", "list"]] {
            assert_eq!(host.json(&listing)["ok"], true);
        }
        fs::remove_file(filler).unwrap();
        let ended = turn.ended();
        assert_eq!(ended["end"], "answered", "{ended}");
        assert_eq!(lines(&state), 1);
        host.wait_for("the host is well", || is(&host, "ready", ""));
        for name in ["audit", "router"] {
            assert_eq!(host.process(name)["restarts"], 0, "{name} was started again for it");
        }
        assert_eq!(host.json(&["audit", "verify"])["ok"], true);
    }
    nix::mount::umount2(mount.path(), nix::mount::MntFlags::MNT_DETACH).unwrap();
}

// Holds P8-29.
#[test]
fn a_host_whose_record_does_not_verify_says_so_and_does_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let setup = || Setup::default().state(&state);
    let mut host = setup().start();
    for _ in 0..4 {
        assert_eq!(host.chat("s", "echo: before"), "before");
    }
    assert_eq!(host.stop(), Some(0));
    let grows = fs::read_dir(state.join("audit/tile/entries")).unwrap();
    let grows =
        grows.map(|file| file.unwrap().path()).find(|path| path.extension().is_some_and(|it| it == "tail"));
    let grows = fs::File::options().write(true).open(grows.unwrap()).unwrap();
    grows.set_len(grows.metadata().unwrap().len() / 2).unwrap();
    let host = setup().launch();
    host.wait_for("the host says so", || is(&host, "degraded", "record: does not verify"));
    assert_eq!(host.json(&["session", "list"])["ok"], true);
    let refused = host.ask(&["memory", "add", "the tide turns at noon"]);
    assert_eq!(refused["error"]["type"], "not_recorded", "{refused}");
}

// Holds P8-30.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test copies a folder as a person would")]
fn another_hosts_log_is_refused_and_named_until_put_back_or_adopted() {
    let (folder, other) = (tempfile::tempdir().unwrap(), Host::start());
    let _ = other.chat("s", "echo: elsewhere");
    let state = folder.path().join("state");
    let (here, aside) = (state.join("audit"), folder.path().join("aside"));
    let setup = || Setup::default().state(&state);
    let refuses = |why: &str| {
        let mut host = setup().launch();
        host.wait_for("the host says so", || {
            is(&host, "degraded", "record: it is another log than this host's")
        });
        let refused = host.ask(&["memory", "add", "the tide turns at noon"]);
        assert_eq!(refused["error"]["type"], "not_recorded", "{refused}");
        assert_eq!(host.json(&["session", "list"])["ok"], true);
        host.wait_for("it is named", || host.log().contains(why) && host.log().contains("record.id"));
        assert_eq!(host.stop(), Some(0));
    };
    let goes_on = |word: &str| {
        let mut host = setup().start();
        assert_eq!(host.chat("s", &format!("echo: {word}")), word);
        assert_eq!(host.json(&["audit", "verify"])["ok"], true);
        assert_eq!(host.stop(), Some(0));
    };
    goes_on("first");
    fs::rename(&here, &aside).unwrap();
    fs::create_dir(&here).unwrap();
    refuses("there is no log any more");
    fs::remove_dir_all(&here).unwrap();
    let copied = Command::new("cp").arg("-a").arg(other.state().join("audit")).arg(&here).status();
    assert!(copied.unwrap().success());
    refuses("whose first key is not that of this host's log");
    fs::rename(&here, folder.path().join("others")).unwrap();
    fs::rename(&aside, &here).unwrap();
    goes_on("put back");
    fs::rename(&here, &aside).unwrap();
    fs::rename(folder.path().join("others"), &here).unwrap();
    fs::remove_file(state.join("record.id")).unwrap();
    goes_on("made its own");
    goes_on("still");
}

// Holds P8-30.
#[test]
fn a_log_whose_key_was_changed_is_this_hosts_at_every_start() {
    let folder = tempfile::tempdir().unwrap();
    let setup = || Setup::default().state(&folder.path().join("state"));
    for _ in 0..3 {
        let mut host = setup().start();
        assert_eq!(host.chat("s", "echo: x"), "x");
        assert_eq!(host.json(&["audit", "rotate-key"])["ok"], true);
        assert_eq!(host.stop(), Some(0));
    }
}

/// Returns whether the host is in this state, for a reason that has these words in it.
fn is(host: &Host, state: &str, words: &str) -> bool {
    host.try_status().is_some_and(|status| {
        let reason = status["host"]["reason"].as_str().unwrap_or_default();
        status["host"]["state"] == state && reason.contains(words)
    })
}

fn fill(path: &Path) {
    use std::io::Write;
    let mut file = fs::File::create(path).unwrap();
    for size in [4096, 1] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
}

// Holds P8-32.
#[test]
fn with_router_held_a_sender_is_told_and_nothing_is_acknowledged() {
    let host = Host::start();
    let _ = host.chat("s", "echo: before");
    let _ = host.json(&["hold", "router"]);
    assert_eq!(degraded_by(&host), ["router"]);
    let output = host.ctl(&["chat", "--session", "s", "-m", "echo: lost", "--json"]);
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (kind, message) = error(&told);
    assert!(kind == "down" && message.contains("router"), "{told}");
    assert_eq!(output.status.code(), Some(69), "{told}");
    let _ = host.json(&["release", "router"]);
    host.wait_for("the router is back", || host.process("router")["state"] == "ready");
    assert_eq!(states(&host).len(), 1, "what was refused was accepted");
    assert_eq!(host.chat("s", "echo: after"), "after");
}

// Holds P8-33.
#[test]
fn hanging_processes_are_replaced_and_the_turn_goes_on() {
    let host = Host::start();
    let still = ["memory", "scanner", "gate"];
    let before: Vec<i32> = still.iter().map(|name| host.pid(name)).collect();
    before.iter().for_each(|pid| signal(*pid, Signal::SIGSTOP));
    let turn = host.say("s", "remember: the harbour office opens at 07:40");
    for (name, before) in still.iter().zip(before) {
        host.wait_for(&format!("{name} is replaced"), || {
            let process = host.process(name);
            process["state"] == "ready" && process["pid"] != before
        });
        let said = format!("agentd: {name} is ended: it sent no heartbeat for 10 s");
        assert!(host.log().contains(&said), "{}", host.log());
    }
    let ended = turn.ended();
    assert_eq!(ended["end"], "answered", "{ended}");
    assert!(host.chat("t", "recall harbour office").contains("07:40"));
}

// Holds P8-33.
#[test]
fn a_host_that_stood_still_as_a_whole_loses_nobody_when_it_goes_on() {
    let host = Host::start();
    let actors = ["audit", "scanner", "memory", "model", "router", "gate", "control"];
    let before: Vec<i32> = actors.iter().map(|name| host.pid(name)).collect();
    signal(host.agentd(), Signal::SIGSTOP);
    before.iter().for_each(|pid| signal(*pid, Signal::SIGSTOP));
    std::thread::sleep(Duration::from_secs(12));
    // As on a machine that goes on: who watches is there before those who are watched.
    signal(host.agentd(), Signal::SIGCONT);
    std::thread::sleep(Duration::from_secs(1));
    before.iter().for_each(|pid| signal(*pid, Signal::SIGCONT));
    assert_eq!(host.chat("s", "echo: on"), "on");
    assert_eq!(actors.map(|name| host.pid(name)).to_vec(), before);
    assert!(!host.log().contains("sent no heartbeat"), "{}", host.log());
}
