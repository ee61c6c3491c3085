//! The decision on a tool call: rules, scanner, policy, a person's approval where policy asks, and the record of it.

pub(crate) mod approval;
pub(crate) mod decide;
pub(crate) mod page;
pub(crate) mod question;
pub(crate) mod record;
pub(crate) mod refusal;
pub(crate) mod verdict;
