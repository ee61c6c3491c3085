//! Draws the table as a Graphviz graph: one node per process, one arrow per edge from caller to callee.

use crate::{TABLE, edge};
use core::fmt::{self, Write};

/// Writes the graph.
///
/// # Errors
/// Only what `out` itself returns.
pub fn draw(out: &mut impl Write) -> fmt::Result {
    out.write_str("digraph cordon {\n  rankdir=BT;\n  node [shape=box];\n")?;
    for row in TABLE {
        writeln!(out, "  {} [tooltip=\"{}\"];", row.process.name(), row.does)?;
    }
    for caller in TABLE {
        for callee in TABLE.iter().filter(|callee| edge(caller.process, callee.process)) {
            writeln!(out, "  {} -> {};", caller.process.name(), callee.process.name())?;
        }
    }
    out.write_str("}\n")
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_edge_of_the_table_is_drawn_once() {
        let mut text = String::new();
        super::draw(&mut text).unwrap();
        assert_eq!(text.matches("runner -> gate;").count(), 1);
        assert!(!text.contains("runner -> model"));
    }
}
