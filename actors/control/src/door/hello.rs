//! The first 16 bytes of a connection, with the descriptor they may carry. Read in one message, since descriptors
//! come with bytes: whoever sends fewer, or none in time, is not served.

use confine::passing;
use manifest::Process;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::UnixStream;
use wire::hello::{HELLO, Hello, Purpose};

/// How long a hello is waited for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// Descriptors of an attach: a directory and a mount namespace.
const MOST: usize = 2;

/// What a connection is for.
#[derive(Debug)]
pub(crate) enum Greeting {
    /// Calls.
    Calls(Hello),
    /// Handing a directory over, and the mount namespace that it was opened in; empty if the hello carried none.
    Attach(Vec<OwnedFd>),
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
    /// More descriptors than the purpose has.
    #[error("descriptors that belong to nothing")]
    Descriptors,
}

/// Reads the hello of a fresh connection.
pub(crate) async fn receive(stream: &UnixStream, patience: Duration) -> Result<Greeting, NoHello> {
    let message = async {
        loop {
            stream.readable().await?;
            let read = || passing::receive::<HELLO>(stream.as_fd());
            match stream.try_io(Interest::READABLE, read) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
        }
    };
    let message = tokio::time::timeout(patience, message).await.map_err(|_| NoHello::Late)??;
    let (bytes, descriptors) = message.ok_or(NoHello::Short)?;
    sort(bytes, descriptors)
}

fn sort(bytes: [u8; HELLO], descriptors: Vec<OwnedFd>) -> Result<Greeting, NoHello> {
    let hello = Hello::decode(bytes).ok_or(NoHello::Garbage)?;
    let ours = Hello::new(Process::Control, hello.purpose);
    let most = if hello.purpose == Purpose::Attach { MOST } else { 0 };
    if descriptors.len() > most {
        return Err(NoHello::Descriptors);
    }
    match hello.purpose {
        Purpose::Calls => Ok(Greeting::Calls(hello)),
        Purpose::Attach if hello.version == ours.version => Ok(Greeting::Attach(descriptors)),
        Purpose::Attach => Err(NoHello::Version),
        Purpose::NoSeat => Err(NoHello::Garbage),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs::File;
    use std::io::Write;
    use std::os::fd::BorrowedFd;
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::net::UnixStream as StdStream;

    fn attach() -> [u8; HELLO] {
        Hello::new(Process::Agentd, Purpose::Attach).encode()
    }

    fn calls() -> [u8; HELLO] {
        Hello::new(Process::Agentd, Purpose::Calls).encode()
    }

    /// What becomes of a connection whose client does this.
    fn greeted(client: impl FnOnce(&mut StdStream)) -> Result<Greeting, NoHello> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (ours, mut theirs) = StdStream::pair().unwrap();
            ours.set_nonblocking(true).unwrap();
            client(&mut theirs);
            receive(&UnixStream::from_std(ours).unwrap(), Duration::from_millis(50)).await
        })
    }

    fn sending(bytes: &[u8], directories: usize) -> Result<Greeting, NoHello> {
        let opened: Vec<File> = (0..directories).map(|_| File::open("/").unwrap()).collect();
        let descriptors: Vec<BorrowedFd<'_>> = opened.iter().map(AsFd::as_fd).collect();
        greeted(|client| passing::send(client.as_fd(), bytes, &descriptors).unwrap())
    }

    #[test]
    fn a_hello_says_what_the_connection_is_for_and_hands_its_directory_over() {
        assert!(matches!(sending(&calls(), 0), Ok(Greeting::Calls(_))));
        let root = std::fs::metadata("/").unwrap();
        for count in 0..=MOST {
            let Ok(Greeting::Attach(handed)) = sending(&attach(), count) else { panic!("no attach") };
            assert_eq!(handed.len(), count);
            for descriptor in handed {
                assert_eq!(File::from(descriptor).metadata().unwrap().ino(), root.ino());
            }
        }
    }

    #[test]
    fn what_follows_the_hello_is_left_for_the_calls() {
        let (ours, mut theirs) = StdStream::pair().unwrap();
        theirs.write_all(&[calls().as_slice(), b"more"].concat()).unwrap();
        assert!(passing::receive::<HELLO>(ours.as_fd()).unwrap().is_some());
        let mut rest = [0; 4];
        std::io::Read::read_exact(&mut &ours, &mut rest).unwrap();
        assert_eq!(&rest, b"more");
    }

    #[test]
    fn descriptors_that_belong_to_nothing_end_the_connection() {
        assert!(matches!(sending(&calls(), 1), Err(NoHello::Descriptors)));
        assert!(matches!(sending(&attach(), MOST + 1), Err(NoHello::Descriptors)));
        assert!(matches!(sending(&[7; HELLO], 1), Err(NoHello::Garbage)));
        assert!(matches!(sending(&attach()[..7], 1), Err(NoHello::Short)));
    }

    #[test]
    fn half_a_hello_none_in_time_and_a_peer_that_left_are_not_served() {
        assert!(matches!(sending(&calls()[..15], 0), Err(NoHello::Short)));
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
