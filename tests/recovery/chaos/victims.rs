//! The processes between router and a platform, of which one after another is killed: as often as agentd starts them again by itself.

use crate::dice::Dice;
use crate::stand::children;
use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The processes that are killed.
const NAMES: [&str; 4] = ["channel@telegram", "credproxy", "dialer", "router"];
/// A process that has lived so long is started again at once; one that dies sooner too often in a row is held.
const QUIET: Duration = Duration::from_secs(10);
const SHORT_LIVES: u32 = 6;
/// Kills that are told of.
const TOLD: usize = 25;

/// A process as it was seen last.
struct Seen {
    pid: i32,
    since: Instant,
    /// Ends in a row, each soon after its start.
    short_lives: u32,
    is_dead: bool,
}

/// The processes of a host.
pub(crate) struct Victims {
    agentd: i32,
    seen: BTreeMap<&'static str, Seen>,
    kills: BTreeMap<&'static str, u32>,
    last: VecDeque<String>,
    last_ms: u64,
    began: Instant,
}

impl Victims {
    pub(crate) fn new(agentd: i32) -> Self {
        let (seen, kills, last) = <(BTreeMap<_, _>, BTreeMap<_, _>, VecDeque<_>)>::default();
        Self { agentd, seen, kills, last, last_ms: 0, began: Instant::now() }
    }

    /// Notes which of them live.
    pub(crate) fn look(&mut self) {
        for (pid, name) in children(self.agentd) {
            let Some(name) = NAMES.into_iter().find(|known| *known == name) else { continue };
            let short_lives = match self.seen.get(name) {
                Some(seen) if seen.pid == pid => continue,
                seen => seen.map_or(0, |seen| seen.short_lives),
            };
            self.seen.insert(name, Seen { pid, since: Instant::now(), short_lives, is_dead: false });
        }
    }

    /// Kills one of them; false if none may die now.
    pub(crate) fn strike(&mut self, dice: &mut Dice) -> bool {
        let may_die =
            |seen: &Seen| !seen.is_dead && (seen.since.elapsed() > QUIET || seen.short_lives < SHORT_LIVES);
        let able: Vec<&'static str> =
            self.seen.iter().filter(|(_, seen)| may_die(seen)).map(|(name, _)| *name).collect();
        let Some(name) = dice.one(&able).copied() else { return false };
        let Some(seen) = self.seen.get_mut(name) else { return false };
        tests::kill(seen.pid);
        seen.short_lives = if seen.since.elapsed() > QUIET { 1 } else { seen.short_lives + 1 };
        seen.is_dead = true;
        *self.kills.entry(name).or_default() += 1;
        self.last.push_back(format!("{:.3} s {name}", self.began.elapsed().as_secs_f64()));
        self.last.drain(..self.last.len().saturating_sub(TOLD));
        self.last_ms = now_ms();
        true
    }

    /// True if one of them was killed after this time.
    pub(crate) const fn struck_since(&self, unix_ms: u64) -> bool {
        self.last_ms >= unix_ms
    }

    /// The kills in numbers.
    pub(crate) fn counts(&self) -> String {
        let each: Vec<String> = self.kills.iter().map(|(name, count)| format!("{name} {count}")).collect();
        format!("{} kills ({})", self.kills.values().sum::<u32>(), each.join(", "))
    }

    /// The last kills.
    pub(crate) fn last(&self) -> String {
        self.last.iter().map(String::as_str).collect::<Vec<_>>().join("\n  ")
    }
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}
