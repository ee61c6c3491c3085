//! Files at the addresses that a platform gives: each is asked for at the platform's own servers alone.

use crate::api::{Api, request};
use crate::lost::Lost;
use crate::platform::NoFile;
use crate::source::Source;
use ipc_proto::channel::Missed;
use ipc_proto::credproxy::{CredError, Placement, Verb};

impl Api {
    /// Opens a file at an address that the platform gave, if that is on one of these servers, each a scheme and a host. No redirect is
    /// followed.
    ///
    /// # Errors
    /// [`NoFile`]
    pub async fn file(
        &self,
        url: &str,
        servers: &[&str],
        headers: &[(&str, &str)],
        secret: Option<Placement>,
    ) -> Result<Source, NoFile> {
        if !servers.iter().any(|server| is_on(url, server)) {
            return Err(NoFile::Missed(Missed::Gone));
        }
        let asked = request(Verb::Get, url, headers, Vec::new(), secret).map_err(|lost| no_reply(&lost))?;
        let (head, pull) = self.begin(asked).await.map_err(|lost| no_reply(&lost))?;
        of_status(head.status).map(|()| Source::Body(pull))
    }
}

/// The scheme and the host of an address, up to its path.
#[must_use]
pub fn origin(url: &str) -> &str {
    let host = url.find("://").map_or(0, |at| at.saturating_add(3));
    let path = url.get(host..).and_then(|rest| rest.find('/'));
    path.and_then(|path| url.get(..host.saturating_add(path))).unwrap_or(url)
}

/// Returns true if an address has this scheme and this host, and a path.
fn is_on(url: &str, server: &str) -> bool {
    url.strip_prefix(server).is_some_and(|path| path.starts_with('/'))
}

/// Reads what the status of a reply says of its file. A redirect leads elsewhere, where nothing is fetched.
///
/// # Errors
/// [`NoFile`] for every status but 200.
pub const fn of_status(status: u16) -> Result<(), NoFile> {
    match status {
        200 => Ok(()),
        408 | 425 | 429 | 500.. => Err(NoFile::Later),
        413 => Err(NoFile::Missed(Missed::TooLarge)),
        _ => Err(NoFile::Missed(Missed::Gone)),
    }
}

/// The reason for which a request without a reply gives no file.
#[must_use]
pub const fn no_reply(lost: &Lost) -> NoFile {
    match lost {
        Lost::Unsent(CredError::BadUrl | CredError::NotBound) => NoFile::Missed(Missed::Gone),
        Lost::Unsent(_) | Lost::NotAsked | Lost::Unknown => NoFile::Later,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SERVER: &str = "https://cdn.a.test";

    // Holds P11-55.
    #[test]
    fn a_file_is_asked_for_at_the_platforms_own_server_alone() {
        assert!(
            is_on("https://cdn.a.test/x?y", SERVER) && is_on("http://127.0.0.1:9/x", "http://127.0.0.1:9")
        );
        for url in [
            "",
            "https://cdn.a.test",
            "http://cdn.a.test/x",
            "https://cdn.a.test.evil.test/x",
            "https://cdn.a.test:8443/x",
            "https://cdn.a.test@evil.test/x",
            "https://user@cdn.a.test/x",
            "https://evil.test/https://cdn.a.test/x",
            "//cdn.a.test/x",
            "https://cdn.a.test\\@evil.test/x",
        ] {
            assert!(!is_on(url, SERVER), "{url}");
        }
    }

    #[test]
    fn an_origin_is_an_address_without_its_path() {
        for (url, expected) in [
            ("https://a.test/api/x", "https://a.test"),
            ("http://127.0.0.1:80", "http://127.0.0.1:80"),
            ("http://127.0.0.1:80/", "http://127.0.0.1:80"),
            ("a/b", "a"),
            ("", ""),
        ] {
            assert_eq!(origin(url), expected);
        }
    }

    // Holds P11-55.
    #[test]
    fn a_redirect_gives_no_file_and_a_busy_server_is_asked_again() {
        assert_eq!(of_status(200), Ok(()));
        for status in [204, 301, 302, 307, 308, 401, 403, 404, 410] {
            assert_eq!(of_status(status), Err(NoFile::Missed(Missed::Gone)), "{status}");
        }
        assert_eq!([of_status(429), of_status(503)], [Err(NoFile::Later); 2]);
    }

    proptest! {
        #[test]
        fn no_address_stops_the_reader(url in "\\PC{0,24}(://)?\\PC{0,24}/?") {
            prop_assert!(url.starts_with(origin(&url)));
        }
    }
}
