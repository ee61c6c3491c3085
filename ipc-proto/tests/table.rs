//! The interfaces and the table say the same: every method of every service has exactly one entry, and back.

use ipc_proto::Method;
use manifest::Process;
use std::collections::BTreeSet;

fn interfaces() -> Vec<(Process, Vec<&'static [Method]>)> {
    vec![
        (Process::Audit, vec![ipc_proto::audit::METHODS]),
        (Process::Dialer, vec![ipc_proto::dialer::METHODS]),
        (Process::Credproxy, vec![ipc_proto::credproxy::METHODS]),
        (Process::Scanner, vec![ipc_proto::scanner::METHODS]),
        (Process::Memory, vec![ipc_proto::memory::METHODS]),
        (Process::Web, vec![ipc_proto::web::METHODS]),
        (Process::Model, vec![ipc_proto::model::METHODS]),
        (Process::Router, vec![ipc_proto::router::METHODS]),
        (Process::Embedder, vec![ipc_proto::embedder::METHODS]),
        (Process::Curator, vec![ipc_proto::curator::METHODS]),
        (Process::Gate, vec![ipc_proto::gate::METHODS, ipc_proto::runner_gate::METHODS]),
        (Process::Gateway, vec![]),
        (Process::Control, vec![]),
        (Process::Runner, vec![]),
        (Process::AgentRunner, vec![]),
    ]
}

// Holds P3-01.
#[test]
fn every_method_of_every_service_has_exactly_one_entry_and_back() {
    let interfaces = interfaces();
    assert_eq!(interfaces.len(), manifest::TABLE.len());
    for (process, lists) in interfaces {
        let stated: BTreeSet<_> = lists.into_iter().flatten().map(|method| method.name).collect();
        let listed: BTreeSet<_> =
            manifest::row(process).unwrap().serves.iter().map(|allow| allow.method).collect();
        assert_eq!(stated, listed, "{}", process.name());
    }
}

// Holds B-04, P9-02.
#[test]
fn every_method_has_a_bound_and_a_deadline_and_bounds_stay_under_20_mib() {
    for (process, lists) in interfaces() {
        for method in lists.into_iter().flatten() {
            assert!(method.bound >= 1024 && method.bound <= 20 << 20, "{} {}", process.name(), method.name);
            assert!((1..=150).contains(&method.deadline.as_secs()), "{} {}", process.name(), method.name);
        }
    }
}
