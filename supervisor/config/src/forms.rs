//! Forms of text that a key can require. Each describes the valid values in one sentence, which the reference and error messages
//! show.

use crate::hosts::{BaseUrl, HostPort, MailUrl, URL_BOUND};
use ipc_proto::credproxy::PLACEHOLDER;
use ipc_proto::router::{USER_NAME, is_user_name};

/// A form of text.
#[derive(Debug)]
pub struct Form {
    /// The valid values, for people.
    pub valid: &'static str,
    /// True if an error may show the text. False where a secret could stand by mistake.
    pub shown: bool,
    /// Checks that a text has the form.
    pub holds: fn(&str) -> bool,
}

/// A user, by the rule for every user's name.
pub const USER: Form = Form { valid: USER_NAME, shown: true, holds: is_user_name };

/// Agents and providers.
pub const NAME: Form =
    Form { valid: "1 to 64 letters, digits, `-` and `_`", shown: true, holds: |text| name(text, b"-_", 64) };

/// A secret, by its name.
pub const SECRET: Form = Form {
    valid: "the name of a secret as `agentctl cred set NAME` keeps it (never the secret itself): 1 to 64 letters, \
            digits, `-`, `_` and `.`",
    shown: false,
    holds: |text| name(text, b"-_.", 64),
};

/// A provider's own name of a model.
pub const MODEL_PART: Form = Form {
    valid: "1 to 63 letters, digits, `-`, `_`, `.`, `:`, `/` and `@`",
    shown: true,
    holds: |text| name(text, b"-_.:/@", 63),
};

/// A model with its provider, or a task.
pub const MODEL: Form = Form {
    valid: "`PROVIDER/MODEL`, `default`, `fast`, `thinking` or `coding`, of at most 128 bytes",
    shown: true,
    holds: |text| text.len() <= 128,
};

/// A model with its provider, where a task is not allowed.
pub const ROUTED: Form = Form {
    valid: "`PROVIDER/MODEL`, of at most 128 bytes",
    shown: true,
    holds: |text| text.len() <= 128 && text.contains('/'),
};

/// A time zone.
pub const TIME_ZONE: Form = Form {
    valid: "a name of the IANA time zone database, such as `Europe/Berlin` or `UTC`",
    shown: true,
    holds: |text| text.len() <= 64 && jiff::tz::TimeZone::get(text).is_ok(),
};

/// A package of a registry.
pub const MCP_PACKAGE: Form = Form {
    valid: "`pypi:NAME==VERSION` or `npm:NAME@VERSION`, of one version",
    shown: true,
    holds: |text| text.parse::<ipc_proto::mcp::Package>().is_ok(),
};

/// A word of a command line.
pub const WORD: Form = Form {
    valid: "1 to 1024 bytes of text",
    shown: true,
    holds: |text| (1..=1024).contains(&text.len()) && !text.contains('\0'),
};

/// A word of a server's command line.
pub const LONG_WORD: Form = Form {
    valid: "1 to 4096 bytes of text",
    shown: true,
    holds: |text| (1..=4096).contains(&text.len()) && !text.contains('\0'),
};

/// A path beneath a home.
pub const KEPT: Form = Form {
    valid: "a path beneath the home, of at most 256 bytes, without `.` and `..`",
    shown: true,
    holds: |text| {
        let ordinary = |part: &str| !part.is_empty() && part != "." && part != "..";
        text.len() <= 256 && !text.contains('\0') && text.split('/').all(ordinary)
    },
};

/// The source of memories' vectors: a provider's model, or the one of this machine.
pub const EMBEDDER: Form = Form {
    valid: "`PROVIDER/MODEL`, of at most 128 bytes, or `local`",
    shown: true,
    holds: |text| text == "local" || (ROUTED.holds)(text),
};

/// A stop text.
pub const STOP: Form =
    Form { valid: "1 to 256 bytes of text", shown: true, holds: |text| (1..=256).contains(&text.len()) };

/// A file's path.
pub const PATH: Form = Form {
    valid: "a path, taken from the folder of this file if it is relative",
    shown: true,
    holds: |text| (1..=4096).contains(&text.len()) && !text.contains('\0'),
};

/// The paths of methods, which people copy with the address.
const METHODS: [&str; 4] = ["/chat/completions", "/responses", "/messages", "/api/chat"];

