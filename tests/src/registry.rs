//! A server over TLS that programs in jails fetch from: a script, on an address of this machine that no program takes for its own
//! jail's.

use crate::{Host, Setup};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// An address of this machine that no program takes for its own jail's.
pub const ADDRESS: &str = "127.0.0.2";

/// A registry, which ends with the test.
#[derive(Debug)]
pub struct Registry {
    child: Child,
    /// Where it is served over TLS.
    pub port: u16,
    /// Where it is served without.
    pub plain: u16,
    /// A line for each request.
    asked: Arc<Mutex<Vec<String>>>,
    folder: tempfile::TempDir,
    /// The name that its certificate bears.
    name: &'static str,
}

impl Drop for Registry {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Registry {
    /// The registry of packages.
    #[must_use]
    pub fn start() -> Self {
        Self::at(ADDRESS, ADDRESS)
    }

    /// One with a certificate for this name, at this address.
    #[must_use]
    pub fn at(name: &'static str, address: &str) -> Self {
        Self::of("functional/registry.py", name, address)
    }

    /// The server of this script with a certificate for this name, at this address.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the server that programs in jails fetch from")]
    pub fn of(script: &str, name: &'static str, address: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let made = rcgen::generate_simple_self_signed([name.to_owned()]).expect("a certificate");
        let (certificate, key) = (folder.path().join("certificate.pem"), folder.path().join("key.pem"));
        fs::write(&certificate, made.cert.pem()).expect("the certificate");
        fs::write(&key, made.signing_key.serialize_pem()).expect("the key");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(script);
        let mut command = Command::new("python3");
        command.arg(script).arg(address).args([&certificate, &key]).arg(folder.path());
        let mut child = command.stdout(Stdio::piped()).spawn().expect("python3");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let ports = lines.next().and_then(Result::ok).unwrap_or_default();
        let mut ports = ports.split(' ').map(|port| port.parse().expect("its port"));
        let (port, plain) = (ports.next().expect("its port"), ports.next().unwrap_or_default());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&asked);
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                heard.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            }
        });
        Self { child, port, plain, asked, folder, name }
    }

    /// Its certificate, in PEM.
    #[must_use]
    pub fn certificate(&self) -> String {
        fs::read_to_string(self.folder.path().join("certificate.pem")).expect("the certificate")
    }

    /// Its requests so far, each `METHOD PATH` and the body.
    #[must_use]
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// An address of it.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("https://{}:{}{path}", self.name, self.port)
    }

    /// A host whose default agent has a way out, with these further lines in its `network`.
    #[must_use]
    pub fn host(&self, network: &str) -> Host {
        let authorities = self.folder.path().join("certificate.pem");
        let config = format!(
            "[agent.default]\nprofile = \"standard\"\n[agent.default.network]\nmode = \"proxy\"\n{network}\n\
             [egress]\nauthorities_file = \"{}\"\nprivate_hosts = [\"{}:{}\"]\n",
            authorities.display(),
            self.name,
            self.port
        );
        Setup::default().config(&config).start()
    }

    /// The same, and the list of the agent has the registry.
    #[must_use]
    pub fn listed(&self) -> Host {
        self.host(&format!("allow = [\"{ADDRESS}:{}\"]", self.port))
    }
}
