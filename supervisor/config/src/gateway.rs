//! Second pass over `[gateway]`: if it is started, its TCP address, and the rules for clients there.

use crate::hosts::HostPort;
use crate::problem::Problems;
use crate::view::View;
use ipc_proto::config;
use manifest::settings::Loopback;

/// `[gateway]`, resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// True if gateway has a row.
    pub gateway: bool,
    /// Its TCP address, on which agentd listens.
    pub listen: Option<Loopback>,
    /// The section of gateway.
    pub own: config::Gateway,
}

/// The valid values of `listen`, for people.
const VALID: &str =
    "`127.0.0.1:PORT` or `[::1]:PORT`, and for other machines a reverse proxy with TLS before gateway.sock";

/// Reads it.
#[must_use]
pub fn resolve(file: &View<'_>, problems: &mut Problems) -> Served {
    let view = file.table("gateway");
    let gateway = view.word("provider") != "none";
    let listen = listen(&view, problems);
    if let (Some(_), false) = (listen, gateway) {
        let what = "gateway is switched off by `provider`";
        problems.add(view.line("listen"), &view.key("listen"), what, "nothing here");
    }
    let listen = listen.filter(|_| gateway);
    let hosts = view.texts("hosts").into_iter().map(|(_, text)| text);
    let names = |at: Loopback| ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{}", at.port));
    let own = config::Gateway {
        listen: listen.map(|at| at.address().to_string()),
        hosts: listen.into_iter().flat_map(names).chain(hosts).collect(),
        ..view.section(problems)
    };
    Served { gateway, listen, own }
}

/// Reads the address of `listen`, which no other machine may reach.
pub(crate) fn listen(view: &View<'_>, problems: &mut Problems) -> Option<Loopback> {
    let at = HostPort::parse(&view.text("listen")?)?;
    let v6 = match at.host.as_str() {
        "127.0.0.1" => false,
        "::1" => true,
        _ => {
            let what = match at.is_loopback() {
                true => format!("{} is not one of the two addresses that can be listened on", at.text()),
                false => {
                    format!("{} can be reached from other machines, and TLS is not built yet", at.text())
                }
            };
            problems.add(view.line("listen"), &view.key("listen"), what, VALID);
            return None;
        }
    };
    Some(Loopback { v6, port: at.port })
}
