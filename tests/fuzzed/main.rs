//! The fuzz targets of `fuzz/`, which are built for real with nightly alone: compiled here as they stand, so that none
//! falls behind what it fuzzes, and tried on a few inputs. In the place of libFuzzer this crate gives them its macro.
//!
//! It must never stand for a run of the fuzzer: it tries some inputs, not many.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(
    clippy::duplicate_mod,
    reason = "each target is a program of its own, and has the module that it shares"
)]

extern crate self as libfuzzer_sys;

/// The body of a fuzz target, as a function.
#[macro_export]
macro_rules! fuzz_target {
    (|$bytes:ident: &[u8]| $body:expr) => {
        pub(crate) fn run($bytes: &[u8]) {
            $body
        }
    };
}

/// Each target by its name.
macro_rules! targets {
    ($($name:ident $path:literal),+ $(,)?) => {
        $(
            #[expect(unused_attributes, reason = "a target is a program of libFuzzer's, which has its own main")]
            #[path = $path]
            mod $name;
        )+

        /// Every target.
        const TARGETS: &[(&str, fn(&[u8]))] = &[$((stringify!($name), $name::run)),+];
    };
}

targets! {
    channel_text "../../fuzz/targets/channel_text.rs",
    command "../../fuzz/targets/command.rs",
    engine "../../fuzz/targets/engine.rs",
    engine_state "../../fuzz/targets/engine_state.rs",
    frames "../../fuzz/targets/frames.rs",
    hosts "../../fuzz/targets/hosts.rs",
    reply_anthropic "../../fuzz/targets/reply_anthropic.rs",
    reply_ollama "../../fuzz/targets/reply_ollama.rs",
    reply_openai "../../fuzz/targets/reply_openai.rs",
    reply_responses "../../fuzz/targets/reply_responses.rs",
    scan "../../fuzz/targets/scan.rs",
    settings "../../fuzz/targets/settings.rs",
    tools "../../fuzz/targets/tools.rs",
    vectors "../../fuzz/targets/vectors.rs",
}

/// Seeds from real peers: each provider's documented stream, and a page of text.
const SEEDS: [&str; 5] = [
    include_str!("../../actors/model/dialect/tests/streams/openai.txt"),
    include_str!("../../actors/model/dialect/tests/streams/responses.txt"),
    include_str!("../../actors/model/dialect/tests/streams/anthropic.txt"),
    include_str!("../../actors/model/dialect/tests/streams/ollama.txt"),
    include_str!("../../README.md"),
];

#[test]
fn every_target_of_the_fuzzer_is_compiled_here_and_is_one_of_its_programs() {
    let folder = tests::repository().join("fuzz");
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    for entry in std::fs::read_dir(folder.join("targets")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let is_target = text.contains("fuzz_target!");
        assert_eq!(TARGETS.iter().any(|(it, _)| *it == name), is_target, "{name}");
        let is_program = manifest.contains(&format!("path = \"targets/{name}.rs\""));
        assert_eq!(is_program, is_target, "{name} in fuzz/Cargo.toml");
    }
}

#[test]
fn no_target_fails_on_real_peers_streams_whole_cut_or_altered() {
    for (_, run) in TARGETS {
        for seed in SEEDS {
            let bytes = seed.as_bytes();
            for end in [0, 1, 8, bytes.len() / 2, bytes.len()] {
                run(&bytes[..end]);
            }
            let mut other = bytes.to_vec();
            for at in (0..other.len()).step_by(other.len() / 8 + 1) {
                other[at] ^= 0x80;
                run(&other);
            }
        }
    }
}
