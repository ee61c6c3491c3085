//! bash, with real programs.

use super::{Bench, in_namespaces, prepare};
use crate::tools::{Context, Outcome, Prepared};
use serde_json::json;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

fn bash(bench: &Bench, command: &str) -> Outcome {
    bench.run("bash", json!({"command": command}))
}

/// Returns whether a process is gone, or waits as a zombie for an init that does not reap.
fn is_gone(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    stat.map_or(true, |stat| stat.rsplit(')').next().unwrap().trim_start().starts_with('Z'))
}

fn wait_gone(pid: &str) -> bool {
    let until = Instant::now() + Duration::from_secs(2);
    while !is_gone(pid) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    is_gone(pid)
}

#[test]
fn output_errors_and_the_exit_code_are_answered() {
    let bench = Bench::new();
    assert_eq!(bash(&bench, "printf 'a\\nb'").output, "a\nb");
    let outcome = bash(&bench, "echo out; echo err >&2; exit 3");
    assert_eq!(outcome.output, "out\n[standard error]\nerr\n[exit code 3]");
    assert_eq!(
        (outcome.ok, outcome.error, &outcome.metadata["exitCode"]),
        (false, Some("exit_status"), &json!(3))
    );
    let outcome = bash(&bench, "kill -9 $$");
    assert_eq!(
        (outcome.output.as_str(), &outcome.metadata["exitCode"]),
        ("[ended by signal 9: exit code 137]", &json!(137))
    );
    assert_eq!(bash(&bench, "nonesuch-program").metadata["exitCode"], 127);
}

#[test]
fn a_command_that_begins_with_a_dash_is_a_command() {
    let bench = Bench::new();
    assert_eq!(bash(&bench, "-x; echo $-").metadata["exitCode"], 0);
    assert!(!bash(&bench, "-x; echo $-").output.starts_with("[standard error]\n+"));
}

#[test]
fn a_command_sees_only_the_fixed_environment_and_what_it_was_given() {
    let bench = Bench::new();
    let outcome = bench.run("bash", json!({"command": "env | sort", "env": {"GIVEN": "a b", "LANG": "C"}}));
    let scratch = bench.dir.path().join("scratch");
    let names: Vec<_> = outcome.output.lines().filter_map(|line| line.split_once('=')).collect();
    let fixed = ["GIVEN", "HOME", "LANG", "PATH", "PWD", "SHELL", "SHLVL", "TERM", "TMPDIR", "USER", "_"];
    let mut expected: Vec<_> = crate::tools::network::ENVIRONMENT.iter().map(|(name, _)| *name).collect();
    expected.extend(fixed);
    expected.sort_unstable();
    assert_eq!(names.iter().map(|(name, _)| *name).collect::<Vec<_>>(), expected);
    assert!(names.contains(&("GIVEN", "a b")) && names.contains(&("LANG", "C")));
    assert!(names.contains(&("HOME", scratch.to_str().unwrap())));
}

// Holds P1-42.
#[test]
fn a_command_that_found_no_network_is_told_so_in_one_sentence() {
    let bench = Bench::new();
    let failed = bash(&bench, "echo 'curl: (6) Could not resolve host: example.com' >&2; exit 6").output;
    assert_eq!(failed.matches("this jail has no network by design").count(), 1, "{failed}");
    assert!(failed.ends_with("[exit code 6]"), "{failed}");
    let went = bash(&bench, "echo 'Could not resolve host'").output;
    assert!(!went.contains("by design"), "it succeeded: {went}");
}

#[test]
fn a_command_runs_in_the_workspace_or_the_folder_named() {
    let bench = Bench::new();
    bench.put("sub/f", "");
    assert_eq!(bash(&bench, "pwd; ls").output.lines().last(), Some("sub"));
    assert_eq!(bench.ok("bash", json!({"command": "ls", "cwd": "sub"})), "f\n");
    assert_eq!(bench.fails("bash", json!({"command": "ls", "cwd": "sub/f"})).0, "not_a_folder");
    assert_eq!(bench.fails("bash", json!({"command": "ls", "cwd": "none"})).0, "not_found");
}