/// A base URL.
pub const BASE_URL: Form = Form {
    valid: "`https://HOST[:PORT][/PATH]` in lower case up to and without the path of a method such as \
            `/chat/completions`, with no user, query or fragment; `http` only to a host that `credproxy.plain_http` \
            lists",
    shown: false,
    holds: |text| {
        let path = text.trim_end_matches('/');
        let method = METHODS.iter().any(|method| path.ends_with(method));
        text.len() <= URL_BOUND && BaseUrl::parse(text).is_some() && !method
    },
};

/// A host and port.
pub const HOST_PORT: Form = Form {
    valid: "`HOST:PORT` in lower case, such as `api.example.com:443`, and no private address",
    shown: true,
    holds: |text| HostPort::parse(text).is_some_and(|at| !at.is_private() && !at.is_loopback()),
};

/// A host and port on this machine.
pub const LOOPBACK: Form = Form {
    valid: "`127.0.0.1:PORT`, `[::1]:PORT` or `localhost:PORT`",
    shown: true,
    holds: |text| HostPort::parse(text).is_some_and(|at| at.is_loopback()),
};

/// A host and port of any kind.
pub const HOST_PORT_ANY: Form = Form {
    valid: "`127.0.0.1:PORT` or `[::1]:PORT`",
    shown: true,
    holds: |text| HostPort::parse(text).is_some(),
};

/// An origin.
pub const ORIGIN: Form = Form {
    valid: "`SCHEME://HOST[:PORT]` in lower case as a browser sends it, such as `https://chat.example.com`, and nothing \
            after it",
    shown: true,
    holds: origin,
};

/// The value of the header `Host`.
pub const HOST_VALUE: Form = Form {
    valid: "`HOST` or `HOST:PORT` in lower case",
    shown: true,
    holds: |text| HostPort::parse(text).is_some() || HostPort::parse(&format!("{text}:80")).is_some(),
};

/// A person on a channel.
pub const IDENTITY: Form = Form {
    valid: "`PLATFORM:NAME:ID`, such as `telegram:main:1234`, of at most 256 bytes without spaces",
    shown: true,
    holds: |text| {
        let plain = |id: &str| !id.is_empty() && !id.chars().any(|c| c.is_control() || c.is_whitespace());
        let parts = text.split_once(':').is_some_and(|(channel, id)| name(channel, b"-_", 63) && plain(id));
        parts && text.len() <= 256
    },
};

/// A sender or a group, by the platform's own id.
pub const PLATFORM_ID: Form = Form {
    valid: "the platform's own id, such as `1234` or `-1001234`, of at most 128 bytes without spaces",
    shown: true,
    holds: |text| {
        let plain = !text.chars().any(|c| c.is_control() || c.is_whitespace());
        plain && !text.is_empty() && text.len() <= 128 && !text.starts_with('@')
    },
};

/// A tool, by the name that models use.
pub const TOOL: Form = Form {
    valid: "1 to 64 letters, digits, `-`, `_` and `.`",
    shown: true,
    holds: |text| name(text, b"-_.", 64),
};

/// A pattern of hosts.
pub const HOST_GLOB: Form = Form {
    valid: "a host in lower case without a port, `*` standing for any characters, such as `*.example.com`",
    shown: true,
    holds: host_glob,
};

/// A host that is not public, with its port.
pub const PRIVATE_HOST: Form = Form {
    valid: "`HOST:PORT` in lower case, such as `127.0.0.1:8080` or `wiki.lan:80`, and no link-local address",
    shown: true,
    holds: |text| HostPort::parse(text).is_some_and(|at| !at.is_unfit()),
};

/// A host that jails may reach without a question.
pub const ALLOWED: Form = Form {
    valid: "`HOST:PORT`, `HOST:PORT read` or `HOST:PORT send` in lower case, such as `api.example.com:443 send`; `*.` before a host \
            stands for any labels",
    shown: true,
    holds: |text| crate::allowed::allowed(text).is_some(),
};

/// The address of a search server.
pub const SEARCH_URL: Form = Form {
    valid: "`https://HOST[:PORT][/PATH]` or `http://HOST[:PORT][/PATH]` in lower case, with no user, query or fragment",
    shown: false,
    holds: |text| BaseUrl::parse(text).is_some(),
};

