//! Each limit of a jail, gone over by ordinary programs in a real one: what they hear, what is said of it, and that
//! nothing of the jail is left. In mode flat agentd's own watch is all that counts a jail together, so it is tried there.

use crate::jail::{Came, bash};
use std::fmt::Write;
use tests::{Host, Setup};

/// A host whose turns have these limits.
fn limited(limits: &str) -> Host {
    Setup::default().config(&format!("[agent.default.limits]\n{limits}\n")).start()
}

fn flat(limits: &str) -> Host {
    let text = format!("[host]\nmode = \"flat\"\n[agent.default.limits]\n{limits}\n");
    Setup::default().config(&text).start()
}

/// Fails with all that was said.
fn assert_came(came: &Came, code: i32, said: &str) {
    let tail =
        |text: &str| text.chars().rev().take(2000).collect::<String>().chars().rev().collect::<String>();
    let heard = came.code == Some(code) && (came.err.contains(said) || came.out.contains(said));
    assert!(heard, "not {code} and {said:?}: {:?}\n{}\n{}", came.code, tail(&came.out), tail(&came.err));
}

/// Sleepers that left their shell in every way there is, and then the shell stays. `marker` tells them from others'.
fn leaving(marker: u32) -> String {
    let ways = [
        "setsid -f sleep {}.1 >/dev/null 2>&1",
        "(sleep {}.2 >/dev/null 2>&1 &)",
        "nohup sleep {}.3 >/dev/null 2>&1 & disown",
        "(setsid bash -c 'setsid sleep {}.4 & setsid sleep {}.4 & wait' >/dev/null 2>&1 &)",
        "(trap '' TERM HUP INT; sleep {}.5) >/dev/null 2>&1 &",
    ];
    let mut script = ways.join("\n").replace("{}", &marker.to_string());
    let _ = write!(script, "\nsleep 0.5; echo begun; trap '' TERM; sleep 600; sleep 600");
    script
}

/// Returns whether anything on this machine runs with the marker in its command line.
fn is_there(marker: u32) -> bool {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).ok());
    let marker = format!("sleep\0{marker}.");
    lines.into_iter().any(|line| line.contains(&marker))
}

// Holds B-31.
#[test]
fn out_of_wall_clock_is_124_and_whatever_left_the_shell_is_gone_with_it() {
    for (host, marker) in [(limited("seconds = 4"), 41_000), (flat("seconds = 4"), 42_000)] {
        let marker = marker + std::process::id() % 1000;
        assert_came(&bash(&host, &leaving(marker)), 124, "begun");
        host.wait_for("nothing of the jail is left", || !is_there(marker));
        assert_eq!(host.chat("after", "echo: still here"), "still here");
    }
}

// Holds B-31.
#[test]
fn a_jails_processes_are_gone_after_its_command_without_namespaces_too() {
    let host = flat("seconds = 60");
    let marker = 43_000 + std::process::id() % 1000;
    let script = leaving(marker).replace("sleep 600; sleep 600", "exit 3");
    assert_came(&bash(&host, &script), 3, "begun");
    host.wait_for("nothing of it is left", || !is_there(marker));
}

// Holds B-32.
#[test]
fn a_process_that_uses_up_its_cpu_time_is_152_and_told_so() {
    let host = limited("seconds = 60\ncpu_seconds = 1");
    assert_came(&bash(&host, "while :; do :; done"), 152, "its CPU time was used up");
    // A tool is ended, and its turn goes on to answer.
    let answer = host.chat("s", "run: sha256sum /dev/zero");
    assert!(answer.contains("its CPU time was used up: exit code 152"), "{answer}");
}

// Holds B-32.
#[test]
fn processes_that_use_up_a_jail_s_cpu_time_together_end_it() {
    // Each of them ends long before its own time is up.
    let script = "while :; do (for n in {1..20000}; do :; done); done";
    for host in [limited("seconds = 60\ncpu_seconds = 1"), flat("seconds = 60\ncpu_seconds = 1")] {
        assert_came(&bash(&host, script), 152, "the jail was ended: it used up its CPU time");
        assert_eq!(host.chat("after", "echo: still here"), "still here");
    }
}

/// Programs that each hold 150 MiB, well within what one process may.
fn hoarders(count: usize) -> String {
    let one = "(head -c 150M /dev/zero; sleep 60) | tail -c 150M >/dev/null";
    format!("for n in {{1..{count}}}; do {one} & done; wait")
}

// Holds B-34.
#[test]
fn a_jail_that_holds_too_much_memory_together_is_137_and_told_so() {
    let host = limited("seconds = 60");
    assert_came(&bash(&host, &hoarders(6)), 137, "512 MiB of memory");
    let flat = flat("seconds = 60");
    assert_came(
        &bash(&flat, &hoarders(6)),
        137,
        "the jail was ended: it used more than its 512 MiB of memory",
    );
    assert_eq!(flat.chat("after", "echo: still here"), "still here");
}

// Holds B-34.
#[test]
fn memory_that_processes_share_is_counted_once() {
    let host = limited("seconds = 60");
    // Eight copies of a shell that holds 100 MiB or more.
    let script =
        "x=$(head -c 50M /dev/zero | tr '\\0' x); for n in {1..8}; do (sleep 1; :) & done; wait; echo all";
    assert_came(&bash(&host, script), 0, "all");
}

