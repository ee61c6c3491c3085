//! The few system calls that no safe library wraps: one thin function each, with errno as `io::Error`.

use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use std::ffi::{CStr, c_void};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// An errno-style return as a result.
pub(crate) fn check(value: libc::c_long) -> io::Result<libc::c_long> {
    if value < 0 { Err(io::Error::last_os_error()) } else { Ok(value) }
}

/// `prctl` with integers only.
pub(crate) fn prctl(option: libc::c_int, a: u64, b: u64) -> io::Result<i32> {
    // SAFETY: only options whose arguments are integers are passed by this crate; no memory is handed over.
    check(unsafe { libc::prctl(option, a, b, 0, 0) }.into()).map(|value| value as i32)
}

/// The landlock ABI of the kernel; 0 without landlock.
pub(crate) fn landlock_abi() -> i32 {
    // SAFETY: a null attribute of size 0 with the version flag is the documented query; nothing is written.
    let abi =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, 1_u32) };
    i32::try_from(abi).unwrap_or(0).max(0)
}

/// Arguments of `clone3`, `linux/sched.h`, up to `set_tid_size`.
#[repr(C)]
#[derive(Default)]
struct CloneArgs {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
}

/// The two returns of `clone3`.
pub(crate) enum Forked {
    /// This is the child.
    Child,
    /// This is the parent; the child's pid and a pidfd for it.
    Parent(libc::pid_t, OwnedFd),
}

/// A copy of this process in the given new namespaces. The caller must have one thread: then all that runs
/// between here and exec is ordinary code.
pub(crate) fn clone(namespaces: u64) -> io::Result<Forked> {
    let mut pidfd: RawFd = -1;
    let arguments = CloneArgs {
        flags: namespaces | libc::CLONE_PIDFD as u64,
        pidfd: (&raw mut pidfd) as u64,
        exit_signal: libc::SIGCHLD as u64,
        ..CloneArgs::default()
    };
    // SAFETY: the arguments are valid for the call, the stack is copied (no CLONE_VM), and `pidfd` lives until
    // the call returns; the child returns here on its own copy of the stack.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<CloneArgs>()) };
    match check(pid)? {
        0 => Ok(Forked::Child),
        // SAFETY: the kernel has just made this descriptor for us, and nobody else owns it.
        pid => Ok(Forked::Parent(pid as libc::pid_t, unsafe { OwnedFd::from_raw_fd(pidfd) })),
    }
}

/// The code of a child that borrows this process's memory; returns its exit status.
pub(crate) type Borrowing = extern "C" fn(*mut c_void) -> libc::c_int;

/// Bytes of the stack of such a child. It goes a dozen small frames deep.
const STACK: usize = 128 * 1024;

/// Makes a child in the given new namespaces that borrows this process's memory and descriptors, so that nothing is copied. This
/// process waits until the child executes a program or ends. The caller must have one thread.
///
/// A child that changes its uid makes the borrowed memory undumpable, and so this process, which could then not open the namespaces
/// of its next children where it lacks CAP_SYS_PTRACE. This function restores the attribute.
///
/// # Safety
/// `act` gets `argument`, which must be of the type that it expects. It may only make system calls: memory that it allocated would
/// stay allocated here, a lock would stay locked, and a panic would unwind through frames of this process.
pub(crate) unsafe fn borrow(
    namespaces: libc::c_int,
    act: Borrowing,
    argument: *mut c_void,
) -> io::Result<(libc::pid_t, OwnedFd)> {
    let mut pidfd: RawFd = -1;
    let mut stack: Vec<u128> = Vec::with_capacity(STACK / size_of::<u128>());
    // A handler of this process must not run in the child, on the same memory.
    let mut before = SigSet::empty();
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::all()), Some(&mut before))?;
    let dumpable = prctl(libc::PR_GET_DUMPABLE, 0, 0)?;
    let borrowed = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_FILES;
    let flags = namespaces | borrowed | libc::CLONE_PIDFD | libc::SIGCHLD;
    // SAFETY: the stack's end is aligned to 16 bytes, and the stack, `pidfd` and the argument outlive the child's use of them,
    // since this thread, the only one, does not go on before the child has left this memory. They share errno, which is read
    // after that. The conduct of `act` is the caller's promise.
    let pid = unsafe {
        let top = stack.as_mut_ptr().add(stack.capacity());
        libc::clone(act, top.cast(), flags, argument, &raw mut pidfd)
    };
    let cloned = check(pid.into());
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&before), None)?;
    cloned?;
    if dumpable == 1 {
        // Both values that PR_GET_DUMPABLE returns here may be set.
        drop(prctl(libc::PR_SET_DUMPABLE, 1, 0));
    }
    // SAFETY: the kernel has just made this descriptor for us, and nobody else owns it.
    Ok((pid, unsafe { OwnedFd::from_raw_fd(pidfd) }))
}

