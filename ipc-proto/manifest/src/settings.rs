//! The message from agentd's configuration child to agentd: a head of fixed size, then each process's section as
//! bytes that agentd does not look into. Writer and reader share this file.
//!
//! Nothing here parses text, and reading allocates nothing. A document that breaks any rule below is refused whole.

use crate::command::Mode;
use crate::process::Process;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The first bytes of a document.
pub const MAGIC: [u8; 8] = *b"CRDNCFG7";
/// Bytes before the first section: those before the ids, the ids, and those after them.
pub const HEAD: usize = IDS + 8 * PROCESSES + 10;
/// Bytes before the first id.
const IDS: usize = 38;
/// Most bytes of one section.
pub const SECTION_BOUND: usize = 8 << 20;
/// Most bytes of a document: what agentd reads at most.
pub const DOCUMENT_BOUND: usize = 32 << 20;
/// Processes that have a uid: all but agentd, by number from 1.
pub const PROCESSES: usize = Process::ALL.len() - 1;
/// Ids that belong to the host from its base on, where no users are installed for it.
pub const ID_RANGE: u32 = 256;
/// Distance from the base to the first runner slot's uid.
pub const FIRST_SLOT: u32 = 64;
/// Most runner slots: the rest of the range.
pub const MAX_SLOTS: u16 = 192;
/// Most runners that wait for work.
pub const MAX_WARM: u16 = 64;
/// Least and most wall clock of a runner, ms.
pub const WALL_MS: (u32, u32) = (1000, 3_600_000);
/// Least and most bytes of a log file before it is rotated.
pub const ROTATE_BYTES: (u32, u32) = (64 << 10, 1 << 30);
/// Most MiB that are kept free on the disk of the state directory.
pub const DISK_RESERVE: u32 = 1 << 24;

/// Where gateway or ingress is reached over TCP. Loopback is all that can be said: whoever writes a document, agentd listens on
/// nothing that another machine reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loopback {
    /// `::1` rather than `127.0.0.1`.
    pub v6: bool,
    /// From 1.
    pub port: u16,
}

impl Loopback {
    /// The address.
    #[must_use]
    pub const fn address(self) -> SocketAddr {
        let ip = if self.v6 { IpAddr::V6(Ipv6Addr::LOCALHOST) } else { IpAddr::V4(Ipv4Addr::LOCALHOST) };
        SocketAddr::new(ip, self.port)
    }
}

/// The configuration of agentd itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The mode that was asked for; `None` to take the strongest that there is, `flat` excepted.
    pub mode: Option<Mode>,
    /// Log lines are JSON rather than words.
    pub log_json: bool,
    /// How many runners there can be at once, 1 to [`MAX_SLOTS`].
    pub runner_slots: u16,
    /// How many runners wait for work, 0 to [`MAX_WARM`]; each takes a slot, so there are never more than those.
    pub warm_runners: u16,
    /// Bit n: the process of number n has a row. Bit 0 is never set.
    pub enabled: u32,
    /// Uid and gid of the first runner slot in system mode; the others follow it.
    pub slot_base: u32,
    /// The longest that any runner may live, ms, within [`WALL_MS`].
    pub wall_ms: u32,
    /// Bytes of a log file before it is rotated, within [`ROTATE_BYTES`].
    pub rotate_bytes: u32,
    /// MiB that are kept free on the disk of the state directory, at most [`DISK_RESERVE`]; 0 to keep none.
    pub disk_reserve: u32,
    /// Inodes that are kept free there; 0 to keep none.
    pub inode_reserve: u32,
    /// Where gateway is reached over TCP, if anywhere.
    pub listen: Option<Loopback>,
    /// Where ingress is reached; there is one exactly if it has a row.
    pub ingress: Option<Loopback>,
    /// Uid in system mode of the process of number n + 1.
    pub uids: [u32; PROCESSES],
    /// Gid in system mode of the process of number n + 1.
    pub gids: [u32; PROCESSES],
}

/// Why a document was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It does not begin with [`MAGIC`].
    Magic,
    /// It ends too early, goes on too long, or is over a bound.
    Size,
    /// This field is out of its range.
    Field(&'static str),
    /// A section is unknown, out of order, missing, or not wanted.
    Section(u8),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Magic => write!(f, "not a configuration document of this version"),
            Self::Size => {
                write!(f, "the configuration document breaks off, goes on too long or is over a bound")
            }
            Self::Field(name) => write!(f, "the configuration document's {name} is out of its range"),
            Self::Section(number) => {
                write!(f, "the configuration document's section of process {number} is wrong or missing")
            }
        }
    }
}

