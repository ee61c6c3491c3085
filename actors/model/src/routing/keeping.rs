//! Requests that are kept while their answers come, to be made again. All of them together have a bound: a request that
//! does not fit is made all the same, once.

use ipc_proto::List;
use ipc_proto::model::Request;
use ipc_proto::tool::ToolList;
use std::cell::Cell;
use std::rc::Rc;

/// Bytes of requests that are kept, of all answers together: a quarter of what the process may have.
pub(crate) const BOUND: usize = 64 * 1024 * 1024;

/// A request that is kept, for as long as this is.
pub(crate) struct Kept {
    all: Rc<Cell<usize>>,
    bytes: usize,
}

impl Kept {
    /// Keeps a request beside `all` others, if there is room.
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

impl Drop for Kept {
    fn drop(&mut self) {
        self.all.set(self.all.get().saturating_sub(self.bytes));
    }
}

/// Lets go of what is large in a request.
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
