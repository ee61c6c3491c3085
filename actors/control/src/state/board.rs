//! agentd's reports about the host and its processes, and the `status` made from them. Numbers only come
//! from agentd; a number that has no word is shown as such, never guessed at.

use super::disk::words;
use ipc_proto::config::Control;
use ipc_proto::control::{HostStatus, ProcessStatus};
use ipc_proto::{List, Name, Text};
use manifest::Process;
use manifest::acts::{Act, Seen};
use manifest::command::{
    Ended, Frame, Holder, HostState, Kind, LOCKED_WORD, Mode, ProcessState, RECORD_WORD, RecordState, Room,
    SelfCheck, WORDS, check_words, state_words,
};
use std::collections::BTreeMap;

/// Words of a frame that are not known.
const UNKNOWN: &str = "unknown";

/// The latest of agentd's reports.
#[derive(Default)]
pub(crate) struct Board {
    host: [u64; WORDS],
    /// The room on the disk.
    pub(super) room: Room,
    processes: BTreeMap<Process, [u64; WORDS]>,
}

impl Board {
    /// Takes what agentd tells.
    pub(crate) fn take(&mut self, frame: &Frame) {
        match frame.kind {
            Kind::ProcessState => drop(self.processes.insert(frame.peer, frame.words)),
            Kind::HostState => self.host = frame.words,
            _ => {}
        }
    }

    /// Returns whether a process will not come by itself: it is configured away, held or stopped.
    pub(crate) fn is_away(&self, process: Process) -> bool {
        let state = self.processes.get(&process).map(|words| word(words, state_words::STATE));
        state
            .and_then(ProcessState::from_number)
            .is_none_or(|state| matches!(state, ProcessState::Held | ProcessState::Stopped))
    }

    /// Every process of this host, downhill.
    pub(crate) fn processes(&self) -> impl Iterator<Item = Process> {
        self.processes.keys().copied()
    }

    /// The host's mode of confinement, once agentd has reported it.
    pub(crate) fn mode(&self) -> Option<Mode> {
        let [_, mode, ..] = self.host;
        Mode::from_number(mode)
    }

    /// Why it is degraded besides processes that are not ready.
    fn reason(&self) -> String {
        let disk = self.room.low.then(|| words(self.room));
        let locked = word(&self.host, LOCKED_WORD) != 0;
        let locked = locked.then(|| "vault: locked; unlock it with `agentctl cred unlock`".to_owned());
        let record = match RecordState::from_number(word(&self.host, RECORD_WORD)) {
            Some(RecordState::Whole) => None,
            Some(RecordState::Unwritable) => {
                Some("record: cannot be written; `agentctl doctor` says why".to_owned())
            }
            Some(RecordState::Broken) | None => Some(
                "record: does not verify, and nothing is added to it; see `agentctl audit verify`".to_owned(),
            ),
            Some(RecordState::Foreign) => Some(
                "record: it is another log than this host's, and nothing is added to it; see the log of audit".to_owned(),
            ),
        };
        disk.into_iter().chain(locked).chain(record).collect::<Vec<_>>().join("; ")
    }

    /// The host as `agentctl status` shows it.
    pub(crate) fn status(&self, config: &Control, now_ms: u64) -> HostStatus {
        let [state, mode, began_ms, pid, _, holder, ..] = self.host;
        let processes = self.processes.iter().map(|(process, words)| status_of(*process, words, now_ms));
        HostStatus {
            state: Name::clip(HostState::from_number(state).map_or(UNKNOWN, host_word)),
            mode: Name::clip(Mode::from_number(mode).map_or(UNKNOWN, Mode::name)),
            limits: Name::clip(Holder::from_number(holder).map_or(UNKNOWN, holder_word)),
            self_check: Text::clip(&self_check(&self.host)),
            version: Name::clip(env!("CARGO_PKG_VERSION")),
            pid: narrow(pid),
            uptime_ms: now_ms.saturating_sub(began_ms),
            reason: Text::clip(&self.reason()),
            state_dir: Text::clip(&config.state_dir),
            config: Text::clip(&config.file),
            processes: List::clip(processes),
        }
    }
}

