//! Tests of imports from an export or another program: how long rows are stored, why some are refused, and that a dry
//! run reports the outcome and leaves nothing.

use super::*;
use crate::error::StoreError;
use crate::limits::Limits;
use ipc_proto::memory::{BlockAsk, Category, Fact, Over, SessionRow, SessionStatus, State};

const DAY: u64 = 86_400_000;
/// When all of it comes here.
const NOW: u64 = 1000 * DAY;

/// A row of this many days before now.
fn old(entry: Entry, days: u64) -> Row {
    Row::new(entry, Area::User, NOW - days * DAY)
}

fn said(number: u8) -> Entry {
    let kind = Kind::Episodic { role: Name::clip("user") };
    Entry { detail: Detail { kind, ..Detail::default() }, ..entry(number, "it was said") }
}

fn put(held: &mut Held, row: &Row, over: Over) -> Result<Option<MemoryId>, StoreError> {
    held.store.restore(&user(1), (&scanned(row.entry.clone()), row), (over, false), NOW)
}

fn tried(held: &mut Held, row: &Row, over: Over) -> Result<Option<MemoryId>, StoreError> {
    held.store.restore(&user(1), (&scanned(row.entry.clone()), row), (over, true), NOW)
}

// Holds P7-34.
#[test]
fn an_imported_row_lives_its_whole_time_from_the_import() {
    let mut held = Held::quick();
    held.store.limits = Limits { retention_days: 90, episodic_days: 90, ..Limits::none() };
    let removed =
        Row { state: State::Removed { at_ms: NOW - 300 * DAY }, ..old(observed(2, "gone", "t"), 300) };
    let superseded = State::Superseded { by: id(1), at_ms: NOW - 299 * DAY };
    let superseded = Row { state: superseded, ..old(observed(3, "before", "t"), 300) };
    for row in [old(observed(1, "seen", "t"), 300), removed, superseded, old(said(4), 300)] {
        assert_eq!(put(&mut held, &row, Over::Skip).unwrap(), Some(row.entry.id));
    }
    let there = |held: &Held| {
        (1..=4).filter(|number| held.store.read(&user(1), id(*number)).unwrap().is_some()).count()
    };
    for (days, rows) in [(0, 4), (89, 4), (91, 0)] {
        held.store.tidy(NOW + days * DAY).unwrap();
        assert_eq!(there(&held), rows, "after {days} days");
    }
    holds_together(&held.store);
}

// Holds P7-34.
#[test]
fn an_expired_row_may_be_imported_and_a_purged_one_not() {
    let mut held = Held::quick();
    held.store.limits = Limits { retention_days: 90, ..Limits::none() };
    let (aged, deleted) = (old(observed(1, "seen", "t"), 0), old(observed(2, "deleted", "t"), 0));
    for row in [&aged, &deleted] {
        put(&mut held, row, Over::Skip).unwrap();
    }
    held.purge(&user(1), id(2));
    held.store.tidy(NOW + 91 * DAY).unwrap();
    assert_eq!(held.store.read(&user(1), id(1)).unwrap(), None);
    assert_eq!(put(&mut held, &aged, Over::Skip).unwrap(), Some(id(1)));
    for over in [Over::Skip, Over::Merge, Over::Replace] {
        let refused = put(&mut held, &deleted, over);
        assert!(matches!(refused, Err(StoreError::NotAdmitted(Admission::Purged))), "{refused:?}");
    }
}

// Holds P7-35.
#[test]
fn each_refused_row_has_its_reason_and_a_dry_run_says_the_same() {
    let mut held = Held::quick();
    held.store.limits = Limits { episodic: 1, ..Limits::none() };
    held.write(&user(1), entry(1, "the person's own"));
    held.write(&scope(1, Area::Global), entry(2, "in another area"));
    held.write(&user(1), said(3));
    let mut strange = entry(1, "a stranger's");
    strange.label.trust = Trust::Untrusted;
    let mut over = entry(5, "over its time");
    over.detail.expires_ms = Some(NOW);
    let mut fact = strange.clone();
    fact.id = id(6);
    fact.detail.kind =
        Kind::Semantic(Fact { category: Category::Fact, key: Text::clip("k"), confidence: 1000 });
    let before = held.listed(&user(1), 100, 0);
    for (entry, expected) in [
        (strange, Admission::LessTrusted),
        (entry(2, "its id is in use"), Admission::Taken),
        (said(4), Admission::Full),
        (over, Admission::Expired),
        (fact, Admission::NeedsPerson),
    ] {
        let row = old(entry, 1);
        for said in [put(&mut held, &row, Over::Replace), tried(&mut held, &row, Over::Replace)] {
            let Err(StoreError::NotAdmitted(admission)) = said else { panic!("{expected:?}: {said:?}") };
            assert_eq!(admission, expected);
        }
    }
    let row = old(entry(7, "it would be kept"), 1);
    assert_eq!(tried(&mut held, &row, Over::Skip).unwrap(), Some(id(7)));
    assert_eq!(tried(&mut held, &old(entry(1, "another"), 1), Over::Skip).unwrap(), None);
    assert_eq!(held.listed(&user(1), 100, 0), before);
    holds_together(&held.store);
}

