//! Attached directories between people who do not trust each other: whose they are, how many, and what becomes of those whose file
//! system does not answer. Two people have a uid each, which takes root to try.

use crate::stalled::Stalled;
use manifest::Process;
use manifest::command::{Answer, attached_id};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use serde_json::Value;
use std::fs::{self, OpenOptions, Permissions};
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tests::{Host, Setup, text};
use wire::hello::{ATTACHED, Hello, Purpose};

const CONFIG: &str = "[[user]]\nname = \"ines\"\nrole = \"user\"\nuids = [64201]\n\
    [[user]]\nname = \"omar\"\nrole = \"user\"\nuids = [64202]\n";
const INES: u32 = 64_201;
const OMAR: u32 = 64_202;
/// An answer to an attach takes two seconds at most, and a busy machine its time.
const SOON: Duration = Duration::from_secs(8);

/// Stands between agentctl and the host, run by whom it lies for: every attach is answered with the id that it was given.
const LIAR: &str = "
import os, socket, sys, threading
listener = socket.socket(socket.AF_UNIX); listener.bind(sys.argv[1]); listener.listen(8)
def pump(a, b):
    try:
        while (data := a.recv(65536)): b.sendall(data)
        b.shutdown(socket.SHUT_WR)
    except OSError: pass
def serve(client):
    hello = client.recv(16, socket.MSG_WAITALL)
    if hello[13] == 1:
        client.sendall(b'\\0' + bytes.fromhex(sys.argv[3])); client.close(); return
    host = socket.socket(socket.AF_UNIX); host.connect(sys.argv[2]); host.sendall(hello)
    threading.Thread(target=pump, args=(host, client), daemon=True).start(); pump(client, host)
while True: threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
";

/// Hands files over with a hello, and prints the first byte of the answer: of an attach its number.
const HANDS: &str = "
import os, socket, sys
hello, host, files = bytes.fromhex(sys.argv[1]), sys.argv[2], sys.argv[3:]
opened = [os.open(file, os.O_RDONLY | (os.O_DIRECTORY if os.path.isdir(file) else 0)) for file in files]
s = socket.socket(socket.AF_UNIX); s.settimeout(20); s.connect(host)
socket.send_fds(s, [hello], opened)
answer = s.recv(1)
os.write(1, answer); os.close(1)
";

fn host() -> Host {
    assert!(tests::is_root(), "make test-confined needs root");
    Setup::default().config(CONFIG).start()
}

/// The document that a command of this person prints, also on failure.
fn by(host: &Host, uid: u32, words: &[&str]) -> Value {
    let output = host.command(words).arg("--json").uid(uid).gid(uid).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{words:?}: {error}: {output:?}"))
}

/// The same by another socket than the host's.
fn through(socket: &Path, uid: u32, words: &[&str]) -> Command {
    #[expect(clippy::disallowed_methods, reason = "a client that is led to another socket than the host's")]
    let mut command = Command::new(tests::programs().join("agentctl"));
    command.arg("--socket").arg(socket).args(words).arg("--json").uid(uid).gid(uid).stdin(Stdio::null());
    command
}

/// A directory of this person's, which nobody else may look into.
fn directory(host: &Host, name: &str, uid: u32) -> PathBuf {
    let path = host.dir().join(name);
    fs::create_dir(&path).unwrap();
    chown(&path, Some(uid), Some(uid)).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
    path
}

/// The id of a directory, as anybody can compute it.
fn id_of(path: &Path) -> String {
    let about = fs::metadata(path).unwrap();
    let (major, minor) = (nix::sys::stat::major(about.dev()), nix::sys::stat::minor(about.dev()));
    let device = u32::try_from(major << 20 | minor).unwrap();
    attached_id(device, about.uid(), about.ino()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A liar for this person, and where it listens.
fn liar(host: &Host, uid: u32, id: &str) -> (Child, PathBuf) {
    static LIARS: AtomicUsize = AtomicUsize::new(0);
    let folder = directory(host, &format!("liar-{}", LIARS.fetch_add(1, Ordering::Relaxed)), uid);
    let socket = folder.join("s");
    #[expect(
        clippy::disallowed_methods,
        reason = "a client that speaks to the host as another than this test"
    )]
    let mut command = Command::new("/usr/bin/python3");
    command.args(["-c", LIAR]).arg(&socket).arg(host.socket()).arg(id).uid(uid).gid(uid);
    let child = command.stdin(Stdio::null()).spawn().unwrap();
    host.wait_for("the liar listens", || socket.exists());
    (child, socket)
}

