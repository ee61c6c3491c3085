//! Connecting to addresses that the rule has let pass, one after the other. Nothing is written or read here.

use ipc_proto::dialer::DialError;
use socket2::{SockRef, TcpKeepalive};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};
use tokio::net::{TcpSocket, TcpStream};

/// How long all attempts together may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// Addresses of one host that are tried.
const TRIES: usize = 4;

/// The first connection that one of the addresses accepts within `patience`, each having its share of what is
/// left of it.
pub(crate) async fn connect(
    addresses: &[IpAddr],
    port: u16,
    patience: Duration,
) -> Result<TcpStream, DialError> {
    let deadline = Instant::now() + patience;
    let mut fault = DialError::TimedOut;
    let tries = addresses.len().min(TRIES);
    for (done, address) in addresses.iter().take(tries).enumerate() {
        let left = deadline.saturating_duration_since(Instant::now());
        let share = left / u32::try_from(tries - done).unwrap_or(1);
        match tokio::time::timeout(share, attempt(SocketAddr::new(*address, port))).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(_)) => fault = DialError::Refused,
            Err(_) => fault = DialError::TimedOut,
        }
    }
    Err(fault)
}

/// How long a connection may be silent before the other end is asked whether it is there.
const SILENCE: Duration = Duration::from_secs(60);
/// How long between two such questions.
const INTERVAL: Duration = Duration::from_secs(15);
/// Unanswered questions after which the connection is over.
const QUESTIONS: u32 = 4;
/// How long bytes that were written may be unacknowledged before the connection is over.
const UNACKNOWLEDGED: Duration = Duration::from_secs(30);

async fn attempt(address: SocketAddr) -> io::Result<TcpStream> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // The receiver of the connection cannot set this itself, and without it streams stall by 44 ms.
    socket.set_nodelay(true)?;
    watch(&socket)?;
    socket.connect(address).await
}

/// Has the kernel end a connection whose other end is gone without a word. Nobody past this process may set options.
fn watch(socket: &TcpSocket) -> io::Result<()> {
    let socket = SockRef::from(socket);
    let asked = TcpKeepalive::new().with_time(SILENCE).with_interval(INTERVAL).with_retries(QUESTIONS);
    socket.set_tcp_keepalive(&asked)?;
    socket.set_tcp_user_timeout(Some(UNACKNOWLEDGED))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    // Holds P4-36.
    #[tokio::test(flavor = "current_thread")]
    async fn a_connection_ends_when_the_other_end_is_gone_without_a_word() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stream = connect(&[address.ip()], address.port(), PATIENCE).await.unwrap();
        let socket = SockRef::from(&stream);
        assert!(socket.keepalive().unwrap());
        let times = (socket.tcp_keepalive_time().unwrap(), socket.tcp_keepalive_interval().unwrap());
        assert_eq!(times, (Duration::from_secs(60), Duration::from_secs(15)));
        assert_eq!(socket.tcp_keepalive_retries().unwrap(), 4);
        assert_eq!(socket.tcp_user_timeout().unwrap(), Some(Duration::from_secs(30)));
    }

    fn run(addresses: &[&str], port: u16, patience: Duration) -> Result<SocketAddr, DialError> {
        let addresses: Vec<IpAddr> = addresses.iter().map(|text| text.parse().unwrap()).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(connect(&addresses, port, patience)).map(|stream| stream.peer_addr().unwrap())
    }

    #[test]
    fn an_address_that_refuses_is_followed_by_the_next() {
        let listener = TcpListener::bind("127.0.0.2:0").unwrap();
        let address = listener.local_addr().unwrap();
        let peer = run(&["127.0.0.3", "127.0.0.2"], address.port(), PATIENCE).unwrap();
        assert_eq!(peer, address);
    }

    #[test]
    fn when_every_address_refuses_the_fault_says_so() {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        assert_eq!(run(&["127.0.0.1", "127.0.0.2"], port, PATIENCE), Err(DialError::Refused));
    }

    /// A listener whose queue is full drops what comes: connecting to it hangs.
    // Holds B-104.
    #[tokio::test(flavor = "current_thread")]
    async fn an_address_that_never_answers_leaves_time_for_the_next() {
        let full = TcpSocket::new_v4().unwrap();
        full.bind("127.0.0.4:0".parse().unwrap()).unwrap();
        let full = full.listen(1).unwrap();
        let port = full.local_addr().unwrap().port();
        let open = TcpListener::bind(("127.0.0.5", port)).unwrap();
        let [hangs, answers]: [IpAddr; 2] = ["127.0.0.4".parse().unwrap(), "127.0.0.5".parse().unwrap()];
        let short = Duration::from_millis(200);
        let mut kept = Vec::new();
        while let Ok(stream) = connect(&[hangs], port, short).await {
            kept.push(stream);
            assert!(kept.len() < 100, "the queue never fills");
        }
        assert_eq!(connect(&[hangs], port, short).await.err(), Some(DialError::TimedOut));
        let stream = connect(&[hangs, answers], port, short * 4).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), open.local_addr().unwrap());
    }
}
