//! The laws of the table. Each is a promise of SPECIFICATION.md; a row that breaks one does not get in.

use manifest::syscalls::Condition;
use manifest::{Network, Place, Process, TABLE, syscalls};
use std::collections::{BTreeMap, BTreeSet};

// Holds P2-01.
#[test]
fn every_process_but_the_supervisor_has_exactly_one_row() {
    for process in Process::ALL {
        let rows = TABLE.iter().filter(|row| row.process == process).count();
        assert_eq!(rows, usize::from(process != Process::Agentd), "{}", process.name());
    }
}

// Holds P3-02.
#[test]
fn a_caller_stands_after_its_callee() {
    for row in TABLE {
        for (method, callers) in row.methods() {
            for caller in callers {
                assert!(*caller > row.process, "{} calls {}.{}", caller.name(), row.process.name(), method);
            }
        }
    }
}

#[test]
fn rows_stand_in_order_of_start() {
    assert!(TABLE.is_sorted_by_key(|row| row.process));
}

#[test]
fn no_method_is_listed_twice_and_every_listed_one_has_a_caller() {
    for row in TABLE {
        let names: BTreeSet<_> = row.methods().map(|(method, _)| method).collect();
        assert_eq!(names.len(), row.methods().count(), "{}", row.process.name());
        assert!(row.serves.iter().all(|audience| !audience.callers.is_empty()), "{}", row.process.name());
        assert!(row.serves.iter().all(|audience| audience.why.len() > 8), "{}", row.process.name());
    }
}

// Holds P2-01.
#[test]
fn every_process_has_its_own_user_and_none_is_root() {
    let users: BTreeSet<_> = TABLE.iter().map(|row| row.user).collect();
    assert_eq!(users.len(), TABLE.len());
    assert!(!users.contains("root"));
}

// Holds P2-01.
#[test]
fn every_process_has_an_id_of_its_own_and_keeps_it() {
    let ids: BTreeMap<_, _> = TABLE.iter().map(|row| (row.process.name(), row.process.id())).collect();
    for (name, id) in [
        ("audit", 1),
        ("dialer", 2),
        ("credproxy", 3),
        ("scanner", 4),
        ("memory", 5),
        ("web", 6),
        ("model", 7),
        ("router", 8),
        ("channel@telegram", 16),
        ("embedder", 15),
        ("gate", 9),
        ("curator", 14),
        ("gateway", 12),
        ("control", 10),
        ("runner", 11),
        ("runner@agent", 13),
        ("runner@net", 27),
        ("scheduler", 28),
    ] {
        assert_eq!(ids.get(name), Some(&id), "files belong to the id of {name}");
    }
    let numbers: BTreeSet<u8> = ids.into_values().collect();
    assert!(numbers.into_iter().eq((1_u8..).take(TABLE.len())), "a new process takes the next free id");
}

// Holds P12-45.
#[test]
fn scheduler_calls_router_and_audit_alone() {
    let row = manifest::row(Process::Scheduler).unwrap();
    let calls = |callee: &manifest::Row| -> Vec<&'static str> {
        callee
            .methods()
            .filter(|(_, by)| by.contains(&Process::Scheduler))
            .map(|(method, _)| method)
            .collect()
    };
    let called: BTreeMap<_, Vec<_>> = TABLE.iter().map(|callee| (callee.process, calls(callee))).collect();
    let called: Vec<_> = called.into_iter().filter(|(_, methods)| !methods.is_empty()).collect();
    let fires = vec!["check_fire", "fire", "fired"];
    assert_eq!(called, [(Process::Audit, vec!["append"]), (Process::Router, fires)]);
    assert!(row.optional && row.commands.is_empty() && row.network == Network::None);
}

#[test]
fn each_command_is_sent_by_the_processes_that_need_it_and_no_other() {
    use manifest::command::Kind;
    let sends = |process| -> Vec<Kind> {
        let kinds = (0..u64::from(u8::MAX)).filter_map(Kind::from_number);
        let row = manifest::row(process).unwrap();
        kinds.filter(|kind| row.may_send(*kind) && !manifest::COMMON_COMMANDS.contains(kind)).collect()
    };
    for row in TABLE {
        let expected: &[Kind] = match row.process {
            Process::Audit => &[Kind::Record],
            Process::Credproxy => &[Kind::Locked],
            Process::Router => &[Kind::Launch, Kind::Kill, Kind::SetDeadline, Kind::Remove, Kind::Forget],
            Process::Gate => &[Kind::Launch, Kind::Kill, Kind::Remove],
            Process::Control => &[
                Kind::Attach,
                Kind::Restart,
                Kind::Hold,
                Kind::Release,
                Kind::Shutdown,
                Kind::Freeze,
                Kind::Thaw,
                Kind::Probe,
                Kind::Recorded,
            ],
            _ => &[],
        };
        assert_eq!(sends(row.process), expected, "{}", row.process.name());
    }
}

