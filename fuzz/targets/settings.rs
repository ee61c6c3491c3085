//! Any bytes from the configuration child are settings or refused.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = manifest::settings::decode(bytes);
});
