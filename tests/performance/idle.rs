//! The memory of an idle host with empty stores, as the kernel counts it for each process.

use crate::figure::Figure;
use crate::person;
use crate::spread::Samples;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::Duration;

/// Looks, a second apart.
const LOOKS: usize = 5;
/// Until what starting took has been given back.
const SETTLED: Duration = Duration::from_secs(4);

/// Its figures.
pub(crate) fn measure() -> io::Result<Vec<Figure>> {
    let host = person::host("")?;
    sleep(SETTLED);
    let pids: Vec<u32> = [host.agentd().unsigned_abs()].into_iter().chain(children(host.agentd())?).collect();
    let sleepers = Sleepers::start(pids.len())?;
    let [mut pss, mut rss, mut floor] = <[Samples; 3]>::default();
    let mut each: BTreeMap<String, Samples> = BTreeMap::new();
    for _ in 0..LOOKS {
        sleep(Duration::from_secs(1));
        let weights = pids.iter().map(|pid| weigh(*pid)).collect::<io::Result<Vec<_>>>()?;
        pss.add(weights.iter().map(|weight| weight.pss).sum());
        rss.add(weights.iter().map(|weight| weight.rss).sum());
        floor.add(sleepers.weigh()?);
        for weight in weights {
            each.entry(weight.name).or_default().add(weight.pss);
        }
    }
    let sum = Figure::new(format!("idle, sum of PSS of {} processes", pids.len()), "MiB", &pss)
        .floor(format!("/bin/sleep, {} times", pids.len()), &floor)
        .at_most(40.0);
    let beside = Figure::new("idle, sum of RSS, shared pages counted in each", "MiB", &rss);
    let each = each
        .iter()
        .map(|(name, samples)| Figure::new(format!("idle, PSS of {name}"), "MiB", samples).at_most(8.0));
    Ok([sum, beside].into_iter().chain(each).collect())
}

/// The sum of PSS of a host and all its processes, MiB.
pub(crate) fn weight_of(agentd: i32) -> io::Result<f64> {
    let pids = [agentd.unsigned_abs()].into_iter().chain(children(agentd)?);
    // A runner may have ended meanwhile.
    Ok(pids.filter_map(|pid| weigh(pid).ok()).map(|weight| weight.pss).sum())
}

/// The PSS of one process, MiB.
pub(crate) fn weight_of_one(pid: u32) -> io::Result<f64> {
    weigh(pid).map(|weight| weight.pss)
}

/// The PSS of a process and all that it has started, MiB.
pub(crate) fn weight_of_tree(pid: u32) -> io::Result<f64> {
    let own = weigh(pid)?.pss;
    // Any thread may have started one, and one may have ended meanwhile.
    let tasks = fs::read_dir(format!("/proc/{pid}/task"))?.filter_map(Result::ok);
    let texts = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let below: Vec<u32> = texts
        .flat_map(|text| text.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<_>>())
        .collect();
    Ok(own + below.into_iter().filter_map(|child| weight_of_tree(child).ok()).sum::<f64>())
}

fn children(pid: i32) -> io::Result<Vec<u32>> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
    Ok(text.split_whitespace().filter_map(|word| word.parse().ok()).collect())
}

/// One process, MiB.
struct Weight {
    name: String,
    pss: f64,
    rss: f64,
}

/// The kernel shows this of other users' processes to root alone.
fn weigh(pid: u32) -> io::Result<Weight> {
    let name = fs::read_to_string(format!("/proc/{pid}/comm"))?.trim().to_owned();
    let text =
        fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => {
                io::Error::new(error.kind(), "the memory of the processes is shown to root")
            }
            _ => error,
        })?;
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
        line.split_whitespace().next().and_then(|word| word.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1024.0
    };
    Ok(Weight { name, pss: value("Pss:"), rss: value("Rss:") })
}

/// As many processes as the host has, that do nothing.
struct Sleepers(Vec<Child>);

impl Sleepers {
    fn start(count: usize) -> io::Result<Self> {
        let start = |_| Command::new("/bin/sleep").arg("600").spawn();
        (0..count).map(start).collect::<io::Result<Vec<_>>>().map(Self)
    }

    fn weigh(&self) -> io::Result<f64> {
        self.0.iter().map(|child| weigh(child.id()).map(|weight| weight.pss)).sum()
    }
}

impl Drop for Sleepers {
    fn drop(&mut self) {
        for child in &mut self.0 {
            drop(child.kill());
            drop(child.wait());
        }
    }
}
