//! A process's counts of itself: calls in all and by method and caller, refusals, times. No content.

use crate::proc_files::ProcFiles;
use crate::tally::{Outcome, Tally};
use crate::times::Times;
use manifest::Process;
use manifest::command::{Frame, Kind, Measure, WORDS};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound::{Excluded, Unbounded};
use std::rc::Rc;
use std::time::Instant;

/// Figures of methods that are sent with one heartbeat; the others follow with the next.
const AT_ONCE: usize = 32;

/// One of the process's methods.
#[derive(Clone, Copy)]
struct Served {
    number: u16,
    /// Its time is no latency, since it waits for something to happen.
    waits: bool,
}

/// The caller and the method of a call.
#[derive(Clone, Copy)]
pub(crate) struct CallKey {
    caller: Process,
    served: Served,
}

impl CallKey {
    const fn tally(self) -> (Process, u16) {
        (self.caller, self.served.number)
    }
}

/// Counters since the process started.
pub(crate) struct Counters {
    calls: Cell<u64>,
    refused: Cell<u64>,
    in_flight: Cell<u64>,
    waiting: Cell<u64>,
    next: Cell<u64>,
    times: RefCell<Times>,
    methods: HashMap<&'static str, Served>,
    tallies: RefCell<BTreeMap<(Process, u16), Tally>>,
    /// The tally that was reported last.
    reported: Cell<Option<(Process, u16)>>,
}

/// A call being served.
struct Serving {
    counters: Rc<Counters>,
    number: u64,
    /// For a call of an interface.
    key: Option<CallKey>,
    answered: bool,
}

impl Counters {
    pub(crate) fn new(me: Process) -> Rc<Self> {
        let methods = ipc_proto::numbered_methods(me).zip(0..);
        let methods = methods.map(|(method, number)| (method.name, Served { number, waits: method.waits }));
        Rc::new(Self {
            calls: Cell::default(),
            refused: Cell::default(),
            in_flight: Cell::default(),
            waiting: Cell::default(),
            next: Cell::default(),
            times: RefCell::default(),
            methods: methods.collect(),
            tallies: RefCell::default(),
            reported: Cell::default(),
        })
    }

    /// Counts a connection that was ended for its peer's message, or a call that is none of an interface.
    pub(crate) fn refuse(&self) {
        self.refused.set(self.refused.get() + 1);
    }

    /// The key of a call of this method; `None` if it is none of this process's.
    pub(crate) fn key(&self, caller: Process, method: &str) -> Option<CallKey> {
        self.methods.get(method).map(|served| CallKey { caller, served: *served })
    }

    /// Counts a refused call.
    pub(crate) fn refuse_call(&self, key: Option<CallKey>) {
        self.refuse();
        if let Some(key) = key {
            self.tallies.borrow_mut().entry(key.tally()).or_default().refuse();
        }
    }

    /// Counts a call that is of no interface, and how long it took.
    pub(crate) async fn time<T>(self: &Rc<Self>, call: impl Future<Output = T>) -> T {
        let (started, serving) = (Instant::now(), self.begin(None));
        let reply = call.await;
        serving.end(started, Outcome::Answered);
        reply
    }

    /// Counts a call of an interface, its outcome and how long it took.
    pub(crate) async fn time_call<T>(
        self: &Rc<Self>,
        key: Option<CallKey>,
        call: impl Future<Output = T>,
        outcome: impl FnOnce(&T) -> Outcome,
    ) -> T {
        let (started, serving) = (Instant::now(), self.begin(key));
        let reply = call.await;
        let outcome = outcome(&reply);
        serving.end(started, outcome);
        reply
    }

    fn begin(self: &Rc<Self>, key: Option<CallKey>) -> Serving {
        let number = self.next.replace(self.next.get() + 1);
        self.in_flight.set(self.in_flight.get() + 1);
        if let Some(key) = key {
            self.waiting.set(self.waiting.get() + u64::from(key.served.waits));
            self.tallies.borrow_mut().entry(key.tally()).or_default().begin(number);
        }
        Serving { counters: Rc::clone(self), number, key, answered: false }
    }

    /// Calls that are being served, without those that wait for something to happen.
    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight.get().saturating_sub(self.waiting.get())
    }

    /// The heartbeat that reports them. Calls that wait for something to happen are in none of its counters.
    pub(crate) fn beat(&self, me: Process, files: &ProcFiles, queue: u64) -> Frame {
        let (pss, rss) = files.memory();
        let times = self.times.borrow();
        let mut words = [0; WORDS];
        let values = [
            self.calls.get(),
            self.refused.get(),
            times.percentile(50),
            times.percentile(99),
            pss,
            rss,
            self.in_flight(),
            queue,
        ];
        for (slot, value) in words.iter_mut().zip(values) {
            *slot = value;
        }
        Frame::new(Kind::Heartbeat, me).with(&words)
    }

    /// Figures of methods that have changed since they were reported, the longest unreported first; with `all` every one is
    /// reported again, a few with each heartbeat.
    pub(crate) fn measures(&self, all: bool) -> Vec<Measure> {
        let mut tallies = self.tallies.borrow_mut();
        if all {
            tallies.values_mut().for_each(|tally| tally.is_new = true);
        }
        let mut found = Vec::new();
        let last = self.reported.get();
        let after = last.map_or(Unbounded, Excluded);
        for (key, tally) in tallies.range_mut((after, Unbounded)) {
            self.report(*key, tally, &mut found);
        }
        if last.is_some() {
            for (key, tally) in tallies.iter_mut() {
                self.report(*key, tally, &mut found);
            }
        }
        found
    }

    fn report(&self, key: (Process, u16), tally: &mut Tally, found: &mut Vec<Measure>) {
        if tally.is_new && found.len() < AT_ONCE {
            tally.is_new = false;
            self.reported.set(Some(key));
            found.push(tally.measure(key.0, key.1));
        }
    }
}

