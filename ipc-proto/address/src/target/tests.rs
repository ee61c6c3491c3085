//! How a URL is read, and which URLs are refused: classes of disguise, and properties that hold for any text.

use super::*;
use proptest::prelude::*;

fn read(url: &str) -> String {
    parse(url).map_or_else(|unfit| format!("{unfit:?}"), |target| target.to_string())
}

#[test]
fn plain_urls_are_read_as_what_they_are() {
    let cases = [
        ("https://api.example.com", "https://api.example.com/"),
        ("HTTPS://API.Example.COM/Path", "https://api.example.com/Path"),
        ("https://api.example.com:443/", "https://api.example.com/"),
        ("http://api.example.com:443/", "http://api.example.com:443/"),
        ("http://api.example.com:80", "http://api.example.com/"),
        ("http://api.example.com:/", "http://api.example.com/"),
        ("https://api.example.com./x", "https://api.example.com/x"),
        ("https://api.example.com/a%20b?q=a@b.c#@evil.test", "https://api.example.com/a%20b?q=a@b.c"),
        ("https://api.example.com?u=http://127.0.0.1/", "https://api.example.com/?u=http://127.0.0.1/"),
        ("https://api.example.com#part", "https://api.example.com/"),
        ("http://api.example.com/../..//evil.test", "http://api.example.com//evil.test"),
        ("http://api.example.com/a/%2e%2e/b", "http://api.example.com/b"),
        ("http://api.example.com/\u{e9}?\u{e9}", "http://api.example.com/%C3%A9?%C3%A9"),
        ("http://93.184.216.34:8080/", "http://93.184.216.34:8080/"),
        ("http://[2606:2800:0220::0001]/", "http://[2606:2800:220::1]/"),
        ("http://127.0.0.1/", "http://127.0.0.1/"),
        ("http://999999999.com/", "http://999999999.com/"),
        ("http://a_b.example.com/", "http://a_b.example.com/"),
        ("http://b\u{fc}cher.example/", "http://xn--bcher-kva.example/"),
        ("http://B\u{dc}CHER.example/", "http://xn--bcher-kva.example/"),
        ("http://xn--bcher-kva.example/", "http://xn--bcher-kva.example/"),
        ("http://\u{4f60}\u{597d}.example/", "http://xn--6qq79v.example/"),
    ];
    for (url, want) in cases {
        assert_eq!(read(url), want, "{url}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a row for each way to write an address")]
fn what_two_parsers_could_read_in_two_ways_is_refused() {
    use Unfit::{Character, Host, NoHost, Port, Scheme, UserPart};
    let cases: &[(Unfit, &[&str])] = &[
        (
            Scheme,
            &[
                "",
                "api.example.com",
                "//api.example.com/",
                "/x",
                "file:///etc/passwd",
                "gopher://a.test/",
                "javascript:alert(1)",
                "jar:https://a.test!/",
                "data:text/plain,x",
                "ftp://a.test/",
                "ws://a.test/",
                "view-source:http://a.test/",
                "https",
                "dict://",
                "h\u{17f}ttp://a.test/",
            ],
        ),
        (
            NoHost,
            &[
                "http:", "http:/a.test/", "http:a.test", "http:///a.test/", "https://", "https://?a.test",
                "https://#", "https:////a.test", "http://:80/",
            ],
        ),
        (
            UserPart,
            &[
                "http://user@a.test/",
                "http://user:pw@a.test/",
                "http://@a.test/",
                "http://a.test@evil.test/",
                "http://a.test:80@evil.test:80/",
                "http://a.test&@evil.test/",
                "http://x@evil.test:80@a.test/",
            ],
        ),
        (
            Character,
            &[
                "http://a.test\\@evil.test/",
                "http://a.test\\.evil.test/",
                "http:\\\\a.test/",
                "http://a.test/\\x",
                "http://a.test\t.evil.test/",
                "http://a.test\n/",
                " http://a.test/",
                "http://a.test/ x",
                "http://a.test/\0",
                "http://a.test .evil.test/",
                "http://a.test/\u{a0}",
                "http://a.test/\u{85}",
                "http://a\u{3000}.test/",
                "http://a.test/\r\nHost: evil.test",
            ],
        ),
        (
            Port,
            &[
                "http://a.test:0/",
                "http://a.test:99999/",
                "http://a.test:080/",
                "http://a.test:+80/",
                "http://a.test:x/",
                "http://a.test:8o/",
                "http://[::1]:0/",
            ],
        ),
        (
            Host,
            &[
                "http://2130706433/",
                "http://0x7f000001/",
                "http://0x7f.1/",
                "http://127.1/",
                "http://127.0.1/",
                "http://0177.0.0.1/",
                "http://127.000.000.001/",
                "http://127.0.0.1./",
                "http://1.2.3.4.5/",
                "http://0/",
                "http://0x41414141A9FEA9FE/",
                "http://7147006462/",
                "http://256.0.0.1/",
                "http://a.0x/",
                "http://%31%32%37%2e%30%2e%30%2e%31/",
                "http://loc%61lhost/",
                "http://a.test%2eevil.test/",
                "http://a.test%0d%0aHost:%20b/",
                "http://a..test/",
                "http://.a.test/",
                "http://./",
                "http://a.test../",
                "http://-a.test/",
                "http://a-.test/",
                "http://*.a.test/",
                "http://a.test,b/",
                "http://${HOST}/",
                "http://[a.test]/",
                "http://[127.0.0.1]/",
                "http://[::1/",
                "http://::1/",
                "http://::1]/",
                "http://[::1]x/",
                "http://[::1%25eth0]/",
                "http://[]/",
                "http://[host]:[port]/",
                "http://a:1:2/",
                "http://\u{ff11}\u{ff12}\u{ff17}.0.0.1/",
                "http://127\u{3002}0\u{3002}0\u{3002}1/",
                "http://\u{2460}\u{2461}\u{2466}.\u{24ea}.\u{24ea}.\u{2460}/",
                "http://a.test\u{ff0f}evil.test/",
                "http://\u{ff27}o.test/",
                "http://go\u{200b}go.test/",
                "http://a\u{ad}b.test/",
                "http://\u{202e}a.test/",
                "http://a\u{2024}test/",
                "http://xn--/",
                "http://xn--pokxncvks/",
                "http://\u{1f4a9}.123/",
                "http://a\u{ff20}b.test/",
                "http://\u{212a}elvin.test/",
            ],
        ),
    ];
    for (unfit, urls) in cases {
        for url in *urls {
            assert_eq!(parse(url).err(), Some(*unfit), "{url:?}");
        }
    }
    assert_eq!(parse(&format!("http://a.test/{}", "x".repeat(URL_BOUND))).err(), Some(Unfit::TooLong));
    assert_eq!(parse(&format!("http://a.test/{}", "\u{e9}".repeat(900))).err(), Some(Unfit::TooLong));
}

#[test]
fn a_redirect_is_read_from_where_it_comes_and_as_strictly_as_a_url() {
    let here = parse("https://api.example.com:8443/a/b?q=1").unwrap();
    let cases = [
        ("/x", "https://api.example.com:8443/x"),
        ("x?y", "https://api.example.com:8443/a/x?y"),
        ("?y", "https://api.example.com:8443/a/b?y"),
        ("../../..", "https://api.example.com:8443/"),
        ("#part", "https://api.example.com:8443/a/b?q=1"),
        ("", "https://api.example.com:8443/a/b?q=1"),
        ("/r?to=http://127.0.0.1/", "https://api.example.com:8443/r?to=http://127.0.0.1/"),
        ("//docs.example.org/x", "https://docs.example.org/x"),
        ("http://docs.example.org/x", "http://docs.example.org/x"),
        ("//127.0.0.1/", "https://127.0.0.1/"),
        ("file:///etc/passwd", "Scheme"),
        ("javascript:x", "Scheme"),
        ("a.test:80/x", "Scheme"),
        ("https:x", "NoHost"),
        ("https:///x", "NoHost"),
        ("///x", "NoHost"),
        ("\\\\127.0.0.1\\x", "Character"),
        ("/\\127.0.0.1", "Character"),
        ("/a\tb", "Character"),
        ("//user@a.test/", "UserPart"),
        ("//2130706433/", "Host"),
    ];
    for (location, want) in cases {
        let got =
            here.follow(location).map_or_else(|unfit| format!("{unfit:?}"), |target| target.to_string());
        assert_eq!(got, want, "{location:?}");
    }
}

#[test]
fn an_origin_is_scheme_host_and_port() {
    let of = |url| parse(url).unwrap();
    let here = of("https://a.example.org/x");
    for (url, same) in [
        ("https://A.example.org:443/y", true),
        ("http://a.example.org/x", false),
        ("https://a.example.org:444/x", false),
        ("https://b.example.org/x", false),
    ] {
        assert_eq!(here.same_origin(&of(url)), same, "{url}");
    }
}

proptest! {
    #[test]
    fn what_is_read_once_is_read_again_as_the_same(
        url in "(https?|HTTP)://(\\PC{0,12}|[a-z0-9.@:\\[\\]%-]{0,16})(:[0-9]{0,6})?([/?#](\\PC|[a-z0-9./%?#@:-]){0,24})?|\\PC{0,40}",
    ) {
        if let Ok(target) = parse(&url) {
            let shown = target.to_string();
            prop_assert!(shown.bytes().all(|byte| byte.is_ascii_graphic()) && shown.len() <= URL_BOUND);
            prop_assert!(target.path_and_query.starts_with('/') && target.port != 0);
            prop_assert_eq!(parse(&shown), Ok(target));
        }
    }

    #[test]
    fn a_redirect_without_a_host_stays_where_it_is(location in "[a-z0-9./?#&=%-]{0,30}") {
        let here = parse("https://api.example.com/a/b").unwrap();
        if let Ok(there) = here.follow(&location) {
            prop_assert!(there.same_origin(&here) || location.starts_with("//"));
        }
    }
}
