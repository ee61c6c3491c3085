//! Model calls of an agent's turn: the plan, then each reply.

pub(crate) mod ended;
pub(crate) mod images;
pub(crate) mod model_call;
pub(crate) mod pictures;
pub(crate) mod plan;
