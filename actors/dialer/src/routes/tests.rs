//! The tables are those of a kernel in a network namespace with two pairs of veth interfaces.

use super::*;
use std::net::UdpSocket;

/// One link with 93.184.216.5/24 and a peer at 8.8.4.4, one tunnel with 10.8.0.2/24 and half of the internet behind
/// it, a gateway, and a table that takes everything in for a proxy.
const FIB_TRIE: &str = "\
Id 100:
  +-- 0.0.0.0/2 2 0 2
     |-- 0.0.0.0
        /0 host LOCAL
     |-- 45.1.0.0
        /16 host LOCAL
Main:
  +-- 0.0.0.0/0 4 1 11
     +-- 0.0.0.0/4 2 1 2
        |-- 0.0.0.0
           /1 link UNICAST
           /0 universe UNICAST
        +-- 8.0.0.0/6 2 0 2
           |-- 8.8.4.4
              /32 link UNICAST
              +-- 10.8.0.0/24 2 0 2
                 +-- 10.8.0.0/30 2 0 2
                    |-- 10.8.0.0
                       /24 link UNICAST
                    |-- 10.8.0.2
                       /32 host LOCAL
                 |-- 10.8.0.255
                    /32 link BROADCAST
     +-- 44.0.0.0/6 2 0 1
        |-- 44.0.0.0
           /8 link UNICAST
        |-- 46.0.0.0
           /8 universe UNICAST
        |-- 47.0.0.0
           /8 universe BLACKHOLE
     +-- 93.184.216.0/24 2 0 2
        +-- 93.184.216.0/29 2 0 2
           |-- 93.184.216.0
              /24 link UNICAST
           |-- 93.184.216.5
              /32 host LOCAL
        |-- 93.184.216.255
           /32 link BROADCAST
     |-- 128.0.0.0
        /1 link UNICAST
";

/// The same with 2a00:1450:1::5/64, a host 2a02::1 on the link, a gateway for 2a03::/32, 2a04::/64 as this machine's
/// own and 2a05::/64 behind the tunnel: destination and length, gateway, flags.
const IPV6_ROUTE: [(&str, &str, &str); 11] = [
    ("2a001450000100000000000000000000 40", NONE, "00000001"),
    ("2a010000000000000000000000000000 20", NONE, "00200200"),
    ("2a020000000000000000000000000001 80", NONE, "00000001"),
    ("2a030000000000000000000000000000 20", "2a001450000100000000000000000001", "00000003"),
    ("2a050000000000000000000000000000 40", NONE, "00000001"),
    ("80000000000000000000000000000000 01", NONE, "00000001"),
    ("00000000000000000000000000000000 00", "2a001450000100000000000000000001", "00000003"),
    ("00000000000000000000000000000001 80", NONE, "80200001"),
    ("2a001450000100000000000000000005 80", NONE, "80200001"),
    ("2a040000000000000000000000000000 40", NONE, "80000001"),
    ("00000000000000000000000000000000 00", NONE, "00200200"),
];
const NONE: &str = "00000000000000000000000000000000";

fn ipv6_route() -> String {
    let line = |(to, gateway, flags): &(&str, &str, &str)| {
        format!("{to} {NONE} 00 {gateway} 00000400 00000001 00000000 {flags}       e0\n")
    };
    IPV6_ROUTE.iter().map(line).collect()
}

fn holds(networks: &LocalNetworks, address: &str) -> bool {
    networks.holds(address.parse().unwrap())
}

// Holds P4-32.
#[test]
fn own_addresses_and_those_on_links_are_held_and_no_others() {
    let networks = LocalNetworks::parse(FIB_TRIE, &ipv6_route());
    let local = [
        "93.184.216.5",
        "93.184.216.0",
        "93.184.216.1",
        "93.184.216.255",
        "10.8.0.2",
        "10.8.0.77",
        "8.8.4.4",
        "45.1.2.3",
        "::1",
        "2a00:1450:1::5",
        "2a00:1450:1::1",
        "2a00:1450:1:0:ffff:ffff:ffff:ffff",
        "2a02::1",
        "2a04::77",
    ];
    for address in local {
        assert!(holds(&networks, address), "{address}");
    }
    let outside = [
        "93.184.215.255", "93.184.217.0", "8.8.4.5", "9.9.9.9", "10.9.0.1", "44.0.0.1", "45.2.0.1",
        "46.0.0.1", "47.0.0.1", "200.1.1.1", "2a00:1450:1:1::5", "2a01::1", "2a02::2", "2a03::1", "2a05::1",
        "2a06::1",
    ];
    for address in outside {
        assert!(!holds(&networks, address), "{address}");
    }
}

#[test]
fn lines_of_another_form_are_skipped() {
    let v4 = "|-- nonsense\n/24 link UNICAST\n|-- 9.9.9.0\n/x link UNICAST\n/33 host LOCAL\n/24\n/\n\n";
    let v6 = "2a00 40\nzz 80 0 0 0 0 0 0 80000001 lo\n\n";
    let networks = LocalNetworks::parse(v4, v6);
    assert!(!holds(&networks, "9.9.9.9") && !holds(&networks, "2a00::1"));
}

// Holds P4-32.
#[test]
fn the_tables_of_this_machine_name_every_address_it_sends_from() {
    let tables = RouteTables::open().unwrap();
    let networks = tables.read().unwrap();
    assert!(holds(&networks, "127.0.0.1") && holds(&networks, "127.0.0.2"));
    // A datagram socket that is connected sends nothing; it only chooses its own address.
    for (from, to) in [("0.0.0.0:0", "198.51.100.1:9"), ("[::]:0", "[2001:db8::1]:9")] {
        let socket = UdpSocket::bind(from);
        let chosen = socket.and_then(|socket| socket.connect(to).and_then(|()| socket.local_addr()));
        if let Ok(address) = chosen {
            assert!(networks.holds(address.ip()), "{address}");
        }
    }
    assert_eq!(tables.read().unwrap().own, networks.own, "a second reading begins anew");
}
