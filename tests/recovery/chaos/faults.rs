//! Faults, one after the other, each after a pause: what falls, on whom and for how long is the dice's.

use crate::asker::Asker;
use crate::dice::Dice;
use crate::settle;
use crate::stand::{STEPS, Stand};
use ipc_proto::Name;
use ipc_proto::control::method;
use nix::sys::signal::Signal;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::time::{Duration, Instant};
use tests::{kill, signal};

/// The longest pause before a fault.
const PAUSE_MS: u64 = 400;
/// The longest that a process stands still, and that a disk is full or held up.
const STILL_MS: u64 = 2000;
/// The longest steps of the clock, of which one in two is short: what debug entries of the record are kept for is longer.
const STEP_MS: [u64; 2] = [20_000, 5 * 86_400_000];
/// Faults that are told of when a law was broken.
const TOLD: usize = 25;
/// How long an operator waits for an answer: who stands still is to go on meanwhile.
const HURRY: Duration = Duration::from_millis(500);
/// How often the host is looked after.
const TICK: Duration = Duration::from_millis(10);

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// kill -9 of a process, a runner among them.
    Kill,
    /// kill -9 of a runner.
    KillRunner,
    /// kill -9 of the supervisor; it is started again.
    KillAgentd,
    /// kill -9 of everything at once.
    KillAll,
    /// SIGSTOP, and later SIGCONT.
    Freeze,
    /// The same to the supervisor.
    FreezeAgentd,
    /// An operator's restart of a process.
    Restart,
    /// A stop of the host, as for an upgrade.
    Stop,
    /// Everything but control stands still, as for a backup.
    Standstill,
    /// No room on the disk, and a kill in the middle of it.
    Full,
    /// No write to the disk comes to an end, and a kill in the middle of it.
    Stall,
    /// The wall clock of every process is stepped, forth or back.
    Clock,
}

/// Each fault with its weight. Ends of the whole host also begin its processes' histories of short lives anew.
const WEIGHTS: &[(u32, Fault)] = &[
    (40, Fault::Kill),
    (12, Fault::KillRunner),
    (5, Fault::KillAgentd),
    (4, Fault::KillAll),
    (14, Fault::Freeze),
    (2, Fault::FreezeAgentd),
    (6, Fault::Restart),
    (3, Fault::Stop),
    (3, Fault::Standstill),
    (5, Fault::Full),
    (5, Fault::Stall),
    (6, Fault::Clock),
];

/// The faults of one run.
pub(crate) struct Storm {
    dice: Dice,
    operator: Asker,
    /// The process that stands still, and until when.
    still: Vec<(Instant, i32)>,
    told: VecDeque<String>,
    /// Faults by kind.
    pub(crate) counts: BTreeMap<&'static str, u32>,
    began: Instant,
}

impl Storm {
    /// Faults by these dice.
    pub(crate) fn new(dice: Dice, stand: &Stand) -> io::Result<Self> {
        Ok(Self {
            dice,
            operator: Asker::hurried(&stand.socket(), HURRY)?,
            still: Vec::new(),
            told: VecDeque::new(),
            counts: BTreeMap::new(),
            began: Instant::now(),
        })
    }

    /// A pause, and then a fault.
    pub(crate) fn strike(&mut self, stand: &mut Stand) -> io::Result<()> {
        let pause = self.dice.below(PAUSE_MS);
        self.pass(stand, Duration::from_millis(pause))?;
        let possible: Vec<(u32, Fault)> = WEIGHTS
            .iter()
            .copied()
            .filter(|(_, fault)| match fault {
                Fault::Full => stand.disk.fills(),
                Fault::Stall => stand.disk.stalls(),
                Fault::Clock => STEPS,
                _ => true,
            })
            .collect();
        let Some(fault) = self.dice.weighed(&possible) else { return Ok(()) };
        match fault {
            Fault::Kill => self.kill_one(stand, |_| true, "kill"),
            Fault::KillRunner => self.kill_one(stand, |name| name == "runner", "kill of a runner"),
            Fault::KillAgentd => self.kill_agentd(stand),
            Fault::KillAll => self.kill_all(stand),
            Fault::Freeze => self.freeze(stand),
            Fault::FreezeAgentd => self.freeze_agentd(stand),
            Fault::Restart => self.restart(stand),
            Fault::Stop => {
                self.tell("stop", "the host is stopped");
                if let Some(pid) = stand.agentd() {
                    signal(pid, Signal::SIGTERM);
                }
            }
            Fault::Standstill => self.standstill(),
            Fault::Full => self.full(stand)?,
            Fault::Stall => self.stall(stand)?,
            Fault::Clock => self.step(stand)?,
        }
        Ok(())
    }

    /// Lets time pass, and looks after the host meanwhile.
    pub(crate) fn pass(&mut self, stand: &mut Stand, time: Duration) -> io::Result<()> {
        let until = Instant::now() + time;
        loop {
            let now = Instant::now();
            self.still.retain(|(due, pid)| {
                if *due <= now {
                    signal(*pid, Signal::SIGCONT);
                }
                *due > now
            });
            stand.tend()?;
            if now >= until {
                return Ok(());
            }
            std::thread::sleep(TICK.min(until - now));
        }
    }

    /// Ends every fault that lasts.
    pub(crate) fn abate(&mut self, stand: &Stand) -> io::Result<()> {
        for (_, pid) in self.still.drain(..) {
            signal(pid, Signal::SIGCONT);
        }
        stand.step(0)?;
        stand.disk.empty()
    }

