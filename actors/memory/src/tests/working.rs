//! Tests of work for curator: leased by the time it was given out, settled once, and never at a row's cost.

use super::*;
use crate::sessions;
use ipc_proto::memory::{Capture, CaptureEvent, State, Task, TaskName, Work};

const ALL: [TaskName; 3] = [TaskName::Compress, TaskName::Summarise, TaskName::Resolve];

fn plain(number: u8, content: &str) -> Entry {
    let mut entry = observed(number, content, "Read execution");
    if let Kind::Observation(seen) = &mut entry.detail.kind {
        seen.plain = true;
    }
    entry
}

fn capture(event: CaptureEvent) -> Capture {
    Capture { client: Text::clip("c"), session: Text::clip("s"), project: Text::clip("/p"), event }
}

fn waiting(held: &mut Held, tasks: &[TaskName], now_ms: u64) -> Vec<Task> {
    let work = held.store.waiting(tasks, 16, now_ms, now_ms + 100).unwrap();
    work.into_iter()
        .map(|Work { task, scope }| {
            assert_eq!(scope, user(1));
            task
        })
        .collect()
}

fn state(held: &Held, number: u8) -> State {
    held.store.read(&user(1), id(number)).unwrap().unwrap().state
}

// Holds P7-19.
#[test]
fn leased_work_is_held_back_until_its_lease_is_over() {
    let mut held = Held::new();
    let seen = Proposal::of(plain(1, "one")).unwrap().made_from("raw of one");
    held.store.insert(&user(1), &seen.judged(&passed()).unwrap(), 1).unwrap();
    held.write(&user(1), plain(2, "two"));
    let first = held.store.waiting(&[TaskName::Compress], 1, 10, 110).unwrap();
    let [Work { task: Task::Compress { row, raw }, .. }] = &first[..] else { panic!("{first:?}") };
    assert_eq!((row.entry.id, raw.as_str()), (id(1), "raw of one"));
    assert_eq!(waiting(&mut held, &[TaskName::Compress], 11).len(), 1);
    assert!(waiting(&mut held, &[TaskName::Compress], 109).is_empty());
    let mut held = held.reopened();
    assert_eq!(waiting(&mut held, &[TaskName::Compress], 111).len(), 2, "whoever had it is gone");
    held.store.left_plain(&user(1), id(1)).unwrap();
    held.store.left_plain(&user(1), id(1)).unwrap();
    held.store.left_plain(&user(2), id(2)).unwrap();
    let left = waiting(&mut held, &[TaskName::Compress], 500);
    assert!(matches!(&left[..], [Task::Compress { row, .. }] if row.entry.id == id(2)), "{left:?}");
    assert_eq!(held.store.stats(&user(1)).unwrap().plain, 2);
}

#[test]
fn a_session_that_ended_is_summed_up_once_its_observations_are_done() {
    let mut held = Held::quick();
    let session = sessions::id(&user(1), &capture(CaptureEvent::Started));
    held.store.take_down(&user(1), &capture(CaptureEvent::Started), None, 1).unwrap();
    for number in [1, 2] {
        let entry = Entry { session: Some(session), ..plain(number, &format!("row {number}")) };
        held.write(&user(1), entry);
    }
    assert!(waiting(&mut held, &[TaskName::Summarise], 10).is_empty(), "it goes on");
    held.store.take_down(&user(1), &capture(CaptureEvent::Ended), None, 11).unwrap();
    assert!(waiting(&mut held, &[TaskName::Summarise, TaskName::Compress], 12).len() == 2, "first the rows");
    let work = waiting(&mut held, &[TaskName::Summarise], 13);
    let [Task::Summarise { session: of, rows }] = &work[..] else { panic!("{work:?}") };
    assert_eq!((*of, rows.len(), rows[0].entry.id), (session, 2, id(1)));
    let mut summary = entry(9, "what came of it");
    summary.detail.kind = Kind::Summary(Box::default());
    summary.label = Label::bottom();
    let summary = held.store.summary(&user(1), session, summary).unwrap();
    assert_eq!((summary.session, &summary.label), (Some(session), &entry(1, "").label));
    for _ in 0..2 {
        held.store.summarised(&user(1), session, Some(&scanned(summary.clone())), 20).unwrap();
    }
    assert_eq!(held.store.sessions(&user(1), None, 9, &Start::After(0)).unwrap()[0].summary, Some(id(9)));
    assert!(waiting(&mut held, &[TaskName::Summarise], 999).is_empty());
}

