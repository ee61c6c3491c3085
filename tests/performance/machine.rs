//! The machine that the figures of a table come from.

use std::fs;
use std::process::Command;

/// Lines of `name: value`.
pub(crate) fn lines() -> Vec<(&'static str, String)> {
    let profile = if cfg!(debug_assertions) { "debug: these figures mean nothing" } else { "release" };
    vec![
        ("date", said("date", &["-u", "+%Y-%m-%d %H:%M UTC"])),
        ("commit", commit()),
        ("command", std::env::args().collect::<Vec<_>>().join(" ")),
        ("build", profile.to_owned()),
        ("kernel", said("uname", &["-sr"])),
        ("processor", processor()),
        ("memory", memory()),
        ("state on", file_system()),
        ("load at the end, over 1 minute", load()),
        ("other hosts on this machine", others().to_string()),
    ]
}

/// The head, and whether the tree differs from it.
fn commit() -> String {
    let repository = tests::repository();
    let git = |words: &[&str]| said("git", &[&["-C", &repository.to_string_lossy()], words].concat());
    let changed = if git(&["status", "--porcelain"]).is_empty() { "" } else { ", with changes" };
    format!("{}{changed}", git(&["rev-parse", "--short=12", "HEAD"]))
}

fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!("{}, {cores} cores", model.map_or("unknown", |(_, model)| model))
}

fn memory() -> String {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB")?.parse().ok());
    format!("{} GiB", total.unwrap_or(0_u64).div_ceil(1 << 20))
}

fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}

/// The file system of the hosts' state directories.
fn file_system() -> String {
    let told = said("df", &["--output=fstype", &std::env::temp_dir().to_string_lossy()]);
    told.lines().last().unwrap_or_default().to_owned()
}

/// Hosts of the same programs would share their pages with the one that is weighed.
fn others() -> usize {
    let names = fs::read_dir("/proc").into_iter().flatten().flatten();
    let names = names.filter_map(|entry| fs::read_to_string(entry.path().join("comm")).ok());
    names.filter(|name| name.trim() == "agentd").count()
}

/// The standard output of a program; empty if it does not run.
fn said(program: &str, words: &[&str]) -> String {
    let output = Command::new(program).args(words).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}
