//! Any text is judged, and every finding lies within it.
#![no_main]

use std::sync::LazyLock;

static ENGINE: LazyLock<scanner::Engine> = LazyLock::new(scanner::Engine::new);

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let report = ENGINE.scan(scanner::Direction::Input, &text, Some("CANARY-00112233445566778899aabbccddeeff"));
    for finding in &report.findings {
        assert!(text.get(finding.start..finding.end).is_some());
    }
    let _ = scanner::ready(&ENGINE, &text, false, None);
});