#[test]
fn only_what_is_like_another_row_of_its_project_and_type_is_compared() {
    let mut held = Held::quick();
    let text = "the harbour office opens at seven in the morning on working days";
    held.write(&user(1), observed(1, text, "office"));
    held.write(&user(1), observed(2, text, "office"));
    let mut elsewhere = observed(3, text, "office");
    elsewhere.detail.project = Some(Text::clip("/q"));
    held.write(&user(1), elsewhere);
    held.write(&user(1), observed(4, "a cello was bought in another town", "music"));
    held.write(&user(1), plain(5, text));
    let work = waiting(&mut held, &ALL[2..], 10);
    let [Task::Resolve { row, like }] = &work[..] else { panic!("{work:?}") };
    assert_eq!((row.entry.id, like.len(), like[0].0.entry.id), (id(2), 1, id(1)));
    assert!(like[0].1 > 920);
    for _ in 0..2 {
        held.store.supersede(&user(1), (id(2), id(1)), "says the same", 20).unwrap();
    }
    assert_eq!(state(&held, 2), State::Superseded { by: id(1), at_ms: 20 });
    assert!(waiting(&mut held, &ALL[2..], 999).is_empty());
    holds_together(&held.store);
}

// Holds P5-13.
#[test]
fn what_is_trusted_less_takes_the_place_of_nothing() {
    let mut held = Held::quick();
    held.write(&user(1), observed(1, "the person's own", "t"));
    let mut planted = observed(2, "planted", "t");
    planted.label.trust = Trust::Untrusted;
    held.write(&user(1), planted);
    held.store.supersede(&user(1), (id(1), id(2)), "outdated", 20).unwrap();
    assert_eq!((state(&held, 1), state(&held, 2)), (State::Current, State::Current));
    held.store.supersede(&user(1), (id(2), id(1)), "outdated", 20).unwrap();
    held.store.supersede(&user(1), (id(1), id(1)), "outdated", 20).unwrap();
    assert_eq!(state(&held, 1), State::Current);
}

// Holds P7-20.
#[test]
fn much_work_of_one_kind_keeps_no_other_back() {
    let mut held = Held::quick();
    held.store.keep_vectors_of(Some(Name::clip("p/m"))).unwrap();
    for number in 1..=40 {
        held.write(&user(1), plain(number, "captured"));
    }
    let work = held.store.waiting(&[TaskName::Compress, TaskName::Embed], 16, 1, 100).unwrap();
    let embeds = work.iter().filter(|work| matches!(work.task, Task::Embed { .. })).count();
    assert_eq!((work.len(), embeds), (16, 8));
    let rest = held.store.waiting(&[TaskName::Summarise, TaskName::Compress], 16, 2, 100).unwrap();
    assert_eq!(rest.len(), 16, "what one kind leaves is another's");
}

// Holds P7-21.
#[test]
fn a_row_that_cannot_be_read_is_set_aside_and_keeps_no_other_work_back() {
    let mut held = Held::quick();
    held.store.keep_vectors_of(Some(Name::clip("p/m"))).unwrap();
    let text = "the harbour office opens at seven in the morning on working days";
    for number in 1..=3 {
        held.write(&user(1), plain(number, &format!("{text} {number}")));
    }
    for number in [4, 5, 6] {
        held.write(&user(1), observed(number, text, "office"));
    }
    for (number, harm) in [(1, "detail = '{'"), (2, "detail = '['"), (4, "sources = '7'")] {
        let spoil = format!("UPDATE kept SET {harm} WHERE id = ?1");
        held.store.db.execute(&spoil, [id(number).bytes()]).unwrap();
    }
    let kinds = [TaskName::Compress, TaskName::Resolve, TaskName::Embed];
    let mut ids: Vec<(TaskName, MemoryId)> = Vec::new();
    for now_ms in [1, 2, 3] {
        ids.extend(waiting(&mut held, &kinds, now_ms).into_iter().map(|task| match task {
            Task::Compress { row, .. } => (TaskName::Compress, row.entry.id),
            Task::Resolve { row, .. } => (TaskName::Resolve, row.entry.id),
            Task::Embed { id, .. } => (TaskName::Embed, id),
            Task::Summarise { .. } => panic!("nobody asked for that"),
        }));
    }
    ids.sort_by_key(|(task, id)| (format!("{task:?}"), id.bytes()));
    let expected = [
        (TaskName::Compress, id(3)),
        (TaskName::Embed, id(3)),
        (TaskName::Embed, id(5)),
        (TaskName::Embed, id(6)),
        (TaskName::Resolve, id(5)),
        (TaskName::Resolve, id(6)),
    ];
    assert_eq!(ids, expected);
    let mut held = held.reopened();
    assert_eq!(held.store.stats(&user(1)).unwrap().set_aside, 3);
    let mend = "UPDATE kept SET detail = (SELECT detail FROM kept WHERE id = ?2) WHERE id = ?1";
    held.store.db.execute(mend, [id(2).bytes(), id(3).bytes()]).unwrap();
    assert_eq!(waiting(&mut held, &kinds[..1], 4).len(), 0, "it is not looked at again and again");
    held.store.reindex(&user(1)).unwrap();
    let again = waiting(&mut held, &kinds[..1], 5);
    assert!(matches!(&again[..], [Task::Compress { row, .. }] if row.entry.id == id(2)), "{again:?}");
    assert_eq!(
        held.store.stats(&user(1)).unwrap().set_aside,
        1,
        "what still cannot be read is set aside again"
    );
}
