//! The way out of jails: what one download brings through the jail's proxy, gate, egress and dialer, and the time that the way adds to
//! a request, beside the same client that asks the server directly.

use crate::figure::Figure;
use crate::person;
use crate::spread::Samples;
use std::io::{self, BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use tests::Host;

/// An address of this machine that no program takes for its own jail's.
const ADDRESS: &str = "127.0.0.2";
const ROUNDS: usize = 5;
/// Requests of one connection in a round.
const REQUESTS: usize = 50;

/// Its figures.
pub(crate) fn measure() -> io::Result<Vec<Figure>> {
    let server = Server::start()?;
    let host = person::host(&server.config())?;
    let (mut fast, mut direct_fast) = <(Samples, Samples)>::default();
    let (mut added, mut direct) = <(Samples, Samples)>::default();
    for round in 0..=ROUNDS {
        let large = server.url("/large");
        let (straight, passed) = (server.ask(&large)?, server.ask_from_jail(&host, &large)?);
        let small = server.url(&format!("/x?n=[1-{REQUESTS}]"));
        let (one, other) = (server.ask(&small)?, server.ask_from_jail(&host, &small)?);
        if round == 0 {
            continue;
        }
        for (speeds, into) in [(&straight, &mut direct_fast), (&passed, &mut fast)] {
            speeds.iter().for_each(|asked| into.add(asked.rate / 1e6));
        }
        // The first of each connects.
        for (one, other) in one.iter().zip(&other).skip(1) {
            direct.add(one.seconds * 1e3);
            added.add((other.seconds - one.seconds) * 1e3);
        }
    }
    Ok(vec![
        Figure::new("way out of a jail: one download of 256 MiB", "MB/s", &fast)
            .floor("the same client without a jail", &direct_fast)
            .at_least(100.0),
        Figure::new("way out of a jail: added to a request", "ms", &added)
            .floor("the whole request without a jail", &direct)
            .at_most(2.0),
    ])
}

/// The client's figures of one request.
struct Asked {
    rate: f64,
    seconds: f64,
}

/// A server over TLS, which ends with the value.
struct Server {
    child: Child,
    port: u16,
    folder: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Server {
    fn start() -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let made = rcgen::generate_simple_self_signed([ADDRESS.to_owned()]).map_err(io::Error::other)?;
        let (certificate, key) = (folder.path().join("certificate.pem"), folder.path().join("key.pem"));
        std::fs::write(&certificate, made.cert.pem())?;
        std::fs::write(&key, made.signing_key.serialize_pem())?;
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("functional/registry.py");
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

    fn config(&self) -> String {
        format!(
            "[agent.default.network]\nmode = \"proxy\"\nallow = [\"{ADDRESS}:{0}\"]\n\
             [egress]\nauthorities_file = \"{1}\"\nprivate_hosts = [\"{ADDRESS}:{0}\"]\n",
            self.port,
            self.folder.path().join("certificate.pem").display()
        )
    }

    fn url(&self, path: &str) -> String {
        format!("https://{ADDRESS}:{}{path}", self.port)
    }

    /// The client outside of any jail.
    fn ask(&self, url: &str) -> io::Result<Vec<Asked>> {
        let mut command = Command::new("curl");
        command.args(words(url)).arg("--cacert").arg(self.folder.path().join("certificate.pem"));
        read(&command.output()?)
    }

    /// The same client in a jail.
    fn ask_from_jail(&self, host: &Host, url: &str) -> io::Result<Vec<Asked>> {
        let words: Vec<&str> = ["run", "--", "curl"].into_iter().chain(words(url)).collect();
        read(&host.ctl(&words))
    }
}

/// The arguments of the client: it says rate and time of each request, and keeps nothing.
fn words(url: &str) -> [&str; 6] {
    ["-sS", "-o", "/dev/null", "-w", "%{speed_download} %{time_total}\n", url]
}

fn read(output: &Output) -> io::Result<Vec<Asked>> {
    let text = String::from_utf8_lossy(&output.stdout);
    let asked = text.lines().filter_map(|line| {
        let (rate, seconds) = line.split_once(' ')?;
        Some(Asked { rate: rate.parse().ok()?, seconds: seconds.trim().parse().ok()? })
    });
    let asked: Vec<Asked> = asked.collect();
    if asked.is_empty() || !output.status.success() {
        return Err(io::Error::other(format!("the client: {}", String::from_utf8_lossy(&output.stderr))));
    }
    Ok(asked)
}
