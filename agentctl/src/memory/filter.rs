//! Which memories a command is about, as options.

use super::{named, tag};
use crate::failure::Failure;
use crate::text;
use ipc_proto::ids::SessionId;
use ipc_proto::memory::{Filter, KindName, ObservationType, Project, StateName};
use ipc_proto::{List, Name, Text};

/// A day, ms.
const DAY: i64 = 86_400_000;

/// Which memories.
#[derive(clap::Args)]
pub(super) struct Which {
    /// Of this kind: note, episodic, semantic, observation, summary or entity; may be given again
    #[arg(long = "kind", value_name = "KIND", value_parser = named::<KindName>)]
    kinds: Vec<KindName>,
    /// Observations of this type: decision, bugfix, feature, refactor, discovery or change; may be given again
    #[arg(long = "type", value_name = "TYPE", value_parser = named::<ObservationType>)]
    types: Vec<ObservationType>,
    /// A tag that a memory must have; may be given again
    #[arg(long = "tag", value_name = "WORD", value_parser = tag)]
    tags: Vec<Name>,
    /// A tag of which a memory must have one; may be given again
    #[arg(long = "any-tag", value_name = "WORD", value_parser = tag)]
    any_tags: Vec<Name>,
    /// That read or changed a file whose path holds this; may be given again
    #[arg(long = "file", value_name = "PART", value_parser = crate::cli::text::<256>)]
    files: Vec<Text<256>>,
    /// Of this project: a directory, or any other name
    #[arg(long, value_parser = crate::project::named)]
    project: Option<Project>,
    /// Of the session with this id
    #[arg(long, value_name = "ID")]
    session: Option<SessionId>,
    /// That matter at least so much, 1 to 5
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u8).range(1..=5))]
    importance: Option<u8>,
    /// That matter at most so much, 1 to 5
    #[arg(long = "importance-most", value_name = "NUMBER", value_parser = clap::value_parser!(u8).range(1..=5))]
    importance_most: Option<u8>,
    /// Of this time or later: a day such as 2026-11-22, or so long ago, such as 7d
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<u64>,
    /// Of before this time
    #[arg(long, value_name = "TIME", value_parser = time)]
    until: Option<u64>,
    /// In this state: current, superseded, removed or proposed
    #[arg(long, value_name = "STATE", value_parser = named::<StateName>, default_value = "current")]
    state: StateName,
}

impl Which {
    /// As it is asked for.
    ///
    /// # Errors
    /// An option was given more often than it may be.
    pub(super) fn filter(self) -> Result<Box<Filter>, Failure> {
        let most = |what| move |why| Failure::TooLong { what, why };
        Ok(Box::new(Filter {
            kinds: List::new(self.kinds).map_err(most("--kind"))?,
            types: List::new(self.types).map_err(most("--type"))?,
            tags: List::new(self.tags).map_err(most("--tag"))?,
            any_tags: List::new(self.any_tags).map_err(most("--any-tag"))?,
            files: List::new(self.files).map_err(most("--file"))?,
            project: self.project,
            session: self.session,
            importance: self.importance,
            importance_most: self.importance_most,
            since_ms: self.since,
            until_ms: self.until,
            state: self.state,
        }))
    }
}

/// A time: a day in UTC, or a span of time before now. Unix ms.
pub(super) fn time(given: &str) -> Result<u64, String> {
    if let Some(ms) = day(given) {
        return Ok(ms);
    }
    let ago = text::seconds(given)
        .map_err(|_| "a day such as 2026-11-22, or a span of time such as 7d".to_owned())?;
    Ok(text::now_ms().saturating_sub(ago.saturating_mul(1000)))
}

/// The beginning of a day that is written as year, month and day, in UTC.
fn day(given: &str) -> Option<u64> {
    let mut parts = given.splitn(3, '-').map(|part| part.parse::<u16>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let in_month = match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        _ => return None,
    };
    let known = (1970..=9999).contains(&year) && (1..=in_month).contains(&day);
    // Days since 1970 of the proleptic Gregorian calendar, with the year beginning in March, as is usual.
    let (year, month, day) = (i64::from(year), i64::from(month), i64::from(day));
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 306 + 5) / 10 + day - 1 - 719_468;
    known.then(|| u64::try_from(days * DAY).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_its_beginning_in_utc_and_what_is_no_day_is_refused() {
        for given in ["1970-01-01", "1999-12-31", "2000-02-29", "2024-03-01", "2026-11-22", "2100-01-01"] {
            let ms = day(given).unwrap();
            // Never is written for the very first instant of all.
            let written = if ms == 0 { "1970-01-01 00:00:00Z".to_owned() } else { text::utc(ms) };
            assert_eq!(written, format!("{given} 00:00:00Z"));
        }
        for wrong in ["", "2026", "2026-13-01", "2026-02-29", "2100-02-29", "1969-12-31", "2026-1-x", "7d"] {
            assert_eq!(day(wrong), None, "{wrong}");
        }
        let week = text::now_ms() - time("7d").unwrap();
        assert!((604_800_000..604_900_000).contains(&week), "{week}");
        assert!(time("soon").is_err());
    }
}
