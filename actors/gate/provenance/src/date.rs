//! Days, and times of a day. `2022-04-01`, `April 1st, 2022` and `1.4.2022` are one day. `04/01/2022` can be read in two
//! ways, so it is read as neither unless both are the same day or one is none. A year that the text leaves open is
//! never supplied.

use crate::text::folded;

const MONTHS: [&str; 12] = [
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
    "november", "december",
];

/// Year, month, day.
pub(crate) type Day = (u16, u8, u8);
/// Hour and minute.
pub(crate) type Time = (u8, u8);

/// A value of the form `YYYY-MM-DD`, `YYYY-MM-DD HH:MM` or the same with a `T` or seconds of zero.
pub(crate) fn moment(value: &str) -> Option<(Day, Option<Time>)> {
    let value = value.trim();
    let (date, rest) = value.split_at_checked(10)?;
    let day = dashed(date)?;
    match rest.strip_prefix([' ', 'T']) {
        None if rest.is_empty() => Some((day, None)),
        None => None,
        Some(time) => clock(time.strip_suffix(":00").filter(|short| short.len() == 5).unwrap_or(time))
            .map(|time| (day, Some(time))),
    }
}

/// The days a text names.
pub(crate) fn days(text: &str) -> Vec<Day> {
    let words = words(text);
    let plain =
        words.iter().filter_map(|word| dashed(word).or_else(|| dotted(word)).or_else(|| slashed(word)));
    let named = words.windows(3).filter_map(|three| match three {
        [a, b, year] => {
            let (month, day) = month(a).zip(ordinal(b)).or_else(|| month(b).zip(ordinal(a)))?;
            day_of(year.parse().ok()?, month, day)
        }
        _ => None,
    });
    plain.chain(named).collect()
}

/// The times a text names: `14:30`, `2:30 pm`, `2pm`.
pub(crate) fn times(text: &str) -> Vec<Time> {
    let words = words(text);
    let next = words.iter().skip(1).map(String::as_str).chain(std::iter::once(""));
    words
        .iter()
        .zip(next)
        .filter_map(|(word, next)| half_day(word, next).or_else(|| clock(word).filter(|_| !is_half(next))))
        .collect()
}

fn words(text: &str) -> Vec<String> {
    let text = folded(text);
    let cut =
        |char: char| char.is_whitespace() || matches!(char, '"' | '\'' | '(' | ')' | ',' | ';' | '!' | '?');
    text.split(cut)
        .map(|word| word.trim_end_matches(['.', ':']))
        .filter(|word| !word.is_empty() && *word != "of")
        .map(str::to_owned)
        .collect()
}

fn is_half(word: &str) -> bool {
    matches!(word, "am" | "pm" | "a.m" | "p.m")
}

fn half_day(word: &str, next: &str) -> Option<Time> {
    let (digits, half) = match word.strip_suffix("am").or_else(|| word.strip_suffix("pm")) {
        Some(digits) if !digits.is_empty() => (digits, word),
        _ if is_half(next) => (word, next),
        _ => return None,
    };
    let (hour, minute) = clock(digits).or_else(|| Some((digits.parse().ok()?, 0)))?;
    let noon = if half.contains('p') { 12 } else { 0 };
    (1..=12).contains(&hour).then_some((hour % 12 + noon, minute))
}

fn clock(text: &str) -> Option<Time> {
    let (hour, minute) = text.split_once(':')?;
    let short = (1..=2).contains(&hour.len()) && minute.len() == 2;
    let time: Time = (number(hour)?, number(minute)?);
    (short && time.0 < 24 && time.1 < 60).then_some(time)
}

fn number<N: std::str::FromStr>(text: &str) -> Option<N> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

fn month(word: &str) -> Option<u8> {
    let at = MONTHS.iter().position(|name| *name == word || (word.len() == 3 && name.starts_with(word)))?;
    u8::try_from(at + 1).ok()
}

fn ordinal(word: &str) -> Option<u8> {
    number(["st", "nd", "rd", "th"].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word))
}

fn dashed(text: &str) -> Option<Day> {
    let (year, rest) = text.split_once(['-', '/'])?;
    let (month, day) = rest.split_once(['-', '/'])?;
    (year.len() == 4).then(|| day_of(number(year)?, number(month)?, number(day)?)).flatten()
}

fn dotted(text: &str) -> Option<Day> {
    let (day, rest) = text.split_once('.')?;
    let (month, year) = rest.split_once('.')?;
    (year.len() == 4).then(|| day_of(number(year)?, number(month)?, number(day)?)).flatten()
}

fn slashed(text: &str) -> Option<Day> {
    let (one, rest) = text.split_once('/')?;
    let (two, year) = rest.split_once('/')?;
    let year = number(year).filter(|_| year.len() == 4)?;
    let (one, two) = (number(one)?, number(two)?);
    match (day_of(year, one, two), day_of(year, two, one)) {
        (Some(day), None) | (None, Some(day)) => Some(day),
        (Some(day), Some(other)) => (day == other).then_some(day),
        (None, None) => None,
    }
}

fn day_of(year: u16, month: u8, day: u8) -> Option<Day> {
    ((1000..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day))
        .then_some((year, month, day))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_one_however_it_is_written() {
        for text in [
            "on 2022-04-21",
            "2022/4/21.",
            "April 21st, 2022",
            "21 Apr 2022",
            "the 21st of April 2022",
            "21.4.2022",
            "04/21/2022",
        ] {
            assert_eq!(days(text), [(2022, 4, 21)], "{text}");
        }
        assert_eq!(moment("2022-04-21T10:30:00"), Some(((2022, 4, 21), Some((10, 30)))));
    }

    #[test]
    fn a_day_that_can_be_read_in_two_ways_is_read_as_none() {
        for text in ["04/01/2022", "April 21", "2022-13-01", "32.1.2022", "may 2022"] {
            assert!(days(text).is_empty(), "{text}");
        }
        for value in [
            "2022-04-21 10",
            "2022-04-21x",
            "2022-04-21 10:30:07",
            "21 April",
            "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}",
        ] {
            assert_eq!(moment(value), None, "{value}");
        }
    }

    #[test]
    fn times_know_the_two_halves_of_a_day() {
        assert_eq!(times("at 2:30 pm, 10am, 12 am or 16:05"), [(14, 30), (10, 0), (0, 0), (16, 5)]);
    }
}
