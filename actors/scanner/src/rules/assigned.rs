//! Values that a telling name gives away: `name = value` in any syntax. The widest family, so the checks are strict:
//! a value must look generated, and references, masks and words are left. Data only.

use super::{LIKELY, Rule, Rules, STRONG, Start, TOKEN};
use crate::checks;

pub(super) static RULES: Rules = Rules::new(&[
    Rule {
        id: "assigned-secret",
        why: "Value of a name that says it is a secret",
        start: Start::Word,
        reach: 280,
        crosses: true,
        weight: STRONG,
        keywords: &[
            "token", "secret", "api_key", "apikey", "api-key", "api key", "access_key", "accesskey",
            "access-key", "auth_key", "authkey", "account_key", "credential", "client_key", "encryption_key",
            "signing_key", "service_key", "master_key", "license_key", "ssh_key", "admin_key", "write_key",
            "priv_key",
        ],
        pattern: r#"(?i)[\w.%$-]*?(?:token|secret|api[_ -]?key|access[_-]?key|auth[_-]?key|account[_-]?key|credential|client[_-]?key|encryption[_-]?key|signing[_-]?key|service[_-]?key|master[_-]?key|license[_-]?key|ssh[_-]?key|admin[_-]?key|write[_-]?key|priv_key)(?:[\w.-]{0,24}?(?:key|token|id|value|base64|env|prod|live|test|_\d)?)(?:["\'],[ \t]{0,3}|["\'`\]\)]{0,3}(?:[ \t]*(?:(?:[?:.+|]|:::?)?=>?|\|\||:{1,3}=?|=>|>|->|string[ \t]*=)[ \t]*|[ \t]+(?:is|was|=)[ \t:]+|\s{0,3}>\s{0,8})[\s]{0,6}[=>]?[\s]{0,2})(?:new |String\()?\\?["\'`]{0,3}([A-Za-z0-9+/_=~.:-]{10,200})"#,
        check: Some(checks::secret_value),
        named: Some(checks::names_a_secret),
        hits: &[
            "asana_token: \"r3r5x27qv6cdk74be79zipklt34lm9b3\"",
            "API_SECRET=k3Xv9Qm2Zp7Lw5Rt8Jn1",
            "const clientSecret = 'b7Qx2Lm9Zk4Rt8Wn6Yp3'",
            "<apiToken>\n    a9f3c1e07b2d4856\n</apiToken>",
            "System.setProperty(\"X_TOKEN\", \"13624e416321b11ecc8832e476467fb1\")",
        ],
        misses: &[
            ("a reference", "api_key = os.environ[\"SERVICE_API_KEY_2\"]"),
            ("a call", "token = getTokenFromStore2(config)"),
            ("a name", "secret_name = \"database-credentials\""),
            ("a type", "access_token: Option<String>"),
            ("a count", "max_tokens: 4096"),
            ("a list of packages", "[\n \"crypto_secretbox\",\n \"curve25519-dalek\",\n]"),
            ("an identifier of one", "credentialsId: 'ff083f76-7804-4ef1-80e4-fe975bb9141b'"),
            ("half of a pair", "public_token = \"9Cnzj4p4WGeKLs1Pt8QuKUpRKfFLfRYC9AIKjbJTWit\""),
            ("a token of a form", "csrf-token=Mj2qykJO5rELyHgezQ69nzUX0i3OH67V7V4eUrLf"),
            ("a hash of something else", "sha256: \"13624e416321b11ecc8832e476467fb1\""),
        ],
        ..TOKEN
    },
    Rule {
        id: "assigned-password",
        why: "Value of a name that says it is a password",
        start: Start::Word,
        reach: 200,
        crosses: true,
        weight: STRONG,
        keywords: &["passw", "passwd", "pwd", "passphrase", "pass:", "pass=", "_pass"],
        pattern: r#"(?i)[\w.%$-]*?(?:passw(?:or)?d|passwd|pwd|passphrase|_?pass)[\w.-]{0,12}["\'`\]]{0,3}(?:>([^\s<]{6,100})</|(?:[ \t]*(?:(?:[?:.+]|::)?=>?|:|=>)[ \t]*|[ \t]+(?:is|was)[ \t:]+)\\?(?:"([^"\s\\]{6,100})|\'([^\'\s\\]{6,100})|`([^`\s]{6,100})|([^\s"\'`<>(){}\[\],;]{6,100})))"#,
        check: Some(checks::password),
        named: Some(checks::names_a_secret),
        hits: &[
            "DB_PASSWORD=kq9!zR2mLw",
            "password: \"S3cure#pass1\"",
            "<password>S3cure#pa1</password>",
            "the password is hunter2!x",
        ],
        misses: &[
            ("a reference", "password = ${DB_PASSWORD}"),
            ("a call", "password = request.form[\"password1\"]"),
            ("a path", "password = data.secrets_version.db1.secret_string"),
            ("another word", "compass: n45e22x9"),
            ("prose", "password: required"),
            ("a mask", "password: ********"),
            ("a rule", "passwords: at least 8"),
        ],
        ..TOKEN
    },
    Rule {
        id: "provider-value",
        why: "Generated value right after a provider's name: a key in all but name",
        start: Start::Word,
        reach: 200,
        crosses: true,
        weight: LIKELY,
        keywords: &[
            "adafruit", "adobe", "algolia", "alibaba", "aliyun", "asana", "azure", "beamer", "bitbucket",
            "bittrex", "clickhouse", "cloudflare", "codecov", "cohere", "coinbase", "confluent",
            "contentful", "datadog", "digitalocean", "discord", "droneci", "dropbox", "etsy", "facebook",
            "fastly", "finicity", "finnhub", "flickr", "freshbooks", "github", "gitlab", "gitter", "heroku",
            "hubspot", "intercom", "jfrog", "kraken", "kucoin", "launchdarkly", "linear", "linkedin",
            "looker", "meraki", "messagebird", "netlify", "newrelic", "nytimes", "okta", "openai", "plaid",
            "rapidapi", "sendbird", "shippo", "snyk", "sourcegraph", "squarespace", "stripe", "sumo",
            "travis", "twilio", "twitch", "twitter", "typeform", "yandex", "zendesk",
        ],
        pattern: r#"(?i)[\w.%$-]*?(?:adafruit|adobe|algolia|alibaba|aliyun|asana|azure|beamer|bitbucket|bittrex|clickhouse|cloudflare|codecov|cohere|coinbase|confluent|contentful|datadog|digitalocean|discord|droneci|dropbox|etsy|facebook|fastly|finicity|finnhub|flickr|freshbooks|gitter|gitlab|github|heroku|hubspot|intercom|jfrog|kraken|kucoin|launchdarkly|linear|linkedin|looker|meraki|messagebird|netlify|new-?relic|newrelic|nytimes|okta|openai|plaid|rapidapi|sendbird|shippo|snyk|sourcegraph|squarespace|stripe|sumo(?:logic)?|travis|twilio|twitch|twitter|typeform|yandex|zendesk)(?:[_.-]?(?:key|id|auth|pat|api|app|login|oauth|v\d|prod|live))*["\'`\]]{0,3}[ \t]*(?:(?:[?:.+|]|:::?)?=>?|:|=>)[ \t]*["\'`]{0,3}([A-Za-z0-9][A-Za-z0-9_=-]{19,100})(?:[^A-Za-z0-9_=/.-]|$)"#,
        check: Some(checks::secret_value),
        named: Some(checks::names_a_secret),
        hits: &[
            "meraki: 50912b163e17f5ee34f688d348b9afcb82c49b60",
            "DATADOG_KEY=\"ar80miyj4zhk7v07zxm5jixw12xoxf54bb3qqfts\"",
        ],
        misses: &[
            ("a filler", "meraki: aaaaaaaaaa1111111111bbbbbbbbbb2222222222"),
            ("a part of another name", "ReactNativeCameraKit: f15a5a04b0f6dc6073e6db0296e6ef2d8b8d2522"),
            (
                "an image digest",
                "gitlab = sha256:f012f40452bbe05ad76290de2b08be87d8380a311ca55472938ad251dab01b5e",
            ),
        ],
        ..TOKEN
    },
    Rule {
        id: "sealed-value",
        why: "Value of a name that says the name of a standard secret variable",
        start: Start::Before(56),
        reach: 260,
        crosses: true,
        weight: LIKELY,
        keywords: &["_secret", "_token", "_password", "_passwd", "_key\"", "_key="],
        pattern: r#"(?:^|[\s"\'{,;])(?:export\s+)?[A-Z][A-Z0-9_]{2,48}_(?:SECRET|TOKEN|PASSWORD|PASSWD|KEY)["\']?\s*[=:]\s*["\']?([A-Za-z0-9+/_=.@!#%^&*~-]{12,200})"#,
        check: Some(checks::secret_value),
        named: Some(checks::names_a_secret),
        hits: &["export SESSION_KEY=k3Xv9Qm2Zp7Lw5Rt", "{\"HMAC_KEY\": \"b7Qx2Lm9Zk4Rt8Wn6Yp3\"}"],
        misses: &[
            ("a reference", "SESSION_KEY=${SESSION_KEY}"),
            ("a word", "PRIMARY_KEY=identifier_column"),
            ("in lower case", "session_key=identifier_column"),
        ],
        ..TOKEN
    },
]);