#[test]
fn a_command_gets_no_input_and_none_of_our_descriptors() {
    let bench = Bench::new();
    assert_eq!(bash(&bench, "cat; echo done").output, "done\n");
    let _held = std::fs::File::create(bench.path("held")).unwrap();
    let shown = bash(&bench, "for fd in /proc/$$/fd/*; do readlink $fd; done").output;
    assert!(!shown.contains(bench.dir.path().to_str().unwrap()), "{shown}");
    assert!(shown.starts_with("/dev/null\npipe:"), "{shown}");
}

#[test]
fn a_command_leads_a_process_group_of_its_own() {
    let bench = Bench::new();
    let shown = bash(&bench, "echo $$; cut -d' ' -f5 /proc/$$/stat").output;
    let ids: Vec<_> = shown.lines().collect();
    assert_eq!(ids[0], ids[1]);
}

// Holds B-41.
#[test]
fn a_time_out_ends_the_whole_group_with_exit_code_124() {
    let bench = Bench::new();
    let command = "sleep 300 & echo $!; (trap '' TERM; sleep 300) & echo $!; sleep 300";
    let outcome = bench.run("bash", json!({"command": command, "timeout": 300}));
    assert_eq!((outcome.error, &outcome.metadata["exitCode"]), (Some("timed_out"), &json!(124)));
    assert!(
        outcome.duration_ms < 3000 && outcome.output.contains("because its time was over"),
        "{}",
        outcome.output
    );
    for pid in outcome.output.lines().take(2) {
        assert!(wait_gone(pid), "{pid} outlived the call");
    }
}

#[test]
fn a_group_that_does_not_heed_term_is_killed() {
    let bench = Bench::with_deadline(Duration::from_secs(2));
    let outcome = bench
        .run("bash", json!({"command": "trap '' TERM; echo $$; while :; do sleep 1; done", "timeout": 100}));
    assert_eq!(outcome.error, Some("timed_out"));
    assert!(Instant::now() < bench.context.deadline);
    assert!(wait_gone(outcome.output.lines().next().unwrap()));
}

#[test]
fn a_command_may_clean_up_when_its_time_is_over() {
    let bench = Bench::new();
    let outcome = bench.run(
        "bash",
        json!({"command": "trap 'echo cleaned; exit 0' TERM; sleep 300 & wait", "timeout": 200}),
    );
    assert!(outcome.output.starts_with("cleaned\n"), "{}", outcome.output);
    assert_eq!((outcome.ok, &outcome.metadata["exitCode"]), (false, &json!(124)));
}

// Holds B-31.
#[test]
fn no_command_outlasts_the_turn() {
    let bench = Bench::with_deadline(Duration::from_secs(1));
    let outcome = bash(&bench, "sleep 300");
    assert!(Instant::now() < bench.context.deadline);
    assert_eq!((outcome.error, &outcome.metadata["timedOut"]), (Some("timed_out"), &json!(true)));
}

#[test]
fn a_cancelled_command_ends_at_once_with_what_it_started() {
    let bench = Bench::new();
    let abort = bench.context.abort.clone();
    let setter = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        abort.set();
    });
    let outcome = bash(&bench, "sleep 300 & echo $!; wait");
    setter.join().unwrap();
    assert_eq!(outcome.error, Some("aborted"));
    assert!(
        outcome.duration_ms < 2000 && outcome.output.contains("the turn was cancelled"),
        "{}",
        outcome.output
    );
    assert!(wait_gone(outcome.output.lines().next().unwrap()));
}

#[test]
fn a_background_job_ends_with_its_command() {
    let bench = Bench::new();
    let outcome = bash(&bench, "sleep 300 & echo $!");
    assert!(outcome.ok && outcome.duration_ms < 2000, "{} ms", outcome.duration_ms);
    assert!(wait_gone(&outcome.output));
}

#[test]
fn a_survivor_that_holds_the_output_open_does_not_hold_the_call() {
    let bench = Bench::new();
    let outcome = bash(&bench, "setsid sleep 5 & sleep 0.3; echo hi");
    assert!(outcome.ok && outcome.output == "hi\n" && outcome.duration_ms < 2000, "{}", outcome.duration_ms);
}

