//! `pip install` of a real package in a jail with a way out, beside the same command outside of any jail. The package and all that it
//! needs come from a registry on this machine, so that both take the same bytes the same way.

use crate::figure::Figure;
use crate::local::Server;
use crate::spread::Samples;
use crate::{egress, person};
use std::io;
use std::process::{Command, Output};
use std::time::Instant;
use tests::{ADDRESS, Host};

/// The package, which has about thirty others with it.
const PACKAGE: &str = "mcp-server-fetch";
const ROUNDS: usize = 3;

/// Its figures.
pub(crate) fn measure() -> io::Result<Vec<Figure>> {
    let server = stocked()?;
    let host = person::host(&egress::config(&server))?;
    let (mut direct, mut passed) = <(Samples, Samples)>::default();
    for round in 0..=ROUNDS {
        let began = Instant::now();
        well(&straight(&server, round)?)?;
        let straight = began.elapsed();
        let began = Instant::now();
        well(&jailed(&host, &server))?;
        let jailed = began.elapsed();
        // The first of each reads the programs' files.
        if round > 0 {
            direct.add(straight.as_secs_f64());
            passed.add(jailed.as_secs_f64());
        }
    }
    let name = format!("way out of a jail: pip install {PACKAGE}");
    Ok(vec![Figure::new(name, "s", &passed).floor("without a jail", &direct).at_most_times_floor(1.3)])
}

/// A registry that has the package.
fn stocked() -> io::Result<Server> {
    let folder = tempfile::tempdir()?;
    let mut command = pip();
    command.args(["download", "--quiet", "--only-binary", ":all:", "--dest"]);
    well(&command.arg(folder.path().join("wheels")).arg(PACKAGE).output()?)?;
    Server::serving("functional/registry.py", folder)
}

/// The system's, as a jail has it.
fn pip() -> Command {
    let mut command = Command::new("/usr/bin/python3");
    command.args(["-m", "pip"]);
    command
}

fn straight(server: &Server, round: usize) -> io::Result<Output> {
    let mut command = pip();
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("PIP_")) {
        command.env_remove(name);
    }
    command.args(["install", "--quiet", "--no-cache-dir", "--disable-pip-version-check", "--index-url"]);
    // Before 3.13 Python believes no certificate that is not an authority's.
    command.arg(server.url("/simple")).args(["--trusted-host", ADDRESS]);
    command.arg("--target").arg(server.folder().join(format!("installed-{round}"))).arg(PACKAGE).output()
}

fn jailed(host: &Host, server: &Server) -> Output {
    let url = server.url("/simple");
    let words = ["run", "--", "/usr/bin/python3", "-m", "pip", "install", "--quiet", "--no-cache-dir"];
    let more = ["--disable-pip-version-check", "--index-url", &url, "--target", "installed", PACKAGE];
    host.ctl(&[&words[..], &more[..]].concat())
}

fn well(output: &Output) -> io::Result<()> {
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("pip: {}", String::from_utf8_lossy(&output.stderr))))
}
