"""What programs in a jail do now and then, for the test of the table's rare rules: each function makes one of its
conditions hold, by the ordinary face of a library where there is one, and by the call's number where only programs of
another C library make it. What a call comes to is of no matter here; that it is made is."""

import ctypes
import fcntl
import mmap
import os
import resource
import select
import signal
import socket
import struct
import sys
import time

C = ctypes.CDLL(None, use_errno=True)
NONE = ctypes.c_void_p(None)
ROOM = ctypes.create_string_buffer(4096)


def tried(act, *words, **named):
    """Makes a call, whatever it comes to."""
    try:
        return act(*words, **named)
    except (OSError, ValueError, AttributeError):
        return None


def here(name="here", size=8192):
    """A file of so many bytes, open."""
    file = os.open(name, os.O_RDWR | os.O_CREAT)
    os.ftruncate(file, size)
    return file


def locks():
    file = here()
    lock = struct.pack("hhqqi", fcntl.F_RDLCK, 0, 0, 0, 0)
    for command in [fcntl.F_GETLK, fcntl.F_SETLK, fcntl.F_SETLKW, 36, 37, 38]:
        tried(fcntl.fcntl, file, command, lock)
    fcntl.flock(file, fcntl.LOCK_SH)


def attributes():
    file = here()
    tried(os.setxattr, "here", "user.a", b"x")
    tried(os.setxattr, file, "user.b", b"x")
    for of in ["here", file]:
        tried(os.getxattr, of, "user.a")
        tried(os.listxattr, of)
    tried(os.getxattr, "here", "user.a", follow_symlinks=False)
    tried(os.listxattr, "here", follow_symlinks=False)
    tried(os.removexattr, "here", "user.a")
    for change in [os.chown, os.lchown]:
        tried(change, "here", -1, -1)
    tried(os.fchown, file, -1, -1)
    tried(os.chown, "here", -1, -1, dir_fd=os.open(".", os.O_RDONLY))


def copies():
    file, (reader, writer) = here(), os.pipe()
    other = here("other")
    os.dup2(other, other + 9, inheritable=False)
    tried(os.copy_file_range, file, other, 100)
    tried(os.sendfile, other, file, 0, 100)
    tried(os.splice, file, writer, 100)
    for ask in [0x40049409, 0x4020940D]:
        tried(fcntl.ioctl, other, ask, file)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 65536)
    fcntl.fcntl(reader, fcntl.F_GETPIPE_SZ)


def parts():
    file, room = here(), [bytearray(10), bytearray(10)]
    os.writev(file, room)
    os.readv(file, room)
    os.pwritev(file, room, 0)
    os.preadv(file, room, 0)
    tried(os.pwritev, file, room, 0, 2)
    tried(os.preadv, file, room, 0, 8)
    C.pwritev(file, NONE, 0, 0)
    C.preadv(file, NONE, 0, 0)
    os.pwrite(file, b"x", 0)


def room():
    file = here()
    tried(os.posix_fallocate, file, 0, 8192)
    os.fdatasync(file)
    os.ftruncate(file, 100)
    os.truncate("here", 4096)
    os.fstatvfs(file)
    C.sync_file_range(file, ctypes.c_int64(0), ctypes.c_int64(0), 2)


def memory():
    mmap.mmap(here(), 4096).flush()
    tried(os.memfd_create, "x")
    C.mlock(ROOM, 4096)
    C.munlock(ROOM, 4096)
    C.syscall(324, 0, 0)  # membarrier, which no library has a face for


