//! Credentials of databases and data platforms, other than addresses.
//! Data only.

use super::{Rule, Rules, STRONG, Start, TOKEN};
use crate::checks;

pub(super) static RULES: Rules = Rules::new(&[
    Rule {
        id: "databricks-token",
        why: "Databricks token: data and clusters of its owner",
        keywords: &["dapi"],
        pattern: r"dapi[0-9a-f]{32}(?:-\d)?\b",
        hits: &[
            concat!("dapi", "8656fec4587b6931ff7e07bc12d2d1b5"),
            concat!("export TOKEN=\"dapi", "f847aa1a0d251f3b33ce2be9c0cb1174\""),
        ],
        misses: &[
            ("cut short", concat!("dapi", "8656fe")),
            ("inside a longer word", concat!("xdapi", "8656fec4587b6931ff7e07bc12d2d1b5")),
            ("a filler", concat!("dapi", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "dbt-token",
        why: "dbt Cloud token",
        keywords: &["dbtc_", "dbtu_"],
        pattern: r"dbt[cu]_[A-Za-z0-9_-]{36,}",
        hits: &[
            concat!("dbtu_", "GPHr45byBpkFr9uTvyjTkubDg736rlr6DoYJ"),
            concat!("export TOKEN=\"dbtc_", "L9uibvf5YloRPTTANYxcU196Ivdk8Z1e1Su0\""),
        ],
        misses: &[
            ("cut short", concat!("dbtu_", "GPHr45")),
            ("inside a longer word", concat!("xdbtu_", "GPHr45byBpkFr9uTvyjTkubDg736rlr6DoYJ")),
            ("a filler", concat!("dbtu_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "data-platform-key",
        why: "Confluent or Snowflake key by its usual name",
        crosses: true,
        reach: 200,
        keywords: &["snowflake", "confluent", "kafka", "aiven", "elastic"],
        pattern: r#"(?i)(?:snowflake|confluent|kafka|aiven|elastic)[\w.-]{0,24}(?:secret|key|token|password)["\']?\s*[=:]\s*["\']?([A-Za-z0-9+/=_-]{16,88})(?:[^A-Za-z0-9+/=_-]|$)"#,
        check: Some(checks::generated),
        hits: &[
            "CONFLUENT_API_SECRET=SD6owbI91lGXYa1ffOLQEco5Fyxu2zZYHvn6tSIxHUjN01ASZjAW93GYyoK7Ysqm",
            "snowflake_password: \"k3Xv9Qm2Zp7Lw5Rt\"",
        ],
        misses: &[("a reference", "KAFKA_PASSWORD=${KAFKA_PASSWORD}"), ("prose", "elastic: search")],
        ..TOKEN
    },
    Rule {
        id: "neon-key",
        why: "Neon key",
        keywords: &["napi_"],
        pattern: r"napi_[a-z0-9]{60,}",
        hits: &[
            concat!("napi_", "cgd9lttiu9htdrlptuq4jk05i5n3azkmet6xarb0kgzfnvk80zc0rqor92yh"),
            concat!("export TOKEN=\"napi_", "7slv0ctokz1e259bzcrrk61vmv12un7qh5davhy1rgjr1xtzy6yi2hkj50jt\""),
        ],
        misses: &[
            ("cut short", concat!("napi_", "cgd9lt")),
            (
                "inside a longer word",
                concat!("xnapi_", "cgd9lttiu9htdrlptuq4jk05i5n3azkmet6xarb0kgzfnvk80zc0rqor92yh"),
            ),
            ("a filler", concat!("napi_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "redis-platform-key",
        why: "Upstash, Turso or Redis key by its usual name",
        crosses: true,
        reach: 200,
        keywords: &["upstash", "turso", "redis"],
        pattern: r#"(?i)(?:upstash|turso|redis)[\w.-]{0,24}(?:token|password|key)["\']?\s*[=:]\s*["\']?([A-Za-z0-9+/=_.-]{20,})"#,
        check: Some(checks::generated),
        hits: &[
            "UPSTASH_REDIS_REST_TOKEN=0tDMhH2cAcTgX6Gv4XfLkebEh8awzgslHjCIKpzN5YT92aaJQr856Kju",
            "redis_password: \"yVZDMcpLijzuorUR30mzccg22d5sgRDy\"",
        ],
        misses: &[
            ("a reference", "REDIS_PASSWORD=${REDIS_PASSWORD}"),
            ("prose", "redis key: user:1000:sessions"),
        ],
        ..TOKEN
    },
    Rule {
        id: "search-key",
        why: "Cohere, Algolia or Pinecone key by its usual name",
        crosses: true,
        reach: 200,
        keywords: &["cohere", "co_api", "algolia", "pinecone", "weaviate", "qdrant"],
        pattern: r#"(?i)(?:cohere|co|algolia|pinecone|weaviate|qdrant)[_-](?:[\w.-]{0,12})key["\']?\s*[=:]\s*["\']?([A-Za-z0-9-]{32,40})(?:[^A-Za-z0-9-]|$)"#,
        check: Some(checks::generated),
        hits: &[
            "export CO_API_KEY=cNSf5VLAG2K5Oph06Wl6tTu7QudXGXHiN15Zw7OS",
            "algolia_admin_key: \"b5934905af32f07b9e5f12c8b9db5ce9\"",
        ],
        misses: &[("a reference", "CO_API_KEY=${COHERE}"), ("prose", "algolia-key: see the console")],
        ..TOKEN
    },
    Rule {
        id: "kubernetes-secret",
        why: "Value of a Kubernetes Secret: base64, which hides nothing",
        start: Start::Before(0),
        reach: 700,
        crosses: true,
        weight: STRONG,
        keywords: &["kind: secret", "kind:secret", "kind: \"secret"],
        pattern: r#"(?i)kind:\s*"?Secret\b[\s\S]{1,400}?data:\s*\n\s+[\w.-]+:\s*"?([A-Za-z0-9+/]{8,}={0,3})"#,
        check: None,
        hits: &[
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ndata:\n  password: aHVudGVyMiE0NQ==\n",
            "kind: Secret\ntype: Opaque\ndata:\n  api-key: \"c2VjcmV0LWtleS05OTE=\"\n",
        ],
        misses: &[
            ("another kind", "kind: ConfigMap\ndata:\n  level: aW5mb3JtYXRpb24="),
            ("no data", "kind: Secret\nmetadata:\n  name: db\n"),
        ],
        ..TOKEN
    },
    Rule {
        id: "ado-net-password",
        why: "Password in a connection string",
        reach: 90,
        crosses: true,
        keywords: &["password=", "pwd=", "password =", "pwd ="],
        pattern: r#"(?i)(?:password|pwd)\s*=\s*([^;"\'\s]{6,64})\s*;"#,
        check: Some(checks::password),
        hits: &["Server=db;User Id=app;Password=kq9!zR2m#Lw;", "Data Source=x;pwd=Tz7$Qw2pLx;"],
        misses: &[("a reference", "Server=db;Password=${DB_PASSWORD};"), ("empty", "Server=db;Password=;")],
        ..TOKEN
    },
]);
