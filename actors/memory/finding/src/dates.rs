//! The times that a text names, as days: "8 May 2023", "in July", "last Friday", "two weeks ago". Relative days are
//! counted from the day of the text. Pure; it reads whole sentences in English, and dates and days in the languages of
//! the calendar; a text that names no time gives none.

use crate::calendar;
use crate::lexicon::words;
use crate::word::Word;

/// Days since 1 January 1970.
pub(crate) type Day = i64;

/// Milliseconds of a day.
const DAY_MS: u64 = 86_400_000;

/// Days, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) from: Day,
    pub(crate) to: Day,
}

impl Span {
    const fn day(day: Day) -> Self {
        Self { from: day, to: day }
    }

    const fn around(day: Day, slack: Day) -> Self {
        Self { from: day - slack, to: day + slack }
    }

    /// Returns whether a day is both in one and in the other.
    pub(crate) const fn meets(self, other: Self) -> bool {
        self.from <= other.to && other.from <= self.to
    }

    /// Returns whether a day is in it.
    pub(crate) const fn holds(self, day: Day) -> bool {
        self.from <= day && day <= self.to
    }

    /// How many days it has.
    pub(crate) const fn days(self) -> Day {
        self.to - self.from + 1
    }
}

/// The day of a time in unix ms.
pub(crate) fn day_of(ms: u64) -> Day {
    Day::try_from(ms / DAY_MS).unwrap_or(Day::MAX / 2)
}

/// The first day that a text names, as its first moment in unix ms: "2023-05-08T13:56:00Z", "1:56 pm on 8 May, 2023".
/// None before 1970.
#[must_use]
pub fn date_in(text: &str) -> Option<u64> {
    // In "08T13" the day is not a word.
    let date = text.trim().get(..10).filter(|date| date.as_bytes().get(4) == Some(&b'-')).unwrap_or(text);
    let day = spans(&words(date), 0).into_iter().find(|span| span.days() == 1)?.from;
    u64::try_from(day).ok()?.checked_mul(DAY_MS)
}

const NUMBERS: [&str; 12] =
    ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];

/// The times that words name, said on the day `said`.
pub(crate) fn spans(words: &[Word], said: Day) -> Vec<Span> {
    let plain = |at: usize| words.get(at).map_or("", |word| word.plain.as_str());
    let mut spans = Vec::new();
    for at in 0..words.len() {
        let back = |by: usize| at.checked_sub(by).map_or("", plain);
        let near = Near {
            three_back: back(3),
            two_back: back(2),
            back: back(1),
            word: plain(at),
            next: plain(at + 1),
            after: plain(at + 2),
        };
        spans.extend(near.span(said));
    }
    spans
}

/// A word with the words about it.
struct Near<'a> {
    three_back: &'a str,
    two_back: &'a str,
    back: &'a str,
    word: &'a str,
    next: &'a str,
    after: &'a str,
}

