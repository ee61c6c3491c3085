//! The files of a folder, opened once and read through their descriptors as often as needed, so that nothing else has
//! to be opened later.

use crate::form::Form;
use crate::header::{self, Header};
use crate::{Dtype, FORM, MOST_BYTES, NUMBERS, Unusable, VOCABULARY, vocabulary};
use sha2::{Digest, Sha256};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// Most bytes of the form and of the vocabulary.
const FORM_BOUND: u64 = 64 << 10;
const VOCABULARY_BOUND: u64 = 16 << 20;
/// Most bytes of the numbers: as 64-bit ones they are refused later, and beside those that are needed stand few.
const NUMBERS_BOUND: u64 = MOST_BYTES + (16 << 20);

/// The files of a model.
#[derive(Debug)]
pub struct Folder {
    form: File,
    vocabulary: (&'static str, File),
    numbers: File,
}

/// The model's description, without the numbers.
#[derive(Debug)]
pub struct Model {
    /// How it is built.
    pub form: Form,
    /// Its tokenizer, as JSON.
    pub vocabulary: Vec<u8>,
    /// The hash of all its files: 16 digits of their SHA-256.
    pub hash: String,
}

/// The numbers of a tensor.
#[derive(Debug)]
pub struct Tensor<'a> {
    /// Its name, without the prefix of a head.
    pub name: String,
    /// The type of its numbers.
    pub dtype: Dtype,
    /// Its shape.
    pub shape: &'a [usize],
    /// Its numbers, little-endian.
    pub bytes: Vec<u8>,
}

impl Folder {
    /// Opens its files.
    ///
    /// # Errors
    /// [`Unusable`] names the file that cannot be opened.
    pub fn open(path: &Path) -> Result<Self, Unusable> {
        let [tokenizer, vocabulary] = VOCABULARY;
        let vocabulary = match opened(path, tokenizer) {
            Err(Unusable::File { cause, .. }) if cause.kind() == ErrorKind::NotFound => {
                (vocabulary, opened(path, vocabulary))
            }
            file => (tokenizer, file),
        };
        // In the order in which people look for a fault: if it is a model's folder at all comes first.
        let form = opened(path, FORM)?;
        Ok(Self { form, vocabulary: (vocabulary.0, vocabulary.1?), numbers: opened(path, NUMBERS)? })
    }

    /// Reads everything once; each tensor that the model needs is given to `take`, and is dropped before the next.
    ///
    /// # Errors
    /// [`Unusable`] names the file and its fault.
    pub fn read(&self, mut take: impl FnMut(Tensor<'_>)) -> Result<Model, Unusable> {
        let form = whole(&self.form, FORM, FORM_BOUND)?;
        let vocabulary = whole(&self.vocabulary.1, self.vocabulary.0, VOCABULARY_BOUND)?;
        let mut hash = Sha256::new();
        for part in [&form, &vocabulary] {
            hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
            hash.update(part);
        }
        let form = Form::read(&form)?;
        let vocabulary = vocabulary::read(self.vocabulary.0, vocabulary, form.pieces)?;
        self.numbers(&form, &mut hash, &mut take)?;
        let hash = hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Ok(Model { form, vocabulary, hash })
    }

    fn numbers(
        &self,
        form: &Form,
        hash: &mut Sha256,
        take: &mut impl FnMut(Tensor<'_>),
    ) -> Result<(), Unusable> {
        let bytes = length(&self.numbers, NUMBERS, NUMBERS_BOUND)?;
        let mut head = [0; 8];
        if bytes < header::LENGTH {
            return Err(Unusable::NoHeader("is not there"));
        }
        self.at(&mut head, 0)?;
        let behind = bytes - header::LENGTH;
        let long = u64::from_le_bytes(head);
        if long > header::BOUND.min(behind) {
            return Err(Unusable::NoHeader("is longer than the file, or than 1 MiB"));
        }
        let mut text = vec![0; usize::try_from(long).unwrap_or_default()];
        self.at(&mut text, header::LENGTH)?;
        hash.update(head);
        hash.update(&text);
        let header = Header::read(&text, behind - long, form)?;
        let needed: std::collections::HashSet<String> = form.tensors().map(|(name, _)| name).collect();
        for (name, info) in header.each() {
            let (from, to) = info.data_offsets;
            let mut bytes = vec![0; to - from];
            self.at(&mut bytes, header::LENGTH + long + u64::try_from(from).unwrap_or(u64::MAX))?;
            hash.update(&bytes);
            if needed.contains(&name) {
                take(Tensor { name, dtype: info.dtype, shape: &info.shape, bytes });
            }
        }
        Ok(())
    }

    fn at(&self, bytes: &mut [u8], from: u64) -> Result<(), Unusable> {
        self.numbers.read_exact_at(bytes, from).map_err(of(NUMBERS))
    }
}

fn of(file: &'static str) -> impl Fn(io::Error) -> Unusable {
    move |cause| Unusable::File { file, cause }
}

fn opened(folder: &Path, file: &'static str) -> Result<File, Unusable> {
    // Without O_NONBLOCK, opening a pipe would wait for its writer.
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(folder.join(file));
    let opened = opened.map_err(of(file))?;
    let about = opened.metadata().map_err(of(file))?;
    if about.is_file() { Ok(opened) } else { Err(Unusable::NotRegular(file)) }
}

fn length(of_file: &File, file: &'static str, bound: u64) -> Result<u64, Unusable> {
    let length = of_file.metadata().map_err(of(file))?.len();
    if length > bound { Err(Unusable::TooLong { file, bound }) } else { Ok(length) }
}

fn whole(from: &File, file: &'static str, bound: u64) -> Result<Vec<u8>, Unusable> {
    let mut bytes = vec![0; usize::try_from(length(from, file, bound)?).unwrap_or_default()];
    from.read_exact_at(&mut bytes, 0).map_err(of(file))?;
    Ok(bytes)
}
