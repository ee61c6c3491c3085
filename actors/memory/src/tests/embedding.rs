//! Tests of an embedder's vectors: the rows that wait for one, the vectors that are stored, and the rows found by them.

use super::*;
use crate::error::StoreError;
use ipc_proto::memory::{Manner, Task, TaskName, Vector, Work};
use proptest::prelude::*;
use std::collections::HashSet;

const BY: &str = "offline/one";

/// A vector as an interface carries it.
fn vector(by: &str, values: &[f32]) -> Vector {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    Vector { by: Text::clip(by), values: ipc_proto::Blob::new(bytes).unwrap() }
}

fn keeping(by: &str) -> Held {
    let mut held = Held::quick();
    held.store.keep_vectors_of(Some(Name::clip(by))).unwrap();
    held
}

/// The rows that wait at a time, each leased for 10 ms.
fn waiting(held: &mut Held, now_ms: u64) -> Vec<MemoryId> {
    let work = held.store.waiting(&[TaskName::Embed], 16, now_ms, now_ms + 10).unwrap();
    let id = |work: Work| if let Task::Embed { id, .. } = work.task { id } else { panic!("other work") };
    work.into_iter().map(id).collect()
}

fn asked(held: &Held, manner: Manner, vector: Vector) -> Result<Vec<MemoryId>, StoreError> {
    let question = Question { manner, vector: Some(vector), ..question("something", &[], 8) };
    let found = held.store.find(&user(1), &question, 1)?;
    Ok(found.into_iter().map(|found| found.hit.row.entry.id).collect())
}

fn embedded(held: &Held) -> (Option<String>, u32) {
    let stats = held.store.stats(&user(1)).unwrap();
    (stats.embedder.map(Text::into_string), stats.embedded)
}

fn vectors(held: &Held) -> i64 {
    held.store.db.query_row("SELECT count(*) FROM vector", [], |row| row.get(0)).unwrap()
}

#[test]
fn an_area_without_a_row_says_whose_vectors_are_kept() {
    let stats = keeping(BY).store.stats(&user(1)).unwrap();
    assert_eq!((stats.embedder, stats.embedded), (Some(Name::clip(BY)), 0));
}

// Holds P5-28.
#[test]
fn a_row_waits_for_a_vector_of_the_present_embedder() {
    let mut held = keeping(BY);
    held.write(&user(1), entry(1, "a harbour"));
    held.write(&user(2), entry(2, "a ferry"));
    assert_eq!(waiting(&mut held, 100), [id(1), id(2)]);
    assert_eq!(waiting(&mut held, 105), [], "they are in hand");
    held.store.embedded(&user(1), id(1), &vector(BY, &[1.0, 2.0])).unwrap();
    assert_eq!(waiting(&mut held, 200), [id(2)]);
    assert_eq!(embedded(&held), (Some(BY.to_owned()), 1));
    held.store.keep_vectors_of(Some(Name::clip("offline/two"))).unwrap();
    assert_eq!(embedded(&held), (Some("offline/two".to_owned()), 0));
    assert_eq!(waiting(&mut held, 300), [id(2), id(1)], "first what has none at all");
    held.store.keep_vectors_of(Some(Name::clip(BY))).unwrap();
    assert_eq!(waiting(&mut held, 400).len(), 2, "what it made before was of another time");
    held.store.keep_vectors_of(None).unwrap();
    assert_eq!(waiting(&mut held, 500), []);
    assert_eq!(embedded(&held), (None, 0));
}

// Holds P5-20.
#[test]
fn a_vector_of_another_embedder_or_length_is_refused() {
    let mut held = keeping(BY);
    held.write(&user(1), entry(1, "a harbour"));
    held.store.embedded(&user(1), id(1), &vector(BY, &[1.0, 2.0, 3.0])).unwrap();
    for (by, values) in [
        ("offline/two", &[1.0, 2.0, 3.0][..]),
        (BY, &[1.0, 2.0]),
        (BY, &[]),
        (BY, &[0.0, 0.0, 0.0]),
        (BY, &[1.0, f32::NAN, 3.0]),
        (BY, &[1.0, f32::INFINITY, 3.0]),
    ] {
        let refused = held.store.embedded(&user(1), id(1), &vector(by, values));
        assert!(matches!(refused, Err(StoreError::OtherEmbedder)), "{by} {values:?}");
        for manner in [Manner::Meaning, Manner::Fused, Manner::Weighted] {
            let refused = asked(&held, manner, vector(by, values));
            assert!(matches!(refused, Err(StoreError::OtherEmbedder)), "{by} {values:?}");
        }
    }
    assert_eq!(embedded(&held).1, 1);
}

