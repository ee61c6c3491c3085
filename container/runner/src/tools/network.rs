//! A jail has no network. Programs that fetch are told by their environment to give up at once, and the output of one that tried says
//! why it failed.

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

/// The sentence for a program that failed for want of a network.
pub const SENTENCE: &str = "[this jail has no network by design; use web_fetch or web_search for pages, and have packages installed on the \
     machine or put into the workspace by the person]";

/// Phrases of programs that found no network, in lower case.
const PHRASES: [&str; 15] = [
    "address family not supported",
    "could not resolve",
    "couldn't resolve",
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
    "enotfound",
    "dial tcp: lookup",
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
            "npm error code EAI_AGAIN\nnpm error request to https://registry.npmjs.org/x failed",
            "WARNING: ... NewConnectionError: Failed to establish a new connection: [Errno -3]",
            "E: Temporary failure resolving 'deb.debian.org'",
        ] {
            assert!(is_missing(said.as_bytes()), "{said}");
        }
        for said in ["", "error: test failed", "resolved 3 packages"] {
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
