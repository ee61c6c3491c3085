//! A hostile client of the control socket, which in mode `system` anybody may be, or of the API's port: it costs itself its connection.

use ipc_proto::control::{ControlRequest, FRAME_BOUND};
use manifest::Process;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;
use tarpc::{ClientMessage, Request};
use tests::{Host, Setup, free_port, get_over_tcp, text};
use wire::hello::{HELLO, Hello, Purpose};

/// Longer than control waits for anything.
const PATIENCE: Duration = Duration::from_secs(50);

fn connect(host: &Host, hello: Hello) -> UnixStream {
    let mut stream = UnixStream::connect(host.socket()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(&hello.encode()).unwrap();
    stream
}

fn greeted(host: &Host) -> UnixStream {
    let mut stream = connect(host, Hello::new(Process::Agentd, Purpose::Calls));
    stream.read_exact(&mut [0; HELLO]).unwrap();
    stream
}

/// Returns whether control ends the connection, whatever it still says before.
fn ended(mut stream: UnixStream) -> bool {
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

fn framed(body: &[u8]) -> Vec<u8> {
    [u32::try_from(body.len()).unwrap().to_le_bytes().as_slice(), body].concat()
}

fn status(id: u64) -> Vec<u8> {
    let context = tarpc::context::current();
    let message = ClientMessage::Request(Request { context, id, message: ControlRequest::Status {} });
    framed(&wire::codec::encode(&message, FRAME_BOUND).unwrap())
}

#[test]
fn broken_hellos_and_frames_end_the_connection_and_no_other() {
    let host = Host::start();
    let (control, over) = (host.pid("control"), u32::try_from(FRAME_BOUND + 1).unwrap());
    let mut bystander = greeted(&host);
    let another = Hello { version: 99, ..Hello::new(Process::Agentd, Purpose::Calls) };
    let mut endless = status(1);
    endless[8..16].copy_from_slice(&u64::MAX.to_le_bytes());
    let frames = [
        framed(&[0xa5; 64]),
        over.to_le_bytes().to_vec(),
        endless,
        vec![1, 0],
        [[0xff, 0, 0, 0], [0; 4]].concat(),
    ];
    let no_hello = UnixStream::connect(host.socket()).unwrap();
    no_hello.set_read_timeout(Some(PATIENCE)).unwrap();
    (&no_hello).write_all(&[0xa5; HELLO]).unwrap();
    let half_hello = UnixStream::connect(host.socket()).unwrap();
    half_hello.set_read_timeout(Some(PATIENCE)).unwrap();
    (&half_hello).write_all(b"CORD").unwrap();
    let broken = frames.map(|frame| {
        let mut stream = greeted(&host);
        stream.write_all(&frame).unwrap();
        stream
    });
    for (at, stream) in [connect(&host, another), no_hello, half_hello].into_iter().chain(broken).enumerate()
    {
        assert!(ended(stream), "connection {at} is still open");
    }
    bystander.write_all(&status(7)).unwrap();
    bystander.read_exact(&mut [0; 4]).unwrap();
    assert_eq!(host.pid("control"), control);
    host.wait_for("each is counted", || host.process("control")["refused"].as_u64() >= Some(8));
    assert_eq!(host.process("control")["refused"], 8);
}

// Holds B-164.
#[test]
fn who_has_as_many_connections_as_one_may_is_told_so() {
    let host = Host::start();
    let mut held: Vec<UnixStream> = (0..16).map(|_| greeted(&host)).collect();
    // Answered, so control knows whose they are: it closes them for nobody.
    for stream in &mut held {
        stream.write_all(&status(1)).unwrap();
        stream.read_exact(&mut [0; 4]).unwrap();
    }
    let mut one_more = UnixStream::connect(host.socket()).unwrap();
    one_more.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut word = [0; HELLO];
    one_more.read_exact(&mut word).unwrap();
    assert_eq!(Hello::decode(word).unwrap().purpose, Purpose::NoSlot);
    for words in [&["session", "list"][..], &["chat", "--workspace", "/usr", "-m", "echo: x"]] {
        let refused = host.ask(words);
        assert_eq!(refused["error"]["type"], "busy", "{refused}");
    }
    drop(held);
    assert_eq!(host.json(&["session", "list"])["ok"], true);
}

// Holds B-164.
#[test]
fn connections_that_say_nothing_make_room_for_one_that_asks() {
    let host = Host::start();
    let silent: Vec<UnixStream> = (0..64).map(|_| UnixStream::connect(host.socket()).unwrap()).collect();
    let begun = std::time::Instant::now();
    assert_eq!(host.json(&["session", "list"])["ok"], true);
    assert!(begun.elapsed() < Duration::from_secs(5), "after {:?}", begun.elapsed());
    drop(silent);
}

#[test]
fn a_client_that_takes_no_answers_is_ended_and_holds_nobody_up() {
    let host = Host::start();
    let mut stream = greeted(&host);
    let begun = std::time::Instant::now();
    let failed = (0..).find_map(|id| stream.write_all(&status(id)).err()).unwrap();
    let gone = [std::io::ErrorKind::BrokenPipe, std::io::ErrorKind::ConnectionReset];
    assert!(gone.contains(&failed.kind()), "{failed} after {:?}", begun.elapsed());
    assert!(host.try_status().is_some());
}

/// Asks for the models over a connection that stays open; gives the head of the answer, or nothing if there is none.
fn asked(stream: &mut TcpStream, key: &str) -> String {
    let request = format!("GET /v1/models HTTP/1.1\r\nHost: {}\r\n{key}\r\n", stream.peer_addr().unwrap());
    let mut heard = Vec::new();
    let whole = |heard: &[u8]| {
        let text = String::from_utf8_lossy(heard).to_lowercase();
        let (head, body) = text.split_once("\r\n\r\n")?;
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
        (body.len() >= length.parse::<usize>().ok()?).then(|| head.to_owned())
    };
    let mut buffer = [0; 4096];
    if stream.write_all(request.as_bytes()).is_err() {
        return String::new();
    }
    loop {
        if let Some(head) = whole(&heard) {
            return head;
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return String::new(),
            Ok(read) => heard.extend_from_slice(&buffer[..read]),
        }
    }
}

// Holds B-201.
#[test]
fn strangers_who_ask_without_a_key_keep_no_client_of_the_api_out() {
    let port = free_port();
    let host = Setup::default().config(&format!("[gateway]\nlisten = \"127.0.0.1:{port}\"\n")).start();
    let key = text(&host.json(&["key", "create", "app"]), "key");
    let bearer = format!("Authorization: Bearer {key}\r\n");
    let connect = || {
        let stream = tests::connect(port);
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    };
    let mut client = connect();
    assert!(asked(&mut client, &bearer).starts_with("http/1.1 200"), "{}", host.log());
    let mut strangers: Vec<TcpStream> = Vec::new();
    for _ in 0..500 {
        let mut stranger = connect();
        assert!(asked(&mut stranger, "").starts_with("http/1.1 401"));
        strangers.push(stranger);
    }
    assert!(asked(&mut client, &bearer).starts_with("http/1.1 200"), "its connection stays: {}", host.log());
    assert_eq!(get_over_tcp(port, "/v1/models", Some(&key)).0, 200, "and a new one finds a place");
    let told = host.log().matches("connection ended").count();
    assert!((1..=2).contains(&told), "the log says so once a minute: {told}");
}
