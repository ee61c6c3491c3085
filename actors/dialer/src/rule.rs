//! Decides which process may be connected to which addresses. Pure: nothing here resolves, connects or waits.
//!
//! A name is decided on before it is resolved (a DNS question alone can carry data out), and its addresses after.

use crate::routes::LocalNetworks;
use address::Unfit;
use ipc_proto::config;
use ipc_proto::dialer::{DialError, Host, HostPattern, HostPort, NoHost};
use manifest::Process;
use std::collections::BTreeSet;
use std::net::IpAddr;

/// The hosts that each caller may reach.
pub(crate) struct Rules {
    /// Hosts that credproxy may reach; their addresses must be public.
    bound: BTreeSet<HostPort>,
    /// Hosts on this machine's loopback that credproxy may reach; their addresses must be loopback.
    loopback: BTreeSet<HostPort>,
    /// Hosts that web may reach wherever they are; every other one at public addresses alone.
    private: BTreeSet<HostPort>,
    /// Hosts that egress may reach wherever they are; every other one at public addresses alone.
    of_jails: BTreeSet<HostPort>,
    /// Hosts that credproxy may reach wherever they are; it speaks TLS to each.
    sealed: BTreeSet<HostPort>,
    /// Hosts of the platforms that have a channel; their addresses must be public.
    platforms: Vec<HostPattern>,
}

/// An entry of the configuration is not `host:port`.
#[derive(Debug, thiserror::Error)]
#[error(
    "[credproxy] hosts, private_hosts, plain_http, [web] or [egress] private_hosts or a base_url: `{0}` is not host:port"
)]
pub(crate) struct BadEntry(String);

impl Rules {
    /// The rules of the configuration.
    pub(crate) fn new(config: &config::Dialer) -> Result<Self, BadEntry> {
        Ok(Self {
            bound: entries(&config.credproxy_hosts)?,
            loopback: entries(&config.loopback_hosts)?,
            private: entries(&config.web_private_hosts)?,
            of_jails: entries(&config.egress_private_hosts)?,
            sealed: entries(&config.credproxy_private_hosts)?,
            platforms: config.channel_hosts.iter().map(|text| pattern(text)).collect::<Result<_, _>>()?,
        })
    }

    /// Returns whether `caller` may ask for this host at all, before anything is resolved. Web and egress may ask for any: they
    /// hold no secret, and which names a request may go to was decided where its content was known.
    pub(crate) fn may_ask(&self, caller: Process, target: &HostPort) -> Result<(), DialError> {
        let may = match caller {
            Process::Credproxy => {
                [&self.bound, &self.loopback, &self.sealed].iter().any(|hosts| hosts.contains(target))
                    || self.platforms.iter().any(|hosts| hosts.covers(target))
            }
            Process::Web | Process::Egress => true,
            _ => false,
        };
        if may { Ok(()) } else { Err(DialError::NotAllowed) }
    }

    /// Returns whether `caller` may be connected to this host at these addresses. One bad address spoils them all: a name
    /// that has one private address among public ones is an attack. `local` is read only where addresses must be public.
    pub(crate) fn decide(
        &self,
        caller: Process,
        target: &HostPort,
        addresses: &[IpAddr],
        local: impl FnOnce() -> Result<LocalNetworks, DialError>,
    ) -> Result<(), DialError> {
        self.may_ask(caller, target)?;
        let fits: fn(&IpAddr) -> bool = match caller {
            Process::Web if self.private.contains(target) => |_| true,
            Process::Egress if self.of_jails.contains(target) => |_| true,
            Process::Credproxy if self.loopback.contains(target) => IpAddr::is_loopback,
            Process::Credproxy if self.sealed.contains(target) => |_| true,
            _ => return outside(addresses, local),
        };
        match addresses {
            [] => Err(DialError::Unresolved),
            _ if addresses.iter().all(fits) => Ok(()),
            _ => Err(DialError::NotPublic),
        }
    }
}

