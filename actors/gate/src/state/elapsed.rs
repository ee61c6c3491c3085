//! Times in the unit of the record and of the wire.

use std::time::Duration;

/// Whole milliseconds. A longer time than the unit has is the longest one.
pub(crate) fn ms(time: Duration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
}
