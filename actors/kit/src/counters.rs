//! A process's counts of itself: calls, refusals, their times, its memory. No content.

use manifest::command::{Frame, Kind, WORDS};
use std::cell::{Cell, RefCell};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Quarter powers of two from 1 us to about 18 minutes.
const BUCKETS: usize = 120;

/// Counters since the process started.
pub(crate) struct Counters {
    calls: Cell<u64>,
    refused: Cell<u64>,
    in_flight: Cell<u64>,
    times: RefCell<[u64; BUCKETS]>,
}

/// A call being served.
struct Serving(Rc<Counters>);

impl Counters {
    pub(crate) fn new() -> Rc<Self> {
        Rc::new(Self {
            calls: Cell::new(0),
            refused: Cell::new(0),
            in_flight: Cell::new(0),
            times: RefCell::new([0; BUCKETS]),
        })
    }

    pub(crate) fn refuse(&self) {
        self.refused.set(self.refused.get() + 1);
    }

    /// Counts a call and how long it took.
    pub(crate) async fn time<T>(self: &Rc<Self>, call: impl Future<Output = T>) -> T {
        let (started, serving) = (Instant::now(), self.begin());
        let reply = call.await;
        serving.end(started.elapsed());
        reply
    }

    fn begin(self: &Rc<Self>) -> Serving {
        self.in_flight.set(self.in_flight.get() + 1);
        Serving(Rc::clone(self))
    }

    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight.get()
    }

    /// The heartbeat that reports them.
    pub(crate) fn beat(&self, me: manifest::Process, memory: &MemoryFile, queue: u64) -> Frame {
        let (pss, rss) = memory.read();
        let mut words = [0; WORDS];
        let values = [
            self.calls.get(),
            self.refused.get(),
            self.percentile(50),
            self.percentile(99),
            pss,
            rss,
            self.in_flight.get(),
            queue,
        ];
        for (slot, value) in words.iter_mut().zip(values) {
            *slot = value;
        }
        Frame::new(Kind::Heartbeat, me).with(&words)
    }

    /// The upper edge of the bucket that holds this percentile, us; 0 without calls.
    fn percentile(&self, percent: u64) -> u64 {
        let times = self.times.borrow();
        let total: u64 = times.iter().sum();
        let rank = (total * percent).div_ceil(100);
        let mut seen = 0;
        for (bucket, count) in times.iter().enumerate() {
            seen += count;
            if seen >= rank && *count > 0 {
                return edge(bucket);
            }
        }
        0
    }
}

impl Serving {
    fn end(self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.0.calls.set(self.0.calls.get() + 1);
        if let Some(count) = self.0.times.borrow_mut().get_mut(bucket(micros)) {
            *count += 1;
        }
    }
}

/// A call that its caller gave up is not counted as served, and is not in flight any more.
impl Drop for Serving {
    fn drop(&mut self) {
        self.0.in_flight.set(self.0.in_flight.get().saturating_sub(1));
    }
}

fn bucket(micros: u64) -> usize {
    let micros = micros.max(1);
    let octave = micros.ilog2();
    let quarter = ((u128::from(micros) * 4) >> octave) - 4;
    let quarter = usize::try_from(quarter).unwrap_or(0);
    (octave as usize * 4 + quarter).min(BUCKETS - 1)
}

fn edge(bucket: usize) -> u64 {
    let (octave, quarter) = (bucket / 4, bucket as u64 % 4);
    (1_u64 << octave) * (5 + quarter) / 4
}

/// The kernel's statistics of this process's memory, opened before the seal.
pub(crate) struct MemoryFile(Option<File>);

impl MemoryFile {
    pub(crate) fn open() -> Self {
        Self(File::open("/proc/self/smaps_rollup").ok())
    }

    /// Proportional and resident set, KiB; zeros where the kernel does not say.
    fn read(&self) -> (u64, u64) {
        let mut buffer = [0; 1024];
        let Some(length) = self.0.as_ref().and_then(|file| file.read_at(&mut buffer, 0).ok()) else {
            return (0, 0);
        };
        let text = String::from_utf8_lossy(buffer.get(..length).unwrap_or_default()).into_owned();
        let value = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key))?;
            line.split_whitespace().next()?.parse().ok()
        };
        (value("Pss:").unwrap_or(0), value("Rss:").unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_within_a_quarter_of_the_time_it_stands_for() {
        let counters = Counters::new();
        for micros in 1..=1000 {
            counters.begin().end(Duration::from_micros(micros));
        }
        for (percent, exact) in [(50, 500), (99, 990)] {
            let found = counters.percentile(percent);
            assert!(found >= exact && found <= exact * 5 / 4 + 1, "p{percent} = {found}");
        }
        assert_eq!(counters.in_flight(), 0);
    }

    #[test]
    fn every_time_has_a_bucket() {
        for micros in [0, 1, 2, 3, 5, 1 << 20, u64::MAX] {
            assert!(bucket(micros) < BUCKETS);
        }
    }
}
