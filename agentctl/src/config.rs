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
    /// Check a configuration file; every mistake is shown at once
    Check {
        /// The file
        file: PathBuf,
    },
}

/// Checks a file. What the program says is its own; its exit status is ours.
pub(crate) fn check(app: &App, file: &Path) -> Outcome {
    let arguments = [OsStr::new("--check"), OsStr::new("--config"), file.as_os_str()];
    let output = sibling::run(PROGRAM, &arguments)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    let said = [text(&output.stdout), text(&output.stderr)].into_iter().filter(|part| !part.is_empty());
    let said = said.collect::<Vec<_>>().join("\n");
    if output.status.success() {
        let sentence = if said.is_empty() { format!("{} is valid", file.display()) } else { said };
        return Ok(app.out.done(json!({ "file": file }), &sentence)?);
    }
    if app.out.json {
        let mistakes: Vec<&str> = said.lines().collect();
        app.out.json_line(&json!({
            "ok": false,
            "error": { "type": "configuration", "message": said },
            "file": file,
            "mistakes": mistakes,
        }))?;
    } else {
        app.out.remark(&said);
    }
    let code = output.status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(CONFIGURATION);
    Ok(ExitCode::from(code))
}
