//! The time that a provider asks to wait, read from a reply's headers: `Retry-After` in any of its forms, or the reset
//! of the limit that was used up. Pure: the time of day is a parameter.

use ipc_proto::credproxy::Header;

/// No provider is waited for longer: a header that asks for more is wrong, or of a limit that waiting does not mend.
const LONGEST: u64 = 86_400;
/// The limits of OpenAI and those who follow it.
const OPENAI: [&str; 2] = ["requests", "tokens"];
/// The limits of Anthropic.
const ANTHROPIC: [&str; 4] = ["requests", "tokens", "input-tokens", "output-tokens"];
/// As HTTP names them.
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// Larger numbers are a time of day and not a span.
const SPANS: u64 = 1_000_000_000;

/// Seconds that a reply asks to wait, if it says; `now` is the time of day, unix seconds.
#[must_use]
pub fn wait(retry_after: Option<u32>, headers: &[Header], now: u64) -> Option<u32> {
    let value = |name: &str| {
        let found = headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
        found.map(|header| header.value.trim())
    };
    let openai =
        OPENAI.map(|limit| (format!("x-ratelimit-remaining-{limit}"), format!("x-ratelimit-reset-{limit}")));
    let anthropic = ANTHROPIC.map(|limit| {
        (format!("anthropic-ratelimit-{limit}-remaining"), format!("anthropic-ratelimit-{limit}-reset"))
    });
    let used_up = openai.into_iter().chain(anthropic).filter(|(left, _)| value(left) == Some("0"));
    let full_again = used_up.filter_map(|(_, reset)| seconds(value(&reset)?, now)).max();
    let exact = value("retry-after-ms").and_then(|ms| ms.parse::<u64>().ok()).map(|ms| ms.div_ceil(1000));
    let plain =
        ["x-ratelimit-reset", "ratelimit-reset"].into_iter().find_map(|name| seconds(value(name)?, now));
    let otherwise = || {
        value("retry-after").and_then(|text| moment(text, now).or_else(|| Some(span(text)?.div_ceil(1000))))
    };
    let asked = retry_after.map(u64::from).or_else(otherwise).or(exact).or(full_again).or(plain)?;
    u32::try_from(asked.min(LONGEST)).ok()
}

/// Seconds from now that a reset is away: a span (`6m0s`, `20ms`, `1.5`), a time of day in unix seconds or
/// milliseconds, or a date and time. Rounded up.
fn seconds(text: &str, now: u64) -> Option<u64> {
    if let Some(at) = date(text) {
        return Some(at.saturating_sub(now));
    }
    match text.parse::<u64>() {
        Ok(ms) if ms > SPANS * 1000 => Some((ms / 1000).saturating_sub(now)),
        Ok(at) if at > SPANS => Some(at.saturating_sub(now)),
        Ok(span) => Some(span),
        Err(_) => span(text).map(|ms| ms.div_ceil(1000)),
    }
}

/// Seconds until the moment of a date as HTTP writes it, `Sun, 06 Nov 1994 08:49:37 GMT`. One that is past says nothing: the
/// clocks of two machines differ.
fn moment(text: &str, now: u64) -> Option<u64> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let [_, day, month, year, time, "GMT"] = words.as_slice() else { return None };
    let month = (1..).zip(MONTHS).find(|(_, name)| name == month)?.0;
    let at = date(&format!("{year}-{month}-{day}T{time}Z"))?;
    at.checked_sub(now).filter(|left| *left > 0)
}

/// The milliseconds of a span: numbers, each with its unit; one without is of seconds.
fn span(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut all = 0_u64;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at_checked(digits)?;
        let letters = after.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(after.len());
        let (unit, after) = after.split_at_checked(letters)?;
        let unit = match unit {
            "ms" => 1,
            "s" | "" => 1000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        if !part.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let thousandths =
            part.bytes().chain(*b"000").take(3).fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
        let whole = whole.parse::<u64>().ok()?.checked_mul(unit)?;
        all = all.checked_add(whole)?.checked_add(thousandths * unit / 1000)?;
        rest = after;
    }
    (!text.is_empty()).then_some(all)
}

