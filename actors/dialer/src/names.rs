//! From a host to its addresses: literals as they are, then /etc/hosts, then DNS, once, without search domains.
//!
//! Both files are read before the seal and never again. DNS replies are hostile: hickory parses them, and the
//! rule judges every address they give.

use hickory_resolver::config::{
    LookupIpStrategy, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts,
};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::{Resolver, TokioResolver, system_conf};
use ipc_proto::dialer::{DialError, Host};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// How long a name may take to resolve; the method's deadline of 15 s leaves 10 s to connect.
const PATIENCE: Duration = Duration::from_millis(4500);
/// Answers kept, and for how long at most: addresses of providers move.
const CACHE: u64 = 128;
const CACHE_TIME: Duration = Duration::from_secs(300);
/// Addresses of one name that are looked at; a name with more is not believed.
const ADDRESSES: usize = 32;

/// How hosts become addresses.
pub(crate) struct Names {
    hosts: BTreeMap<Host, Vec<IpAddr>>,
    /// None when the machine names no usable name server.
    dns: Option<TokioResolver>,
}

/// `resolv.conf` names no usable name server.
#[derive(Debug, thiserror::Error)]
#[error("no usable name server: {0}")]
pub(crate) struct NoDns(String);

impl Names {
    /// Literals and the names of a hosts file, and nothing else yet.
    pub(crate) fn new(hosts: &str) -> Self {
        Self { hosts: hosts_of(hosts), dns: None }
    }

    /// The same, asking the name servers of a `resolv.conf` as well.
    pub(crate) fn ask(&mut self, resolv_conf: &[u8]) -> Result<(), NoDns> {
        let parsed = system_conf::parse_resolv_conf(resolv_conf);
        let made = parsed.and_then(|(config, options)| resolver(config.name_servers().to_vec(), options));
        self.dns = Some(made.map_err(|fault| NoDns(fault.to_string()))?);
        Ok(())
    }

    /// Every address of a host, IPv4 first: where there is no way out by IPv6, that is soon known, and where
    /// IPv6 packets vanish, waiting for them would cost the time that IPv4 needs.
    pub(crate) async fn resolve(&self, host: &Host) -> Result<Vec<IpAddr>, DialError> {
        let mut addresses = match host {
            Host::Address(address) => vec![*address],
            Host::Name(name) => match self.hosts.get(host) {
                Some(addresses) => addresses.clone(),
                None => self.look_up(name).await?,
            },
        };
        addresses.sort_by_key(IpAddr::is_ipv6);
        addresses.dedup();
        if addresses.is_empty() || addresses.len() > ADDRESSES {
            Err(DialError::Unresolved)
        } else {
            Ok(addresses)
        }
    }

    async fn look_up(&self, name: &str) -> Result<Vec<IpAddr>, DialError> {
        let dns = self.dns.as_ref().ok_or(DialError::Unresolved)?;
        // The dot says that the name is whole: search domains would make another host of it.
        let asked = dns.lookup_ip(format!("{name}."));
        match tokio::time::timeout(PATIENCE, asked).await {
            Ok(Ok(answer)) => Ok(answer.iter().collect()),
            Ok(Err(_)) | Err(_) => Err(DialError::Unresolved),
        }
    }
}

fn resolver(servers: Vec<NameServerConfig>, options: ResolverOpts) -> Result<TokioResolver, NetError> {
    // Only the servers of the configuration are used: no domain and no search list.
    let config = ResolverConfig::from_name_servers(servers);
    let mut builder =
        Resolver::builder_with_config(config, TokioRuntimeProvider::default()).with_options(options);
    let options = builder.options_mut();
    options.use_hosts_file = ResolveHosts::Never;
    options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    options.timeout = options.timeout.min(Duration::from_secs(2));
    // One server after the other, as the C library does it: of two that are asked at once and send answers that are cut, hickory
    // gives the name up instead of asking again over TCP.
    options.num_concurrent_reqs = 1;
    options.cache_size = CACHE;
    options.positive_max_ttl = Some(CACHE_TIME);
    options.negative_max_ttl = Some(Duration::from_secs(5));
    builder.build()
}

