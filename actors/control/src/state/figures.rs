//! Figures of processes that agentd passes on: calls by method and caller, CPU time, actors, numbers about their subjects, and the
//! ends of processes. What `inspect` shows is made from them.

use ipc_proto::control::{CallFigures, EndFigures, GaugeFigure, Inspection, PEOPLE, WorkerFigures};
use ipc_proto::{List, Name};
use manifest::Process;
use manifest::command::{Frame, Gauge, Measure, MethodCalls, Worker, label_text};
use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

/// The least time over which a rate is taken.
const WINDOW: Duration = Duration::from_secs(60);
/// Ends that are remembered of one process.
const ENDS: usize = 8;
/// Actors that are remembered of one process.
const WORKERS: usize = 16;

/// The figures.
#[derive(Default)]
pub(crate) struct Figures {
    calls: BTreeMap<(Process, Process, u16), Counted>,
    cpu: BTreeMap<Process, (u64, u64)>,
    gauges: BTreeMap<(Process, Gauge), u64>,
    workers: BTreeMap<(Process, String), (Worker, Instant)>,
    ends: BTreeMap<Process, VecDeque<EndFigures>>,
    jails: Option<(u64, u64)>,
}

/// The latest figures of a method, and two earlier counts of its calls to take a rate from.
struct Counted {
    last: MethodCalls,
    at: Instant,
    older: (Instant, u64),
    newer: (Instant, u64),
}

impl Counted {
    const fn new(last: MethodCalls, now: Instant) -> Self {
        let first = (now, last.calls);
        Self { last, at: now, older: first, newer: first }
    }

    fn note(&mut self, last: MethodCalls, now: Instant) {
        if last.calls < self.last.calls {
            *self = Self::new(last, now);
        }
        self.roll(now);
        (self.last, self.at) = (last, now);
    }

    /// Moves the window on if it is full.
    fn roll(&mut self, now: Instant) {
        if now.duration_since(self.newer.0) >= WINDOW {
            (self.older, self.newer) = (self.newer, (now, self.last.calls));
        }
    }

    /// Thousandths of a call a second.
    fn rate_milli(&mut self, now: Instant) -> u64 {
        self.roll(now);
        let (since, before) = self.older;
        let ms = u64::try_from(now.duration_since(since).as_millis()).unwrap_or(u64::MAX).max(1000);
        (self.last.calls.saturating_sub(before)).saturating_mul(1_000_000) / ms
    }
}

impl Figures {
    /// Takes a figure that agentd passed on. One that is not known is dropped.
    pub(crate) fn take(&mut self, frame: &Frame, now: Instant) {
        let process = frame.peer;
        match Measure::of(frame) {
            Some(Measure::Calls(calls)) => {
                let key = (process, calls.caller, calls.method);
                let counted = self.calls.entry(key).or_insert_with(|| Counted::new(calls, now));
                counted.note(calls, now);
            }
            Some(Measure::Cpu { ms, threads }) => drop(self.cpu.insert(process, (ms, threads))),
            Some(Measure::Gauge(gauge, value)) => drop(self.gauges.insert((process, gauge), value)),
            Some(Measure::Worker(worker)) => {
                let key = (process, label_text(worker.name));
                let known = self.workers.keys().filter(|(of, _)| *of == process).count();
                if known < WORKERS || self.workers.contains_key(&key) {
                    self.workers.insert(key, (worker, now));
                }
            }
            Some(Measure::Jails { running, ready }) => self.jails = Some((running, ready)),
            None => {}
        }
    }

    /// Takes the report of an end. The figures of that life are over.
    pub(crate) fn end(&mut self, frame: &Frame) {
        let process = frame.peer;
        let [at_ms, ended, code, cause, lived_ms, ..] = frame.words;
        let end = EndFigures { process: Name::clip(process.name()), at_ms, lived_ms, ended, code, cause };
        let ends = self.ends.entry(process).or_default();
        if ends.len() >= ENDS {
            ends.pop_front();
        }
        ends.push_back(end);
        self.calls.retain(|(callee, ..), _| *callee != process);
        self.workers.retain(|(of, _), _| *of != process);
        self.cpu.remove(&process);
    }

