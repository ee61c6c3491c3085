//! Any Markdown is planned within the limits of every platform.
#![no_main]

use channel::{DISCORD, Links, MATRIX, MAX_PARTS, SIGNAL, SLACK, TELEGRAM, WHATSAPP, plan};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    for facts in [TELEGRAM, DISCORD, SLACK, MATRIX, WHATSAPP, SIGNAL] {
        for links in [Links::Live, Links::AsCode { except: &[] }] {
            let plan = plan(&text, &facts, links);
            assert!(plan.parts.len() <= MAX_PARTS);
            assert!(plan.parts.iter().all(|part| part.length(facts.unit) <= facts.text));
            assert!(plan.file.is_none_or(|file| file.bytes == text.as_bytes()));
        }
    }
});
