//! An open socket: read in a task of its own, so that pings are answered while its caller does something else. Four messages wait for
//! their caller at most; then no more are read.

use crate::upstream::{Limits, broken};
use ::upstream::{Fault, Received, Socket};
use ipc_proto::credproxy::CredError;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::JoinHandle;

/// Messages that wait for their caller.
const WAITING: usize = 4;

/// A text on its way out, and where to say whether it went.
type Outgoing = (String, oneshot::Sender<Result<(), Fault>>);

/// A socket. Dropping it closes the connection.
pub(crate) struct SocketStream {
    received: Mutex<mpsc::Receiver<Result<Received, Fault>>>,
    outgoing: mpsc::Sender<Outgoing>,
    driver: JoinHandle<()>,
}

impl Drop for SocketStream {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl SocketStream {
    /// Begins to read it.
    pub(crate) fn new(socket: Socket, limits: Limits) -> Self {
        let (give, received) = mpsc::channel(WAITING);
        let (outgoing, asked) = mpsc::channel(1);
        let driver = tokio::task::spawn_local(drive(socket, limits, give, asked));
        Self { received: Mutex::new(received), outgoing, driver }
    }

    /// The next message; `None` once the socket is over.
    pub(crate) async fn next(&self) -> Option<Result<Received, CredError>> {
        let received = self.received.lock().await.recv().await;
        received.map(|received| received.map_err(broken))
    }

    /// Sends a text.
    pub(crate) async fn send(&self, text: String) -> Result<(), CredError> {
        let (answer, sent) = oneshot::channel();
        self.outgoing.send((text, answer)).await.map_err(|_| CredError::Unsent)?;
        sent.await.map_err(|_| CredError::Upstream)?.map_err(broken)
    }

    /// Closes it. A caller that waits for a message learns it at once.
    pub(crate) fn close(&self) {
        self.driver.abort();
    }
}

async fn drive(
    mut socket: Socket,
    limits: Limits,
    give: mpsc::Sender<Result<Received, Fault>>,
    mut asked: mpsc::Receiver<Outgoing>,
) {
    loop {
        tokio::select! {
            asked = asked.recv() => {
                let Some((text, answer)) = asked else { return };
                let sent = socket.send(text, limits.stall).await;
                let over = sent.is_err();
                let _ = answer.send(sent);
                if over {
                    return;
                }
            }
            read = read(&mut socket, &give) => if !read { return },
        }
    }
}

/// Reads one message once there is room for it; false where it was the last. Dropped before, nothing is lost.
async fn read(socket: &mut Socket, give: &mpsc::Sender<Result<Received, Fault>>) -> bool {
    let Ok(room) = give.reserve().await else { return false };
    let received = socket.next().await;
    let goes_on = matches!(received, Ok(Received::Message(_)));
    room.send(received);
    goes_on
}
