//! The public address of a tunnel, and why there is none, in the lines that a vendor's program prints.

use super::vendor::Vendor;
use crate::text;
use serde_json::Value;
use std::net::SocketAddr;

/// Characters of a reason that are kept.
const REASON: usize = 300;

/// Something of use in a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// The public address.
    Address(String),
    /// Why there is none.
    Trouble(String),
}

/// Reads a line of the vendor's program, which leads to `listen`.
pub(super) fn heard(vendor: Vendor, listen: SocketAddr, domain: Option<&str>, line: &str) -> Option<Heard> {
    let heard = match vendor {
        Vendor::Tailscale => tailscale(line),
        Vendor::Cloudflare => cloudflare(listen, domain, line),
        Vendor::Ngrok => ngrok(line),
    }?;
    Some(match heard {
        Heard::Trouble(why) => Heard::Trouble(text::begin(why.trim().trim_end_matches('.'), REASON)),
        address => address,
    })
}

/// The first https address of the line whose host is one that is looked for.
fn address(line: &str, is_ours: impl Fn(&str) -> bool) -> Option<String> {
    let begins = line.match_indices("https://").map(|(at, _)| line.get(at..).unwrap_or_default());
    let whole = begins.map(|rest| rest.split([' ', '|', '"', '\t']).next().unwrap_or_default());
    let host =
        |url: &str| url.trim_start_matches("https://").split('/').next().unwrap_or_default().to_owned();
    whole.map(|url| url.trim_end_matches('/')).find(|url| is_ours(&host(url))).map(str::to_owned)
}

fn tailscale(line: &str) -> Option<Heard> {
    if let Some(url) = address(line, |host| host.ends_with(".ts.net")) {
        return Some(Heard::Address(url));
    }
    let consent = address(line, |host| host == "login.tailscale.com");
    consent.map(|url| Heard::Trouble(format!("Tailscale asks for your consent; open {url}, then try again")))
}

fn cloudflare(listen: SocketAddr, domain: Option<&str>, line: &str) -> Option<Heard> {
    if let Some((_, rest)) = line.split_once("Updated to new configuration config=") {
        return Some(configured(listen, domain, rest));
    }
    let quick = |host: &str| host.ends_with(".trycloudflare.com") && host != "api.trycloudflare.com";
    // The reason for its end has no time before it; a hint at its help may follow.
    let last = line.starts_with(|it: char| it.is_ascii_alphabetic()) && !line.starts_with("See ");
    let why = line.split_once(" ERR ").map(|(_, why)| why).or_else(|| last.then_some(line));
    address(line, quick).map(Heard::Address).or_else(|| why.map(|why| Heard::Trouble(why.to_owned())))
}

/// The public host name that a tunnel of a dashboard has for ingress; the configuration is JSON in a JSON string.
fn configured(listen: SocketAddr, domain: Option<&str>, text: &str) -> Heard {
    let quoted = serde_json::Deserializer::from_str(text).into_iter::<String>().next();
    let config = quoted.and_then(|text| serde_json::from_str::<Value>(&text.ok()?).ok());
    let rules = config.as_ref().and_then(|it| it.get("ingress")).and_then(Value::as_array);
    let local = [listen.to_string(), format!("localhost:{}", listen.port())];
    let name = rules.into_iter().flatten().find_map(|rule| {
        let word = |key| rule.get(key).and_then(Value::as_str);
        let (host, to) = (word("hostname")?, word("service")?.strip_prefix("http://")?);
        let leads = local.iter().any(|it| it == to.trim_end_matches('/'));
        (leads && !host.contains('*') && domain.is_none_or(|it| it == host)).then(|| host.to_owned())
    });
    name.map_or_else(
        || {
            let name = domain.unwrap_or("no public host name");
            Heard::Trouble(format!(
                "in Cloudflare's dashboard {name} of the tunnel does not lead to http://{listen}; set it there"
            ))
        },
        |name| Heard::Address(format!("https://{name}")),
    )
}