/// Drops every supplementary group. This and [`set_ids`] are the bare system calls, which change only the calling thread: the C
/// library's functions would signal other threads.
pub(crate) fn drop_groups() -> io::Result<()> {
    // SAFETY: a length of 0 reads no list.
    check(unsafe { libc::syscall(libc::SYS_setgroups, 0_usize, std::ptr::null::<libc::gid_t>()) }).map(drop)
}

/// Sets gid and uid, all three of each.
pub(crate) fn set_ids(uid: u32, gid: u32) -> io::Result<()> {
    // SAFETY: integers only.
    check(unsafe { libc::syscall(libc::SYS_setresgid, gid, gid, gid) })?;
    // SAFETY: integers only.
    check(unsafe { libc::syscall(libc::SYS_setresuid, uid, uid, uid) }).map(drop)
}

/// Sets the CPU seconds of another process; the hard limit, which kills, is a second above the soft one, which signals.
pub(crate) fn limit_cpu(pid: libc::pid_t, seconds: u64) -> io::Result<()> {
    let limit = libc::rlimit { rlim_cur: seconds, rlim_max: seconds.saturating_add(1) };
    // SAFETY: the new limit is valid for the call and only read; the old one is not asked for.
    let done = unsafe { libc::prlimit(pid, libc::RLIMIT_CPU, &raw const limit, std::ptr::null_mut()) };
    check(done.into()).map(drop)
}

/// Executes the program behind a descriptor with an empty environment and these arguments. Returns only on failure; allocates
/// nothing.
///
/// # Safety
/// `arguments` must end in null, and its pointers point to strings that end in zero.
pub(crate) unsafe fn execute_raw(program: RawFd, arguments: &[*const libc::c_char]) -> io::Error {
    let environment = [std::ptr::null::<libc::c_char>()];
    // SAFETY: both lists end in null; what they point to lives until exec replaces the image.
    unsafe {
        let flags = libc::AT_EMPTY_PATH;
        libc::syscall(
            libc::SYS_execveat,
            program,
            c"".as_ptr(),
            arguments.as_ptr(),
            environment.as_ptr(),
            flags,
        );
    }
    io::Error::last_os_error()
}

/// Executes the program behind a descriptor with an empty environment. Returns only on failure.
pub(crate) fn execute(program: RawFd, arguments: &[&CStr]) -> io::Error {
    let mut list: Vec<*const libc::c_char> = arguments.iter().map(|text| text.as_ptr()).collect();
    list.push(std::ptr::null());
    // SAFETY: the list has just been ended in null, and the strings live on.
    unsafe { execute_raw(program, &list) }
}

/// Ends a child without running exit handlers of the parent.
pub(crate) fn end(code: i32) -> ! {
    // SAFETY: `_exit` takes an integer and does not return.
    unsafe { libc::_exit(code) }
}

/// Attributes of `mount_setattr`, `linux/mount.h`.
#[repr(C)]
#[derive(Default)]
struct MountAttr {
    set: u64,
    clear: u64,
    propagation: u64,
    userns: u64,
}

/// Sets mount attributes on the mount at `path` under `directory`, or on `directory` itself with an empty path.
pub(crate) fn mount_setattr(
    directory: RawFd,
    path: &CStr,
    recursive: bool,
    set: u64,
    userns: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let userns = userns.map_or(0, |fd| u64::from(fd.as_raw_fd().unsigned_abs()));
    let attr = MountAttr { set, userns, ..MountAttr::default() };
    let empty = if path.is_empty() { libc::AT_EMPTY_PATH } else { 0 };
    let flags = empty | if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: path and attribute are valid for the call and only read.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            directory,
            path.as_ptr(),
            flags,
            &raw const attr,
            size_of::<MountAttr>(),
        )
    };
    check(done).map(drop)
}

