//! A sentence model of a few thousand numbers that mean nothing: a whole BERT of two layers whose words are letters. Texts
//! that are the same come to the same vector, and others to another.

use serde_json::{Map, Value, json};
use std::fs;
use std::path::Path;

const WIDTH: usize = 16;
const INNER: usize = 32;
const LAYERS: usize = 2;
/// Word pieces that it can read.
const POSITIONS: usize = 64;

/// Its words: what a BERT needs, each letter at a word's beginning, and each behind it.
fn words() -> Vec<String> {
    let special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"].map(str::to_owned);
    let letters = || 'a'..='z';
    let all = special.into_iter().chain(letters().map(String::from));
    all.chain(letters().map(|letter| format!("##{letter}"))).collect()
}

/// Every tensor's name and shape.
fn tensors() -> Vec<(String, Vec<usize>)> {
    let mut all = vec![
        ("embeddings.word_embeddings.weight".to_owned(), vec![words().len(), WIDTH]),
        ("embeddings.position_embeddings.weight".to_owned(), vec![POSITIONS, WIDTH]),
        ("embeddings.token_type_embeddings.weight".to_owned(), vec![2, WIDTH]),
        ("embeddings.LayerNorm.weight".to_owned(), vec![WIDTH]),
        ("embeddings.LayerNorm.bias".to_owned(), vec![WIDTH]),
    ];
    for layer in 0..LAYERS {
        let parts = [
            ("attention.self.query", WIDTH, WIDTH),
            ("attention.self.key", WIDTH, WIDTH),
            ("attention.self.value", WIDTH, WIDTH),
            ("attention.output.dense", WIDTH, WIDTH),
            ("attention.output.LayerNorm", 0, WIDTH),
            ("intermediate.dense", WIDTH, INNER),
            ("output.dense", INNER, WIDTH),
            ("output.LayerNorm", 0, WIDTH),
        ];
        for (part, from, to) in parts {
            let name = format!("encoder.layer.{layer}.{part}");
            let weight = if from == 0 { vec![to] } else { vec![to, from] };
            all.extend([(format!("{name}.weight"), weight), (format!("{name}.bias"), vec![to])]);
        }
    }
    all
}

/// Writes it into this folder, which is made.
///
/// # Errors
/// The folder cannot be written.
pub(crate) fn write(folder: &Path, seed: u64) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    let form = json!({
        "model_type": "bert", "vocab_size": words().len(), "hidden_size": WIDTH, "num_hidden_layers": LAYERS,
        "num_attention_heads": 2, "intermediate_size": INNER, "max_position_embeddings": POSITIONS,
        "type_vocab_size": 2, "hidden_act": "gelu", "layer_norm_eps": 1e-12,
    });
    fs::write(folder.join("config.json"), form.to_string())?;
    fs::write(folder.join("vocab.txt"), words().join("\n"))?;
    fs::write(folder.join("model.safetensors"), numbers(&tensors(), seed))
}

/// The tensors as a file.
fn numbers(tensors: &[(String, Vec<usize>)], seed: u64) -> Vec<u8> {
    let (mut header, mut data) = (Map::new(), Vec::new());
    let mut state = seed;
    for (name, shape) in tensors {
        let begin = data.len();
        for _ in 0..shape.iter().product() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let value = f32::from(u16::try_from(state >> 48).unwrap_or_default()) / 65_536.0 - 0.5;
            data.extend(value.to_le_bytes());
        }
        let about = json!({ "dtype": "F32", "shape": shape, "data_offsets": [begin, data.len()] });
        header.insert(name.clone(), about);
    }
    let header = Value::Object(header).to_string().into_bytes();
    let length = u64::try_from(header.len()).unwrap_or_default();
    [length.to_le_bytes().to_vec(), header, data].concat()
}
