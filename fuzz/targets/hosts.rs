//! A host, a host with a port, and a pattern of hosts have one reading each, and a pattern covers nothing outside of itself.
#![no_main]

use ipc_proto::dialer::{Host, HostPattern, HostPort};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut lines = text.lines();
    let (pattern, target) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    if let Ok(host) = target.parse::<Host>() {
        assert_eq!(host.to_string().parse(), Ok(host));
    }
    let Ok(pattern) = pattern.parse::<HostPattern>() else { return };
    let written = pattern.to_string();
    assert_eq!(written.parse(), Ok(pattern.clone()));
    if let Ok(target) = target.parse::<HostPort>() {
        let suffix = written.strip_prefix('*').unwrap_or(&written);
        assert!(!pattern.covers(&target) || target.to_string().ends_with(suffix));
    }
});
