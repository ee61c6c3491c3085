//! A jail has no network. Programs that fetch are told by their environment to give up at once, and the output of one that tried says
//! why it failed.

use super::way_out::WayOut;

/// Variables that keep package managers and git from waiting and trying again.
pub const ENVIRONMENT: [(&str, &str); 10] = [
    ("CARGO_NET_RETRY", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("PIP_DEFAULT_TIMEOUT", "1"),
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
    ("PIP_RETRIES", "0"),
    ("npm_config_audit", "false"),
    ("npm_config_fetch_retries", "0"),
    ("npm_config_fetch_timeout", "1000"),
    ("npm_config_fund", "false"),
    ("npm_config_update_notifier", "false"),
];

/// The variables of programs that fetch: to give up at once, or to go by the way out.
#[must_use]
pub fn variables(way_out: Option<&WayOut>) -> Vec<(String, String)> {
    match way_out {
        Some(way_out) => way_out.variables.clone(),
        None => ENVIRONMENT.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
    }
}

/// The sentence for a program that failed for want of a network.
pub const SENTENCE: &str = "[this jail has no network by design; for pages use web_fetch or\n web_search; the person can install packages on the machine\n or put them into the workspace]";

/// Phrases of programs that found no network, in lower case. Each has enough words that no other failure has them: builds say
/// "could not resolve" of modules, and `FileNotFoundError` contains "enotfound". pip does not name the network if it may not try
/// again; in a jail nothing else keeps a package from it.
const PHRASES: [&str; 17] = [
    "address family not supported",
    "could not resolve host",
    "couldn't resolve host",
    "couldn't connect to server",
    "temporary failure resolving",
    "temporary failure in name resolution",
    "unable to resolve host",
    "name or service not known",
    "no address associated with hostname",
    "failed to lookup address",
    "failed to establish a new connection",
    "network is unreachable",
    "eai_again",
    "getaddrinfo enotfound",
    "dial tcp: lookup",
    "no matching distribution found for",
    "error: externally-managed-environment",
];

/// Bytes from the end of an output that are searched: the reason stands among the last lines.
const TAIL: usize = 8 * 1024;

/// Returns true if the end of an output says that there was no network.
#[must_use]
pub fn is_missing(output: &[u8]) -> bool {
    let tail = output.get(output.len().saturating_sub(TAIL)..).unwrap_or_default();
    let tail = String::from_utf8_lossy(tail).to_lowercase();
    PHRASES.iter().any(|phrase| tail.contains(phrase))
}

/// The end of an output that passes by in pieces.
#[derive(Debug, Default)]
pub struct Tail(Vec<u8>);

impl Tail {
    /// Adds a piece.
    pub fn push(&mut self, piece: &[u8]) {
        self.0.extend_from_slice(piece);
        let surplus = self.0.len().saturating_sub(TAIL);
        self.0.drain(..surplus);
    }

    /// The sentence for a program that ended with this status, if it found no network.
    #[must_use]
    pub fn explain(&self, status: u8) -> Option<&'static str> {
        (status != 0 && is_missing(&self.0)).then_some(SENTENCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds P1-42.
    #[test]
    fn what_programs_say_without_a_network_is_recognised() {
        for said in [
            "curl: (6) Could not resolve host: example.com",
            "fatal: unable to access 'https://x/': Could not resolve host: x",
            "ssh: Could not resolve hostname x: Temporary failure in name resolution",
            "npm error code EAI_AGAIN\nnpm error request to https://registry.npmjs.org/x failed",
            "npm error request to https://x/ failed, reason: getaddrinfo ENOTFOUND x",
            "WARNING: ... NewConnectionError: Failed to establish a new connection: [Errno -3]",
            "ERROR: Could not find a version that satisfies the requirement x (from versions: none)\n\
             ERROR: No matching distribution found for x",
            "error: externally-managed-environment\n\n× This environment is externally managed",
            "E: Temporary failure resolving 'deb.debian.org'",
        ] {
            assert!(is_missing(said.as_bytes()), "{said}");
        }
        for said in [
            "",
            "error: test failed",
            "resolved 3 packages",
            "FileNotFoundError: [Errno 2] No such file or directory: 'x'",
            "ModuleNotFoundError: No module named 'x'",
            "✘ [ERROR] Could not resolve \"./x\"",
            "npm error Could not resolve dependency: peer x@2",
        ] {
            assert!(!is_missing(said.as_bytes()), "{said}");
        }
    }

    // Holds P1-42.
    #[test]
    fn the_end_of_a_long_output_is_enough_and_success_needs_no_word() {
        let mut tail = Tail::default();
        tail.push(&vec![b'x'; 100_000]);
        tail.push(b"curl: (6) Could not res");
        tail.push(b"olve host: example.com\n");
        assert_eq!((tail.explain(6), tail.explain(0)), (Some(SENTENCE), None));
        tail.push(&vec![b'y'; 100_000]);
        assert_eq!(tail.explain(6), None, "it tried again elsewhere since");
    }
}