// Holds P7-37.
#[test]
fn a_session_comes_back_once_and_a_merge_has_it_be_over() {
    let mut held = Held::quick();
    let (going, over) = (session(1, SessionStatus::Active), session(1, SessionStatus::Completed));
    let mut put = |session: &SessionRow, how, dry_run| {
        held.store.restore_session(&user(1), session, (how, true, dry_run)).unwrap()
    };
    assert!(put(&going, Over::Skip, true) && put(&going, Over::Skip, false));
    assert!(!put(&going, Over::Skip, false) && !put(&over, Over::Skip, false));
    assert!(put(&over, Over::Merge, false) && !put(&going, Over::Merge, false));
    let there = held.store.sessions(&user(1), None, 9, &Start::After(0)).unwrap();
    let counted = SessionRow { observations: 0, summary: None, muted: false, ..over };
    assert_eq!(there, [counted]);
    let waits = held.store.waiting(&[ipc_proto::memory::TaskName::Summarise], 9, NOW, NOW).unwrap();
    assert!(waits.is_empty(), "nobody sums up what is over: {waits:?}");
    assert!(held.store.sessions(&user(2), None, 9, &Start::After(0)).unwrap().is_empty());
}

#[test]
fn a_session_of_elsewhere_is_told_of_with_its_summary_alone() {
    let mut held = Held::quick();
    let planted = session(1, SessionStatus::Active);
    let session = SessionRow { client: Name::clip("planted"), ..planted };
    assert!(held.store.restore_session(&user(1), &session, (Over::Skip, false, false)).unwrap());
    held.write(&user(1), observed(1, "seen", "t"));
    let told = |held: &Held| held.store.block(&user(1), &BlockAsk::new(None, None, 3), NOW).unwrap();
    let block = told(&held);
    assert!(block.text.contains("seen") && !block.text.contains("planted"), "{block:?}");
    let mut summary = entry(2, "what came of it");
    summary.session = Some(session.id);
    summary.label.trust = Trust::Untrusted;
    summary.detail.kind = Kind::Summary(Box::default());
    assert_eq!(held.write(&user(1), summary), Admission::New);
    let block = told(&held);
    assert!(block.text.contains("planted"), "{block:?}");
    assert_eq!(block.label.map(|label| label.trust), Some(Trust::Untrusted));
}

// Holds P7-37.
#[test]
fn an_import_changes_no_session_of_others_and_is_bounded() {
    let mut held = Held::quick();
    let (going, over) = (session(1, SessionStatus::Active), session(1, SessionStatus::Completed));
    let elsewhere = SessionRow { project: Text::clip("/planted"), ..over.clone() };
    held.store.restore_session(&user(1), &going, (Over::Skip, true, false)).unwrap();
    for (told, over, mine, expected) in [
        (&elsewhere, Over::Skip, false, Ok(false)),
        (&going, Over::Merge, false, Ok(false)),
        (&over, Over::Merge, false, Err(Admission::LessTrusted)),
        (&elsewhere, Over::Replace, false, Err(Admission::LessTrusted)),
        (&elsewhere, Over::Replace, true, Ok(true)),
    ] {
        let came =
            held.store.restore_session(&user(1), told, (over, mine, true)).map_err(|error| match error {
                StoreError::NotAdmitted(admission) => admission,
                other => panic!("{other}"),
            });
        assert_eq!(came, expected, "{over:?}, mine: {mine}");
    }
    let many = "WITH RECURSIVE many (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM many WHERE i < 5000)
        INSERT INTO session (scope, id, client, name, project, started_ms)
        SELECT 1, randomblob(16), 'c', 's', '/p', 1 FROM many";
    held.store.db.execute(many, []).unwrap();
    let next =
        held.store.restore_session(&user(1), &session(2, SessionStatus::Active), (Over::Skip, true, false));
    assert!(matches!(next, Err(StoreError::NotAdmitted(Admission::Full))), "{next:?}");
    assert!(
        held.store.restore_session(&user(1), &over, (Over::Merge, true, false)).unwrap(),
        "it is no further one"
    );
}

// Holds B-114.
#[test]
fn an_imported_row_makes_room_in_its_kind_and_counts_once() {
    let fact = |number: u8, key: &str| {
        let kind = Kind::Semantic(Fact { category: Category::Fact, key: Text::clip(key), confidence: 1000 });
        Entry { detail: Detail { kind, ..Detail::default() }, ..entry(number, "a fact") }
    };
    let none = Limits::none();
    let removed = State::Removed { at_ms: NOW };
    for (limits, entry, state, comes) in [
        (Limits { rows: 3, ..none }, entry(9, "one more"), State::Current, true),
        (Limits { rows: 2, ..none }, entry(9, "one too many"), State::Current, false),
        (Limits { rows: 2, ..none }, said(9), State::Current, false),
        (Limits { rows: 2, ..none }, entry(9, "a tombstone is a row"), removed, false),
        (Limits { semantic: 2, ..none }, fact(9, "another"), State::Current, true),
        (Limits { semantic: 1, ..none }, fact(9, "another"), State::Current, false),
        (Limits { semantic: 1, ..none }, fact(9, "k"), State::Current, true),
        (Limits { semantic: 1, ..none }, fact(9, "another"), removed, true),
        (Limits { episodic: 1, ..none }, said(9), removed, true),
    ] {
        let mut held = Held::quick();
        held.write(&user(1), fact(1, "k"));
        held.write(&user(1), said(2));
        held.store.limits = limits;
        let row = Row { state, ..old(entry.clone(), 1) };
        let came = put(&mut held, &row, Over::Skip);
        assert_eq!(came.is_ok(), comes, "{limits:?}, {entry:?}: {came:?}");
        holds_together(&held.store);
    }
}
