//! One run: a fresh host, people, a storm, peace, the laws; then the host's end, and what it leaves behind.

use crate::arguments::Arguments;
use crate::asker::Asker;
use crate::dice::Dice;
use crate::faults::Storm;
use crate::laws::{self, Broken, Tally};
use crate::people::{Person, Shared};
use crate::settle;
use crate::stand::{STEPS, Stand};
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// People who act at once.
const PEOPLE: usize = 4;
const TICK: Duration = Duration::from_millis(50);

/// Lives it through: a line about it, or what is broken and how it came to that.
pub(crate) fn run(seed: u64, arguments: &Arguments) -> Result<String, String> {
    let failed = |error: io::Error| format!("chaos: the run could not be made: {error}\n");
    let began = Instant::now();
    let mut dice = Dice::new(seed);
    let mut stand = Stand::start(arguments.mode.as_deref()).map_err(failed)?;
    let mut storm = Storm::new(dice.fork(), &stand).map_err(failed)?;
    let lived = live(&mut stand, &mut storm, &mut dice, arguments.faults).map_err(failed)?;
    let (broken, tally) = lived;
    let report = report(&stand, &storm, &tally, began.elapsed());
    if broken.is_empty() {
        return Ok(format!("chaos: no law is broken\n{report}"));
    }
    let mut told = format!("chaos: a law is broken, seed {seed}\n{report}\n");
    for broken in broken.iter().take(40) {
        let _ = writeln!(told, "  BROKEN {broken}");
    }
    let _ = writeln!(told, "the last faults:");
    for fault in storm.last() {
        let _ = writeln!(told, "  {fault}");
    }
    let _ = writeln!(told, "state and log are kept in {}", stand.keep().display());
    Err(told)
}

fn live(
    stand: &mut Stand,
    storm: &mut Storm,
    dice: &mut Dice,
    faults: u64,
) -> io::Result<(Vec<Broken>, Tally)> {
    let shared = Shared::default();
    let mut asker = Asker::new(&stand.socket())?;
    let mut broken = settle::ready(stand, storm, &mut asker)?;
    if !broken.is_empty() {
        return Ok((broken, Tally::default()));
    }
    stand.put_script()?;
    let people = people(stand, dice, &shared)?;
    for _ in 0..faults {
        storm.strike(stand)?;
    }
    shared.end();
    while people.iter().any(|person| !person.is_finished()) {
        storm.pass(stand, TICK)?;
    }
    storm.abate(stand)?;
    broken.extend(settle::ready(stand, storm, &mut asker)?);
    broken.extend(settle::tidy(&shared, &mut asker));
    broken.extend(settle::drained(stand, storm, &mut asker)?);
    let (found, tally) = laws::check(stand, &shared.promises(), &mut asker)?;
    broken.extend(found);
    drop(asker);
    broken.extend(leave(stand, &shared.promises().notes)?);
    Ok((broken, tally))
}

fn people(stand: &Stand, dice: &mut Dice, shared: &Shared) -> io::Result<Vec<JoinHandle<()>>> {
    let person = |name| Person::new(name, dice.fork(), &stand.socket(), shared.clone());
    let people: Vec<Person> = (1..=PEOPLE).map(person).collect::<io::Result<_>>()?;
    Ok(people.into_iter().map(|person| thread::spawn(move || person.live())).collect())
}

/// Stops the host: nothing of it is left, and the record of which notes were kept has only grown.
fn leave(stand: &mut Stand, notes: &[String]) -> io::Result<Vec<Broken>> {
    let mut broken = Vec::new();
    let status = stand.stop()?;
    if status.is_none_or(|status| !status.success()) {
        broken.push(Broken::new("a host that is stopped ends well", format!("{status:?}")));
    }
    for orphan in &stand.orphans {
        broken.push(Broken::new("no process outlives its host", orphan.clone()));
    }
    for left in left_in(&stand.runtime())? {
        broken.push(Broken::new("nothing is left in the runtime directory", left));
    }
    for left in left_in(&stand.state().join("stage"))? {
        broken.push(Broken::new("nothing is left of a jail", left));
    }
    for mount in mounts(stand)? {
        broken.push(Broken::new("no mount outlives its host", mount));
    }
    broken.extend(verified(stand, notes)?);
    Ok(broken)
}

/// The record, without a host: it holds by itself, and beside the first note, one from the middle and the last.
fn verified(stand: &Stand, notes: &[String]) -> io::Result<Vec<Broken>> {
    let mut broken = Vec::new();
    let record = stand.state().join("audit");
    let record = record.to_string_lossy();
    let mut check = |more: &[&str]| -> io::Result<()> {
        let (well, said) = stand.ctl(&[&["audit", "verify", "--dir", &record], more].concat())?;
        if !well {
            broken.push(Broken::new("the record holds and has only grown", said.to_string()));
        }
        Ok(())
    };
    check(&[])?;
    let file = stand.dir().join("note");
    for note in [notes.first(), notes.get(notes.len() / 2), notes.last()].into_iter().flatten() {
        fs::write(&file, note)?;
        check(&["--checkpoint", &file.to_string_lossy()])?;
    }
    Ok(broken)
}

/// Every file beneath a folder but the host's two sockets, and every folder in a folder in it.
fn left_in(folder: &Path) -> io::Result<Vec<String>> {
    let mut left = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            let within = fs::read_dir(entry.path())?.flatten();
            left.extend(within.map(|entry| entry.path().display().to_string()));
        } else if !["control.sock", "gateway.sock"].iter().any(|name| entry.file_name() == *name) {
            left.push(entry.path().display().to_string());
        }
    }
    Ok(left)
}

/// Mounts beneath the host's directories, but for the disk that this program made.
fn mounts(stand: &Stand) -> io::Result<Vec<String>> {
    let (own, disk) = (stand.dir().display().to_string(), stand.disk.at.display().to_string());
    let all = fs::read_to_string("/proc/self/mountinfo")?;
    let points = all.lines().filter_map(|line| line.split(' ').nth(4));
    Ok(points.filter(|point| point.starts_with(&own) && **point != disk).map(str::to_owned).collect())
}

fn report(stand: &Stand, storm: &Storm, tally: &Tally, took: Duration) -> String {
    let list = |counts: &mut dyn Iterator<Item = (&&'static str, &u32)>| {
        counts.map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
    };
    let faults: u32 = storm.counts.values().sum();
    let mut report = format!(
        "  {faults} faults in {:.1} s: {}\n  messages: {}\n  {} lines in ledgers, {} \
         memories, {} entries on the record, {} starts of the host",
        took.as_secs_f64(),
        list(&mut storm.counts.iter()),
        list(&mut tally.ends.iter()),
        tally.lines,
        tally.memories,
        tally.entries,
        stand.starts,
    );
    if !STEPS {
        report.push_str("\n  LEFT OUT: steps of the clock, which a release build does not know");
    }
    if !stand.disk.fills() {
        report.push_str("\n  LEFT OUT: a full disk and a stalled one, which need root");
    } else if !stand.disk.stalls() {
        report.push_str("\n  LEFT OUT: a stalled disk, which needs a loop device, mkfs.ext4 and fsfreeze");
    }
    report
}
