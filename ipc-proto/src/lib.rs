//! The agreement between the processes: one file per interface, and the types they share.
//!
//! An interface says *what* can be asked; the manifest's table says *who* may ask. Everything here is data:
//! nothing opens, reads or waits. Limits live in the types and hold while decoding.

mod action;
pub mod api;
pub mod approval;
pub mod audit;
pub mod bounded;
pub mod browser;
pub mod capability;
pub mod channel;
pub mod config;
pub mod content;
pub mod control;
pub mod credproxy;
pub mod curator;
pub mod dialer;
pub mod egress;
pub mod embedder;
pub mod engine;
pub mod fault;
pub mod gate;
pub mod ids;
pub mod ingress;
pub mod json;
pub mod label;
pub mod mcp;
pub mod memory;
pub mod model;
pub mod role;
pub mod router;
pub mod runner_gate;
pub mod scanner;
pub mod scheduler;
mod service;
pub mod tool;
pub mod web;

pub use bounded::{Blob, List, Name, Text};
pub use fault::Fault;
pub use service::Method;

use manifest::Process;

macro_rules! interfaces {
    ($($(#[$doc:meta])* $process:ident $id:literal $name:literal [$($interface:ident $client:ident $request:ident),*];)+) => {
        /// The methods of each interface that a process serves.
        #[must_use]
        pub const fn interfaces(process: Process) -> &'static [&'static [Method]] {
            match process {
                $(Process::$process => &[$($interface::METHODS),*],)+
            }
        }
    };
}
manifest::processes!(interfaces);

/// The methods of a process; the place of one in this order is its number in a [`manifest::command::Measure`]. Control's are those
/// that people call.
pub fn numbered_methods(process: Process) -> impl Iterator<Item = &'static Method> {
    let own: &'static [&'static [Method]] =
        if matches!(process, Process::Control) { &[control::METHODS] } else { interfaces(process) };
    own.iter().copied().flatten()
}

/// The version of everything in this crate: the first frame of every connection carries it, and a peer of
/// another version is told so. The codec is positional, so any change of a type or of a method's order counts.
pub const PROTOCOL_VERSION: u32 = 12;
