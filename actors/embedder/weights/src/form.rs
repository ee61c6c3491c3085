//! The shape of a model: `config.json`, each number within bounds.

use crate::{MOST_BYTES, Unusable};
use serde::Deserialize;

/// How a model is built.
#[derive(Clone, Debug, PartialEq)]
pub struct Form {
    /// Words that it knows.
    pub pieces: usize,
    /// Numbers of a vector.
    pub width: usize,
    /// Layers.
    pub layers: usize,
    /// Heads of a layer's attention; they share the width evenly.
    pub heads: usize,
    /// Numbers between the two halves of a layer.
    pub inner: usize,
    /// Word pieces that it can read at once.
    pub positions: usize,
    /// Kinds of sentences.
    pub kinds: usize,
    /// The activation function.
    pub activation: Activation,
    /// The value that is added to a variance.
    pub epsilon: f64,
}

/// The activation function of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Activation {
    /// Exact.
    #[serde(rename = "gelu")]
    Gelu,
    /// By the hyperbolic tangent.
    #[serde(rename = "gelu_new", alias = "gelu_pytorch_tanh")]
    GeluTanh,
    /// Nothing below zero.
    #[serde(rename = "relu")]
    Relu,
}

/// As it is written; whatever else stands there is of no matter.
#[derive(Deserialize)]
struct Written {
    #[serde(default)]
    position_embedding_type: Option<String>,
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    max_position_embeddings: usize,
    type_vocab_size: usize,
    hidden_act: Activation,
    layer_norm_eps: f64,
}

/// Least and most of each number.
const BOUNDS: [(&str, usize, usize); 7] = [
    ("vocab_size", 4, 200_000),
    ("hidden_size", 1, 1024),
    ("num_hidden_layers", 1, 24),
    ("num_attention_heads", 1, 64),
    ("intermediate_size", 1, 8192),
    ("max_position_embeddings", 4, 8192),
    ("type_vocab_size", 1, 16),
];

impl Form {
    /// Reads it.
    pub(crate) fn read(text: &[u8]) -> Result<Self, Unusable> {
        #[derive(Deserialize)]
        struct Kind {
            model_type: Option<String>,
        }
        let wrong = |error: serde_json::Error| Unusable::NoForm(reason(&error));
        let kind: Kind = serde_json::from_slice(text).map_err(wrong)?;
        let kind = kind.model_type.unwrap_or_else(|| "none".to_owned());
        if kind != "bert" {
            return Err(Unusable::OtherKind(kind.escape_debug().take(64).collect()));
        }
        Self::of(serde_json::from_slice(text).map_err(wrong)?)
    }

    fn of(written: Written) -> Result<Self, Unusable> {
        let is = [
            written.vocab_size,
            written.hidden_size,
            written.num_hidden_layers,
            written.num_attention_heads,
            written.intermediate_size,
            written.max_position_embeddings,
            written.type_vocab_size,
        ];
        for ((what, least, most), is) in BOUNDS.into_iter().zip(is) {
            if !(least..=most).contains(&is) {
                return Err(Unusable::OutOfBounds { what, is, least, most });
            }
        }
        let no = |why: &str| Err(Unusable::NoForm(why.to_owned()));
        if !written.hidden_size.is_multiple_of(written.num_attention_heads) {
            return no("num_attention_heads do not share hidden_size evenly");
        }
        if written.position_embedding_type.is_some_and(|kind| kind != "absolute") {
            return no("position_embedding_type is not absolute");
        }
        if !(written.layer_norm_eps > 0.0 && written.layer_norm_eps < 1.0) {
            return no("layer_norm_eps is not between 0 and 1");
        }
        let form = Self {
            pieces: written.vocab_size,
            width: written.hidden_size,
            layers: written.num_hidden_layers,
            heads: written.num_attention_heads,
            inner: written.intermediate_size,
            positions: written.max_position_embeddings,
            kinds: written.type_vocab_size,
            activation: written.hidden_act,
            epsilon: written.layer_norm_eps,
        };
        if form.bytes() > MOST_BYTES { Err(Unusable::TooLarge) } else { Ok(form) }
    }

    /// Bytes of all its numbers as 32-bit floats; the bounds keep the sum far from an overflow.
    fn bytes(&self) -> u64 {
        let count = |(_, shape): (String, Vec<usize>)| shape.into_iter().product::<usize>();
        let all: usize = self.tensors().map(count).sum();
        u64::try_from(all).unwrap_or(u64::MAX).saturating_mul(4)
    }

    /// Every tensor that it needs: its name and its shape.
    pub(crate) fn tensors(&self) -> impl Iterator<Item = (String, Vec<usize>)> + use<'_> {
        let (width, inner) = (self.width, self.inner);
        let first = [
            ("word_embeddings.weight", vec![self.pieces, width]),
            ("position_embeddings.weight", vec![self.positions, width]),
            ("token_type_embeddings.weight", vec![self.kinds, width]),
            ("LayerNorm.weight", vec![width]),
            ("LayerNorm.bias", vec![width]),
        ];
        let layer = move |at: usize| {
            [
                ("attention.self.query", Some(width), width),
                ("attention.self.key", Some(width), width),
                ("attention.self.value", Some(width), width),
                ("attention.output.dense", Some(width), width),
                ("attention.output.LayerNorm", None, width),
                ("intermediate.dense", Some(width), inner),
                ("output.dense", Some(inner), width),
                ("output.LayerNorm", None, width),
            ]
            .into_iter()
            .flat_map(move |(name, from, to)| {
                let name = format!("encoder.layer.{at}.{name}");
                let weight = from.map_or_else(|| vec![to], |from| vec![to, from]);
                [(format!("{name}.weight"), weight), (format!("{name}.bias"), vec![to])]
            })
        };
        let first = first.into_iter().map(|(name, shape)| (format!("embeddings.{name}"), shape));
        first.chain((0..self.layers).flat_map(layer))
    }
}

/// The fault, in words that hold nothing of the file but the names of members.
fn reason(error: &serde_json::Error) -> String {
    match error.classify() {
        serde_json::error::Category::Data => {
            format!("a member is missing or of another type, at line {}", error.line())
        }
        _ => format!("it is no JSON, at line {}", error.line()),
    }
}
