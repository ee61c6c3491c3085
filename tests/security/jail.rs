//! From inside a runner's jail, through the ordinary programs that an agent would use: what is not the workspace's is
//! not there, not reachable, or not allowed, and what goes too far ends without the host noticing.

use manifest::syscalls::{CLONE_NEW, RUNNER_KILLS, RUNNER_REFUSES};
use nix::sys::signal::Signal;
use std::collections::BTreeSet;
use std::path::Path;
use tests::{Host, Setup};

/// How a command came out.
pub(crate) struct Came {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

fn command(host: &Host, words: &[&str]) -> Came {
    let output = host.ctl(&[&["sandbox", "run", "--"], words].concat());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Came { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}

pub(crate) fn bash(host: &Host, script: &str) -> Came {
    command(host, &["bash", "-c", script])
}

/// Python is the only ordinary program that can make any call at all; where the machine has none, `false`.
pub(crate) fn has_python() -> bool {
    Path::new("/usr/bin/python3").exists()
}

pub(crate) fn python(host: &Host, script: &str) -> Came {
    command(host, &["/usr/bin/python3", "-c", script])
}

/// A host whose turns may take this long.
fn short(seconds: u32) -> Host {
    Setup::default().config(&format!("[agent.default.limits]\nseconds = {seconds}\n")).start()
}

/// The host is as it was: every process with its pid, and a turn is answered.
fn unharmed(host: &Host, before: &std::collections::BTreeMap<String, i32>) {
    assert_eq!(host.chat("after", "echo: still here"), "still here");
    assert_eq!(before, &crate::probed::processes(host));
}

// Holds P1-01.
#[test]
fn no_socket_of_any_family_can_be_made() {
    let host = Host::start();
    let came =
        bash(&host, "for way in tcp udp; do (echo > /dev/$way/127.0.0.1/22) && echo REACHED; done; exit 0");
    assert!(came.code == Some(0) && !came.out.contains("REACHED"), "{} {}", came.out, came.err);
    if !has_python() {
        return;
    }
    let script = "
import socket
made, errnos = [], set()
for family in range(64):
    for kind in (1, 2, 3, 4, 5, 10):
        try:
            socket.socket(family, kind); made.append((family, kind))
        except OSError as error:
            errnos.add(error.errno)
print(made, errnos)
";
    // EAFNOSUPPORT, which programs fall back from.
    assert_eq!(python(&host, script).out.trim(), "[] {97}");
}

// Holds P1-04.
#[test]
fn no_other_process_is_in_sight() {
    let host = Host::start();
    let script = "for line in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < $line; echo; done";
    let came = bash(&host, script);
    let strange = came.out.lines().filter(|line| {
        let program = line.split(' ').next().unwrap_or_default();
        !line.is_empty() && !["runner", "bash", "tr"].contains(&program)
    });
    assert_eq!(strange.collect::<Vec<_>>(), Vec::<&str>::new());
    assert!(came.out.contains("runner "), "{}", came.out);
    let pid = host.agentd();
    assert_eq!(
        bash(&host, &format!("kill -0 {pid} 2>&1; ls /proc/{pid} 2>&1; exit 0"))
            .out
            .matches("No such")
            .count(),
        2
    );
}

// Holds P1-04.
#[test]
fn the_runner_itself_cannot_be_read_or_stopped_by_its_tools() {
    let host = Host::start();
    let script = "
for file in environ mem maps fd/3; do (exec 9< /proc/1/$file) 2>/dev/null && echo OPENED $file; done
ls /proc/1/fd /proc/1/task/1/fd 2>/dev/null
kill -9 1; kill -STOP 1; kill -TERM 1
echo alive";
    assert_eq!(bash(&host, script).out, "alive\n");
}

// Holds P1-05, P10-03.
#[test]
fn the_host_s_files_are_not_there() {
    let host = Host::start();
    let state = host.state();
    let paths = [
        "/etc/shadow", "/etc/gshadow", "/etc/hostname", "/etc/machine-id", "/etc/ssh", "/root", "/home",
        "/var",
    ];
    let more =
        ["/boot", "/run", "/sys", "/srv", "/opt", "/mnt", "/dev/kmsg", "/dev/mem", "/dev/fuse", "/dev/tty"];
    let own =
        [state.display().to_string(), host.dir().display().to_string(), host.socket().display().to_string()];
    let all: Vec<&str> = paths.iter().chain(&more).copied().chain(own.iter().map(String::as_str)).collect();
    let script = format!("for path in {}; do test -e $path && echo $path; done; exit 0", all.join(" "));
    let came = bash(&host, &script);
    assert_eq!((came.code, came.out.as_str()), (Some(0), ""), "{}", came.err);
    let users = bash(&host, "cut -d: -f1 /etc/passwd | tr '\\n' ' '; id -u; cat /proc/sys/kernel/hostname");
    assert_eq!(users.out, "agent nobody 1000\nAGENT\n");
}

/// Returns true for a variable that tells a package manager not to wait for a network that is not there.
fn is_impatience(name: &str) -> bool {
    ["PIP_", "npm_config_", "CARGO_NET_RETRY", "GIT_TERMINAL_PROMPT"]
        .iter()
        .any(|begin| name.starts_with(begin))
}

// Holds P1-06.
#[test]
fn the_environment_is_minimal() {
    let host = Host::start();
    let came = command(&host, &["env"]);
    let names: BTreeSet<&str> =
        came.out.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    let known = ["HOME", "LANG", "PATH", "PWD", "TMPDIR"];
    let others: BTreeSet<&str> = names.into_iter().filter(|name| !is_impatience(name)).collect();
    assert_eq!(others, BTreeSet::from(known));
    assert!(came.out.contains("PWD=/workspace\n"), "{}", came.out);
    // A turn's own tool is no richer, but for what bash itself sets.
    let reply = host.chat("s", "run: env | cut -d= -f1 | sort | tr '\\n' ' '");
    let names = reply.lines().find(|line| line.contains("PATH")).unwrap_or_default();
    let known = ["HOME", "LANG", "PATH", "PWD", "SHELL", "SHLVL", "TERM", "TMPDIR", "USER", "_"];
    let others: Vec<&str> = names.split_whitespace().filter(|name| !is_impatience(name)).collect();
    assert_eq!(others, known, "{reply}");
}

// Holds P1-06.
#[test]
fn a_command_holds_null_and_two_pipes_and_nothing_else() {
    let host = Host::start();
    // The descriptors that `ls` shows are those of the waiting shell, so that shell must not be making a pipe of its own.
    let list =
        "ls -l /proc/$$/fd > /tmp/held; sed -n 's/.* \\([0-9]*\\) -> \\([^:]*\\).*/\\1 \\2/p' /tmp/held; :";
    let came = bash(&host, list);
    assert_eq!(came.out, "0 /dev/null\n1 pipe\n2 pipe\n", "{}", came.err);
}

// Holds B-38.
#[test]
fn a_fork_bomb_ends_with_its_time_and_the_host_goes_on() {
    let host = short(4);
    let before = crate::probed::processes(&host);
    let came = bash(&host, "bomb() { bomb | bomb & }; bomb; sleep 60");
    assert!(came.code == Some(124) || came.code == Some(137), "{:?} {}", came.code, came.err);
    unharmed(&host, &before);
}

// Holds B-38.
#[test]
fn no_more_than_the_row_s_processes_run_in_one_jail() {
    let host = short(20);
    let most = usize::try_from(manifest::row(manifest::Process::Runner).unwrap().limits.processes).unwrap();
    // The number at the same time counts; bash can print it without another process.
    let script = "sleep 3 & until=$!; for n in $(seq 300); do sleep 100 & done 2>/dev/null & \
        wait $until; set -- /proc/[0-9]*; echo $#; kill -9 -1";
    let came = bash(&host, script);
    let count = came.out.trim().parse().unwrap_or(usize::MAX);
    assert!(count <= most + 1, "{count} processes; {:?} {}", came.code, came.err);
}

// Holds B-34.
#[test]
fn a_memory_bomb_ends_and_the_host_goes_on() {
    if !has_python() {
        return;
    }
    let host = short(30);
    let before = crate::probed::processes(&host);
    let one = python(&host, "data = bytearray(2 << 30); print('had it')");
    assert!(one.code != Some(0) && !one.out.contains("had it"), "{:?} {}", one.code, one.err);
    // Many that each stay within what one may have.
    let many = "
import os, time
for child in range(12):
    if os.fork() == 0:
        data = bytearray(150 << 20)
        time.sleep(60)
time.sleep(20)
print('had it')
";
    let many = python(&host, many);
    assert!(
        many.code != Some(0) && !many.out.contains("had it"),
        "{:?} {} {}",
        many.code,
        many.out,
        many.err
    );
    unharmed(&host, &before);
}

// Holds B-31.
#[test]
fn what_takes_too_long_is_ended_with_124() {
    let host = short(2);
    assert_eq!(command(&host, &["sleep", "600"]).code, Some(124));
    // One that does not stop for a signal, and one that only burns.
    assert_eq!(bash(&host, "trap '' TERM INT HUP; sleep 60; sleep 60").code, Some(124));
    let burning = bash(&host, "while :; do :; done").code;
    assert!(burning == Some(124) || burning == Some(128 + Signal::SIGKILL as i32), "{burning:?}");
}

// Holds P1-05.
#[test]
fn nothing_outside_the_workspace_and_tmp_can_be_written() {
    let host = Host::start();
    let script = "
for folder in / /etc /usr /usr/bin /usr/lib /bin /lib /skills /dev /proc /proc/sys/kernel /ws /workspace/..; do
    (: > $folder/probe) 2>/dev/null && echo WROTE $folder
    mkdir $folder/probe-folder 2>/dev/null && echo MADE $folder
done
for file in /etc/passwd /etc/hosts /usr/bin/env /proc/sys/kernel/hostname /proc/1/oom_score_adj; do
    (: >> $file) 2>/dev/null && echo APPENDED $file
done
rm -f /etc/passwd /usr/bin/env 2>/dev/null; mv /usr/bin/env /tmp/ 2>/dev/null && echo MOVED
test -e /etc/passwd && test -e /usr/bin/env && echo all there
: > /workspace/probe && : > /ws/s/other && : > /tmp/probe && : > /dev/shm/probe && echo wrote its own
awk '$2 != \"/ws/s\" && $2 !~ \"^/(tmp|proc)$\" && $4 !~ \"(^|,)ro(,|$)\" {print $2}' /proc/self/mounts | grep -v ^/dev/ ; exit 0
";
    assert_eq!(bash(&host, script).out, "all there\nwrote its own\n");
}

// Holds P1-08.
#[test]
fn a_workspace_stays_with_its_session_and_with_no_other() {
    let host = Host::start();
    let within = |session: &str, script: &str| {
        let output = host.ctl(&["sandbox", "run", "--session", session, "--", "sh", "-c", script]);
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_eq!(within("one", "echo kept > file; echo gone > /tmp/file; ls /tmp"), "file\n");
    assert_eq!(within("one", "cat file; ls /tmp"), "kept\n");
    assert_eq!(within("two", "ls -A . /tmp"), ".:\n\n/tmp:\n");
    assert_eq!(
        within(
            "two",
            "ls -d ../* /workspace/../*/file 2>/dev/null; find / -xdev -name file -user agent 2>/dev/null"
        ),
        within("two", "ls -d ../*")
    );
}

/// The numbers of calls by name, for Python.
fn numbers(names: impl Iterator<Item = &'static str>) -> String {
    let known = names.filter_map(|name| Some(format!("('{name}', {})", confine::acts::call_number(name)?)));
    known.collect::<Vec<_>>().join(", ")
}

/// Makes each call with nothing but zeros in a child of its own, and prints how the child ended: a signal, an errno,
/// or `done`.
fn tried(host: &Host, calls: &str) -> Vec<(String, String)> {
    let script = format!(
        "
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for name, number in [{calls}]:
    pid = os.fork()
    if pid == 0:
        answer = libc.syscall(number, 0, 0, 0, 0, 0, 0)
        os._exit(ctypes.get_errno() if answer == -1 else 255)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status): print(name, 'signal', os.WTERMSIG(status))
    else: print(name, 'errno', os.WEXITSTATUS(status))
"
    );
    let came = python(host, &script);
    assert_eq!(came.code, Some(0), "{} {}", came.out, came.err);
    came.out
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(name, how)| (name.into(), how.into()))
        .collect()
}

// Holds P1-13.
#[test]
fn every_call_that_the_table_names_as_hostile_kills_who_makes_it() {
    if !has_python() {
        return;
    }
    let came = tried(&Host::start(), &numbers(RUNNER_KILLS.iter().copied()));
    assert!(came.len() > 40);
    for (name, how) in came {
        assert_eq!(how, format!("signal {}", Signal::SIGKILL as i32), "{name}");
    }
}

// Holds P1-13.
#[test]
fn every_call_that_the_table_refuses_is_answered_with_its_errno() {
    if !has_python() {
        return;
    }
    let host = Host::start();
    let came = tried(&host, &numbers(RUNNER_REFUSES.iter().map(|(name, _)| *name)));
    assert!(came.len() > 20);
    for (name, how) in came {
        let (_, errno) = RUNNER_REFUSES.iter().find(|(refused, _)| *refused == name).unwrap();
        assert_eq!(how, format!("errno {errno}"), "{name}");
    }
    // Calls that stand in no list: refused as if the kernel did not have them.
    for (name, how) in tried(&host, &numbers(["sethostname", "iopl", "swapon"].into_iter())) {
        assert_ne!(how, "errno 255", "{name}");
    }
}

#[test]
fn no_flag_of_clone_makes_a_namespace() {
    if !has_python() {
        return;
    }
    let clone = confine::acts::call_number("clone").unwrap();
    let flags = (0..u64::BITS).map(|bit| 1_u64 << bit).filter(|bit| CLONE_NEW & bit != 0);
    let script = format!(
        "
import ctypes, os, signal
libc = ctypes.CDLL(None, use_errno=True)
for flag in {:?}:
    if libc.syscall({clone}, flag | signal.SIGCHLD, 0, 0, 0, 0) == 0: os._exit(0)
    print(ctypes.get_errno())
",
        flags.collect::<Vec<_>>()
    );
    let came = python(&Host::start(), &script);
    let count = usize::try_from(CLONE_NEW.count_ones()).unwrap();
    assert_eq!(came.out, "1\n".repeat(count), "{}", came.err);
}

// Holds P1-12.
#[test]
fn namespaces_and_mounts_cannot_be_made_by_any_tool() {
    let host = Host::start();
    let script = "
for flags in -U -Ur -m -n -p -i -u -C -T; do unshare $flags true 2>/dev/null && echo UNSHARED $flags; done
mount -t tmpfs none /tmp 2>/dev/null && echo MOUNTED
umount /workspace 2>/dev/null && echo UNMOUNTED
chroot /tmp /bin/true 2>/dev/null && echo CHROOTED
nsenter -t 1 -a true 2>/dev/null && echo ENTERED
echo done";
    assert_eq!(bash(&host, script).out, "done\n");
}

// Holds P1-12.
#[test]
fn setuid_bits_and_capabilities_are_useless() {
    let host = Host::start();
    let script = "
cp /usr/bin/id own; chmod 4777 own; chmod g+s own; ./own -u
for program in $(find /usr/bin -perm -4000 2>/dev/null | head -3); do test -u $program && echo seen; done | sort -u > /tmp/seen
awk '$4 !~ \"(^|,)nosuid(,|$)\" && $2 !~ \"^/dev/\" {print \"suid works on\", $2}' /proc/self/mounts
grep -E '^(Cap...|NoNewPrivs|Seccomp):' /proc/self/status | tr -s '[:space:]' ' '";
    let none = "0000000000000000";
    let expected = format!(
        "1000\nCapInh: {none} CapPrm: {none} CapEff: {none} CapBnd: {none} CapAmb: {none} NoNewPrivs: 1 Seccomp: 2 "
    );
    assert_eq!(bash(&host, script).out, expected);
}

// Holds P1-08.
#[test]
fn what_a_command_leaves_behind_ends_with_its_turn() {
    let host = Host::start();
    let marker = format!("{}.{}", 7000, std::process::id());
    let came = bash(&host, &format!("nohup setsid sleep {marker} >/dev/null 2>&1 & disown; echo left"));
    assert_eq!((came.code, came.out.as_str()), (Some(0), "left\n"), "{}", came.err);
    let running = || {
        let lines = std::fs::read_dir("/proc").unwrap().flatten();
        lines
            .filter_map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).ok())
            .any(|line| line.contains(&marker))
    };
    host.wait_for("nothing of it is left", || !running());
}
