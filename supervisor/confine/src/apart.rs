//! Launches a runner into a jail with namespaces, in a child that borrows agentd's memory: nothing of agentd is copied, and agentd
//! waits until the child has executed the runner's program.
//!
//! The child's code may only make system calls on prepared data: no allocation, no lock, no panic. agentd has one thread, and the
//! child has its own stack, signal handlers, limits and working directory, and its own descriptors before it opens or closes any. So
//! all that it changes in agentd is the report of a failed step.

use crate::cell::{Cell, INSIDE};
use crate::child::{
    At, Child, LaunchFault, Step, die_with_parent, own_session, place_descriptors, program_number,
    reset_signals,
};
use crate::descriptor_slots::Placed;
use crate::jail::{RunnerJail, is_left_out};
use crate::template::Template;
use crate::{caps, limits, root, sys};
use manifest::command::Mode;
use manifest::{Network, Process, Row};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::wait::waitpid;
use nix::unistd::{Pid, sethostname};
use std::ffi::{CStr, c_char, c_void};
use std::io;
use std::sync::atomic::{AtomicI32, AtomicU8, Ordering};

/// The namespaces that the child is made in. Its mount namespace comes later, as a copy of the template's.
const NEW: libc::c_int = libc::CLONE_NEWPID | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS | libc::CLONE_NEWCGROUP;

/// Everything that the child needs.
struct Plan<'a> {
    jail: &'a RunnerJail<'a>,
    template: &'a Template,
    cell: &'a Cell,
    placed: &'a Placed<'a>,
    arguments: [*const c_char; 3],
    /// The step that failed, and its errno; 0 while none has.
    failed: AtomicU8,
    errno: AtomicI32,
}

/// Starts a runner.
pub(crate) fn launch(jail: &RunnerJail<'_>, template: &Template, cell: &Cell) -> Result<Child, LaunchFault> {
    let mode = if cell.mode() == Mode::User { c"user" } else { c"system" };
    let RunnerJail { null, gate, notices, program, .. } = jail;
    let placed = template.slots().place(null, [null, gate, notices, program]).at(Step::Descriptors)?;
    let mut plan = Plan {
        jail,
        template,
        cell,
        placed: &placed,
        arguments: [program_name(jail.row).as_ptr(), mode.as_ptr(), std::ptr::null()],
        failed: AtomicU8::new(0),
        errno: AtomicI32::new(0),
    };
    // SAFETY: `begin` expects a plan and gets one that outlives the child's use of it, and keeps to the rules at this file's
    // head.
    let (pid, pidfd) = unsafe { sys::borrow(NEW, begin, (&raw mut plan).cast()) }.at(Step::Clone)?;
    match plan.errno.load(Ordering::Relaxed) {
        0 => Ok(Child { pid, pidfd }),
        errno => {
            let _ = waitpid(Pid::from_raw(pid), None);
            let step = Step::from_number(plan.failed.load(Ordering::Relaxed));
            Err(LaunchFault { step, cause: io::Error::from_raw_os_error(errno) })
        }
    }
}

/// The program's first argument: `ps` shows it, and a runner knows its row by it.
const fn program_name(row: &Row) -> &'static CStr {
    match row.process {
        Process::AgentRunner => c"runner@agent",
        Process::NetRunner => c"runner@net",
        Process::McpRunner => c"runner@mcp",
        Process::BrowserRunner => c"runner@browser",
        _ => c"runner",
    }
}

/// The child's code. It returns only if the child could not become a runner.
extern "C" fn begin(plan: *mut c_void) -> libc::c_int {
    // SAFETY: `launch` gave a plan, which nothing else uses while the child does.
    let plan = unsafe { &*plan.cast::<Plan<'_>>() };
    if let Err(fault) = become_runner(plan) {
        plan.failed.store(fault.step as u8, Ordering::Relaxed);
        plan.errno.store(fault.cause.raw_os_error().unwrap_or(libc::EIO), Ordering::Relaxed);
    }
    127
}

fn become_runner(plan: &Plan<'_>) -> Result<(), LaunchFault> {
    let Plan { jail, template, cell, .. } = plan;
    die_with_parent(None).at(Step::DeathSignal)?;
    own_session().at(Step::Signals)?;
    // Both belong to agentd's user namespace, so they are entered before the runner's own.
    setns(cell.network(), CloneFlags::CLONE_NEWNET).at(Step::Network)?;
    // The host's tree is unreachable after this.
    setns(template.namespace(), CloneFlags::CLONE_NEWNS).at(Step::Copy)?;
    unshare(CloneFlags::CLONE_NEWNS).at(Step::Copy)?;
    root::own_mounts().at(Step::Mounts)?;
    if jail.row.network == Network::Loopback {
        root::own_terminals().at(Step::Mounts)?;
    }
    sethostname("AGENT").at(Step::HostName)?;
    if !is_left_out(jail.weakened) {
        drop_privileges(cell)?;
    }
    sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0).at(Step::NoNewPrivs)?;
    limits::set(&jail.row.limits, true).at(Step::Limits)?;
    limits::set_cpu(jail.cpu_seconds).at(Step::Limits)?;
    plan.placed.leave_the_rest().at(Step::Descriptors)?;
    let [null, gate, notices, program] = plan.placed.all();
    let stay = [null, null, null, gate, notices];
    place_descriptors(&stay, &[program]).at(Step::Descriptors)?;
    limits::set_files(&jail.row.limits).at(Step::Limits)?;
    // Last, after the uid change that clears it. In its own pid namespace the child cannot see its parent; if agentd has
    // ended, the runner's program finds its socket closed and ends.
    die_with_parent(None).at(Step::DeathSignal)?;
    reset_signals().at(Step::Signals)?;
    // SAFETY: the list ends in null, and its strings are static.
    Err(unsafe { sys::execute_raw(program_number(&stay), &plan.arguments) }).at(Step::Execute)
}

/// Enters the user namespace of its slot, takes the ids there, and drops every capability.
fn drop_privileges(cell: &Cell) -> Result<(), LaunchFault> {
    if cell.has_own_ids() {
        sys::drop_groups().at(Step::Ids)?;
    }
    // Mounts, network and pids belong to the namespace above: regained capabilities give nothing over them.
    setns(cell.user(), CloneFlags::CLONE_NEWUSER).at(Step::UserNamespace)?;
    caps::drop_bounding().at(Step::Bounding)?;
    sys::set_ids(INSIDE, INSIDE).at(Step::Ids)?;
    caps::drop_all().at(Step::Capabilities)
}
