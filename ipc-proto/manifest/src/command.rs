//! The fixed-size commands on a control descriptor: all that the supervisor reads or writes.
//!
//! One frame is 128 bytes on a `SOCK_SEQPACKET` pair, little-endian, with at most three descriptors attached.
//! Nothing here allocates or parses text; a frame of another size or an unknown kind is refused.

/// Each of these enums is a number on the wire, read back by this.
macro_rules! from_number {
    ($type:ident: $($name:ident),+) => {
        impl $type {
            /// The variant with this number.
            #[must_use]
            pub fn from_number(number: u64) -> Option<Self> {
                [$(Self::$name),+].into_iter().find(|it| *it as u64 == number)
            }
        }
    };
}

mod layout;
mod measure;
mod states;

use crate::process::Process;
pub use layout::{check_words, state_words, violation_words};
pub use measure::{Gauge, LABEL, Measure, MethodCalls, Worker, label, label_text};
pub use states::{
    Answer, EndCause, Ended, Failure, Holder, HostState, ListenerKind, Mode, ProcessState, RecordState,
    SelfCheck,
};

/// Bytes of one frame.
pub const FRAME: usize = 128;
/// Number of 64-bit words that a frame carries besides its head.
pub const WORDS: usize = 14;

/// The kind of a frame. Numbers are the wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Kind {
    // From agentd.
    /// Start-up facts: words[0] [`Mode`], words[1] the fault point to arm, words[2] as in [`Kind::Clock`]; the last two
    /// are 0 but in debug builds. words[4] to credproxy: [`START_PAGE`], [`START_CREDENTIAL`]. words[5..9] to audit: the
    /// log that is this host's, as in [`Kind::Record`]; 0 before there is one. Descriptors: the configuration section, then
    /// those that words[4] names.
    Start = 1,
    /// One end of an edge: peer, generation; `role` says whose server this end is. Descriptors: the end, and
    /// the end of its descriptor channel where the edge has one. For a runner: words[0..2] the turn id.
    Edge = 2,
    /// A listening socket that agentd keeps. words[0] [`ListenerKind`]. Descriptors: the listener.
    Listener = 3,
    /// Every edge that exists now has been sent.
    Plumbed = 4,
    /// Finish what is in flight and end; words[0] = milliseconds left.
    Drain = 5,
    /// To the process that launched it: a runner ended. words[0..2] turn id, words[2] how ([`Ended`]), words[3] its code.
    RunnerEnded = 6,
    /// To control: the state of the process `peer`, words as [`state_words`].
    ProcessState = 7,
    /// To control: the state of the host. words[0] [`HostState`], words[1] [`Mode`], words[2] started (unix ms),
    /// words[3] agentd's pid, words[4] now (unix ms), words[5] [`Holder`],
    /// words[6..11] [`check_words`], words[11] 1 if the vault waits for its passphrase, else 0; words[12] [`RecordState`].
    HostState = 8,
    /// To control: the answer to one of its commands. words[0] = 0 or an [`Answer`].
    Done = 9,
    /// To router, before [`Kind::Plumbed`]: this turn has a live runner. words[0..2] turn id.
    RunnerAlive = 10,
    /// To control: the outcome of a [`Kind::Probe`]; `peer` the row, words[0] the number of the act, words[1] how its
    /// process ended ([`Ended`]), words[2] the code of that, words[3] words[1] of the probe.
    Probed = 12,
    /// To control: the process `peer` tried an act that it may not do, words as [`violation_words`]. Sent again after each
    /// start of control until it answers [`Kind::Recorded`].
    Violation = 11,
    // From a process.
    /// Sealed and serving.
    Ready = 32,
    /// Alive; counters since start: calls, refused, p50 us, p99 us, pss KiB, rss KiB, in flight, queue depth.
    Heartbeat = 33,
    /// From router or gate: launch a runner of the row `peer`. words[0..2] turn id, words[2..4] workspace id, words[4] wall clock ms,
    /// words[5] flags ([`LAUNCH_ATTACHED`] and the others), words[6] CPU time ms, words[7] the uid that attached the directory
    /// ([`attached_owner`]), words[8..10] session id, words[10..12] the id of a folder of files that are shown besides.
    Launch = 34,
    /// From router or gate: end the runner of this turn. words[0..2] turn id.
    Kill = 35,
    /// From control: check the directory that the hello of this connection hands over, and keep it as a workspace of its owner.
    /// words[0] a number of control's own that comes back with [`Kind::Attached`], words[1] uid of the caller.
    /// Descriptors: the connection, of which nothing was read. Its hello carries the directory, and the mount namespace that it
    /// was opened in, if the caller gave one.
    Attach = 36,
    /// To control: the answer to a [`Kind::Attach`]. words[0] its number, words[1] an [`Answer`], words[2..4] workspace id.
    Attached = 13,
    /// From router: no session works in this attached directory any more. words[0..2] workspace id.
    Forget = 53,
    /// From control: restart the process `peer`.
    Restart = 37,
    /// From control: stop the process `peer` and leave it stopped.
    Hold = 38,
    /// From control: start the held process `peer`.
    Release = 39,
    /// From control: stop the host.
    Shutdown = 40,
    /// A process's last frame before it ends by itself; words[0] = a [`Failure`].
    Failing = 41,
    /// From router: the runner of this turn has words[2] ms of wall clock from now on, because its turn waits for a person
    /// or does so no longer. words[0..2] turn id.
    SetDeadline = 42,
    /// From control: stop every process but control with SIGSTOP, runners too, until [`Kind::Thaw`] or for
    /// words[0] ms. agentd answers with [`Kind::Done`] when all are stopped.
    Freeze = 43,
    /// From control: resume them. The answer says if they were stopped until now.
    Thaw = 44,
    /// From control: have a probe in the jail of the process `peer`, under the very same seal, try an act. words[0] the number of
    /// the act, words[1] a number of control's own that comes back with [`Kind::Probed`].
    Probe = 45,
    /// From a process that is half sealed: the listener of its filter, over which agentd learns of its refused system calls.
    /// Descriptors: the listener. A runner sends it on a socket of its own, and nothing else there.
    Listening = 46,
    /// From control: every violation up to the number words[0] is on the record.
    Recorded = 49,
    /// From agentd to control, router and gate: the room on the state directory's file system, as [`Room`] reads it.
    /// words[0] 1 below the reserve, else 0; words[1] MiB that are free; words[2] MiB of the reserve.
    Disk = 47,
    /// From agentd, in debug builds alone: the offset of every process's wall clock from the machine's.
    /// words[0] ms, as the bits of an `i64`.
    Clock = 48,
    /// From credproxy: words[0] 1 if the vault waits for its passphrase, else 0.
    Locked = 50,
    /// From audit: words[0] the [`RecordState`]; words[1..5] the log's id, a SHA-256 of its first public key with its name; 0
    /// for a log that does not hold.
    Record = 51,
    /// From router or gate: a workspace or a folder of files was removed, and the folder that the host made for it goes. words[0..2] workspace id.
    Remove = 52,
    /// From a process: a figure of its own, as [`Measure`] reads it. agentd passes it on to control and gateway.
    Measure = 54,
    /// To control: the process `peer` ended. words[0] when (unix ms), words[1] how ([`Ended`]), words[2] the code of that,
    /// words[3] an [`EndCause`], words[4] how long it lived, ms.
    ProcessEnded = 55,
}

