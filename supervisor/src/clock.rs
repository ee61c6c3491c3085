//! How far every process's wall clock is off the machine's: for the tests of recovery, which step it back and forth
//! while the host runs and never touch the machine's. A release build knows none of it.
//!
//! The number stands in a file that the tests write, and is looked at with every tick. Monotonic time is nobody's to
//! step, here as in the kernel.

use crate::host::Host;
use manifest::Process as Name;
use manifest::command::{Frame, Kind};
use std::path::Path;

/// Bytes of the file that are looked at: a sign and the digits of an `i64`.
const BYTES: usize = 24;

/// Looks at the file, if there is to be one, and tells every process of a step.
pub(crate) fn look(host: &mut Host) {
    let Some(path) = host.options.clock.clone() else { return };
    let Some(ms) = read(&path).filter(|ms| *ms != host.clock_ms) else { return };
    host.clock_ms = ms;
    host.logs.write("agentd", &format!("the clock is stepped to {ms} ms off the machine's"));
    let names: Vec<Name> = host.running().collect();
    for name in names {
        if let Some(process) = host.process(name) {
            process.tell(Frame::new(Kind::Clock, Name::Agentd).with(&[word(ms)]), &[]);
        }
    }
}

/// How a frame carries it.
pub(crate) const fn word(ms: i64) -> u64 {
    ms.cast_unsigned()
}

/// The number in the file; what is there while it is written anew is none.
fn read(path: &Path) -> Option<i64> {
    let text = std::fs::read_to_string(path).ok().filter(|text| text.len() <= BYTES)?;
    text.strip_suffix('\n')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_line_with_a_number_is_read_and_what_is_still_being_written_is_not() {
        let path = std::env::temp_dir().join(format!("cordon-clock-{}", std::process::id()));
        for (text, expected) in [
            ("0\n", Some(0)),
            ("-86400000\n", Some(-86_400_000)),
            ("", None),
            ("12", None),
            ("x\n", None),
            ("99999999999999999999999999\n", None),
        ] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(read(&path), expected, "{text:?}");
        }
        std::fs::remove_file(&path).unwrap();
        assert_eq!(read(&path), None);
    }
}
