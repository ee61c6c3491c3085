//! Prints `deploy/sysusers.conf`.

use std::io::Write;

fn main() -> std::io::Result<()> {
    let mut text = String::new();
    manifest::users::write(&mut text).map_err(std::io::Error::other)?;
    std::io::stdout().write_all(text.as_bytes())
}