fn status_of(process: Process, words: &[u64; WORDS], now_ms: u64) -> ProcessStatus {
    let at = |index| word(words, index);
    let counter = |index: usize| word(words, state_words::COUNTERS + index);
    let state = ProcessState::from_number(at(state_words::STATE));
    let pid = narrow(at(state_words::PID));
    ProcessStatus {
        name: Name::clip(process.name()),
        state: Name::clip(state.map_or(UNKNOWN, process_word)),
        pid,
        uid: narrow(at(state_words::UID)),
        generation: at(state_words::GENERATION),
        restarts: at(state_words::RESTARTS),
        uptime_ms: if pid == 0 { 0 } else { now_ms.saturating_sub(at(state_words::SINCE)) },
        calls: counter(0),
        refused: counter(1),
        p50_us: counter(2),
        p99_us: counter(3),
        pss_kib: counter(4),
        rss_kib: counter(5),
        in_flight: counter(6),
        queue: counter(7),
    }
}

fn word(words: &[u64; WORDS], index: usize) -> u64 {
    words.get(index).copied().unwrap_or_default()
}

fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// How the host's check of itself came out, in words.
fn self_check(words: &[u64; WORDS]) -> String {
    let at = |index| word(words, index);
    let fact = at(check_words::FACT);
    match SelfCheck::from_number(at(check_words::STATE)) {
        Some(SelfCheck::Pending) => "pending".to_owned(),
        Some(SelfCheck::Passed) => format!("passed in {fact} ms"),
        Some(SelfCheck::Failed) => {
            let row = u8::try_from(fact).ok().and_then(Process::from_number).map_or(UNKNOWN, Process::name);
            let act = u16::try_from(at(check_words::ACT)).ok().and_then(Act::numbered);
            let seen =
                Ended::from_number(at(check_words::ENDED)).map(|it| Seen::of(it, at(check_words::CODE)));
            let what =
                if seen == Some(Seen::Succeeded) { "succeeded and must not" } else { "could not be tried" };
            let act = act.map_or(UNKNOWN, |act| act.id);
            format!("failed: {act} in the jail of {row} {what}; no runner is served")
        }
        None => UNKNOWN.to_owned(),
    }
}

const fn host_word(state: HostState) -> &'static str {
    match state {
        HostState::Starting => "starting",
        HostState::Ready => "ready",
        HostState::Degraded => "degraded",
        HostState::Stopping => "stopping",
    }
}

const fn process_word(state: ProcessState) -> &'static str {
    match state {
        ProcessState::Starting => "starting",
        ProcessState::Ready => "ready",
        ProcessState::Waiting => "waiting",
        ProcessState::Held => "held",
        ProcessState::Stopped => "stopped",
    }
}

