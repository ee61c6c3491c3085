//! Formatting of untrusted text, times, sizes and sums for a person, and parsing of times and spans.
//!
//! Text of a model, a file or a process could steer the terminal; all of it passes [`shown`] or [`line`] before it is
//! printed.

use icu_properties::props::{DefaultIgnorableCodePoint, GeneralCategory};
use icu_properties::{CodePointMapData, CodePointSetData};

/// A day, in ms.
const DAY: u64 = 86_400_000;
/// The longest span of time that is read, seconds: a hundred years.
const LONGEST_S: u64 = 36_500 * 86_400;

/// Escapes characters that steer a terminal or change the direction of reading; line breaks and tabs stay.
pub(crate) fn shown(text: &str) -> String {
    escape(text, |c| c != '\n' && c != '\t' && steers(c))
}

/// The same on one line.
pub(crate) fn line(text: &str) -> String {
    escape(text, steers)
}

/// The same on one line, with invisible characters escaped as well: for texts that a person decides about.
pub(crate) fn exact(text: &str) -> String {
    escape(text, |c| steers(c) || hides(c))
}

fn escape(text: &str, bad: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if bad(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// Control characters, marks that reorder text, line separators, and the invisible tag characters.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        || matches!(c, '\u{e0000}'..='\u{e007f}')
}

/// Characters that a terminal may draw as nothing, as a plain blank, or in another order: by Unicode's properties every control,
/// format, private and unassigned character, every blank but the plain one and all that may be ignored by default, such as fillers
/// and variation selectors; and by name those that these properties leave out.
fn hides(c: char) -> bool {
    use GeneralCategory as Category;
    let category = matches!(
        CodePointMapData::<Category>::new().get(c),
        Category::Control
            | Category::Format
            | Category::PrivateUse
            | Category::Surrogate
            | Category::Unassigned
            | Category::LineSeparator
            | Category::ParagraphSeparator
            | Category::SpaceSeparator
    );
    // The empty pattern of Braille, a filler of Khitan, the controls and blanks of hieroglyphs, and a note without a head.
    (category && c != ' ')
        || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c)
        || matches!(c, '\u{2800}' | '\u{16fe4}' | '\u{13430}'..='\u{1345f}' | '\u{1d159}')
}

/// A time of unix ms, in UTC; `-` for 0, which stands for never.
pub(crate) fn utc(ms: u64) -> String {
    if ms == 0 {
        return "-".to_owned();
    }
    let (year, month, day) = civil(ms / DAY);
    let seconds = ms % DAY / 1000;
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}Z")
}

/// Year, month and day of the day after 1970-01-01: eras of 400 years, years that begin in March.
const fn civil(day: u64) -> (u64, u64, u64) {
    let shifted = day + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march = (5 * of_year + 2) / 153;
    let month = if march < 10 { march + 3 } else { march - 9 };
    let year = year_of_era + era * 400 + if month <= 2 { 1 } else { 0 };
    (year, month, of_year - (153 * march + 2) / 5 + 1)
}

/// A span of ms in its two greatest units.
pub(crate) fn span(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0 => format!("{ms}ms"),
        1..=59 => format!("{seconds}s"),
        60..=3599 => format!("{}m {}s", seconds / 60, seconds % 60),
        3600..=86_399 => format!("{}h {}m", seconds / 3600, seconds / 60 % 60),
        _ => format!("{}d {}h", seconds / 86_400, seconds / 3600 % 24),
    }
}

/// KiB as MiB with one digit.
pub(crate) fn mib(kib: u64) -> String {
    format!("{}.{}", kib / 1024, kib % 1024 * 10 / 1024)
}

/// Bytes in the greatest unit that they fill, with one digit behind the point.
pub(crate) fn bytes(count: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = units.into_iter().find(|(bits, _)| count >> bits > 0);
    unit.map_or_else(
        || format!("{count} B"),
        |(bits, name)| format!("{}.{} {name}", count >> bits, ((count >> (bits - 10)) & 1023) * 10 / 1024),
    )
}

