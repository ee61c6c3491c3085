//! Operations: what `agentctl` shows of the host, and what it does to it.

use serde_json::json;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use tests::{Host, Setup};

#[test]
fn status_shows_every_process_ready_with_its_figures() {
    let host = Setup::default().every_process().start();
    let _ = host.chat("s", "echo: x");
    let status = host.json(&["status"]);
    assert_eq!(status["host"]["state"], "ready");
    let names: Vec<&str> =
        status["processes"].as_array().unwrap().iter().filter_map(|p| p["name"].as_str()).collect();
    let expected: Vec<&str> = manifest::TABLE
        .iter()
        .filter(|row| manifest::is_actor(row.process))
        .map(|row| row.process.name())
        .collect();
    assert_eq!(names, expected);
    for process in status["processes"].as_array().unwrap() {
        assert_eq!(process["state"], "ready");
        for figure in [
            "pid", "uid", "generation", "restarts", "uptime_ms", "pss_kib", "rss_kib", "calls", "p50_us",
            "p99_us",
        ] {
            assert!(process[figure].is_u64(), "{figure}: {process}");
        }
    }
}

// Holds B-08.
#[test]
fn attest_finds_no_difference_on_a_running_host() {
    let host = Setup::default().every_process().start();
    let output = host.ctl(&["attest", "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn entries_are_listed_by_time_with_category_and_severity() {
    let host = Host::start();
    let _ = host.json(&["key", "create", "one"]);
    let _ = host.json(&["key", "revoke", "one"]);
    let shown =
        |words: &[&str]| host.json(&[&["audit"], words].concat())["records"].as_array().unwrap().clone();
    let latest = shown(&["tail", "-n", "1"]);
    assert_eq!(latest.len(), 1, "{latest:?}");
    assert_eq!((&latest[0]["action"], &latest[0]["category"]), (&json!("key_revoked"), &json!("auth")));
    assert!(latest[0]["severity"].is_string(), "{latest:?}");
    assert_eq!(shown(&["query", "--category", "auth", "--since", "1h"]).len(), 2);
    assert_eq!(shown(&["query", "--until", "1h"]).len(), 0);
    assert_eq!(
        shown(&["query", "--since", &latest[0]["time_ms"].to_string(), "--until", "9999-12-31"]).len(),
        1
    );
}

// Holds P6-26.
#[test]
fn the_record_verifies_while_running_and_offline() {
    let mut host = Host::start();
    let _ = host.chat("s", "echo: x");
    assert!(host.json(&["audit", "verify"])["entries"].as_u64() > Some(3));
    host.stop();
    let folder = host.state().join("audit");
    let output = host.ctl(&["audit", "verify", "--dir", folder.to_str().unwrap(), "--json"]);
    assert!(output.status.success(), "{output:?}");
}

// Holds P8-05.
#[test]
fn a_held_process_degrades_the_host_and_its_release_mends_it() {
    let host = Host::start();
    let _ = host.json(&["hold", "memory"]);
    host.wait_for("degraded", || host.json(&["status"])["host"]["state"] == "degraded");
    assert_eq!(host.process("memory")["state"], "held");
    let _ = host.json(&["release", "memory"]);
    host.wait_for("ready", || host.json(&["status"])["host"]["state"] == "ready");
    assert!(host.chat("s", "remember: held and released").contains("held"));
}

// Holds P7-88.
#[test]
fn a_process_that_is_held_begins_when_an_operator_restarts_it() {
    let host = Host::start();
    let _ = host.json(&["hold", "model"]);
    host.wait_for("held", || host.process("model")["state"] == "held");
    let _ = host.json(&["restart", "model"]);
    host.wait_for("ready", || host.process("model")["state"] == "ready");
    // As many ends in a row, each soon after a start, as it takes to be held by agentd.
    host.wait_for("held", || {
        let process = host.process("model");
        if process["state"] == "ready" {
            tests::kill(i32::try_from(process["pid"].as_i64().unwrap()).unwrap());
        }
        process["state"] == "held"
    });
    let _ = host.json(&["restart", "model"]);
    host.wait_for("ready", || host.process("model")["state"] == "ready");
    host.kill_and_wait("model");
    assert_eq!(host.chat("s", "echo: after"), "after", "its former lives are forgotten");
}

// Holds P7-89.
#[test]
fn a_shared_folder_or_one_with_foreign_files_is_refused_and_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let (shared, home, state) =
        (folder.path().join("tmp"), folder.path().join("home"), folder.path().join("state"));
    for (path, mode) in [(&shared, 0o1777), (&home, 0o700)] {
        fs::create_dir(path).unwrap();
        fs::create_dir(path.join("tmp")).unwrap();
        fs::write(path.join("tmp/kept"), "").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let logs = shared.join("logs");
    fs::create_dir(&logs).unwrap();
    fs::set_permissions(&logs, fs::Permissions::from_mode(0o755)).unwrap();
    for (path, mode, why) in
        [(&shared, 0o1777, "it is everybody's"), (&home, 0o700, "\"tmp\", which is not Cordon's")]
    {
        let named = path.to_str().unwrap();
        for setup in [
            Setup::default().state(path),
            Setup::default().state(&state).arguments(&["--runtime-dir", named]),
        ] {
            let mut host = setup.launch();
            assert_eq!(host.wait(), Some(78), "{}", host.log());
            let said = host.log();
            assert!(said.contains(named) && said.contains(why) && said.contains("--runtime-dir"), "{said}");
        }
        assert_eq!(fs::metadata(path).unwrap().mode() & 0o7777, mode);
        assert!(path.join("tmp/kept").exists() && !path.join("audit").exists());
    }
    assert!(!state.exists(), "nothing is made where not all can be");
    let told = Host::start().ask(&["doctor", "--fix", "--state-dir", shared.to_str().unwrap()]);
    let row = told["rows"].as_array().unwrap().iter().find(|row| row["id"] == "permissions.state").unwrap();
    assert!(row["status"] == "fail" && row["message"].as_str().unwrap().contains("everybody's"), "{row}");
    assert_eq!(fs::metadata(&shared).unwrap().mode() & 0o7777, 0o1777);
    assert_eq!(fs::metadata(&logs).unwrap().mode() & 0o7777, 0o755, "nothing below it is the host's either");
}

// Holds P7-89.
#[test]
fn a_former_state_directory_is_recognised_and_its_mode_repaired() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let state = folder.path().join("state");
    let setup = || Setup::default().state(&state);
    let mut host = setup().start();
    assert_eq!(host.chat("s", "echo: kept"), "kept");
    assert_eq!(host.stop(), Some(0));
    for (mode, other, expected) in [(0o700, None, 0o711), (0o755, Some("notes.txt"), 0o755)] {
        fs::set_permissions(&state, fs::Permissions::from_mode(mode)).unwrap();
        if let Some(name) = other {
            fs::write(state.join(name), "").unwrap();
        }
        let mut host = setup().start();
        assert_eq!(fs::metadata(&state).unwrap().mode() & 0o7777, expected, "{other:?}");
        assert_eq!(host.stop(), Some(0));
    }
}

#[test]
fn a_stop_ends_every_process_and_exits_zero() {
    let mut host = Setup::default().every_process().start();
    let pids: Vec<i32> = manifest::TABLE
        .iter()
        .filter(|row| manifest::is_actor(row.process))
        .map(|row| host.pid(row.process.name()))
        .collect();
    assert_eq!(host.stop(), Some(0));
    for pid in pids {
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "{pid} is still there");
    }
}