#[test]
fn listeners_and_the_vaults_key_are_inherited_by_their_process_alone() {
    use manifest::Inherited::{Credential, KeyPage, Listener};
    use manifest::command::ListenerKind::{Tcp, Unix};
    for row in TABLE {
        let expected: &[manifest::Inherited] = match row.process {
            Process::Credproxy => &[KeyPage, Credential],
            Process::Gateway => &[Listener(Unix), Listener(Tcp)],
            Process::Control => &[Listener(Unix)],
            Process::Ingress => &[Listener(Tcp)],
            _ => &[],
        };
        assert_eq!(row.inherits, expected, "{}", row.process.name());
    }
}

// Holds P4-01.
#[test]
fn only_dialer_has_a_network() {
    for row in TABLE {
        assert_eq!(row.network == Network::Client, row.process == Process::Dialer, "{}", row.process.name());
        let dials = row.syscalls.iter().any(|group| group.name == "dial");
        assert_eq!(dials, row.process == Process::Dialer, "{}", row.process.name());
    }
}

// Holds P4-02.
#[test]
fn only_gate_reaches_model_and_web_and_only_three_send_with_secrets() {
    for caller in TABLE.iter().map(|row| row.process) {
        for behind in [Process::Model, Process::Web] {
            assert_eq!(manifest::edge(caller, behind), caller == Process::Gate, "{}", caller.name());
        }
        let sends = matches!(caller, Process::Model | Process::Web | Process::Gate);
        assert_eq!(manifest::allowed(caller, Process::Credproxy, "request"), sends, "{}", caller.name());
    }
}

// Holds P4-04.
#[test]
fn gateway_opens_nothing_and_reaches_the_gate_and_the_router_alone() {
    let row = manifest::row(Process::Gateway).unwrap();
    assert!(row.opens.is_empty() && row.serves.is_empty());
    for callee in TABLE.iter().map(|row| row.process) {
        let reached = matches!(callee, Process::Gate | Process::Router);
        assert_eq!(manifest::edge(Process::Gateway, callee), reached, "{}", callee.name());
    }
    for method in ["create_key", "revoke_key", "submit", "identify"] {
        assert!(!manifest::allowed(Process::Gateway, Process::Router, method), "{method}");
    }
}

// Holds P4-03.
#[test]
fn curator_takes_work_and_settles_it_and_reads_no_memory_by_itself() {
    for (callee, method, may) in [
        (Process::Memory, "waiting", true),
        (Process::Memory, "settle", true),
        (Process::Memory, "ask", false),
        (Process::Gate, "background", true),
        (Process::Gate, "next_rerank", true),
        (Process::Gate, "finish_rerank", true),
        (Process::Gate, "find", false),
        (Process::Gate, "relay", false),
        (Process::Gate, "effect", false),
    ] {
        assert_eq!(manifest::allowed(Process::Curator, callee, method), may, "{method}");
        let others = TABLE.iter().map(|row| row.process).filter(|it| *it != Process::Curator);
        if may {
            assert!(others.clone().all(|other| !manifest::allowed(other, callee, method)), "{method}");
        }
    }
    for callee in TABLE.iter().map(|row| row.process) {
        let reached = matches!(callee, Process::Memory | Process::Gate | Process::Embedder | Process::Audit);
        assert_eq!(manifest::edge(Process::Curator, callee), reached, "{}", callee.name());
    }
}

// Holds P5-16.
#[test]
fn embedder_calls_nobody_opens_nothing_after_its_seal_and_writes_nowhere() {
    let row = manifest::row(Process::Embedder).unwrap();
    assert!(TABLE.iter().all(|other| !manifest::edge(Process::Embedder, other.process)));
    for call in ["openat", "open", "socket", "clone", "sched_getaffinity"] {
        assert_eq!(syscalls::calls(row, call).count(), 0, "{call}");
    }
    assert!(row.opens.iter().all(|open| open.access == manifest::Access::Read));
}

// Holds P1-17.
#[test]
fn every_jail_is_launched_by_one_process_and_nothing_else_is_launched() {
    let launched: Vec<Process> = TABLE.iter().flat_map(|row| row.launches).copied().collect();
    assert_eq!(launched, Process::RUNNERS);
    for row in TABLE {
        let launches = row.may_send(manifest::command::Kind::Launch);
        assert_eq!(launches, !row.launches.is_empty(), "{}", row.process.name());
    }
}