// Holds P1-40.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn who_names_the_id_of_anothers_directory_gets_nothing_of_it() {
    let host = host();
    let hers = directory(&host, "hers", INES);
    fs::write(hers.join("diary.txt"), "the lighthouse is painted red\n").unwrap();
    chown(hers.join("diary.txt"), Some(INES), Some(INES)).unwrap();
    let roots = directory(&host, "roots", 0);
    let his = directory(&host, "his", OMAR);
    let lies = |path: &Path, session: &str| {
        let (mut liar, socket) = liar(&host, OMAR, &id_of(path));
        let words = ["chat", "--session", session, "--workspace", his.to_str().unwrap(), "-m", "echo: in"];
        let output = through(&socket, OMAR, &words).output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let _ = liar.kill();
        let _ = liar.wait();
        assert_eq!(answer["error"]["type"], "no_workspace", "{}: {answer}", path.display());
    };
    // Before its owner has ever attached it, while she works in it, and once she is done.
    lies(&hers, "before");
    lies(&roots, "roots");
    let hers_path = hers.to_str().unwrap();
    let work =
        |text: &str| by(&host, INES, &["chat", "--session", "s", "--workspace", hers_path, "-m", text]);
    assert!(work("what is painted red?")["reply"].to_string().contains("lighthouse"));
    lies(&hers, "meanwhile");
    assert!(
        work("write new.txt: mine")["reply"].to_string().contains("new.txt"),
        "she goes on in her session"
    );
    assert_eq!(by(&host, INES, &["session", "end", "s"])["ok"], true);
    lies(&hers, "after");
    // Handing it over by its path fails at its owner, whoever can open it.
    let open = host.dir().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
    chown(&open, Some(INES), Some(INES)).unwrap();
    let taken = by(&host, OMAR, &["chat", "--workspace", open.to_str().unwrap(), "-m", "echo: in"]);
    assert_eq!(taken["error"]["type"], "not_yours", "{taken}");
}

// Holds P1-40.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn ids_of_anothers_messages_sessions_and_questions_are_ids_of_nothing() {
    let host = host();
    let said = by(&host, INES, &["chat", "--session", "s", "-m", "echo: mine"]);
    assert_eq!(said["ok"], true, "{said}");
    let listed = by(&host, INES, &["message", "list"]);
    let message = text(&listed["messages"][0], "id");
    let nobodys = "0f8fad5b-d9cb-469f-a165-70867728950e";
    for command in [["message", "show"], ["message", "trace"], ["message", "recall"], ["message", "requeue"]]
    {
        let [hers, none] =
            [message.as_str(), nobodys].map(|id| by(&host, OMAR, &[command[0], command[1], id]));
        assert_eq!(
            (&hers["ok"], &hers["error"]["type"]),
            (&none["ok"], &none["error"]["type"]),
            "{command:?}"
        );
        assert_eq!(hers["ok"], false, "{command:?}: {hers}");
    }
    for command in [&["session", "show", "s"][..], &["session", "end", "s"], &["workspace", "list"]] {
        let answer = by(&host, OMAR, command);
        assert!(!answer.to_string().contains("mine"), "{command:?}: {answer}");
    }
    assert_eq!(by(&host, INES, &["session", "show", "s"])["ok"], true, "nobody ended hers");
}

