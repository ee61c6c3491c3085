//! The limits of a message, and the rates.

use super::refusal;
use super::web::Reply;
use serde_json::Value;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Characters of a text, of a section, of a caption and of a value.
const TEXT: usize = 4000;
const SECTION: usize = 3000;
const CAPTION: usize = 75;
const VALUE: usize = 2000;
/// Blocks of a message.
const BLOCKS: usize = 50;

/// Checks the text, the blocks and the metadata of a message, and gives the word of the refusal.
pub(super) fn message(arguments: &Value) -> Result<(), &'static str> {
    let text = arguments["text"].as_str().unwrap_or_default();
    let blocks = arguments["blocks"].as_array().map_or(&[][..], Vec::as_slice);
    if text.trim().is_empty() && blocks.is_empty() {
        return Err("no_text");
    }
    if text.chars().count() > TEXT {
        return Err("msg_too_long");
    }
    if blocks.len() > BLOCKS || !blocks.iter().all(is_block) {
        return Err("invalid_blocks");
    }
    let metadata = &arguments["metadata"];
    let whole = metadata["event_type"].is_string() && metadata["event_payload"].is_object();
    if !metadata.is_null() && !whole {
        return Err("invalid_metadata_format");
    }
    Ok(())
}

fn is_block(block: &Value) -> bool {
    let within = |value: &Value, most: usize| {
        value.as_str().is_some_and(|text| !text.is_empty() && text.chars().count() <= most)
    };
    match block["type"].as_str() {
        Some("section") => within(&block["text"]["text"], SECTION),
        Some("actions") => block["elements"].as_array().is_some_and(|elements| {
            let is_button = |one: &Value| {
                one["type"] == "button"
                    && within(&one["text"]["text"], CAPTION)
                    && within(&one["value"], VALUE)
                    && within(&one["action_id"], 255)
            };
            (1..=25).contains(&elements.len()) && elements.iter().all(is_button)
        }),
        _ => false,
    }
}

/// The reply to too many.
pub(super) fn too_many(seconds: u64) -> Reply {
    Reply { status: 429, retry_after: Some(seconds), ..refusal("ratelimited") }
}

/// The rates: about one message a second in a channel, of which three may come at once, and 50 edits a minute.
#[derive(Default)]
pub(super) struct Rates {
    posted: HashMap<String, Vec<Instant>>,
    updated: Vec<Instant>,
}

fn within(times: &[Instant], span: u64) -> usize {
    times.iter().filter(|at| at.elapsed() < Duration::from_secs(span)).count()
}

impl Rates {
    /// Counts a message, or gives the seconds after which it may be sent.
    pub(super) fn post(&mut self, channel: &str) -> Result<(), u64> {
        let times = self.posted.entry(channel.to_owned()).or_default();
        if within(times, 3) >= 4 {
            return Err(1);
        }
        times.push(Instant::now());
        Ok(())
    }

    /// Counts an edit, or gives the seconds after which it may be made.
    pub(super) fn update(&mut self) -> Result<(), u64> {
        if within(&self.updated, 60) >= 50 {
            return Err(10);
        }
        self.updated.push(Instant::now());
        Ok(())
    }
}
