//! Memory's answers, and the block of memories that a turn is given before its message.

pub(crate) mod ask;
mod judging;
pub(crate) mod recall;