/// An attach with these descriptors, made by this test as root.
fn hand(host: &Host, descriptors: &[BorrowedFd<'_>]) -> UnixStream {
    let stream = UnixStream::connect(host.socket()).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    let hello = Hello::new(Process::Agentd, Purpose::Attach).encode();
    confine::passing::send(stream.as_fd(), &hello, descriptors).unwrap();
    stream
}

/// The host's answer to it; `None` if it ends the connection, which means that the client asks again.
fn answered(mut stream: UnixStream) -> Option<Answer> {
    let mut answer = [0; ATTACHED];
    stream.read_exact(&mut answer).ok()?;
    Answer::from_number(answer[0].into())
}

fn handed(host: &Host, descriptors: &[BorrowedFd<'_>]) -> Option<Answer> {
    answered(hand(host, descriptors))
}

fn opened(path: &Path) -> OwnedFd {
    OpenOptions::new().read(true).custom_flags(nix::libc::O_DIRECTORY).open(path).unwrap().into()
}

/// Another user's turn goes on, and so does agentd.
fn goes_on(host: &Host, session: &str) {
    let began = Instant::now();
    let answer = by(host, OMAR, &["chat", "--session", session, "-m", "echo: on"]);
    assert_eq!(answer["ok"], true, "{answer}\n{}", host.log());
    assert!(began.elapsed() < SOON, "{session}: {:?}", began.elapsed());
}

/// Children of agentd's that no signal ends, since their file system has taken their call and does not answer.
fn left_behind(host: &Host) -> usize {
    let parent = format!("PPid:\t{}\n", host.agentd());
    let folders = fs::read_dir("/proc").unwrap().flatten();
    let told = folders.filter_map(|folder| fs::read_to_string(folder.path().join("status")).ok());
    told.filter(|status| status.contains(&parent) && status.contains("State:\tD")).count()
}

/// The host's answer to a hello of this purpose with the file of the file system, and with a directory before it if one is
/// given. The program waits in its own close for as long as the file system does not answer.
fn file_handed(
    host: &Host,
    fuse: &Path,
    directory: Option<&Path>,
    purpose: Purpose,
) -> (Child, Option<Answer>) {
    let hello: String =
        Hello::new(Process::Agentd, purpose).encode().iter().map(|byte| format!("{byte:02x}")).collect();
    #[expect(clippy::disallowed_methods, reason = "a client that may hang in the end of its own")]
    let mut command = Command::new("/usr/bin/python3");
    command.args(["-c", HANDS, &hello]).arg(host.socket()).args(directory).arg(fuse.join("file"));
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut answer = [0];
    let read = child.stdout.take().unwrap().read(&mut answer).unwrap();
    (child, (read == 1).then(|| Answer::from_number(answer[0].into())).flatten())
}

// Holds P1-41.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn a_file_system_that_does_not_answer_holds_up_nobody_else() {
    let host = host();
    let (agentd, control) = (host.agentd(), host.pid("control"));
    let place = host.dir().join("fuse");
    let fuse = Stalled::mount(&place, 0);
    let (directory, roots) = (opened(&place), directory(&host, "roots", 0));
    assert_eq!(
        handed(&host, &[directory.as_fd()]),
        Some(Answer::Remote),
        "one that answers is refused for its kind"
    );
    // A file is flushed by whoever closes it, which takes as long as its server likes.
    fuse.stall_closes();
    let local = host.dir().join("run");
    let hands = |directory: Option<&Path>, purpose| file_handed(&host, &place, directory, purpose);
    let (one, first) = hands(None, Purpose::Attach);
    goes_on(&host, "file");
    let (other, second) = hands(Some(&local), Purpose::Attach);
    goes_on(&host, "file");
    assert_eq!([first, second], [Some(Answer::NotADirectory); 2]);
    let (caller, _) = hands(None, Purpose::Calls);
    goes_on(&host, "calls");
    fuse.stall();
    let began = Instant::now();
    assert_eq!(handed(&host, &[directory.as_fd()]), Some(Answer::Stalled));
    assert!(began.elapsed() < SOON);
    goes_on(&host, "directory");
    // Two looks of one user's may be under way.
    let looks = [(); 3].map(|()| hand(&host, &[directory.as_fd()]));
    let answers = looks.map(answered);
    assert_eq!(answers.iter().filter(|answer| answer.is_none()).count(), 1, "{answers:?}");
    assert!(
        answers.iter().all(|answer| answer.is_none_or(|answer| answer == Answer::Stalled)),
        "{answers:?}"
    );
    // No signal ends a child whose call was taken; who left eight behind gets no other.
    for _ in 0..12 {
        assert_eq!(handed(&host, &[directory.as_fd()]), Some(Answer::Stalled));
    }
    assert!(left_behind(&host) <= 9, "{}", left_behind(&host));
    let began = Instant::now();
    assert_eq!(handed(&host, &[directory.as_fd()]), Some(Answer::Stalled));
    assert!(began.elapsed() < Duration::from_secs(1), "refused at once: {:?}", began.elapsed());
    goes_on(&host, "many");
    assert_eq!((host.agentd(), host.pid("control")), (agentd, control), "nobody was ended for it");
    drop(fuse);
    for mut child in [one, other, caller] {
        let _ = child.wait();
    }
    host.wait_for("those left behind end with their file system", || left_behind(&host) == 0);
    let own = opened(&roots);
    host.wait_for("their user may attach again", || handed(&host, &[own.as_fd()]) == Some(Answer::Ok));
}

// Holds P1-41.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn a_directory_that_stalls_once_it_is_attached_fails_its_own_turn_alone() {
    let host = host();
    let fuse = Stalled::mount(&host.dir().join("fuse"), 0);
    let (other, merged) = (directory(&host, "other", 0), directory(&host, "merged", 0));
    // An overlay answers by itself what it is, and asks the file system below it for all else.
    let layers = format!("lowerdir={}:{}", host.dir().join("fuse").display(), other.display());
    mount(Some("overlay"), &merged, Some("overlay"), MsFlags::empty(), Some(layers.as_str())).unwrap();
    assert_eq!(handed(&host, &[opened(&merged).as_fd()]), Some(Answer::Ok), "{}", host.log());
    let id = id_of(&merged);
    fuse.stall();
    let (mut liar, socket) = liar(&host, 0, &id);
    let words = ["chat", "--session", "w", "--workspace", other.to_str().unwrap(), "-m", "echo: in"];
    let stalled = through(&socket, 0, &words).stdout(Stdio::piped()).spawn().unwrap();
    goes_on(&host, "meanwhile");
    let answer = stalled.wait_with_output().unwrap();
    let _ = liar.kill();
    let _ = liar.wait();
    let said = String::from_utf8_lossy(&answer.stdout).into_owned();
    assert!(said.contains("did not answer within 2 s"), "{said}\n{}", host.log());
    goes_on(&host, "after");
    drop(fuse);
    umount2(&merged, MntFlags::MNT_DETACH).unwrap();
}