    /// The figures of one process.
    pub(crate) fn inspection(&mut self, process: Process, now: Instant) -> Inspection {
        let cpu = self.cpu.get(&process);
        Inspection {
            cpu_ms: cpu.map(|(ms, _)| *ms),
            threads: cpu.map(|(_, threads)| *threads),
            calls: List::clip(self.calls_of(process, now)),
            workers: List::clip(self.workers_of(process, now)),
            gauges: List::clip(self.gauges_of(process)),
            ends: List::clip(self.ends_of(process)),
        }
    }

    fn calls_of(&mut self, process: Process, now: Instant) -> Vec<CallFigures> {
        let of = |(callee, caller, _): &(Process, Process, u16)| *callee == process || *caller == process;
        let found = self.calls.iter_mut().filter(|(key, _)| of(key));
        found.filter_map(|((callee, ..), counted)| figures(*callee, counted, now)).collect()
    }

    fn workers_of(&self, process: Process, now: Instant) -> Vec<WorkerFigures> {
        let found = self.workers.iter().filter(|((of, _), _)| *of == process);
        found.map(|((_, name), (worker, at))| worker_figures(name, worker, now.duration_since(*at))).collect()
    }

    fn gauges_of(&self, process: Process) -> Vec<GaugeFigure> {
        let figure = |name: &str, value| GaugeFigure { name: Name::clip(name), value };
        if process == Process::Agentd {
            let (running, ready) = self.jails.unwrap_or_default();
            return vec![figure("jails working", running), figure("jails ready", ready)];
        }
        let found = self.gauges.iter().filter(|((of, _), _)| *of == process);
        found.map(|((_, gauge), value)| figure(gauge_name(*gauge), *value)).collect()
    }

    /// The ends of a process, oldest first; of agentd those of all.
    fn ends_of(&self, process: Process) -> Vec<EndFigures> {
        let of = |other: &Process| process == Process::Agentd || *other == process;
        let found = self.ends.iter().filter(|(other, _)| of(other));
        let mut ends: Vec<EndFigures> = found.flat_map(|(_, ends)| ends.iter().cloned()).collect();
        ends.sort_by_key(|end| end.at_ms);
        let surplus = ends.len().saturating_sub(64);
        ends.split_off(surplus)
    }
}

fn figures(callee: Process, counted: &mut Counted, now: Instant) -> Option<CallFigures> {
    let rate_milli = counted.rate_milli(now);
    let it = &counted.last;
    let method = ipc_proto::numbered_methods(callee).nth(usize::from(it.method))?;
    let caller = if it.caller == callee { PEOPLE } else { it.caller.name() };
    let since = u64::try_from(now.duration_since(counted.at).as_millis()).unwrap_or(u64::MAX);
    Some(CallFigures {
        caller: Name::clip(caller),
        callee: Name::clip(callee.name()),
        method: Name::clip(method.name),
        waits: method.waits,
        calls: it.calls,
        rate_milli,
        errors: it.errors,
        refused: it.refused,
        abandoned: it.abandoned,
        in_flight: it.in_flight,
        oldest_ms: if it.in_flight == 0 { 0 } else { it.oldest_ms.saturating_add(since) },
        p50_us: it.p50_us,
        p99_us: it.p99_us,
    })
}

fn worker_figures(name: &str, worker: &Worker, since: Duration) -> WorkerFigures {
    let task = Some(label_text(worker.task)).filter(|task| !task.is_empty());
    let since = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    WorkerFigures {
        name: Name::clip(name),
        mailbox: worker.mailbox,
        handled: worker.handled,
        since_ms: if task.is_some() { worker.since_ms.saturating_add(since) } else { 0 },
        task: task.map(|task| Name::clip(&task)),
    }
}

