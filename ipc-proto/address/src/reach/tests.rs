//! Where a rule lets a target go, and what a glob covers.

use super::*;
use ipc_proto::{List, Text};
use proptest::prelude::*;

fn texts<const N: usize, const M: usize>(entries: &[&str]) -> List<Text<N>, M> {
    List::new(entries.iter().map(|entry| Text::new(*entry).unwrap()).collect::<Vec<_>>()).unwrap()
}

fn rule(mode: Mode, allow: &[&str], block: &[&str]) -> Rule {
    Rule { mode, allow: texts(allow), block: texts(block), ..Rule::default() }
}

fn go(url: &str, rule: &Rule) -> Result<(), Unfit> {
    may_go(&crate::parse(url).unwrap(), rule)
}

#[test]
fn each_mode_means_its_lists_as_it_says() {
    let allowlist = rule(Mode::Allowlist, &["api.example.com", "*.example.org"], &["bad.example.org"]);
    let blocklist = rule(Mode::Blocklist, &["api.example.com"], &["*.evil.test"]);
    let unrestricted = rule(Mode::Unrestricted, &[], &["evil.test"]);
    let cases = [
        ("https://api.example.com/", &allowlist, Ok(())),
        ("http://API.example.com.:8080/", &allowlist, Ok(())),
        ("https://docs.example.org/", &allowlist, Ok(())),
        ("https://example.org/", &allowlist, Err(Unfit::NotListed)),
        ("https://bad.example.org/", &allowlist, Err(Unfit::Blocked)),
        ("https://api.example.com.evil.test/", &allowlist, Err(Unfit::NotListed)),
        ("https://9.9.9.9/", &allowlist, Err(Unfit::NotListed)),
        ("https://any.example.net/", &blocklist, Ok(())),
        ("https://x.y.evil.test/", &blocklist, Err(Unfit::Blocked)),
        ("https://any.example.net/", &unrestricted, Ok(())),
        ("https://evil.test/", &unrestricted, Err(Unfit::Blocked)),
        ("https://9.9.9.9/", &unrestricted, Ok(())),
        ("https://any.example.net/", &Rule::default(), Err(Unfit::NotListed)),
    ];
    for (url, rule, want) in cases {
        assert_eq!(go(url, rule), want, "{url} {:?}", rule.mode);
    }
}

// Holds P4-08.
#[test]
fn no_list_lets_a_fetch_go_inside() {
    let everything = rule(Mode::Allowlist, &["*"], &[]);
    let addresses = [
        "127.0.0.1",
        "10.1.2.3",
        "169.254.169.254",
        "100.100.100.200",
        "0.0.0.0",
        "192.0.0.192",
        "[::1]",
        "[::]",
        "[::ffff:9.9.9.9]",
        "[64:ff9b::909:909]",
        "[2002:909:909::1]",
        "[fd00:ec2::254]",
        "[fe80::1]",
        "255.255.255.255",
    ];
    for address in addresses {
        let spelt_out = rule(Mode::Allowlist, &[address], &[]);
        for rule in [&everything, &spelt_out] {
            assert_eq!(go(&format!("http://{address}/"), rule), Err(Unfit::NotPublic), "{address}");
        }
    }
    let names = [
        "localhost",
        "LOCALHOST.",
        "a.localhost",
        "ip6-localhost",
        "metadata",
        "metadata.google.internal",
        "metadata.goog",
        "instance-data",
        "instance-data.ec2.internal",
        "kubernetes.default.svc",
        "x.svc.cluster.local",
        "printer.local",
        "router.lan",
        "wiki.corp",
        "nas.home.arpa",
    ];
    for name in names {
        let spelt_out = rule(Mode::Allowlist, &[name], &[]);
        for rule in [&everything, &spelt_out] {
            assert_eq!(go(&format!("http://{name}/"), rule), Err(Unfit::LocalName), "{name}");
        }
    }
    assert_eq!(go("http://nas/", &everything), Err(Unfit::LocalName));
    assert_eq!(go("http://nas/", &rule(Mode::Allowlist, &["NAS"], &[])), Ok(()));
    assert_eq!(go("http://localhost.example.com/", &everything), Ok(()));
    assert_eq!(go("http://notlocalhost.example.com/", &everything), Ok(()));
}