// Holds B-35.
#[test]
fn files_in_memory_have_one_budget_and_count_as_memory() {
    let host = limited("seconds = 60");
    let script =
        "head -c 100M /dev/zero > /tmp/one; head -c 100M /dev/zero > /dev/shm/two; du -sm /tmp | cut -f1";
    let came = bash(&host, script);
    assert_came(&came, 0, "No space left on device");
    assert!(came.out.trim().parse::<u32>().is_ok_and(|mib| mib <= 130), "{}", came.out);
    let script = format!("head -c 120M /dev/zero > /tmp/one; {}", hoarders(3));
    assert_came(&bash(&host, &script), 137, "512 MiB of memory");
}

// Holds B-34.
#[test]
fn memory_of_one_process_ends_at_its_own_limit() {
    let host = limited("seconds = 60");
    // Asked for at once: what grows bit by bit may be seen by the watch on the jail's sum before its own limit is met.
    let script = "dd if=/dev/zero of=/dev/null bs=600M count=1 && echo had it; echo the rest goes on";
    let came = bash(&host, script);
    assert_came(&came, 0, "the rest goes on");
    assert!(!came.out.contains("had it"), "{}", came.err);
}

// Holds B-38.
#[test]
fn one_process_more_than_may_be_is_refused_with_eagain() {
    let host = limited("seconds = 8");
    let script = "for n in {1..200}; do sleep 600 & done; wait";
    assert_came(&bash(&host, script), 124, "Resource temporarily unavailable");
}

// Holds B-38.
#[test]
fn where_no_kernel_counts_a_jail_s_processes_too_many_of_them_end_it() {
    let host = flat("seconds = 60");
    let script = "for n in {1..200}; do sleep 600 & done; wait";
    assert_came(&bash(&host, script), 137, "the jail was ended: more than its 128 processes ran in it");
    // Doubles ten times and no more: as root nothing but the watch counts, and one without an end may starve the machine
    // before it is seen.
    let bomb = "bomb() { (($1 > 0)) && { bomb $(($1 - 1)) | bomb $(($1 - 1)) & }; sleep 60; }; bomb 10";
    let came = bash(&host, bomb);
    assert_came(&came, 137, "the jail was ended");
    assert_eq!(host.chat("after", "echo: still here"), "still here");
}

// Holds B-36.
#[test]
fn a_file_that_grows_too_large_is_refused_or_its_writer_ends_with_153() {
    let host = limited("seconds = 60");
    assert_came(&bash(&host, "exec truncate -s 513M f"), 153, "it wrote a file of more than 512 MiB");
    assert_came(&bash(&host, "trap '' XFSZ; truncate -s 513M f; echo $?"), 0, "File too large");
    assert_came(&bash(&host, "truncate -s 512M f && rm f && echo exactly"), 0, "exactly");
}

// Holds B-37.
#[test]
fn one_open_file_more_than_may_be_is_refused_with_emfile() {
    let host = limited("seconds = 60");
    let script = "for n in {1..1100}; do exec {file}</dev/null || break; done; ls /proc/$$/fd | wc -l";
    let came = bash(&host, script);
    assert!(came.err.contains("Too many open files"), "{:?} {} {}", came.code, came.out, came.err);
    assert!(came.out.trim().is_empty() || came.out.trim().parse::<u32>().is_ok_and(|open| open <= 1024));
}

// Holds B-39.
#[test]
fn output_beyond_a_megabyte_is_cut_and_said_to_be() {
    let host = limited("seconds = 60");
    let came = bash(&host, "head -c 3000000 /dev/zero | tr '\\0' x");
    assert_eq!(came.code, Some(0), "{}", came.err);
    assert_eq!(came.out.matches('x').count(), 1_000_000);
    assert!(came.out.ends_with("\n[... output cut at 1000000 bytes]\n"));
}

// Holds B-33.
#[test]
fn a_jail_has_one_cpu_and_cannot_take_another() {
    let host = limited("seconds = 60");
    let holder = tests::text(&host.json(&["status"])["host"], "limits");
    if holder == "cgroup" {
        // The kernel's own value, which attest compares.
        assert!(String::from_utf8_lossy(&host.ctl(&["attest", "--all"]).stdout).contains("100000 100000"));
        return;
    }
    assert_came(&bash(&host, "nproc; taskset -p -c 0-63 $$ >/dev/null 2>&1; nproc"), 0, "1\n1\n");
}

// Holds P9-09.
#[test]
fn the_host_says_what_holds_the_limits_and_attest_finds_it_so() {
    let host = Host::start();
    let holder = tests::text(&host.json(&["status"])["host"], "limits");
    let said = if holder == "cgroup" {
        "agentd: limits: cgroup v2 at "
    } else {
        "agentd: limits: rlimits and a watch ("
    };
    assert!(host.log().contains(said), "{}", host.log());
    let attested = host.json(&["attest"]);
    let rows = attested["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["process"] == "runner" && row["property"] == "limits by").unwrap();
    assert_eq!((row["found"].as_str(), row["verdict"].as_str()), (Some(holder.as_str()), Some("equal")));
}