const fn gauge_name(gauge: Gauge) -> &'static str {
    match gauge {
        Gauge::RecordEntries => "record entries",
        Gauge::ApprovalsPending => "approvals pending",
        Gauge::TurnsAnswered => "turns answered",
        Gauge::TurnsFailed => "turns failed",
        Gauge::Spent => "millionths of a dollar spent",
        Gauge::DeadLetters => "dead letters",
        Gauge::MessagesWaiting => "messages waiting",
        Gauge::TurnsRunning => "turns running",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use manifest::command::{EndCause, Ended, Kind, label};

    const SECOND: Duration = Duration::from_secs(1);

    fn calls(caller: Process, method: &str, callee: Process, calls: u64) -> Frame {
        let number = ipc_proto::numbered_methods(callee).position(|it| it.name == method).unwrap();
        let figures = MethodCalls {
            caller,
            method: u16::try_from(number).unwrap(),
            calls,
            errors: 1,
            refused: 0,
            abandoned: 0,
            in_flight: 1,
            oldest_ms: 500,
            p50_us: 10,
            p99_us: 20,
            total_us: 100,
        };
        Measure::Calls(figures).frame(callee)
    }

    // Holds P8-61.
    #[test]
    fn a_process_is_shown_with_its_calls_both_ways_and_their_rates() {
        let (mut figures, now) = (Figures::default(), Instant::now());
        figures.take(&calls(Process::Gate, "scan", Process::Scanner, 10), now);
        figures.take(&calls(Process::Gate, "scan", Process::Scanner, 40), now + 30 * SECOND);
        figures.take(&calls(Process::Control, "status", Process::Control, 1), now);
        let later = now + 30 * SECOND;
        for process in [Process::Scanner, Process::Gate] {
            let found = figures.inspection(process, later).calls;
            assert_eq!(found.len(), 1, "{}", process.name());
            let it = &found[0];
            assert_eq!(
                (it.caller.as_str(), it.callee.as_str(), it.method.as_str()),
                ("gate", "scanner", "scan")
            );
            assert_eq!((it.calls, it.rate_milli, it.oldest_ms), (40, 1000, 500));
        }
        assert_eq!(figures.inspection(Process::Control, later).calls[0].caller.as_str(), PEOPLE);
        let idle = figures.inspection(Process::Scanner, later + 200 * SECOND).calls[0].rate_milli;
        assert!(idle < 200, "{idle}");
    }

    #[test]
    fn an_end_is_remembered_and_ends_the_figures_of_that_life() {
        let (mut figures, now) = (Figures::default(), Instant::now());
        figures.take(&calls(Process::Gate, "scan", Process::Scanner, 10), now);
        figures.take(&Measure::Cpu { ms: 30, threads: 2 }.frame(Process::Scanner), now);
        assert_eq!(figures.inspection(Process::Scanner, now).cpu_ms, Some(30));
        for at in 0..20 {
            let words = [at, Ended::Killed as u64, 9, EndCause::Silent as u64, 70];
            figures.end(&Frame::new(Kind::ProcessEnded, Process::Scanner).with(&words));
        }
        let found = figures.inspection(Process::Scanner, now);
        assert_eq!((found.calls.len(), found.cpu_ms, found.ends.len()), (0, None, ENDS));
        let last = found.ends.last().unwrap();
        assert_eq!((last.at_ms, last.manner().as_str()), (19, "signal 9"));
        assert_eq!(last.reason(), "sent no heartbeat for 10 s");
        assert_eq!(figures.inspection(Process::Agentd, now).ends.len(), ENDS);
    }

    #[test]
    fn actors_are_shown_with_their_mailbox_and_task_and_no_process_has_many() {
        let (mut figures, now) = (Figures::default(), Instant::now());
        for number in 0..40 {
            let worker = Worker {
                name: label(&format!("w{number:02}")),
                mailbox: 3,
                handled: 4,
                task: label("append"),
                since_ms: 5,
            };
            figures.take(&Measure::Worker(worker).frame(Process::Audit), now);
        }
        let found = figures.inspection(Process::Audit, now).workers;
        assert_eq!(found.len(), WORKERS);
        assert_eq!((found[0].name.as_str(), found[0].mailbox, found[0].since_ms), ("w00", 3, 5));
        assert_eq!(found[0].task.as_deref(), Some("append"));
    }
}
