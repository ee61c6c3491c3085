//! Signed tokens and session credentials.
//! Data only.

use super::{LIKELY, Rule, Rules, STRONG, Start, TOKEN};
use crate::checks;

pub(super) static RULES: Rules = Rules::new(&[
    Rule {
        id: "jwt",
        why: "Signed token: its bearer is whom it names",
        weight: STRONG,
        reach: 4096,
        keywords: &["ey"],
        pattern: r"ey[A-Za-z0-9_-]{14,}\.ey[A-Za-z0-9_-]{14,}\.[A-Za-z0-9_-]{10,}",
        hits: &[
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiI0MjEzIiwibmFtZSI6IkFkYSJ9.k3Xv9Qm2Zp7Lw5Rt8Jn1By4GdHcF6sE0aUoIiTxVbKw",
            "token=eyJhbGciOiJSUzI1NiJ9abcd.eyJpc3MiOiJodHRwczovL2EudGVzdCJ9.Qz7WnB2kL5xR8vT0pJ3mYd",
        ],
        misses: &[
            ("two parts only", "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiI0MjEzIn0"),
            ("a word", "eye.eyes.eyesight and more of that"),
        ],
        ..TOKEN
    },
    Rule {
        id: "jwt-in-base64",
        why: "Signed token, encoded once more",
        weight: LIKELY,
        keywords: &["zxlk"],
        pattern: r"ZXlK[A-Za-z0-9+/]{60,}={0,2}",
        hits: &[
            concat!("ZXlK", "Qx8qD074iXeow67C2Pnh2qwvEZOL46ubq9pPBoT08VlgqjxD0GBbP7NbuhKf"),
            concat!("export TOKEN=\"ZXlK", "D4ZcW5AhLRfcdaXs7Ca8Q0EH47QmwEJgYzFhtjfMH3xwPUzCKbJgXlzAc01x\""),
        ],
        misses: &[
            ("cut short", concat!("ZXlK", "Qx8qD0")),
            (
                "inside a longer word",
                concat!("xZXlK", "Qx8qD074iXeow67C2Pnh2qwvEZOL46ubq9pPBoT08VlgqjxD0GBbP7NbuhKf"),
            ),
            ("a filler", concat!("ZXlK", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "okta-token",
        why: "Okta token: users of an organisation",
        crosses: true,
        start: Start::Before(0),
        reach: 90,
        keywords: &["okta", "ssws"],
        pattern: r"00[A-Za-z0-9_-]{40}(?:[^A-Za-z0-9_=-]|$)",
        hits: &[
            "Authorization: SSWS 00KVAOprV4RQpJPn2MJV4JvprpT3Sc0ktFSDr1nbru",
            "okta_token = \"001WQmjjmVA9S50GsHL3ng6AttUjTGJ580Bwg2JQVD\"",
        ],
        misses: &[
            ("a number", "okta 0012345"),
            ("without its name", "00k3Xv9Qm2Zp7Lw5Rt8Jn1By4GdHcF6sE0aUoIiTx"),
        ],
        ..TOKEN
    },
    Rule {
        id: "age-key",
        why: "age key: decrypts files",
        keywords: &["age-secret-key-1"],
        pattern: r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}",
        check: None,
        hits: &[
            concat!("AGE-SECRET-KEY-1", "A58YHT9KGN964N69QRGDT5ZKQVUJFPY0ULNN5NGH47UX2LPK2SVC25S2K6"),
            concat!(
                "export TOKEN=\"AGE-SECRET-KEY-1",
                "GYD9FGX39GQQAV5MX6ACLPMY92WPA2UMAY6EN9ZGEDH297M8HPZDUV3SXT\""
            ),
        ],
        misses: &[
            ("cut short", concat!("AGE-SECRET-KEY-1", "A58YHT")),
            (
                "inside a longer word",
                concat!("xAGE-SECRET-KEY-1", "A58YHT9KGN964N69QRGDT5ZKQVUJFPY0ULNN5NGH47UX2LPK2SVC25S2K6"),
            ),
        ],
        ..TOKEN
    },
    Rule {
        id: "age-plugin-key",
        why: "age plugin identity",
        keywords: &["age-plugin-"],
        pattern: r"AGE-PLUGIN-[A-Z0-9-]{3,24}-1[A-Z0-9]{30,}",
        hits: &[
            concat!("AGE-PLUGIN-", "BWD-1K89IC6AW1ZJBX5YWPPZOMVSXCOK2GW"),
            concat!("export TOKEN=\"AGE-PLUGIN-", "A2X-1V6EP52E7RIO1J4L509WPJI1LSXCIGL\""),
        ],
        misses: &[
            ("cut short", concat!("AGE-PLUGIN-", "BWD-1K")),
            ("inside a longer word", concat!("xAGE-PLUGIN-", "BWD-1K89IC6AW1ZJBX5YWPPZOMVSXCOK2GW")),
            ("a filler", concat!("AGE-PLUGIN-", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "session-cookie",
        why: "Session cookie: a signed-in browser",
        weight: STRONG,
        start: Start::Word,
        reach: 300,
        keywords: &["session", "sid=", "remember_token=", "auth_token="],
        pattern: r"(?i)(?:session(?:id|_id)?|sid|connect\.sid|phpsessid|jsessionid|auth_token|remember_token)=([A-Za-z0-9%._~+/-]{20,})",
        check: Some(checks::generated),
        hits: &["Cookie: sessionid=k3xv9qm2zp7lw5rt8jn1by4gdhcf6se0", "PHPSESSID=b7qx2lm9zk4rt8wn6yp3vc5d"],
        misses: &[
            ("prose", "the session=active flag"),
            ("a reference", "sessionid=${SESSION_ID_FROM_LOGIN}"),
        ],
        ..TOKEN
    },
    Rule {
        id: "oauth-code",
        why: "OAuth secret in a form body",
        reach: 1024,
        keywords: &["client_secret=", "refresh_token=", "code_verifier=", "assertion="],
        pattern: r"(?i)(?:client_secret|refresh_token|code_verifier|assertion)=([A-Za-z0-9%._~+/-]{16,})",
        check: Some(checks::generated),
        hits: &["grant_type=x&client_secret=k3Xv9Qm2Zp7Lw5Rt8Jn1", "refresh_token=b7Qx2Lm9Zk4Rt8Wn6Yp3"],
        misses: &[("a reference", "client_secret=${CLIENT_SECRET}"), ("cut short", "refresh_token=abc")],
        ..TOKEN
    },
    Rule {
        id: "totp-seed",
        why: "Seed of one-time passwords",
        start: Start::Before(0),
        reach: 240,
        keywords: &["otpauth://"],
        pattern: r#"otpauth://[th]otp/[^\s"\']{0,80}secret=([A-Z2-7a-z]{16,})"#,
        check: None,
        hits: &[
            "otpauth://totp/ACME:ada@corp.test?secret=JBSWY3DPEHPK3PXP&issuer=ACME",
            "otpauth://hotp/x?secret=kr3wq2vn6yp5zl4t",
        ],
        misses: &[("no secret", "otpauth://totp/ACME:ada"), ("cut short", "otpauth://totp/A?secret=ABC")],
        ..TOKEN
    },
    Rule {
        id: "ethereum-key",
        why: "Private key of a wallet by its usual name",
        reach: 110,
        crosses: true,
        keywords: &["private_key", "privatekey", "private key", "private-key", "wallet_key", "deployer_key"],
        pattern: r#"(?i)(?:private[_ -]?key|mnemonic[_ -]?key|wallet[_ -]?key|deployer[_ -]?key)["\']?\s*[=:]\s*["\']?((?:0x)?[0-9a-f]{64})\b"#,
        check: Some(checks::varied),
        hits: &[
            "PRIVATE_KEY=0x71cf370ca4e850343c6b8d8098e54486e4b118ae8d19322bf0550cf2aeae1dad",
            "private key: f7aaba0cf991793d8e44e9a9ba92062274de62dd0e030a5873a38547a0b077e1",
        ],
        misses: &[
            ("a public hash", "sha256: f012f40452bbe05ad76290de2b08be87d8380a311ca55472938ad251dab01b5e"),
            ("a reference", "PRIVATE_KEY=${KEY}"),
        ],
        ..TOKEN
    },
]);
