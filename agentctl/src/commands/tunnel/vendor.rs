//! The vendors: their programs, where those come from, and how each is started. A token goes by a file or the environment, never
//! by the command line.

use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// A way in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Provider {
    /// Tailscale Funnel: a machine of its own in your tailnet
    Tailscale,
    /// Cloudflare Tunnel: without --token at an address that changes with each start
    Cloudflare,
    /// An ngrok endpoint
    Ngrok,
    /// A reverse proxy or a tunnel that you run yourself, at URL
    Manual,
}

impl Provider {
    /// The word that a person types.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Tailscale => "tailscale",
            Self::Cloudflare => "cloudflare",
            Self::Ngrok => "ngrok",
            Self::Manual => "manual",
        }
    }

    /// The vendor whose program Cordon's unit runs.
    pub(super) const fn vendor(self) -> Option<Vendor> {
        match self {
            Self::Tailscale => Some(Vendor::Tailscale),
            Self::Cloudflare => Some(Vendor::Cloudflare),
            Self::Ngrok => Some(Vendor::Ngrok),
            Self::Manual => None,
        }
    }
}

/// A vendor with a program of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vendor {
    Tailscale,
    Cloudflare,
    Ngrok,
}

/// Every vendor.
pub(super) const ALL: [Vendor; 3] = [Vendor::Tailscale, Vendor::Cloudflare, Vendor::Ngrok];

/// The facts that a vendor's program is started with.
pub(super) struct Scene<'a> {
    /// The listener of ingress.
    pub(super) listen: SocketAddr,
    /// The name in the address, if the person gave one.
    pub(super) domain: Option<&'a str>,
    /// A folder that stays.
    pub(super) state: &'a Path,
    /// A folder that ends with the unit.
    pub(super) runtime: &'a Path,
    /// The file with the token, if there is one.
    pub(super) token: Option<&'a Path>,
}

/// How long a step goes on before the next one.
pub(super) enum Until {
    /// Until this socket is there; it runs on.
    Socket(PathBuf),
    /// Until it has ended well.
    End,
    /// For ever: it carries the tunnel.
    Stop,
}

/// A program that is started, one after the other.
pub(super) struct Step {
    /// Its name.
    pub(super) program: &'static str,
    /// Its arguments.
    pub(super) words: Vec<String>,
    /// The variable that it reads the token from.
    pub(super) token: Option<&'static str>,
    /// Its end.
    pub(super) until: Until,
}

