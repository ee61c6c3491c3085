//! The sockets of an account: one, and a second one while the first is about to end. Each is read in a task of its own.

use crate::failure::Failure;
use crate::web::Web;
use channel::Lost;
use ipc_proto::Text;
use ipc_proto::credproxy::{Incoming, Outgoing, Stream};
use serde_json::json;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

/// Messages that wait to be polled for; then no more are read.
const WAITING: usize = 64;
/// The longest time for an acknowledgement.
const ACKNOWLEDGE: Duration = Duration::from_secs(10);
/// The longest time for a socket to open.
const OPEN: Duration = Duration::from_secs(30);
/// The longest time until it says hello.
const HELLO: Duration = Duration::from_secs(20);

/// News of a socket.
pub(crate) enum News {
    /// A message.
    Message(Stream, Vec<u8>),
    /// It is over.
    Over(Stream),
}

struct Socket {
    stream: Stream,
    opened: Instant,
    /// It has said hello: what happens from then on comes over it.
    ready: bool,
    /// It is about to end.
    ending: bool,
}

/// The sockets.
pub(crate) struct Sockets {
    web: Rc<Web>,
    open: Vec<Socket>,
    give: mpsc::Sender<News>,
    news: mpsc::Receiver<News>,
}

impl Sockets {
    pub(crate) fn new(web: Rc<Web>) -> Self {
        let (give, news) = mpsc::channel(WAITING);
        Self { web, open: Vec::new(), give, news }
    }

    /// Opens a socket and begins to read it.
    ///
    /// # Errors
    /// [`Failure`] of the request for its address, or of its upgrade.
    pub(crate) async fn open(&mut self) -> Result<(), Failure> {
        let opened = timeout(OPEN, self.web.open_socket()).await;
        let stream = opened.map_err(|_| Lost::Unknown)??;
        self.open.push(Socket { stream, opened: Instant::now(), ready: false, ending: false });
        drop(tokio::task::spawn_local(read(Rc::clone(&self.web), stream, self.give.clone())));
        Ok(())
    }

    /// Returns true if there is none.
    pub(crate) const fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Returns true if what happens comes by one.
    pub(crate) fn is_ready(&self) -> bool {
        self.open.iter().any(|socket| socket.ready)
    }

    /// Notes that a socket has said hello.
    pub(crate) fn hello(&mut self, stream: Stream) {
        self.open.iter_mut().filter(|socket| socket.stream == stream).for_each(|socket| socket.ready = true);
    }

    /// Notes that a socket is about to end. Returns true if there is no other to go on with.
    pub(crate) fn ending(&mut self, stream: Stream) -> bool {
        let ending = self.open.iter_mut().filter(|socket| socket.stream == stream);
        ending.for_each(|socket| socket.ending = true);
        self.open.iter().all(|socket| socket.ending)
    }

    /// Notes that a socket is over. Returns true if no other one is ready: until one is, nothing comes.
    pub(crate) fn over(&mut self, stream: Stream) -> bool {
        self.open.retain(|socket| socket.stream != stream);
        !self.is_ready()
    }

    /// Closes sockets that have not said hello in time. Returns true if there were any.
    pub(crate) fn close_silent(&mut self) -> bool {
        let (kept, silent): (Vec<Socket>, Vec<Socket>) =
            self.open.drain(..).partition(|socket| socket.ready || socket.opened.elapsed() < HELLO);
        self.open = kept;
        let found = !silent.is_empty();
        for socket in silent {
            let web = Rc::clone(&self.web);
            drop(tokio::task::spawn_local(async move { web.api().close(socket.stream).await }));
        }
        found
    }

    /// The next news until then.
    pub(crate) async fn next(&mut self, until: Instant) -> Option<News> {
        timeout_at(until, self.news.recv()).await.ok().flatten()
    }

    /// News that is there already.
    pub(crate) fn waiting(&mut self) -> Option<News> {
        self.news.try_recv().ok()
    }

    /// Acknowledges envelopes, each over the socket that it came by. One that is over takes none: Slack sends those again, by
    /// another socket, and router knows their messages.
    pub(crate) fn acknowledge(&self, envelopes: Vec<(Stream, String)>) {
        if envelopes.is_empty() {
            return;
        }
        let web = Rc::clone(&self.web);
        drop(tokio::task::spawn_local(async move {
            for (stream, id) in envelopes {
                let text = Text::clip(&json!({ "envelope_id": id }).to_string());
                let outgoing = Outgoing::Message { text, secret: None };
                drop(timeout(ACKNOWLEDGE, web.api().push(stream, outgoing)).await);
            }
        }));
    }
}

/// Reads a socket to its end.
async fn read(web: Rc<Web>, stream: Stream, give: mpsc::Sender<News>) {
    loop {
        let news = match web.api().pull(stream).await {
            Ok(Incoming::Message(bytes)) => News::Message(stream, bytes.into_vec()),
            Ok(Incoming::Quiet) => continue,
            Ok(Incoming::Closed { .. } | Incoming::Bytes(_) | Incoming::Head(_)) | Err(_) => {
                News::Over(stream)
            }
        };
        let over = matches!(news, News::Over(_));
        if give.send(news).await.is_err() || over {
            return;
        }
    }
}
