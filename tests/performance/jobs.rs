//! Jobs: how late the messages of many are accepted that are due at the same time, and how often a scheduler wakes that has nothing to do.

use crate::figure::Figure;
use crate::person;
use crate::spread::Samples;
use serde_json::Value;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tests::{Host, is_root};

/// Jobs of each person.
const EACH: usize = 64;
/// The other people, who need root to be played.
const OTHERS: [u32; 3] = [64_301, 64_302, 64_303];
/// Until the jobs are due that are added now.
const AHEAD: Duration = Duration::from_secs(60);
/// For how long an idle scheduler is watched, minutes.
const MINUTES: u32 = 3;
const CONFIG: &str = "[scheduler]\nenabled = true\n";

/// Its figures.
pub(crate) fn measure() -> io::Result<Vec<Figure>> {
    let (late, jobs) = due()?;
    let name = format!("{jobs} jobs due at once: lateness of each message, accepted and durable");
    let mut p99 = Samples::default();
    p99.add(late.spread().map_or(f64::NAN, |spread| spread.p99));
    let late = [Figure::new(name, "ms", &late), Figure::new("– p99 of it", "ms", &p99).at_most(1000.0)];
    let name =
        format!("idle scheduler with {EACH} jobs: context switches in a minute, more than without jobs");
    let wakes = Figure::new(name, "", &idle()?);
    Ok(late.into_iter().chain([wakes.at_most(1.0)]).collect())
}

/// The lateness of jobs that are due at the same time.
fn due() -> io::Result<(Samples, usize)> {
    let people = |uid| format!("[[user]]\nname = \"u{uid}\"\nrole = \"user\"\nuids = [{uid}]\n");
    let others: &[u32] = if is_root() { &OTHERS } else { &[] };
    let host = person::host(&format!("{CONFIG}{}", others.iter().map(people).collect::<String>()))?;
    let soon = (SystemTime::now() + AHEAD).duration_since(UNIX_EPOCH).map_err(io::Error::other)?.as_secs();
    let minute = soon.div_ceil(60);
    let cron = format!("{} {} * * *", minute % 60, minute / 60 % 24);
    for uid in [None].into_iter().chain(others.iter().copied().map(Some)) {
        for _ in 0..EACH {
            add(&host, uid, &["add", &cron, "--zone", "UTC", "echo: it is time"])?;
        }
    }
    let jobs = EACH * (1 + others.len());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(io::Error::other)?;
    sleep(Duration::from_secs(minute * 60).saturating_sub(now));
    let mut fires = Vec::new();
    host.wait_for("every job has its message", || {
        let history = host.json(&["schedule", "history"]);
        fires = history.get("fires").and_then(Value::as_array).cloned().unwrap_or_default();
        fires.len() == jobs && fires.iter().all(|fire| fire.get("message").is_some_and(Value::is_string))
    });
    let mut late = Samples::default();
    for fire in &fires {
        let id = fire.get("message").and_then(Value::as_str).unwrap_or_default();
        let message = host.json(&["message", "show", id]);
        late.add(number(&message, "/message/accepted_ms")? - number(fire, "/due_ms")?);
    }
    Ok((late, jobs))
}

fn add(host: &Host, uid: Option<u32>, words: &[&str]) -> io::Result<()> {
    let mut command = host.command(&[&["--json", "schedule"], words].concat());
    if let Some(uid) = uid {
        command.uid(uid).gid(uid);
    }
    let output = command.output()?;
    let added: Value = serde_json::from_slice(&output.stdout)?;
    if added.get("ok") == Some(&Value::Bool(true)) {
        Ok(())
    } else {
        Err(io::Error::other(added.to_string()))
    }
}

fn number(value: &Value, at: &str) -> io::Result<f64> {
    value.pointer(at).and_then(Value::as_f64).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// How much more often a scheduler leaves the processor in a minute whose jobs are far off, than one without jobs: each process tells
/// agentd every second that it lives.
fn idle() -> io::Result<Samples> {
    let host = person::host(CONFIG)?;
    let pid = host.pid("scheduler");
    let without = watch(pid)?;
    for _ in 0..EACH {
        add(&host, None, &["add", "0 0 1 1 *", "echo: a good new year"])?;
    }
    let with = watch(pid)?;
    let mut more = Samples::default();
    with.iter().zip(without).for_each(|(with, without)| more.add(with - without));
    Ok(more)
}

/// The context switches of each of some minutes.
fn watch(pid: i32) -> io::Result<Vec<f64>> {
    // Until the calls before are over.
    sleep(Duration::from_secs(10));
    let minute = |_| {
        let before = switches(pid)?;
        sleep(Duration::from_secs(60));
        Ok(switches(pid)? - before)
    };
    (0..MINUTES).map(minute).collect()
}

/// Context switches of all threads of a process so far.
fn switches(pid: i32) -> io::Result<f64> {
    let mut all = 0.0;
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let status = fs::read_to_string(task?.path().join("status"))?;
        let counts = status.lines().filter_map(|line| line.split_once("ctxt_switches:"));
        all += counts.filter_map(|(_, count)| count.trim().parse::<f64>().ok()).sum::<f64>();
    }
    Ok(all)
}