impl Vendor {
    /// The word that a person types.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Tailscale => "tailscale",
            Self::Cloudflare => "cloudflare",
            Self::Ngrok => "ngrok",
        }
    }

    /// The unit that runs its program.
    pub(super) fn unit(self) -> String {
        format!("cordon-tunnel@{}", self.name())
    }

    /// The programs that have to be installed.
    pub(super) const fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Tailscale => &["tailscale", "tailscaled"],
            Self::Cloudflare => &["cloudflared"],
            Self::Ngrok => &["ngrok"],
        }
    }

    /// The vendor's page of downloads.
    pub(super) const fn page(self) -> &'static str {
        match self {
            Self::Tailscale => "https://tailscale.com/download/linux",
            Self::Cloudflare => "https://pkg.cloudflare.com",
            Self::Ngrok => "https://ngrok.com/download/linux",
        }
    }

    /// The question for its token.
    pub(super) const fn question(self) -> &'static str {
        match self {
            Self::Tailscale => "auth key of Tailscale (login.tailscale.com/admin/settings/keys): ",
            Self::Cloudflare => "token of the tunnel (one.dash.cloudflare.com): ",
            Self::Ngrok => "authtoken of ngrok (dashboard.ngrok.com): ",
        }
    }

    /// The name and the text of its configuration, which is in the folder of the unit. It holds no secret.
    pub(super) const fn file(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Tailscale => None,
            // Without it the configuration of another tunnel in /etc/cloudflared would count.
            Self::Cloudflare => Some(("cloudflared.yml", "no-autoupdate: true\n")),
            // Without it a page on loopback would show every hook to every user.
            Self::Ngrok => Some((
                "ngrok.yml",
                "version: \"2\"\nweb_addr: false\ninspect_db_size: -1\nupdate_check: false\nconsole_ui: false\n",
            )),
        }
    }

    /// The steps that open its tunnel.
    pub(super) fn steps(self, scene: &Scene<'_>) -> Vec<Step> {
        match self {
            Self::Tailscale => tailscale(scene),
            Self::Cloudflare => vec![cloudflare(scene)],
            Self::Ngrok => vec![ngrok(scene)],
        }
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// A daemon of its own, with its network in user space: it needs no right and is no other tailscaled's. The auth key is read from its
/// file, and only for the first login.
fn tailscale(scene: &Scene<'_>) -> Vec<Step> {
    let socket = scene.runtime.join("tailscaled.sock");
    let asked = format!("--socket={}", socket.display());
    let folder = format!("--statedir={}", scene.state.display());
    let daemon = words(&["--tun=userspace-networking", "--port=0", &asked, &folder]);
    let name = format!("--hostname={}", scene.domain.unwrap_or("cordon"));
    let mut login = words(&[&asked, "up", "--timeout=60s", &name]);
    login.extend(scene.token.map(|file| format!("--auth-key=file:{}", file.display())));
    let funnel = words(&[&asked, "funnel", &format!("http://{}", scene.listen)]);
    vec![
        Step { program: "tailscaled", words: daemon, token: None, until: Until::Socket(socket) },
        Step { program: "tailscale", words: login, token: None, until: Until::End },
        Step { program: "tailscale", words: funnel, token: None, until: Until::Stop },
    ]
}

/// Without a token a quick tunnel.
fn cloudflare(scene: &Scene<'_>) -> Step {
    let file = scene.runtime.join("cloudflared.yml").display().to_string();
    let always = ["tunnel", "--no-autoupdate", "--config", &file];
    let (rest, token) = match scene.token {
        Some(_) => (words(&["run"]), Some("TUNNEL_TOKEN")),
        None => (words(&["--url", &format!("http://{}", scene.listen)]), None),
    };
    Step { program: "cloudflared", words: [words(&always), rest].concat(), token, until: Until::Stop }
}

/// Its log is read, so it is made of documents.
fn ngrok(scene: &Scene<'_>) -> Step {
    let file = scene.runtime.join("ngrok.yml").display().to_string();
    let at = scene.listen.to_string();
    let mut words = words(&["http", &at, "--config", &file, "--log", "stdout", "--log-format", "json"]);
    words.extend(scene.domain.into_iter().flat_map(|name| ["--url".to_owned(), format!("https://{name}")]));
    Step { program: "ngrok", words, token: Some("NGROK_AUTHTOKEN"), until: Until::Stop }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(vendor: Vendor, domain: Option<&str>, token: Option<&str>) -> Vec<String> {
        let scene = Scene {
            listen: ([127, 0, 0, 1], 8787).into(),
            domain,
            state: Path::new("/s"),
            runtime: Path::new("/r"),
            token: token.map(Path::new),
        };
        vendor.steps(&scene).iter().map(|step| format!("{} {}", step.program, step.words.join(" "))).collect()
    }

    #[test]
    fn a_vendors_program_leads_to_ingress_and_its_token_is_no_argument() {
        let tailscale = lines(Vendor::Tailscale, None, Some("/c/token"));
        assert_eq!(
            tailscale,
            [
                "tailscaled --tun=userspace-networking --port=0 --socket=/r/tailscaled.sock --statedir=/s",
                "tailscale --socket=/r/tailscaled.sock up --timeout=60s --hostname=cordon --auth-key=file:/c/token",
                "tailscale --socket=/r/tailscaled.sock funnel http://127.0.0.1:8787",
            ]
        );
        let quick =
            "cloudflared tunnel --no-autoupdate --config /r/cloudflared.yml --url http://127.0.0.1:8787";
        assert_eq!(lines(Vendor::Cloudflare, None, None), [quick]);
        let named = "cloudflared tunnel --no-autoupdate --config /r/cloudflared.yml run";
        assert_eq!(lines(Vendor::Cloudflare, None, Some("/c/token")), [named]);
        let ngrok = "ngrok http 127.0.0.1:8787 --config /r/ngrok.yml --log stdout --log-format json --url https://a.ngrok.app";
        assert_eq!(lines(Vendor::Ngrok, Some("a.ngrok.app"), Some("/c/token")), [ngrok]);
    }
}
