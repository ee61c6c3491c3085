//! Credentials inside addresses.
//! Data only.

use super::{Rule, Rules, STRONG, Start, TOKEN};
use crate::checks;

pub(super) static RULES: Rules = Rules::new(&[
    Rule {
        id: "url-password",
        why: "Password in an address: whoever reads it signs in",
        start: Start::Before(24),
        reach: 260,
        keywords: &["://"],
        pattern: r#"(?i)[a-z][a-z0-9+.-]{1,24}://[^\s:/@"\'<>`]{0,64}:([^\s/@"\'<>`]{3,128})@[a-z0-9_.\[-]"#,
        check: Some(checks::url_password),
        hits: &[
            "postgres://app:kq9zR2mLw@db.internal:5432/app",
            "DATABASE_URL=\"mysql://root:S3cure!pass@10.0.0.5/shop\"",
            "redis://:k3Xv9Qm2@cache:6379",
        ],
        misses: &[
            ("a reference", "postgres://app:${DB_PASSWORD}@db/app"),
            ("a mask", "https://user:****@host.test/"),
            ("no password", "https://user@host.test/a:b@c"),
            ("a port and a path", "http://host:8080/a@b"),
        ],
        ..TOKEN
    },
    Rule {
        id: "presigned-url",
        why: "Address that grants access by its signature",
        start: Start::Before(0),
        keywords: &["x-amz-signature=", "x-goog-signature="],
        pattern: r"(?i)X-(?:Amz|Goog)-Signature=([0-9a-f]{64,})",
        hits: &[
            "https://b.s3.test/k?X-Amz-Signature=5359f13b1c6e615b3581683299d9b58ede0b2e91a38a7e6753d3ea60fb4fadad",
            "&X-Goog-Signature=6cfc860181efacc3b862e782e575dbd3f1f66fce8970b1f49a43f7dbe73e655f6793f24f01ced1101a3f8830d24aef9eaa0ccd8ea40fac6194bcee8bc01d2400",
        ],
        misses: &[("cut short", "X-Amz-Signature=abc123"), ("a mention", "the X-Amz-Signature= parameter")],
        ..TOKEN
    },
    Rule {
        id: "url-token-parameter",
        why: "Token in the query of an address, where logs and referrers keep it",
        start: Start::Before(1),
        reach: 300,
        weight: STRONG,
        keywords: &[
            "access_token=", "api_key=", "apikey=", "auth_token=", "client_secret=", "&token=", "?token=",
            "&key=", "?key=", "private_token=",
        ],
        pattern: r"(?i)(?:access_token|api_?key|auth_token|client_secret|token|key|private_token)=([A-Za-z0-9._~+/-]{16,})",
        check: Some(checks::generated),
        hits: &[
            "https://api.test/v1?access_token=k3Xv9Qm2Zp7Lw5Rt8Jn1",
            "GET /feed?a=1&key=b7Qx2Lm9Zk4Rt8Wn6Yp3",
        ],
        misses: &[
            ("a reference", "https://api.test/v1?access_token=${TOKEN_ONE_OF_THEM}"),
            ("cut short", "?key=abc1"),
        ],
        ..TOKEN
    },
]);
