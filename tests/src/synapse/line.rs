//! A line to a server that passes everything on, but for the reply to one message.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// The beginning of the path of a message, between the room and its transaction.
const SENDING: &[u8] = b"/send/m.room.message/cordon-";

/// The failure of the line with the next message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failing {
    /// The message arrives, and the connection ends in the place of the reply.
    Dropped = 1,
    /// The message arrives, and no reply comes as long as the line is there.
    Held = 2,
}

/// A number that no other call of this process is given.
pub(super) fn unique() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A line; it ends with the test.
pub struct Line {
    /// Its own port.
    pub port: u16,
    failing: Arc<AtomicU8>,
    failed: Arc<AtomicU64>,
    vain: Arc<AtomicU64>,
}

impl Line {
    /// A line to this port.
    ///
    /// # Panics
    /// There is no port for it.
    #[must_use]
    pub fn to(server: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("its address").port();
        let line = Self { port, failing: Arc::default(), failed: Arc::default(), vain: Arc::default() };
        let (failing, failed) = (Arc::clone(&line.failing), Arc::clone(&line.failed));
        let vain = Arc::clone(&line.vain);
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let Ok(far) = TcpStream::connect((Ipv4Addr::LOCALHOST, server)) else {
                    vain.fetch_add(1, Ordering::SeqCst);
                    continue;
                };
                let (failing, failed) = (Arc::clone(&failing), Arc::clone(&failed));
                thread::spawn(move || serve(&near, &far, &failing, &failed));
            }
        });
        line
    }

    /// Its address.
    #[must_use]
    pub fn base(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Has the reply to the next message fail.
    pub fn fail(&self, failing: Failing) {
        self.failing.store(failing as u8, Ordering::SeqCst);
    }

    /// How many connections have ended at once, since the server was away.
    #[must_use]
    pub fn vain(&self) -> u64 {
        self.vain.load(Ordering::SeqCst)
    }

    /// How many replies have failed.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failed.load(Ordering::SeqCst)
    }
}

fn serve(near: &TcpStream, mut far: &TcpStream, failing: &AtomicU8, failed: &AtomicU64) {
    let lost = Arc::new(AtomicU8::new(0));
    let (back, gone) = ((near.try_clone(), far.try_clone()), Arc::clone(&lost));
    let (Ok(near_back), Ok(far_back)) = back else { return };
    let returning = thread::spawn(move || replies(&far_back, &near_back, &gone));
    let mut buffer = [0; 65536];
    while let Ok(count @ 1..) = (&*near).read(&mut buffer) {
        let part = &buffer[..count];
        if part.windows(SENDING.len()).any(|window| window == SENDING) {
            let how = failing.swap(0, Ordering::SeqCst);
            if how != 0 {
                lost.store(how, Ordering::SeqCst);
                failed.fetch_add(1, Ordering::SeqCst);
            }
        }
        if far.write_all(part).is_err() {
            break;
        }
    }
    drop(far.shutdown(Shutdown::Both));
    drop(returning.join());
}

/// Passes replies on, until one is lost: that is read, so that its message has arrived.
fn replies(far: &TcpStream, near: &TcpStream, lost: &AtomicU8) {
    let mut buffer = [0; 65536];
    while let Ok(count @ 1..) = (&*far).read(&mut buffer) {
        match lost.load(Ordering::SeqCst) {
            0 => {
                if (&*near).write_all(&buffer[..count]).is_err() {
                    break;
                }
            }
            how if how == Failing::Held as u8 => loop {
                thread::sleep(Duration::from_secs(1));
            },
            _ => break,
        }
    }
    drop(near.shutdown(Shutdown::Both));
}
