//! Every method of a callee, called over the real edge with the smallest arguments there are. The outcome tells whether the
//! table let the call through; what the callee makes of it is the callee's affair.

use crate::actor::Held;
use crate::{raw, say};
use manifest::Process;
use std::io::{self, ErrorKind};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use wire::codec::{Side, decode};
use wire::hello::{HELLO, Hello, Purpose};

/// Time for an answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// Bytes of an answer before its value: the number of the request, and whether a value or an error follows.
const ANSWER_HEAD: usize = 12;

/// Calls every method of the process at the other end, and says what came of each on one line.
pub(crate) async fn every_method(me: Process, edge: Held) {
    let callee = edge.peer;
    let outcomes = all(me, edge).await.unwrap_or_else(|error| format!("no-hello={:?}", error.kind()));
    say(&format_args!("calls {} {outcomes}", callee.name()));
}

async fn all(me: Process, edge: Held) -> io::Result<String> {
    let callee = edge.peer;
    let mut stream = UnixStream::from_std(edge.stream)?;
    stream.write_all(&Hello::new(me, Purpose::Calls).encode()).await?;
    stream.read_exact(&mut [0; HELLO]).await?;
    let mut outcomes = Vec::new();
    let methods = ipc_proto::interfaces(callee).first().copied().unwrap_or_default();
    for (number, method) in (0_u32..).zip(methods) {
        let outcome = match raw::smallest(callee, number.into(), number) {
            Some(request) => one(&mut stream, &request).await,
            None => "not-made",
        };
        outcomes.push(format!("{}={outcome}", method.name));
    }
    Ok(outcomes.join(" "))
}

async fn one(stream: &mut UnixStream, request: &[u8]) -> &'static str {
    let answer = async {
        stream.write_all(request).await?;
        let length = stream.read_u32_le().await?;
        let mut body = vec![0; usize::try_from(length).unwrap_or(0)];
        stream.read_exact(&mut body).await?;
        io::Result::Ok(body)
    };
    match tokio::time::timeout(PATIENCE, answer).await {
        Ok(Ok(body)) => outcome(&body),
        Ok(Err(_)) => "connection-lost",
        Err(_) => "no-answer",
    }
}

fn outcome(body: &[u8]) -> &'static str {
    if body.get(ANSWER_HEAD - 4..ANSWER_HEAD) == Some(&[0; 4]) {
        return "answered";
    }
    let error = decode::<tarpc::Response<()>>(body, body.len(), Side::Client).map(|answer| answer.message);
    match error {
        Ok(Err(error)) if error.kind == ErrorKind::PermissionDenied => "not-allowed",
        _ => "server-error",
    }
}
