//! Names, descriptions and schemas of the six tools in the jail. Depends on `serde_json` alone, so that the gate
//! can check by the same rules; holds data and must never touch a file.

use crate::spec::ToolSpec;
use serde_json::{Value, json};

/// Bytes a path argument may have (`PATH_MAX` of the kernel, less its NUL).
pub const MAX_PATH: usize = 4095;
/// Bytes that `read` reads at most.
pub const MAX_READ: usize = 1_000_000;
/// Bytes of a file that `write` and `edit` make at most.
pub const MAX_WRITE: usize = 10_000_000;
/// Edits in one call.
pub const MAX_EDITS: usize = 100;
/// Paths that `glob` answers at most.
pub const MAX_PATHS: usize = 1000;
/// Hits that `grep` answers at most.
pub const MAX_HITS: usize = 500;
/// Lines around a hit at most.
pub const MAX_CONTEXT: usize = 20;
/// Bytes of a command; the kernel takes 128 KiB in one argument.
pub const MAX_COMMAND: usize = 100_000;
/// Milliseconds a command gets if it does not say.
pub const COMMAND_MS: u64 = 120_000;
/// Milliseconds a command gets at most.
pub const MAX_COMMAND_MS: u64 = 600_000;

/// The names of the tools that run in the jail.
pub const NAMES: [&str; 6] = ["read", "write", "edit", "glob", "grep", "bash"];
/// Those of them that write no file. A configuration can call another tool's effect `read`, and cannot make it so.
pub const READERS: [&str; 3] = ["read", "glob", "grep"];

/// The tools that run in the jail.
#[must_use]
pub fn specs() -> Vec<ToolSpec> {
    vec![read(), write(), edit(), glob(), grep(), bash()]
}

const fn tool(name: &'static str, description: &'static str, schema: Value) -> ToolSpec {
    ToolSpec { name, description, schema, in_jail: true }
}

fn path(description: &str) -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": MAX_PATH, "description": description})
}

const FILE: &str = "The file, relative to the workspace or absolute";

fn read() -> ToolSpec {
    tool(
        "read",
        "Reads a file of the workspace or of a read-only root such as /skills. Text is shown exactly as it is, up to \
         2000 lines of 2000 characters; whatever is cut is marked. For a part further on use grep, or bash with sed -n.",
        json!({
            "type": "object",
            "properties": {
                "path": path(FILE),
                "encoding": {
                    "type": "string", "enum": ["utf8", "base64", "binary"], "default": "utf8",
                    "description": "utf8 for text; base64 or binary (one character per byte) for anything else"
                },
                "maxSize": {
                    "type": "integer", "minimum": 1, "maximum": MAX_READ,
                    "description": "Bytes to read at most; the rest is cut and marked"
                },
            },
            "required": ["path"],
            "additionalProperties": false,
        }),
    )
}

fn write() -> ToolSpec {
    tool(
        "write",
        "Writes a whole file in the workspace, replacing it at once: another reader sees the old file or the new one. \
         To change part of a file use edit.",
        json!({
            "type": "object",
            "properties": {
                "path": path(FILE),
                "content": {
                    "type": "string", "maxLength": MAX_WRITE / 3 * 4 + 4,
                    "description": "The whole content of the file, at most 10 MB"
                },
                "encoding": {
                    "type": "string", "enum": ["utf8", "base64"], "default": "utf8",
                    "description": "How content is written here"
                },
                "createDirs": {"type": "boolean", "default": true, "description": "Make missing folders"},
                "overwrite": {"type": "boolean", "default": true, "description": "Replace a file that exists"},
            },
            "required": ["path", "content"],
            "additionalProperties": false,
        }),
    )
}

fn edit() -> ToolSpec {
    tool(
        "edit",
        "Changes parts of a text file in the workspace. Each oldText must occur exactly once, white space included; \
         the edits are applied in order, each to the result of those before it. If one does not fit, nothing is changed.",
        json!({
            "type": "object",
            "properties": {
                "path": path(FILE),
                "edits": {
                    "type": "array", "minItems": 1, "maxItems": MAX_EDITS,
                    "items": {
                        "type": "object",
                        "properties": {
                            "oldText": {
                                "type": "string", "minLength": 1, "maxLength": MAX_WRITE,
                                "description": "Text as it stands in the file, long enough to occur only once"
                            },
                            "newText": {
                                "type": "string", "maxLength": MAX_WRITE,
                                "description": "What takes its place; empty to remove it"
                            },
                        },
                        "required": ["oldText", "newText"],
                        "additionalProperties": false,
                    },
                },
            },
            "required": ["path", "edits"],
            "additionalProperties": false,
        }),
    )
}

fn glob() -> ToolSpec {
    tool(
        "glob",
        "Lists files and folders (shown with a trailing /) whose path fits a pattern, at most 1000, in order of name. \
         `*` stays within one folder, `**/` crosses any number, `{a,b}` is either: `*` lists a folder, `**/*.md` finds \
         every Markdown file. .git and what a .gitignore names are left out; symbolic links are listed, not followed.",
        json!({
            "type": "object",
            "properties": {
                "pattern": {
                    "type": "string", "minLength": 1, "maxLength": 1000,
                    "description": "The pattern, relative to path"
                },
                "path": path("The folder to look in; the workspace if left out"),
            },
            "required": ["pattern"],
            "additionalProperties": false,
        }),
    )
}

fn grep() -> ToolSpec {
    tool(
        "grep",
        "Searches the lines of text files for a regular expression (no look-around, no back-references) and answers \
         file:line:text, at most 500 hits. Files over 10 MB, binary files, .git and what a .gitignore names are left out.",
        json!({
            "type": "object",
            "properties": {
                "pattern": {
                    "type": "string", "minLength": 1, "maxLength": 1000, "description": "The regular expression"
                },
                "path": path("The file or folder to search; the workspace if left out"),
                "glob": {
                    "type": "string", "minLength": 1, "maxLength": 1000,
                    "description": "Search only files that fit, such as *.rs; with no slash it fits in every folder"
                },
                "ignoreCase": {"type": "boolean", "default": false, "description": "Take a and A as the same"},
                "context": {
                    "type": "integer", "minimum": 0, "maximum": MAX_CONTEXT, "default": 0,
                    "description": "Lines to show before and after each hit"
                },
                "maxResults": {
                    "type": "integer", "minimum": 1, "maximum": MAX_HITS, "default": MAX_HITS,
                    "description": "Hits to answer at most"
                },
            },
            "required": ["pattern"],
            "additionalProperties": false,
        }),
    )
}

fn bash() -> ToolSpec {
    tool(
        "bash",
        "Runs a command with bash in the workspace: no network, no input, a small fixed environment. Answers standard \
         output, then standard error, then the exit code unless it is 0. Everything the command started ends with it, \
         background jobs included. Of very long output the beginning and the end are kept.",
        json!({
            "type": "object",
            "properties": {
                "command": {
                    "type": "string", "minLength": 1, "maxLength": MAX_COMMAND, "description": "The command line"
                },
                "cwd": path("The folder to run in; the workspace if left out"),
                "env": {
                    "type": "object", "maxProperties": 100,
                    "additionalProperties": {"type": "string", "maxLength": 32_768},
                    "description": "Variables to add to the environment"
                },
                "timeout": {
                    "type": "integer", "minimum": 1, "maximum": MAX_COMMAND_MS, "default": COMMAND_MS,
                    "description": "Milliseconds after which it is ended with exit code 124; the turn's end comes first"
                },
            },
            "required": ["command"],
            "additionalProperties": false,
        }),
    )
}