// Holds P5-28.
#[test]
fn a_row_that_no_longer_holds_has_no_vector_and_gets_none() {
    let mut held = keeping(BY);
    for number in 1..=3 {
        held.write(&user(1), entry(number, "a harbour"));
        held.store.embedded(&user(1), id(number), &vector(BY, &[f32::from(number), -1.0])).unwrap();
    }
    held.store.remove(&user(1), id(1), "", 5).unwrap();
    assert_eq!(vectors(&held), 2);
    held.store.embedded(&user(1), id(1), &vector(BY, &[1.0, -1.0])).unwrap();
    held.store.embedded(&user(2), id(2), &vector(BY, &[-9.0, -1.0])).unwrap();
    assert_eq!(vectors(&held), 2, "another owner's row is not here");
    assert_eq!(asked(&held, Manner::Meaning, vector(BY, &[2.0, -1.0])).unwrap(), [id(2), id(3)]);
    held.store.reindex(&user(1)).unwrap();
    assert_eq!((vectors(&held), embedded(&held).1), (0, 0));
    assert_eq!(waiting(&mut held, 100), [id(2), id(3)]);
}

#[test]
fn vectors_survive_a_kill_and_a_new_index_finds_by_them() {
    let mut held = keeping(BY);
    for number in 1..=3 {
        held.write(&user(1), entry(number, "a harbour"));
    }
    for number in [3, 1] {
        held.store.embedded(&user(1), id(number), &vector(BY, &[f32::from(number), -1.0])).unwrap();
    }
    let mut held = held.reopened();
    held.store.keep_vectors_of(Some(Name::clip(BY))).unwrap();
    assert_eq!(asked(&held, Manner::Meaning, vector(BY, &[1.0, -1.0])).unwrap(), [id(1), id(3)]);
    assert_eq!(waiting(&mut held, 100), [id(2)]);
    held.store.embedded(&user(1), id(2), &vector(BY, &[1.0, -1.0])).unwrap();
    assert_eq!(asked(&held, Manner::Meaning, vector(BY, &[1.0, -1.0])).unwrap()[0], id(2));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    // Holds P5-26.
    #[test]
    fn the_best_by_meaning_are_the_same_with_the_index_and_without(
        subjects in prop::collection::vec(prop::collection::vec(-1.0_f32..1.0, 64), 20),
        noise in prop::collection::vec(prop::collection::vec(-0.2_f32..0.2, 64), 240),
        leaves in prop::collection::vec(any::<bool>(), 20),
    ) {
        // Each subject has twelve rows near it, one of which may have left: more than are asked for.
        let near = |n: usize| -> Vec<f32> {
            subjects[n % 20].iter().zip(&noise[n]).map(|(subject, noise)| subject + noise).collect()
        };
        let gone = |n: usize| n < 20 && leaves[n];
        let many = |n: usize| MemoryId::from_bytes(u128::try_from(n).unwrap().to_be_bytes());
        let mut held = keeping(BY);
        for n in 0..240 {
            held.write(&user(1), Entry { id: many(n), ..entry(1, "a row") });
            held.store.embedded(&user(1), many(n), &vector(BY, &near(n))).unwrap();
        }
        for n in (0..20).filter(|n| gone(*n)) {
            held.store.remove(&user(1), many(n), "", 5).unwrap();
        }
        for subject in &subjects {
            let length = |values: &[f32]| values.iter().map(|value| value * value).sum::<f32>().sqrt();
            let likeness = |n: usize| {
                let near = near(n);
                let sum: f32 = near.iter().zip(subject).map(|(one, other)| one * other).sum();
                sum / length(&near) / length(subject)
            };
            let mut best: Vec<usize> = (0..240).filter(|n| !gone(*n)).collect();
            best.sort_by(|one, other| likeness(*other).total_cmp(&likeness(*one)).then(other.cmp(one)));
            let found = asked(&held, Manner::Meaning, vector(BY, subject)).unwrap();
            // Two that are equally near but for rounding may stand either way.
            let apart = found.iter().zip(&best).filter(|(found, best)| **found != many(**best));
            for (found, best) in apart {
                let found = (0..240).find(|n| many(*n) == *found).unwrap();
                prop_assert!((likeness(found) - likeness(*best)).abs() < 1e-5);
            }
            prop_assert_eq!(found.len(), 8);
            prop_assert_eq!(found.iter().collect::<HashSet<_>>().len(), 8);
        }
    }
}
