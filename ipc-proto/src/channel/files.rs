//! Files on their way in and out. Router holds them; the process of a platform and the jail get them in pieces.

use crate::content::MEDIA_BOUND;
use crate::{Blob, Text};
use serde::{Deserialize, Serialize};

/// Bytes of one file that comes in.
pub const FILE_BYTES: u64 = 20 * 1024 * 1024;
/// Bytes of all files of one message.
pub const MESSAGE_BYTES: u64 = 50 * 1024 * 1024;
/// Bytes of one piece of a file.
pub const FILE_PIECE: usize = 256 * 1024;
/// Files of one message.
pub const FILES: usize = 8;
/// Bytes of one file that goes out.
pub const SENT_BYTES: usize = MEDIA_BOUND;
/// Bytes of the caption of a file that goes out.
pub const CAPTION: usize = 1024;

/// A part of a file that a platform's process stores.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilePart {
    /// A random number of the file, the same for all its parts.
    pub upload: u64,
    /// The place of the part in the file, bytes.
    pub from: u64,
    /// The part.
    pub bytes: Blob<FILE_PIECE>,
    /// True for the last part.
    pub last: bool,
}

/// A file of a turn's message, as the jail gets it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboxFile {
    /// SHA-256 of its bytes.
    pub digest: [u8; 32],
    /// Its cleaned name, which is one segment of a path.
    pub name: Text<255>,
    /// Its size, bytes.
    pub size: u64,
}

/// The place of a file in the jail, below the workspace.
#[must_use]
pub fn inbox_path(digest: &[u8; 32], name: &str) -> String {
    let hex = digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    format!("inbox/{hex}/{name}")
}

/// The longest cleaned name, bytes: beside the folder of its digest there is room for it in any path.
const NAME: usize = 128;

/// A name as one segment of a path: what stands before the last slash of either kind is cut, as are dots at the beginning, and
/// nothing is left that is not seen as itself. A name of which nothing is left is `file`.
#[must_use]
pub fn clean_name(name: &str) -> Text<255> {
    let base = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let seen = |c: &char| !c.is_control() && !is_hidden(*c);
    let kept: String = base.chars().filter(seen).map(|c| if is_odd(c) { '_' } else { c }).collect();
    let kept = kept.trim().trim_start_matches('.').trim();
    let end = kept.floor_char_boundary(NAME);
    match kept.get(..end).unwrap_or_default().trim_end() {
        "" => Text::clip("file"),
        name => Text::clip(name),
    }
}

/// A character that turns or joins text, or has no width.
const fn is_hidden(c: char) -> bool {
    matches!(
        c,
        '\u{00ad}' | '\u{061c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
    )
}

/// A character that shells and Markdown read as something else.
const fn is_odd(c: char) -> bool {
    matches!(c, '`' | '"' | '\'' | '$' | '*' | '?' | '<' | '>' | '|' | ':' | ';' | '&' | '[' | ']')
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds P11-51.
    #[test]
    fn a_name_is_one_segment_of_a_path_and_seen_as_itself() {
        for (given, cleaned) in [
            ("report.pdf", "report.pdf"),
            ("../../etc/passwd", "passwd"),
            ("..\\..\\.bashrc\u{1b}[2J", "bashrc_2J"),
            ("a\nb\u{202e}fdp.exe", "abfdp.exe"),
            ("`rm -rf ~`.md", "_rm -rf ~_.md"),
            ("..", "file"),
            ("", "file"),
            ("dir/", "file"),
        ] {
            assert_eq!(clean_name(given).as_str(), cleaned, "{given:?}");
        }
        let long = clean_name(&"\u{e9}".repeat(300));
        assert_eq!(long.len(), NAME);
    }
}