/// The word of [`Kind::HostState`] that is 1 while the vault waits for its passphrase.
pub const LOCKED_WORD: usize = 11;
/// The word of [`Kind::HostState`] that is the [`RecordState`].
pub const RECORD_WORD: usize = 12;
/// A page for keys that agentd keeps over credproxy's lives follows the section.
pub const START_PAGE: u64 = 1;
/// The credential that the vault's key may come from follows.
pub const START_CREDENTIAL: u64 = 2;

/// Bytes of the first message of a connection.
pub const HELLO: usize = 16;
/// A launch uses a directory attached by [`Kind::Attach`] rather than the workspace folder of that id.
pub const LAUNCH_ATTACHED: u64 = 1;
/// A launch has no workspace.
pub const LAUNCH_NO_WORKSPACE: u64 = 2;
/// A launch is shown a folder of files at `/server`, read-only.
pub const LAUNCH_FILES: u64 = 4;
/// With [`LAUNCH_FILES`]: the files may be written.
pub const LAUNCH_WRITES_FILES: u64 = 8;

from_number!(Kind: Start, Edge, Listener, Plumbed, Drain, RunnerEnded, ProcessState, HostState, Done, RunnerAlive, Ready, Heartbeat,
    Launch, Kill, Attach, Attached, Forget, Restart, Hold, Release, Shutdown, Failing, SetDeadline, Freeze, Thaw, Disk, Clock, Probe, Probed,
    Violation, Listening, Recorded, Locked, Record, Remove, Measure, ProcessEnded);

/// The end of an edge that a descriptor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// This process calls the peer.
    Client,
    /// The peer calls this process.
    Server,
}

/// One command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The frame's kind.
    pub kind: Kind,
    /// The process it is about.
    pub peer: Process,
    /// For [`Kind::Edge`]: which end this is.
    pub role: Role,
    /// For [`Kind::Edge`]: how often the peer has been started.
    pub generation: u64,
    /// The rest, by kind.
    pub words: [u64; WORDS],
}

impl Frame {
    /// A frame about `peer` with nothing in it.
    #[must_use]
    pub const fn new(kind: Kind, peer: Process) -> Self {
        Self { kind, peer, role: Role::Client, generation: 0, words: [0; WORDS] }
    }

    /// The same with these first words; more than fit are dropped.
    #[must_use]
    pub fn with(mut self, words: &[u64]) -> Self {
        for (slot, word) in self.words.iter_mut().zip(words) {
            *slot = *word;
        }
        self
    }

    /// The 16-byte id in words 2n and 2n+1.
    #[must_use]
    pub fn id(&self, n: usize) -> [u8; 16] {
        let mut id = [0; 16];
        let pair = self.words.iter().skip(2 * n).take(2);
        for (bytes, word) in id.chunks_exact_mut(8).zip(pair) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        id
    }

