//! Any bytes on a control descriptor are a frame or refused, and a frame encodes back to what decodes the same.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some(frame) = manifest::command::Frame::decode(bytes) {
        assert_eq!(manifest::command::Frame::decode(&frame.encode()), Some(frame));
    }
});
