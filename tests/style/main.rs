//! Style: the laws of the tree that no compiler holds. They read sources, manifests and documents of the repository,
//! start nothing of Cordon, and change nothing.
#![expect(clippy::panic, reason = "a law that cannot be read fails its test")]

mod deploy;
mod documents;
mod files;
mod imports;
mod layers;
mod man_pages;
mod recipes;
mod remedies;
mod retry;
mod seeds;
mod source;
mod specification;
mod wording;
