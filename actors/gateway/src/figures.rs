//! Figures of every process and of the host, as agentd passes them on, in the text format of Prometheus. Numbers alone reach this
//! process, and labels are names of the table.

use manifest::Process;
use manifest::command::{
    Frame, Gauge, HostState, Kind, LOCKED_WORD, Measure, MethodCalls, ProcessState, RECORD_WORD, RecordState,
    Room, WORDS, state_words,
};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Reported counters, in the order of a heartbeat.
const COUNTERS: usize = state_words::COUNTERS;

/// A number among the figures of a method.
type OfCalls = fn(&MethodCalls) -> u64;

/// The latest figures.
#[derive(Default)]
pub(crate) struct Figures {
    host: [u64; WORDS],
    processes: BTreeMap<Process, [u64; WORDS]>,
    cpu: BTreeMap<Process, (u64, u64)>,
    calls: BTreeMap<(Process, Process, u16), MethodCalls>,
    gauges: BTreeMap<Gauge, u64>,
    jails: (u64, u64),
    room: Room,
}

impl Figures {
    /// Takes a report of agentd. One that is not known is dropped.
    pub(crate) fn take(&mut self, frame: &Frame) {
        let process = frame.peer;
        match frame.kind {
            Kind::HostState => self.host = frame.words,
            Kind::Disk => self.room = Room::of(frame).unwrap_or_default(),
            Kind::ProcessState => self.state(process, frame.words),
            _ => match Measure::of(frame) {
                Some(Measure::Calls(calls)) => {
                    self.calls.insert((process, calls.caller, calls.method), calls);
                }
                Some(Measure::Cpu { ms, threads }) => drop(self.cpu.insert(process, (ms, threads))),
                Some(Measure::Gauge(gauge, value)) => drop(self.gauges.insert(gauge, value)),
                Some(Measure::Jails { running, ready }) => self.jails = (running, ready),
                Some(Measure::Worker(_)) | None => {}
            },
        }
    }

    /// A process was started again, or is up for longer. The figures of an earlier life are over.
    fn state(&mut self, process: Process, words: [u64; WORDS]) {
        let generation = |words: &[u64; WORDS]| word(words, state_words::GENERATION);
        let before = self.processes.insert(process, words);
        if before.is_some_and(|before| generation(&before) != generation(&words)) {
            self.calls.retain(|(callee, ..), _| *callee != process);
            self.cpu.remove(&process);
        }
    }

    /// Everything as text.
    pub(crate) fn text(&self) -> String {
        let mut text = up(self.processes.iter().map(|(process, words)| (process.name(), is_ready(words))));
        self.add_processes(&mut text);
        self.add_calls(&mut text);
        self.add_host(&mut text);
        text
    }