// Holds P7-50.
#[test]
fn a_killed_supervisor_leaves_no_orphans() {
    let mut host = Setup::default().every_process().start();
    let pids: Vec<i32> = manifest::TABLE
        .iter()
        .filter(|row| manifest::is_actor(row.process))
        .map(|row| host.pid(row.process.name()))
        .collect();
    tests::kill(host.agentd());
    host.wait();
    host.wait_for("no orphans", || {
        pids.iter().all(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists())
    });
}

#[test]
fn two_hosts_on_one_state_directory_are_refused() {
    let host = Host::start();
    let mut second = Setup::default().state(&host.state()).launch();
    assert_eq!(second.wait(), Some(69));
    assert!(second.log().contains("another host runs on"), "{}", second.log());
}

// Holds P2-22.
#[test]
fn a_file_that_its_process_may_not_use_is_named_and_no_retry_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let state = folder.path().join("state");
    let setup = || Setup::default().state(&state);
    assert_eq!(setup().start().stop(), Some(0));
    for (process, file) in
        [("audit", "key"), ("router", "queue.db"), ("model", "ledger.db"), ("curator", "jobs.db")]
    {
        let path = state.join(process).join(file);
        let mode = fs::metadata(&path).unwrap().permissions();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
        let mut host = setup().launch();
        assert_eq!(host.wait(), Some(78), "{process}: {}", host.log());
        let said = host.log();
        assert!(said.contains(&format!("{file} belongs to uid")), "{process}: {said}");
        let found = format!("{process} could not be started, and would not be if it were tried again");
        assert!(said.contains(&found) && said.contains("not its own to use"), "{process}: {said}");
        let rows = host.ask(&["doctor", "--state-dir", state.to_str().unwrap()]);
        let rows = rows["rows"].as_array().cloned().unwrap_or_default();
        let row = rows.iter().find(|row| row["id"] == "permissions.files").unwrap();
        let told = row["message"].as_str().unwrap();
        assert!(row["status"] == "fail" && told.contains(path.to_str().unwrap()), "{row}");
        fs::set_permissions(&path, mode).unwrap();
    }
    assert_eq!(setup().start().chat("s", "echo: well"), "well");
}

