//! Resource limits of a row, set before exec.

use manifest::Limits;
use nix::sys::resource::{Resource, setrlimit};
use std::io;

const MIB: u64 = 1024 * 1024;

/// Sets the limits except that of descriptors, soft and hard alike. The number of processes is limited only where the jail has its
/// own user namespace: elsewhere the kernel counts everything that the user runs.
pub(crate) fn set(limits: &Limits, own_count: bool) -> io::Result<()> {
    let set = |resource, value| setrlimit(resource, value, value);
    set(Resource::RLIMIT_CORE, 0)?;
    set(Resource::RLIMIT_DATA, u64::from(limits.memory_mib) * MIB)?;
    set(Resource::RLIMIT_FSIZE, u64::from(limits.file_mib) * MIB)?;
    if limits.processes > 0 && own_count {
        set(Resource::RLIMIT_NPROC, limits.processes.into())?;
    }
    Ok(())
}

/// Sets the limit of descriptors, once they are placed: until then the child holds copies of all that agentd has open, which may be
/// more.
pub(crate) fn set_files(limits: &Limits) -> io::Result<()> {
    Ok(setrlimit(Resource::RLIMIT_NOFILE, limits.files.into(), limits.files.into())?)
}

/// Sets the CPU seconds of each process of a runner's jail: a spinning tool ends before the wall clock does. The hard limit is a
/// second more, for SIGXCPU, which names the reason; a hard limit equal to the soft one kills at once.
pub(crate) fn set_cpu(seconds: u64) -> io::Result<()> {
    Ok(setrlimit(Resource::RLIMIT_CPU, seconds, seconds.saturating_add(1))?)
}
