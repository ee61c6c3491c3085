//! The failures of `agentctl tunnel`: each names what is missing and the command that mends it.

use std::io;
use std::path::PathBuf;

/// Why a tunnel cannot be opened, closed or run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TunnelFault {
    /// The caller is not root.
    #[error("the tunnel is the machine's, and only root may change it; run: sudo agentctl tunnel {0}")]
    NotRoot(String),
    /// No service manager runs the unit.
    #[error(
        "systemd does not run on this machine, and the tunnel is its unit; run {program} yourself, and give its \
         address: agentctl tunnel up manual URL"
    )]
    NoSystemd {
        /// The vendor's program.
        program: &'static str,
    },
    /// Hooks have no port.
    #[error(
        "{} has no [ingress] listen, so there is no port for the tunnel to lead to; add a channel of whatsapp or \
         webhook (agentctl channel add), and the two lines [ingress] and listen = \"127.0.0.1:8787\"; then \
         restart the host: systemctl restart cordon",
        .0.display()
    )]
    NoIngress(PathBuf),
    /// The vendor reaches another loopback only.
    #[error("Tailscale leads to 127.0.0.1 only; set [ingress] listen to 127.0.0.1:PORT and restart the host")]
    OtherLoopback,
    /// The vendor's program is not installed where the unit finds it.
    #[error(
        "{program} is not in /usr/local/bin, /usr/bin, /usr/local/sbin or /usr/sbin; install it from {page}"
    )]
    NoProgram {
        /// Its name.
        program: &'static str,
        /// The vendor's page.
        page: &'static str,
    },
    /// One tunnel is up already.
    #[error("a tunnel is up already, by {0}; close it first: run agentctl tunnel down")]
    Another(&'static str),
    /// An address that nobody can send hooks to.
    #[error("{0} is no address for hooks; give https://HOST[:PORT][/PATH]")]
    BadUrl(String),
    /// A name that cannot stand in an address.
    #[error("{0} cannot be part of an address; give --domain letters, digits, dots and hyphens")]
    BadDomain(String),
    /// A file of the tunnel cannot be read or written.
    #[error("{}: {cause}; see that /etc/cordon and /etc/credstore can be written by root", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The kernel's error.
        cause: io::Error,
    },
    /// The file that says which tunnel is up makes no sense.
    #[error("{} is damaged ({why}); remove it: sudo agentctl tunnel down", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The fault.
        why: String,
    },
    /// systemctl cannot be run.
    #[error("systemctl: {0}; install systemd whole, or run the vendor's program yourself")]
    Systemctl(io::Error),
    /// The unit did not start, or no address was learnt from it.
    #[error("{unit} did not open the tunnel, and was stopped again: {why}; see journalctl -u {unit}")]
    NotUp {
        /// The unit.
        unit: String,
        /// The last that the program said.
        why: String,
    },
    /// The unit did not stop.
    #[error("{unit} did not stop: {why}; see systemctl status {unit}")]
    NotDown {
        /// The unit.
        unit: String,
        /// The answer of systemctl.
        why: String,
    },
    /// A folder or credential that the unit gives is missing.
    #[error("{0} is not set; start the unit instead: agentctl tunnel up")]
    NotInUnit(&'static str),
    /// The vendor's program cannot be started.
    #[error("{program} cannot be started: {cause}; install it again")]
    Start {
        /// Its name.
        program: &'static str,
        /// The kernel's error.
        cause: io::Error,
    },
    /// The vendor's program ended.
    #[error("{program} ended with {status}{reason}; see its lines above")]
    Ended {
        /// Its name.
        program: &'static str,
        /// The status.
        status: String,
        /// The last reason that it gave, behind a colon.
        reason: String,
    },
    /// The service manager was not reached.
    #[error("systemd cannot be told the address: {0}; start the unit again: systemctl restart")]
    Notify(io::Error),
}

impl TunnelFault {
    /// The fixed word of this failure, as it stands in `error.type`.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::NotRoot(_) => "not_allowed",
            Self::NoSystemd { .. } | Self::Systemctl(_) => "no_systemd",
            Self::NoIngress(_) | Self::OtherLoopback => "no_ingress",
            Self::NoProgram { .. } | Self::Start { .. } => "program",
            Self::Another(_) => "taken",
            Self::BadUrl(_) | Self::BadDomain(_) => "usage",
            Self::File { .. } | Self::Damaged { .. } => "file",
            Self::NotUp { .. } | Self::NotDown { .. } | Self::Ended { .. } => "tunnel",
            Self::NotInUnit(_) | Self::Notify(_) => "unit",
        }
    }

    /// The exit status that says the same.
    pub(super) const fn exit(&self) -> u8 {
        match self {
            Self::NotRoot(_) => super::NOT_ALLOWED,
            Self::NoIngress(_) | Self::OtherLoopback => super::CONFIGURATION,
            Self::BadUrl(_) | Self::BadDomain(_) => super::USAGE,
            _ => 1,
        }
    }
}
