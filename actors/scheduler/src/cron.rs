//! Cron expressions of five fields, and their moments in a zone. The expression says what a wall clock shows; the zone says when it
//! shows that. Where the clock jumps, times that are fixed run right after the gap, and once where the clock shows them twice;
//! an expression with `*` in front of minute or hour follows the clock as it goes, both times.

use crate::zone::moment;
use croner::Cron;
use croner::parser::{CronParser, Seconds};
use ipc_proto::Text;
use ipc_proto::scheduler::SchedulerError;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// The fields in their order.
const FIELDS: [&str; 5] = ["minute", "hour", "day", "month", "weekday"];
/// Short names of expressions.
const SHORT: [(&str, &str); 6] = [
    ("@hourly", "0 * * * *"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"),
    ("@yearly", "0 0 1 1 *"),
];
/// Changes of the zone that are looked beyond at most: there are two a year, and 29 February on a Sunday comes within 40 years.
const CHANGES: usize = 100;

/// An expression that names at least one time.
#[derive(Clone, Debug)]
pub(crate) struct Expression {
    cron: Cron,
    /// Minute or hour begins with `*`.
    wild: bool,
}

impl Expression {
    /// Reads an expression.
    ///
    /// # Errors
    /// The field that is wrong and why, or that no such day ever comes.
    pub(crate) fn read(text: &str) -> Result<Self, SchedulerError> {
        let wrong = |why: String| SchedulerError::BadExpression(Text::clip(&why));
        let text = SHORT.iter().find(|(short, _)| *short == text.trim()).map_or(text, |(_, long)| long);
        let fields: Vec<&str> = text.split_whitespace().collect();
        if fields.len() != FIELDS.len() {
            return Err(wrong(format!("`{text}` has {} fields", fields.len())));
        }
        for (at, (field, name)) in fields.iter().zip(FIELDS).enumerate() {
            let alone: Vec<&str> =
                (0..FIELDS.len()).map(|other| if other == at { field } else { "*" }).collect();
            if let Err(why) = parse(&alone.join(" ")) {
                return Err(wrong(format!("field {} ({name}), `{field}`: {}", at + 1, lower(&why))));
            }
        }
        let cron = parse(&fields.join(" ")).map_err(|why| wrong(lower(&why)))?;
        let wild = fields.iter().take(2).any(|field| field.starts_with('*'));
        let expression = Self { cron, wild };
        let never = || {
            wrong(format!(
                "fields 3 to 5 (day, month, weekday), `{}`: no such day ever comes",
                fields.get(2..).unwrap_or_default().join(" ")
            ))
        };
        expression.shown_after(DateTime::constant(2000, 1, 1, 0, 0, 0, 0)).ok_or_else(never)?;
        Ok(expression)
    }

    /// Its times in words, as a wall clock shows them.
    pub(crate) fn words(&self) -> String {
        uncapitalized(self.cron.describe().trim_end_matches('.'))
    }

    /// The first moment after this one.
    pub(crate) fn next(&self, zone: &TimeZone, after: Timestamp) -> Option<Timestamp> {
        if self.wild { self.next_by_clock(zone, after) } else { self.next_fixed(zone, after) }
    }

    /// The first moment, each time of a wall clock being one moment. Several times in one gap are one as well.
    fn next_fixed(&self, zone: &TimeZone, after: Timestamp) -> Option<Timestamp> {
        let mut shown = zone.to_datetime(after);
        loop {
            shown = self.shown_after(shown)?;
            let moment = moment(zone, shown)?;
            if moment > after {
                return Some(moment);
            }
        }
    }

    /// The first moment, as the wall clock goes: from one change of the zone to the next.
    fn next_by_clock(&self, zone: &TimeZone, after: Timestamp) -> Option<Timestamp> {
        let mut from = after;
        let mut shown = zone.to_datetime(after);
        for _ in 0..CHANGES {
            let offset = zone.to_offset(from);
            let change = zone.following(from).next().map(|change| change.timestamp());
            let moment = offset.to_timestamp(self.shown_after(shown)?).ok()?;
            match change {
                Some(change) if moment >= change => {
                    from = change;
                    // The clock may show a time of the expression at the change itself.
                    shown = zone.to_datetime(change).checked_sub(jiff::Span::new().seconds(1)).ok()?;
                }
                _ => return Some(moment),
            }
        }
        None
    }

    /// The next time of the expression that a wall clock shows after this one.
    fn shown_after(&self, shown: DateTime) -> Option<DateTime> {
        let from = shown.to_zoned(TimeZone::UTC).ok()?;
        self.cron.find_next_occurrence(&from, false).ok().map(|found| found.datetime())
    }
}

fn parse(text: &str) -> Result<Cron, String> {
    let parser = CronParser::builder().seconds(Seconds::Disallowed).build();
    parser.parse(text).map_err(|error| error.to_string())
}

/// A reason of the parser's as a clause: without its beginning, its capital and its full stop.
fn lower(why: &str) -> String {
    uncapitalized(why.rsplit(": ").next().unwrap_or(why).trim_end_matches('.'))
}

fn uncapitalized(clause: &str) -> String {
    let mut letters = clause.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