def folders():
    file = here()
    os.makedirs("in", exist_ok=True)
    folder = os.open("in", os.O_RDONLY | os.O_DIRECTORY)
    os.fchdir(folder)
    os.fchdir(os.open("..", os.O_RDONLY))
    C.syscall(269, folder, b"a", 4)  # faccessat, as other C libraries than glibc make it
    os.access("a", os.R_OK, dir_fd=folder)
    os.access("a", os.R_OK, dir_fd=folder, follow_symlinks=False)
    os.mkdir("d", dir_fd=folder)
    os.symlink("a", "s", dir_fd=folder)
    os.readlink("s", dir_fd=folder)
    os.link("here", "l", dst_dir_fd=folder)
    os.rename("l", "m", src_dir_fd=folder, dst_dir_fd=folder)
    C.renameat2(folder, b"m", folder, b"n", 1)
    for kind in [0, 0o100000, 0o140000]:
        C.mknodat(folder, b"k%d" % kind, kind | 0o600, 0)
    C.creat(b"c", 0o600)
    return file


def watches():
    watch = C.inotify_init1(os.O_CLOEXEC)
    C.inotify_rm_watch(watch, C.inotify_add_watch(watch, b".", 2))
    both = os.pipe()
    select.select([both[0]], [], [], 0)
    C.ppoll(NONE, 0, ROOM, NONE, 8)
    C.epoll_pwait2(select.epoll().fileno(), ROOM, 1, ROOM, NONE)
    for ask in [0x541B, 0x5450, 0x5451]:
        tried(fcntl.ioctl, both[0], ask, ROOM)


def terminals():
    for ask in [0x5402, 0x5403, 0x5404, 0x540F, 0x5410, 0x5429, 0x802C542A]:
        tried(fcntl.ioctl, 0, ask, ROOM)
    if not os.path.exists("/dev/ptmx"):
        return
    outer = os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)
    for ask in [0x80045430, 0x40045431, 0x80045439, 0x5414]:
        tried(fcntl.ioctl, outer, ask, ROOM)
    inner = tried(fcntl.ioctl, outer, 0x5441, os.O_RDWR | os.O_NOCTTY)
    if os.fork() == 0:
        os.setsid()
        for ask in [0x540E, 0x5422]:
            tried(fcntl.ioctl, inner or 0, ask, 0)
        os._exit(0)
    os.wait()


def timers():
    old = signal.signal(signal.SIGALRM, lambda *_: None)
    signal.alarm(9)
    signal.alarm(0)
    # Again and again: one that came before the pause would leave it waiting.
    signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
    signal.pause()
    signal.setitimer(signal.ITIMER_REAL, 9)
    signal.getitimer(signal.ITIMER_REAL)
    signal.setitimer(signal.ITIMER_REAL, 0)
    time.clock_getres(time.CLOCK_PROCESS_CPUTIME_ID)
    time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID)
    os.times()
    timer = ctypes.c_void_p()
    C.timer_create(1, NONE, ctypes.byref(timer))
    C.timer_settime(timer, 0, ROOM, NONE)
    C.timer_gettime(timer, ROOM)
    C.timer_getoverrun(timer)
    C.timer_delete(timer)
    descriptor = C.timerfd_create(1, 0)
    C.timerfd_settime(descriptor, 0, ctypes.create_string_buffer(32), NONE)
    C.timerfd_gettime(descriptor, ROOM)
    signal.signal(signal.SIGALRM, old)


def signals():
    own, handled = os.getpid(), [signal.SIGUSR1]
    signal.signal(signal.SIGUSR1, lambda *_: None)
    signal.raise_signal(signal.SIGUSR1)
    tried(signal.pidfd_send_signal, os.pidfd_open(own), signal.SIGUSR1)
    signal.pthread_sigmask(signal.SIG_BLOCK, handled)
    C.sigqueue(own, int(signal.SIGUSR1), NONE)
    signal.sigpending()
    C.signalfd(-1, ctypes.create_string_buffer(128), 0)
    signal.sigtimedwait(handled, 0)
    os.kill(own, signal.SIGUSR1)
    C.sigsuspend(ctypes.create_string_buffer(128))


