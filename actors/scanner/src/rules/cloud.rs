//! Keys of the large clouds.
//! Data only.

use super::{Rule, Rules, Start, TOKEN};
use crate::checks;

pub(super) static RULES: Rules = Rules::new(&[
    Rule {
        id: "aws-access-key",
        why: "AWS access key id: names a principal and half of its key pair",
        keywords: &["akia", "asia", "abia", "acca", "a3t"],
        pattern: r"(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z2-7]{16}\b",
        hits: &["AKIAQ4XJ7RTN2PLVW5ZK", "key: ASIAV3ZUEFP6QWL7HCMK,"],
        misses: &[
            ("cut short", "AKIAQ4XJ7RT"),
            ("in the wrong case", "akiaq4xj7rtn2plvw5zk"),
            ("a filler", "AKIAAAAAAAAAAAAAAAAA"),
        ],
        ..TOKEN
    },
    Rule {
        id: "aws-secret-key",
        why: "AWS secret key by its usual name: full rights of its principal",
        start: Start::Word,
        reach: 110,
        crosses: true,
        keywords: &["aws_", "aws-", "awss", "aws.", "aws s"],
        pattern: r#"(?i)aws.{0,20}?(?:secret|sk).{0,24}?[=:>\s"\']{1,6}([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)"#,
        check: Some(checks::varied),
        hits: &[
            "aws_secret_access_key = \"kX8vQ2nLw5ZpR7tJ0mB3yGdHcF9sE1aUoIiT4xVb\"",
            "AWS_SECRET_ACCESS_KEY: Qz7/WnB2kL5+xR8vT0pJ3mYdGcH9sF1aUoEiN4Vb",
        ],
        misses: &[
            ("a reference", "aws_secret_access_key = ${AWS_SECRET}"),
            ("a git hash without a name", "897f2fae4fdef635290ce0de2b5c5e74fb996f51"),
            ("another length", "aws_secret_access_key = \"kX8vQ2nLw5\""),
        ],
        ..TOKEN
    },
    Rule {
        id: "aws-session-token",
        why: "AWS session token",
        reach: 2048,
        keywords: &["fwogzxivyxdze", "iqojb3jpz2lu"],
        pattern: r"(?:FwoGZXIvYXdzE|IQoJb3JpZ2lu)[A-Za-z0-9/+=]{100,}",
        hits: &[
            concat!(
                "IQoJb3JpZ2lu",
                "xgHGyP1s5oO14zdltnIN884ZDdSkOOCVYqiTfDoK4GGxAEGwLkALTicBUdmLOYh269MmCB0L8lbS1PaoYG7OcCzb7pbbhwfGidOG"
            ),
            concat!(
                "export TOKEN=\"IQoJb3JpZ2lu",
                "IugQlurFW9mnoWLMeBnwmYVryjioXD0rbMJ8GWnKrugmmB2lgw9tkBRsAHnnYWTynQtyvibzuZx5T7GKz5bdVy0cM89rxhxa9Aju\""
            ),
        ],
        misses: &[
            ("cut short", concat!("IQoJb3JpZ2lu", "xgHGyP")),
            (
                "inside a longer word",
                concat!(
                    "xIQoJb3JpZ2lu",
                    "xgHGyP1s5oO14zdltnIN884ZDdSkOOCVYqiTfDoK4GGxAEGwLkALTicBUdmLOYh269MmCB0L8lbS1PaoYG7OcCzb7pbbhwfGidOG"
                ),
            ),
            (
                "a filler",
                concat!(
                    "IQoJb3JpZ2lu",
                    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                ),
            ),
        ],
        ..TOKEN
    },
    Rule {
        id: "aws-bedrock-key",
        why: "Amazon Bedrock key: runs models on its owner's bill",
        reach: 512,
        keywords: &["absk"],
        pattern: r"ABSKQmVkcm9ja0FQSUtleS[A-Za-z0-9+/]{1}((?:[A-Za-z0-9+/]){80,}={0,2})",
        hits: &[
            concat!(
                "ABSK",
                "QmVkcm9ja0FQSUtleSATHz8ILTtWO1qijS1n1n3W6vFC2tnnz0APPSQTLeddpeqgXGuPYTQNQuJP3D5RFz1S6uBLWBcN02A0A9e"
            ),
            concat!(
                "export TOKEN=\"ABSK",
                "QmVkcm9ja0FQSUtleSdxPrwwWZqsLYt9hFJwnMnaaGFTEVVCmY7HiBhbsVRbVruRb4kmVIywqO65Dr5agPdSs9G4qbn1AMbXeSY\""
            ),
        ],
        misses: &[
            ("cut short", concat!("ABSK", "QmVkcm")),
            (
                "inside a longer word",
                concat!(
                    "xABSK",
                    "QmVkcm9ja0FQSUtleSATHz8ILTtWO1qijS1n1n3W6vFC2tnnz0APPSQTLeddpeqgXGuPYTQNQuJP3D5RFz1S6uBLWBcN02A0A9e"
                ),
            ),
            (
                "a filler",
                concat!(
                    "ABSK",
                    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                ),
            ),
        ],
        ..TOKEN
    },
    Rule {
        id: "aws-bedrock-short-key",
        why: "Amazon Bedrock short-lived key",
        reach: 2048,
        keywords: &["bedrock-api-key-"],
        pattern: r"bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t[A-Za-z0-9+/=]{20,}",
        hits: &[
            concat!("bedrock-api-key-", "YmVkcm9jay5hbWF6b25hd3MuY29th1cbDwqHQZwDqraucRWm"),
            concat!("export TOKEN=\"bedrock-api-key-", "YmVkcm9jay5hbWF6b25hd3MuY29tzVFx1hiwwhUZJQoZeqcY\""),
        ],
        misses: &[
            ("cut short", concat!("bedrock-api-key-", "YmVkcm")),
            (
                "inside a longer word",
                concat!("xbedrock-api-key-", "YmVkcm9jay5hbWF6b25hd3MuY29th1cbDwqHQZwDqraucRWm"),
            ),
            ("a filler", concat!("bedrock-api-key-", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "google-api-key",
        why: "Google API key: quota and data of its project",
        keywords: &["aiza"],
        pattern: r"AIza[A-Za-z0-9_-]{35}(?:[^A-Za-z0-9_-]|$)",
        hits: &[
            concat!("AIza", "Nqod3SjrQQs9nJ2z0aP2aV1qS9wI9DEZMGs"),
            concat!("export TOKEN=\"AIza", "uNwMEcFzPnZiv7R7O2zROERRm9STut24Hxm\""),
        ],
        misses: &[
            ("cut short", concat!("AIza", "Nqod3S")),
            ("inside a longer word", concat!("xAIza", "Nqod3SjrQQs9nJ2z0aP2aV1qS9wI9DEZMGs")),
            ("a filler", concat!("AIza", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "google-oauth-secret",
        why: "Google OAuth client secret",
        keywords: &["gocspx-"],
        pattern: r"GOCSPX-[A-Za-z0-9_-]{28,}",
        hits: &[
            concat!("GOCSPX-", "9kNRli7jYZleq5VInbDPNKaSvqYC"),
            concat!("export TOKEN=\"GOCSPX-", "Gqk9wG7vbKSOKdrHwzaqsoDeTFoe\""),
        ],
        misses: &[
            ("cut short", concat!("GOCSPX-", "9kNRli")),
            ("inside a longer word", concat!("xGOCSPX-", "9kNRli7jYZleq5VInbDPNKaSvqYC")),
            ("a filler", concat!("GOCSPX-", "xxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "google-oauth-token",
        why: "Google OAuth access token",
        reach: 2048,
        keywords: &["ya29."],
        pattern: r"ya29\.[A-Za-z0-9_-]{40,}",
        hits: &[
            concat!("ya29.", "iqABISfNd7eWLdt4ktVP76QIDpyYWoUNjntbZ7bh"),
            concat!("export TOKEN=\"ya29.", "qSd1kb6tRL3YTHo5OdUeePxLwnRJyqpqKnSD6atq\""),
        ],
        misses: &[
            ("cut short", concat!("ya29.", "iqABIS")),
            ("inside a longer word", concat!("xya29.", "iqABISfNd7eWLdt4ktVP76QIDpyYWoUNjntbZ7bh")),
            ("a filler", concat!("ya29.", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "google-refresh-token",
        why: "Google refresh token: makes new access tokens",
        keywords: &["1//0"],
        pattern: r"1//0[A-Za-z0-9_-]{60,}",
        hits: &[
            concat!("1//0", "gkiucv8mA5ljdUFEewFanAJWccR4AKi64CYfAPqhwA9p8WGlrAX3wpvMmpHd"),
            concat!("export TOKEN=\"1//0", "D9AtQtHGPwdwWoynrOPi5ciLOfPB5us794k9tKmW6iCwXZJDBP6gp4snRs5H\""),
        ],
        misses: &[
            ("cut short", concat!("1//0", "gkiucv")),
            (
                "inside a longer word",
                concat!("x1//0", "gkiucv8mA5ljdUFEewFanAJWccR4AKi64CYfAPqhwA9p8WGlrAX3wpvMmpHd"),
            ),
            ("a filler", concat!("1//0", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "azure-client-secret",
        why: "Entra client secret: signs in as an application",
        start: Start::Before(4),
        reach: 60,
        keywords: &["q~"],
        pattern: r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}(?:[^A-Za-z0-9_~.-]|$)",
        hits: &[
            "client_secret: \"kP78Q~vN2xWq5LbT9zRc0mYhGd3sEaUoJiF4t1VZ\"",
            "secret=aB37Q~1COM96v9UI9OI3J4otfhJ5W5NW8JVguj.",
        ],
        misses: &[
            ("tildes in a table", "~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"),
            ("a filler", "client_secret=bP88Q~xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
            (
                "part of a longer key",
                "u2vn3Lh6Kte2ckoLmgx0ndXO0,4~q8Q~3wIHjX9DT0yCNfQmr9oxmYrDZoQVLOdNgyk0ZZ",
            ),
            ("cut short", "kP78Q~vN2xWq5LbT"),
        ],
        ..TOKEN
    },
    Rule {
        id: "azure-storage-key",
        why: "Azure storage account key: all data of the account",
        keywords: &["accountkey="],
        pattern: r"(?i)AccountKey=([A-Za-z0-9+/]{86}==)",
        check: Some(checks::varied),
        hits: &[
            concat!(
                "AccountKey=",
                "QQAicFLq1zLzcQdpF6AdZeqQUx5wp6JfATbzzztAFQy9kL76ZRXS7OrJhl7ltZ5LgxkLUxWo1En2dXuFKe3rmx=="
            ),
            concat!(
                "export TOKEN=\"AccountKey=",
                "CA1nMzBGHMGSEOL9vjyAczYE5xkJLQlz0rROA2nPDKzYwR9JSgRcnYvMFdYTwRLjsJYYcZ7sD56QzGGofY5eBw==\""
            ),
        ],
        misses: &[
            ("cut short", concat!("AccountKey=", "QQAicF")),
            (
                "inside a longer word",
                concat!(
                    "xAccountKey=",
                    "QQAicFLq1zLzcQdpF6AdZeqQUx5wp6JfATbzzztAFQy9kL76ZRXS7OrJhl7ltZ5LgxkLUxWo1En2dXuFKe3rmx=="
                ),
            ),
        ],
        ..TOKEN
    },
    Rule {
        id: "azure-sas",
        why: "Azure shared access signature: the rights it names",
        start: Start::Before(0),
        keywords: &["?sig=", "&sig="],
        pattern: r"[?&]sig=([A-Za-z0-9%+/]{40,}(?:%3D|=))",
        hits: &[
            "https://acct.blob.core.windows.net/c/b?sv=2022-11-02&sig=k3Xv9Qm2Zp7Lw5Rt8Jn1By4GdHcF6sE0aUoIiTxVbKw%3D",
            "?sig=Qz7WnB2kL5xR8vT0pJ3mYdGcH9sF1aUoEiN4VbKwXq%3D",
        ],
        misses: &[
            ("cut short", "https://h.test/a?sig=abc%3D"),
            ("a reference", "https://h.test/a?sig=${SIG}"),
        ],
        ..TOKEN
    },
    Rule {
        id: "azure-devops-token",
        why: "Azure DevOps token",
        start: Start::Word,
        keywords: &["azdo"],
        pattern: r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}\b",
        hits: &[
            concat!(
                "y5f6",
                "tPOFbBChcF1bqnKYesspnAStGZc42ASAqHon1z9X4mrQo199tDg3WQjddKLlvN6IHNYb0ZRRAZDOSr9w"
            ),
            concat!(
                "export TOKEN=\"FPDq",
                "C2W9AJs055Dbe6G8RhHPUUGTxXN9NHAHWLLtulkIXsOEegyp4LDBSp7xUHxUA7oJQpCQ5z71AZDO2T48\""
            ),
        ],
        misses: &[("cut short", "k3Xv9Qm2Zp7Lw5Rt8AZDO1By4"), ("the name alone", "the AZDO pipeline ran")],
        ..TOKEN
    },
]);