    fn add_processes(&self, text: &mut String) {
        let states = || self.processes.iter().map(|(process, words)| (process.name(), words));
        let each = |text: &mut String, family: &Family<'_>, value: &dyn Fn(&[u64; WORDS]) -> f64| {
            family.head(text);
            states().for_each(|(name, words)| family.sample(text, &[("process", name)], value(words)));
        };
        let at = |index: usize| move |words: &[u64; WORDS]| float(word(words, index));
        each(
            text,
            &counter("process_restarts_total", "Restarts since the host started."),
            &at(state_words::RESTARTS),
        );
        each(text, &gauge("process_start_time_seconds", "Start, unix time."), &|words| {
            float(word(words, state_words::SINCE)) / 1000.0
        });
        each(text, &counter("process_calls_total", "Calls served, without long polls."), &at(COUNTERS));
        each(text, &counter("process_refused_total", "Calls refused by the table."), &at(COUNTERS + 1));
        each(text, &gauge("process_pss_bytes", "Proportional set size."), &|words| kib(words, COUNTERS + 4));
        each(text, &gauge("process_rss_bytes", "Resident set size."), &|words| kib(words, COUNTERS + 5));
        each(text, &gauge("process_in_flight", "Calls being served, without long polls."), &at(COUNTERS + 6));
        each(text, &gauge("process_queue", "Length of the process's own queue."), &at(COUNTERS + 7));
        let cpu = |text: &mut String, family: &Family<'_>, value: &dyn Fn(&(u64, u64)) -> f64| {
            family.head(text);
            let each = self.cpu.iter();
            each.for_each(|(process, cpu)| family.sample(text, &[("process", process.name())], value(cpu)));
        };
        cpu(text, &counter("process_cpu_seconds_total", "CPU time."), &|(ms, _)| float(*ms) / 1000.0);
        cpu(text, &gauge("process_threads", "Threads."), &|(_, threads)| float(*threads));
    }

    fn add_calls(&self, text: &mut String) {
        let named = self.calls.iter().filter_map(|((callee, caller, number), calls)| {
            let method = ipc_proto::numbered_methods(*callee).nth(usize::from(*number))?;
            // Calls that people make come to control, which then stands for its own caller.
            let caller = if caller == callee { ipc_proto::control::PEOPLE } else { caller.name() };
            Some((callee.name(), caller, method, calls))
        });
        let named: Vec<_> = named.collect();
        let families: [(Family<'_>, OfCalls); 5] = [
            (counter("method_calls_total", "Calls answered, by method and caller."), |it| it.calls),
            (counter("method_errors_total", "Answers that were errors."), |it| it.errors),
            (counter("method_refused_total", "Calls that the table refused."), |it| it.refused),
            (counter("method_abandoned_total", "Calls given up, or out of time."), |it| it.abandoned),
            (gauge("method_in_flight", "Calls being served."), |it| it.in_flight),
        ];
        for (family, value) in families {
            family.head(text);
            for (process, caller, method, calls) in &named {
                let labels = [("process", *process), ("caller", *caller), ("method", method.name)];
                family.sample(text, &labels, float(value(calls)));
            }
        }
        let times = Family { name: "method_seconds", help: "Time to the answer.", kind: "summary" };
        times.head(text);
        for (process, caller, method, calls) in named.iter().filter(|(_, _, method, _)| !method.waits) {
            let labels = [("process", *process), ("caller", *caller), ("method", method.name)];
            let [a, b, c] = labels;
            for (quantile, us) in [("0.5", calls.p50_us), ("0.99", calls.p99_us)] {
                times.sample(text, &[a, b, c, ("quantile", quantile)], float(us) / 1_000_000.0);
            }
            let sum = Family { name: "method_seconds_sum", ..times };
            sum.sample(text, &labels, float(calls.total_us) / 1_000_000.0);
            Family { name: "method_seconds_count", ..times }.sample(text, &labels, float(calls.calls));
        }
    }

    fn add_host(&self, text: &mut String) {
        let [state, _, began_ms, ..] = self.host;
        let flag = |on: bool| if on { 1.0 } else { 0.0 };
        let ready = HostState::from_number(state) == Some(HostState::Ready);
        let locked = word(&self.host, LOCKED_WORD) != 0;
        let record = RecordState::from_number(word(&self.host, RECORD_WORD)) == Some(RecordState::Whole);
        let mib = |mib: u32| f64::from(mib) * 1_048_576.0;
        for (family, value) in [
            (gauge("host_ready", "1 if the host is ready, 0 if it is degraded."), flag(ready)),
            (gauge("host_start_time_seconds", "Start of the host, unix time."), float(began_ms) / 1000.0),
            (gauge("vault_locked", "1 if the vault waits for its passphrase."), flag(locked)),
            (gauge("record_writable", "1 if the record accepts entries."), flag(record)),
            (gauge("disk_low", "1 if less is free than the reserve."), flag(self.room.low)),
            (
                gauge("disk_free_bytes", "Bytes that are free for the state directory."),
                mib(self.room.free_mib),
            ),
            (gauge("disk_reserve_bytes", "Bytes that are kept free."), mib(self.room.kept_mib)),
        ] {
            family.head(text);
            family.sample(text, &[], value);
        }
        let jails = gauge("jails", "Jails, by state.");
        jails.head(text);
        jails.sample(text, &[("state", "working")], float(self.jails.0));
        jails.sample(text, &[("state", "ready")], float(self.jails.1));
        let of = |gauge: Gauge| self.gauges.get(&gauge).copied().map_or(0.0, float);
        let turns = counter("turns_total", "Turns that ended, by outcome, since router started.");
        turns.head(text);
        turns.sample(text, &[("outcome", "answered")], of(Gauge::TurnsAnswered));
        turns.sample(text, &[("outcome", "other")], of(Gauge::TurnsFailed));
        for (family, value) in [
            (gauge("approvals_pending", "Approvals that wait for a person."), of(Gauge::ApprovalsPending)),
            (gauge("record_entries", "Entries of the record."), of(Gauge::RecordEntries)),
            (
                counter("spend_usd_total", "Dollars spent on models since model started."),
                of(Gauge::Spent) / 1_000_000.0,
            ),
        ] {
            family.head(text);
            family.sample(text, &[], value);
        }
    }
}

/// If these processes are up, as text.
pub(crate) fn up<'a>(processes: impl IntoIterator<Item = (&'a str, bool)>) -> String {
    let family = gauge("process_up", "1 if the process is ready.");
    let mut text = String::new();
    family.head(&mut text);
    for (name, is_up) in processes {
        family.sample(&mut text, &[("process", name)], if is_up { 1.0 } else { 0.0 });
    }
    text
}

fn is_ready(words: &[u64; WORDS]) -> bool {
    ProcessState::from_number(word(words, state_words::STATE)) == Some(ProcessState::Ready)
}

/// A metric's name, its explanation and its type.
#[derive(Clone, Copy)]
struct Family<'a> {
    name: &'a str,
    help: &'a str,
    kind: &'a str,
}

const fn counter<'a>(name: &'a str, help: &'a str) -> Family<'a> {
    Family { name, help, kind: "counter" }
}

const fn gauge<'a>(name: &'a str, help: &'a str) -> Family<'a> {
    Family { name, help, kind: "gauge" }
}

