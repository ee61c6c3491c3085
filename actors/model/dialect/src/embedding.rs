//! Vectors of texts: a provider's request and answer, and a vector that is made here of the words of a text alone. That
//! one is lexical: texts are near each other if they share words, parts of words and pairs of words; it knows nothing
//! of meaning.

use crate::ask::post;
use crate::count;
use crate::table::dialect;
use crate::wire::ReadVectors;
use fnv::FnvHasher;
use ipc_proto::List;
use ipc_proto::config::{Provider, ProviderModel};
use ipc_proto::credproxy;
use ipc_proto::model::{Embedded, Embedding, ModelError, Usage};
use serde::Serialize;
use std::collections::BTreeMap;
use std::hash::Hasher as _;

/// The model that is made here.
pub const LEXICAL: &str = "hash-384";
/// Numbers of its vectors.
pub const DIMENSIONS: usize = 384;
/// Bytes of a provider's answer: 64 vectors of 4096 numbers, each written with up to twenty characters, and some.
pub const BODY_BOUND: usize = 6 * 1024 * 1024;

/// The weight of a word, of a pair of words that stand together, and of three letters of a word.
const WORD: f32 = 1.0;
const PAIR: f32 = 0.5;
const LETTERS: f32 = 0.3;
/// The share that words of one to three letters count: there are few of them, and most are in every text.
const SHORT: f32 = 0.3;

/// A request for vectors.
#[derive(Clone, Debug)]
pub struct EmbedAsk {
    /// The request for credproxy.
    pub http: credproxy::Request,
    /// An estimate of its tokens.
    pub tokens: u32,
    /// The model's properties.
    pub known: ProviderModel,
    read: ReadVectors,
    texts: usize,
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    input: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<u16>,
}

/// The request to this provider's model.
///
/// # Errors
/// [`ModelError::UnknownModel`] for a model that answers rather than embeds, or a provider that has none;
/// [`ModelError::Rejected`] and [`ModelError::Credentials`] as of any request.
pub fn ask(
    provider: &Provider,
    model: &str,
    known: ProviderModel,
    request: &Embedding,
) -> Result<EmbedAsk, ModelError> {
    let method = dialect(provider.kind).embeddings().filter(|_| known.embeds);
    let method = method.ok_or(ModelError::UnknownModel)?;
    let input: Vec<&str> = request.texts.iter().map(|text| text.as_str()).collect();
    let body = serde_json::to_vec(&Body { model, input, dimensions: request.dimensions });
    let http = post(provider, method.path, body.map_err(|_| ModelError::Rejected { status: 413 })?)?;
    Ok(EmbedAsk { http, tokens: tokens(request), known, read: method.read, texts: request.texts.len() })
}

/// An estimate of the tokens of a request.
#[must_use]
pub fn tokens(request: &Embedding) -> u32 {
    request.texts.iter().fold(0, |sum, text| sum.saturating_add(count::text(text)))
}

/// The fewest that a provider can count.
#[must_use]
pub fn least(request: &Embedding) -> u32 {
    let mut plain = count::Counter::default();
    request.texts.iter().for_each(|text| plain.add(text));
    plain.least()
}

impl EmbedAsk {
    /// Reads the answer with this body.
    ///
    /// # Errors
    /// [`ModelError::InvalidJson`] unless there is one vector for each text and all have one length; the error that the
    /// provider tells.
    pub fn read(&self, body: &[u8]) -> Result<Embedded, ModelError> {
        let text = std::str::from_utf8(body).map_err(|_| ModelError::InvalidJson)?;
        let (vectors, counted) = (self.read)(text, self.texts, self.known.context)?;
        let length = vectors.first().map_or(0, Vec::len);
        // A number that is too large for its type is read as endless.
        let sound = |vector: &Vec<f32>| vector.len() == length && vector.iter().all(|it| it.is_finite());
        let even = vectors.len() == self.texts && vectors.iter().all(sound);
        if !even || (length == 0 && self.texts > 0) {
            return Err(ModelError::InvalidJson);
        }
        Ok(Embedded { vectors: bounded(vectors)?, usage: self.used(counted.or_zero()), over: None })
    }

    /// The provider's count; an estimate if it says none, or 0 of texts that have words.
    fn used(&self, counted: u32) -> Usage {
        let estimated = counted == 0 && self.tokens > 0;
        Usage { input: if estimated { self.tokens } else { counted }, estimated, ..Usage::default() }
    }
}

fn bounded(vectors: Vec<Vec<f32>>) -> Result<List<List<f32, 4096>, 64>, ModelError> {
    let vectors: Result<Vec<_>, _> = vectors.into_iter().map(List::new).collect();
    vectors.and_then(List::new).map_err(|_| ModelError::InvalidJson)
}

/// The vectors that are made here. The same texts have the same vectors on every machine and in every version.
///
/// # Errors
/// [`ModelError::Rejected`] if no number at all is asked for.
pub fn lexical(request: &Embedding) -> Result<Embedded, ModelError> {
    let most = request.dimensions.map_or(DIMENSIONS, usize::from).min(DIMENSIONS);
    if most == 0 {
        return Err(ModelError::Rejected { status: 400 });
    }
    let vectors = request.texts.iter().map(|text| vector(text, most)).collect();
    let usage = Usage { input: tokens(request), ..Usage::default() };
    Ok(Embedded { vectors: bounded(vectors)?, usage, over: None })
}

/// One vector, of length 1; of a text without letters and digits, all noughts.
fn vector(text: &str, dimensions: usize) -> Vec<f32> {
    let mut vector = vec![0.0_f32; dimensions];
    for (feature, (weight, times)) in features(text) {
        let place = usize::try_from(feature >> 1).unwrap_or(0) % dimensions;
        let sign = if feature & 1 == 0 { 1.0 } else { -1.0 };
        if let Some(number) = vector.get_mut(place) {
            // The tenth time that a word stands there says little more than the first.
            *number += sign * weight * (1.0 + f32::from(times).ln());
        }
    }
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|number| *number /= length);
    }
    vector
}

/// The features of a text, by hash, with their weight and number. In the order of the hashes, so that sums of numbers
/// that are not exact come out the same.
fn features(text: &str) -> BTreeMap<u64, (f32, u16)> {
    let lower = text.to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let mut found = BTreeMap::<u64, (f32, u16)>::new();
    let mut add = |kind: u8, parts: &[&str], weight: f32| {
        let counted = found.entry(hash(kind, parts)).or_insert((weight, 0));
        counted.1 = counted.1.saturating_add(1);
    };
    for word in words.iter().copied() {
        let share = if word.chars().nth(3).is_none() { SHORT } else { 1.0 };
        add(0, &[word], WORD * share);
        // With its ends marked, so that how a word begins and ends counts.
        let marked: Vec<char> = std::iter::once('^').chain(word.chars()).chain(['$']).collect();
        for letters in marked.windows(3) {
            let letters: String = letters.iter().collect();
            add(1, &[letters.as_str()], LETTERS * share);
        }
    }
    for pair in words.windows(2) {
        add(2, pair, PAIR);
    }
    found
}

fn hash(kind: u8, parts: &[&str]) -> u64 {
    let mut hasher = FnvHasher::default();
    hasher.write(&[kind]);
    for part in parts {
        hasher.write(part.as_bytes());
        hasher.write(&[0]);
    }
    // The low bits of this hash are poor by themselves.
    let hash = hasher.finish();
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests;