/// A number and its noun, in the singular or the plural.
pub(crate) fn count(number: impl TryInto<u64>, one: &str, many: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Microseconds as `us` or `ms`.
pub(crate) fn micros(us: u64) -> String {
    if us < 10_000 { format!("{us}us") } else { format!("{}ms", us / 1000) }
}

/// Millionths of a dollar as dollars, with cents and as many further digits as count.
pub(crate) fn usd(micros: u64) -> String {
    let (whole, part) = (micros / 1_000_000, micros % 1_000_000);
    let part = format!("{part:06}");
    let (cents, rest) = part.split_at(2);
    format!("${whole}.{cents}{}", rest.trim_end_matches('0'))
}

/// A span of time as seconds.
///
/// # Errors
/// It is none, or is too long.
pub(crate) fn seconds(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is no span of time; a number and s, m, h, d or w, at most 36500d");
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(wrong)?;
    let unit = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        "w" => 7 * 86_400,
        _ => return Err(wrong()),
    };
    let plain = number.bytes().all(|byte| byte.is_ascii_digit());
    let number: u64 = number.parse().ok().filter(|_| plain).ok_or_else(wrong)?;
    let seconds = number.checked_mul(unit).filter(|seconds| (1..=LONGEST_S).contains(seconds));
    seconds.ok_or_else(wrong)
}

/// Bytes as lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The first `most` characters, on one line, with a mark where it was cut.
pub(crate) fn begin(text: &str, most: usize) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match flat.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", flat.get(..end).unwrap_or_default()),
        None => flat,
    }
}

/// Now, unix ms.
pub(crate) fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A time that is written as RFC 3339 in UTC, unix ms.
pub(crate) fn stamp(given: &str) -> Option<u64> {
    let (date, time) = given.strip_suffix('Z')?.split_once('T')?;
    let mut parts = time.splitn(3, ':');
    let mut part = |most: u64| parts.next()?.parse::<u64>().ok().filter(|number| *number <= most);
    let (hour, minute) = (part(23)?, part(59)?);
    let (second, fraction) = parts.next().map(|rest| rest.split_once('.').unwrap_or((rest, "0")))?;
    let second = second.parse::<u64>().ok().filter(|second| *second <= 60)?;
    let digits: String = fraction.chars().chain("000".chars()).take(3).collect();
    let ms: u64 = digits.parse().ok()?;
    Some(day(date)? + ((hour * 60 + minute) * 60 + second) * 1000 + ms)
}

