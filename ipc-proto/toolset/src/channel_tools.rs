//! Name, description and schema of the tool that sends a file to the person who wrote by a messenger. The gate takes the file's bytes from
//! the jail and has router deliver them; nothing here reaches anything.

use crate::jail_tools::MAX_PATH;
use crate::spec::ToolSpec;
use serde_json::json;

/// The tool's name.
pub const SEND_FILE: &str = "send_file";
/// Bytes of a caption.
pub const MAX_CAPTION: usize = 1024;

/// The tools for messengers.
#[must_use]
pub fn specs() -> Vec<ToolSpec> {
    vec![ToolSpec {
        name: SEND_FILE,
        description: "Sends one file of the workspace, of at most 2 MiB, to the conversation that you answer. It is sent only if its \
            bytes have the digest that you name, so compute that last, with sha256sum. May need a person's approval.",
        schema: json!({
            "type": "object",
            "properties": {
                "path": {
                    "type": "string", "minLength": 1, "maxLength": MAX_PATH,
                    "description": "The file, relative to the workspace or absolute"
                },
                "sha256": {
                    "type": "string", "minLength": 64, "maxLength": 64,
                    "description": "SHA-256 of its bytes, 64 hexadecimal digits"
                },
                "caption": {"type": "string", "maxLength": MAX_CAPTION, "description": "A line that goes with it"},
            },
            "required": ["path", "sha256"],
            "additionalProperties": false,
        }),
        in_jail: false,
    }]
}
