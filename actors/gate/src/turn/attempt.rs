//! One attempt of a turn.

use crate::state::runners::Replaced;
use crate::turn::context::TurnContext;
use crate::turn::events::EventSender;

/// A turn that a runner works on.
pub(crate) struct Attempt {
    pub(crate) context: TurnContext,
    pub(crate) events: EventSender,
    pub(crate) replaced: Replaced,
}
