//! Tests of captures by a client's hook: sessions, mutes, and that a call captured twice is stored once.

use super::*;
use crate::capture;
use crate::error::StoreError;
use crate::sessions;
use ipc_proto::memory::{Capture, CaptureEvent, Muted, SessionStatus};

fn saw(session: &str, event: CaptureEvent) -> Capture {
    Capture { client: Text::clip("opencode"), session: Text::clip(session), project: Text::clip("/p"), event }
}

fn tool(session: &str, call: &str) -> Capture {
    let output = format!("what the tool said of {call}, and a good many further words besides");
    let event = CaptureEvent::Tool {
        tool: Text::clip("Read"),
        call: Text::clip(call),
        title: Text::default(),
        file: None,
        output: Text::clip(&output),
    };
    saw(session, event)
}

fn taken(held: &mut Held, scope: &Scope, capture: &Capture, now_ms: u64) -> Admission {
    let seen = capture::seen(scope, capture, &capture::Ignored::default()).map(|seen| {
        let proposal = Proposal::of(seen.entry).unwrap().made_from(&seen.raw.unwrap_or_default());
        proposal.judged(&passed()).unwrap()
    });
    held.store.take_down(scope, capture, seen.as_ref(), now_ms).unwrap()
}

// Holds P7-18.
#[test]
fn a_call_that_is_told_twice_is_one_row_of_its_session() {
    let mut held = Held::new();
    assert_eq!(taken(&mut held, &user(1), &saw("a", CaptureEvent::Started), 5), Admission::New);
    assert_eq!(taken(&mut held, &user(1), &tool("a", "one"), 6), Admission::New);
    assert_eq!(taken(&mut held, &user(1), &tool("a", "one"), 7), Admission::Already);
    assert_eq!(taken(&mut held, &user(1), &tool("a", "two"), 8), Admission::New);
    assert_eq!(taken(&mut held, &user(1), &tool("b", "one"), 9), Admission::New);
    assert_eq!(taken(&mut held, &user(1), &saw("a", CaptureEvent::Idle), 10), Admission::New);
    taken(&mut held, &user(1), &saw("b", CaptureEvent::Ended), 11);
    taken(&mut held, &user(2), &tool("c", "one"), 12);
    let held = held.reopened();
    let sessions = held.store.sessions(&user(1), Some("/p"), 9, &Start::After(0)).unwrap();
    let told = sessions.iter().map(|it| (it.name.as_str(), it.observations, it.status, it.ended_ms));
    assert_eq!(
        told.collect::<Vec<_>>(),
        [("b", 1, SessionStatus::Completed, Some(11)), ("a", 2, SessionStatus::Idle, None)]
    );
    let of = Filter { session: Some(sessions::id(&user(1), &tool("a", "one"))), ..Filter::default() };
    let rows = held.store.list(&user(1), &of, 9, &Start::After(0)).unwrap();
    assert_eq!(rows.len(), 2);
    assert!(held.store.raw(&user(1), rows[0].entry.id).unwrap().text.contains("further words"));
    assert!(held.store.sessions(&user(1), Some("/other"), 9, &Start::After(0)).unwrap().is_empty());
    assert_eq!(held.store.stats(&user(1)).unwrap().plain, 3);
    holds_together(&held.store);
}

