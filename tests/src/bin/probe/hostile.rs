//! A hostile peer: broken hellos, frames and answers over real edges.

use crate::actor::{Edges, Held};
use crate::raw::{self, HEAD};
use crate::say;
use confine::passing;
use futures::future::join_all;
use manifest::Process;
use manifest::command::Role;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use wire::hello::{HELLO, Hello, Purpose};

/// How long a callee is given to end the connection.
const PATIENCE: Duration = Duration::from_secs(40);
/// Calls of a flood.
const FLOOD: u64 = 10_000;
/// How long a flood's answers are left unread.
const UNREAD: Duration = Duration::from_secs(2);
/// Bytes that no decoder takes for a message.
const GARBAGE: [u8; 64] = [0xa5; 64];

/// Attacks every callee at once, each over the edge to it.
pub(crate) async fn attack(me: Process, attack: &str, edges: Vec<Held>) {
    join_all(edges.into_iter().map(async |edge| {
        let callee = edge.peer;
        let came = one(me, attack, edge).await.unwrap_or_else(|error| format!("{:?}", error.kind()));
        say(&format_args!("{attack} {}: {came}", callee.name()));
    }))
    .await;
}

async fn one(me: Process, attack: &str, edge: Held) -> io::Result<String> {
    let callee = edge.peer;
    if attack == "descriptor" {
        let sent = passing::send(edge.stream.as_fd(), b"x", &[edge.stream.as_fd()]);
        return Ok(
            sent.map_or_else(|error| format!("refused, {:?}", error.raw_os_error()), |()| "sent".to_owned())
        );
    }
    let mut stream = UnixStream::from_std(edge.stream)?;
    let mut hello = Hello::new(me, Purpose::Calls);
    match attack {
        "no hello" => stream.write_all(GARBAGE.get(..HELLO).unwrap_or_default()).await?,
        "another version" => {
            hello.version += 1;
            stream.write_all(&hello.encode()).await?;
        }
        _ => {
            stream.write_all(&hello.encode()).await?;
            stream.read_exact(&mut [0; HELLO]).await?;
            if attack == "flood" {
                return flood(callee, stream).await;
            }
            stream.write_all(&broken(attack, callee)).await?;
        }
    }
    ended(stream).await
}

/// The bytes after a good hello.
fn broken(attack: &str, callee: Process) -> Vec<u8> {
    let over = u32::try_from(raw::bound(callee) + 1).unwrap_or(u32::MAX);
    match attack {
        "garbage" => raw::framed(&GARBAGE),
        "oversize" => over.to_le_bytes().to_vec(),
        "half" => [1000_u32.to_le_bytes().as_slice(), &[0; 10]].concat(),
        "endless" => raw::endless(callee),
        "trailing" => raw::trailing(callee),
        _ => Vec::new(),
    }
}

/// Waits for the callee to end the connection.
async fn ended(mut stream: UnixStream) -> io::Result<String> {
    let mut buffer = [0; 4096];
    let end = async { while stream.read(&mut buffer).await.is_ok_and(|length| length > 0) {} };
    let ended = tokio::time::timeout(PATIENCE, end).await.is_ok();
    Ok(if ended { "ended" } else { "still open" }.to_owned())
}

/// Ten thousand calls at once, whose answers are left lying for a while and then counted.
async fn flood(callee: Process, stream: UnixStream) -> io::Result<String> {
    let (mut reader, mut writer) = stream.into_split();
    let write = async {
        for request in raw::harmless(callee, 0..FLOOD) {
            writer.write_all(&request).await?;
        }
        Ok::<(), io::Error>(())
    };
    let read = async {
        tokio::time::sleep(UNREAD).await;
        let mut answers = 0_u64;
        while answers < FLOOD {
            let length = reader.read_u32_le().await?;
            let mut body = vec![0; usize::try_from(length).unwrap_or(0)];
            reader.read_exact(&mut body).await?;
            answers += 1;
        }
        Ok::<u64, io::Error>(answers)
    };
    let (written, answers) = tokio::join!(write, read);
    written?;
    Ok(format!("{} answers", answers?))
}

/// Lies to everyone who calls, for as long as it lives.
pub(crate) async fn answer(me: Process, lie: &str, edges: &Edges) {
    loop {
        let callers: Vec<Held> =
            edges.borrow_mut().extract_if(.., |held| held.role == Role::Server).collect();
        for edge in callers {
            let (caller, lie) = (edge.peer, lie.to_owned());
            tokio::task::spawn_local(async move {
                let lied = lie_to(me, &lie, edge).await;
                say(&format_args!(
                    "{lie} {}: {}",
                    caller.name(),
                    if lied.is_ok() { "answered" } else { "gone" }
                ));
            });
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A good hello, and then an answer that is none; the connection is kept for as long as the caller keeps it.
async fn lie_to(me: Process, lie: &str, edge: Held) -> io::Result<()> {
    let mut stream = UnixStream::from_std(edge.stream)?;
    stream.write_all(&Hello::new(me, Purpose::Calls).encode()).await?;
    stream.read_exact(&mut [0; HELLO + HEAD]).await?;
    stream.write_all(&broken(lie, Process::Runner)).await?;
    ended(stream).await.map(drop)
}
