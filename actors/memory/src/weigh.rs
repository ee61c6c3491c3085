//! The factors of a row's score besides how well it fits the question, where they are asked for. It reads a few numbers
//! of each row that was found and changes nothing.
//!
//! Content from outside must not make itself matter: a row that is no word of the host's or of a person's never has a
//! signal above that of a person's own row of the same age that nobody marked as important and nobody has read.

use crate::error::StoreError;
use crate::row::trust_of;
use crate::scope::Number;
use crate::store::Store;
use finding::Ranked;
use ipc_proto::List;
use ipc_proto::label::Trust;
use ipc_proto::memory::{Importance, SIGNALS, Signal, Weighed};
use rusqlite::{OptionalExtension, params};
use std::collections::HashMap;

const HOUR_MS: u64 = 3_600_000;
/// In this many hours recency and salience halve: 30 days.
const HALF_LIFE_HOURS: f32 = 720.0;
/// How much of a score recency can take away.
const OF_RECENCY: f32 = 0.3;
/// The uses that a person's own row counts at least, and any other row at most.
const USES: u16 = 3;

/// The facts about a row besides its text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    /// Hours since it was written.
    pub(crate) hours: u16,
    /// Hours since it was used last; as many as since it was written if it never was.
    pub(crate) unused: u16,
    pub(crate) trust: Trust,
    pub(crate) importance: u8,
    /// How often it was read whole or captured again.
    pub(crate) times: u16,
}

impl Standing {
    /// The factor of a signal.
    pub(crate) fn factor(&self, signal: Signal) -> f32 {
        let own = self.trust <= Trust::User;
        match signal {
            Signal::Recency => 1.0 - OF_RECENCY + OF_RECENCY * halved(self.hours),
            Signal::Salience => {
                let uses = self.times.saturating_add(1);
                let (uses, hours) =
                    if own { (uses.max(USES), self.unused) } else { (uses.min(USES), self.hours) };
                (f32::from(uses) + 1.0).ln() * halved(hours)
            }
            Signal::Trust => match self.trust {
                Trust::System | Trust::User => 1.0,
                Trust::Verified => 0.85,
                Trust::Untrusted => 0.7,
            },
            Signal::Importance => {
                let usual = Importance::default().get();
                let counted = if own { self.importance } else { self.importance.min(usual) };
                (f32::from(counted) + 2.0) / 5.0
            }
        }
    }
}

/// Half for each half-life.
fn halved(hours: u16) -> f32 {
    (-f32::from(hours) / HALF_LIFE_HOURS).exp2()
}

/// A score in thousandths. Scores are far below the bound of the type; a higher one would be cut.
pub(crate) fn thousandths(score: f32) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "a cast of a float saturates, and NaN is 0")]
    let whole = (score * 1000.0).round() as i32;
    whole
}

/// The factor of a row's score, and its parts.
#[derive(Clone, Debug)]
pub(crate) struct Weight {
    factor: f32,
    pub(crate) factors: List<Weighed, SIGNALS>,
}

impl Weight {
    fn of(standing: &Standing, signals: &[Signal]) -> Self {
        // Each once, however often it was named.
        let named = Signal::ALL.into_iter().filter(|signal| signals.contains(signal));
        let factors: Vec<(Signal, f32)> = named.map(|signal| (signal, standing.factor(signal))).collect();
        let rounded = factors.iter().map(|(signal, factor)| {
            let factor = thousandths(*factor);
            Weighed { signal: *signal, factor }
        });
        Self { factor: factors.iter().map(|(_, factor)| factor).product(), factors: List::clip(rounded) }
    }

    /// All of it.
    pub(crate) fn factor(&self) -> f64 {
        self.factor.into()
    }
}

/// Weights by the places of their rows.
pub(crate) type Weights = HashMap<i64, Weight>;

/// A ranking with every score multiplied, best first; of equals the newest. Without weights it is left as it is.
pub(crate) fn weighed(mut ranked: Vec<Ranked>, weights: &Weights) -> Vec<Ranked> {
    if weights.is_empty() {
        return ranked;
    }
    for (n, score) in &mut ranked {
        *score *= weights.get(n).map_or(1.0, |weight| weight.factor);
    }
    ranked.sort_by(|one, other| other.1.total_cmp(&one.1).then(other.0.cmp(&one.0)));
    ranked
}

impl Store {
    /// The weights by these signals of the rows at these places; nothing where no signal is named.
    pub(crate) fn weights(
        &self,
        number: Number,
        signals: &[Signal],
        places: impl Iterator<Item = i64>,
        now_ms: u64,
    ) -> Result<Weights, StoreError> {
        let mut weights = Weights::new();
        if signals.is_empty() {
            return Ok(weights);
        }
        let mut standing = self.db.prepare_cached(
            "SELECT e.created_ms, e.trust, e.importance, coalesce(u.times, 0), coalesce(u.last_ms, e.created_ms)
             FROM kept AS e LEFT JOIN used AS u ON u.n = e.n WHERE e.scope = ?1 AND e.n = ?2",
        )?;
        for n in places {
            let found = standing.query_row(params![number.get(), n], |row| {
                let since = |ms: i64| {
                    let ms = now_ms.saturating_sub(u64::try_from(ms).unwrap_or_default());
                    u16::try_from(ms / HOUR_MS).unwrap_or(u16::MAX)
                };
                let (written, used): (i64, i64) = (row.get(0)?, row.get(4)?);
                Ok(Standing {
                    hours: since(written),
                    unused: since(used.max(written)),
                    trust: trust_of(row.get(1)?).unwrap_or_default(),
                    importance: row.get(2)?,
                    times: row.get(3)?,
                })
            });
            if let Some(standing) = found.optional()? {
                weights.insert(n, Weight::of(&standing, signals));
            }
        }
        Ok(weights)
    }
}
