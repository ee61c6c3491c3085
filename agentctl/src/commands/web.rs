//! `agentctl web check`: runs web's own program, without a host and a network. Addresses come as arguments; without any, cases
//! come as JSON lines on standard input and verdicts go as JSON lines to standard output, and this process reads neither.
//! `agentctl web allow` changes the configuration.

mod allow;

use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::sibling;
use allow::Allow;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::io::IsTerminal;
use std::process::ExitCode;

/// Web's program.
const PROGRAM: &str = "web";
const WORDS: [&str; 2] = ["--offline", "check"];

/// The commands of `web`.
#[derive(clap::Subcommand)]
pub(crate) enum Web {
    /// Check addresses without a host; without an address, those of JSON lines on standard input
    ///
    /// A line is {"url":…,"allow":[…],"resolve":{…},"redirect":[…]}, of which only the address is needed.
    Check {
        /// The addresses
        urls: Vec<String>,
        /// Judge them by this allow list; may be given again. By default every public host is allowed
        #[arg(long = "allow", value_name = "HOST", requires = "urls")]
        allow: Vec<String>,
    },
    /// Allow agents to fetch from a host: adds it to [web] allow of the configuration
    Allow(Allow),
}

/// Runs the command.
pub(crate) async fn run(app: &App, web: Web) -> Outcome {
    let (urls, allow) = match web {
        Web::Check { urls, allow } => (urls, allow),
        Web::Allow(arguments) => return allow::allow(app, arguments).await,
    };
    if !urls.is_empty() {
        return check(app, &urls, &allow);
    }
    if std::io::stdin().is_terminal() {
        let why = "no address: agentctl web check https://example.org/; or JSON lines on standard input";
        return Err(Failure::Usage(why.to_owned()));
    }
    sibling::stream(PROGRAM, &WORDS.map(OsStr::new))
}

/// Judges the addresses. An address that is denied makes the exit status 1.
fn check(app: &App, urls: &[String], allow: &[String]) -> Outcome {
    let output = sibling::fed(PROGRAM, &WORDS.map(OsStr::new), cases(urls, allow).into_bytes())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let verdicts: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    if verdicts.len() != urls.len() {
        let why = "it did not judge every address".to_owned();
        return Err(Failure::Program { name: PROGRAM, why });
    }
    let field = |verdict: &Value, name: &str| {
        verdict.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let denied = verdicts.iter().any(|verdict| field(verdict, "verdict") != "allow");
    if app.out.json {
        let each = urls.iter().zip(&verdicts).map(|(url, verdict)| {
            json!({ "url": url, "verdict": field(verdict, "verdict"), "reason": field(verdict, "reason") })
        });
        app.out.document(json!({ "verdicts": each.collect::<Vec<_>>() }))?;
    } else {
        let rows = urls
            .iter()
            .zip(&verdicts)
            .map(|(url, verdict)| vec![url.clone(), field(verdict, "verdict"), field(verdict, "reason")]);
        app.out.table(&["ADDRESS", "VERDICT", "REASON"], rows.collect())?;
    }
    Ok(ExitCode::from(u8::from(denied)))
}

/// The addresses as the program's lines.
fn cases(urls: &[String], allow: &[String]) -> String {
    let case = |url: &String| {
        if allow.is_empty() { json!({ "url": url }) } else { json!({ "url": url, "allow": allow }) }
    };
    urls.iter().map(|url| format!("{}\n", case(url))).collect()
}

#[cfg(test)]
mod tests {
    use super::cases;

    #[test]
    fn an_address_is_judged_by_the_given_list_and_else_as_public() {
        let url = ["https://a.test/\"x".to_owned()];
        assert_eq!(cases(&url, &[]), "{\"url\":\"https://a.test/\\\"x\"}\n");
        let allow = ["*.test".to_owned()];
        assert_eq!(cases(&url, &allow), "{\"url\":\"https://a.test/\\\"x\",\"allow\":[\"*.test\"]}\n");
    }
}
