//! This machine's own addresses and the networks that it is attached to, as the kernel's route tables show them.
//!
//! Both tables are opened before the seal and read anew for each decision, since addresses come and go while the host
//! runs. Reading them needs no netlink socket and no system call beyond those that every process has.

use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::FileExt as _;

/// Routes of IPv4, by address. `self` is this process, whose network is the host's.
const V4: &str = "/proc/self/net/fib_trie";
/// Routes of IPv6, one a line.
const V6: &str = "/proc/self/net/ipv6_route";
/// Bytes of one table that are read, about 40,000 routes; a longer one is an error.
const BOUND: u64 = 4 * 1024 * 1024;
/// Bits of the shortest prefix that names a network: shorter ones are default routes, whole or in halves.
const SHORTEST: u32 = 8;

/// Bits of `linux/ipv6_route.h` and `linux/route.h`: the route leads to this machine itself, leads nowhere, or leads
/// through a gateway.
const LOCAL: u32 = 0x8000_0000;
const REJECT: u32 = 0x0200;
const GATEWAY: u32 = 0x0002;

/// The kernel's route tables, open for reading.
pub(crate) struct RouteTables {
    v4: File,
    /// `None` on a kernel without IPv6.
    v6: Option<File>,
}

/// Why the tables could not be opened or read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RouteFault {
    /// One could not be opened.
    #[error("{path} cannot be opened: {cause}; mount /proc with net in it")]
    Open { path: &'static str, cause: io::Error },
    /// One could not be read.
    #[error("{path} cannot be read: {cause}")]
    Read { path: &'static str, cause: io::Error },
    /// One is longer than is read.
    #[error("{path} is longer than {BOUND} bytes: this machine has too many routes to judge an address by")]
    TooLong { path: &'static str },
}

impl RouteTables {
    /// Opens both.
    pub(crate) fn open() -> Result<Self, RouteFault> {
        let v4 = File::open(V4).map_err(|cause| RouteFault::Open { path: V4, cause })?;
        let v6 = match File::open(V6) {
            Ok(file) => Some(file),
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => None,
            Err(cause) => return Err(RouteFault::Open { path: V6, cause }),
        };
        Ok(Self { v4, v6 })
    }

    /// The networks as they are now.
    pub(crate) fn read(&self) -> Result<LocalNetworks, RouteFault> {
        let v4 = read(&self.v4, V4)?;
        let v6 = self.v6.as_ref().map(|file| read(file, V6)).transpose()?;
        Ok(LocalNetworks::parse(&v4, v6.as_deref().unwrap_or_default()))
    }
}

/// A whole table from its beginning. `pread` leaves no position behind, so each reading is a new one.
fn read(file: &File, path: &'static str) -> Result<String, RouteFault> {
    let (mut text, mut piece) = (Vec::new(), vec![0; 64 * 1024]);
    loop {
        let at = text.len() as u64;
        let length = file.read_at(&mut piece, at).map_err(|cause| RouteFault::Read { path, cause })?;
        text.extend_from_slice(piece.get(..length).unwrap_or_default());
        if length == 0 {
            return Ok(String::from_utf8_lossy(&text).into_owned());
        }
        if text.len() as u64 > BOUND {
            return Err(RouteFault::TooLong { path });
        }
    }
}

/// The addresses of this machine and of its links.
#[derive(Debug, Default)]
pub(crate) struct LocalNetworks {
    /// Addresses that the kernel delivers to this machine itself.
    own: Vec<Prefix>,
    /// Networks that it reaches without a gateway.
    linked: Vec<Prefix>,
}

/// A network: its address in the top bits, and how many of them count. IPv4 uses the top 32 of 128.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Prefix {
    is_v4: bool,
    bits: u128,
    length: u32,
}

impl LocalNetworks {
    /// Reads the two tables; lines of another form are skipped.
    pub(crate) fn parse(v4: &str, v6: &str) -> Self {
        let mut networks = Self::default();
        networks.parse_v4(v4);
        for line in v6.lines() {
            networks.parse_v6(line);
        }
        networks
    }

    /// Returns true if the address is one of this machine's own or of a host on one of its links. A link's network is
    /// known by an address of this machine that lies in it, or is a single host: routes of a tunnel, which lead to the
    /// whole internet without a gateway, are neither.
    pub(crate) fn holds(&self, address: IpAddr) -> bool {
        let address = Prefix::host(address);
        let own = |network: &Prefix| self.own.iter().any(|own| network.contains(own));
        self.own.iter().any(|own| own.contains(&address))
            || self
                .linked
                .iter()
                .any(|network| network.contains(&address) && (network.is_host() || own(network)))
    }

    /// A leaf of the trie is a line `|-- ADDRESS`, and each of its routes one below it: `/LENGTH SCOPE TYPE`.
    fn parse_v4(&mut self, text: &str) {
        let mut leaf = None;
        for line in text.lines().map(str::trim_start) {
            if let Some(address) = line.strip_prefix("|-- ") {
                leaf = address.parse::<Ipv4Addr>().ok();
            } else if let (Some(address), Some(route)) = (leaf, line.strip_prefix('/')) {
                let mut fields = route.split_whitespace();
                let length = fields.next().and_then(|length| length.parse().ok());
                let Some(prefix) = length.and_then(|length| Prefix::new(address.into(), length)) else {
                    continue;
                };
                match (fields.next(), fields.next()) {
                    (_, Some("LOCAL")) => self.own.push(prefix),
                    (Some("link"), Some("UNICAST")) => self.linked.push(prefix),
                    _ => {}
                }
            }
        }
    }

    /// Destination, its length, source, its length, gateway, metric, two counts, flags and device, in hexadecimal.
    fn parse_v6(&mut self, line: &str) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [to, length, _, _, gateway, _, _, _, flags, _] = fields.as_slice() else { return };
        let hex = |text: &str| u32::from_str_radix(text, 16).ok();
        let address = u128::from_str_radix(to, 16).ok().map(|bits| Ipv6Addr::from_bits(bits).into());
        let prefix = address.zip(hex(length)).and_then(|(address, length)| Prefix::new(address, length));
        let (Some(prefix), Some(flags)) = (prefix, hex(flags)) else { return };
        if flags & LOCAL != 0 {
            self.own.push(prefix);
        } else if flags & (REJECT | GATEWAY) == 0 && gateway.bytes().all(|digit| digit == b'0') {
            self.linked.push(prefix);
        }
    }
}

impl Prefix {
    /// `None` for one that is too short to name a network, or longer than an address.
    fn new(address: IpAddr, length: u32) -> Option<Self> {
        let host = Self::host(address);
        (SHORTEST..=host.length).contains(&length).then_some(Self { length, ..host })
    }

    fn host(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => {
                Self { is_v4: true, bits: u128::from(address.to_bits()) << 96, length: 32 }
            }
            IpAddr::V6(address) => Self { is_v4: false, bits: address.to_bits(), length: 128 },
        }
    }

    const fn is_host(&self) -> bool {
        self.length == if self.is_v4 { 32 } else { 128 }
    }

    const fn contains(&self, other: &Self) -> bool {
        self.is_v4 == other.is_v4
            && self.length <= other.length
            && (self.bits ^ other.bits).leading_zeros() >= self.length
    }
}

#[cfg(test)]
mod tests;
