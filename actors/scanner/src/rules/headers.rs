//! Credentials in HTTP headers and on the command line of clients.
//! Data only.

use super::{Rule, Rules, STRONG, Start, TOKEN};
use crate::checks;

pub(super) static RULES: Rules = Rules::new(&[
    Rule {
        id: "bearer",
        why: "Bearer credential: whoever holds it may use it",
        reach: 2048,
        crosses: true,
        weight: STRONG,
        keywords: &["bearer ", "bearer%20", "bearer+"],
        pattern: r#"(?i)bearer(?:\s+|%20|\+)["\']?([A-Za-z0-9._~+/=-]{16,})"#,
        check: Some(checks::generated),
        hits: &[
            "Authorization: Bearer k3Xv9Qm2Zp7Lw5Rt8Jn1By4G",
            "headers = {\"Authorization\": \"Bearer b7Qx2Lm9Zk4Rt8Wn6Yp3\"}",
        ],
        misses: &[
            ("a reference", "Authorization: Bearer $API_KEY"),
            ("a word", "the bearer authentication-mechanisms page"),
            ("a mask", "Authorization: Bearer XXXXXXXXXXXXXXXXXXXX"),
        ],
        ..TOKEN
    },
    Rule {
        id: "basic",
        why: "User and password, only encoded",
        reach: 512,
        crosses: true,
        keywords: &["basic "],
        pattern: r#"(?i)basic\s+["\']?([A-Za-z0-9+/]{8,}={0,2})"#,
        check: Some(checks::basic_credentials),
        hits: &[
            "Authorization: Basic YWRhOmtxOXpSMm1Mdw==",
            "-H \"authorization: basic cm9vdDpTM2N1cmUhcGFzcw==\"",
        ],
        misses: &[
            ("a word", "basic understanding of things"),
            ("a reference", "Authorization: Basic ${B64}"),
        ],
        ..TOKEN
    },
    Rule {
        id: "key-header",
        why: "Credential in a header of a provider's own",
        start: Start::Word,
        reach: 600,
        crosses: true,
        weight: STRONG,
        keywords: &["-key:", "-token:", "apikey:", "-secret:", "authorization:", "token "],
        pattern: r#"(?i)(?:(?:x-)?[a-z0-9-]{0,32}(?:api-?key|token|-key|secret)|authorization)\\?["\']?:\s*(?:[a-z]{3,12}\s+)?["\']?([A-Za-z0-9._~+/=-]{10,})"#,
        check: Some(checks::generated),
        hits: &[
            "curl -H \"X-Api-Key: k3Xv9Qm2Zp7Lw5Rt\"",
            "-H 'PRIVATE-TOKEN: b7Qx2Lm9Zk4Rt8Wn6Yp3'",
            "Authorization: Token k3xv9qm2zp7lw5rt8jn1by4gdhcf6se0",
        ],
        misses: &[
            ("a reference", "-H \"apikey: $API_KEY\""),
            ("a mask", "Authorization: Token **********"),
            ("prose", "a secret: nobody knows-about it"),
        ],
        ..TOKEN
    },
    Rule {
        id: "curl-user",
        why: "User and password on a command line",
        start: Start::Before(0),
        reach: 700,
        crosses: true,
        keywords: &["curl"],
        pattern: r#"(?i)\bcurl\b[^\n|;]*?(?:\\\r?\n[^\n|;]*?){0,8}?\s(?:-u|--user|-U|--proxy-user)[\s=]*["\']?([^\s"\':]{1,64}["\']?:["\']?[^\s"\']{0,128})"#,
        check: Some(checks::user_and_password),
        hits: &[
            "curl -s --user \"j.smith:dB2yF6@qL9v\" https://api.test/me",
            "curl -k https://h.test \\\n  -u developer:yqDVtkq3Pri",
        ],
        misses: &[
            ("a reference", "curl -u \"${USER}:${PASSWORD}\" https://h.test"),
            ("the same word twice", "curl -i -u 'test:test'"),
            ("a user alone", "curl -u \"myusername\" http://h.test"),
            ("a mask", "curl --user \"xxx:yyy\" http://h.test"),
        ],
        ..TOKEN
    },
    Rule {
        id: "command-password",
        why: "Password on a command line",
        start: Start::Before(0),
        reach: 200,
        crosses: true,
        weight: STRONG,
        keywords: &[
            "--password", "sshpass", "pgpassword", "mysql_pwd", "-p'", "--pass ", "redis-cli", "--token",
            "--api-key", "--secret",
        ],
        pattern: r#"(?i)(?:--(?:password|pass|token|api-key|secret)[=\s]|sshpass\s+-p\s*|PGPASSWORD=|MYSQL_PWD=|redis-cli\s.{0,60}?-a\s)["\']?([^\s"\'<>${}()|;]{6,128})"#,
        check: Some(checks::password),
        hits: &[
            "mysql --password=kq9zR2m#Lw shop",
            "sshpass -p 'Tz7!Qw2p9x' ssh h.test",
            "PGPASSWORD=S3cure!pass psql",
        ],
        misses: &[
            ("a reference", "mysql --password=$DB_PASSWORD"),
            ("a flag alone", "use --password to be asked"),
            ("a word", "the --token option is optional"),
        ],
        ..TOKEN
    },
]);