// Holds P7-30.
#[test]
fn a_page_of_sessions_continues_whatever_changed_meanwhile() {
    let mut held = Held::quick();
    let of = |number: u64| sessions::id(&user(1), &saw(&number.to_string(), CaptureEvent::Started));
    let come = |held: &mut Held, number: u64| {
        taken(held, &user(1), &saw(&number.to_string(), CaptureEvent::Started), number);
    };
    let page = |held: &Held, project: Option<&str>, behind: &[u64]| {
        let start = Start::Behind(List::clip(behind.iter().map(|number| of(*number))));
        let page = held.store.sessions(&user(1), project, 3, &start)?;
        Ok::<Vec<u64>, StoreError>(page.iter().map(|session| session.name.parse().unwrap()).collect())
    };
    (1..=7).for_each(|number| come(&mut held, number));
    assert_eq!(page(&held, None, &[]).unwrap(), [7, 6, 5]);
    come(&mut held, 8);
    taken(&mut held, &user(1), &saw("2", CaptureEvent::Idle), 9);
    assert_eq!(page(&held, None, &[7, 6, 5]).unwrap(), [4, 3, 2], "none again and none passed over");
    held.store.purge(&user(1), &Forget::Session(of(2)), &[], 10).unwrap();
    assert_eq!(page(&held, None, &[4, 3, 2]).unwrap(), [1], "behind the furthest that is still here");
    assert_eq!(page(&held, Some("/p"), &[4]).unwrap(), [3, 1]);
    assert!(page(&held, Some("/other"), &[4]).unwrap().is_empty());
    assert!(matches!(page(&held, None, &[2]), Err(StoreError::NotFound)), "nothing says where to go on");
    assert_eq!(held.store.sessions(&user(1), None, 3, &Start::After(5)).unwrap().len(), 2);
}

#[test]
fn a_muted_session_and_a_muted_project_are_told_apart() {
    let mut held = Held::quick();
    taken(&mut held, &user(1), &saw("a", CaptureEvent::Started), 5);
    let muted = |held: &Held, owner: u8, project: &str, session: &str| {
        held.store.is_muted(&user(owner), Some(project), Some(("opencode", session))).unwrap()
    };
    let session = Muted::Session(Text::clip("opencode"), Text::clip("a"));
    held.store.mute(&user(1), &session, true).unwrap();
    assert!(muted(&held, 1, "/p", "a") && !muted(&held, 1, "/p", "b") && !muted(&held, 2, "/p", "a"));
    assert!(held.store.sessions(&user(1), None, 9, &Start::After(0)).unwrap()[0].muted);
    let project = Muted::Project(Text::clip("/p"));
    held.store.mute(&user(1), &project, true).unwrap();
    held.store.mute(&user(1), &session, false).unwrap();
    assert!(muted(&held, 1, "/p", "b") && !muted(&held, 1, "/q", "a"));
    assert_eq!(held.store.stats(&user(1)).unwrap().muted.len(), 1);
    held.store.mute(&user(1), &project, false).unwrap();
    assert!(!muted(&held, 1, "/p", "a"));
}

#[test]
fn an_owner_has_so_many_areas_sessions_and_mutes_and_no_more() {
    let mut held = Held::quick();
    let project = |number: u32| Muted::Project(Text::clip(&format!("/{number}")));
    let agent = |number: u32| scope(1, Area::Agent(Name::clip(&format!("a{number}"))));
    for number in 0..256 {
        held.store.mute(&agent(number), &project(0), true).unwrap();
    }
    let full = held.store.mute(&user(1), &project(0), true);
    assert!(matches!(full, Err(StoreError::NotAdmitted(Admission::Full))), "{full:?}");
    held.store.mute(&user(2), &project(0), true).unwrap();
    for number in 1..1000 {
        held.store.mute(&agent(0), &project(number), true).unwrap();
    }
    assert!(held.store.mute(&agent(0), &project(1000), true).is_err());
    held.store.mute(&agent(0), &project(999), true).unwrap();
    held.store.mute(&agent(0), &project(999), false).unwrap();
    held.store.mute(&agent(0), &project(1000), true).unwrap();
    let many = "WITH RECURSIVE many (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM many WHERE i < 5000)
        INSERT INTO session (scope, id, client, name, project, started_ms)
        SELECT 1, randomblob(16), 'c', 's', '/p', 1 FROM many";
    held.store.db.execute(many, []).unwrap();
    for _ in 0..2 {
        taken(&mut held, &agent(0), &saw("a", CaptureEvent::Started), 5);
    }
    let known = "SELECT count(*) FROM session WHERE scope = 1";
    assert_eq!(held.store.db.query_row(known, [], |row| row.get::<_, i64>(0)).unwrap(), 5000);
    assert_eq!(held.store.sessions(&agent(0), None, 1, &Start::After(0)).unwrap()[0].name.as_str(), "a");
}
