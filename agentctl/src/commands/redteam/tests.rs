//! Reading a file of probes, and judging their results.

use super::acts::{Finding, Tried};
use super::file::{Ending, Expectation, read};
use super::jail::{Observed, Ran};
use manifest::acts::{Act, Expected, Seen};
use proptest::prelude::*;

fn expectation(ending: Ending) -> Expectation {
    Expectation { ending, audited: false }
}

#[test]
fn every_documented_expectation_is_understood() {
    let cases = [
        ("ok", Ending::Ok, false),
        ("refused", Ending::Refused, false),
        ("contained", Ending::Contained, false),
        ("refused-or-contained", Ending::Contained, false),
        ("refused-or-contained, audited", Ending::Contained, true),
        ("refused,audited", Ending::Refused, true),
    ];
    for (expect, ending, audited) in cases {
        let line = format!(r#"{{"id":"a","command":"true","expect":"{expect}"}}"#);
        let probes = read(line.as_bytes()).unwrap();
        assert_eq!(
            probes.first().map(|probe| probe.expectation),
            Some(Expectation { ending, audited }),
            "{expect}"
        );
    }
}

#[test]
fn a_line_that_is_wrong_is_named_by_its_number_and_with_the_reason() {
    let good = r#"{"id":"a","command":"true","expect":"ok"}"#;
    let cases = [
        (format!("{good}\n\n{{"), 3, "EOF while parsing"),
        (format!("{good}\nnot json"), 2, "expected"),
        (format!("{good}\n{good}"), 2, "earlier line"),
        (r#"{"id":"a","command":"true"}"#.to_owned(), 1, "missing field `expect`"),
        (r#"{"id":"a","command":"true","expect":"fine"}"#.to_owned(), 1, "there are ok, refused"),
        (r#"{"id":"a","command":"true","expect":"ok, seen"}"#.to_owned(), 1, "there are ok, refused"),
        (r#"{"id":"","command":"true","expect":"ok"}"#.to_owned(), 1, "id is empty"),
        (r#"{"id":"a","command":"","expect":"ok"}"#.to_owned(), 1, "command is empty"),
        (r#"{"id":"a","command":"\u0000","expect":"ok"}"#.to_owned(), 1, "zero byte"),
        (r#"{"id":"a","tries":"x","command":"true","expect":"ok"}"#.to_owned(), 1, "unknown field"),
        (r#"{"id":"a","attempt":"","command":"true","expect":"ok"}"#.to_owned(), 1, "attempt is empty"),
        (format!(r#"{{"id":"a","command":"{}","expect":"ok"}}"#, "x".repeat(9000)), 1, "9000 bytes"),
        (String::new(), 1, "no probe"),
    ];
    for (text, line, why) in cases {
        let wrong = read(text.as_bytes()).unwrap_err();
        assert!(wrong.line == line && wrong.why.contains(why), "{text:.60}: {wrong:?}");
    }
    let wrong = read(&[good.as_bytes(), b"\n\n\xff\n"].concat()).unwrap_err();
    assert!(wrong.line == 3 && wrong.why.contains("UTF-8"), "{wrong:?}");
}

#[test]
fn an_observed_ending_is_judged_by_the_expected_one() {
    let cases = [
        (Ending::Ok, Observed::Ended(0), false),
        (Ending::Ok, Observed::Ended(1), true),
        (Ending::Ok, Observed::Limited("time"), true),
        (Ending::Refused, Observed::Ended(1), false),
        (Ending::Refused, Observed::Ended(159), false),
        (Ending::Refused, Observed::Limited("limit"), false),
        (Ending::Refused, Observed::Ended(0), true),
        (Ending::Refused, Observed::Ended(127), true),
        (Ending::Contained, Observed::Ended(0), false),
        (Ending::Contained, Observed::Ended(127), false),
        (Ending::Contained, Observed::Limited("time"), false),
        (Ending::Contained, Observed::Not("no runner".to_owned()), true),
    ];
    for (ending, observed, surprise) in cases {
        let what = format!("{ending:?} {observed:?}");
        assert_eq!(Ran::new(expectation(ending), observed, None, None).surprises(), surprise, "{what}");
    }
    let harmed =
        Ran::new(expectation(Ending::Contained), Observed::Ended(0), Some("router".to_owned()), None);
    let unheard = Ran::new(expectation(Ending::Refused), Observed::Ended(1), None, Some(false));
    assert!(harmed.surprises() && unheard.surprises());
}

#[test]
fn one_surprise_is_a_failure_and_is_counted() {
    let row = manifest::row(manifest::Process::Memory).unwrap();
    let (_, act) = Act::named("shadow").unwrap();
    let finding = |seen| Finding::new(act, row, Expected::Refused, seen);
    let well =
        Tried::new(vec![finding(Seen::Refused(13)), finding(Seen::Killed(31)), finding(Seen::NotHere)]);
    assert_eq!(
        well.sentence(),
        "3 probes in 1 profiles, no surprise; 1 of them have nothing to try it on here"
    );
    assert_eq!(well.document()["ok"], true);
    assert_eq!(well.document()["rows"][0]["seen"], "refused EACCES");
    assert_eq!(well.document()["rows"][1]["seen"], "killed SIGSYS");
    let ill = Tried::new(vec![finding(Seen::Succeeded), finding(Seen::Refused(1))]);
    let document = ill.document();
    assert_eq!((&document["ok"], &document["summary"]["surprises"]), (&false.into(), &1.into()));
    assert_eq!(document["error"]["type"], "surprise");
}

proptest! {
    #[test]
    fn no_text_of_a_file_is_anything_but_probes_or_a_reason(text in ".{0,400}") {
        if let Err(wrong) = read(text.as_bytes()) {
            prop_assert!(wrong.line >= 1 && !wrong.why.is_empty());
        }
    }
}
