//! The vocabulary of a model: its `tokenizer.json` as it is, or one that is made of `vocab.txt`, a word piece on each line, in
//! the manner of an uncased BERT.

use crate::{Unusable, VOCABULARY};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// Pieces that a BERT cannot do without.
const SPECIAL: [&str; 3] = ["[UNK]", "[CLS]", "[SEP]"];

/// The part of a tokenizer's description that is compared with the model.
#[derive(Deserialize)]
struct Tokenizer {
    model: Pieces,
}

#[derive(Deserialize)]
struct Pieces {
    #[serde(default, rename = "type")]
    kind: Option<String>,
    /// The token for a word that no pieces make.
    #[serde(default)]
    unk_token: Option<String>,
    vocab: HashMap<String, usize>,
}

/// A tokenizer as JSON of which every piece is one of the model's `count` pieces.
pub(crate) fn read(file: &'static str, bytes: Vec<u8>, count: usize) -> Result<Vec<u8>, Unusable> {
    let wrong = |why| Unusable::Vocabulary { file, why };
    let bytes = if VOCABULARY.first() == Some(&file) { bytes } else { made(&bytes).map_err(wrong)? };
    let Tokenizer { model } =
        serde_json::from_slice(&bytes).map_err(|_| wrong("it is no tokenizer of word pieces"))?;
    if model.kind.is_some_and(|kind| kind != "WordPiece") {
        return Err(wrong("it is a tokenizer of another kind than word pieces"));
    }
    if model.vocab.values().any(|id| *id >= count) {
        return Err(wrong("it has more words than config.json says"));
    }
    if SPECIAL.iter().any(|piece| !model.vocab.contains_key(*piece)) {
        return Err(wrong("it lacks one of [UNK], [CLS] and [SEP]"));
    }
    // Else every text with a word that no pieces make would fail.
    if model.unk_token.is_some_and(|piece| !model.vocab.contains_key(&piece)) {
        return Err(wrong("it lacks the piece that stands for unknown words"));
    }
    Ok(bytes)
}

/// A tokenizer of these pieces.
fn made(text: &[u8]) -> Result<Vec<u8>, &'static str> {
    let text = str::from_utf8(text).map_err(|_| "it is no UTF-8 text")?;
    let pieces: Map<String, Value> =
        text.lines().enumerate().map(|(id, piece)| (piece.trim_end().to_owned(), id.into())).collect();
    let special = |piece: &str| pieces.get(piece).cloned().unwrap_or_default();
    let added: Vec<Value> = SPECIAL
        .into_iter()
        .filter(|piece| pieces.contains_key(*piece))
        .map(|piece| {
            json!({"id": special(piece), "content": piece, "single_word": false, "lstrip": false,
                "rstrip": false, "normalized": false, "special": true})
        })
        .collect();
    let tokenizer = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": added,
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", special("[SEP]")],
            "cls": ["[CLS]", special("[CLS]")]},
        "decoder": null,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": pieces},
    });
    Ok(tokenizer.to_string().into_bytes())
}