impl std::error::Error for Refused {}

impl Settings {
    /// Returns whether configuration left `process` its row.
    #[must_use]
    pub fn enabled(&self, process: Process) -> bool {
        self.enabled & bit(process) != 0
    }

    /// Uid and gid of `process` in system mode; none for agentd.
    #[must_use]
    pub fn ids(&self, process: Process) -> Option<(u32, u32)> {
        let at = usize::from(process.number()).checked_sub(1)?;
        Some((*self.uids.get(at)?, *self.gids.get(at)?))
    }

    /// Uid and gid of runner slot `slot` in system mode; none past the last slot.
    #[must_use]
    pub fn slot(&self, slot: u16) -> Option<u32> {
        if slot < self.runner_slots { self.slot_base.checked_add(u32::from(slot)) } else { None }
    }

    fn check(&self) -> Result<(), Refused> {
        let range = |ok: bool, name| if ok { Ok(()) } else { Err(Refused::Field(name)) };
        range((1..=MAX_SLOTS).contains(&self.runner_slots), "runner slots")?;
        range(self.warm_runners <= MAX_WARM, "warm runners")?;
        range((WALL_MS.0..=WALL_MS.1).contains(&self.wall_ms), "wall clock")?;
        range((ROTATE_BYTES.0..=ROTATE_BYTES.1).contains(&self.rotate_bytes), "log rotation")?;
        range(self.disk_reserve <= DISK_RESERVE, "disk reserve")?;
        range(mask_holds(self.enabled), "list of processes")?;
        let listens = self.listen.is_none_or(|at| at.port != 0 && self.enabled(Process::Gateway));
        range(listens, "address of gateway")?;
        let hooks = self.ingress.is_some() == self.enabled(Process::Ingress);
        let same = self.ingress.is_some() && self.ingress == self.listen;
        range(hooks && !same, "address of ingress")?;
        let end =
            self.slot_base.checked_add(u32::from(self.runner_slots)).ok_or(Refused::Field("slot base"))?;
        let slots = self.slot_base..end;
        range(slots.clone().all(ordinary), "slot base")?;
        for (n, uid) in self.uids.iter().enumerate() {
            let once = self.uids.iter().take(n).all(|other| other != uid);
            range(once && ordinary(*uid) && !slots.contains(uid), "uids")?;
        }
        range(self.gids.iter().all(|gid| ordinary(*gid)), "gids")
    }

    fn wants_section(&self, process: Process) -> bool {
        self.enabled(process) && !process.is_runner()
    }
}

/// The bit that stands for `process`.
#[must_use]
pub const fn bit(process: Process) -> u32 {
    1 << process.number()
}

/// Not root, and none of the ids that mean "nobody" or "unmapped".
#[must_use]
pub const fn ordinary(id: u32) -> bool {
    !matches!(id, 0 | 0xFFFE | 0xFFFF | 0xFFFF_FFFE | 0xFFFF_FFFF)
}

fn mask_holds(mask: u32) -> bool {
    let has = |process| mask & bit(process) != 0;
    let known: u32 = Process::ALL.into_iter().map(bit).sum();
    let needed = |process| crate::row(process).is_some_and(|row| !row.optional);
    mask & !known == 0
        && !has(Process::Agentd)
        && Process::ALL.into_iter().filter(|p| needed(*p)).all(has)
        && has(Process::Dialer) == has(Process::Credproxy)
        // Curator without memory has nothing to do.
        && has(Process::Memory) == has(Process::Curator)
        // Embedder serves memory alone.
        && (has(Process::Memory) || !has(Process::Embedder))
        // Without dialer, web and channels reach nothing.
        && (has(Process::Dialer) || !has(Process::Web))
        // Ingress serves the channels that take hooks.
        && (has(Process::Ingress) || !(has(Process::Whatsapp) || has(Process::Webhook)))
        && (has(Process::Dialer) || !Process::ALL.into_iter().any(|p| p.is_channel() && has(p)))
}

/// Each process's section, as it stands in the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sections<'a>([Option<&'a [u8]>; PROCESSES + 1]);

impl<'a> Sections<'a> {
    /// The section of `process`; none for agentd, the runner, and what configuration took away.
    #[must_use]
    pub fn get(&self, process: Process) -> Option<&'a [u8]> {
        self.0.get(usize::from(process.number())).copied().flatten()
    }
}

