//! Hands an alert to a program of the operator's, outside the host and as the user who started this.

use serde_json::Value;
use std::io::Write;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The longest that a delivery may take.
const LONGEST: Duration = Duration::from_secs(30);
/// The pause between two looks at it.
const LOOK: Duration = Duration::from_millis(50);

/// The way by which alerts leave the host.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A command of the shell, which reads the alert.
    Command(String),
    /// An address that curl sends it to.
    Webhook(String),
}

impl Target {
    /// Hands an alert on.
    ///
    /// # Errors
    /// The reason why it was not, in words.
    pub(super) async fn deliver(&self, alert: &Value) -> Result<(), String> {
        let (program, words, input) = match self {
            Self::Command(command) => ("/bin/sh", ["-c", command.as_str()], format!("{alert}\n")),
            // The address, which may hold a key, is no argument that others could read.
            Self::Webhook(url) => ("curl", ["--config", "-"], curl_config(url, &alert.to_string())),
        };
        let mut child = start(program, &words).map_err(|error| format!("{program}: {error}"))?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that reads nothing may still have done its work: its status decides.
            let _ = stdin.write_all(input.as_bytes());
        }
        let status = ended(&mut child).await?;
        if status.success() { Ok(()) } else { Err(status.to_string()) }
    }
}

fn start(program: &str, words: &[&str]) -> std::io::Result<Child> {
    #[expect(clippy::disallowed_methods, reason = "the operator's own program, outside the host")]
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::null()).spawn()
}

/// Waits for its end; it is ended after [`LONGEST`].
async fn ended(child: &mut Child) -> Result<ExitStatus, String> {
    let until = Instant::now() + LONGEST;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if Instant::now() < until => tokio::time::sleep(LOOK).await,
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("it did not end within {} s", LONGEST.as_secs()));
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// The configuration that curl reads.
fn curl_config(url: &str, body: &str) -> String {
    let body = body.replace('\\', "\\\\").replace('"', "\\\"");
    format!(
        "url = \"{url}\"\nsilent\nshow-error\nfail\nproto = \"=http,https\"\nmax-time = 20\n\
         header = \"content-type: application/json\"\ndata-raw = \"{body}\"\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn deliver(target: &Target, alert: &Value) -> Result<(), String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(target.deliver(alert))
    }

    // Holds P8-65.
    #[test]
    fn a_command_reads_the_alert_and_its_status_says_if_it_was_handed_on() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("alert");
        let alert = json!({ "alert": "disk low: /var", "reason": "a \"quote\"" });
        let target = Target::Command(format!("cat > {}", file.display()));
        assert_eq!(deliver(&target, &alert), Ok(()));
        let read: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(read, alert);
        assert!(deliver(&Target::Command("exit 3".to_owned()), &alert).is_err_and(|why| why.contains('3')));
    }

    #[test]
    fn a_body_cannot_leave_its_quotes_in_the_configuration_of_curl() {
        let config = curl_config("https://a/b", &json!({ "text": "\"\nurl = \"file:///x" }).to_string());
        assert_eq!(config.lines().filter(|line| line.starts_with("url")).count(), 1, "{config}");
        assert!(
            config.ends_with("data-raw = \"{\\\"text\\\":\\\"\\\\\\\"\\\\nurl = \\\\\\\"file:///x\\\"}\"\n"),
            "{config}"
        );
    }
}
