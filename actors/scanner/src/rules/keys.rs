//! Private keys in their armour. A block without its end counts: half a key is nearly a key.
//! Data only.

use super::{Rule, Rules, Start, TOKEN};
use crate::checks;

pub(super) static RULES: Rules = Rules::new(&[
    Rule {
        id: "private-key",
        why: "Private key: whoever holds it is its owner",
        start: Start::Before(0),
        reach: 16000,
        crosses: true,
        keywords: &["-----begin"],
        pattern: r"-----BEGIN[ A-Z0-9_-]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[A-Za-z0-9+/=\s,:.\\-]|\([a-z ]*\)){40,}?(?:-----END[ A-Z0-9_-]{0,40}PRIVATE KEY(?: BLOCK)?-----|\z|[^A-Za-z0-9+/=\s,:.()\\-])",
        check: Some(checks::key_block),
        hits: &[
            "-----BEGIN RSA PRIVATE KEY-----\nMIIEpQIBAAKCAQEAk3Xv9Qm2Zp7Lw5Rt8Jn1By4GdHcF6sE0aUoIiTxVbKwPqZr7\n-----END RSA PRIVATE KEY-----",
            "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABk3Xv9Qm2Zp7L\n-----END OPENSSH PRIVATE KEY-----",
            "key: \"-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDk3Xv9Qm2Zp7Lw5\\n-----END PRIVATE KEY-----\\n\"",
            "-----BEGIN PGP PRIVATE KEY BLOCK-----\nlQWGBGSVV4YBDAClvRnxezIRy2Yv7SFlzC0iFiRF/O/jePSw\n=8xQN\n-----END PGP PRIVATE KEY BLOCK-----",
        ],
        misses: &[
            (
                "a public key",
                "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAk3Xv9Qm2Zp7Lw5Rt8Jn1\n-----END PUBLIC KEY-----",
            ),
            ("no key material", "-----BEGIN PRIVATE KEY-----\nanything\n-----END PRIVATE KEY-----"),
            ("an empty block", "-----BEGIN OPENSSH PRIVATE KEY----------END OPENSSH PRIVATE KEY-----"),
            ("a mention", "it starts with -----BEGIN RSA PRIVATE KEY-----"),
        ],
        ..TOKEN
    },
    Rule {
        id: "putty-key",
        why: "PuTTY private key",
        start: Start::Before(0),
        reach: 8000,
        crosses: true,
        keywords: &["private-lines:"],
        pattern: r"Private-Lines: \d+\s+((?:[A-Za-z0-9+/=]{16,}\s*){1,200})",
        check: None,
        hits: &[
            "PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 1\nAAABAQCk3Xv9Qm2Zp7Lw5Rt8Jn1By4GdHcF6sE0aUoIiTxVb\n",
            "Private-Lines: 2\nAAABAQCk3Xv9Qm2Zp7Lw5Rt8Jn1By4GdHcF6sE0a\nUoIiTxVbKwPqZr7k3Xv9Qm2Zp7Lw5Rt\n",
        ],
        misses: &[
            ("the public part", "Public-Lines: 1\nAAAAB3NzaC1yc2EAAAADAQABAAABAQCk3Xv9Qm2Zp7"),
            ("no lines", "Private-Lines: 0\n"),
        ],
        ..TOKEN
    },
    Rule {
        id: "jwk-private",
        why: "Private part of a JSON web key",
        start: Start::Before(0),
        reach: 1400,
        crosses: true,
        keywords: &["\"d\""],
        pattern: r#""d"\s*:\s*"([A-Za-z0-9_-]{40,})""#,
        check: Some(checks::varied),
        hits: &[
            "{\"kty\":\"EC\",\"crv\":\"P-256\",\"d\":\"jMqfNt5xVv3YuzbDeIn39x6znNQyMZ44t2YnYvofyZp\"}",
            "\"d\" : \"Lat91BmBdi8WxGkOrkBZITDGuXlA1js8HsTF0VNnyIvt3WaBUvUV6t1RjItf3pSnFYRa1cuK90xILaobdWR1ST\"",
        ],
        misses: &[
            ("a short value", "{\"d\":\"monday\"}"),
            ("the public part", "{\"x\":\"k3Xv9Qm2Zp7Lw5Rt8Jn1By4GdHcF6sE0aUoIiTxVbKw\"}"),
        ],
        ..TOKEN
    },
    Rule {
        id: "google-service-account",
        why: "Google service account key id beside its key",
        start: Start::Before(1),
        reach: 80,
        crosses: true,
        keywords: &["private_key_id"],
        pattern: r#""private_key_id"\s*:\s*"([0-9a-f]{40})""#,
        check: Some(checks::varied),
        hits: &[
            "{\"type\":\"service_account\",\"private_key_id\":\"b108ef05a09acfcd7c287d7164a0eece1e2e235a\"}",
            "\"private_key_id\": \"3d8221936856d83405a055bf567dfb6fc5abbf66\",",
        ],
        misses: &[
            ("a reference", "\"private_key_id\": \"${KEY_ID}\""),
            ("cut short", "\"private_key_id\": \"abc123\""),
        ],
        ..TOKEN
    },
]);
