//! Keys of logging, metrics and incident services. Their data shows everything a host does.
//! Data only.

use super::{HINT, Rule, Rules, Start, TOKEN};
use crate::checks;

pub(super) static RULES: Rules = Rules::new(&[
    Rule {
        id: "grafana-cloud-token",
        why: "Grafana Cloud token",
        keywords: &["glc_"],
        pattern: r"glc_[A-Za-z0-9+/]{32,}={0,3}",
        hits: &[
            concat!("glc_", "cplFkE9QA3lQdEpjh8hJ4AAhKLekAz98"),
            concat!("export TOKEN=\"glc_", "l6gj6tk44UZhsErBEeClyup2cqW9FhTm\""),
        ],
        misses: &[
            ("cut short", concat!("glc_", "cplFkE")),
            ("inside a longer word", concat!("xglc_", "cplFkE9QA3lQdEpjh8hJ4AAhKLekAz98")),
            ("a filler", concat!("glc_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "grafana-service-token",
        why: "Grafana service account token",
        keywords: &["glsa_"],
        pattern: r"glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}\b",
        hits: &[
            concat!("glsa_", "vcLLtVoUAFx3mHs3RRvWzTiq2Qg28Iqi_fe6f07EB"),
            concat!("export TOKEN=\"glsa_", "4eXw8KY2rG218TUZOmWpfuZqqVaMtQkw_aE87fB54\""),
        ],
        misses: &[
            ("cut short", concat!("glsa_", "vcLLtV")),
            ("inside a longer word", concat!("xglsa_", "vcLLtVoUAFx3mHs3RRvWzTiq2Qg28Iqi_fe6f07EB")),
            ("a filler", concat!("glsa_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "grafana-api-key",
        why: "Grafana key: base64 of a JSON key",
        keywords: &["eyjrijoi"],
        pattern: r"eyJrIjoi[A-Za-z0-9+/]{60,}={0,3}",
        hits: &[
            concat!("eyJrIjoi", "YOPdQI3KSe7jBwPfxGuJnOBTvsuKgrWxaZLfla3tJAGflrjW4JlXF8zEzULO"),
            concat!(
                "export TOKEN=\"eyJrIjoi",
                "caiNxJfaePjxjig7P5Ao4s0EuU3GNWJGQ513LkbBqclozIGm2yeTsi3oFnl5\""
            ),
        ],
        misses: &[
            ("cut short", concat!("eyJrIjoi", "YOPdQI")),
            (
                "inside a longer word",
                concat!("xeyJrIjoi", "YOPdQI3KSe7jBwPfxGuJnOBTvsuKgrWxaZLfla3tJAGflrjW4JlXF8zEzULO"),
            ),
            ("a filler", concat!("eyJrIjoi", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "newrelic-user-key",
        why: "New Relic user key",
        keywords: &["nrak-"],
        pattern: r"NRAK-[A-Z0-9]{27}\b",
        hits: &[
            concat!("NRAK-", "OHW2JAAAOPCVNFXWPCBY14WAHAI"),
            concat!("export TOKEN=\"NRAK-", "ZLJ7V43E8RCJX0RZW3OKYVNGBFG\""),
        ],
        misses: &[
            ("cut short", concat!("NRAK-", "OHW2JA")),
            ("inside a longer word", concat!("xNRAK-", "OHW2JAAAOPCVNFXWPCBY14WAHAI")),
            ("a filler", concat!("NRAK-", "xxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "newrelic-insert-key",
        why: "New Relic insert key",
        keywords: &["nrii-"],
        pattern: r"NRII-[A-Za-z0-9-]{32}",
        hits: &[
            concat!("NRII-", "7yOaZ4vWRUE3nf30EXFtGZzAXH8nmzIW"),
            concat!("export TOKEN=\"NRII-", "ZOO1xXYFJlXwbCtf8V8jiLmLB6M1j7DR\""),
        ],
        misses: &[
            ("cut short", concat!("NRII-", "7yOaZ4")),
            ("inside a longer word", concat!("xNRII-", "7yOaZ4vWRUE3nf30EXFtGZzAXH8nmzIW")),
            ("a filler", concat!("NRII-", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "newrelic-browser-key",
        why: "New Relic browser key",
        keywords: &["nrjs-"],
        pattern: r"NRJS-[0-9a-f]{19}\b",
        hits: &[
            concat!("NRJS-", "8a39ea9c3fc964ac71b"),
            concat!("export TOKEN=\"NRJS-", "10769cd48ee34825b08\""),
        ],
        misses: &[
            ("cut short", concat!("NRJS-", "8a39ea")),
            ("inside a longer word", concat!("xNRJS-", "8a39ea9c3fc964ac71b")),
            ("a filler", concat!("NRJS-", "xxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "newrelic-admin-key",
        why: "New Relic admin or query key",
        keywords: &["nraa-", "nriq-"],
        pattern: r"NR(?:AA|IQ)-[A-Za-z0-9_-]{27,}",
        hits: &[
            concat!("NRAA-", "MRmxhkjus550FqCJj7q6AGYuH0z"),
            concat!("export TOKEN=\"NRAA-", "V5T39UPVFiEmfS3VX7GfsAuiiAK\""),
        ],
        misses: &[
            ("cut short", concat!("NRAA-", "MRmxhk")),
            ("inside a longer word", concat!("xNRAA-", "MRmxhkjus550FqCJj7q6AGYuH0z")),
            ("a filler", concat!("NRAA-", "xxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "dynatrace-token",
        why: "Dynatrace token",
        keywords: &["dt0"],
        pattern: r"(?i)dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64}\b",
        hits: &[
            concat!(
                "dt0m",
                "62.BR9F9NGHVJBS9XKDGWKDGVRT.0C5Z05JIFO5Z4NS7S6SCESLAU6LIVK3ZH4FHDP3L1LLIU5HEPVGDPT0IP6P952HD"
            ),
            concat!(
                "export TOKEN=\"dt0w",
                "61.HXA56ZB2L3EBVRANWOAMTTS4.GP4D949RWAKS5Y32KZ3HJN200PPQ3C1NL0S4YDI988ZRPRUB900BGROIQBAG0MVH\""
            ),
        ],
        misses: &[
            ("cut short", concat!("dt0m", "62.BR")),
            (
                "inside a longer word",
                concat!(
                    "xdt0m",
                    "62.BR9F9NGHVJBS9XKDGWKDGVRT.0C5Z05JIFO5Z4NS7S6SCESLAU6LIVK3ZH4FHDP3L1LLIU5HEPVGDPT0IP6P952HD"
                ),
            ),
            (
                "a filler",
                concat!(
                    "dt0x",
                    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                ),
            ),
        ],
        ..TOKEN
    },
    Rule {
        id: "sentry-org-token",
        why: "Sentry organisation token",
        keywords: &["sntrys_eyj"],
        pattern: r"sntrys_eyJ[A-Za-z0-9+/=_]{60,}",
        hits: &[
            concat!("sntrys_eyJ", "AXlsm8Ym6cYDDSv65TlOoi1hmCUncsCCIJxQ1C5tB73KvLc6rcI3Nc11Omgw"),
            concat!(
                "export TOKEN=\"sntrys_eyJ",
                "X3m9xijf4hwGEBxJlPaX7HoUB4Mkq2qYKN8JVZo9gjPeYpBl6oVuMy5gbqZF\""
            ),
        ],
        misses: &[
            ("cut short", concat!("sntrys_eyJ", "AXlsm8")),
            (
                "inside a longer word",
                concat!("xsntrys_eyJ", "AXlsm8Ym6cYDDSv65TlOoi1hmCUncsCCIJxQ1C5tB73KvLc6rcI3Nc11Omgw"),
            ),
            (
                "a filler",
                concat!("sntrys_eyJ", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
            ),
        ],
        ..TOKEN
    },
    Rule {
        id: "sentry-user-token",
        why: "Sentry user token",
        keywords: &["sntryu_"],
        pattern: r"sntryu_[0-9a-f]{64}\b",
        hits: &[
            concat!("sntryu_", "8a4f3d6ae611e78ef89062c3a10462ad2535fa49c63a104e30855170fbb804d1"),
            concat!(
                "export TOKEN=\"sntryu_",
                "9d1aba8eeb67849db01c59b5befd66e2ef87157588dc72ab00bcd795bf8efed6\""
            ),
        ],
        misses: &[
            ("cut short", concat!("sntryu_", "8a4f3d")),
            (
                "inside a longer word",
                concat!("xsntryu_", "8a4f3d6ae611e78ef89062c3a10462ad2535fa49c63a104e30855170fbb804d1"),
            ),
            (
                "a filler",
                concat!("sntryu_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
            ),
        ],
        ..TOKEN
    },
    Rule {
        id: "sentry-legacy-token",
        why: "Sentry token by its usual name",
        crosses: true,
        reach: 200,
        keywords: &["sentry"],
        pattern: r#"(?i)sentry[\w.-]{0,24}["\']?\s*[=:]\s*["\']?([0-9a-f]{64})\b"#,
        check: Some(checks::varied),
        hits: &[
            "SENTRY_AUTH_TOKEN=54598d5e400c5b9d7c8e41853f8ad405aea474736ca7425eeb5248a1b4ede324",
            "sentry: \"6318775c60c5b94c7e05e52f929bb4a02937b0bbbcbc3cead13ae9233c10a13d\"",
        ],
        misses: &[
            (
                "a filler",
                "SENTRY_AUTH_TOKEN=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            ),
            ("another length", "sentry: \"abc123\""),
        ],
        ..TOKEN
    },
    Rule {
        id: "datadog-key",
        why: "Datadog key by its usual name",
        crosses: true,
        reach: 200,
        keywords: &["datadog", "dd_api", "dd_app", "dd-api"],
        pattern: r#"(?i)(?:datadog|dd)[_-](?:api|app)(?:lication)?[_-]key["\']?\s*[=:]\s*["\']?([0-9a-f]{32}(?:[0-9a-f]{8})?)\b"#,
        check: Some(checks::varied),
        hits: &[
            "DD_API_KEY=7135abc6a270acc29fbf8d342f65b3a9",
            "datadog_app_key: \"b84dc2381ac5960b926cc9a072b4b0e7c1841e5c\"",
        ],
        misses: &[("a reference", "DD_API_KEY=${DD}"), ("another length", "DD_API_KEY=abc123")],
        ..TOKEN
    },
    Rule {
        id: "pagerduty-key",
        why: "PagerDuty key by its usual name",
        crosses: true,
        reach: 200,
        keywords: &["pagerduty"],
        pattern: r#"(?i)pagerduty[\w.-]{0,24}["\']?\s*[=:]\s*["\']?([A-Za-z0-9_+-]{20})(?:[^A-Za-z0-9_+-]|$)"#,
        check: Some(checks::varied),
        hits: &["PAGERDUTY_TOKEN=u+k3Xv9Qm2Zp7Lw5Rt8J", "pagerduty: \"y_NbAkKc66ryYTWUXYEu\""],
        misses: &[
            ("prose", "pagerduty: on call this week is"),
            ("a reference", "PAGERDUTY_TOKEN=${PD_TOKEN}"),
        ],
        ..TOKEN
    },
    Rule {
        id: "sumologic-id",
        why: "Sumo Logic access id",
        weight: HINT,
        start: Start::Keyword,
        keywords: &["su"],
        pattern: r"su[A-Za-z0-9]{12}\b",
        check: Some(checks::generated),
        hits: &["id = su3K7vQ9mZ2pLw", "su8x5Rt2Jn1By4"],
        misses: &[
            ("a word", "superintendent"),
            ("a method", "sumOfProperty"),
            ("inside a longer word", "basu3K7vQ9mZ2pLw"),
        ],
        ..TOKEN
    },
    Rule {
        id: "splunk-token",
        why: "Splunk collector token by its header",
        crosses: true,
        reach: 48,
        keywords: &["splunk "],
        pattern: r"(?i)Splunk\s+([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b",
        check: Some(checks::varied),
        hits: &[
            "Authorization: Splunk ed037aa5-c277-558a-fe9f-a6a8b37e97d2",
            "splunk 461fcdcc-ad18-0c62-cf7e-e632a4e762ce",
        ],
        misses: &[("a mention", "Splunk index main"), ("cut short", "Splunk be1b0129-728e")],
        ..TOKEN
    },
    Rule {
        id: "honeycomb-key",
        why: "Honeycomb key",
        keywords: &["hcaik_", "hcbik_", "hcxik_", "hcmik_", "hciik_"],
        pattern: r"hc[abxmi]ik_[a-z0-9]{58}\b",
        hits: &[
            concat!("hcmik_", "ogsdq28l533vfjajpe4po7bgpxewywz5orbox5hrjib8wq2iduw9wynvrd"),
            concat!("export TOKEN=\"hcaik_", "afzqw1ylyvbd11wm2lfsypont6qwsyevkeg011a1xs9w54x3s64f4adtww\""),
        ],
        misses: &[
            ("cut short", concat!("hcmik_", "ogsdq2")),
            (
                "inside a longer word",
                concat!("xhcmik_", "ogsdq28l533vfjajpe4po7bgpxewywz5orbox5hrjib8wq2iduw9wynvrd"),
            ),
            ("a filler", concat!("hcmik_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "axiom-token",
        why: "Axiom token",
        keywords: &["xaat-", "xapt-"],
        pattern: r"xa[ap]t-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        hits: &[
            concat!("xaat-", "9b5c8ee4-12c6-ead6-4924-1826ec3de515"),
            concat!("export TOKEN=\"xapt-", "eac31884-f57b-e2ee-a08b-81895d4b09ee\""),
        ],
        misses: &[
            ("cut short", concat!("xaat-", "9b5c8e")),
            ("inside a longer word", concat!("xxaat-", "9b5c8ee4-12c6-ead6-4924-1826ec3de515")),
            ("a filler", concat!("xaat-", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "error-tracker-key",
        why: "Airbrake, Rollbar or Bugsnag key by its usual name",
        crosses: true,
        reach: 200,
        keywords: &["airbrake", "rollbar", "bugsnag", "honeybadger"],
        pattern: r#"(?i)(?:airbrake|rollbar|bugsnag|honeybadger)[\w.-]{0,24}["\']?\s*[=:]\s*["\']?([0-9a-f]{32})\b"#,
        check: Some(checks::varied),
        hits: &[
            "ROLLBAR_ACCESS=cf55433afd97166184e8a3f5513ba64f",
            "bugsnag: \"2dd5128e4ba96d2e01fb4ad0bf774456\"",
        ],
        misses: &[("prose", "rollbar: error tracking"), ("another length", "bugsnag: \"abc123\"")],
        ..TOKEN
    },
]);