// Holds P4-08.
#[test]
fn a_private_host_of_the_owner_s_is_reached_at_its_port_as_lists_allow() {
    let mut rule = rule(Mode::Blocklist, &[], &[]);
    rule.private = texts(&["localhost:8080", "10.0.0.9:443", "[::1]:80", "nonsense"]);
    rule.blocked_ports = List::new(vec![25]).unwrap();
    let cases = [
        ("http://localhost:8080/x", Ok(())),
        ("https://10.0.0.9/", Ok(())),
        ("http://[::1]/", Ok(())),
        ("http://localhost:8081/", Err(Unfit::LocalName)),
        ("http://10.0.0.9/", Err(Unfit::NotPublic)),
        ("http://a.example.org:25/", Err(Unfit::BlockedPort)),
    ];
    for (url, want) in cases {
        assert_eq!(go(url, &rule), want, "{url}");
    }
    rule.block = texts(&["localhost"]);
    assert_eq!(go("http://localhost:8080/x", &rule), Err(Unfit::Blocked));
    rule.mode = Mode::Allowlist;
    assert_eq!(go("https://10.0.0.9/", &rule), Err(Unfit::NotListed));
}

// Holds P4-06.
#[test]
fn one_address_that_is_not_public_spoils_a_name() {
    let answer = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<IpAddr>>();
    assert_eq!(may_connect(&answer(&["93.184.216.34", "2606:2800:220:1::1"])), Ok(()));
    assert_eq!(may_connect(&[]), Err(Unfit::Unresolved));
    for bad in ["10.0.0.1", "169.254.169.254", "0.0.0.0", "100.64.1.1", "::1", "::ffff:93.184.216.34"] {
        assert_eq!(may_connect(&answer(&["93.184.216.34", bad])), Err(Unfit::PrivateAnswer), "{bad}");
    }
}

#[test]
fn a_star_stands_for_labels_or_for_characters_within_one() {
    let cases = [
        ("example.com", "example.com", true),
        ("Example.COM.", "example.com", true),
        ("example.com", "a.example.com", false),
        ("*.example.com", "a.example.com", true),
        ("*.example.com", "a.b.example.com", true),
        ("*.example.com", "example.com", false),
        ("*.example.com", "badexample.com", false),
        ("a.*.com", "a.b.c.com", true),
        ("a.*.com", "a.com", false),
        ("api-*.example.com", "api-eu.example.com", true),
        ("api-*.example.com", "api-.example.com", false),
        ("api-*.example.com", "api-x.evil.example.com", false),
        ("*bank.com", "mybank.com", true),
        ("*bank.com", "my.bank.com", false),
        ("*", "anything.example.com", true),
        ("*", "9.9.9.9", true),
        ("9.9.9.9", "9.9.9.9", true),
        ("9.9.*", "9.9.9.9", false),
        ("[2001:DB8::1]", "2001:db8::1", true),
        ("*.*", "example", false),
        ("", "example.com", false),
    ];
    for (glob, host, want) in cases {
        let Ok(host) = host.parse() else { continue };
        assert_eq!(host_matches(glob, &host), want, "{glob} {host}");
    }
}

proptest! {
    #[test]
    fn a_name_is_covered_by_itself_and_by_any_glob_of_its_end(name in "[a-z]{1,3}(\\.[a-z]{1,3}){1,4}") {
        let host: Host = name.parse().unwrap();
        let (_, end) = name.split_once('.').unwrap();
        let (glob, other) = (format!("*.{end}"), format!("*.x{end}"));
        prop_assert!(host_matches(&name, &host) && host_matches(&glob, &host));
        prop_assert!(!host_matches(&other, &host));
    }

    #[test]
    fn a_glob_covers_a_name_only_by_a_star_at_its_end(glob in "[*.a]{0,253}") {
        let host: Host = "a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.aaaaaaaaaaaaaaaaaaaab".parse().unwrap();
        let covered = host_matches(&glob, &host);
        prop_assert!(!covered || glob.ends_with('*') || glob.ends_with("*."));
    }
}