/// A time: a day or an RFC 3339 time in UTC, or a span of time before now. Unix ms.
pub(crate) fn moment(given: &str) -> Result<u64, String> {
    if let Some(ms) = day(given).or_else(|| stamp(given)) {
        return Ok(ms);
    }
    let ago =
        seconds(given).map_err(|_| "a day such as 2026-11-22, or a span of time such as 7d".to_owned())?;
    Ok(now_ms().saturating_sub(ago.saturating_mul(1000)))
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
    known.then(|| u64::try_from(days).ok().map(|days| days * DAY)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_escaped_and_all_else_stays() {
        assert_eq!(
            shown("a\tb\nc\u{1b}[2Jd\r\u{202e}e\u{e0041}\u{9b}"),
            "a\tb\nc\\u{1b}[2Jd\\r\\u{202e}e\\u{e0041}\\u{9b}"
        );
        assert_eq!(line("a\nb"), "a\\nb");
        assert_eq!(shown("Grüße, 世界 👍"), "Grüße, 世界 👍");
    }

    #[test]
    fn what_cannot_be_seen_is_shown_where_somebody_decides() {
        assert_eq!(
            exact("a\u{200b}b\u{202e}c\u{feff}d\u{1b}[8m\n"),
            "a\\u{200b}b\\u{202e}c\\u{feff}d\\u{1b}[8m\\n"
        );
        assert_eq!(exact("a\u{a0}b\u{3000}\u{3164}\u{fe0f}"), "a\\u{a0}b\\u{3000}\\u{3164}\\u{fe0f}");
        assert_eq!(exact("pay 5 € to Zoë, 世界"), "pay 5 € to Zoë, 世界");
        let ranges = [
            (0xad, 0xad),
            (0x34f, 0x34f),
            (0x600, 0x605),
            (0x115f, 0x1160),
            (0x17b4, 0x17b5),
            (0x180b, 0x180f),
            (0x2000, 0x200f),
            (0x2028, 0x202f),
            (0x205f, 0x206f),
            (0x2800, 0x2800),
            (0x3164, 0x3164),
            (0xe000, 0xf8ff),
            (0xfe00, 0xfe0f),
            (0xfeff, 0xfeff),
            (0xffa0, 0xffa0),
            (0xfff0, 0xfffb),
            (0x13430, 0x1345f),
            (0x16fe4, 0x16fe4),
            (0x1bca0, 0x1bca3),
            (0x1d159, 0x1d159),
            (0x1d173, 0x1d17a),
            (0xe0000, 0xe0fff),
            (0x10_fffe, 0x10_ffff),
        ];
        for c in ranges.into_iter().flat_map(|(first, last)| first..=last).filter_map(char::from_u32) {
            assert_eq!(exact(&c.to_string()), c.escape_default().to_string());
        }
        let plain = "Grüße, ψ, Привет, עברית, عربي, हिन्दी, 한국어, ไทย, 👍 ≠ 𝄞 – “a” … e\u{301}";
        assert_eq!(exact(plain), plain, "what is seen stays");
    }

    #[test]
    fn times_are_written_in_utc() {
        for (ms, text) in [
            (1, "1970-01-01 00:00:00Z"),
            (951_827_696_000, "2000-02-29 12:34:56Z"),
            (1_709_251_199_999, "2024-02-29 23:59:59Z"),
            (4_102_444_800_000, "2100-01-01 00:00:00Z"),
        ] {
            assert_eq!(utc(ms), text);
        }
        assert_eq!(utc(0), "-");
    }

    #[test]
    fn spans_and_sizes_are_short() {
        assert_eq!(span(999), "999ms");
        assert_eq!(span(61_000), "1m 1s");
        assert_eq!(span(90_000_000), "1d 1h");
        assert_eq!(mib(1536), "1.5");
        assert_eq!(
            (bytes(1023), bytes(1536), bytes(5 << 30)),
            ("1023 B".into(), "1.5 KiB".into(), "5.0 GiB".into())
        );
        assert_eq!(
            (count(1_u32, "reply", "replies"), count(2_usize, "reply", "replies")),
            ("1 reply".into(), "2 replies".into())
        );
        assert_eq!(begin("one\n two   three", 7), "one two…");
    }

    #[test]
    fn sums_are_written_to_the_last_digit_that_counts() {
        for (micros, written) in
            [(1_500_000, "$1.50"), (2_000_000, "$2.00"), (14_200, "$0.0142"), (1, "$0.000001"), (0, "$0.00")]
        {
            assert_eq!(usd(micros), written);
        }
    }

    #[test]
    fn spans_of_time_are_a_number_and_a_unit() {
        for (text, expected) in [
            ("30d", 2_592_000),
            ("90s", 90),
            ("5m", 300),
            ("2h", 7200),
            ("1w", 604_800),
            ("36500d", LONGEST_S),
        ] {
            assert_eq!(seconds(text), Ok(expected), "{text}");
        }
        for text in [
            "",
            "d",
            "30",
            "0d",
            "+3d",
            "-1d",
            "3.5d",
            "30 d",
            "30y",
            "36501d",
            "99999999999999999999d",
            "3é",
        ] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_at_all_comes_out_without_control_characters(text: String) {
            proptest::prop_assert!(!line(&text).chars().any(steers));
            proptest::prop_assert!(!exact(&text).chars().any(|c| steers(c) || hides(c)));
            let _ = begin(&text, 5);
        }

        #[test]
        fn any_time_at_all_is_written(ms: u64) {
            proptest::prop_assert!(!utc(ms).is_empty());
        }
    }

    #[test]
    fn a_day_is_its_beginning_in_utc_and_what_is_no_day_is_refused() {
        for given in ["1970-01-01", "1999-12-31", "2000-02-29", "2024-03-01", "2026-11-22", "2100-01-01"] {
            let ms = day(given).unwrap();
            // Never is written for the very first instant of all.
            let written = if ms == 0 { "1970-01-01 00:00:00Z".to_owned() } else { utc(ms) };
            assert_eq!(written, format!("{given} 00:00:00Z"));
        }
        for wrong in ["", "2026", "2026-13-01", "2026-02-29", "2100-02-29", "1969-12-31", "2026-1-x", "7d"] {
            assert_eq!(day(wrong), None, "{wrong}");
        }
        let ago = moment("7d").unwrap();
        let week = now_ms() - ago;
        assert!((604_800_000..604_900_000).contains(&week), "{week}");
        assert!(moment("soon").is_err());
    }
}
