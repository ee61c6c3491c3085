//! Names that lead elsewhere from one question to the next. A host in a network of its own asks a name server of the test's
//! that changes its answers, and a listener at every address says which of them were connected to.

use nix::sched::{CloneFlags, unshare};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use tests::{Host, Setup};

/// A public address, which is this network's own.
const PUBLIC: Ipv4Addr = Ipv4Addr::new(93, 184, 216, 34);
const LOOPBACK: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// Where clouds tell machines their secrets.
const METADATA: Ipv4Addr = Ipv4Addr::new(169, 254, 169, 254);
const NAME: &str = "api.rebound.test";

/// What the next questions are answered with: the last holds for all that follow.
type Answers = Arc<Mutex<Vec<Vec<Ipv4Addr>>>>;

fn run(words: &[&str]) {
    assert!(Command::new(words[0]).args(&words[1..]).status().unwrap().success(), "{words:?}");
}

/// Gives this thread, and what it starts, a network and a table of mounts of their own.
fn apart(folder: &std::path::Path) {
    unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS).unwrap();
    run(&["mount", "--make-rprivate", "/"]);
    run(&["ip", "link", "set", "lo", "up"]);
    for address in [PUBLIC, METADATA] {
        run(&["ip", "address", "add", &format!("{address}/32"), "dev", "lo"]);
    }
    let resolver = folder.join("resolv.conf");
    std::fs::write(&resolver, "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n").unwrap();
    std::fs::set_permissions(&resolver, std::fs::Permissions::from_mode(0o644)).unwrap();
    run(&["mount", "--bind", resolver.to_str().unwrap(), "/etc/resolv.conf"]);
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

/// A listener at every address; which of them were connected to.
fn listen() -> Arc<Mutex<BTreeSet<IpAddr>>> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 443)).unwrap();
    let connected = Arc::<Mutex<BTreeSet<IpAddr>>>::default();
    let keeps = Arc::clone(&connected);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            keeps.lock().unwrap().insert(stream.local_addr().unwrap().ip());
        }
    });
    connected
}

/// Has the provider's model be asked, with its key; what is said of that.
fn asked(host: &Host) -> String {
    let output = host.ctl(&["model", "test", "corp/small", "--json"]);
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

fn look() {
    let folder = tempfile::Builder::new().prefix("cordon-names-").tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    apart(folder.path());
    let (answers, connected) = (serve_names(), listen());
    let config = format!(
        "[model]\nretries = 0\n[provider.corp]\nbase_url = \"https://{NAME}/v1\"\nsecret = \"corp\"\nmodels.small = {{}}\n"
    );
    let host = Setup::default().config(&config).start();
    host.keep("corp", "corp-account-Jd5RzQ8vLm3TnXc7-key", &["--host", NAME]);
    let elsewhere = "not public";
    for (told, reached, says) in [
        (vec![vec![PUBLIC]], true, ""),
        // Who resolved a name once more to connect to it would connect to the second.
        (vec![vec![PUBLIC], vec![LOOPBACK]], true, ""),
        (vec![vec![LOOPBACK]], false, elsewhere),
        (vec![vec![METADATA]], false, elsewhere),
        (vec![vec![PUBLIC, LOOPBACK]], false, elsewhere),
        (vec![vec![METADATA, PUBLIC]], false, elsewhere),
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

// Holds P4-06.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn a_name_that_leads_to_another_address_from_one_question_to_the_next_leads_no_secret_there() {
    assert!(tests::is_root(), "make test-confined needs root");
    // What a thread leaves is left by it alone.
    thread::spawn(look).join().unwrap();
}