// Holds P1-17.
#[test]
fn a_runner_reaches_the_gate_alone_and_nobody_calls_a_runner() {
    for runner in Process::RUNNERS.iter().copied() {
        for row in TABLE {
            assert_eq!(manifest::edge(runner, row.process), row.process == Process::Gate);
        }
        assert!(manifest::row(runner).unwrap().serves.is_empty());
    }
}

// Holds P1-20.
#[test]
fn a_person_s_program_has_no_host_tool_and_a_runner_not_its_model_calls() {
    let may = |runner, method| manifest::allowed(runner, Process::Gate, method);
    for method in ["start_completion", "poll_completion", "effect", "result", "progress"] {
        assert_eq!(
            (may(Process::Runner, method), may(Process::AgentRunner, method)),
            (true, false),
            "{method}"
        );
    }
    for method in [
        "run_models",
        "run_ask",
        "run_pull",
        "run_end",
        "run_count",
        "run_input",
        "engine",
        "save_engine_state",
    ] {
        assert_eq!(
            (may(Process::Runner, method), may(Process::AgentRunner, method)),
            (false, true),
            "{method}"
        );
    }
}

// Holds P1-56.
#[test]
fn a_turn_with_a_way_out_has_a_runner_s_rights_and_the_way_out() {
    let of = |process| manifest::row(process).unwrap();
    let methods = |process| -> Vec<&str> {
        let serves = of(Process::Gate).serves.iter().filter(|serves| serves.callers.contains(&process));
        serves.flat_map(|serves| serves.methods).copied().collect()
    };
    let mut expected = methods(Process::Runner);
    expected.extend(["net_request", "net_next", "net_tunnel", "net_send", "net_close"]);
    assert_eq!(methods(Process::NetRunner), expected);
    let groups = |process| -> Vec<&str> { of(process).syscalls.iter().map(|group| group.name).collect() };
    let mut expected = groups(Process::Runner);
    expected.push("loopback");
    assert_eq!(groups(Process::NetRunner), expected);
    let limits = |process| format!("{:?}", of(process).limits);
    assert_eq!(limits(Process::NetRunner), limits(Process::Runner));
}

// Holds P1-20.
#[test]
fn only_programs_of_others_have_a_loopback_and_no_unix_sockets_but_pairs() {
    for row in TABLE {
        let apart = row.process.is_runner() && row.process != Process::Runner;
        assert_eq!(row.network == Network::Loopback, apart, "{}", row.process.name());
        assert_eq!(
            row.syscalls.iter().any(|group| group.name == "loopback"),
            apart,
            "{}",
            row.process.name()
        );
    }
    let row = manifest::row(Process::AgentRunner).unwrap();
    for kind in 1..6 {
        assert!(!syscalls::allows(row, "socket", &[1, kind, 0, 0, 0, 0], 7), "AF_UNIX, type {kind}");
        assert!(!syscalls::allows(row, "socket", &[2, kind, 262, 0, 0, 0], 7), "MPTCP, type {kind}");
    }
    assert!(syscalls::allows(row, "socket", &[2, 0x8_0801, 6, 0, 0, 0], 7));
    let option = |name| syscalls::allows(row, "setsockopt", &[3, 6, name, 0, 4, 0], 7);
    assert!([1, 4, 5, 6, 18].into_iter().all(option), "delays and times of TCP");
    assert!(![19, 30, 31].into_iter().any(option), "TCP_REPAIR, TCP_FASTOPEN_CONNECT, TCP_ULP");
}

// Holds P2-02.
#[test]
fn capability_lists_are_empty_and_every_grant_has_a_reason() {
    for row in TABLE {
        assert!(row.capabilities.is_empty(), "{}", row.process.name());
        assert!(row.opens.iter().all(|open| open.why.len() > 8), "{}", row.process.name());
        assert!(row.syscalls.iter().all(|group| group.why.len() > 8), "{}", row.process.name());
        assert!(row.does.len() > 8);
    }
}

// Holds P2-02.
#[test]
fn nobody_may_write_outside_its_own_folder() {
    for open in TABLE.iter().flat_map(|row| row.opens) {
        assert!(open.access != manifest::Access::Write || open.place == Place::Own);
    }
}

