//! The way back to the caller of a method.

use ipc_proto::channel::ChannelError;
use ipc_proto::router::RouterError;

/// Takes the answer to one call. A caller that waits no longer has closed it.
pub(crate) type Port<T> = ractor::RpcReplyPort<T>;

/// Takes the answer to a request that may be refused.
pub(crate) type Reply<T> = Port<Result<T, RouterError>>;

/// Takes the answer to a request about channels that may be refused.
pub(crate) type ChannelPort<T> = Port<Result<T, ChannelError>>;