/// Writes a document. Sections come in the order of the processes, one for each that is enabled but the runner.
///
/// # Errors
/// [`Refused`] if [`decode`] would refuse it.
pub fn encode(settings: &Settings, sections: &[(Process, Vec<u8>)]) -> Result<Vec<u8>, Refused> {
    let mut out = MAGIC.to_vec();
    out.extend([settings.mode.map_or(0, mode_number), u8::from(settings.log_json)]);
    out.extend(settings.runner_slots.to_le_bytes());
    out.extend(settings.warm_runners.to_le_bytes());
    let Settings { enabled, slot_base, wall_ms, rotate_bytes, disk_reserve, inode_reserve, .. } = *settings;
    let words = [enabled, slot_base, wall_ms, rotate_bytes, disk_reserve, inode_reserve];
    for word in words.into_iter().chain(settings.uids).chain(settings.gids) {
        out.extend(word.to_le_bytes());
    }
    for listen in [settings.listen, settings.ingress] {
        out.push(listen.map_or(0, |at| if at.v6 { 6 } else { 4 }));
        out.extend(listen.map_or(0, |at| at.port).to_le_bytes());
    }
    let length = |n: usize| u32::try_from(n).map_err(|_| Refused::Size);
    out.extend(length(sections.len())?.to_le_bytes());
    for (process, bytes) in sections {
        out.push(process.number());
        out.extend(length(bytes.len())?.to_le_bytes());
        out.extend(bytes);
    }
    decode(&out)?;
    Ok(out)
}

/// Reads a document.
///
/// # Errors
/// [`Refused`] says what is wrong with it.
pub fn decode(bytes: &[u8]) -> Result<(Settings, Sections<'_>), Refused> {
    if bytes.len() > DOCUMENT_BOUND {
        return Err(Refused::Size);
    }
    let mut from = Reader(bytes);
    if from.take::<8>() != Ok(MAGIC) {
        return Err(Refused::Magic);
    }
    let settings = read_settings(&mut from)?;
    settings.check()?;
    let sections = read_sections(&mut from, &settings)?;
    if from.0.is_empty() { Ok((settings, sections)) } else { Err(Refused::Size) }
}

fn read_settings(from: &mut Reader<'_>) -> Result<Settings, Refused> {
    let [mode, json] = from.take()?;
    let mut settings = Settings {
        mode: read_mode(mode)?,
        log_json: match json {
            0 => false,
            1 => true,
            _ => return Err(Refused::Field("log format")),
        },
        runner_slots: u16::from_le_bytes(from.take()?),
        warm_runners: u16::from_le_bytes(from.take()?),
        enabled: from.word()?,
        slot_base: from.word()?,
        wall_ms: from.word()?,
        rotate_bytes: from.word()?,
        disk_reserve: from.word()?,
        inode_reserve: from.word()?,
        listen: None,
        ingress: None,
        uids: [0; PROCESSES],
        gids: [0; PROCESSES],
    };
    for id in settings.uids.iter_mut().chain(&mut settings.gids) {
        *id = from.word()?;
    }
    settings.listen = read_listen(from)?;
    settings.ingress = read_listen(from)?;
    Ok(settings)
}

fn read_listen(from: &mut Reader<'_>) -> Result<Option<Loopback>, Refused> {
    let ([family], port) = (from.take()?, u16::from_le_bytes(from.take()?));
    match (family, port) {
        (0, 0) => Ok(None),
        (4 | 6, 1..) => Ok(Some(Loopback { v6: family == 6, port })),
        _ => Err(Refused::Field("address of gateway or ingress")),
    }
}

fn read_sections<'a>(from: &mut Reader<'a>, settings: &Settings) -> Result<Sections<'a>, Refused> {
    let mut count = from.word()?;
    let mut found = [None; PROCESSES + 1];
    for (process, slot) in Process::ALL.into_iter().zip(&mut found) {
        if !settings.wants_section(process) {
            continue;
        }
        count = count.checked_sub(1).ok_or(Refused::Section(process.number()))?;
        let [number] = from.take()?;
        if number != process.number() {
            return Err(Refused::Section(number));
        }
        *slot = Some(from.section()?);
    }
    if count == 0 { Ok(Sections(found)) } else { Err(Refused::Size) }
}