// Holds B-40.
#[test]
fn of_a_flood_the_beginning_and_the_end_are_kept_and_the_gap_is_marked() {
    let bench = Bench::new();
    let outcome =
        bash(&bench, "echo first; head -c 5000000 /dev/zero | tr '\\0' x; echo last; echo warning >&2");
    assert!(outcome.ok && outcome.output.len() <= bench.context.max_output);
    assert!(outcome.output.starts_with("first\nxxx") && outcome.output.contains("bytes cut here"));
    assert!(outcome.output.ends_with("xlast\n[standard error]\nwarning\n"));
    assert_eq!(
        (&outcome.metadata["stdoutBytes"], &outcome.metadata["truncated"]),
        (&json!(5_000_011), &json!(true))
    );
}

#[test]
fn an_endless_flood_on_both_streams_ends_in_time() {
    let bench = Bench::new();
    let outcome = bench.run("bash", json!({"command": "yes >&2 & yes", "timeout": 500}));
    assert_eq!(outcome.error, Some("timed_out"));
    assert!(outcome.duration_ms < 5000 && outcome.output.len() <= bench.context.max_output);
}

#[test]
fn a_lower_bound_of_output_is_kept_and_marked_too() {
    let mut bench = Bench::new();
    bench.context.max_output = 1000;
    let output = bash(&bench, "seq 10000").output;
    assert!(output.len() <= 1000 && output.starts_with("1\n2\n") && output.ends_with("10000\n"), "{output}");
    assert!(output.contains("bytes cut here"));
}

#[test]
fn how_far_a_command_is_is_told_without_its_output() {
    let mut bench = Bench::new();
    let told = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&told);
    bench.context.progress = Box::new(move |line| sink.lock().unwrap().push(line.to_owned()));
    bash(&bench, "echo secret; sleep 1.3");
    let told = told.lock().unwrap();
    assert_eq!(told.first().map(String::as_str), Some("1 s, 7 bytes of output"));
    assert!(!told.iter().any(|line| line.contains("secret")), "{told:?}");
}

#[test]
fn a_short_command_is_not_kept_waiting_by_the_loop() {
    let bench = Bench::new();
    let mut times: Vec<_> = (0..10).map(|_| bash(&bench, "true").duration_ms).collect();
    times.sort_unstable();
    // The loop's longest sleep is 20 ms; the quickest of ten shows the cost of the loop, the others that of the
    // machine.
    assert!(times[0] < 15, "{times:?} ms");
}

#[test]
fn in_a_jail_not_even_a_process_that_left_its_group_survives() {
    in_namespaces(&["--pid", "--fork", "--mount-proc"], "tools::tests::commands::inner_as_first_process");
}

#[test]
#[ignore = "only means something as the first process of a namespace; the test above runs it so"]
fn inner_as_first_process() {
    assert_eq!(std::process::id(), 1);
    let bench = Bench::new();
    // Our own input is a pipe here, so a command that inherited it would show one.
    assert_eq!(bash(&bench, "readlink /proc/$$/fd/0").output, "/dev/null\n");
    let outcome =
        bash(&bench, "setsid sleep 300 & (setsid bash -c 'sleep 300 & wait' &) ; sleep 0.2; echo hi");
    assert_eq!(outcome.output, "hi\n");
    let others =
        std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    let others: Vec<_> = others.filter(|name| name != "1" && name.parse::<u32>().is_ok()).collect();
    assert!(others.is_empty(), "{others:?}");
}

#[test]
fn a_call_can_be_run_on_a_thread_of_its_own() {
    let bench = Bench::new();
    let context: Arc<Context> = Arc::new(bench.context);
    let Ok(Prepared::Jail(call)) = prepare("bash", "{\"command\":\"echo hi\"}") else { panic!() };
    let outcome = std::thread::spawn(move || call.run(&context)).join().unwrap();
    assert_eq!((outcome.ok, outcome.output.as_str()), (true, "hi\n"));
}