// Holds B-168.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn a_user_with_32_directories_attaches_none_more_until_a_session_ends() {
    let host = host();
    let names: Vec<String> = (0..33).map(|n| format!("d{n}")).collect();
    let paths: Vec<PathBuf> = names.iter().map(|name| directory(&host, name, 0)).collect();
    let chat = |path: &Path, session: &str| {
        host.ask(&["chat", "--session", session, "--workspace", path.to_str().unwrap(), "-m", "echo: x"])
    };
    assert_eq!(chat(&paths[0], "first")["ok"], true);
    for path in &paths[1..32] {
        assert_eq!(handed(&host, &[opened(path).as_fd()]), Some(Answer::Ok));
    }
    let refused = chat(&paths[32], "last");
    assert_eq!(refused["error"]["type"], "too_many_attached", "{refused}");
    assert!(refused["error"]["message"].to_string().contains("agentctl session end"), "{refused}");
    let his = directory(&host, "his", OMAR);
    let his = by(&host, OMAR, &["chat", "--workspace", his.to_str().unwrap(), "-m", "echo: x"]);
    assert_eq!(his["ok"], true, "another user has a share of their own: {his}");
    let descriptors = || fs::read_dir(format!("/proc/{}/fd", host.agentd())).unwrap().count();
    let before = descriptors();
    assert_eq!(host.ask(&["session", "end", "first"])["ok"], true);
    host.wait_for("the directory is closed", || descriptors() < before);
    assert_eq!(chat(&paths[32], "last")["ok"], true);
}
