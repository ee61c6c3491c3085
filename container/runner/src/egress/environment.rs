//! The variables by which programs find the way out: the proxy's address, and the file of the authority to be believed.

use super::proxy::PORT;
use runner::tools::network;
use std::path::Path;

/// Names under which programs look for the proxy.
const PROXY: [&str; 6] =
    ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "npm_config_proxy", "npm_config_https_proxy"];
/// Names under which programs look for the authorities: OpenSSL, requests, pip, curl, git, cargo, Node, npm and others.
const AUTHORITY: [&str; 11] = [
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "PIP_CERT",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "CARGO_HTTP_CAINFO",
    "NODE_EXTRA_CA_CERTS",
    "npm_config_cafile",
    "AWS_CA_BUNDLE",
    "DENO_CERT",
    "NIX_SSL_CERT_FILE",
];
/// The host's own services of the jail are not asked for by the proxy. Node's `fetch` reads the proxy only where it is told to, and
/// programs wait for longer than by themselves, since a person may be asked.
const OTHERS: [(&str, &str); 9] = [
    ("NO_PROXY", "127.0.0.1,localhost,::1"),
    ("no_proxy", "127.0.0.1,localhost,::1"),
    ("NODE_USE_ENV_PROXY", "1"),
    ("PIP_DEFAULT_TIMEOUT", "600"),
    ("npm_config_fetch_timeout", "600000"),
    ("CARGO_HTTP_TIMEOUT", "600"),
    ("CARGO_NET_GIT_FETCH_WITH_CLI", "true"),
    ("UV_HTTP_TIMEOUT", "600"),
    ("UV_NATIVE_TLS", "true"),
];

/// The host and port of the proxy.
pub(crate) fn address() -> String {
    format!("127.0.0.1:{PORT}")
}

/// The variables, with the authority's certificate in this file.
pub(crate) fn environment(authority: &Path) -> Vec<(&'static str, String)> {
    let address = format!("http://{}", address());
    let authority = authority.display().to_string();
    let proxy = PROXY.iter().map(|name| (*name, address.clone()));
    let authorities = AUTHORITY.iter().map(|name| (*name, authority.clone()));
    proxy.chain(authorities).chain(OTHERS.map(|(name, value)| (name, value.to_owned()))).collect()
}

/// The variables of programs that fetch: to give up at once, or to go by the way out, where `authority` is to be believed.
pub(crate) fn ways(authority: Option<&Path>) -> Vec<(&'static str, String)> {
    let known = network::ENVIRONMENT.map(|(name, value)| (name, value.to_owned())).into_iter();
    match authority {
        None => known.collect(),
        Some(authority) => {
            let mut variables = environment(authority);
            variables.extend(known.filter(|(name, _)| holds_in_both(name)));
            variables
        }
    }
}

/// Returns true if a variable of jails without a way out holds in one with a way out too: it bounds neither tries nor times.
fn holds_in_both(name: &str) -> bool {
    !["CARGO_NET_RETRY", "PIP_RETRIES", "npm_config_fetch_retries"].contains(&name)
        && !OTHERS.iter().any(|(other, _)| *other == name)
}
