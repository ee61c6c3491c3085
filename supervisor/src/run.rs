//! `agentd run`: makes the host, starts every process, runs the event loop, and stops everything in the end.

use crate::args::Options;
use crate::event_loop;
use crate::exit::Fault;
use crate::host::Host;
use crate::{own_log, probing, setup, start};
use manifest::Process as Name;
use manifest::command::{EndCause, Frame, HostState, Kind, Mode};
use std::time::{Duration, Instant};

/// The time that a process has to finish its work when the host stops.
const DRAIN: Duration = Duration::from_millis(2_000);

/// The time in which a process that has had its time to finish ends by itself. A busy machine needs most of it.
const EXIT: Duration = Duration::from_millis(1_000);

/// Printed at each start in mode flat.
const FLAT: &str = "mode flat gives up: own network, mount, pid and ipc namespaces of every process; a \
    runner's private /tmp, /proc and read-only root; killing all of a jail at once by its pid namespace; limits \
    that the kernel counts for one jail alone. What is left: landlock, seccomp and the descriptor topology.";

/// Runs the host until it is asked to stop.
pub(crate) fn run(options: &Options) -> Result<(), Fault> {
    let began = Instant::now();
    let mut host = setup::host(options)?;
    event_loop::update_clock(&mut host);
    for name in host.processes.names() {
        start::start(&mut host, name)?;
    }
    while !host.stop_asked && host.start_failed.is_none() {
        let before = host.state;
        event_loop::once(&mut host, None);
        if before == HostState::Starting && host.state == HostState::Ready {
            let mode = host.jails.mode;
            own_log::info(&format!("ready in {} ms, mode {}", began.elapsed().as_millis(), mode.name()));
            if mode == Mode::Flat {
                own_log::warn(FLAT);
            }
        }
        probing::begin_self_test(&mut host);
    }
    stop(&mut host);
    host.jails.limits.close();
    match host.start_failed {
        Some((name, failure)) => Err(Fault::of_process(name, failure)),
        None => Ok(()),
    }
}

/// Stops the host: runners first, then the table backwards, each process with time to finish its work.
fn stop(host: &mut Host) {
    host.freeze.thaw(&mut host.processes, &mut host.runners);
    host.state = HostState::Stopping;
    host.notify.send("STOPPING=1\nSTATUS=stopping");
    host.runners.kill_all();
    host.attachments.end();
    host.probes.kill_all();
    let names: Vec<Name> = host.processes.names();
    for name in names.into_iter().rev() {
        let Some(process) = host.processes.get_mut(name) else { continue };
        process.due = None;
        let millis = u64::try_from(DRAIN.as_millis()).unwrap_or(0);
        process.send(Frame::new(Kind::Drain, name).with(&[millis]), &[]);
        if let Some(life) = &mut process.life {
            life.ending = true;
        }
        let until = Instant::now() + DRAIN + EXIT;
        while host.processes.life(name).is_some() {
            if Instant::now() > until {
                host.processes.kill(name, EndCause::Late, "it did not finish in time");
            }
            event_loop::once(host, Some(Duration::from_millis(20)));
        }
    }
}
