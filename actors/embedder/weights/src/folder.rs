//! The files of a folder, opened once and read as often as need be: by their descriptors, so that nothing else has to be
//! opened later.

use crate::form::Form;
use crate::header::{self, Header};
use crate::{Dtype, FORM, MOST_BYTES, NUMBERS, Unusable, WORDS, words};
use sha2::{Digest, Sha256};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// Most bytes of the form and of the words.
const FORM_BOUND: u64 = 64 << 10;
const WORDS_BOUND: u64 = 16 << 20;
/// Most bytes of the numbers: as 64-bit ones they are refused later, and beside those that are needed stand few.
const NUMBERS_BOUND: u64 = MOST_BYTES + (16 << 20);

/// The files of a model.
#[derive(Debug)]
pub struct Folder {
    form: File,
    words: (&'static str, File),
    numbers: File,
}

/// What was read, but for the numbers.
#[derive(Debug)]
pub struct Model {
    /// How it is built.
    pub form: Form,
    /// Its tokenizer, as JSON.
    pub words: Vec<u8>,
    /// What all of its files come to: 16 digits of their SHA-256.
    pub hash: String,
}

/// The numbers of a tensor.
#[derive(Debug)]
pub struct Tensor<'a> {
    /// Its name, without what a head may have put before it.
    pub name: String,
    /// What its numbers are.
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
    /// Which of them cannot be opened.
    pub fn open(path: &Path) -> Result<Self, Unusable> {
        let [tokenizer, vocabulary] = WORDS;
        let words = match opened(path, tokenizer) {
            Err(Unusable::File { cause, .. }) if cause.kind() == ErrorKind::NotFound => {
                (vocabulary, opened(path, vocabulary))
            }
            file => (tokenizer, file),
        };
        // In the order in which people look for what is wrong: whether it is a model's folder at all comes first.
        let form = opened(path, FORM)?;
        Ok(Self { form, words: (words.0, words.1?), numbers: opened(path, NUMBERS)? })
    }

    /// Reads everything once; each tensor that the model needs is given to `take`, and is let go of before the next.
    ///
    /// # Errors
    /// What is wrong with which file.
    pub fn read(&self, mut take: impl FnMut(Tensor<'_>)) -> Result<Model, Unusable> {
        let form = whole(&self.form, FORM, FORM_BOUND)?;
        let words = whole(&self.words.1, self.words.0, WORDS_BOUND)?;
        let mut hash = Sha256::new();
        for part in [&form, &words] {
            hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
            hash.update(part);
        }
        let form = Form::read(&form)?;
        let words = words::read(self.words.0, words, form.words)?;
        self.numbers(&form, &mut hash, &mut take)?;
        let hash = hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Ok(Model { form, words, hash })
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
