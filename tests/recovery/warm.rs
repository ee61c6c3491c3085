//! Runners that wait for work: they are replaced when they die, gone when the host is, and each is used once.

use nix::sys::signal::Signal::SIGSTOP;
use std::collections::BTreeSet;
use tests::{Host, Setup, kill, signal};

/// How many wait.
const WARM: usize = 3;

/// A host in which this many runners wait.
fn warm(count: usize) -> Host {
    let host = Setup::default().config(&format!("[host]\nwarm_runners = {count}\n")).start();
    filled(&host, count);
    host
}

fn filled(host: &Host, count: usize) -> BTreeSet<i32> {
    host.wait_for("the pool is full", || host.waiting_runners().len() == count);
    host.waiting_runners().into_iter().collect()
}

fn command(host: &Host, words: &[&str]) -> String {
    String::from_utf8_lossy(&host.ctl(&[&["sandbox", "run", "--"], words].concat()).stdout).into_owned()
}

// Holds P7-07.
#[test]
fn a_killed_runner_that_waited_is_replaced_and_work_goes_on() {
    let host = warm(WARM);
    for _ in 0..2 {
        let before = filled(&host, WARM);
        let victim = *before.first().unwrap();
        kill(victim);
        host.wait_for("another waits", || {
            let now = host.waiting_runners();
            now.len() == WARM && !now.contains(&victim)
        });
        assert_eq!(command(&host, &["echo", "well"]), "well\n");
    }
    // All of them at one moment, and work in the same.
    for victim in filled(&host, WARM) {
        kill(victim);
    }
    assert_eq!(command(&host, &["echo", "well"]), "well\n");
    filled(&host, WARM);
}

// Holds B-30, P1-10.
#[test]
fn each_runner_is_used_for_one_turn_and_then_gone() {
    let host = warm(WARM);
    let mut used = BTreeSet::new();
    for turn in 0..3 * WARM {
        let before = filled(&host, WARM);
        assert_eq!(command(&host, &["echo", "well"]), "well\n");
        let after = filled(&host, WARM);
        let gone: Vec<i32> = before.difference(&after).copied().collect();
        assert_eq!(gone.len(), 1, "turn {turn}: {before:?} {after:?}");
        assert!(used.insert(gone[0]), "turn {turn}: {} again", gone[0]);
        assert!(after.is_disjoint(&used), "turn {turn}");
    }
}

// Holds P1-10.
#[test]
fn a_turn_that_finds_a_waiting_runner_begins_in_a_jail_like_any_other() {
    let script = "id; cat /proc/sys/kernel/hostname; cut -d' ' -f4- /proc/self/mountinfo | sort; cat /proc/self/limits; \
        grep -E '^(Cap|Sec|NoNew|Uid|Gid|Groups)' /proc/self/status; ls -lan / /dev /tmp /ws /skills | grep -v total; \
        readlink /workspace; pwd; ls -A .";
    let told = |count: usize| {
        let host = warm(count);
        let said = command(&host, &["sh", "-c", script]);
        assert!(said.contains("AGENT") && said.contains("/ws/s"), "{said}");
        // Differences between hosts: the workspace's place on its disk, clocks, and the slot's uid where it is seen.
        let plain = |line: &str| !line.contains("/ws/s") && !line.starts_with(['d', 'l', 'c', '-', 'U', 'G']);
        said.lines()
            .filter(|line| plain(line))
            .map(|line| line.split(" - ").next().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(told(0), told(1));
}

// Holds P1-10.
#[test]
fn nothing_of_one_session_is_left_for_the_next_however_its_runner_came() {
    for count in [0, 1] {
        let host = warm(count);
        let within = |session: &str, script: &str| {
            let output = host.ctl(&["sandbox", "run", "--session", session, "--", "sh", "-c", script]);
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let leave = "for place in . /tmp /dev/shm; do echo secret > $place/trace && echo left; done";
        assert_eq!(within("one", leave), "left\nleft\nleft\n");
        let look = "cat /tmp/trace /dev/shm/trace ./trace 2>/dev/null; ls -A . /tmp /dev/shm; ls /proc/net/unix; wc -l < /proc/net/unix";
        for _ in 0..3 {
            filled(&host, count);
            let seen = within("two", look);
            assert!(!seen.contains("secret") && !seen.contains("trace"), "{count}: {seen}");
        }
        assert_eq!(within("one", "cat trace; ls -A /tmp"), "secret\n");
    }
}

// Holds P7-07.
#[test]
fn a_killed_host_leaves_no_runner_that_waited() {
    let mut host = warm(WARM);
    let waiting = filled(&host, WARM);
    kill(host.agentd());
    let _ = host.wait();
    let gone = |pid: &i32| {
        let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        !line.starts_with("runner\0")
    };
    host.wait_for("none is left", || waiting.iter().all(gone));
}

// Holds P7-07.
#[test]
fn what_stands_still_ends_with_a_killed_host_all_the_same() {
    let mut host = warm(WARM);
    let actors = ["audit", "dialer", "memory", "gate"].map(|name| host.pid(name));
    let still: Vec<i32> = filled(&host, WARM).into_iter().chain(actors).collect();
    // A stopped process does not see that its descriptor was closed: the kernel has to end it.
    for pid in &still {
        signal(*pid, SIGSTOP);
    }
    kill(host.agentd());
    let _ = host.wait();
    let gone = |pid: &i32| std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default().is_empty();
    host.wait_for("none is left", || still.iter().all(gone));
}

// Holds B-30, P7-07.
#[test]
fn a_stopped_host_ends_those_that_wait_and_a_host_without_a_pool_has_none() {
    let mut host = warm(WARM);
    assert_eq!(host.stop(), Some(0));
    let host = warm(0);
    assert_eq!(command(&host, &["echo", "cold"]), "cold\n");
    assert!(host.waiting_runners().is_empty());
}
