//! The interfaces and the table say the same: every method of every service has exactly one entry, and back.

use ipc_proto::Method;
use manifest::TABLE;
use std::collections::BTreeSet;

/// Every method that a row's interfaces state.
fn stated(row: &manifest::Row) -> impl Iterator<Item = &'static Method> {
    ipc_proto::interfaces(row.process).iter().copied().flatten()
}

// Holds P3-01.
#[test]
fn every_method_of_every_service_has_exactly_one_entry_and_back() {
    for row in TABLE {
        let stated: BTreeSet<_> = stated(row).map(|method| method.name).collect();
        let listed: BTreeSet<_> = row.methods().map(|(method, _)| method).collect();
        assert_eq!(stated, listed, "{}", row.process.name());
    }
}

// Holds B-04, P9-02.
#[test]
fn every_method_has_a_bound_and_a_deadline_and_bounds_stay_under_20_mib() {
    for row in TABLE {
        for method in stated(row) {
            assert!(
                method.bound >= 1024 && method.bound <= 20 << 20,
                "{} {}",
                row.process.name(),
                method.name
            );
            assert!((1..=150).contains(&method.deadline.as_secs()), "{} {}", row.process.name(), method.name);
        }
    }
}