    /// The wire form.
    #[must_use]
    pub fn encode(&self) -> [u8; FRAME] {
        let mut out = [0; FRAME];
        let role = u8::from(self.role == Role::Server);
        let head =
            [(self.kind as u16).to_le_bytes().as_slice(), &[self.peer.number(), role], &[0; 4]].concat();
        let words = std::iter::once(self.generation).chain(self.words).flat_map(u64::to_le_bytes);
        for (slot, byte) in out.iter_mut().zip(head.into_iter().chain(words)) {
            *slot = byte;
        }
        out
    }

    /// Reads the wire form; `None` for any other size, an unknown kind, process or role.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; FRAME] = bytes.try_into().ok()?;
        let [k0, k1, peer, role, ..] = *bytes;
        let kind = Kind::from_number(u64::from(u16::from_le_bytes([k0, k1])))?;
        let role = match role {
            0 => Role::Client,
            1 => Role::Server,
            _ => return None,
        };
        let mut words =
            bytes.chunks_exact(8).skip(1).filter_map(|w| w.try_into().ok()).map(u64::from_le_bytes);
        let mut frame =
            Self { role, generation: words.next()?, ..Self::new(kind, Process::from_number(peer)?) };
        for slot in &mut frame.words {
            *slot = words.next()?;
        }
        Some(frame)
    }
}

/// Room on the file system that holds the state directory, as agentd tells it with [`Kind::Disk`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// Less is free than is kept: nothing new is begun.
    pub low: bool,
    /// MiB that are free.
    pub free_mib: u32,
    /// MiB that are kept.
    pub kept_mib: u32,
}

impl Room {
    /// The content of such a frame; `None` for a frame of another kind.
    #[must_use]
    pub fn of(frame: &Frame) -> Option<Self> {
        let [low, free, kept, ..] = frame.words;
        let number = |word: u64| u32::try_from(word).unwrap_or(u32::MAX);
        let room = Self { low: low != 0, free_mib: number(free), kept_mib: number(kept) };
        (frame.kind == Kind::Disk).then_some(room)
    }

    /// The frame that says it.
    #[must_use]
    pub fn frame(self) -> Frame {
        let words = [u64::from(self.low), self.free_mib.into(), self.kept_mib.into()];
        Frame::new(Kind::Disk, Process::Agentd).with(&words)
    }
}

/// Splits a 16-byte id into the two words that carry it.
#[must_use]
pub fn id_words(id: [u8; 16]) -> [u64; 2] {
    let number = u128::from_le_bytes(id);
    #[expect(clippy::cast_possible_truncation, reason = "the two halves are meant")]
    [number as u64, (number >> 64) as u64]
}

/// The workspace id of an attached directory: the same directory of the same owner is the same workspace, and no directory of
/// another's is.
#[must_use]
pub fn attached_id(device: u32, owner: u32, inode: u64) -> [u8; 16] {
    (u128::from(device) << 96 | u128::from(owner) << 64 | u128::from(inode)).to_le_bytes()
}

/// The uid that owns the directory of such an id. It proves nothing by itself: anybody can compute an id.
#[must_use]
pub const fn attached_owner(id: [u8; 16]) -> u32 {
    let [_, _, _, _, _, _, _, _, a, b, c, d, ..] = id;
    u32::from_le_bytes([a, b, c, d])
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds P1-40.
    #[test]
    fn the_id_of_an_attached_directory_tells_device_owner_and_inode_apart() {
        let id = attached_id(7, 1000, 9);
        assert_eq!(attached_owner(id), 1000);
        for other in [attached_id(8, 1000, 9), attached_id(7, 1001, 9), attached_id(7, 1000, 10)] {
            assert_ne!(id, other);
        }
    }

    #[test]
    fn a_frame_comes_back_as_it_was_sent() {
        let id = *b"0123456789abcdef";
        let mut frame = Frame::new(Kind::Launch, Process::Router).with(&id_words(id));
        frame.generation = 7;
        frame.role = Role::Server;
        frame.words[13] = u64::MAX;
        let back = Frame::decode(&frame.encode()).unwrap();
        assert_eq!(back, frame);
        assert_eq!(back.id(0), id);
    }

    #[test]
    fn room_comes_back_as_it_was_told_and_no_other_frame_is_taken_for_it() {
        let room = Room { low: true, free_mib: 12, kept_mib: 64 };
        assert_eq!(Room::of(&Frame::decode(&room.frame().encode()).unwrap()), Some(room));
        assert_eq!(Room::of(&Frame::new(Kind::HostState, Process::Agentd)), None);
    }

    // Holds B-05.
    #[test]
    fn frames_of_another_size_or_kind_are_refused() {
        let good = Frame::new(Kind::Ready, Process::Audit).encode();
        assert!(Frame::decode(&good[..127]).is_none());
        assert!(Frame::decode(&[]).is_none());
        for (at, bad) in [(0, 99), (2, 200), (3, 2)] {
            let mut bytes = good;
            bytes[at] = bad;
            assert!(Frame::decode(&bytes).is_none(), "byte {at} = {bad}");
        }
    }
}
