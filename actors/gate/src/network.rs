//! The way out of a jail: each request of a program is judged here, counted and passed to egress.

mod bounds;
mod canary;
mod decision;
mod question;
mod requests;
mod secret;
mod service;
mod session;
mod tunnels;

pub(crate) use requests::Network;
pub(crate) use session::Outbound;
