//! The connection to an editor: what is written to it, and the requests to it that wait for an answer.

use agent_client_protocol_schema::rpc::{JsonRpcMessage, Notification};
use agent_client_protocol_schema::v1::{
    CancelRequestNotification, Error, Request, RequestId, Response, SessionId, SessionNotification,
    SessionUpdate,
};
use serde::Serialize;
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{Mutex, oneshot};

/// The sender of the editor's answer to a request.
type Waiting = oneshot::Sender<Result<Value, Error>>;

/// The connection.
pub(super) struct Connection {
    output: Mutex<Box<dyn AsyncWrite + Unpin>>,
    asked: Cell<i64>,
    waiting: RefCell<HashMap<i64, Waiting>>,
}

impl Connection {
    pub(super) fn new(output: impl AsyncWrite + Unpin + 'static) -> Self {
        Self { output: Mutex::new(Box::new(output)), asked: Cell::new(0), waiting: RefCell::default() }
    }

    /// Answers a request.
    ///
    /// # Errors
    /// The editor is gone.
    pub(super) async fn answer(&self, id: RequestId, result: Result<Value, Error>) -> io::Result<()> {
        self.write(&Response::new(id, result)).await
    }

    /// Tells the editor of a change in a session.
    ///
    /// # Errors
    /// The editor is gone.
    pub(super) async fn update(&self, session: &SessionId, update: SessionUpdate) -> io::Result<()> {
        self.notify("session/update", SessionNotification::new(session.clone(), update)).await
    }

    /// Asks the editor, and waits for its answer. Dropping the future withdraws the request without telling the editor.
    ///
    /// # Errors
    /// The editor is gone.
    pub(super) async fn ask(&self, method: &str, params: impl Serialize) -> io::Result<Answer<'_>> {
        let number = self.asked.get().saturating_add(1);
        self.asked.set(number);
        let (sender, receiver) = oneshot::channel();
        self.waiting.borrow_mut().insert(number, sender);
        let answer = Answer { connection: self, number, receiver };
        let request = Request { id: RequestId::Number(number), method: method.into(), params: Some(params) };
        self.write(&request).await?;
        Ok(answer)
    }

    /// Hands the editor's answer to the one who asked; an answer to nothing is dropped.
    pub(super) fn answered(&self, id: &RequestId, result: Result<Value, Error>) {
        let RequestId::Number(number) = id else { return };
        if let Some(waiting) = self.waiting.borrow_mut().remove(number) {
            // The turn may be over meanwhile.
            drop(waiting.send(result));
        }
    }

    async fn notify(&self, method: &str, params: impl Serialize) -> io::Result<()> {
        self.write(&Notification { method: method.into(), params: Some(params) }).await
    }

    /// Writes one whole line. The output is locked meanwhile, so lines of several turns do not mix.
    async fn write(&self, message: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(&JsonRpcMessage::wrap(message))?;
        line.push(b'\n');
        let mut output = self.output.lock().await;
        output.write_all(&line).await?;
        output.flush().await
    }
}

/// An answer of the editor that is waited for.
pub(super) struct Answer<'a> {
    connection: &'a Connection,
    number: i64,
    receiver: oneshot::Receiver<Result<Value, Error>>,
}

impl Answer<'_> {
    /// The answer; an error also if there will be none.
    pub(super) async fn wait(&mut self) -> Result<Value, Error> {
        (&mut self.receiver).await.unwrap_or_else(|_| Err(Error::internal_error()))
    }

    /// Tells the editor that no answer is wanted any more.
    ///
    /// # Errors
    /// The editor is gone.
    pub(super) async fn withdraw(self) -> io::Result<()> {
        let request = CancelRequestNotification::new(RequestId::Number(self.number));
        self.connection.notify("$/cancel_request", request).await
    }
}

impl Drop for Answer<'_> {
    fn drop(&mut self) {
        self.connection.waiting.borrow_mut().remove(&self.number);
    }
}