impl Near<'_> {
    fn span(&self, said: Day) -> Option<Span> {
        let by_day = match self.word {
            "yesterday" if self.two_back == "day" && self.back == "before" => Some(Span::day(said - 2)),
            "ago" => self.ago(said),
            word => calendar::days_from_today(word).map(|days| Span::day(said + days)),
        };
        by_day
            .or_else(|| self.month(said))
            .or_else(|| self.weekday(said))
            .or_else(|| self.turn(said))
            .or_else(|| self.year())
            .or_else(|| self.day_of_month(said))
    }

    /// "two weeks ago", "a couple of months ago".
    fn ago(&self, said: Day) -> Option<Span> {
        let many = count(if self.two_back == "of" { self.three_back } else { self.two_back })?;
        Some(match self.back {
            "day" | "days" => Span::day(said - many),
            "week" | "weeks" => Span::around(said - 7 * many, 3),
            "month" | "months" => Span::around(said - 30 * many, 12),
            "year" | "years" => Span::around(said - 365 * many, 120),
            _ => return None,
        })
    }

    /// A month with a day, with a year, with both, or alone.
    fn month(&self, said: Day) -> Option<Span> {
        let month = calendar::month(self.word)?;
        let of = |word: &str| matches!(word, "of" | "de" | "del");
        let before = day_number(self.back).or_else(|| day_number(self.two_back).filter(|_| of(self.back)));
        let behind = day_number(self.next);
        let day = before.or(behind);
        let year = year(self.next).or_else(|| year(self.after).filter(|_| behind.is_some() || of(self.next)));
        let introduced = matches!(
            self.back,
            "in" | "on"
                | "of"
                | "by"
                | "since"
                | "last"
                | "next"
                | "until"
                | "early"
                | "late"
                | "mid"
                | "during"
                | "this"
                | "im"
                | "en"
                | "de"
        );
        if calendar::is_unsure(self.word) && day.is_none() && year.is_none() && !introduced {
            return None;
        }
        let year = year.unwrap_or_else(|| nearest_year(said, month, day.unwrap_or(15)));
        match day {
            Some(day) => Some(Span::day(days(year, month, day))),
            None => Some(whole_month(year, month)),
        }
    }

    /// "last Friday", "on Monday", "next Tuesday", "Friday".
    fn weekday(&self, said: Day) -> Option<Span> {
        let wanted = calendar::weekday(self.word)?;
        let back = (weekday(said) - wanted).rem_euclid(7);
        let ahead = (wanted - weekday(said)).rem_euclid(7);
        Some(Span::day(match self.back {
            "next" | "this" | "coming" | "nachsten" | "kommenden" | "proximo" => {
                said + if ahead == 0 { 7 } else { ahead }
            }
            _ => said - if back == 0 { 7 } else { back },
        }))
    }

    /// "last week", "this weekend", "next month", "last year", "the past few days".
    fn turn(&self, said: Day) -> Option<Span> {
        let by = match self.back {
            "last" | "past" | "previous" => -1,
            "this" => 0,
            "next" | "coming" => 1,
            _ => return None,
        };
        let monday = said - weekday(said) + 7 * by;
        let (year, month, _) = civil(said);
        Some(match self.word {
            "week" => Span { from: monday, to: monday + 6 },
            "weekend" => Span { from: monday + 4, to: monday + 6 },
            "night" => Span::day(said + by),
            "month" => {
                let number = year * 12 + (month - 1) + by;
                whole_month(number.div_euclid(12), number.rem_euclid(12) + 1)
            }
            "year" => Span { from: days(year + by, 1, 1), to: days(year + by, 12, 31) },
            _ => return None,
        })
    }

    /// A year alone, or as 2023-05-08 has it.
    fn year(&self) -> Option<Span> {
        let year = year(self.word)?;
        let number = |text: &str, most: i64| text.parse::<i64>().ok().filter(|it| (1..=most).contains(it));
        if let (Some(month), Some(day)) = (number(self.next, 12), number(self.after, 31)) {
            return Some(Span::day(days(year, month, day)));
        }
        // 8.5.2023, and where that is no date of a month 5/18/2023.
        if let Some((first, second)) = number(self.two_back, 31).zip(number(self.back, 31))
            && first.min(second) <= 12
        {
            let (day, month) = if second <= 12 { (first, second) } else { (second, first) };
            return Some(Span::day(days(year, month, day)));
        }
        // With a month the month says it.
        let of_month = calendar::month(self.back).or_else(|| calendar::month(self.two_back)).is_some();
        (!of_month).then(|| Span { from: days(year, 1, 1), to: days(year, 12, 31) })
    }

    /// "on the 17th": of the month in which that is nearest.
    fn day_of_month(&self, said: Day) -> Option<Span> {
        let ordinal = self.word.ends_with("st")
            || self.word.ends_with("nd")
            || self.word.ends_with("rd")
            || self.word.ends_with("th");
        let day = day_number(self.word).filter(|_| ordinal && self.back == "the")?;
        if calendar::month(self.next).is_some() || self.next == "of" {
            return None;
        }
        let (year, month, _) = civil(said);
        let near = [-1, 0, 1].map(|by| {
            let number = year * 12 + (month - 1) + by;
            days(number.div_euclid(12), number.rem_euclid(12) + 1, day)
        });
        near.into_iter().min_by_key(|it| (it - said).abs()).map(Span::day)
    }
}

/// A day of a month: "8", "8th".
fn day_number(word: &str) -> Option<i64> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_lowercase());
    let ending = word.get(digits.len()..).unwrap_or_default();
    let day = digits.parse::<i64>().ok().filter(|day| (1..=31).contains(day))?;
    matches!(ending, "" | "st" | "nd" | "rd" | "th").then_some(day)
}

fn year(word: &str) -> Option<i64> {
    word.parse::<i64>().ok().filter(|year| word.len() == 4 && (1900..=2100).contains(year))
}

/// How many, in figures or words.
pub(crate) fn count(word: &str) -> Option<i64> {
    let by_name = || NUMBERS.iter().position(|name| *name == word).and_then(|at| i64::try_from(at + 1).ok());
    match word {
        "a" | "an" => Some(1),
        "couple" => Some(2),
        "few" | "several" => Some(3),
        _ => word.parse::<i64>().ok().filter(|many| (1..=1000).contains(many)).or_else(by_name),
    }
}

/// The year that puts a day of a month nearest to `said`.
fn nearest_year(said: Day, month: i64, day: i64) -> i64 {
    let (year, _, _) = civil(said);
    let near = [year - 1, year, year + 1].into_iter();
    near.min_by_key(|year| (days(*year, month, day) - said).abs()).unwrap_or(year)
}

fn whole_month(year: i64, month: i64) -> Span {
    let next = if month == 12 { days(year + 1, 1, 1) } else { days(year, month + 1, 1) };
    Span { from: days(year, month, 1), to: next - 1 }
}