/// A detached copy of the mount at `directory`, its submounts left out.
pub(crate) fn open_tree(directory: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    const OPEN_TREE_CLONE: libc::c_uint = 1;
    let flags = OPEN_TREE_CLONE | libc::O_CLOEXEC as libc::c_uint | libc::AT_EMPTY_PATH as libc::c_uint;
    // SAFETY: the path is a static string; the result is a fresh descriptor of ours.
    let tree = unsafe { libc::syscall(libc::SYS_open_tree, directory.as_raw_fd(), c"".as_ptr(), flags) };
    let tree = check(tree)?;
    // SAFETY: as above, nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(tree as RawFd) })
}

/// Attaches a detached mount at `path`.
pub(crate) fn move_mount(tree: BorrowedFd<'_>, path: &CStr) -> io::Result<()> {
    const MOVE_MOUNT_F_EMPTY_PATH: libc::c_uint = 4;
    // SAFETY: both paths are valid for the call and only read.
    let done = unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            tree.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_FDCWD,
            path.as_ptr(),
            MOVE_MOUNT_F_EMPTY_PATH,
        )
    };
    check(done).map(drop)
}

/// Closes every descriptor from `first` on.
pub(crate) fn close_from(first: u32) -> io::Result<()> {
    // SAFETY: closes descriptors of this process only; called between fork and exec, where nothing owned is
    // used any more, or by a child that keeps just those below `first`.
    check(unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) }).map(drop)
}

/// Gives this child a table of descriptors of its own with only those below `first`; until then it may share its parent's.
pub(crate) fn unshare_below(first: u32) -> io::Result<()> {
    // SAFETY: integers only; what is closed is closed in a table that is made by this very call.
    let done = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, libc::CLOSE_RANGE_UNSHARE) };
    check(done).map(drop)
}

/// Copies a descriptor to exactly `number`; exec closes the copy.
pub(crate) fn copy_to(descriptor: BorrowedFd<'_>, number: RawFd) -> io::Result<()> {
    // SAFETY: dup3 on a number that its caller owns; what was there is closed, by intent.
    check(unsafe { libc::dup3(descriptor.as_raw_fd(), number, libc::O_CLOEXEC) }.into()).map(drop)
}

/// Copies a descriptor to exactly `number`; the copy stays open over exec.
pub(crate) fn place(descriptor: BorrowedFd<'_>, number: RawFd) -> io::Result<()> {
    // SAFETY: dup2 on a number that this child has set aside; what was there is closed, by intent.
    check(unsafe { libc::dup2(descriptor.as_raw_fd(), number) }.into()).map(drop)
}

/// The descriptor with this number, if it is a `SOCK_SEQPACKET` or `SOCK_STREAM` Unix socket handed to this program.
pub(crate) fn inherited(number: RawFd) -> Option<OwnedFd> {
    // SAFETY: fstat on any number is defined; a closed one answers EBADF.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `stat` is valid for the call.
    let known = unsafe { libc::fstat(number, &raw mut stat) } == 0;
    let socket = known && stat.st_mode & libc::S_IFMT == libc::S_IFSOCK;
    // SAFETY: it is open, it is a socket, and by the launch protocol it is ours alone; callers take it once.
    socket.then(|| unsafe { OwnedFd::from_raw_fd(number) })
}

/// The number of threads of this process.
pub(crate) fn threads() -> io::Result<usize> {
    // Changes nothing; refused if there is another thread, or by a filter that refuses it always.
    if nix::sched::unshare(nix::sched::CloneFlags::CLONE_THREAD).is_ok() {
        return Ok(1);
    }
    Ok(std::fs::read_dir("/proc/self/task")?.count())
}

/// Brings loopback up in the network namespace of this process, which must be its user namespace's own.
pub(crate) fn loopback_up() -> io::Result<()> {
    // SAFETY: socket takes integers alone.
    let raw = check(unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) }.into())?;
    let raw = RawFd::try_from(raw).map_err(|_| io::ErrorKind::InvalidData)?;
    // SAFETY: the kernel has just made it for us, and nobody else owns it.
    let socket = unsafe { OwnedFd::from_raw_fd(raw) };
    // SAFETY: a structure of integers and bytes, for which zeros are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (slot, byte) in request.ifr_name.iter_mut().zip(b"lo") {
        *slot = libc::c_char::from_ne_bytes([*byte]);
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the request is valid for the call, and only read.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) }.into()).map(drop)
}