const fn holder_word(holder: Holder) -> &'static str {
    match holder {
        Holder::Watch => "watch",
        Holder::Cgroup => "cgroup",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::config::Finding;

    fn placed(state_dir: &str, file: &str) -> Control {
        let (state_dir, file) = (state_dir.to_owned(), file.to_owned());
        Control { state_dir, file, owner_uid: 0, finding: Finding::default() }
    }

    fn told(process: Process, state: ProcessState) -> Frame {
        let words = [state as u64, 77, 780_001, 3, 2, 5_000, 11, 12, 13, 14, 15, 16, 17, 18];
        Frame::new(Kind::ProcessState, process).with(&words)
    }

    #[test]
    fn status_shows_what_the_frames_say_in_the_order_of_the_table() {
        let mut board = Board::default();
        board.take(&told(Process::Router, ProcessState::Waiting));
        board.take(&told(Process::Audit, ProcessState::Starting));
        board.take(&told(Process::Audit, ProcessState::Ready));
        let host = [HostState::Degraded as u64, Mode::User as u64, 1_000, 42, 9_000, Holder::Cgroup as u64];
        board.take(&Frame::new(Kind::HostState, Process::Agentd).with(&host));

        let status = board.status(&placed("/var/lib/cordon", "/etc/cordon/cordon.toml"), 10_000);
        assert_eq!((status.state.as_str(), status.mode.as_str()), ("degraded", "user"));
        assert_eq!(status.reason.as_str(), "");
        assert_eq!(status.limits.as_str(), "cgroup");
        assert_eq!((status.pid, status.uptime_ms), (42, 9_000));
        assert_eq!(
            (status.state_dir.as_str(), status.config.as_str()),
            ("/var/lib/cordon", "/etc/cordon/cordon.toml")
        );
        let audit = ProcessStatus {
            name: Name::clip("audit"),
            state: Name::clip("ready"),
            pid: 77,
            uid: 780_001,
            generation: 3,
            restarts: 2,
            uptime_ms: 5_000,
            calls: 11,
            refused: 12,
            p50_us: 13,
            p99_us: 14,
            pss_kib: 15,
            rss_kib: 16,
            in_flight: 17,
            queue: 18,
        };
        let router =
            ProcessStatus { name: Name::clip("router"), state: Name::clip("waiting"), ..audit.clone() };
        assert_eq!(status.processes.to_vec(), [audit, router]);
    }

    #[test]
    fn a_check_that_failed_names_the_jail_and_the_act() {
        let mut board = Board::default();
        let (act, _) = Act::named("chroot-jailed").unwrap();
        let told = |check: [u64; 5]| {
            let head = [HostState::Ready as u64, 0, 0, 0, 0, 0];
            let words: Vec<u64> = head.into_iter().chain(check).collect();
            Frame::new(Kind::HostState, Process::Agentd).with(&words)
        };
        let memory = Process::Memory.number().into();
        let cases = [
            ([0; 5], "pending"),
            ([1, 84, 0, 0, 0], "passed in 84 ms"),
            (
                [2, memory, act.into(), Ended::Exited as u64, 200],
                "failed: chroot-jailed in the jail of memory succeeded and must not; no runner is served",
            ),
            (
                [2, memory, act.into(), Ended::NotLaunched as u64, 11],
                "failed: chroot-jailed in the jail of memory could not be tried; no runner is served",
            ),
            ([9, 0, 0, 0, 0], "unknown"),
        ];
        for (check, words) in cases {
            board.take(&told(check));
            assert_eq!(board.status(&placed("", ""), 0).self_check.as_str(), words);
        }
    }

    #[test]
    fn a_stopped_process_has_no_uptime_and_unknown_numbers_no_word() {
        let mut board = Board::default();
        board.take(&Frame::new(Kind::ProcessState, Process::Model).with(&[99, 0, u64::MAX, 1, 0, 5]));
        board.take(&Frame::new(Kind::HostState, Process::Agentd).with(&[99, 99, u64::MAX, u64::MAX]));
        let status = board.status(&placed("", ""), 10);
        assert_eq!(
            (status.state.as_str(), status.mode.as_str(), status.uptime_ms),
            ("unknown", "unknown", 0)
        );
        let model = &status.processes[0];
        assert_eq!((model.state.as_str(), model.uptime_ms, model.uid), ("unknown", 0, u32::MAX));
    }

    #[test]
    fn a_disk_that_is_low_is_a_reason_and_one_that_is_not_is_none() {
        let mut board = Board::default();
        for (low, reason) in [(true, "disk: 3 MiB free, 64 are kept"), (false, "")] {
            board.room = Room { low, free_mib: 3, kept_mib: 64 };
            assert_eq!(board.status(&placed("", ""), 0).reason.as_str(), reason);
        }
    }

    #[test]
    fn a_vault_that_waits_for_its_passphrase_is_a_reason_beside_the_others() {
        let mut board = Board::default();
        board.host[LOCKED_WORD] = 1;
        assert!(board.status(&placed("", ""), 0).reason.starts_with("vault: locked"));
        board.room = Room { low: true, free_mib: 3, kept_mib: 64 };
        let both = board.status(&placed("", ""), 0).reason;
        assert!(both.starts_with("disk: ") && both.contains("; vault: locked"), "{}", both.as_str());
        board.host[LOCKED_WORD] = 0;
        assert!(!board.status(&placed("", ""), 0).reason.contains("vault"));
    }

    // Holds P8-29.
    #[test]
    fn a_record_that_takes_nothing_is_a_reason() {
        let mut board = Board::default();
        for (state, reason) in [
            (0, ""),
            (1, "record: cannot be written"),
            (2, "record: does not verify"),
            (9, "record: does not verify"),
        ] {
            board.host[RECORD_WORD] = state;
            let said = board.status(&placed("", ""), 0).reason;
            assert!(said.starts_with(reason) && said.is_empty() == reason.is_empty(), "{}", said.as_str());
        }
    }

    #[test]
    fn only_a_process_that_runs_or_is_about_to_is_waited_for() {
        let mut board = Board::default();
        assert!(board.is_away(Process::Memory), "configured away");
        for (state, away) in [
            (ProcessState::Starting, false),
            (ProcessState::Ready, false),
            (ProcessState::Waiting, false),
            (ProcessState::Held, true),
            (ProcessState::Stopped, true),
        ] {
            board.take(&told(Process::Memory, state));
            assert_eq!(board.is_away(Process::Memory), away, "{state:?}");
        }
    }
}