/// The address of a service.
pub const SERVICE_URL: Form = Form {
    valid: "`https://HOST[:PORT][/PATH]` in lower case, with no user, query or fragment; `http` only to a host that \
            `credproxy.plain_http` lists",
    shown: false,
    holds: |text| {
        let host = text.split('/').nth(2).unwrap_or_default();
        BaseUrl::parse(text).is_some()
            && !host.contains(PLACEHOLDER)
            && text.matches(PLACEHOLDER).count() <= 1
    },
};

/// The server of IMAP.
pub const IMAP_URL: Form = Form {
    valid: "`imaps://HOST:PORT` or `imap://HOST:PORT` in lower case",
    shown: true,
    holds: |text| MailUrl::parse(text, "imap").is_some_and(|url| !url.at.is_unfit()),
};

/// The server of SMTP.
pub const SMTP_URL: Form = Form {
    valid: "`smtps://HOST:PORT` or `smtp://HOST:PORT` in lower case",
    shown: true,
    holds: |text| MailUrl::parse(text, "smtp").is_some_and(|url| !url.at.is_unfit()),
};

/// The address of a mailbox.
pub const MAIL_ADDRESS: Form = Form {
    valid: "`NAME@DOMAIN`, of at most 254 printable ASCII characters without spaces",
    shown: true,
    holds: |text| {
        let plain = text.bytes().all(|b| b.is_ascii_graphic() && !b"<>\"(),;:\\[]".contains(&b));
        let parts =
            text.split_once('@').is_some_and(|(local, domain)| !local.is_empty() && domain.contains('.'));
        plain && parts && text.matches('@').count() == 1 && text.len() <= 254
    },
};

/// The name that a mailbox signs in with.
pub const LOGIN: Form = Form {
    valid: "at most 320 characters without spaces and controls",
    shown: true,
    holds: |text| {
        let plain = !text.chars().any(|c| c.is_control() || c.is_whitespace());
        plain && !text.is_empty() && text.len() <= 320
    },
};

/// The name of a server in `Authentication-Results`, RFC 8601.
pub const AUTHSERV: Form = Form {
    valid: "1 to 253 letters, digits, `-`, `_` and `.`, such as `mx.example.com`",
    shown: true,
    holds: |text| name(text, b"-_.", 253),
};

/// The name of a header.
pub const HEADER: Form =
    Form { valid: "1 to 64 letters, digits, `-` and `_`", shown: true, holds: |text| name(text, b"-_", 64) };

/// The words before a secret in its header.
pub const PREFIX: Form = Form {
    valid: "at most 32 printable ASCII characters",
    shown: true,
    holds: |text| text.len() <= 32 && text.bytes().all(|b| (0x20..=0x7e).contains(&b)),
};

/// A parameter of a query, or a field of a body.
pub const PARAMETER: Form = Form {
    valid: "1 to 64 letters, digits, `-`, `_` and `.`",
    shown: true,
    holds: |text| name(text, b"-_.", 64),
};

/// The beginning of a path.
pub const URL_PATH: Form = Form {
    valid: "a path of at most 256 bytes that begins with `/`, with no query, no segment of dots and nothing escaped",
    shown: true,
    holds: |text| {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"/-._~!$&'()*+,;=:@".contains(&b);
        let dots = |segment: &str| matches!(segment.split(';').next(), Some("." | ".."));
        let begins = text.starts_with('/') && text.len() <= 256;
        begins && text.bytes().all(plain) && !text.split('/').any(dots)
    },
};

/// The kind of a service.
pub const DESCRIPTION: Form = Form {
    valid: "at most 512 bytes of text without control characters",
    shown: false,
    holds: |text| text.len() <= 512 && !text.chars().any(char::is_control),
};

/// The owner's assurance about a service.
pub const CONTACT: Form = Form {
    valid: "1 to 256 bytes of text without control characters",
    shown: true,
    holds: |text| line(text, 256),
};

/// A tool's argument.
pub const ARGUMENT: Form = Form {
    valid: "1 to 64 bytes of text without control characters",
    shown: true,
    holds: |text| line(text, 64),
};

/// A danger pattern.
pub const PATTERN: Form = Form {
    valid: "a regular expression of 1 to 1024 bytes, without look-around and back-references",
    shown: true,
    holds: |text| (1..=1024).contains(&text.len()) && patterns_hold(&[text]),
};

/// A pattern of paths.
pub const PATH_GLOB: Form = Form {
    valid: "a path in which `*` stands for anything, `?` for one character, `[...]` for one of several and `{a,b}` for \
            either, of 1 to 1024 bytes",
    shown: true,
    holds: |text| line(text, 1024) && globset::Glob::new(text).is_ok(),
};

