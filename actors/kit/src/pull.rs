//! The body of a reply that credproxy holds, pulled piece by piece. A reader that stops, or is stopped by a deadline,
//! releases it: the room for replies is shared by all callers.

use crate::Link;
use ipc_proto::Fault;
use ipc_proto::credproxy::{CHUNK, Chunk, CredError, CredproxyClient, Head, Reply, method};

/// A reply that is being pulled.
pub struct Pull {
    credproxy: Link<CredproxyClient>,
    reply: Reply,
    /// The chunk that came with its head.
    first: Chunk,
    /// Its last piece was returned: credproxy has released it.
    over: bool,
}

impl Pull {
    /// The body that belongs to this head, whose first piece is taken from it.
    pub fn of(credproxy: &Link<CredproxyClient>, head: &mut Head) -> Self {
        let first = std::mem::take(&mut head.first);
        Self { credproxy: credproxy.clone(), reply: head.reply, first, over: false }
    }

    /// The next piece, of 64 KiB at most; waits until there is some.
    ///
    /// # Errors
    /// The call was lost, or the reason within it why the body ends early.
    pub async fn next(&mut self) -> Result<Result<Chunk, CredError>, Fault> {
        let first = std::mem::take(&mut self.first);
        let pulled = if first.last || !first.bytes.is_empty() {
            Ok(first)
        } else {
            let (reply, credit) = (self.reply, u32::try_from(CHUNK).unwrap_or(u32::MAX));
            let pulled = self.credproxy.call(&method::next, |credproxy, context| async move {
                credproxy.next(context, reply, credit).await
            });
            pulled.await?
        };
        self.over = pulled.as_ref().is_ok_and(|chunk| chunk.last);
        Ok(pulled)
    }
}

impl Drop for Pull {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        let (link, reply) = (self.credproxy.clone(), self.reply);
        tokio::spawn(async move {
            let closed = link.call(&method::close, |credproxy, context| async move {
                credproxy.close(context, reply).await
            });
            // A credproxy that is gone has released it already.
            let _ = closed.await;
        });
    }
}
