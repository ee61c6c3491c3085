//! Engines: reads the output of coding agents line by line, and packs and unpacks their session state. All of it is
//! untrusted: it is bounded here and trusted nowhere.

mod claude_code;
mod codex;
mod event_log;
mod lines;
mod opencode;
pub mod parser;
pub mod state;
#[cfg(test)]
mod tests;

pub use event_log::End;
pub use parser::Parser;