/// A variable of the environment.
pub const VARIABLE: Form = Form {
    valid: "1 to 64 letters, digits and `_`, the first no digit",
    shown: true,
    holds: |text| {
        name(text.trim_start_matches('_'), b"_", 64) && !text.starts_with(|c: char| c.is_ascii_digit())
    },
};

/// The most bytes of one tool's compiled patterns together: the bound of the gate, which compiles them as one set.
const PATTERNS_BOUND: usize = 1 << 20;

/// Returns true if the gate can compile these patterns for one tool: together, ignoring case.
#[must_use]
pub fn patterns_hold(patterns: &[&str]) -> bool {
    regex::RegexSetBuilder::new(patterns).case_insensitive(true).size_limit(PATTERNS_BOUND).build().is_ok()
}

fn line(text: &str, most: usize) -> bool {
    (1..=most).contains(&text.len()) && !text.trim().is_empty() && !text.chars().any(char::is_control)
}

/// Labels of which any part may be `*`; or an address.
fn host_glob(text: &str) -> bool {
    let label = |label: &str| {
        let legal = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'*');
        (1..=63).contains(&label.len()) && label.bytes().all(legal)
    };
    let address = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    address.is_some_and(|inner| inner.parse::<std::net::Ipv6Addr>().is_ok())
        || text.len() <= 253 && text.split('.').all(label)
}

/// A scheme, and a host with or without a port; the schemes of other programs than browsers have hosts of their own form.
fn origin(text: &str) -> bool {
    let host = |at: &str| {
        let legal = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.:[]_".contains(&b);
        !at.is_empty() && at.bytes().all(legal)
    };
    text.len() <= 256
        && text.split_once("://").is_some_and(|(scheme, at)| {
            let plain = name(scheme, b"+-.", 32) && !scheme.bytes().any(|b| b.is_ascii_uppercase());
            plain && host(at)
        })
}

/// Returns true if `text` is 1 to `most` ASCII letters, digits and bytes of `also`, the first a letter or digit.
fn name(text: &str, also: &[u8], most: usize) -> bool {
    let first = text.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric());
    first && text.len() <= most && text.bytes().all(|b| b.is_ascii_alphanumeric() || also.contains(&b))
}

