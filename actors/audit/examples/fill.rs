//! Writes a log of the given number of entries, to measure with: `fill DIR NUMBER`. It touches that folder alone.

use std::io;
use std::path::Path;

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [folder, number] = words.as_slice() else {
        return Err(io::Error::other("usage: fill DIR NUMBER"));
    };
    audit::bench::fill(Path::new(folder), number.parse().map_err(io::Error::other)?)
}
