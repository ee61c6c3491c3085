//! Groups that became another conversation of their platform: admission, session and memory go on as the group's own.

use crate::channel_accounts::Channel;
use crate::state::RouterState;
use crate::state::effects::Recorded;
use ipc_proto::Text;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::channel::{ChannelError, Conversation, ConversationKind};

impl RouterState {
    /// A group that is admitted has become this conversation. Told twice, it is once. Returns false for a group that is not admitted,
    /// of which nothing moves.
    pub(crate) fn move_group(
        &mut self,
        channel: &Channel,
        from: &Text<128>,
        to: &Conversation,
    ) -> Result<bool, ChannelError> {
        let known = self.store.first_id(&channel.name, &to.id)?.is_some();
        let is_group = to.kind == ConversationKind::Group && *from != to.id;
        if known || !is_group || self.group_rule(channel, from)?.is_none() {
            return Ok(known);
        }
        let first = self.first_id(channel, from)?;
        let old = Conversation { id: from.clone(), ..to.clone() };
        self.store.commit(|tx| tx.move_group(&channel.name, &old, to, &first))?;
        let event = Event::new(Action::ChannelChanged, Result3::Success)
            .about(&channel.name)
            .because("a group became another; its admission and its session moved");
        self.record(event, Recorded::Nothing);
        Ok(true)
    }

    /// The id that a group had first: its principal is named by that.
    pub(crate) fn first_id(&self, channel: &Channel, group: &str) -> Result<String, ChannelError> {
        Ok(self.store.first_id(&channel.name, group)?.unwrap_or_else(|| group.to_owned()))
    }
}
