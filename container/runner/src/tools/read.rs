//! The `read` tool. Reads one regular file beneath a root, at most 1 MB of it; must never block on what is not a file.

use super::context::Context;
use super::fault::ToolFault;
use super::outcome::Outcome;
use super::output::clip_line;
use super::snapshot::lines;
use super::tool::{Checked, Tool};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use nix::fcntl::OFlag;
use serde::Deserialize;
use std::io::Read;
use toolset::jail_tools::MAX_READ;

/// Lines of text shown at most.
const SHOWN_LINES: usize = 2000;
/// Characters of a line shown at most.
const SHOWN_CHARS: usize = 2000;
/// Bytes kept free for the marker when output grows with the encoding.
const MARKER: usize = 200;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Args {
    path: String,
    #[serde(default)]
    encoding: Encoding,
    max_size: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Encoding {
    #[default]
    Utf8,
    Base64,
    /// One character, U+0000 to U+00FF, for each byte.
    Binary,
}

impl Encoding {
    /// Bytes that can be read so that the encoded text stays whole within the output's bound.
    fn most(self, output: usize) -> usize {
        let room = output.saturating_sub(MARKER);
        match self {
            Self::Utf8 => MAX_READ,
            Self::Base64 => MAX_READ.min(room / 4 * 3),
            Self::Binary => MAX_READ.min(room / 2),
        }
    }
}

impl Tool for Args {
    fn run(&self, context: &Context) -> Result<Outcome, ToolFault> {
        run(self, context)
    }
}

impl Checked for Args {
    type Raw = Self;

    fn check(args: Self) -> Result<Self, String> {
        Ok(args)
    }
}

fn run(args: &Args, context: &Context) -> Result<Outcome, ToolFault> {
    let place = context.locate(&args.path)?;
    let (file, about) = place.open_file(OFlag::empty())?;
    let limit = args.max_size.unwrap_or(MAX_READ).min(args.encoding.most(context.max_output));
    let mut bytes = Vec::new();
    let more = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    let read = file.take(more).read_to_end(&mut bytes);
    read.map_err(|cause| ToolFault::from_io(&place.shown, "read it", cause))?;
    let cut = bytes.len() > limit;
    bytes.truncate(limit);
    let (mut output, mut truncated) = match args.encoding {
        Encoding::Utf8 => text(&place.shown, &bytes, cut)?,
        Encoding::Base64 => (STANDARD.encode(&bytes), false),
        Encoding::Binary => (bytes.iter().copied().map(char::from).collect(), false),
    };
    if cut {
        truncated = true;
        output.push_str(&format!(
            "\n[... cut: the first {} of {} bytes are shown ...]",
            bytes.len(),
            about.len()
        ));
    }
    let read = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    Ok(Outcome::done(output)
        .with("path", place.shown.as_str())
        .with("size", about.len())
        .with("read", read)
        .with("truncated", truncated))
}

/// Text as it is shown, and whether lines of it were cut.
fn text(path: &str, bytes: &[u8], cut: bool) -> Result<(String, bool), ToolFault> {
    let hint = "; read it with encoding base64 or binary";
    let not_text = || ToolFault::NotText { path: path.to_owned(), hint };
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        // The bound may have split the last character.
        Err(wrong) if cut && wrong.error_len().is_none() => {
            let whole = bytes.get(..wrong.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(whole).map_err(|_| not_text())?
        }
        Err(_) => return Err(not_text()),
    };
    if text.contains('\0') {
        return Err(not_text());
    }
    Ok(shape(text))
}

fn shape(text: &str) -> (String, bool) {
    let mut shown = String::with_capacity(text.len());
    let mut truncated = false;
    for line in text.split_inclusive('\n').take(SHOWN_LINES) {
        let (body, end) = line.strip_suffix('\n').map_or((line, ""), |body| (body, "\n"));
        let body = clip_line(body, SHOWN_CHARS);
        truncated |= matches!(body, std::borrow::Cow::Owned(_));
        shown.push_str(&body);
        shown.push_str(end);
    }
    let all = lines(text.as_bytes());
    if all > u64::try_from(SHOWN_LINES).unwrap_or(u64::MAX) {
        truncated = true;
        shown.push_str(&format!("[... cut: the first {SHOWN_LINES} of {all} lines are shown ...]"));
    }
    (shown, truncated)
}
