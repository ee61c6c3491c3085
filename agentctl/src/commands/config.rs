//! `agentctl config check FILE`: asks the program that parses configuration for agentd. It needs no host.

use crate::app::{App, Outcome};
use crate::failure::CONFIGURATION;
use crate::sibling;
use serde_json::json;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The program that knows every key.
const PROGRAM: &str = "agentd-config";

/// The commands of `config`.
#[derive(clap::Subcommand)]
pub(crate) enum Config {
    /// Check a configuration file and show every mistake
    Check {
        /// The file
        file: PathBuf,
    },
}

/// Checks a file. The program prints for itself, and its exit status becomes this program's.
pub(crate) fn check(app: &App, file: &Path) -> Outcome {
    let arguments = [OsStr::new("--check"), OsStr::new("--config"), file.as_os_str()];
    let output = sibling::run(PROGRAM, &arguments)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    let output_text =
        [text(&output.stdout), text(&output.stderr)].into_iter().filter(|part| !part.is_empty());
    let output_text = output_text.collect::<Vec<_>>().join("\n");
    if output.status.success() {
        let sentence =
            if output_text.is_empty() { format!("{} is valid", file.display()) } else { output_text };
        return Ok(app.out.done(json!({ "file": file }), &sentence)?);
    }
    if app.out.json {
        let mistakes: Vec<&str> = output_text.lines().collect();
        app.out.json_line(&json!({
            "ok": false,
            "error": { "type": "configuration", "message": output_text },
            "file": file,
            "mistakes": mistakes,
        }))?;
    } else {
        app.out.remark(&output_text);
    }
    let code = output.status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(CONFIGURATION);
    Ok(ExitCode::from(code))
}
