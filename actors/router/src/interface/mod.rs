//! The requests of peers, as messages to the actor: one type for each subject, with the port for the answer in each request.

mod api;
mod approvals;
mod channels;
mod events;
mod fires;
mod gate;
mod messages;
mod sessions;
mod users;

pub(crate) use api::ApiRequest;
pub(crate) use approvals::ApprovalRequest;
pub(crate) use channels::{ChannelsRequest, PlatformRequest};
pub(crate) use events::EventRequest;
pub(crate) use fires::FireRequest;
pub(crate) use gate::GateRequest;
pub(crate) use messages::MessageRequest;
pub(crate) use sessions::SessionRequest;
pub(crate) use users::UserRequest;
