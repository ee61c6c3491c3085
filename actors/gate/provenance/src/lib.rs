//! The provenance of a call's values, and the effects of its path and command. The crate is pure: it reads no file and keeps only
//! its arguments. It never vouches for a value that no trusted text holds: the attacker may choose every argument, so a doubt is
//! answered with "not vouched".

pub mod command;
mod compact;
mod date;
mod file;
mod judge;
mod links;
mod mail;
mod number;
pub mod path;
mod site;
mod taint;
mod text;
mod trusted;

pub use judge::{EVERY, Fact, Kind, judge};
pub use links::links;
pub use taint::Taint;
pub use trusted::Trusted;
