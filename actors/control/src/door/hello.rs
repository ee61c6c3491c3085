//! The first 16 bytes of a connection. What descriptors come with them are never this process's: to close a file can take for ever
//! where its file system does not answer. An attach is left whole in its socket, for agentd to have a child take it.

use confine::passing;
use manifest::Process;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::UnixStream;
use wire::hello::{HELLO, Hello, Purpose};

/// How long a hello is waited for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// The purpose of a connection.
#[derive(Debug)]
pub(crate) enum Greeting {
    /// Calls.
    Calls(Hello),
    /// Handing a directory over, with a hello that was looked at and not taken.
    Attach,
}

/// Why there is no hello.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoHello {
    /// Nothing came in time.
    #[error("no hello came in time")]
    Late,
    /// The socket failed.
    #[error("the hello cannot be read: {0}")]
    Socket(#[from] io::Error),
    /// It came in pieces, or the peer went away.
    #[error("less than a whole hello")]
    Short,
    /// The bytes are none.
    #[error("not a hello")]
    Garbage,
    /// An attach of another version: there is no answer that it would understand.
    #[error("an attach of another version")]
    Version,
}

/// Reads the hello of a fresh connection.
pub(crate) async fn receive(stream: &UnixStream, patience: Duration) -> Result<Greeting, NoHello> {
    let message = async {
        loop {
            stream.readable().await?;
            let read = || passing::peek::<HELLO>(stream.as_fd());
            match stream.try_io(Interest::READABLE, read) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
        }
    };
    let bytes = tokio::time::timeout(patience, message).await.map_err(|_| NoHello::Late)??;
    let greeting = sort(bytes.ok_or(NoHello::Short)?)?;
    if matches!(greeting, Greeting::Calls(_)) {
        passing::take_bytes::<HELLO>(stream.as_fd())?;
    }
    Ok(greeting)
}

fn sort(bytes: [u8; HELLO]) -> Result<Greeting, NoHello> {
    let hello = Hello::decode(bytes).ok_or(NoHello::Garbage)?;
    let ours = Hello::new(Process::Control, hello.purpose);
    match hello.purpose {
        Purpose::Calls => Ok(Greeting::Calls(hello)),
        Purpose::Attach if hello.version == ours.version => Ok(Greeting::Attach),
        Purpose::Attach => Err(NoHello::Version),
        Purpose::NoSlot => Err(NoHello::Garbage),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs::File;
    use std::io::Write;
    use std::os::fd::BorrowedFd;
    use std::os::unix::net::UnixStream as StdStream;

    fn attach() -> [u8; HELLO] {
        Hello::new(Process::Agentd, Purpose::Attach).encode()
    }

    fn calls() -> [u8; HELLO] {
        Hello::new(Process::Agentd, Purpose::Calls).encode()
    }

    /// The outcome for a connection whose client does this, and the connection.
    fn greeted_on(client: impl FnOnce(&mut StdStream)) -> (Result<Greeting, NoHello>, StdStream) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (ours, mut theirs) = StdStream::pair().unwrap();
            ours.set_nonblocking(true).unwrap();
            client(&mut theirs);
            let stream = UnixStream::from_std(ours).unwrap();
            let greeting = receive(&stream, Duration::from_millis(50)).await;
            (greeting, stream.into_std().unwrap())
        })
    }

    fn greeted(client: impl FnOnce(&mut StdStream)) -> Result<Greeting, NoHello> {
        greeted_on(client).0
    }

    fn sending(bytes: &[u8], directories: usize) -> Result<Greeting, NoHello> {
        let opened: Vec<File> = (0..directories).map(|_| File::open("/").unwrap()).collect();
        let descriptors: Vec<BorrowedFd<'_>> = opened.iter().map(AsFd::as_fd).collect();
        greeted(|client| passing::send(client.as_fd(), bytes, &descriptors).unwrap())
    }

    #[test]
    fn an_attach_is_left_in_its_socket_with_what_it_hands_over() {
        let directory = File::open("/").unwrap();
        let (greeting, stream) = greeted_on(|client| {
            passing::send(client.as_fd(), &attach(), &[directory.as_fd()]).unwrap();
        });
        assert!(matches!(greeting, Ok(Greeting::Attach)));
        let (bytes, handed) = passing::receive::<HELLO>(stream.as_fd()).unwrap().unwrap();
        assert_eq!((bytes, handed.len()), (attach(), 1));
    }

    // Holds P1-41.
    #[test]
    fn a_descriptor_that_comes_with_a_hello_is_never_this_processs() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let (greeting, _stream) = greeted_on(|client| {
            passing::send(client.as_fd(), &calls(), &[writer.as_fd()]).unwrap();
            drop(writer);
        });
        assert!(matches!(greeting, Ok(Greeting::Calls(_))));
        let end = std::io::Read::read(&mut reader, &mut [0]).unwrap();
        assert_eq!(end, 0, "nobody holds the other end of the pipe");
    }

    #[test]
    fn what_follows_the_hello_is_left_for_the_calls() {
        let all = [calls().as_slice(), b"more"].concat();
        let (greeting, stream) = greeted_on(|client| client.write_all(&all).unwrap());
        assert!(matches!(greeting, Ok(Greeting::Calls(_))));
        let mut rest = [0; 4];
        std::io::Read::read_exact(&mut &stream, &mut rest).unwrap();
        assert_eq!(&rest, b"more");
    }

    #[test]
    fn half_a_hello_none_in_time_and_a_peer_that_left_are_not_served() {
        assert!(matches!(sending(&calls()[..15], 0), Err(NoHello::Short)));
        assert!(matches!(sending(&attach()[..7], 1), Err(NoHello::Short)));
        assert!(matches!(sending(&[7; HELLO], 1), Err(NoHello::Garbage)));
        assert!(matches!(greeted(|_| {}), Err(NoHello::Late)));
        let left = greeted(|client| client.shutdown(std::net::Shutdown::Both).unwrap());
        assert!(matches!(left, Err(NoHello::Short)));
    }

    #[test]
    fn another_version_is_let_in_for_calls_to_be_told_and_not_for_an_attach() {
        let mut other = calls();
        other[8] ^= 0xff;
        assert!(
            matches!(sending(&other, 0), Ok(Greeting::Calls(hello)) if hello.version != ipc_proto::PROTOCOL_VERSION)
        );
        let mut other = attach();
        other[8] ^= 0xff;
        assert!(matches!(sending(&other, 1), Err(NoHello::Version)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_bytes_with_any_descriptors_end_in_a_greeting_or_a_reason(bytes in prop::collection::vec(any::<u8>(), 1..40), directories in 0_usize..4) {
            prop_assert!(sending(&bytes, directories).is_err());
        }

        #[test]
        fn a_hello_with_any_one_byte_changed_is_sorted_without_harm(at in 0..HELLO, to: u8, directories in 0_usize..3) {
            let mut bytes = attach();
            bytes[at] = to;
            let _ = sending(&bytes, directories);
        }
    }
}
