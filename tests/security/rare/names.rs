//! Name servers of a test's own, of both families: every name that they are asked for is this machine. And an agentd that
//! is told of them and of no other, in a view of the file system of its own.

use super::with_script;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use tempfile::TempDir;

const ADDRESSES: [&str; 2] = ["127.77.0.1", "::1"];
/// The type of a question for addresses of IPv4, and of IPv6.
const A: u8 = 1;
const AAAA: u8 = 28;
/// In an answer's flags: it is not whole.
const CUT: u8 = 2;
/// The head of a question: its number, flags, and four counts.
const HEAD: usize = 12;

/// Both servers; they end with the test's own process.
pub(crate) struct Servers {
    programs: TempDir,
    asked: Arc<AtomicUsize>,
}

impl Servers {
    pub(crate) fn start() -> Self {
        let asked = Arc::<AtomicUsize>::default();
        for address in ADDRESSES {
            let (socket, asked) = (UdpSocket::bind((address, 53)).unwrap(), Arc::clone(&asked));
            thread::spawn(move || {
                let mut bytes = [0; 512];
                while let Ok((length, from)) = socket.recv_from(&mut bytes) {
                    asked.fetch_add(1, Ordering::Relaxed);
                    let mut answer = answer(&bytes[..length]);
                    // The client is to ask again over TCP.
                    answer[2] |= CUT;
                    drop(socket.send_to(&answer, from));
                }
            });
            let listener = TcpListener::bind((address, 53)).unwrap();
            thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    thread::spawn(move || over_tcp(stream));
                }
            });
        }
        Self { programs: programs(), asked }
    }

    /// How often they were asked.
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    /// The built programs, with an agentd that asks these servers.
    pub(crate) fn programs(&self) -> &Path {
        self.programs.path()
    }
}

fn programs() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let servers = folder.path().join("resolv.conf");
    fs::write(&servers, ADDRESSES.map(|address| format!("nameserver {address}\n")).concat()).unwrap();
    let text = format!(
        "#!/bin/sh\nexec unshare --mount sh -c 'mount --bind {} /etc/resolv.conf && exec {} \"$@\"' sh \"$@\"\n",
        servers.display(),
        tests::programs().join("agentd").display()
    );
    fs::set_permissions(&servers, fs::Permissions::from_mode(0o644)).unwrap();
    with_script(folder.path(), &text);
    folder
}

/// Answers what is asked over a connection, each with its length before it.
fn over_tcp(mut stream: TcpStream) {
    let mut length = [0; 2];
    while stream.read_exact(&mut length).is_ok() {
        let mut asked = vec![0; u16::from_be_bytes(length).into()];
        if stream.read_exact(&mut asked).is_err() {
            return;
        }
        let answer = answer(&asked);
        let length = u16::try_from(answer.len()).unwrap().to_be_bytes();
        if stream.write_all(&[&length[..], &answer].concat()).is_err() {
            return;
        }
    }
}

/// The question once more, and behind it one address of its type.
fn answer(asked: &[u8]) -> Vec<u8> {
    let name = asked[HEAD..].iter().position(|byte| *byte == 0).unwrap();
    let end = HEAD + name + 5;
    let address: &[u8] = match asked[end - 3] {
        A => &[127, 0, 0, 1],
        AAAA => &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
        _ => &[],
    };
    let mut answer = asked[..2].to_vec();
    answer.extend([0x84, 0, 0, 1, 0, u8::from(!address.is_empty()), 0, 0, 0, 0]);
    answer.extend(&asked[HEAD..end]);
    if let Ok(length @ 1..) = u8::try_from(address.len()) {
        // The name of the question, which begins behind the head, its type and class, seconds, and the address.
        answer.extend([0xc0, 12, 0, asked[end - 3], 0, 1, 0, 0, 0, 5, 0, length]);
        answer.extend(address);
    }
    answer
}
