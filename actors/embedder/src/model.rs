//! A sentence model: a text's word pieces go through a BERT, and the mean of what comes out, scaled to length 1, is the
//! text's vector. It keeps no text.

use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::{BertModel, Config, HiddenAct, PositionEmbeddingType};
use std::collections::HashMap;
use tokenizers::{PostProcessor, Tokenizer, TruncationParams};
use weights::{Activation, Dtype, Folder, Form, Unusable};

/// Word pieces that are read of a text, the two that stand around it included.
const PIECES: usize = 256;

/// Why there is no model, or no vector. Holds nothing of a text.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// The files are of no use.
    #[error(transparent)]
    Files(#[from] Unusable),
    /// The vocabulary cannot be used.
    #[error("the words of the model cannot be used: {0}")]
    Words(String),
    /// The numbers cannot be worked with.
    #[error("the numbers of the model cannot be used: {0}")]
    Numbers(#[from] candle_core::Error),
    /// The machine does not let it.
    #[error("numbers cannot be worked on here: {0}")]
    Machine(String),
    /// The result for a text is no vector.
    #[error("the model made nothing of this text")]
    Nothing,
}

impl From<tokenizers::Error> for Fault {
    fn from(error: tokenizers::Error) -> Self {
        Self::Words(error.to_string())
    }
}

/// A model that is loaded.
pub(crate) struct Model {
    tokenizer: Tokenizer,
    bert: BertModel,
    /// The hash of the model's files.
    pub(crate) hash: String,
}

impl Model {
    /// Loads it. Of its numbers there is never more than one copy, beside those of one tensor.
    pub(crate) fn load(folder: &Folder) -> Result<Self, Fault> {
        let (mut tensors, mut fault) = (HashMap::new(), None);
        let read = folder.read(|tensor| match numbers(&tensor) {
            Ok(numbers) => drop(tensors.insert(tensor.name, numbers)),
            Err(cause) => fault = Some(cause),
        })?;
        if let Some(fault) = fault {
            return Err(fault.into());
        }
        let builder = VarBuilder::from_tensors(tensors, DType::F32, &Device::Cpu);
        let bert = BertModel::load(builder, &config(&read.form))?;
        Ok(Self { tokenizer: tokenizer(&read.vocabulary, &read.form)?, bert, hash: read.hash })
    }

    /// The vector of a text, of length 1.
    pub(crate) fn vector(&self, text: &str) -> Result<Vec<f32>, Fault> {
        let pieces = self.tokenizer.encode(text, true)?;
        if pieces.is_empty() {
            return Err(Fault::Nothing);
        }
        let pieces = Tensor::new(pieces.get_ids(), &Device::Cpu)?.unsqueeze(0)?;
        // One text at a time: no piece is filling, so all count, and of kinds of sentences there is the first alone.
        let out = self.bert.forward(&pieces, &pieces.zeros_like()?, None)?;
        let mean: Vec<f32> = out.mean(1)?.squeeze(0)?.to_vec1()?;
        let length = mean.iter().map(|value| value * value).sum::<f32>().sqrt();
        if !length.is_normal() {
            return Err(Fault::Nothing);
        }
        Ok(mean.into_iter().map(|value| value / length).collect())
    }
}

/// The numbers of a tensor as 32-bit floats. The factors of a layer lie in memory transposed, as the product reads
/// them: else they would be transposed for each text.
fn numbers(tensor: &weights::Tensor<'_>) -> Result<Tensor, candle_core::Error> {
    let dtype = match tensor.dtype {
        Dtype::F16 => DType::F16,
        Dtype::BF16 => DType::BF16,
        _ => DType::F32,
    };
    let numbers = Tensor::from_raw_buffer(&tensor.bytes, dtype, tensor.shape, &Device::Cpu)?;
    let numbers = numbers.to_dtype(DType::F32)?;
    match tensor.name.starts_with("encoder.") && tensor.shape.len() == 2 {
        true => numbers.t()?.contiguous()?.t(),
        false => Ok(numbers),
    }
}

fn tokenizer(json: &[u8], form: &Form) -> Result<Tokenizer, Fault> {
    let mut tokenizer = Tokenizer::from_bytes(json)?;
    // Words can be added beside the pieces, and any number of them can be said to stand around each text.
    let count = u32::try_from(form.pieces).unwrap_or(u32::MAX);
    if tokenizer.get_vocab(true).values().any(|id| *id >= count) {
        return Err(Fault::Words("there are more than config.json says".to_owned()));
    }
    let most = PIECES.min(form.positions);
    if tokenizer.get_post_processor().is_some_and(|around| around.added_tokens(false) > most) {
        return Err(Fault::Words("more of them stand around a text than can be read".to_owned()));
    }
    let most = TruncationParams { max_length: most, ..TruncationParams::default() };
    tokenizer.with_truncation(Some(most))?;
    tokenizer.with_padding(None);
    Ok(tokenizer)
}

fn config(form: &Form) -> Config {
    Config {
        vocab_size: form.pieces,
        hidden_size: form.width,
        num_hidden_layers: form.layers,
        num_attention_heads: form.heads,
        intermediate_size: form.inner,
        hidden_act: match form.activation {
            Activation::Gelu => HiddenAct::Gelu,
            Activation::GeluTanh => HiddenAct::GeluApproximate,
            Activation::Relu => HiddenAct::Relu,
        },
        hidden_dropout_prob: 0.0,
        max_position_embeddings: form.positions,
        type_vocab_size: form.kinds,
        initializer_range: 0.0,
        layer_norm_eps: form.epsilon,
        pad_token_id: 0,
        position_embedding_type: PositionEmbeddingType::Absolute,
        use_cache: false,
        classifier_dropout: None,
        model_type: None,
    }
}

/// Runs a model of zeros as large as a layer of MiniLM over as many word pieces as there may be, and drops it.
pub(crate) fn rehearse() -> Result<(), Fault> {
    const TOKENIZER: &[u8] = br###"{"version": "1.0", "added_tokens": [],
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": null, "decoder": null,
        "model": {"type": "WordPiece", "unk_token": "u", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": {"u": 0, "a": 1}}}"###;
    let form = Form {
        pieces: 2,
        width: 384,
        layers: 1,
        heads: 12,
        inner: 1536,
        positions: PIECES,
        kinds: 1,
        activation: Activation::Gelu,
        epsilon: 1e-12,
    };
    for activation in [Activation::Gelu, Activation::GeluTanh, Activation::Relu] {
        let bert = BertModel::load(
            VarBuilder::zeros(DType::F32, &Device::Cpu),
            &config(&Form { activation, ..form.clone() }),
        )?;
        let model = Model { tokenizer: tokenizer(TOKENIZER, &form)?, bert, hash: String::new() };
        // Zeros give no vector, and that is the expected answer.
        match model.vector(&"a b ".repeat(PIECES)) {
            Err(Fault::Nothing) | Ok(_) => {}
            Err(fault) => return Err(fault),
        }
    }
    Ok(())
}
