//! Commands to agentd: a process that sends a command which its row does not permit is ended, and nothing else comes of it.

use crate::probed::{actors, launch, processes};
use manifest::Process;
use manifest::command::Kind;

/// Frames that are said in one host: each costs a life.
const AT_ONCE: usize = 6;
/// A number that stands for no kind.
const NO_KIND: u16 = 99;

/// Returns whether an actor that serves may send this: its filter's listener was sent before it served, once in its life.
fn may(process: Process, kind: Kind) -> bool {
    kind != Kind::Listening && manifest::row(process).is_some_and(|row| row.may_send(kind))
}

/// The kinds that `process` may not say, by their numbers, and one that is none.
fn forbidden(process: Process) -> Vec<u16> {
    let kinds = (0..NO_KIND).filter_map(|number| Kind::from_number(number.into()));
    kinds.filter(|kind| !may(process, *kind)).map(|kind| kind as u16).chain([NO_KIND]).collect()
}

#[test]
fn a_process_that_sends_a_command_of_anothers_row_is_ended() {
    let most = actors().map(|process| forbidden(process).len()).max().unwrap();
    assert!(most > 12);
    let hosts: Vec<_> = (0..most.div_ceil(AT_ONCE)).map(|share| said_in_one_host(share * AT_ONCE)).collect();
    for (probed, shares) in &hosts {
        for (process, kinds) in shares {
            let name = process.name();
            probed.wait_said(*process, &format!("life {}", kinds.len() + 1));
            for kind in kinds {
                assert!(probed.said(*process).contains(&format!("tell {kind}")), "{name} did not say {kind}");
            }
            let ended = |why: &str| {
                let line = format!("agentd: {name} is ended: {why}");
                probed.host.log().lines().filter(|said| said.ends_with(&line)).count()
            };
            let none = kinds.iter().filter(|kind| **kind == NO_KIND).count();
            assert_eq!(ended("it sent an invalid frame"), none, "{name}");
            assert_eq!(ended("it sent a command that its row does not permit"), kinds.len() - none, "{name}");
        }
        // The host neither stopped nor held, launched or plumbed anything on such a word.
        assert_eq!(processes(&probed.host).len(), actors().count());
    }
}

type Shares = Vec<(Process, Vec<u16>)>;

fn said_in_one_host(from: usize) -> (crate::probed::Probed, Shares) {
    let shares: Shares = actors()
        .map(|process| (process, forbidden(process).into_iter().skip(from).take(AT_ONCE).collect()))
        .collect();
    let items = |kinds: &[u16]| kinds.iter().map(u16::to_string).collect::<Vec<_>>().join("\n");
    let tasks: Vec<(Process, String)> =
        shares.iter().map(|(process, kinds)| (*process, format!("tell\n{}", items(kinds)))).collect();
    let tasks: Vec<(Process, &str)> = tasks.iter().map(|(process, task)| (*process, task.as_str())).collect();
    (launch("", &tasks), shares)
}
