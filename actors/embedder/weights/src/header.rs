//! The header of the numbers: the place of each tensor, compared with the needs of the model's form.

use crate::form::Form;
use crate::{Dtype, Unusable};
use safetensors::tensor::{Metadata, TensorInfo};

/// Bytes of the header's length.
pub(crate) const LENGTH: u64 = 8;
/// Most bytes of a header.
pub(crate) const BOUND: u64 = 1 << 20;
/// The prefix of the tensors' names where the model was stored with a head.
const PREFIX: &str = "bert.";

/// Where everything stands.
pub(crate) struct Header {
    tensors: Metadata,
    /// The prefix of the names.
    prefix: &'static str,
}

impl Header {
    /// Reads it; `rest` is how many bytes stand behind it.
    pub(crate) fn read(text: &[u8], rest: u64, form: &Form) -> Result<Self, Unusable> {
        let tensors: Metadata = serde_json::from_slice(text).map_err(|_| {
            Unusable::NoHeader("is no JSON, or its tensors overlap or do not fit their sizes")
        })?;
        let wants = u64::try_from(tensors.data_len()).unwrap_or(u64::MAX);
        if wants != rest {
            let head = LENGTH + u64::try_from(text.len()).unwrap_or(u64::MAX);
            return Err(Unusable::Cut { has: head.saturating_add(rest), wants: head.saturating_add(wants) });
        }
        let is_prefixed = tensors.info(&format!("{PREFIX}embeddings.word_embeddings.weight")).is_some();
        let header = Self { tensors, prefix: if is_prefixed { PREFIX } else { "" } };
        for (name, shape) in form.tensors() {
            header.check(&name, &shape)?;
        }
        Ok(header)
    }

    fn check(&self, name: &str, shape: &[usize]) -> Result<(), Unusable> {
        let stored = format!("{}{name}", self.prefix);
        let Some(info) = self.tensors.info(&stored) else { return Err(Unusable::Lacks(stored)) };
        let known = matches!(info.dtype, Dtype::F32 | Dtype::F16 | Dtype::BF16);
        if known && info.shape == shape {
            return Ok(());
        }
        let is = format!("{:?} of {:?}", info.shape, info.dtype);
        Err(Unusable::OtherShape { tensor: stored, is, wants: format!("{shape:?}") })
    }

    /// Every tensor in the order of its place, under the name that the form has for it.
    pub(crate) fn each(&self) -> impl Iterator<Item = (String, &TensorInfo)> {
        self.tensors.offset_keys().into_iter().filter_map(|stored| {
            let info = self.tensors.info(&stored)?;
            Some((stored.strip_prefix(self.prefix).unwrap_or(&stored).to_owned(), info))
        })
    }
}
