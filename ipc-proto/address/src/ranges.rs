//! The addresses that belong to the public internet: the special-purpose registries of IANA, and the addresses
//! at which clouds serve their own instances. Pure data and one function; an address that is not known to be
//! public is not public.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Addresses of version 4 that nobody outside is reached at, with the length of the prefix.
const V4: &[(Ipv4Addr, u32, &str)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8, "this network; Linux connects 0.0.0.0 to itself"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "private"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "carrier-grade NAT; cloud metadata at 100.100.100.200"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "loopback"),
    (Ipv4Addr::new(168, 63, 129, 16), 32, "Azure's wire server: every instance's own host"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "link-local; cloud metadata at 169.254.169.254"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "private"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "protocol assignments; cloud metadata at 192.0.0.192"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "documentation"),
    (Ipv4Addr::new(192, 31, 196, 0), 24, "AS112"),
    (Ipv4Addr::new(192, 52, 193, 0), 24, "multicast tunnelling"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "6to4 relays"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "private"),
    (Ipv4Addr::new(192, 175, 48, 0), 24, "AS112"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "benchmarks"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "documentation"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "documentation"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "multicast"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "reserved, and broadcast"),
];

/// Global unicast of version 6: what lies outside is loopback, IPv4 in disguise (`::ffff:0:0/96`, `::/96`,
/// `64:ff9b::/96`), discard, local, link-local, site-local, multicast or not assigned.
const GLOBAL_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Parts of global unicast that are not public all the same.
const V6: &[(Ipv6Addr, u32, &str)] = &[
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, "protocol assignments: Teredo, ORCHID, benchmarks"),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, "documentation"),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, "6to4: any IPv4 address, in disguise"),
    (Ipv6Addr::new(0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0), 48, "AS112"),
    (Ipv6Addr::new(0x3ffe, 0, 0, 0, 0, 0, 0, 0), 16, "6bone, returned"),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, "documentation"),
];

/// Returns whether an address is one of the public internet.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !V4.iter().any(|(base, length, _)| in_v4(address, *base, *length)),
        IpAddr::V6(address) => {
            in_v6(address, GLOBAL_V6.0, GLOBAL_V6.1)
                && !V6.iter().any(|(base, length, _)| in_v6(address, *base, *length))
        }
    }
}

fn in_v4(address: Ipv4Addr, base: Ipv4Addr, length: u32) -> bool {
    (address.to_bits() ^ base.to_bits()).leading_zeros() >= length
}

fn in_v6(address: Ipv6Addr, base: Ipv6Addr, length: u32) -> bool {
    (address.to_bits() ^ base.to_bits()).leading_zeros() >= length
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn public(text: &str) -> bool {
        is_public(text.parse().unwrap())
    }

    #[test]
    fn the_ends_of_every_range_are_not_public_and_most_neighbours_are() {
        for (base, length, why) in V4 {
            let last = Ipv4Addr::from_bits(base.to_bits() | u32::MAX.checked_shr(*length).unwrap_or(0));
            assert!(!is_public((*base).into()) && !is_public(last.into()), "{base}/{length} {why}");
        }
        for (base, length, why) in V6 {
            let last = Ipv6Addr::from_bits(base.to_bits() | u128::MAX >> length);
            assert!(!is_public((*base).into()) && !is_public(last.into()), "{base}/{length} {why}");
        }
        let neighbours = [
            "1.0.0.0",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "168.63.129.15",
            "168.63.129.17",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "191.255.255.255",
            "192.0.1.0",
            "192.0.3.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "203.0.112.255",
            "203.0.114.0",
            "223.255.255.255",
            "2001:200::",
            "2001:db7::1",
            "2001:db9::",
            "2003::",
            "2606:2800:220:1:248:1893:25c8:1946",
            "2a00:1450::1",
            "3ffd::",
            "4.4.4.4",
        ];
        for text in neighbours {
            assert!(public(text), "{text}");
        }
    }

    /// The classes of the corpus `ssrf`, each address in the forms in which a resolver can answer it.
    // Holds P4-06.
    #[test]
    fn no_class_of_hostile_address_is_public_in_any_disguise() {
        let hostile = [
            "0.0.0.0", "10.0.0.5", "100.100.100.200", "127.0.0.1", "127.8.8.8", "169.254.169.254",
            "169.254.170.2", "172.16.3.4", "192.0.0.8", "192.168.1.1", "198.18.0.1", "224.0.0.1",
            "240.0.0.1", "255.255.255.255",
        ];
        for text in hostile {
            assert!(!public(text), "{text}");
            let v4: Ipv4Addr = text.parse().unwrap();
            let [a, b, c, d] = v4.octets().map(u16::from);
            let (high, low) = (a << 8 | b, c << 8 | d);
            let disguises = [
                Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, high, low),
                Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low),
                Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, high, low),
                Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
                Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, high, low),
                Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
                Ipv6Addr::new(0x2001, 0, high, low, 0, 0, 0, 1),
                Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0x5efe, high, low),
            ];
            for disguise in disguises {
                assert!(!is_public(disguise.into()), "{text} as {disguise}");
            }
        }
        let v6 = [
            "::", "::1", "100::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fd20:ce::254", "fe80::1",
            "fec0::1", "ff02::1", "ff0e::1", "4000::1", "1fff::1",
        ];
        for text in v6 {
            assert!(!public(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_public_is_global_by_the_standard_library_too(bits: u32) {
            let address = Ipv4Addr::from_bits(bits);
            let local = address.is_private() || address.is_loopback() || address.is_link_local()
                || address.is_broadcast() || address.is_documentation() || address.is_multicast()
                || address.is_unspecified();
            prop_assert!(!local || !is_public(address.into()));
        }

        #[test]
        fn an_ipv4_address_in_any_mapped_form_is_never_public(bits: u32) {
            let address = Ipv4Addr::from_bits(bits);
            prop_assert!(!is_public(address.to_ipv6_mapped().into()));
            prop_assert!(!is_public(address.to_ipv6_compatible().into()));
        }
    }
}