const fn mode_number(mode: Mode) -> u8 {
    match mode {
        Mode::System => 1,
        Mode::User => 2,
        Mode::Flat => 3,
    }
}

fn read_mode(number: u8) -> Result<Option<Mode>, Refused> {
    match number {
        0 => Ok(None),
        1 => Ok(Some(Mode::System)),
        2 => Ok(Some(Mode::User)),
        3 => Ok(Some(Mode::Flat)),
        _ => Err(Refused::Field("mode")),
    }
}

/// The bytes that remain to be read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Refused> {
        let (head, rest) = self.0.split_first_chunk::<N>().ok_or(Refused::Size)?;
        self.0 = rest;
        Ok(*head)
    }

    fn word(&mut self) -> Result<u32, Refused> {
        self.take().map(u32::from_le_bytes)
    }

    fn section(&mut self) -> Result<&'a [u8], Refused> {
        let length = usize::try_from(self.word()?).map_err(|_| Refused::Size)?;
        if length > SECTION_BOUND {
            return Err(Refused::Size);
        }
        let (section, rest) = self.0.split_at_checked(length).ok_or(Refused::Size)?;
        self.0 = rest;
        Ok(section)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        let ids = |base| std::array::from_fn(|n| base + u32::try_from(n).unwrap());
        Settings {
            mode: Some(Mode::Flat),
            log_json: true,
            runner_slots: 64,
            warm_runners: 8,
            enabled: Process::ALL.into_iter().skip(1).map(bit).sum(),
            slot_base: 780_064,
            wall_ms: 120_000,
            rotate_bytes: 8 << 20,
            disk_reserve: 64,
            inode_reserve: 16_384,
            listen: Some(Loopback { v6: true, port: 8080 }),
            ingress: Some(Loopback { v6: false, port: 8081 }),
            uids: ids(780_001),
            gids: ids(900),
        }
    }

    fn sections(settings: &Settings) -> Vec<(Process, Vec<u8>)> {
        let with = Process::ALL.into_iter().filter(|p| settings.wants_section(*p));
        with.map(|p| (p, p.name().as_bytes().to_vec())).collect()
    }

    fn with_uid(uid: u32) -> Settings {
        let mut settings = settings();
        settings.uids[3] = uid;
        settings
    }

    #[test]
    fn a_document_comes_back_as_it_was_written() {
        for mode in [None, Some(Mode::System), Some(Mode::User), Some(Mode::Flat)] {
            let settings = Settings { mode, ..settings() };
            let bytes = encode(&settings, &sections(&settings)).unwrap();
            let (back, parts) = decode(&bytes).unwrap();
            assert_eq!(back, settings);
            assert_eq!(parts.get(Process::Gate), Some(b"gate".as_slice()));
            assert_eq!(parts.get(Process::Runner), None);
            let number = u32::from(Process::Runner.number());
            assert_eq!(back.ids(Process::Runner), Some((780_000 + number, 899 + number)));
            assert_eq!(back.ids(Process::Agentd), None);
            assert_eq!((back.slot(63), back.slot(64)), (Some(780_127), None));
        }
    }

    #[test]
    fn the_head_lies_where_the_layout_says() {
        let bytes = encode(&settings(), &sections(&settings())).unwrap();
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        assert_eq!(bytes[..14], *b"CRDNCFG7\x03\x01\x40\x00\x08\x00");
        assert_eq!([14, 18, 22, 26].map(word), [settings().enabled, 780_064, 120_000, 8 << 20]);
        assert_eq!([30, 34].map(word), [64, 16_384]);
        let (gids, listen) = (IDS + 4 * PROCESSES, IDS + 8 * PROCESSES);
        let count = u32::try_from(PROCESSES).unwrap();
        let ends = [780_001, 780_000 + count, 900, 899 + count];
        assert_eq!([IDS, gids - 4, gids, listen - 4].map(word), ends);
        assert_eq!(bytes[listen..listen + 6], [6, 0x90, 0x1f, 4, 0x91, 0x1f]);
        let jails = u32::try_from(Process::RUNNERS.len()).unwrap();
        assert_eq!(word(listen + 6), count - jails, "no runner has a section");
        assert_eq!(bytes[HEAD..HEAD + 10], *b"\x01\x05\0\0\0audit");
    }

    #[test]
    fn what_configuration_took_away_has_no_section() {
        let gone = bit(Process::Memory) | bit(Process::Curator) | bit(Process::Embedder);
        let enabled = settings().enabled & !gone;
        let settings = Settings { enabled, ..settings() };
        let bytes = encode(&settings, &sections(&settings)).unwrap();
        let (back, parts) = decode(&bytes).unwrap();
        assert!(!back.enabled(Process::Memory) && back.enabled(Process::Model));
        assert_eq!(
            (parts.get(Process::Memory), parts.get(Process::Model)),
            (None, Some(b"model".as_slice()))
        );
    }

    // Holds P3-12.
    #[test]
    fn every_field_out_of_its_range_is_refused() {
        let good = settings();
        let bad = [
            Settings { runner_slots: 0, ..good },
            Settings { runner_slots: 193, ..good },
            Settings { warm_runners: 65, ..good },
            Settings { enabled: good.enabled | 1, ..good },
            Settings { enabled: good.enabled | 1 << (PROCESSES + 1), ..good },
            Settings { enabled: good.enabled & !bit(Process::Gate), ..good },
            Settings { enabled: good.enabled & !bit(Process::Dialer), ..good },
            Settings { enabled: good.enabled & !bit(Process::Memory) & !bit(Process::Curator), ..good },
            Settings { enabled: good.enabled & !bit(Process::Dialer) & !bit(Process::Credproxy), ..good },
            Settings { slot_base: 0, ..good },
            Settings { slot_base: u32::MAX - 3, ..good },
            Settings { slot_base: 65_500, ..good },
            Settings { wall_ms: 999, ..good },
            Settings { wall_ms: 3_600_001, ..good },
            Settings { rotate_bytes: 1, ..good },
            Settings { disk_reserve: DISK_RESERVE + 1, ..good },
            Settings { gids: [0; PROCESSES], ..good },
            Settings { listen: Some(Loopback { v6: false, port: 0 }), ..good },
            Settings { enabled: good.enabled & !bit(Process::Gateway), ..good },
            with_uid(0),
            with_uid(65_534),
            with_uid(good.uids[0]),
            with_uid(good.slot_base),
        ];
        for settings in bad {
            assert!(
                matches!(encode(&settings, &sections(&settings)), Err(Refused::Field(_))),
                "{settings:?}"
            );
        }
        let bytes = encode(&good, &sections(&good)).unwrap();
        let listen = IDS + 8 * PROCESSES;
        for (at, value) in [(8, 4), (9, 2), (listen, 5), (listen, 0)] {
            let mut bytes = bytes.clone();
            bytes[at] = value;
            assert!(matches!(decode(&bytes), Err(Refused::Field(_))), "byte {at}");
        }
    }

    // Holds B-06.
    #[test]
    fn a_section_missing_out_of_order_unwanted_or_over_its_bound_is_refused() {
        let good = sections(&settings());
        let mut swapped = good.clone();
        swapped.swap(1, 2);
        let mut extra = good.clone();
        extra.push((Process::Runner, Vec::new()));
        let mut big = good.clone();
        big[0].1 = vec![0; SECTION_BOUND + 1];
        for (name, bad) in [("missing", &good[1..]), ("swapped", &swapped), ("extra", &extra), ("big", &big)]
        {
            assert!(encode(&settings(), bad).is_err(), "{name}");
        }
    }

    #[test]
    fn a_document_cut_anywhere_or_followed_by_anything_is_refused() {
        let mut bytes = encode(&settings(), &sections(&settings())).unwrap();
        for end in 0..bytes.len() {
            assert!(decode(&bytes[..end]).is_err(), "cut at {end}");
        }
        bytes.push(0);
        assert_eq!(decode(&bytes), Err(Refused::Size));
    }

    #[test]
    fn garbage_is_read_without_panic_and_what_is_taken_is_written_the_same() {
        // A small generator of its own: this crate depends on nothing, for tests as well.
        let good = encode(&settings(), &sections(&settings())).unwrap();
        let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
        for _ in 0..20_000 {
            let mut bytes = good.clone();
            for _ in 0..3 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let at = usize::try_from(seed >> 33).unwrap() % bytes.len();
                bytes[at] = seed.to_le_bytes()[3];
            }
            if let Ok((settings, parts)) = decode(&bytes) {
                let parts: Vec<_> = Process::ALL
                    .into_iter()
                    .filter_map(|p| parts.get(p).map(|bytes| (p, bytes.to_vec())))
                    .collect();
                assert_eq!(encode(&settings, &parts).unwrap(), bytes);
            }
        }
    }
}
