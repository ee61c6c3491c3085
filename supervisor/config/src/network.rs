//! Second pass over `[agent.NAME.network]` and `[egress]`: the lists as the gate compares them, and the parts for egress and dialer.

use crate::allowed::allowed;
use crate::keys::BROWSER_TOOLS;
use crate::problem::{Problems, quoted};
use crate::providers::Outside;
use crate::view::View;
use ipc_proto::config::{Agent, Allowed, Egress, McpServer, McpStart, Network};
use std::collections::BTreeMap;
use std::path::Path;

/// Bytes of the file of authorities.
const AUTHORITIES: u64 = 256 * 1024;

/// The hosts of a registry, as its own programs ask for them.
fn registry(name: &str) -> &'static [(&'static str, u16)] {
    match name {
        "pypi" => &[("pypi.org", 443), ("files.pythonhosted.org", 443)],
        "npm" => &[("registry.npmjs.org", 443)],
        "crates" => &[("index.crates.io", 443), ("static.crates.io", 443), ("crates.io", 443)],
        "debian" => &[
            ("deb.debian.org", 80),
            ("deb.debian.org", 443),
            ("security.debian.org", 80),
            ("security.debian.org", 443),
        ],
        _ => &[],
    }
}

/// Reads the way out of an agent's jails; none in mode `none`.
#[must_use]
pub fn of_agent(agent: &View<'_>) -> Option<Network> {
    let view = agent.table("network");
    if view.word("mode") != "proxy" {
        return None;
    }
    let listed = view.texts("allow").into_iter().filter_map(|(_, text)| allowed(&text));
    let packages = view.texts("packages");
    let registries = packages.iter().flat_map(|(_, name)| registry(name));
    let registries = registries.map(|(host, port)| Allowed {
        host: (*host).to_owned(),
        port: *port,
        sends: false,
        packages: true,
    });
    Some(Network { allow: listed.chain(registries).collect(), opaque: opaque(&view) })
}

/// The places of `opaque`, each as the gate compares it.
#[must_use]
pub fn opaque(view: &View<'_>) -> Vec<String> {
    view.texts("opaque").into_iter().map(|(_, text)| text).collect()
}

/// Reads the hosts of `[egress]` that need not be public.
pub fn private_hosts(file: &View<'_>, outside: &mut Outside) {
    let listed = file.table("egress").texts("private_hosts");
    outside.dialer.egress_private_hosts = listed.into_iter().map(|(_, text)| text).collect();
}

/// Reads the rest of `[egress]`; none where no jail has a way out. One that has needs dialer.
#[must_use]
pub fn resolve(
    file: &View<'_>,
    (agents, servers): (&BTreeMap<String, Agent>, &BTreeMap<String, McpServer>),
    outside: &Outside,
    folder: &Path,
    problems: &mut Problems,
) -> Option<Egress> {
    let view = file.table("egress");
    let wanted = agents.iter().find(|(_, agent)| agent.network.is_some());
    if let (Some((name, _)), false) = (wanted, outside.credproxy) {
        let agent = file.table("agent").named("NAME", name).table("network");
        let what = "the way out needs dialer, which `credproxy.provider` set to \"none\" takes away";
        problems.add(agent.line("mode"), &agent.key("mode"), what, "none");
    }
    let browses = |agent: &Agent| agent.tools.iter().any(|tool| BROWSER_TOOLS.contains(&tool.as_str()));
    let browser = agents.iter().find(|(_, agent)| browses(agent));
    if let (Some((name, _)), false) = (browser, outside.credproxy) {
        let agent = file.table("agent").named("NAME", name);
        let what = "the browser needs dialer, which `credproxy.provider` set to \"none\" takes away";
        problems.add(agent.line("browser"), &agent.key("browser"), what, "false");
    }
    let authorities = view.text("authorities_file").map(|path| {
        read(&folder.join(&path)).unwrap_or_else(|cause| {
            let what = format!("{} cannot be read: {cause}", quoted(&path));
            let valid = "a readable file of at most 256 KiB in PEM";
            problems.add(view.line("authorities_file"), &view.key("authorities_file"), what, valid);
            String::new()
        })
    });
    let goes_out = |server: &McpServer| match &server.start {
        McpStart::Command(_) => !server.network.is_empty() || !server.opaque.is_empty(),
        McpStart::Package { .. } => true,
        McpStart::Url { service, token_url, .. } => service.is_none() && token_url.is_none(),
    };
    let wanted = wanted.is_some() || servers.values().any(goes_out) || browser.is_some();
    wanted.then(|| Egress { authorities: authorities.unwrap_or_default() })
}

fn read(path: &Path) -> std::io::Result<String> {
    use std::io::Read as _;
    let mut text = String::new();
    std::fs::File::open(path)?.take(AUTHORITIES).read_to_string(&mut text)?;
    Ok(text)
}
