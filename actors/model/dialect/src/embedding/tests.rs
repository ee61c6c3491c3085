//! The laws of vectors, over answers as providers give them and over words.

use super::*;
use crate::testing::{known, payer, provider};
use ipc_proto::Text;
use ipc_proto::config::ProviderKind;
use proptest::prelude::*;

fn embedding(texts: &[&str], dimensions: Option<u16>) -> Embedding {
    let texts = List::clip(texts.iter().map(|text| Text::clip(text)));
    Embedding { model: Text::clip("p/m"), texts, dimensions, payer: payer() }
}

fn asked(kind: ProviderKind, texts: &[&str]) -> EmbedAsk {
    let known = ProviderModel { embeds: true, ..known() };
    ask(&provider(kind, "https://host/v1"), "m", known, &embedding(texts, Some(3))).unwrap()
}

fn rows(embedded: &Embedded) -> Vec<Vec<f32>> {
    embedded.vectors.iter().map(|vector| vector.to_vec()).collect()
}

fn near(a: &str, b: &str) -> f32 {
    let vectors = rows(&lexical(&embedding(&[a, b], None)).unwrap());
    vectors[0].iter().zip(&vectors[1]).map(|(a, b)| a * b).sum()
}

#[test]
fn a_provider_is_asked_as_its_kind_has_it() {
    for (kind, url) in [
        (ProviderKind::Openai, "https://host/v1/embeddings"),
        (ProviderKind::Responses, "https://host/v1/embeddings"),
        (ProviderKind::Ollama, "https://host/v1/api/embed"),
    ] {
        let ask = asked(kind, &["a", "b"]);
        assert_eq!(ask.http.url.as_str(), url);
        let body: serde_json::Value = serde_json::from_slice(&ask.http.body).unwrap();
        assert_eq!(body, serde_json::json!({"model": "m", "input": ["a", "b"], "dimensions": 3}));
    }
    let request = embedding(&["a"], None);
    let refused = |kind, known| ask(&provider(kind, "https://h"), "m", known, &request).unwrap_err();
    assert_eq!(refused(ProviderKind::Openai, known()), ModelError::UnknownModel, "it answers");
    let embeds = ProviderModel { embeds: true, ..known() };
    assert_eq!(refused(ProviderKind::Anthropic, embeds), ModelError::UnknownModel, "it has none");
}

#[test]
fn the_vectors_of_an_answer_come_in_the_order_of_their_texts() {
    let openai = r#"{"object":"list","data":[{"index":1,"embedding":[3,4]},{"index":0,"embedding":[1,-2.5]}],"usage":{"prompt_tokens":7,"total_tokens":7}}"#;
    let embedded = asked(ProviderKind::Openai, &["a", "b"]).read(openai.as_bytes()).unwrap();
    assert_eq!((rows(&embedded), embedded.usage.input), (vec![vec![1.0, -2.5], vec![3.0, 4.0]], 7));
    let ollama = r#"{"model":"m","embeddings":[[1],[2]],"prompt_eval_count":5}"#;
    let embedded = asked(ProviderKind::Ollama, &["a", "b"]).read(ollama.as_bytes()).unwrap();
    assert_eq!((rows(&embedded), embedded.usage.input), (vec![vec![1.0], vec![2.0]], 5));
    let uncounted = asked(ProviderKind::Ollama, &["abcde"]).read(br#"{"embeddings":[[1]]}"#).unwrap();
    assert_eq!((uncounted.usage.input, uncounted.usage.estimated), (2, true));
}

// Holds B-85.
#[test]
fn an_answer_that_is_not_one_vector_for_each_text_is_an_error() {
    let ask = asked(ProviderKind::Openai, &["a", "b"]);
    for wrong in [
        "",
        "[]",
        "{}",
        "\u{fffd}",
        r#"{"data":[]}"#,
        r#"{"data":[{"embedding":[1]}]}"#,
        r#"{"data":[{"embedding":[1]},{"embedding":[1,2]}]}"#,
        r#"{"data":[{"embedding":[]},{"embedding":[]}]}"#,
        r#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}"#,
        r#"{"data":[{"index":0,"embedding":[1]},{"index":9,"embedding":[1]}]}"#,
        r#"{"data":[{"embedding":[1e300]},{"embedding":[1]}]}"#,
        r#"{"data":[{"embedding":"AAAA"},{"embedding":[1]}]}"#,
        r#"{"embeddings":[[1],[2]]}"#,
    ] {
        assert_eq!(ask.read(wrong.as_bytes()), Err(ModelError::InvalidJson), "{wrong}");
    }
    let long = format!(r#"{{"data":[{{"embedding":[{0}]}},{{"embedding":[{0}]}}]}}"#, ["1"; 4097].join(","));
    assert_eq!(ask.read(long.as_bytes()), Err(ModelError::InvalidJson), "over the bound");
    let told = ask.read(br#"{"error":{"code":"rate_limit_exceeded"}}"#);
    assert_eq!(told, Err(ModelError::RateLimited { retry_after_s: 60 }));
}

#[test]
fn texts_that_share_words_are_near_and_others_are_not() {
    let office = "The office opens at seven in the morning.";
    assert!((near(office, office) - 1.0).abs() < 1e-5);
    let same = near(office, "When does the office open in the morning?");
    let other = near(office, "Our lighthouse was painted red last summer");
    assert!(same > 0.35 && other < 0.15 && same > 3.0 * other.abs(), "{same} {other}");
    assert!(near("lighthouse keeper", "lighthouses") > 0.3, "parts of words count");
    assert!(near("dog bites man", "man bites dog") < 0.99, "and their order");
}

#[test]
fn a_vector_is_the_same_for_ever() {
    let vectors = rows(&lexical(&embedding(&["a"], Some(8))).unwrap());
    let expected = rows(&lexical(&embedding(&["A!"], Some(8))).unwrap());
    assert_eq!(vectors, expected, "neither case nor signs count");
    let plain = 0xd8dc_ec18_6baf_e76e_u64;
    assert_eq!(hash(0, &["a"]), plain ^ (plain >> 32), "FNV-1a of 00 61 00");
}

#[test]
fn as_many_numbers_are_given_as_are_asked_for_and_none_is_no_vector() {
    for (dimensions, length) in [(None, 384), (Some(16), 16), (Some(9999), 384)] {
        let embedded = lexical(&embedding(&["some words", "..."], dimensions)).unwrap();
        assert!(embedded.vectors.iter().all(|vector| vector.len() == length));
        assert!(embedded.vectors[1].iter().all(|number| *number == 0.0), "no letters, no direction");
    }
    assert_eq!(lexical(&embedding(&["a"], Some(0))), Err(ModelError::Rejected { status: 400 }));
}

proptest! {
    #[test]
    fn any_text_has_a_vector_of_length_one_or_nought(text in "\\PC{0,80}") {
        let embedded = lexical(&embedding(&[&text], None)).unwrap();
        let length: f32 = embedded.vectors[0].iter().map(|number| number * number).sum();
        prop_assert!(length == 0.0 || (length - 1.0).abs() < 1e-4, "{length}");
    }

    #[test]
    fn any_answer_is_read_without_panic(body: Vec<u8>) {
        let _ = asked(ProviderKind::Openai, &["a"]).read(&body);
    }
}