def stops():
    child = os.fork()
    if child == 0:
        # Long enough to be stopped in its midst on a slow machine.
        select.poll().poll(4000)
        os._exit(0)
    time.sleep(0.5)
    os.kill(child, signal.SIGSTOP)
    os.waitpid(child, os.WUNTRACED)
    os.kill(child, signal.SIGCONT)
    os.waitpid(child, 0)


def relatives():
    os.getpgid(0)
    os.getsid(0)
    os.getgroups()
    os.getresgid()
    os.getresuid()
    os.sched_yield()
    resource.getrusage(resource.RUSAGE_SELF)
    os.waitid(os.P_PIDFD, os.pidfd_open(os.fork() or os._exit(0)), os.WEXITED)
    if os.fork() == 0:
        os.execve(os.open("/bin/true", os.O_RDONLY), ["true"], {})
    os.wait()


def shares():
    os.getpriority(os.PRIO_PROCESS, 0)
    tried(os.setpriority, os.PRIO_PROCESS, 0, 1)
    os.sched_get_priority_max(0)
    os.sched_get_priority_min(0)
    os.sched_getscheduler(0)
    os.sched_getparam(0)
    tried(os.sched_setscheduler, 0, os.SCHED_BATCH, os.sched_param(0))


def names():
    for option in [1, 2, 3, 16, 21, 23, 29, 30, 36, 37, 38, 39, 41, 42, 0x53564D41]:
        C.prctl(option, ROOM if option in (2, 16, 37) else 0, 0, 0, 0)
    C.prctl(4, 0, 0, 0, 0)


def keys():
    key = C.pkey_alloc(0, 0)
    C.pkey_mprotect(ROOM, 0, 3, 0)
    C.pkey_free(key)


def pairs():
    left, right = socket.socketpair()
    left.getpeername()
    left.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    left.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
    left.sendmsg([b"x"])
    right.recv(1)


def loopback():
    for family, protocol in [(10, 0), (2, 6), (10, 6)]:
        tried(socket.socket, family, socket.SOCK_STREAM, protocol)
    routes = tried(socket.socket, socket.AF_NETLINK, socket.SOCK_RAW, 0)
    if routes:
        tried(routes.sendto, b"x" * 16, (0, 0))
    served = socket.create_server(("127.0.0.1", 0))
    with socket.create_connection(served.getsockname()) as ours:
        C.accept(served.fileno(), NONE, NONE)
        for level, option in [(6, 18), (6, 25), (0, 1), (41, 26)]:
            tried(ours.setsockopt, level, option, 1)
        for level, option in [(6, 1), (0, 1), (41, 26)]:
            tried(ours.getsockopt, level, option)


OLDER = {
    "open": (2, b"here", 0),
    "open that makes": (2, b"made", 0o101, 0o600),
    "stat": (4, b"here", ROOM),
    "lstat": (6, b"here", ROOM),
    "pipe": (22, ROOM),
    "select": (23, 0, NONE, NONE, NONE, ctypes.create_string_buffer(16)),
    "nanosleep": (35, ctypes.create_string_buffer(16), NONE),
    "gettimeofday": (96, ROOM, NONE),
    "getrlimit": (97, 7, ROOM),
    "mknod": (133, b"k", 0o100600, 0),
    "mknod of no kind": (133, b"k0", 0o600, 0),
    "mknod of a pipe": (133, b"kp", 0o010600, 0),
    "mknod of a socket": (133, b"ks", 0o140600, 0),
    "setrlimit": (160, 7, ROOM),
    "time": (201, NONE),
    "tkill": (200, 0, 0),
    "fchmodat2": (452, -100, b"here", 0o600, 0),
    "renameat": (264, -100, b"here", -100, b"here"),
}


def older():
    here()
    for number, *words in OLDER.values():
        C.syscall(number, *words)
    if C.syscall(57) == 0:
        os._exit(0)
    os.wait()


for name in sys.argv[1:]:
    globals()[name]()
    print(name, flush=True)
