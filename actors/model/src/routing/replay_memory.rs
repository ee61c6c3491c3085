//! Requests that are stored while their answers come, so that they can be made again. All of them together have a bound: a
//! request that does not fit is made once.

use ipc_proto::List;
use ipc_proto::model::Request;
use ipc_proto::tool::ToolList;
use std::cell::Cell;
use std::rc::Rc;

/// Bytes of stored requests, of all answers together: a quarter of what the process may have.
pub(crate) const BOUND: usize = 64 * 1024 * 1024;

/// The room of a stored request; dropping it frees the room.
pub(crate) struct Replayable {
    all: Rc<Cell<usize>>,
    bytes: usize,
}

impl Replayable {
    /// Takes room for a request beside `all` others, if there is some.
    pub(crate) fn beside(all: &Rc<Cell<usize>>, request: &Request) -> Option<Self> {
        let bytes = size(request);
        let sum = all.get().saturating_add(bytes);
        if sum > BOUND {
            return None;
        }
        all.set(sum);
        Some(Self { all: Rc::clone(all), bytes })
    }
}

impl Drop for Replayable {
    fn drop(&mut self) {
        self.all.set(self.all.get().saturating_sub(self.bytes));
    }
}

/// Drops the large parts of a request.
pub(crate) fn empty(request: &mut Request) {
    request.messages = List::default();
    request.images = List::default();
    request.tools = ToolList::default();
}

/// About its bytes.
fn size(request: &Request) -> usize {
    let calls = request.messages.iter().flat_map(|message| &message.calls);
    let said: usize = request.messages.iter().map(|message| message.text.len()).sum();
    let called: usize = calls.map(|call| call.args.len()).sum();
    let told: usize = request.tools.iter().map(|tool| tool.description.len() + tool.schema.len()).sum();
    let shown: usize = request.images.iter().map(|image| image.bytes.len()).sum();
    said + called + told + shown
}
