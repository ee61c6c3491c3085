//! Floors: the least that the kernel asks for the same thing, measured beside it in the same run.

use crate::role::{self, Role};
use crate::spread::Samples;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Bytes of a message, each way.
pub(crate) const MESSAGE: usize = 1024;
/// Messages in one write where many are under way at once.
pub(crate) const DEPTH: usize = 64;

/// A process that sends back what it is sent, over a blocking Unix socket.
pub(crate) struct PingPong {
    stream: UnixStream,
    peer: role::Peer,
}

impl PingPong {
    pub(crate) fn start() -> io::Result<Self> {
        let (stream, peer) = role::start(Role::Echo)?;
        Ok(Self { stream, peer })
    }

    pub(crate) const fn peer(&self) -> &role::Peer {
        &self.peer
    }

    /// Times `calls` of them, one after the other, us.
    pub(crate) fn one_by_one(&mut self, calls: usize) -> io::Result<Samples> {
        let mut samples = Samples::default();
        let mut message = [7; MESSAGE];
        for _ in 0..calls {
            let began = Instant::now();
            self.stream.write_all(&message)?;
            self.stream.read_exact(&mut message)?;
            samples.add_micros(began.elapsed());
        }
        Ok(samples)
    }

    /// Messages a second, [`DEPTH`] of them in each write.
    pub(crate) fn batched(&mut self, calls: usize) -> io::Result<f64> {
        let mut messages = vec![7; MESSAGE * DEPTH];
        let began = Instant::now();
        for _ in 0..calls / DEPTH {
            self.stream.write_all(&messages)?;
            self.stream.read_exact(&mut messages)?;
        }
        Ok(role::per_second(calls, began.elapsed()))
    }
}

/// The other end.
pub(crate) fn echo(mut stream: UnixStream) -> io::Result<()> {
    let mut buffer = vec![0; MESSAGE * DEPTH];
    loop {
        let length = stream.read(&mut buffer)?;
        match buffer.get(..length) {
            Some(bytes) if length > 0 => stream.write_all(bytes)?,
            _ => return Ok(()),
        }
    }
}

/// Starts `/bin/true` by `posix_spawn` and waits for its end, ms.
pub(crate) fn spawn(times: usize) -> io::Result<Samples> {
    let mut samples = Samples::default();
    for _ in 0..times {
        let began = Instant::now();
        Command::new("/bin/true").stdin(Stdio::null()).status()?;
        samples.add_millis(began.elapsed());
    }
    Ok(samples)
}

/// Appends 256 bytes to a file and makes them durable, ms.
pub(crate) fn append(folder: &Path, times: usize) -> io::Result<Samples> {
    let mut file = File::create(folder.join("append"))?;
    let mut samples = Samples::default();
    for _ in 0..times {
        let began = Instant::now();
        file.write_all(&[7; 256])?;
        file.sync_data()?;
        samples.add_millis(began.elapsed());
    }
    Ok(samples)
}
