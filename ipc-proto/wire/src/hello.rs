//! The first frame of every connection: who speaks, which protocol version, and what the connection is for.
//! Sixteen bytes, fixed, so that two versions can always tell each other that they differ.

use ipc_proto::{Fault, PROTOCOL_VERSION};
use manifest::Process;
pub use manifest::command::HELLO;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

const MAGIC: [u8; 8] = *b"CORDON\r\n";

/// The purpose of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Purpose {
    /// Calls of an interface.
    Calls = 0,
    /// Handing a workspace directory over: the hello carries the descriptor, the answer is an
    /// [`Attached`]; nothing follows.
    Attach = 1,
    /// Response by who serves, before it ends the connection: there is no room for another of this caller's.
    NoSlot = 2,
}

/// A hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The speaker's protocol version.
    pub version: u32,
    /// The speaker; a claim, for messages only. Who it is is known from the descriptor.
    pub speaker: Process,
    /// The connection's purpose.
    pub purpose: Purpose,
}

impl Hello {
    /// This program's hello for `purpose`.
    #[must_use]
    pub const fn new(speaker: Process, purpose: Purpose) -> Self {
        Self { version: PROTOCOL_VERSION, speaker, purpose }
    }

    /// The wire form.
    #[must_use]
    pub fn encode(&self) -> [u8; HELLO] {
        let [m0, m1, m2, m3, m4, m5, m6, m7] = MAGIC;
        let [v0, v1, v2, v3] = self.version.to_le_bytes();
        [m0, m1, m2, m3, m4, m5, m6, m7, v0, v1, v2, v3, self.speaker.number(), self.purpose as u8, 0, 0]
    }

    /// Reads the wire form; `None` if it is no hello at all.
    #[must_use]
    pub fn decode(bytes: [u8; HELLO]) -> Option<Self> {
        let [magic @ .., v0, v1, v2, v3, speaker, purpose, _, _] = bytes;
        let purpose = match purpose {
            0 => Purpose::Calls,
            1 => Purpose::Attach,
            2 => Purpose::NoSlot,
            _ => return None,
        };
        let speaker = Process::from_number(speaker)?;
        (magic == MAGIC).then_some(Self { version: u32::from_le_bytes([v0, v1, v2, v3]), speaker, purpose })
    }
}

/// Bytes of the answer to an attach: 0 and the workspace's id, or an [`manifest::command::Answer`] and zeros.
pub const ATTACHED: usize = 17;

/// Sends ours and reads theirs.
///
/// # Errors
/// [`Fault::WrongVersion`], [`Fault::NoSlot`] or [`Fault::Unreachable`].
pub async fn exchange(stream: &mut UnixStream, me: Process) -> Result<Hello, Fault> {
    let sent = stream.write_all(&Hello::new(me, Purpose::Calls).encode()).await;
    // A server without room says so and reads nothing.
    let theirs = receive(stream).await?;
    sent.map_err(|_| Fault::Unreachable)?;
    Ok(theirs)
}

/// Reads a hello of our version.
///
/// # Errors
/// As [`exchange`].
pub async fn receive(stream: &mut UnixStream) -> Result<Hello, Fault> {
    let mut bytes = [0; HELLO];
    stream.read_exact(&mut bytes).await.map_err(|_| Fault::Unreachable)?;
    let hello = Hello::decode(bytes).ok_or(Fault::WrongVersion)?;
    match hello.purpose {
        _ if hello.version != PROTOCOL_VERSION => Err(Fault::WrongVersion),
        Purpose::NoSlot => Err(Fault::NoSlot),
        Purpose::Calls | Purpose::Attach => Ok(hello),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hello_comes_back_as_it_was_sent_and_anything_else_is_refused() {
        let hello = Hello::new(Process::Router, Purpose::Attach);
        assert_eq!(Hello::decode(hello.encode()), Some(hello));
        for at in [0, 7, 12, 13] {
            let mut bytes = hello.encode();
            bytes[at] = 200;
            assert_eq!(Hello::decode(bytes), None, "byte {at}");
        }
    }
}
