//! Names that lead elsewhere from one question to the next. A host in a network of its own asks a name server of the test's
//! that changes its answers, and a listener at every address says which of them were connected to.

use nix::sched::{CloneFlags, unshare};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use tests::{Host, Setup};

/// A public address, behind a gateway.
const PUBLIC: Ipv4Addr = Ipv4Addr::new(93, 184, 216, 34);
/// The machine's own public address, and the gateway on its link.
const OWN: Ipv4Addr = Ipv4Addr::new(93, 184, 217, 1);
const GATEWAY: Ipv4Addr = Ipv4Addr::new(93, 184, 217, 2);
const LOOPBACK: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// The address at which clouds give machines their secrets.
const METADATA: Ipv4Addr = Ipv4Addr::new(169, 254, 169, 254);
const NAME: &str = "api.rebound.test";

/// The answers to the next questions: the last holds for all that follow.
type Answers = Arc<Mutex<Vec<Vec<Ipv4Addr>>>>;
/// The addresses that somebody connected to.
type Connected = Arc<Mutex<BTreeSet<IpAddr>>>;

fn run(words: &[&str]) {
    assert!(Command::new(words[0]).args(&words[1..]).status().unwrap().success(), "{words:?}");
}

/// Gives this thread, and the programs that it starts, a network and a table of mounts of their own. `connected` gets the
/// addresses that somebody connects to, here and behind the gateway.
fn apart(folder: &Path, connected: &Connected) {
    unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS).unwrap();
    run(&["mount", "--make-rprivate", "/"]);
    run(&["ip", "link", "set", "lo", "up"]);
    run(&["ip", "address", "add", &format!("{METADATA}/32"), "dev", "lo"]);
    run(&["ip", "link", "add", "name", "inside", "type", "veth", "peer", "name", "outside"]);
    attach("inside", OWN);
    gateway(connected);
    run(&["ip", "route", "add", "default", "via", &GATEWAY.to_string()]);
    listen(connected);
    let resolver = folder.join("resolv.conf");
    std::fs::write(&resolver, "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n").unwrap();
    std::fs::set_permissions(&resolver, std::fs::Permissions::from_mode(0o644)).unwrap();
    run(&["mount", "--bind", resolver.to_str().unwrap(), "/etc/resolv.conf"]);
}

fn attach(interface: &str, address: Ipv4Addr) {
    run(&["ip", "address", "add", &format!("{address}/24"), "dev", interface]);
    run(&["ip", "link", "set", interface, "up"]);
}

/// Another network at the end of the link: the gateway, with the public address behind it. It ends with its thread, which
/// listens for ever.
fn gateway(connected: &Connected) {
    let (names, network) = mpsc::channel();
    let (moved, is_moved) = mpsc::channel();
    let (ready, is_ready) = mpsc::channel();
    let connected = Arc::clone(connected);
    thread::spawn(move || {
        unshare(CloneFlags::CLONE_NEWNET).unwrap();
        names.send(std::fs::read_link("/proc/thread-self").unwrap()).unwrap();
        is_moved.recv().unwrap();
        run(&["ip", "link", "set", "lo", "up"]);
        run(&["ip", "address", "add", &format!("{PUBLIC}/32"), "dev", "lo"]);
        attach("outside", GATEWAY);
        listen(&connected);
        ready.send(()).unwrap();
        loop {
            thread::park();
        }
    });
    let network = Path::new("/proc").join(network.recv().unwrap()).join("ns/net");
    run(&["ip", "link", "set", "outside", "netns", network.to_str().unwrap()]);
    moved.send(()).unwrap();
    is_ready.recv().unwrap();
}

/// A name server that has no other name. What is kept for no time is asked for each time.
fn serve_names() -> Answers {
    let socket = UdpSocket::bind((LOOPBACK, 53)).unwrap();
    let answers = Answers::default();
    let told = Arc::clone(&answers);
    thread::spawn(move || {
        let mut question = [0; 512];
        while let Ok((length, from)) = socket.recv_from(&mut question) {
            drop(socket.send_to(&reply(&question[..length], &told), from));
        }
    });
    answers
}

fn reply(question: &[u8], answers: &Answers) -> Vec<u8> {
    let end = 12 + question[12..].iter().position(|byte| *byte == 0).unwrap() + 5;
    let is_of_addresses = question[end - 4..end] == [0, 1, 0, 1];
    let mut waiting = answers.lock().unwrap();
    let addresses = match (is_of_addresses, waiting.len()) {
        (false, _) | (_, 0) => Vec::new(),
        (true, 1) => waiting[0].clone(),
        (true, _) => waiting.remove(0),
    };
    let count = u8::try_from(addresses.len()).unwrap();
    let mut reply = [&question[..2], &[0x81, 0x80, 0, 1, 0, count, 0, 0, 0, 0], &question[12..end]].concat();
    for address in addresses {
        reply.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]);
        reply.extend(address.octets());
    }
    reply
}

/// A listener at every address of this thread's network; `connected` gets those that somebody connects to.
fn listen(connected: &Connected) {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 443)).unwrap();
    let connected = Arc::clone(connected);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            connected.lock().unwrap().insert(stream.local_addr().unwrap().ip());
        }
    });
}

/// Asks the provider's model, with its key, and returns the output.
fn asked(host: &Host) -> String {
    let output = host.ctl(&["model", "test", "corp/small", "--json"]);
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

fn look() {
    let folder = tempfile::Builder::new().prefix("cordon-names-").tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let connected = Connected::default();
    apart(folder.path(), &connected);
    let answers = serve_names();
    let config = format!(
        "[model]\nretries = 0\n[provider.corp]\nbase_url = \"https://{NAME}/v1\"\nsecret = \"corp\"\nmodels.small = {{}}\n"
    );
    let host = Setup::default().config(&config).start();
    host.keep("corp", "corp-account-Jd5RzQ8vLm3TnXc7-key", &["--host", NAME]);
    let (elsewhere, local) = ("not public", "this machine's own or on a network");
    // Each case ends model once, and agentd holds a process that ends too often: single addresses are tried in dialer's tests.
    for (told, reached, says) in [
        (vec![vec![PUBLIC]], true, ""),
        // A host that resolved a name once more to connect to it would connect to the second.
        (vec![vec![PUBLIC], vec![LOOPBACK]], true, ""),
        (vec![vec![METADATA]], false, elsewhere),
        (vec![vec![PUBLIC, LOOPBACK]], false, elsewhere),
        (vec![vec![GATEWAY]], false, local),
        (vec![vec![PUBLIC, OWN]], false, local),
        (vec![vec![PUBLIC]], true, ""),
    ] {
        connected.lock().unwrap().clear();
        answers.lock().unwrap().clone_from(&told);
        // A provider that failed too often is left alone for a while; a model that has just started knows of none.
        host.kill_and_wait("model");
        let said = asked(&host);
        assert!(said.contains(says), "{told:?}: {said}");
        let connected: Vec<IpAddr> = connected.lock().unwrap().iter().copied().collect();
        let expected: Vec<IpAddr> = reached.then_some(PUBLIC.into()).into_iter().collect();
        assert_eq!(connected, expected, "{told:?}: {said}");
    }
}

// Holds P4-06, P4-32.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn a_name_that_rebinds_leads_no_secret_to_its_second_address() {
    assert!(tests::is_root(), "make test-confined needs root");
    // A namespace that a thread leaves is left by that thread alone.
    thread::spawn(look).join().unwrap();
}
