//! Any answer to a request for vectors is read, and gives one vector a text or none at all; any text has a vector.
#![no_main]

use dialect::embedding::{self, EmbedAsk};
use ipc_proto::config::{Provider, ProviderKind, ProviderModel};
use ipc_proto::ids::UserId;
use ipc_proto::model::{Embedding, Payer};
use ipc_proto::{List, Text};

fn request(texts: [&str; 2]) -> Embedding {
    let payer = Payer {
        user: UserId::from_bytes([0; 16]),
        session: None,
        agent: None,
        key: None,
        key_day_micros: None,
    };
    Embedding { model: Text::clip("p/m"), texts: List::clip(texts.map(Text::clip)), dimensions: None, payer }
}

fn ask(kind: ProviderKind) -> Option<EmbedAsk> {
    let known = ProviderModel {
        context: 1,
        output: 0,
        tools: false,
        vision: false,
        embeds: true,
        sampling: true,
        forced: true,
        prices: None,
        long: None,
    };
    let provider = Provider { kind, base_url: "https://host".to_owned(), secret: None, models: [].into() };
    embedding::ask(&provider, "m", known, &request(["a", "b"])).ok()
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for kind in [ProviderKind::Openai, ProviderKind::Ollama] {
        let embedded = ask(kind).and_then(|ask| ask.read(bytes).ok());
        assert!(embedded.is_none_or(|embedded| embedded.vectors.len() == 2));
    }
    let text = String::from_utf8_lossy(bytes);
    let made = embedding::lexical(&request([&text, ""]));
    assert!(made.is_ok_and(|made| {
        made.vectors.iter().flat_map(|vector| vector.iter()).all(|number| number.is_finite())
    }));
});
