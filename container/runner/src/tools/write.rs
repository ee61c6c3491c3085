//! The `write` tool. Makes or replaces one whole file beneath the workspace; must never write through a link.

use super::context::Context;
use super::fault::ToolFault;
use super::outcome::Outcome;
use super::replace::Slot;
use super::snapshot::lines;
use super::tool::{Checked, Tool};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use toolset::jail_tools::MAX_WRITE;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RawArgs {
    path: String,
    content: String,
    #[serde(default)]
    encoding: Encoding,
    #[serde(default = "yes")]
    create_dirs: bool,
    #[serde(default = "yes")]
    overwrite: bool,
}

const fn yes() -> bool {
    true
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Encoding {
    #[default]
    Utf8,
    Base64,
}

#[derive(Debug)]
pub(super) struct Args {
    path: String,
    content: Vec<u8>,
    create_dirs: bool,
    overwrite: bool,
}

impl Tool for Args {
    fn run(&self, context: &Context) -> Result<Outcome, ToolFault> {
        run(self, context)
    }

    fn changes(&self) -> Option<&str> {
        Some(&self.path)
    }
}

impl Checked for Args {
    type Raw = RawArgs;

    fn check(raw: Self::Raw) -> Result<Self, String> {
        let content = match raw.encoding {
            Encoding::Utf8 => raw.content.into_bytes(),
            Encoding::Base64 => STANDARD
                .decode(raw.content.as_bytes())
                .map_err(|cause| format!("`content`: is not standard base64 with padding: {cause}"))?,
        };
        if content.len() > MAX_WRITE {
            return Err(format!("`content`: must have at most {MAX_WRITE} bytes, has {}", content.len()));
        }
        if raw.path.ends_with('/') {
            return Err("`path`: names a folder; end it with the file's name".to_owned());
        }
        Ok(Self { path: raw.path, content, create_dirs: raw.create_dirs, overwrite: raw.overwrite })
    }
}

fn run(args: &Args, context: &Context) -> Result<Outcome, ToolFault> {
    let place = context.locate(&args.path)?;
    let slot = Slot::of(&place, args.create_dirs)?;
    let old = slot.occupant()?;
    if old.is_some() && !args.overwrite {
        return Err(ToolFault::Exists { path: place.shown });
    }
    slot.put(&args.content, old.as_ref(), args.overwrite)?;
    let done = if old.is_some() { "replaced" } else { "created" };
    let (size, lines) = (args.content.len(), lines(&args.content));
    let counted = if lines == 1 { "line" } else { "lines" };
    Ok(Outcome::done(format!("{done} `{}`: {size} bytes, {lines} {counted}", place.shown))
        .with("path", place.shown.as_str())
        .with("created", old.is_none())
        .with("size", u64::try_from(size).unwrap_or(u64::MAX)))
}
