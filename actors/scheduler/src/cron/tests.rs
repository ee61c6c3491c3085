//! The golden table of daylight saving, and what is no expression.

use super::*;
use crate::zone::named;

/// The moments of an expression after a moment, as the zone's clock shows them.
fn moments(expression: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
    let (expression, zone) = (Expression::read(expression).unwrap(), named(zone).unwrap());
    let mut after: Timestamp = after.parse().unwrap();
    let next = |_| {
        after = expression.next(&zone, after).unwrap();
        after.to_zoned(zone.clone()).strftime("%m-%d %H:%M %:z").to_string()
    };
    (0..count).map(next).collect()
}

// Holds P12-42.
#[test]
fn a_fixed_time_in_a_gap_runs_right_after_it() {
    for (expression, zone, after, expected) in [
        (
            "30 2 * * *",
            "America/New_York",
            "2026-03-07T12:00:00Z",
            ["03-08 03:00 -04:00", "03-09 02:30 -04:00"],
        ),
        ("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", ["03-29 03:00 +02:00", "03-30 02:30 +02:00"]),
        (
            "15 2 * * *",
            "Australia/Lord_Howe",
            "2026-10-03T10:00:00Z",
            ["10-04 02:30 +11:00", "10-05 02:15 +11:00"],
        ),
        // The whole of 30 December 2011 is not there.
        ("0 12 * * *", "Pacific/Apia", "2011-12-29T23:00:00Z", ["12-31 00:00 +14:00", "12-31 12:00 +14:00"]),
        // Several times in one gap are one.
        (
            "0,20,40 2 * * *",
            "America/New_York",
            "2026-03-08T06:00:00Z",
            ["03-08 03:00 -04:00", "03-09 02:00 -04:00"],
        ),
        // So is one in the gap and the one at its end.
        (
            "0 2,3 * * *",
            "America/New_York",
            "2026-03-08T06:00:00Z",
            ["03-08 03:00 -04:00", "03-09 02:00 -04:00"],
        ),
    ] {
        assert_eq!(moments(expression, zone, after, 2), expected, "{expression} {zone}");
    }
}

// Holds P12-42.
#[test]
fn a_fixed_time_that_the_clock_shows_twice_runs_once() {
    for (expression, zone, after, expected) in [
        (
            "30 1 * * *",
            "America/New_York",
            "2026-10-31T12:00:00Z",
            ["11-01 01:30 -04:00", "11-02 01:30 -05:00"],
        ),
        ("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", ["10-25 02:30 +02:00", "10-26 02:30 +01:00"]),
        (
            "45 1 * * *",
            "Australia/Lord_Howe",
            "2026-04-04T10:00:00Z",
            ["04-05 01:45 +11:00", "04-06 01:45 +10:30"],
        ),
        // From within the second pass, too.
        (
            "30 1 * * *",
            "America/New_York",
            "2026-11-01T06:10:00Z",
            ["11-02 01:30 -05:00", "11-03 01:30 -05:00"],
        ),
    ] {
        assert_eq!(moments(expression, zone, after, 2), expected, "{expression} {zone}");
    }
}

// Holds P12-42.
#[test]
fn a_wildcard_runs_in_both_passes_and_in_no_gap() {
    let passes = [
        "11-01 01:00 -04:00",
        "11-01 01:30 -04:00",
        "11-01 01:00 -05:00",
        "11-01 01:30 -05:00",
        "11-01 02:00 -05:00",
    ];
    assert_eq!(moments("*/30 * * * *", "America/New_York", "2026-11-01T04:30:00Z", 5), passes);
    let hourly = ["11-01 00:30 -04:00", "11-01 01:30 -04:00", "11-01 01:30 -05:00", "11-01 02:30 -05:00"];
    assert_eq!(moments("30 * * * *", "America/New_York", "2026-11-01T04:00:00Z", 4), hourly);
    let gap = ["03-08 01:30 -05:00", "03-08 03:00 -04:00", "03-08 03:30 -04:00"];
    assert_eq!(moments("*/30 * * * *", "America/New_York", "2026-03-08T06:00:00Z", 3), gap);
    let half = ["04-05 01:45 +11:00", "04-05 01:30 +10:30", "04-05 01:45 +10:30", "04-05 02:00 +10:30"];
    assert_eq!(moments("*/15 * * * *", "Australia/Lord_Howe", "2026-04-04T14:30:00Z", 4), half);
    let day = ["12-29 23:00 -10:00", "12-31 00:00 +14:00", "12-31 01:00 +14:00"];
    assert_eq!(moments("0 * * * *", "Pacific/Apia", "2011-12-30T08:10:00Z", 3), day);
}

#[test]
fn weekdays_at_eight_in_berlin_stay_at_eight_over_the_change() {
    let expected = ["10-23 08:00 +02:00", "10-26 08:00 +01:00", "10-27 08:00 +01:00"];
    assert_eq!(moments("0 8 * * 1-5", "Europe/Berlin", "2026-10-22T12:00:00Z", 3), expected);
    assert_eq!(moments("@daily", "UTC", "2026-10-22T12:00:00Z", 1), ["10-23 00:00 +00:00"]);
}

// Holds P12-42.
#[test]
fn what_is_no_expression_is_refused_with_its_place() {
    for (text, place) in [
        ("*/0 * * * *", "field 1 (minute), `*/0`: step cannot be zero"),
        ("0 25 * * *", "field 2 (hour), `25`: number out of bounds"),
        ("0 0 * * 8", "field 5 (weekday), `8`: number out of bounds"),
        ("5-1 * * * *", "field 1 (minute), `5-1`: range out of bounds"),
        ("0 0 30 2 *", "fields 3 to 5 (day, month, weekday), `30 2 *`: no such day ever comes"),
        ("0 0 * *", "`0 0 * *` has 4 fields"),
        ("*/10 * * * * *", "`*/10 * * * * *` has 6 fields"),
        ("", "`` has 0 fields"),
    ] {
        let Err(SchedulerError::BadExpression(why)) = Expression::read(text) else { panic!("{text}") };
        assert_eq!(why.as_str(), place);
    }
}

// Holds P12-46.
#[test]
fn an_expression_is_told_in_words() {
    for (expression, words) in [
        ("0 8 * * 1-5", "at 08:00, on Monday, Tuesday, Wednesday, Thursday, and Friday"),
        ("*/15 * * * *", "at every 15 minutes"),
        ("30 9 1 * *", "at 09:30, on day 1"),
        ("@daily", "at 00:00"),
    ] {
        assert_eq!(Expression::read(expression).unwrap().words(), words, "{expression}");
    }
}