/// The unix seconds of `YYYY-MM-DDTHH:MM:SS`, with or without a fraction, in UTC.
fn date(text: &str) -> Option<u64> {
    let (day, time) = text.split_once('T')?;
    let time = time.strip_suffix('Z').or_else(|| time.strip_suffix("+00:00"))?;
    let numbers = |text: &str, by: char| -> Option<[u64; 3]> {
        let parts: Option<Vec<u64>> = text.split(by).map(|part| part.parse().ok()).collect();
        parts?.try_into().ok()
    };
    let [year, month, day] = numbers(day, '-')?;
    let [hour, minute, second] = numbers(time.split('.').next()?, ':')?;
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 {
        return None;
    }
    // Years that begin in March have the day of a leap year last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leaps = year / 4 - year / 100 + year / 400;
    let days = (365 * year + leaps + (153 * month + 2) / 5 + day).checked_sub(719_469)?;
    Some(days * 86_400 + hour * 3600 + minute.min(59) * 60 + second.min(60))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::Text;
    use proptest::prelude::*;

    const NOW: u64 = 1_795_320_000;

    fn asked(retry_after: Option<u32>, headers: &[(&str, &str)]) -> Option<u32> {
        let header =
            |(name, value): &(&str, &str)| Header { name: Text::clip(name), value: Text::clip(value) };
        wait(retry_after, &headers.iter().map(header).collect::<Vec<_>>(), NOW)
    }

    #[test]
    fn the_limit_that_is_used_up_says_how_long_unless_the_reply_does() {
        let openai = [
            ("x-ratelimit-remaining-requests", "0"),
            ("x-ratelimit-reset-requests", "1m30s"),
            ("X-RateLimit-Remaining-Tokens", "149"),
            ("x-ratelimit-reset-tokens", "6h0m0s"),
        ];
        assert_eq!(asked(None, &openai), Some(90));
        assert_eq!(asked(Some(5), &openai), Some(5));
        assert_eq!(asked(None, &[("retry-after-ms", "1200"), openai[0], openai[1]]), Some(2));
        let anthropic = [
            ("anthropic-ratelimit-requests-remaining", "0"),
            ("anthropic-ratelimit-requests-reset", "2026-11-22T04:00:07Z"),
            ("anthropic-ratelimit-input-tokens-remaining", "0"),
            ("anthropic-ratelimit-input-tokens-reset", "2026-11-22T04:00:41.5Z"),
        ];
        assert_eq!(asked(None, &anthropic), Some(41));
        assert_eq!(asked(None, &[("x-ratelimit-reset", "1795320012")]), Some(12));
        assert_eq!(asked(None, &[("x-ratelimit-reset", "1795320013000")]), Some(13));
        assert_eq!(asked(None, &[("ratelimit-reset", "4")]), Some(4));
    }

    // Holds B-88.
    #[test]
    fn retry_after_is_read_as_fractions_and_as_a_future_date() {
        for (text, seconds) in [
            ("1.2", Some(2)),
            ("0.5", Some(1)),
            ("Sun, 22 Nov 2026 04:00:09 GMT", Some(9)),
            ("Sun, 22 Nov 2026 03:59:59 GMT", None),
            ("Sun, 22 Nov 2026 04:00:00 GMT", None),
            ("Sun, 22 Smarch 2026 04:00:09 GMT", None),
            ("soon", None),
            ("-1", None),
            ("", None),
        ] {
            assert_eq!(asked(None, &[("Retry-After", text)]), seconds, "{text}");
        }
        let both = [("retry-after", "Sun, 22 Nov 2026 04:00:09 GMT"), ("ratelimit-reset", "4")];
        assert_eq!(asked(None, &both), Some(9));
        assert_eq!(asked(None, &[("retry-after", "never"), both[1]]), Some(4));
    }

    // Holds B-88.
    #[test]
    fn what_says_nothing_or_nonsense_is_no_wait_and_none_is_endless() {
        assert_eq!(asked(None, &[]), None);
        assert_eq!(asked(None, &[("x-ratelimit-remaining-requests", "0")]), None);
        for nonsense in ["", "soon", "1y", "-3", "2026-13-01T00:00:00Z", "1.2.3s", "T"] {
            assert_eq!(asked(None, &[("ratelimit-reset", nonsense)]), None, "{nonsense}");
        }
        assert_eq!(asked(Some(u32::MAX), &[]), Some(86_400));
        assert_eq!(asked(None, &[("ratelimit-reset", "9999-01-01T00:00:00Z")]), Some(86_400));
    }

    #[test]
    fn dates_and_spans_are_read() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2000-02-29T12:30:15Z", Some(951_827_415)),
            ("2026-11-22T04:00:00Z", Some(NOW)),
            ("2026-11-22T04:00:00+00:00", Some(NOW)),
            ("2026-11-22T04:00:00", None),
            ("2026-11-22", None),
        ] {
            assert_eq!(date(text), expected, "{text}");
        }
        for (text, ms) in
            [("20ms", 20), ("1.5s", 1500), ("1.5", 1500), ("6m0s", 360_000), ("1h1m1.001s", 3_661_001)]
        {
            assert_eq!(span(text), Some(ms), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_header_is_read_without_panic(value in "([0-9.:TZ+-]|ms|[smhd]|\\PC){0,40}") {
            let wait = asked(None, &[("ratelimit-reset", &value)]);
            prop_assert!(wait.is_none_or(|wait| wait <= 86_400));
            let wait = asked(None, &[("retry-after", &value)]);
            prop_assert!(wait.is_none_or(|wait| wait <= 86_400));
        }
    }
}
