//! A server over TLS on this machine, for programs in jails and beside them.

use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tests::ADDRESS;

/// A server, which ends with the value.
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
    folder: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Server {
    /// The server of this script of the tests.
    pub(crate) fn start(script: &str) -> io::Result<Self> {
        Self::serving(script, tempfile::tempdir()?)
    }

    /// The same, and it serves what lies in a folder.
    pub(crate) fn serving(script: &str, folder: tempfile::TempDir) -> io::Result<Self> {
        let made = rcgen::generate_simple_self_signed([ADDRESS.to_owned()]).map_err(io::Error::other)?;
        let (certificate, key) = (folder.path().join("certificate.pem"), folder.path().join("key.pem"));
        std::fs::write(&certificate, made.cert.pem())?;
        std::fs::write(&key, made.signing_key.serialize_pem())?;
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(script);
        let mut command = Command::new("python3");
        command.arg(script).arg(ADDRESS).args([&certificate, &key]).arg(folder.path());
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut lines = BufReader::new(output).lines();
        let ports = lines.next().ok_or(io::ErrorKind::UnexpectedEof)??;
        // It says a line for each request, and must not wait for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        let port = ports.split(' ').next().and_then(|port| port.parse().ok());
        let port = port.ok_or_else(|| io::Error::other("the server has no port"))?;
        Ok(Self { child, port, folder })
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("https://{ADDRESS}:{}{path}", self.port)
    }

    pub(crate) fn certificate(&self) -> PathBuf {
        self.folder.path().join("certificate.pem")
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The lines of a configuration by which a host believes and reaches it.
    pub(crate) fn believed(&self) -> String {
        format!(
            "[egress]\nauthorities_file = \"{}\"\nprivate_hosts = [\"{ADDRESS}:{}\"]\n",
            self.certificate().display(),
            self.port
        )
    }
}