/// Monday is 0. The first day of 1970 was a Thursday.
const fn weekday(day: Day) -> i64 {
    (day + 3).rem_euclid(7)
}

/// The day of a date, by counting years from March so that the leap day is the last
/// (<https://howardhinnant.github.io/date_algorithms.html>). A day that the month does not have runs into the next.
const fn days(year: i64, month: i64, day: i64) -> Day {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date of a day since 1970-01-01: year, month, day.
pub const fn civil(day: Day) -> (i64, i64, i64) {
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year + if month <= 2 { 1 } else { 0 };
    (year, month, of_year - (153 * shifted_month + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Wednesday.
    fn said() -> Day {
        days(2023, 5, 10)
    }

    fn named(text: &str) -> Vec<Span> {
        spans(&words(text), said())
    }

    fn on(year: i64, month: i64, day: i64) -> Vec<Span> {
        vec![Span::day(days(year, month, day))]
    }

    #[test]
    fn dates_are_read_in_the_ways_people_write_them() {
        for text in
            ["8 May 2023", "May 8th, 2023", "the 8th of May 2023", "2023-05-08", "8 May", "on the 8th"]
        {
            assert_eq!(named(text), on(2023, 5, 8), "{text}");
        }
        for text in
            ["am 8. Mai 2023", "el 8 de mayo de 2023", "le 8 mai 2023", "8 мая", "08.05.2023", "8/5/2023"]
        {
            assert_eq!(named(text), on(2023, 5, 8), "{text}");
        }
        assert_eq!(named("5/18/2023"), on(2023, 5, 18));
        assert_eq!(named("30 30 2023"), named("in 2023"));
        assert_eq!(named("im Juli"), named("in July"));
        assert_eq!(named("in July"), [whole_month(2023, 7)]);
        assert_eq!(named("in December"), [whole_month(2022, 12)], "the nearest one");
        assert_eq!(named("in 2021"), [Span { from: days(2021, 1, 1), to: days(2021, 12, 31) }]);
    }

    #[test]
    fn what_is_said_by_the_day_is_reckoned_from_it() {
        for (text, year, month, day) in [
            ("yesterday", 2023, 5, 9),
            ("the day before yesterday", 2023, 5, 8),
            ("tomorrow", 2023, 5, 11),
            ("ten days ago", 2023, 4, 30),
            ("last Friday", 2023, 5, 5),
            ("on Monday", 2023, 5, 8),
            ("am Montag", 2023, 5, 8),
            ("gestern", 2023, 5, 9),
            ("вчера", 2023, 5, 9),
            ("в понедельник", 2023, 5, 8),
            ("anteayer", 2023, 5, 8),
            ("next Tuesday", 2023, 5, 16),
        ] {
            assert_eq!(named(text), on(year, month, day), "{text}");
        }
        assert_eq!(named("last week"), [Span { from: days(2023, 5, 1), to: days(2023, 5, 7) }]);
        assert_eq!(named("next weekend"), [Span { from: days(2023, 5, 19), to: days(2023, 5, 21) }]);
        assert_eq!(named("last month"), [whole_month(2023, 4)]);
        assert!(named("two weeks ago")[0].meets(Span::day(days(2023, 4, 26))));
    }

    #[test]
    fn a_time_is_read_from_a_text_that_holds_a_date() {
        let ms = |year, month, day| u64::try_from(days(year, month, day)).ok().map(|day| day * DAY_MS);
        for text in [
            "2023-05-08T13:56:00Z",
            "2023-05-08",
            "1:56 pm on 8 May, 2023",
            " 2023-05-08 13:56",
            "08.05.2023 13:56",
        ] {
            assert_eq!(date_in(text), ms(2023, 5, 8), "{text}");
        }
        for text in ["", "soon", "1683554160", "1:56 pm", "8 May 1969"] {
            assert_eq!(date_in(text), None, "{text}");
        }
    }

    #[test]
    fn words_that_are_also_months_are_months_only_with_a_sign_of_it() {
        for text in ["you may march on", "with mayo", "Julio called"] {
            assert!(named(text).is_empty(), "{text}");
        }
        assert_eq!(named("in May"), [whole_month(2023, 5)]);
        assert_eq!(named("in March 2022"), [whole_month(2022, 3)]);
    }

    proptest! {
        #[test]
        fn every_day_has_one_date_and_every_date_its_day(day in -800_000..800_000_i64) {
            let (year, month, of_month) = civil(day);
            prop_assert_eq!(days(year, month, of_month), day);
            prop_assert!((1..=12).contains(&month) && (1..=31).contains(&of_month));
        }

        #[test]
        fn any_words_give_spans_that_begin_before_they_end(text in any::<String>(), said in -800_000..800_000_i64) {
            for span in spans(&words(&text), said) {
                prop_assert!(span.days() > 0);
            }
        }
    }
}
