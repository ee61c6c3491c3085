//! The files of a sentence model, and their reader: a BERT with its vocabulary. Nothing of it is trusted: every size is
//! bounded before room is made for it, and what does not fit is named. It opens the files of one folder and must never
//! run a model.

mod folder;
mod form;
mod header;
mod vocabulary;

pub use folder::{Folder, Model, Tensor};
pub use form::{Activation, Form};
pub use safetensors::Dtype;

/// The file that says how the model is built.
pub const FORM: &str = "config.json";
/// The file of the vocabulary, and the one that is read where that is missing.
pub const VOCABULARY: [&str; 2] = ["tokenizer.json", "vocab.txt"];
/// The file of its numbers.
pub const NUMBERS: &str = "model.safetensors";
/// Most bytes of all numbers as 32-bit floats.
pub const MOST_BYTES: u64 = 256 << 20;

/// The reasons for which a folder is of no use. The text holds names of files and tensors and no content.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// A file cannot be opened or read.
    #[error("{file} cannot be read: {cause}")]
    File {
        /// Which.
        file: &'static str,
        /// The kernel's error.
        cause: std::io::Error,
    },
    /// A directory, a pipe, a device.
    #[error("{0} is no regular file")]
    NotRegular(&'static str),
    /// It is over its bound.
    #[error("{file} has more than {bound} bytes")]
    TooLong {
        /// Which.
        file: &'static str,
        /// Its bound.
        bound: u64,
    },
    /// The form is no JSON object with the members of a BERT.
    #[error("config.json does not describe a BERT: {0}")]
    NoForm(String),
    /// Another kind of model.
    #[error("config.json describes a model of the kind {0}; what is run here is bert")]
    OtherKind(String),
    /// A number of the form is out of its bounds.
    #[error("config.json: {what} is {is}; it may be {least} to {most}")]
    OutOfBounds {
        /// Which.
        what: &'static str,
        /// The size found.
        is: usize,
        /// The least that it may be.
        least: usize,
        /// The most.
        most: usize,
    },
    /// The numbers would take too much room.
    #[error("the model has more than {} MiB of numbers", MOST_BYTES >> 20)]
    TooLarge,
    /// The vocabulary is not made of word pieces, or not those of this model.
    #[error("{file}: {why}")]
    Vocabulary {
        /// The file.
        file: &'static str,
        /// The fault.
        why: &'static str,
    },
    /// The header of the numbers is none.
    #[error("model.safetensors: its header {0}")]
    NoHeader(&'static str),
    /// The file is shorter or longer than its header says.
    #[error("model.safetensors has {has} bytes where its header tells of {wants}: it was cut or added to")]
    Cut {
        /// Bytes that there are.
        has: u64,
        /// Bytes that there should be.
        wants: u64,
    },
    /// A tensor that a BERT needs is not there.
    #[error("model.safetensors has no tensor {0}")]
    Lacks(String),
    /// A tensor is of another size than config.json says, or of numbers that are not run here.
    #[error(
        "the tensor {tensor} of model.safetensors is {is}; config.json wants {wants} of F32, F16 or BF16"
    )]
    OtherShape {
        /// Which.
        tensor: String,
        /// The value found.
        is: String,
        /// The value required.
        wants: String,
    },
}
