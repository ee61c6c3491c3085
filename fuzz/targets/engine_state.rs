//! Whatever is taken for what an engine knows of a session is laid out beneath the home or refused.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    std::fs::create_dir(&home).unwrap();
    let _ = engines::state::unpack(&home, bytes);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
});
