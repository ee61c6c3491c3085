//! Tokens of office, design and project tools: they read what a team writes.
//! Data only.

use super::{Rule, Rules, TOKEN};
use crate::checks;

pub(super) static RULES: Rules = Rules::new(&[
    Rule {
        id: "airtable-pat",
        why: "Airtable token: bases of its owner",
        keywords: &["pat"],
        pattern: r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}\b",
        hits: &[
            concat!("patl", "cOLmarkxh4xK3.f2fec214f4f9b104edf28642c6b408cdae4795cdc19230fee4ec4fd1a39cbc4b"),
            concat!(
                "export TOKEN=\"patN",
                "vgjJNxZiaEfbr.db0534a9b983f0f4539b7444a295bd7a473acae86e7d55eabf393b50552674a5\""
            ),
        ],
        misses: &[
            ("cut short", concat!("patl", "cOLma")),
            (
                "inside a longer word",
                concat!(
                    "xpatl",
                    "cOLmarkxh4xK3.f2fec214f4f9b104edf28642c6b408cdae4795cdc19230fee4ec4fd1a39cbc4b"
                ),
            ),
            (
                "a filler",
                concat!(
                    "patx",
                    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                ),
            ),
        ],
        ..TOKEN
    },
    Rule {
        id: "notion-token",
        why: "Notion token: pages of its owner",
        keywords: &["ntn_", "secret_"],
        pattern: r"(?:ntn_[0-9]{11}[A-Za-z0-9]{32,}|secret_[A-Za-z0-9]{43}\b)",
        hits: &[
            concat!("secret_", "16a2bBr7JMau54ACT4VniGtEyD3MdhNP8hFc7kKtrIv"),
            concat!("export TOKEN=\"secret_", "gZzjl4U5hnE9YMYWbIQwnlLZ82lC11dfyYsmeI1V7bc\""),
        ],
        misses: &[("cut short", "ntn_1234"), ("a name", "secret_of_the_old_house_by_the_river")],
        ..TOKEN
    },
    Rule {
        id: "linear-key",
        why: "Linear key: issues of a team",
        keywords: &["lin_"],
        pattern: r"lin_(?:api|oauth)_[A-Za-z0-9]{40,}",
        hits: &[
            concat!("lin_", "api_YbPjx53es6oi7JgdnrBu2TaZSbM1Z0PzrJfeQhT8"),
            concat!("export TOKEN=\"lin_", "oauth_MuRQr48n2UKJRf1OfCGrFAwhgU1wUKNcrjinfzIn\""),
        ],
        misses: &[
            ("cut short", concat!("lin_", "api_Yb")),
            ("inside a longer word", concat!("xlin_", "api_YbPjx53es6oi7JgdnrBu2TaZSbM1Z0PzrJfeQhT8")),
            ("a filler", concat!("lin_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "asana-token",
        why: "Asana token: tasks of its owner",
        keywords: &["1/", "2/"],
        pattern: r"[12]/\d{16}(?:/\d{16})?:[0-9a-f]{32}\b",
        check: Some(checks::varied),
        hits: &[
            "1/4053781933786597:9c58058ec5ae5389a82dc8139ab38040",
            "ASANA=\"2/6496895136338890/0303593049043660:e3711ea981e94be56dccc1dced0efa52\"",
        ],
        misses: &[("a date", "on 1/2/2024: done"), ("cut short", "1/1234567890123456:ab12")],
        ..TOKEN
    },
    Rule {
        id: "figma-token",
        why: "Figma token: designs of its owner",
        keywords: &["figd_", "figo", "figu"],
        pattern: r"fig[dou][rh]?_[A-Za-z0-9_-]{38,}",
        hits: &[
            concat!("figd_", "Bf1XkByFp8pM699G21s9pBozRZa0I4lCklYN0D"),
            concat!("export TOKEN=\"figo_", "Mjom2lTUsumaVVGxAnEwo76Q2i3AuKrJ03ekVX\""),
        ],
        misses: &[
            ("cut short", concat!("figd_", "Bf1XkB")),
            ("inside a longer word", concat!("xfigd_", "Bf1XkByFp8pM699G21s9pBozRZa0I4lCklYN0D")),
            ("a filler", concat!("figd_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "typeform-token",
        why: "Typeform token: forms and their answers",
        keywords: &["tfp_"],
        pattern: r"tfp_[A-Za-z0-9_=.-]{50,}",
        hits: &[
            concat!("tfp_", "yqWTmgSZQLO51EgYGG7xKDfTAQ8kTqy7xzA1eGjv71fqYmv9lT"),
            concat!("export TOKEN=\"tfp_", "h5i893nq15lCUuispMVpPNYnd3ka5Nrokk2JvwAJkubxrMCPRa\""),
        ],
        misses: &[
            ("cut short", concat!("tfp_", "yqWTmg")),
            ("inside a longer word", concat!("xtfp_", "yqWTmgSZQLO51EgYGG7xKDfTAQ8kTqy7xzA1eGjv71fqYmv9lT")),
            ("a filler", concat!("tfp_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "postman-key",
        why: "Postman key: requests and their stored credentials",
        keywords: &["pmak-"],
        pattern: r"PMAK-[0-9a-fA-F]{24}-[0-9a-fA-F]{34}\b",
        hits: &[
            concat!("PMAK-", "4022d3F3cEcFbDe0dddF3f00-eDeE4ADCc7c27e6DAecad23ef87d6Bf3f0"),
            concat!("export TOKEN=\"PMAK-", "e5Fc310DD53Fd06b205afde4-90F91Bf02f7E6eF7FaaFFeef0f7C683BD8\""),
        ],
        misses: &[
            ("cut short", concat!("PMAK-", "4022d3")),
            (
                "inside a longer word",
                concat!("xPMAK-", "4022d3F3cEcFbDe0dddF3f00-eDeE4ADCc7c27e6DAecad23ef87d6Bf3f0"),
            ),
            ("a filler", concat!("PMAK-", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "readme-token",
        why: "ReadMe key: documentation of its owner",
        keywords: &["rdme_"],
        pattern: r"rdme_[a-z0-9]{70}\b",
        hits: &[
            concat!("rdme_", "iu6eojrq9i0pbpftuiil06p4w31ozut8vpvpbr24utyoq1ibqge6o54r2eaq2h1z9c3rny"),
            concat!(
                "export TOKEN=\"rdme_",
                "j4hq3u1lhhinwdv0zyi800k4ocq4g6br7za79ega4rxv9bs9pm86g5lrd1e0tynfq0n35r\""
            ),
        ],
        misses: &[
            ("cut short", concat!("rdme_", "iu6eoj")),
            (
                "inside a longer word",
                concat!("xrdme_", "iu6eojrq9i0pbpftuiil06p4w31ozut8vpvpbr24utyoq1ibqge6o54r2eaq2h1z9c3rny"),
            ),
            (
                "a filler",
                concat!("rdme_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
            ),
        ],
        ..TOKEN
    },
    Rule {
        id: "frameio-token",
        why: "Frame.io token: videos of a team",
        keywords: &["fio-u-"],
        pattern: r"fio-u-[A-Za-z0-9_=-]{60,}",
        hits: &[
            concat!("fio-u-", "1oDqkrxhX6NgrMiYfAX2ythr6tY3MknFWgJv2gr0lPCI6HTCQk3nAfKeH3o1"),
            concat!(
                "export TOKEN=\"fio-u-",
                "AGZjyycgNFNk3U5kHx4kBTXGmaeVdE4JfkwAyttgt6eycWubN1VFy0c2EJGV\""
            ),
        ],
        misses: &[
            ("cut short", concat!("fio-u-", "1oDqkr")),
            (
                "inside a longer word",
                concat!("xfio-u-", "1oDqkrxhX6NgrMiYfAX2ythr6tY3MknFWgJv2gr0lPCI6HTCQk3nAfKeH3o1"),
            ),
            ("a filler", concat!("fio-u-", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "dropbox-token",
        why: "Dropbox token: files of its owner",
        reach: 1400,
        keywords: &["sl."],
        pattern: r"sl\.(?:u\.)?[A-Za-z0-9_=-]{100,}",
        hits: &[
            concat!(
                "sl.4",
                "HZXW3Y9MBRbOYGIFmpF0U2CUzjR3vPaSS3K7qNZx9lsddocmZLj0GEgK7I1uAfLx1ayQL4yKY4MRxmYWKLTbeq5e0QfsaOh9xZO"
            ),
            concat!(
                "export TOKEN=\"sl.Y",
                "3UUWiMDLPz6xvedwJK6KVpF2r1t3AaBoyvPwRN70POyeghnbiY3SGv72nDuWXwXOVs4c6m8NpU6UQMDoSM9N1Xk0DI1xvAmlVf7\""
            ),
        ],
        misses: &[
            ("cut short", concat!("sl.4", "HZXW3")),
            (
                "inside a longer word",
                concat!(
                    "xsl.4",
                    "HZXW3Y9MBRbOYGIFmpF0U2CUzjR3vPaSS3K7qNZx9lsddocmZLj0GEgK7I1uAfLx1ayQL4yKY4MRxmYWKLTbeq5e0QfsaOh9xZO"
                ),
            ),
            (
                "a filler",
                concat!(
                    "sl.x",
                    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                ),
            ),
        ],
        ..TOKEN
    },
    Rule {
        id: "contentful-token",
        why: "Contentful management token",
        keywords: &["cfpat-"],
        pattern: r"CFPAT-[A-Za-z0-9_-]{43}",
        hits: &[
            concat!("CFPAT-", "2WTC4qdkAnUzlZ2Sb9DwmbpFTfdBy0pKPlCOAbMDsd7"),
            concat!("export TOKEN=\"CFPAT-", "oreodS1qko7UoATs1pN5aXgyOAmvNNGbJUmLCCVe0Tz\""),
        ],
        misses: &[
            ("cut short", concat!("CFPAT-", "2WTC4q")),
            ("inside a longer word", concat!("xCFPAT-", "2WTC4qdkAnUzlZ2Sb9DwmbpFTfdBy0pKPlCOAbMDsd7")),
            ("a filler", concat!("CFPAT-", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "desk-key",
        why: "Zendesk, Freshdesk or Jira key by its usual name",
        crosses: true,
        reach: 200,
        keywords: &["zendesk", "freshdesk", "jira", "confluence"],
        pattern: r#"(?i)(?:zendesk|freshdesk|jira|confluence)[\w.-]{0,24}["\']?\s*[=:]\s*["\']?([A-Za-z0-9]{20,40})\b"#,
        check: Some(checks::generated),
        hits: &[
            "ZENDESK_SECRET=igw6q8x9q4t13hz217e5p0kim8fupiz9tpbo562a",
            "jira: \"k3Xv9Qm2Zp7Lw5Rt8Jn1By4G\"",
        ],
        misses: &[("prose", "jira: see the ticket about releases"), ("a ticket", "jira: PROJ-12345")],
        ..TOKEN
    },
]);
