//! Any text is judged, and every finding lies within it.
#![no_main]

use ipc_proto::scanner::{Direction, Profile};
use scanner::{Engine, Held};
use std::sync::LazyLock;

static ENGINE: LazyLock<Engine> = LazyLock::new(Engine::new);

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let canary = Some("CANARY-00112233445566778899aabbccddeeff");
    let report = ENGINE.scan(Direction::Input, Profile::Paranoid, &text, canary);
    for finding in &report.findings {
        assert!(text.get(finding.start..finding.end).is_some());
    }
    let _ = scanner::ready(&ENGINE, &Held::nothing(), &text, false, None);
});
