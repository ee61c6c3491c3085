//! Where the values of a call came from, and what its path and command do. Pure: text in, facts out. It reads no file,
//! asks nobody and keeps nothing but what it is given. It must never vouch for a value that no trusted text holds:
//! whoever steers the model chooses every argument, so a doubt is answered with "not vouched".

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

pub use judge::{Fact, Kind, judge};
pub use links::links;
pub use taint::Taint;
pub use trusted::Trusted;