fn ngrok(line: &str) -> Option<Heard> {
    let Ok(entry) = serde_json::from_str::<Value>(line) else {
        let why = line.strip_prefix("ERROR:").map(str::trim).filter(|why| !why.is_empty());
        return why.map(|why| Heard::Trouble(why.to_owned()));
    };
    let word = |key| entry.get(key).and_then(Value::as_str);
    match (word("msg"), word("url"), word("lvl")) {
        (Some("started tunnel"), Some(url), _) if url.starts_with("https://") => {
            Some(Heard::Address(url.trim_end_matches('/').to_owned()))
        }
        (_, _, Some("eror" | "crit")) => word("err").map(|why| Heard::Trouble(why.to_owned())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(vendor: Vendor, line: &str) -> Option<Heard> {
        heard(vendor, ([127, 0, 0, 1], 8787).into(), None, line)
    }

    fn address(url: &str) -> Option<Heard> {
        Some(Heard::Address(url.to_owned()))
    }

    fn trouble(heard: Option<Heard>) -> String {
        match heard {
            Some(Heard::Trouble(why)) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_quick_tunnels_address_is_read_from_the_box_that_shows_it() {
        let cloudflare = |line| of(Vendor::Cloudflare, line);
        let shown =
            "2026-01-01T00:00:00Z INF |  https://shy-dog-42.trycloudflare.com                        |";
        assert_eq!(cloudflare(shown), address("https://shy-dog-42.trycloudflare.com"));
        for line in [
            "2026-01-01T00:00:00Z INF Requesting new quick Tunnel on trycloudflare.com...",
            "2026-01-01T00:00:00Z INF Thank you: https://developers.cloudflare.com/cloudflare-one/",
            "2026-01-01T00:00:00Z INF asked https://api.trycloudflare.com/tunnel",
            "See 'cloudflared tunnel run --help'.",
            "",
        ] {
            assert_eq!(cloudflare(line), None, "{line}");
        }
        for line in ["2026-01-01T00:00:00Z ERR the edge is gone", "the edge is gone"] {
            assert_eq!(trouble(cloudflare(line)), "the edge is gone");
        }
    }

    #[test]
    fn a_dashboards_host_name_counts_if_it_leads_to_ingress() {
        let line = |service: &str| {
            format!(
                "INF Updated to new configuration config=\"{{\\\"ingress\\\":[{{\\\"hostname\\\":\\\"a.example.com\\\",\
                 \\\"service\\\":\\\"{service}\\\"}},{{\\\"service\\\":\\\"http_status:404\\\"}}]}}\" version=8"
            )
        };
        for service in ["http://localhost:8787", "http://127.0.0.1:8787/"] {
            assert_eq!(of(Vendor::Cloudflare, &line(service)), address("https://a.example.com"));
        }
        for service in ["http://localhost:80", "ssh://localhost:8787"] {
            let why = trouble(of(Vendor::Cloudflare, &line(service)));
            assert!(why.contains("does not lead to http://127.0.0.1:8787"), "{why}");
        }
        let other = heard(
            Vendor::Cloudflare,
            ([127, 0, 0, 1], 8787).into(),
            Some("b.example.com"),
            &line("http://localhost:8787"),
        );
        assert!(trouble(other).contains("b.example.com"));
        assert!(matches!(
            of(Vendor::Cloudflare, "INF Updated to new configuration config=nonsense"),
            Some(Heard::Trouble(_))
        ));
    }

    #[test]
    fn ngroks_log_says_the_address_or_why_there_is_none() {
        let started = r#"{"addr":"http://127.0.0.1:8787","lvl":"info","msg":"started tunnel","url":"https://a.ngrok.app"}"#;
        assert_eq!(of(Vendor::Ngrok, started), address("https://a.ngrok.app"));
        assert_eq!(of(Vendor::Ngrok, r#"{"lvl":"info","msg":"client session established"}"#), None);
        let refused = r#"{"lvl":"eror","msg":"x","err":"authentication failed\r\n\r\nERR_NGROK_105"}"#;
        assert_eq!(trouble(of(Vendor::Ngrok, refused)), "authentication failed ERR_NGROK_105");
        assert_eq!(trouble(of(Vendor::Ngrok, "ERROR:  authentication failed")), "authentication failed");
        assert_eq!(of(Vendor::Ngrok, "ERROR:  "), None);
    }

    #[test]
    fn tailscale_says_the_address_or_asks_for_consent() {
        assert_eq!(
            of(Vendor::Tailscale, "https://cordon.tail9f3a.ts.net/"),
            address("https://cordon.tail9f3a.ts.net")
        );
        assert_eq!(of(Vendor::Tailscale, "|-- proxy http://127.0.0.1:8787"), None);
        let why = trouble(of(Vendor::Tailscale, "\thttps://login.tailscale.com/f/funnel?node=n1"));
        assert!(why.contains("open https://login.tailscale.com/f/funnel?node=n1"), "{why}");
    }
}