impl Serving {
    fn end(mut self, started: Instant, outcome: Outcome) {
        let (counters, took) = (Rc::clone(&self.counters), started.elapsed());
        self.answered = true;
        if let Some(key) = self.key {
            counters.tallies.borrow_mut().entry(key.tally()).or_default().end(took, outcome);
        }
        if self.key.is_none_or(|key| !key.served.waits) {
            counters.calls.set(counters.calls.get() + 1);
            counters.times.borrow_mut().add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
        }
    }
}

/// A call that its caller gave up is not counted as served, and is not in flight any more.
impl Drop for Serving {
    fn drop(&mut self) {
        let counters = &self.counters;
        counters.in_flight.set(counters.in_flight.get().saturating_sub(1));
        if let Some(key) = self.key {
            counters.waiting.set(counters.waiting.get().saturating_sub(u64::from(key.served.waits)));
            counters.tallies.borrow_mut().entry(key.tally()).or_default().leave(self.number, self.answered);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use manifest::command::MethodCalls;
    use std::future::{pending, ready};
    use std::time::Duration;

    fn alone(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
    }

    fn calls(counters: &Counters, all: bool) -> Vec<MethodCalls> {
        let only = |measure| if let Measure::Calls(calls) = measure { Some(calls) } else { None };
        counters.measures(all).into_iter().filter_map(only).collect()
    }

    // Holds P8-60.
    #[test]
    fn a_long_poll_is_in_no_latency_and_in_no_count_of_calls() {
        alone(async {
            let counters = Counters::new(Process::Router);
            let slow = tokio::time::sleep(Duration::from_millis(20));
            let call = |method| counters.key(Process::Control, method);
            counters.time_call(call("events"), slow, |()| Outcome::Answered).await;
            let files = ProcFiles::open();
            let beat = counters.beat(Process::Router, &files, 0);
            assert_eq!(beat.words[..4], [0, 0, 0, 0]);
            counters.time_call(call("queue"), ready(()), |()| Outcome::Answered).await;
            assert_eq!(counters.beat(Process::Router, &files, 0).words[0], 1);
            let told = calls(&counters, false);
            assert_eq!(told.iter().map(|it| it.calls).collect::<Vec<_>>(), [1, 1]);
        });
    }

    #[test]
    fn each_method_of_each_caller_is_counted_by_its_outcome() {
        alone(async {
            let counters = Counters::new(Process::Scanner);
            let scan = |caller| counters.key(caller, "scan");
            for (caller, outcome) in [(Process::Gate, Outcome::Failed), (Process::Router, Outcome::Answered)]
            {
                counters.time_call(scan(caller), ready(()), |()| outcome).await;
            }
            counters.refuse_call(scan(Process::Gate));
            let given_up = counters.time_call(scan(Process::Gate), pending::<()>(), |()| Outcome::Answered);
            drop(tokio::time::timeout(Duration::from_millis(5), given_up).await);
            let told = calls(&counters, false);
            let of = |caller: Process| {
                let it = told.iter().find(|it| it.caller == caller).unwrap();
                (it.calls, it.errors, it.refused, it.abandoned, it.in_flight)
            };
            assert_eq!((of(Process::Gate), of(Process::Router)), ((1, 1, 1, 1, 0), (1, 0, 0, 0, 0)));
            assert!(calls(&counters, false).is_empty(), "nothing has changed");
            assert_eq!(calls(&counters, true).len(), 2);
            assert_eq!(counters.in_flight(), 0);
        });
    }

    #[test]
    fn many_methods_are_reported_in_turn_and_none_is_left_out() {
        let counters = Counters::new(Process::Control);
        let names: Vec<&str> = ipc_proto::numbered_methods(Process::Control).map(|it| it.name).collect();
        assert!(names.len() > 2 * AT_ONCE);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..names.len().div_ceil(AT_ONCE) {
            for name in names.iter().take(AT_ONCE) {
                counters.refuse_call(counters.key(Process::Control, name));
            }
            for name in names.iter().skip(AT_ONCE).filter(|_| seen.is_empty()) {
                counters.refuse_call(counters.key(Process::Control, name));
            }
            seen.extend(calls(&counters, false).into_iter().map(|it| it.method));
        }
        assert_eq!(seen.len(), names.len());
    }
}