/// Lines of `address name...`; other lines are skipped, as resolvers do.
fn hosts_of(text: &str) -> BTreeMap<Host, Vec<IpAddr>> {
    let mut hosts: BTreeMap<Host, Vec<IpAddr>> = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let Some(Ok(address)) = words.next().map(str::parse) else { continue };
        for name in words.filter_map(|name| name.parse().ok()) {
            hosts.entry(name).or_default().push(address);
        }
    }
    hosts
}

#[cfg(test)]
mod tests {
    use super::*;
    use hickory_resolver::config::ConnectionConfig;
    use std::net::UdpSocket;

    fn resolve(names: &Names, host: &str) -> Result<Vec<String>, DialError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let addresses = runtime.block_on(names.resolve(&host.parse().unwrap()))?;
        Ok(addresses.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn literals_and_names_of_the_hosts_file_need_no_dns() {
        let hosts = "::1 localhost ip6-localhost\n127.0.0.1\tLocalHost. # own\n#10.0.0.9 no\nnonsense x\n10.1.1.1 nas\n";
        let names = Names::new(hosts);
        assert_eq!(resolve(&names, "9.9.9.9").unwrap(), ["9.9.9.9"]);
        assert_eq!(resolve(&names, "[2a00:1450::1]").unwrap(), ["2a00:1450::1"]);
        assert_eq!(resolve(&names, "LOCALHOST").unwrap(), ["127.0.0.1", "::1"]);
        assert_eq!(resolve(&names, "nas").unwrap(), ["10.1.1.1"]);
    }

    #[test]
    fn without_a_usable_resolv_conf_other_names_are_unresolved() {
        let mut names = Names::new("");
        for unusable in ["", "# empty", "search example.com\noptions ndots:3\n"] {
            assert!(names.ask(unusable.as_bytes()).is_err(), "{unusable:?}");
        }
        assert_eq!(resolve(&names, "api.example.com"), Err(DialError::Unresolved));
    }

    /// A name server that answers nothing but refusals: the answer is quick and an error.
    #[test]
    fn a_name_server_that_refuses_leaves_the_name_unresolved() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = server.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let mut packet = [0; 512];
            while let Ok((length, from)) = server.recv_from(&mut packet) {
                packet[2] |= 0x80;
                packet[3] = packet[3] & 0xf0 | 5;
                let _ = server.send_to(&packet[..length], from);
            }
        });
        let mut names = Names::new("");
        names.dns = Some(at_port(port));
        assert_eq!(resolve(&names, "api.example.com"), Err(DialError::Unresolved));
    }

    /// A name server of the test's own, which answers every question for an A record with two addresses.
    #[test]
    fn a_name_is_asked_whole_and_every_address_of_the_answer_is_given() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = server.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let mut packet = [0; 512];
            while let Ok((length, from)) = server.recv_from(&mut packet) {
                let _ = server.send_to(&answer(&packet[..length]), from);
            }
        });
        let mut names = Names::new("");
        names.dns = Some(at_port(port));
        assert_eq!(resolve(&names, "mixed.example.org").unwrap(), ["93.184.216.34", "10.0.0.1"]);
        assert_eq!(resolve(&names, "mixed.example"), Err(DialError::Unresolved));
    }

    fn at_port(port: u16) -> TokioResolver {
        let mut connection = ConnectionConfig::udp();
        connection.port = port;
        let server = NameServerConfig::new("127.0.0.1".parse().unwrap(), true, vec![connection]);
        let (_, options) = system_conf::parse_resolv_conf(
            "search evil.test\noptions ndots:5 timeout:1 attempts:1\nnameserver 127.0.0.1\n",
        )
        .unwrap();
        resolver(vec![server], options).unwrap()
    }

    /// The question given back with two A records; none if it asks for another name or type.
    fn answer(question: &[u8]) -> Vec<u8> {
        let name = question[12..].iter().position(|byte| *byte == 0).unwrap() + 13;
        let asked = question[12..name].eq_ignore_ascii_case(b"\x05mixed\x07example\x03org\0");
        let asks_a = asked && question[name + 1] == 1;
        let mut reply = question[..name + 4].to_vec();
        reply[2] |= 0x80;
        reply[3] = 0x80;
        reply[6..12].copy_from_slice(&[0, if asks_a { 2 } else { 0 }, 0, 0, 0, 0]);
        for address in [[93, 184, 216, 34], [10, 0, 0, 1]].iter().filter(|_| asks_a) {
            reply.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
            reply.extend(address);
        }
        reply
    }
}