impl Family<'_> {
    fn head(&self, text: &mut String) {
        let Self { name, help, kind } = self;
        // Writing into a string cannot fail.
        let _ = writeln!(text, "# HELP cordon_{name} {help}\n# TYPE cordon_{name} {kind}");
    }

    fn sample(&self, text: &mut String, labels: &[(&str, &str)], value: f64) {
        let labels: Vec<String> = labels.iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(text, "cordon_{}{labels} {value}", self.name);
    }
}

fn word(words: &[u64; WORDS], index: usize) -> u64 {
    words.get(index).copied().unwrap_or_default()
}

fn kib(words: &[u64; WORDS], index: usize) -> f64 {
    float(word(words, index)) * 1024.0
}

#[expect(clippy::cast_precision_loss, reason = "a metric is a float; counts beyond 2^53 do not occur")]
const fn float(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Figures {
        let mut figures = Figures::default();
        let state = [ProcessState::Ready as u64, 77, 1, 3, 2, 5000, 11, 12, 13, 14, 15, 16, 17, 18];
        figures.take(&Frame::new(Kind::ProcessState, Process::Router).with(&state));
        figures.take(&Frame::new(Kind::HostState, Process::Agentd).with(&[HostState::Ready as u64, 0, 9000]));
        figures.take(&Room { low: false, free_mib: 2, kept_mib: 1 }.frame());
        let calls = MethodCalls {
            caller: Process::Control,
            method: 0,
            calls: 5,
            errors: 1,
            refused: 0,
            abandoned: 0,
            in_flight: 1,
            oldest_ms: 0,
            p50_us: 250,
            p99_us: 1000,
            total_us: 2000,
        };
        for (process, measure) in [
            (Process::Router, Measure::Calls(calls)),
            (Process::Router, Measure::Cpu { ms: 1500, threads: 2 }),
            (Process::Router, Measure::Gauge(Gauge::ApprovalsPending, 3)),
            (Process::Model, Measure::Gauge(Gauge::Spent, 2_500_000)),
            (Process::Runner, Measure::Jails { running: 1, ready: 4 }),
        ] {
            figures.take(&measure.frame(process));
        }
        figures
    }

    // Holds P8-62.
    #[test]
    fn every_process_and_the_host_are_in_the_text() {
        let text = sample().text();
        let method = ipc_proto::numbered_methods(Process::Router).next().unwrap().name;
        for line in [
            "cordon_process_up{process=\"router\"} 1",
            "cordon_process_restarts_total{process=\"router\"} 2",
            "cordon_process_pss_bytes{process=\"router\"} 15360",
            "cordon_process_cpu_seconds_total{process=\"router\"} 1.5",
            "cordon_host_ready 1",
            "cordon_disk_free_bytes 2097152",
            "cordon_jails{state=\"ready\"} 4",
            "cordon_approvals_pending 3",
            "cordon_spend_usd_total 2.5",
            &format!(
                "cordon_method_errors_total{{process=\"router\",caller=\"control\",method=\"{method}\"}} 1"
            ),
            &format!(
                "cordon_method_seconds{{process=\"router\",caller=\"control\",method=\"{method}\",quantile=\"0.5\"}} \
                 0.00025"
            ),
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        let heads: Vec<&str> = text.lines().filter(|line| line.starts_with("# TYPE")).collect();
        let once: std::collections::BTreeSet<&&str> = heads.iter().collect();
        assert_eq!(heads.len(), once.len(), "{text}");
    }

    #[test]
    fn a_restart_ends_the_figures_of_the_life_before_it() {
        let mut figures = sample();
        figures.take(&Frame::new(Kind::ProcessState, Process::Router).with(&[1, 78, 1, 4]));
        let text = figures.text();
        assert!(!text.contains("cordon_method_calls_total{process=\"router\""), "{text}");
        assert!(!text.contains("cordon_process_cpu_seconds_total{process=\"router\""), "{text}");
    }

    // Holds P8-63.
    #[test]
    fn dashboard_and_rules_name_only_metrics_that_are_exported() {
        let metrics = crate::metrics::Metrics::new().unwrap();
        metrics.answered("/v1/models", 200, std::time::Duration::from_millis(3));
        metrics.connected("tcp");
        metrics.spent(
            true,
            ipc_proto::model::Usage { input: 7, output: 9, ..ipc_proto::model::Usage::default() },
        );
        let queue = ipc_proto::router::QueueInfo {
            paused: false,
            paused_sessions: ipc_proto::List::default(),
            waiting: 0,
            running: 0,
            dead: 0,
        };
        let text = format!("{}{}", metrics.text(&queue).unwrap(), sample().text());
        let exported: std::collections::BTreeSet<&str> = text
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.split(['{', ' ']).next())
            .collect();
        let deploy = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/prometheus");
        for file in ["cordon.rules.yml", "cordon-dashboard.json"] {
            let content = std::fs::read_to_string(deploy.join(file)).unwrap();
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let named: Vec<&str> =
                content.split(|c| !is_name(c)).filter(|word| word.starts_with("cordon_")).collect();
            assert!(named.len() > 10, "{file}");
            for name in named {
                assert!(exported.contains(name), "{file} names {name}, which is not exported");
            }
        }
    }
}
