//! Engines: what their programs say, read line by line, and what they know of a session, packed and laid out again. All
//! of it is a stranger's: whatever stands in it is bounded here and trusted nowhere.

mod claude_code;
mod codex;
mod lines;
mod opencode;
pub mod parser;
mod said;
pub mod state;
#[cfg(test)]
mod tests;

pub use parser::{End, Parser};