/// Returns whether all these addresses are of the public internet, and none of this machine or of its links.
fn outside(
    addresses: &[IpAddr],
    local: impl FnOnce() -> Result<LocalNetworks, DialError>,
) -> Result<(), DialError> {
    address::may_connect(addresses).map_err(refusal)?;
    let local = local()?;
    let found = addresses.iter().find(|address| local.holds(**address));
    found.map_or(Ok(()), |address| Err(DialError::Local { address: *address }))
}

const fn refusal(unfit: Unfit) -> DialError {
    match unfit {
        Unfit::Unresolved => DialError::Unresolved,
        _ => DialError::NotPublic,
    }
}

fn entries(texts: &[String]) -> Result<BTreeSet<HostPort>, BadEntry> {
    texts.iter().map(|text| text.parse().map_err(|NoHost| BadEntry(text.clone()))).collect()
}

fn pattern(text: &str) -> Result<HostPattern, BadEntry> {
    text.parse().map_err(|NoHost| BadEntry(text.to_owned()))
}

/// The host and port that a caller names.
pub(crate) fn target(host: &str, port: u16) -> Result<HostPort, DialError> {
    let host: Host = host.parse().map_err(|NoHost| DialError::NotAllowed)?;
    if port == 0 { Err(DialError::NotAllowed) } else { Ok(HostPort { host, port }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUBLIC: &str = "93.184.216.34";

    fn rules() -> Rules {
        let list = |entries: &[&str]| entries.iter().map(|entry| (*entry).to_owned()).collect();
        Rules::new(&config::Dialer {
            credproxy_hosts: list(&[
                "API.example.com:443",
                "docs.example.org.:443",
                "[2A00:1450::1]:443",
                "9.9.9.9:443",
            ]),
            loopback_hosts: list(&["localhost:8080", "127.0.0.1:11434", "[::1]:11434"]),
            egress_private_hosts: vec!["mirror.lan:443".to_owned()],
            web_private_hosts: list(&["localhost:8888", "wiki.test:443"]),
            credproxy_private_hosts: list(&["matrix.lan:443"]),
            channel_hosts: list(&["api.chat.test:443", "*.gateway.test:443"]),
        })
        .unwrap()
    }

    fn ask(caller: Process, host: &str, port: u16, addresses: &[&str]) -> Result<(), DialError> {
        let addresses: Vec<IpAddr> = addresses.iter().map(|text| text.parse().unwrap()).collect();
        rules().decide(caller, &target(host, port)?, &addresses, || Ok(local()))
    }

    /// A machine at 198.41.0.4/24 and 2600:1f00::4/64, with a gateway on its link.
    fn local() -> LocalNetworks {
        let v4 = "|-- 198.41.0.0\n/24 link UNICAST\n|-- 198.41.0.4\n/32 host LOCAL\n";
        let none = "0".repeat(32);
        let row = |to: &str, flags: &str| format!("{to} {none} 00 {none} 0 0 0 {flags} e0\n");
        let v6 = [
            row("26001f00000000000000000000000000 40", "00000001"),
            row("26001f00000000000000000000000004 80", "80200001"),
        ];
        LocalNetworks::parse(v4, &v6.concat())
    }

    // Holds P4-05.
    #[test]
    fn credproxy_reaches_configured_hosts_in_any_spelling_and_no_other() {
        let allowed = [
            ("api.example.com", 443),
            ("API.EXAMPLE.COM.", 443),
            ("docs.example.org", 443),
            ("9.9.9.9", 443),
        ];
        for (host, port) in allowed {
            assert_eq!(ask(Process::Credproxy, host, port, &[PUBLIC]), Ok(()), "{host}");
        }
        assert_eq!(ask(Process::Credproxy, "[2a00:1450:0::1]", 443, &["2a00:1450::1"]), Ok(()));
        let refused = [
            ("api.example.com", 80),
            ("api.example.com", 0),
            ("example.com", 443),
            ("evil.test", 443),
            ("api.example.com.evil.test", 443),
            ("xapi.example.com", 443),
            ("api.example.com..", 443),
            ("localhost", 443),
            ("api.example.com:443", 443),
            ("151651593", 443),
            ("9.9.2313", 443),
            ("", 443),
            ("::ffff:9.9.9.9", 443),
            ("a@api.example.com", 443),
            ("api.example.com\0", 443),
        ];
        for (host, port) in refused {
            assert_eq!(
                ask(Process::Credproxy, host, port, &[PUBLIC]),
                Err(DialError::NotAllowed),
                "{host}:{port}"
            );
        }
    }

    /// Host, port, the addresses it resolves to, and the decision.
    type Case<'a> = (&'a str, u16, &'a [&'a str], Result<(), DialError>);

    // Holds P4-05.
    #[test]
    fn web_reaches_public_addresses_and_the_owners_hosts_anywhere() {
        let cases: [Case<'_>; 15] = [
            ("any.example.org", 443, &[PUBLIC], Ok(())),
            ("any.example.org", 8080, &[PUBLIC, "2a00:1450::1"], Ok(())),
            ("93.184.216.34", 80, &[PUBLIC], Ok(())),
            ("any.example.org", 80, &["10.0.0.1"], Err(DialError::NotPublic)),
            ("any.example.org", 80, &[PUBLIC, "127.0.0.1"], Err(DialError::NotPublic)),
            ("any.example.org", 80, &[PUBLIC, "::ffff:93.184.216.34"], Err(DialError::NotPublic)),
            ("169.254.169.254", 80, &["169.254.169.254"], Err(DialError::NotPublic)),
            ("[::1]", 80, &["::1"], Err(DialError::NotPublic)),
            ("localhost", 8080, &["127.0.0.1"], Err(DialError::NotPublic)),
            ("127.0.0.1", 11434, &["127.0.0.1"], Err(DialError::NotPublic)),
            ("localhost", 8888, &["127.0.0.1", "::1"], Ok(())),
            ("WIKI.test.", 443, &["10.0.0.9"], Ok(())),
            ("wiki.test", 80, &["10.0.0.9"], Err(DialError::NotPublic)),
            ("any.example.org", 443, &[], Err(DialError::Unresolved)),
            ("2130706433", 80, &[PUBLIC], Err(DialError::NotAllowed)),
        ];
        for (host, port, addresses, want) in cases {
            assert_eq!(ask(Process::Web, host, port, addresses), want, "{host}:{port} {addresses:?}");
        }
        assert_eq!(ask(Process::Credproxy, "localhost", 8888, &["127.0.0.1"]), Err(DialError::NotAllowed));
    }

    // Holds P4-05.
    #[test]
    fn no_process_but_credproxy_web_and_egress_is_connected_to_anything() {
        let others = |process| !matches!(process, Process::Credproxy | Process::Web | Process::Egress);
        for row in manifest::TABLE.iter().filter(|row| others(row.process)) {
            let answer = ask(row.process, "api.example.com", 443, &[PUBLIC]);
            assert_eq!(answer, Err(DialError::NotAllowed), "{}", row.process.name());
        }
    }

    // Holds P4-06.
    #[test]
    fn one_address_that_is_not_public_spoils_the_name() {
        let spoilt: [&[&str]; 7] = [
            &["10.0.0.1"],
            &[PUBLIC, "10.0.0.1"],
            &["169.254.169.254"],
            &["127.0.0.1"],
            &[PUBLIC, "::ffff:93.184.216.34"],
            &["0.0.0.0"],
            &["100.64.1.1"],
        ];
        for addresses in spoilt {
            let answer = ask(Process::Credproxy, "api.example.com", 443, addresses);
            assert_eq!(answer, Err(DialError::NotPublic), "{addresses:?}");
        }
        assert_eq!(ask(Process::Credproxy, "api.example.com", 443, &[]), Err(DialError::Unresolved));
    }

    // Holds P4-32.
    #[test]
    fn an_address_of_this_machine_or_its_links_is_refused_by_name() {
        for text in ["198.41.0.4", "198.41.0.9", "2600:1f00::4", "2600:1f00::9"] {
            let refused = Err(DialError::Local { address: text.parse().unwrap() });
            for caller in [Process::Credproxy, Process::Web] {
                assert_eq!(ask(caller, "api.example.com", 443, &[text]), refused, "{text}");
                assert_eq!(ask(caller, "api.example.com", 443, &[PUBLIC, text]), refused, "{text}");
            }
            assert_eq!(ask(Process::Web, "wiki.test", 443, &[text]), Ok(()), "{text}");
        }
        let said = ask(Process::Web, "a.test", 80, &["198.41.0.4"]).unwrap_err().to_string();
        assert!(said.contains("198.41.0.4") && said.contains("[web] private_hosts"), "{said}");
        assert_eq!(ask(Process::Web, "a.test", 80, &["198.41.1.4"]), Ok(()));
    }

    // Holds P4-34.
    #[test]
    fn hosts_of_platforms_are_reached_by_credproxy_at_public_addresses() {
        for host in ["api.chat.test", "a.gateway.test", "a.b.GATEWAY.test."] {
            assert_eq!(ask(Process::Credproxy, host, 443, &[PUBLIC]), Ok(()), "{host}");
            let private = ask(Process::Credproxy, host, 443, &["10.0.0.1"]);
            assert_eq!(private, Err(DialError::NotPublic), "{host}");
        }
        for (host, port) in [("gateway.test", 443), ("a.gateway.test", 80), ("xgateway.test", 443)] {
            let answer = ask(Process::Credproxy, host, port, &[PUBLIC]);
            assert_eq!(answer, Err(DialError::NotAllowed), "{host}:{port}");
        }
    }

    // Holds P4-35.
    #[test]
    fn a_private_host_of_credproxy_is_reached_wherever_it_is() {
        for address in ["10.0.0.9", "198.41.0.9", PUBLIC] {
            assert_eq!(ask(Process::Credproxy, "MATRIX.lan.", 443, &[address]), Ok(()), "{address}");
        }
        let refused = ask(Process::Credproxy, "matrix.lan", 80, &["10.0.0.9"]);
        assert_eq!(refused, Err(DialError::NotAllowed));
        assert_eq!(ask(Process::Web, "matrix.lan", 443, &["10.0.0.9"]), Err(DialError::NotPublic));
    }

    #[test]
    fn unreadable_routes_refuse_public_hosts_and_spare_the_owners() {
        let decide = |caller, host, port, address: &str| {
            let addresses = [address.parse().unwrap()];
            rules().decide(caller, &target(host, port).unwrap(), &addresses, || Err(DialError::Routes))
        };
        assert_eq!(decide(Process::Web, "any.example.org", 443, PUBLIC), Err(DialError::Routes));
        assert_eq!(decide(Process::Credproxy, "api.example.com", 443, PUBLIC), Err(DialError::Routes));
        assert_eq!(decide(Process::Web, "any.example.org", 443, "10.0.0.1"), Err(DialError::NotPublic));
        assert_eq!(decide(Process::Web, "wiki.test", 443, "10.0.0.9"), Ok(()));
        assert_eq!(decide(Process::Credproxy, "localhost", 8080, "127.0.0.1"), Ok(()));
    }

    #[test]
    fn a_host_of_plain_http_is_reached_on_loopback_and_nowhere_else() {
        assert_eq!(ask(Process::Credproxy, "localhost", 8080, &["127.0.0.1", "::1"]), Ok(()));
        assert_eq!(ask(Process::Credproxy, "127.0.0.1", 11434, &["127.0.0.1"]), Ok(()));
        for address in [PUBLIC, "10.0.0.1", "0.0.0.0", "::ffff:127.0.0.1"] {
            let answer = ask(Process::Credproxy, "localhost", 8080, &["127.0.0.1", address]);
            assert_eq!(answer, Err(DialError::NotPublic), "{address}");
        }
    }

    #[test]
    fn an_entry_that_is_not_host_and_port_is_told_by_its_text() {
        let bad = || vec!["api.example.com".to_owned()];
        for config in [
            config::Dialer { credproxy_hosts: bad(), ..Default::default() },
            config::Dialer { loopback_hosts: bad(), ..Default::default() },
            config::Dialer { web_private_hosts: bad(), ..Default::default() },
            config::Dialer { credproxy_private_hosts: bad(), ..Default::default() },
            config::Dialer { egress_private_hosts: bad(), ..Default::default() },
            config::Dialer { channel_hosts: bad(), ..Default::default() },
        ] {
            assert!(Rules::new(&config).err().unwrap().to_string().contains("`api.example.com`"));
        }
    }
}