// Holds P8-25.
#[test]
fn a_bad_configuration_names_every_mistake_at_once_and_starts_nothing() {
    let mut host = Setup::default()
        .config("[host]\nmode = \"wild\"\n[agent.x]\nmodel = \"no/such\"\ncolour = 3\n")
        .launch();
    assert_eq!(host.wait(), Some(78));
    for mistake in ["cordon.toml:2: host.mode", "agent.x.model", "agent.x.colour"] {
        assert!(host.log().contains(mistake), "{mistake}: {}", host.log());
    }
    assert!(!host.state().exists());
}

#[test]
fn an_unreachable_host_and_a_wrong_word_have_their_own_exit_codes() {
    let mut host = Host::start();
    assert_eq!(host.ctl(&["dance"]).status.code(), Some(64));
    host.stop();
    assert_eq!(host.ctl(&["status"]).status.code(), Some(69));
}

#[test]
fn systemd_is_told_when_the_host_is_ready_how_it_is_and_that_it_stops() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let systemd = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
    systemd.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
    let heard = || {
        let mut buffer = [0; 512];
        let length = systemd.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    };
    let mut host = Setup::default().environment("NOTIFY_SOCKET", &path).start();
    assert_eq!(heard(), "READY=1\nSTATUS=ready");
    let _ = host.json(&["hold", "memory"]);
    assert!(heard().starts_with("STATUS=degraded: memory"));
    host.stop();
    assert!(heard().starts_with("STOPPING=1"));
}

#[test]
fn log_lines_are_json_at_each_processs_level_and_hold_no_content() {
    let config = "[log]\nformat = \"json\"\nlevel = \"error\"\n[log.levels]\nrouter = \"debug\"\n";
    let host = Setup::default().config(config).start();
    let _ = host.chat("s", "echo: the password of the lighthouse");
    host.kill_and_wait("scanner");
    let log = host.log();
    let names = || log.lines().filter_map(|line| line.split_once(": {")).map(|(name, _)| name);
    assert!(names().any(|name| name == "agentd"), "agentd's own lines have no level: {log}");
    assert!(names().all(|name| matches!(name, "agentd" | "router")), "{log}");
    assert!(!log.contains("lighthouse"));
}

/// A folder with the programs of this host, each the same file as there.
fn linked(folder: &Path) {
    for entry in fs::read_dir(tests::programs()).unwrap().flatten() {
        let is_program = entry.metadata().unwrap().is_file() && entry.path().extension().is_none();
        if is_program {
            fs::hard_link(entry.path(), folder.join(entry.file_name())).unwrap();
        }
    }
}

/// The file that a process runs.
fn runs(host: &Host, name: &str) -> u64 {
    fs::metadata(format!("/proc/{}/exe", host.pid(name))).unwrap().ino()
}

/// Has an operator restart it, and waits until another is ready in its place.
fn restart(host: &Host, name: &str) {
    let pid = host.pid(name);
    let _ = host.json(&["restart", name]);
    host.wait_for("another is ready", || {
        let process = host.process(name);
        process["pid"] != pid && process["state"] == "ready"
    });
}

// Holds P7-74.
#[test]
fn an_operator_s_restarts_are_no_failures_and_each_begins_at_once() {
    let host = Host::start();
    // Ten lives that are as short, had they ended by themselves, and it would be held.
    for _ in 0..12 {
        restart(&host, "model");
    }
    assert_eq!(host.chat("s", "echo: after"), "after");
}

// Holds P7-73.
#[test]
fn a_restart_runs_the_installed_program_and_a_crash_the_former_one() {
    let folder = tempfile::Builder::new().prefix("programs-").tempdir_in(tests::programs()).unwrap();
    linked(folder.path());
    let host = Setup::default().programs(folder.path()).start();
    let (former, program) = (runs(&host, "scanner"), folder.path().join("scanner"));
    let copy = folder.path().join("upgraded");
    fs::copy(&program, &copy).unwrap();
    fs::rename(&copy, &program).unwrap();
    let upgraded = fs::metadata(&program).unwrap().ino();
    host.kill_and_wait("scanner");
    assert_eq!(runs(&host, "scanner"), former, "an accident is no upgrade");
    restart(&host, "scanner");
    assert_eq!(runs(&host, "scanner"), upgraded);
    assert_eq!(host.chat("s", "echo: after"), "after");
    // Where there is none any more, the one that ran goes on.
    fs::remove_file(&program).unwrap();
    restart(&host, "scanner");
    assert_eq!(runs(&host, "scanner"), upgraded);
    assert!(host.log().contains("the one that ran is started again"), "{}", host.log());
}