// Holds P2-03.
#[test]
fn no_actor_may_map_code_fork_or_pass_descriptors_it_has_no_reason_to() {
    for row in TABLE.iter().filter(|row| !row.process.is_runner()) {
        let calls: Vec<_> = row.syscalls.iter().flat_map(|group| group.calls).collect();
        for forbidden in
            ["clone", "fork", "vfork", "execve", "execveat", "ptrace", "socketpair", "io_uring_setup"]
        {
            assert!(
                calls.iter().all(|call| call.name != forbidden),
                "{} has {forbidden}",
                row.process.name()
            );
        }
        let passes = calls.iter().any(|call| call.name == "sendmsg");
        assert_eq!(
            passes,
            matches!(row.process, Process::Dialer | Process::Control),
            "{}",
            row.process.name()
        );
        for call in calls.iter().filter(|call| call.name == "mmap") {
            assert!(!call.when.is_empty(), "{} may map code", row.process.name());
        }
    }
}

#[test]
fn no_group_lists_a_call_twice_and_no_call_refused_to_runners_is_granted() {
    for row in TABLE {
        for group in row.syscalls {
            let rules: BTreeSet<_> =
                group.calls.iter().map(|call| (call.name, format!("{:?}", call.when))).collect();
            assert_eq!(rules.len(), group.calls.len(), "{}", group.name);
        }
    }
    let runner = manifest::row(Process::Runner).unwrap();
    let refused = syscalls::RUNNER_REFUSES.iter().map(|(name, _)| name).chain(syscalls::RUNNER_KILLS);
    for name in refused {
        assert_eq!(syscalls::calls(runner, name).count(), 0, "{name}");
    }
    for quiet in syscalls::QUIET {
        let refused = syscalls::RUNNER_REFUSES.iter().find(|(name, _)| *name == quiet.name);
        assert_eq!(refused.map(|(_, errno)| *errno), Some(quiet.errno), "{}", quiet.name);
        assert!(quiet.why.len() > 8 || quiet.why == "the same", "{}", quiet.name);
    }
}

// Holds P2-12.
#[test]
fn every_bound_argument_has_a_reason_and_every_condition_its_rules() {
    for call in TABLE.iter().flat_map(|row| row.syscalls).flat_map(|group| group.calls) {
        assert_eq!(call.when.is_empty(), call.why.is_empty(), "{}", call.name);
        assert!(call.when.iter().all(|all| !all.is_empty()), "{}", call.name);
    }
    let rules = || TABLE.iter().flat_map(|row| row.syscalls).flat_map(|group| group.calls);
    let of = |condition| rules().filter(move |call| call.rare == Some(condition));
    for condition in Condition::ALL {
        assert!(condition.says().len() > 8 && of(*condition).count() > 0, "{condition:?}");
    }
    assert!(rules().filter_map(|call| call.rare).all(|condition| Condition::ALL.contains(&condition)));
}

// Holds P2-14.
#[test]
fn no_row_but_the_runner_s_can_execute_its_memory_or_signal_another() {
    for row in TABLE.iter().filter(|row| !row.process.is_runner()) {
        for protection in 0..8_u64 {
            let arguments = [0, 4096, protection, 0x22, u64::MAX, 0];
            let allowed = syscalls::allows(row, "mmap", &arguments, 7);
            assert_eq!(allowed, protection & 4 == 0, "{} {protection}", row.process.name());
            for call in ["mprotect", "pkey_mprotect"] {
                assert!(!syscalls::allows(row, call, &arguments, 7), "{} {call}", row.process.name());
            }
        }
        for (pid, signal) in [(7, 9), (8, 6), (0, 6), (u64::MAX, 6)] {
            assert!(!syscalls::allows(row, "tgkill", &[pid, pid, signal, 0, 0, 0], 7));
        }
        assert!(!syscalls::allows(row, "kill", &[7, 6, 0, 0, 0, 0], 7));
    }
}

// Holds P10-04.
#[test]
fn a_channel_reaches_router_credproxy_and_its_hooks_alone() {
    for channel in TABLE.iter().filter(|row| row.process.is_channel()) {
        assert!(channel.opens.is_empty() && channel.serves.is_empty() && channel.network == Network::None);
        for callee in TABLE.iter().map(|row| row.process) {
            let hooked = matches!(channel.process, Process::Whatsapp | Process::Webhook);
            let reached = matches!(callee, Process::Router | Process::Credproxy)
                || (hooked && callee == Process::Ingress);
            assert_eq!(manifest::edge(channel.process, callee), reached, "{}", callee.name());
        }
        for (method, callers) in manifest::row(Process::Router).into_iter().flat_map(manifest::Row::methods) {
            let own = method.starts_with("channel_");
            assert_eq!(callers.contains(&channel.process), own, "{method}");
        }
    }
}
