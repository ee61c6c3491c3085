//! `agentctl config check`: asks the program that parses configuration for agentd. It needs no host.

use crate::app::{App, Outcome};
use crate::failure::CONFIGURATION;
use crate::{host, places, sibling};
use serde_json::json;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The program that knows every key.
const PROGRAM: &str = "agentd-config";
/// The configuration of the system's host.
const SYSTEM: &str = "/etc/cordon/cordon.toml";

/// The commands of `config`.
#[derive(clap::Subcommand)]
pub(crate) enum Config {
    /// Check a configuration file and show every mistake
    Check {
        /// The file; by default the one that the running host reads, else the usual one
        file: Option<PathBuf>,
    },
}

/// Checks a file: the named one, else the one that the running host reads, else the usual one.
pub(crate) async fn run(app: &App, config: Config) -> Outcome {
    let Config::Check { file } = config;
    let file = match file {
        Some(file) => file,
        None => match read_by_host(app).await {
            Some(read) => read,
            None if !usual().exists() => {
                let sentence = format!("{} is not there; the defaults apply", usual().display());
                return Ok(app.out.done(json!({ "file": null }), &sentence)?);
            }
            None => usual(),
        },
    };
    check(app, &file)
}

/// The configuration to change: the named one, else the one that the running host reads, else the usual one.
pub(crate) async fn file(app: &App, named: Option<PathBuf>) -> PathBuf {
    match named {
        Some(file) => file,
        None => read_by_host(app).await.unwrap_or_else(usual),
    }
}

/// The configuration that the running host reads; `None` if no host answers or it reads none.
async fn read_by_host(app: &App) -> Option<PathBuf> {
    host::status(app).await.ok().and_then(|host| host::config(&host))
}

/// The configuration that agentd reads by default: the system's if that is installed and this is root, else the user's own.
pub(crate) fn usual() -> PathBuf {
    if is_system() {
        return PathBuf::from(SYSTEM);
    }
    let folder = places::of_user("XDG_CONFIG_HOME", ".config");
    folder.unwrap_or_else(|| PathBuf::from("/cordon")).join("cordon.toml")
}

/// Returns true if the usual configuration is the system's.
pub(crate) fn is_system() -> bool {
    nix::unistd::geteuid().is_root() && Path::new(SYSTEM).parent().is_some_and(Path::is_dir)
}

/// Checks a file. The program prints for itself, and its exit status becomes this program's.
fn check(app: &App, file: &Path) -> Outcome {
    let arguments = [OsStr::new("--check"), OsStr::new("--config"), file.as_os_str()];
    let output = sibling::run(PROGRAM, &arguments)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    let output_text =
        [text(&output.stdout), text(&output.stderr)].into_iter().filter(|part| !part.is_empty());
    let output_text = output_text.collect::<Vec<_>>().join("\n");
    if output.status.success() {
        let sentence =
            if output_text.is_empty() { format!("{} is valid", file.display()) } else { output_text };
        return Ok(app.out.done(json!({ "file": file.to_string_lossy() }), &sentence)?);
    }
    if app.out.json {
        let mistakes: Vec<&str> = output_text.lines().collect();
        app.out.json_line(&json!({
            "ok": false,
            "error": { "type": "configuration", "message": output_text },
            "file": file.to_string_lossy(),
            "mistakes": mistakes,
        }))?;
    } else {
        app.out.remark(&output_text);
    }
    let code = output.status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(CONFIGURATION);
    Ok(ExitCode::from(code))
}
