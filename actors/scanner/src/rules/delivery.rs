//! Tokens of link, content and device services.
//! Data only.

use super::{LIKELY, Rule, Rules, Start, TOKEN};
use crate::checks;

pub(super) static RULES: Rules = Rules::new(&[
    Rule {
        id: "cloudinary-url",
        why: "Cloudinary address with its secret",
        keywords: &["cloudinary://"],
        pattern: r"cloudinary://\d{12,16}:[A-Za-z0-9_-]{20,}@[a-z0-9-]+",
        hits: &[
            concat!("cloudinary://", "657543557048:0pLv4RGX7sUbJqnYABrF@j"),
            concat!("export TOKEN=\"cloudinary://", "845010733235:WmTTDGMrQYZAFBsKhSB6@t\""),
        ],
        misses: &[
            ("cut short", concat!("cloudinary://", "657543")),
            ("inside a longer word", concat!("xcloudinary://", "657543557048:0pLv4RGX7sUbJqnYABrF@j")),
            ("a filler", concat!("cloudinary://", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "fastly-key",
        why: "Fastly key by its header",
        crosses: true,
        reach: 60,
        keywords: &["fastly-key:"],
        pattern: r"(?i)Fastly-Key:\s*([A-Za-z0-9_-]{32})(?:[^A-Za-z0-9_-]|$)",
        check: Some(checks::varied),
        hits: &[
            "Fastly-Key: 29uZ6QtLVXJQC3KQvRDhT20m9vwB1sAm",
            "curl -H \"fastly-key: oLT9H0JITwGYxpYYY2gynYeXjHdtzERK\"",
        ],
        misses: &[("a reference", "Fastly-Key: $FASTLY"), ("cut short", "Fastly-Key: abc")],
        ..TOKEN
    },
    Rule {
        id: "client-id-header",
        why: "Client id in a header",
        start: Start::Before(20),
        reach: 60,
        crosses: true,
        weight: LIKELY,
        keywords: &["client-id "],
        pattern: r"(?i)Authorization:\s*Client-ID\s+([A-Za-z0-9_-]{15,})",
        check: Some(checks::generated),
        hits: &[
            "Authorization: Client-ID 3f9ac1e07b2d485",
            "-H \"authorization: client-id k3xv9qm2zp7lw5r\"",
        ],
        misses: &[("a reference", "Authorization: Client-ID ${ID}"), ("prose", "a client-id is needed")],
        ..TOKEN
    },
    Rule {
        id: "notifier-key",
        why: "ntfy or Pushover token by its usual name",
        crosses: true,
        reach: 200,
        keywords: &["pushover", "ntfy", "pushbullet", "gotify"],
        pattern: r#"(?i)(?:pushover|ntfy|pushbullet|gotify)[\w.-]{0,20}["\']?\s*[=:]\s*["\']?([A-Za-z0-9_.]{15,34})(?:[^A-Za-z0-9_.]|$)"#,
        check: Some(checks::generated),
        hits: &["PUSHOVER_USER=u3xv9qm2zp7lw5rt8jn1by4gdhcf6s", "gotify: \"A9f3c1e07b2d485\""],
        misses: &[("prose", "pushover: notifications"), ("a reference", "PUSHOVER_USER=${USER_KEY_OF_IT}")],
        ..TOKEN
    },
    Rule {
        id: "pushbullet-token",
        why: "Pushbullet token: notifications of its owner",
        crosses: true,
        start: Start::Before(0),
        reach: 80,
        keywords: &["pushbullet", "access-token"],
        pattern: r"o\.[A-Za-z0-9]{32}\b",
        hits: &[
            "Access-Token: o.Th42eVcBWX9aJDnEJUKL0fzlmEbSYB7k",
            "pushbullet = o.VSAXo9uPWYci03IVpN1gX9PPnMRbNJoO",
        ],
        misses: &[("a method", "pushbullet = o.someMethodName()"), ("cut short", "Access-Token: o.abc123")],
        ..TOKEN
    },
    Rule {
        id: "home-assistant-webhook",
        why: "Home Assistant webhook: switches things",
        start: Start::Before(0),
        weight: LIKELY,
        keywords: &["/api/webhook/"],
        pattern: r"/api/webhook/([A-Za-z0-9_-]{20,})",
        check: Some(checks::generated),
        hits: &[
            "https://home.test/api/webhook/k3xv9qm2zp7lw5rt8jn1by4g",
            "POST /api/webhook/b7Qx2Lm9Zk4Rt8Wn6Yp3",
        ],
        misses: &[("a name", "/api/webhook/front-door-opened-again"), ("cut short", "/api/webhook/a1")],
        ..TOKEN
    },
]);
