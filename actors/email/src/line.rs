//! A line to a mail server: bytes both ways, by a stream of credproxy, which has logged in already.

use channel::{Api, Lost};
use ipc_proto::credproxy::{CHUNK, Incoming, LineProtocol, Mechanism, Opening, Outgoing, Stream};
use ipc_proto::{Blob, Name, Text};
use std::rc::Rc;

/// The reason for which a line is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LineFault {
    /// The server has closed it.
    #[error("the mail server has closed the connection")]
    Closed,
    /// It was lost, or credproxy was.
    #[error("the connection to the mail server was lost")]
    Lost,
}

/// A line.
pub(crate) trait Line {
    /// Sends bytes.
    ///
    /// # Errors
    /// [`LineFault`]: some of them may have been sent.
    async fn send(&self, bytes: &[u8]) -> Result<(), LineFault>;

    /// The next bytes; none if none came within 25 seconds.
    ///
    /// # Errors
    /// [`LineFault`]: the line is over.
    async fn next(&self) -> Result<Option<Vec<u8>>, LineFault>;
}

/// The server of a line, and the user's login.
#[derive(Clone)]
pub(crate) struct Server {
    /// Its protocol.
    pub(crate) protocol: LineProtocol,
    /// `host:port`.
    pub(crate) at: String,
    /// True if TLS begins after `STARTTLS`.
    pub(crate) upgrade: bool,
    /// The name by which this host greets.
    pub(crate) name: String,
    /// The user.
    pub(crate) login: String,
    /// The name of the user's secret.
    pub(crate) secret: Name,
}

/// A line by credproxy. It is closed when it is dropped.
pub(crate) struct Connection {
    api: Rc<Api>,
    stream: Stream,
}

impl Connection {
    /// Connects and logs in.
    ///
    /// # Errors
    /// [`Lost`]: nothing but the login can have reached the server.
    pub(crate) async fn open(api: Rc<Api>, server: &Server) -> Result<Self, Lost> {
        let opening = Opening::Line {
            protocol: server.protocol,
            server: Text::clip(&server.at),
            upgrade: server.upgrade,
            name: Text::clip(&server.name),
            user: Text::clip(&server.login),
            secret: server.secret.clone(),
            mechanism: Mechanism::Plain,
        };
        let stream = api.open(opening).await?;
        Ok(Self { api, stream })
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let (api, stream) = (Rc::clone(&self.api), self.stream);
        drop(tokio::task::spawn_local(async move { api.close(stream).await }));
    }
}

impl Line for Connection {
    async fn send(&self, bytes: &[u8]) -> Result<(), LineFault> {
        for piece in bytes.chunks(CHUNK) {
            let piece = Blob::new(piece.to_vec()).map_err(|_| LineFault::Lost)?;
            let sent = self.api.push(self.stream, Outgoing::Piece(piece)).await;
            sent.map_err(|_| LineFault::Lost)?;
        }
        Ok(())
    }

    async fn next(&self) -> Result<Option<Vec<u8>>, LineFault> {
        match self.api.pull(self.stream).await {
            Ok(Incoming::Bytes(bytes)) => Ok(Some(bytes.into_vec())),
            Ok(Incoming::Quiet) => Ok(None),
            Ok(Incoming::Closed { .. }) => Err(LineFault::Closed),
            Ok(Incoming::Message(_) | Incoming::Head(_)) | Err(_) => Err(LineFault::Lost),
        }
    }
}

/// A line whose server says texts that were written down before, each after as many commands.
#[cfg(test)]
pub(crate) mod scripted {
    use super::{Line, LineFault};
    use std::cell::RefCell;
    use std::collections::VecDeque;

    /// A step of such a server.
    pub(crate) enum Step {
        /// It says this.
        Says(&'static [u8]),
        /// It says nothing for so long that the client hears of it.
        Quiet,
        /// It waits for bytes that end so.
        Hears(&'static str),
        /// It closes the line.
        Closes,
    }

    /// The line.
    pub(crate) struct Scripted {
        steps: RefCell<VecDeque<Step>>,
        heard: RefCell<Vec<u8>>,
    }

    impl Scripted {
        pub(crate) fn new(steps: Vec<Step>) -> Self {
            Self { steps: RefCell::new(steps.into()), heard: RefCell::default() }
        }

        /// Everything that was sent.
        pub(crate) fn heard(&self) -> String {
            String::from_utf8_lossy(&self.heard.borrow()).into_owned()
        }
    }

    impl Line for &Scripted {
        async fn send(&self, bytes: &[u8]) -> Result<(), LineFault> {
            if matches!(self.steps.borrow().front(), Some(Step::Closes)) {
                return Err(LineFault::Lost);
            }
            self.heard.borrow_mut().extend_from_slice(bytes);
            Ok(())
        }

        async fn next(&self) -> Result<Option<Vec<u8>>, LineFault> {
            loop {
                match self.steps.borrow_mut().pop_front() {
                    Some(Step::Says(text)) => return Ok(Some(text.to_vec())),
                    Some(Step::Quiet) => return Ok(None),
                    Some(Step::Hears(end)) => {
                        assert!(self.heard().ends_with(end), "{end:?}: {:?}", self.heard())
                    }
                    Some(Step::Closes) | None => return Err(LineFault::Closed),
                }
            }
        }
    }

    /// Runs a test on one thread, whose clock goes on while everybody waits.
    pub(crate) fn run<T>(test: impl Future<Output = T>) -> T {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().start_paused(true).build().unwrap().block_on(test)
    }
}
