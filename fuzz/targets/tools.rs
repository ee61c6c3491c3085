//! Any arguments a model writes are valid or told what is wrong with them.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    for spec in toolset::specs() {
        let _ = toolset::check(spec.name, &text);
    }
});
