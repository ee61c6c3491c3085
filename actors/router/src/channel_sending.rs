//! Files that an agent sends to the conversation that its turn answers. Each is a delivery of its own, its caption the text and the file
//! the last piece, ahead of the answer.

use crate::channel_accept::WAITING;
use crate::state::RouterState;
use crate::state::requests::NewFile;
use crate::store::NewDelivery;
use ipc_proto::channel::{Body, PIECES, Piece, clean_name};
use ipc_proto::ids::TurnId;
use ipc_proto::label::Trust;
use ipc_proto::router::RouterError;
use ipc_proto::{Blob, List, Text};

impl RouterState {
    /// Puts a file into the outbox. A call that has sent its file has sent it.
    pub(crate) fn send_file(&mut self, turn: TurnId, file: &NewFile) -> Result<(), RouterError> {
        let head = self.under_way(turn)?;
        if self.store.has_sent(file.call)? {
            return Ok(());
        }
        let arrival = self.store.arrival_of(head.seq)?.ok_or(RouterError::NotByChannel)?;
        let (all, here) = self
            .store
            .open_deliveries(&head.channel, &arrival.conversation)
            .map(|(all, here)| (all >= WAITING.0, here >= WAITING.1))?;
        if all || here {
            return Err(RouterError::Busy { waiting: WAITING.1, retry_s: 60 });
        }
        let name = clean_name(&file.name);
        // A platform's message has a text: without a caption it is the name.
        let text = if file.caption.trim().is_empty() { name.as_str() } else { file.caption.as_str() };
        let plain_links = self.store.session(head.session)?.label.trust == Trust::Untrusted;
        let now_ms = self.now.ms;
        self.store.commit(|tx| {
            let delivery = tx.add_delivery(&NewDelivery {
                channel: &head.channel,
                conversation: &arrival.conversation,
                message: Some(head.seq),
                reply_to: None,
                edits: None,
                text,
                plain_links,
                now_ms,
            })?;
            tx.add_sent_file(delivery, file.call, &name, &file.bytes)
        })?;
        kit::fault_point!("router.send_file.committed");
        self.channels.wake_later(&head.channel);
        Ok(())
    }
}

/// A plan with the piece of the delivery's file behind it. Its bytes stay where they are until it is given out.
pub(crate) fn with_file(pieces: &List<Piece, PIECES>, name: Text<255>) -> List<Piece, PIECES> {
    let file = Piece { body: Body::File { name, bytes: Blob::default() }, markup: Text::default() };
    List::clip(pieces.iter().take(PIECES - 1).cloned().chain([file]))
}