    /// The last faults, oldest first.
    pub(crate) fn last(&self) -> impl Iterator<Item = &String> {
        self.told.iter()
    }

    fn tell(&mut self, kind: &'static str, what: &str) {
        *self.counts.entry(kind).or_default() += 1;
        self.note(what);
    }

    fn note(&mut self, what: &str) {
        if self.told.len() == TOLD {
            self.told.pop_front();
        }
        self.told.push_back(format!("{:>8.3} s  {what}", self.began.elapsed().as_secs_f64()));
    }

    fn kill_one(&mut self, stand: &Stand, fits: impl Fn(&str) -> bool, kind: &'static str) {
        let all = stand.processes();
        let fitting: Vec<&(i32, String)> = all.iter().filter(|(_, name)| fits(name)).collect();
        // Where none fits, another has to do: a fault that falls on nobody is none.
        let any: Vec<&(i32, String)> = all.iter().collect();
        let Some((pid, name)) = self.dice.one(&fitting).or_else(|| self.dice.one(&any)).copied() else {
            return self.tell("nobody there", &format!("{kind}: nobody there"));
        };
        kill(*pid);
        self.tell(kind, &format!("{kind}: {name} ({pid})"));
    }

    fn kill_agentd(&mut self, stand: &Stand) {
        let Some(pid) = stand.agentd() else { return self.tell("nobody there", "agentd is not there") };
        kill(pid);
        self.tell("kill of agentd", "kill: agentd");
    }

    fn kill_all(&mut self, stand: &Stand) {
        let all = stand.processes();
        stand.agentd().into_iter().chain(all.iter().map(|(pid, _)| *pid)).for_each(kill);
        self.tell("kill of everything", "kill: everything at once");
    }

    fn freeze(&mut self, stand: &Stand) {
        let all = stand.processes();
        let ms = self.dice.between(50, STILL_MS);
        let Some((pid, name)) = self.dice.one(&all) else {
            return self.tell("nobody there", "freeze: nobody there");
        };
        self.stand_still(*pid, ms);
        self.tell("freeze", &format!("freeze: {name} ({pid}) for {ms} ms"));
    }

    fn freeze_agentd(&mut self, stand: &Stand) {
        let ms = self.dice.between(50, STILL_MS);
        let Some(pid) = stand.agentd() else { return self.tell("nobody there", "agentd is not there") };
        self.stand_still(pid, ms);
        self.tell("freeze of agentd", &format!("freeze: agentd for {ms} ms"));
    }

    fn stand_still(&mut self, pid: i32, ms: u64) {
        signal(pid, Signal::SIGSTOP);
        self.still.push((Instant::now() + Duration::from_millis(ms), pid));
    }

    /// By the operator's own way, who also releases what is held; that control is away is no fault of anybody's.
    fn restart(&mut self, stand: &Stand) {
        let status =
            self.operator.once(&method::status, async |control, context| control.status(context).await);
        if let Ok(status) = status {
            settle::release(&status, &mut self.operator);
        }
        let all = stand.processes();
        let actors: Vec<&String> =
            all.iter().map(|(_, name)| name).filter(|name| *name != "runner").collect();
        let Some(name) = self.dice.one(&actors).copied() else {
            return self.tell("nobody there", "restart: nobody there");
        };
        let asked = self.operator.once(&method::restart, async |control, context| {
            control.restart(context, Name::clip(name)).await
        });
        let came = if asked.is_ok() { "done" } else { "not done" };
        self.tell("restart by an operator", &format!("restart: {name} ({came})"));
    }

    /// agentd lets everything go on by itself.
    fn standstill(&mut self) {
        let ms = self.dice.between(100, STILL_MS);
        let asked = self.operator.once(&method::freeze, async |control, context| {
            control.freeze(context, u32::try_from(ms).unwrap_or(0)).await
        });
        let came = if asked.is_ok() { "done" } else { "not done" };
        self.tell("standstill", &format!("all stands still for {ms} ms ({came})"));
    }

    fn full(&mut self, stand: &mut Stand) -> io::Result<()> {
        let ms = self.dice.between(100, STILL_MS);
        self.tell("full disk", &format!("the disk is full for {ms} ms"));
        stand.disk.fill()?;
        self.pass(stand, Duration::from_millis(ms / 2))?;
        self.kill_one(stand, |_| true, "kill on a full disk");
        self.pass(stand, Duration::from_millis(ms / 2))?;
        self.note("the disk has room again");
        stand.disk.empty()
    }

    fn step(&mut self, stand: &Stand) -> io::Result<()> {
        let most = self.dice.one(&STEP_MS).copied().unwrap_or(0);
        let far = i64::try_from(self.dice.below(most)).unwrap_or(0);
        let off = if self.dice.below(2) == 0 { far } else { -far };
        self.tell("step of the clock", &format!("the clock is {off} ms off"));
        stand.step(off)
    }

    /// Nothing here touches the disk until it is let go: this process would stand still with the host.
    fn stall(&mut self, stand: &mut Stand) -> io::Result<()> {
        let ms = self.dice.between(100, STILL_MS);
        self.tell("stalled disk", &format!("the disk stalls for {ms} ms"));
        let mut stalled = stand.disk.stall(Duration::from_millis(ms))?;
        std::thread::sleep(Duration::from_millis(ms / 2));
        self.kill_one(stand, |_| true, "kill on a stalled disk");
        stalled.wait()?;
        self.note("the disk goes on");
        Ok(())
    }
}