/// Returns true if `file` may follow `scripted/`: a name in the model process's own folder, and nothing above it.
#[must_use]
pub fn script_holds(file: &str) -> bool {
    name(file, b"-_.", 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_takes_what_it_says_and_no_near_miss() {
        let long = "x".repeat(65);
        let cases: &[(&Form, &[&str], &[&str])] = &[
            (&USER, &["ann", "ann.lee", "ann@example.com"], &["", "1000", ".ann", "a b", "josé", &long]),
            (&NAME, &["a", "Ada_2", "9-x"], &["", "-a", "_a", "a.b", "a b", "é", &long]),
            (&SECRET, &["OPENAI_KEY", "a.b"], &["", ".a", "a/b", "Bearer x", &long]),
            (&MODEL_PART, &["gpt-4.1", "meta/llama:70b"], &["", "/a", "a b", &long[1..]]),
            (&ROUTED, &["a/b", "a/b/c"], &["", "fast"]),
            (&EMBEDDER, &["a/b", "local"], &["", "fast", "local:1"]),
            (&STOP, &["\n\n", "END"], &[""]),
            (&PATH, &["a.md", "/etc/x y"], &["", "a\0"]),
            (
                &BASE_URL,
                &["https://a.b/v1", "http://127.0.0.1:1"],
                &["a.b", "https://a.b/v1/chat/completions/"],
            ),
            (
                &HOST_PORT,
                &["a.b:443", "1.1.1.1:443"],
                &["a.b", "127.0.0.1:80", "localhost:80", "10.0.0.1:80"],
            ),
            (&LOOPBACK, &["127.0.0.1:80", "[::1]:80", "localhost:80"], &["127.0.0.1", "10.0.0.1:80"]),
            (&TOOL, &["web_fetch", "mail.send"], &["", ".a", "a b", &long]),
            (
                &HOST_GLOB,
                &["*", "*.example.com", "a-*.b", "10.0.0.1", "[::1]"],
                &["", "A.b", "a..b", "a.b:80", "a/b", "[x]"],
            ),
            (
                &PRIVATE_HOST,
                &["127.0.0.1:1", "wiki.lan:80", "[fd00::1]:80"],
                &["a.b", "169.254.169.254:80", "0.0.0.0:1", "[fe80::1]:1"],
            ),
            (
                &SEARCH_URL,
                &["http://127.0.0.1:8888", "https://a.b/search"],
                &["a.b", "https://u:p@a.b", "https://a.b?q"],
            ),
            (
                &SERVICE_URL,
                &["https://a.b/v1", "http://127.0.0.1:1", "https://a.b/bot__cordon_secret__"],
                &["a.b", "https://__cordon_secret__.b", "https://a.b/__cordon_secret__/__cordon_secret__"],
            ),
            (&HEADER, &["Authorization", "x-api-key"], &["", "x y", "x:", &long]),
            (&PREFIX, &["", "Bearer "], &["\n", "\u{e9}", &long]),
            (&PARAMETER, &["key", "a.b_c"], &["", "a=b", "a&b"]),
            (
                &URL_PATH,
                &["/", "/v1/mail", "/a;b"],
                &["", "v1", "/..", "/a/./b", "/a/..;x", "/a%2f", "/a?b", "/a b"],
            ),
            (&DESCRIPTION, &["", "Mail, read only"], &["a\nb"]),
            (&CONTACT, &["ada@example.com", "DE89 3704"], &["", " ", "a\nb"]),
            (
                &PATTERN,
                &["rm -rf", "(?i)drop\\s+table"],
                &["", "(", "(?=a)", "(a)\\1", "a{1000}{1000}{1000}"],
            ),
            (&PATH_GLOB, &["docs/**", "*.{md,txt}", "[ab]?"], &["", "{a", "[a"]),
            (&VARIABLE, &["HOME", "_X1"], &["", "1A", "A-B", "_"]),
            (&HOST_PORT_ANY, &["127.0.0.1:1", "[::]:80", "a.b:80"], &["", "80", ":80", "127.0.0.1", "A:1"]),
            (
                &ORIGIN,
                &["https://a.b", "http://localhost:3000", "http://[::1]:80", "chrome-extension://abc"],
                &[
                    "", "null", "*", "https://", "https://a.b/", "https://A.b", "https://a b", "HTTPS://a.b",
                    "://a",
                ],
            ),
            (&HOST_VALUE, &["a.b", "a.b:8080", "[::1]:1", "127.0.0.1"], &["", "A.b", "a/b", "a:b", "*"]),
            (&PLATFORM_ID, &["1234", "-1001234"], &["", "@ann", "a b", "a\n"]),
            (&IDENTITY, &["telegram:1234", "a:b:c"], &["telegram", ":1", "telegram:", "a:b c", "a:\u{1b}"]),
        ];
        hold(cases);
    }

    /// Each form takes the first texts and none of the second.
    fn hold(cases: &[(&Form, &[&str], &[&str])]) {
        for (form, good, bad) in cases {
            assert!(good.iter().all(|text| (form.holds)(text)), "{}", form.valid);
            for bad in *bad {
                assert!(!(form.holds)(bad), "{}: {bad}", form.valid);
            }
        }
    }

    #[test]
    fn the_forms_of_a_mailbox_take_what_they_say() {
        hold(&[
            (
                &IMAP_URL,
                &["imaps://a.b:993", "imap://a.b:143"],
                &["a.b:993", "imaps://a.b", "smtps://a.b:465", "imaps://a.b:1/x"],
            ),
            (
                &SMTP_URL,
                &["smtps://a.b:465", "smtp://127.0.0.1:25"],
                &["imap://a.b:143", "smtp://169.254.1.1:25"],
            ),
            (&MAIL_ADDRESS, &["ann@example.com"], &["ann", "@a.b", "a@b", "a b@c.d", "a@b@c.d", "<a@b.c>"]),
            (&LOGIN, &["ann", "ann@example.com"], &["", "a b", "a\nb"]),
            (&AUTHSERV, &["mx.example.com"], &["", "a b", "a;b"]),
        ]);
    }

    #[test]
    fn a_script_is_a_plain_name() {
        assert!(script_holds("demo.jsonl") && script_holds("a"));
        assert!(!["", ".", "..", ".x", "a/b", "../a"].into_iter().any(script_holds));
    }
}
