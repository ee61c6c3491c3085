//! Tokens of continuous integration, code analysis and infrastructure tools: they change what is deployed.
//! Data only.

use super::{LIKELY, Rule, Rules, Start, TOKEN};

pub(super) static RULES: Rules = Rules::new(&[
    Rule {
        id: "circleci-token",
        why: "CircleCI token",
        keywords: &["ccipat_", "cciprj_"],
        pattern: r"CCIP(?:AT|RJ)_[A-Za-z0-9]{20,24}_[0-9a-f]{40}",
        hits: &[
            concat!("CCIPAT_", "mkEOnVgUaxayXvedgEK4_8b6736c838acdc4bbe92537f2f26ff29c1026be5"),
            concat!(
                "export TOKEN=\"CCIPAT_",
                "3VgY8SmwNJ1vChuGirDX_5250f067b74c68bd1ee27518e4bd6e1e465a7829\""
            ),
        ],
        misses: &[
            ("cut short", concat!("CCIPAT_", "mkEOnV")),
            (
                "inside a longer word",
                concat!("xCCIPAT_", "mkEOnVgUaxayXvedgEK4_8b6736c838acdc4bbe92537f2f26ff29c1026be5"),
            ),
            ("a filler", concat!("CCIPAT_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "buildkite-token",
        why: "Buildkite token",
        keywords: &["bkua_"],
        pattern: r"bkua_[0-9a-f]{40}\b",
        hits: &[
            concat!("bkua_", "ebc325bd99413187604e8ef1b12a80bf8843075b"),
            concat!("export TOKEN=\"bkua_", "7d1fb63c0ad3995bd6c96fde1797abd723e1f94f\""),
        ],
        misses: &[
            ("cut short", concat!("bkua_", "ebc325")),
            ("inside a longer word", concat!("xbkua_", "ebc325bd99413187604e8ef1b12a80bf8843075b")),
            ("a filler", concat!("bkua_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "sourcegraph-token",
        why: "Sourcegraph token: reads private code",
        keywords: &["sgp_"],
        pattern: r"sgp_(?:[a-fA-F0-9]{16}_|local_)?[a-fA-F0-9]{40}\b",
        hits: &[
            concat!("sgp_", "eab3a6AceaBF19C2023e27ABa1cA6cFb2cd00e8B"),
            concat!("export TOKEN=\"sgp_", "05d22d64CE2be2CeDA637c3E014967fEFdF8eA3D\""),
        ],
        misses: &[
            ("cut short", "sgp_9c2e41f07ab3"),
            ("inside a longer word", "xsgp_6d2fabeb6add229bc199faba28fd3efb57df0bd3"),
        ],
        ..TOKEN
    },
    Rule {
        id: "sonar-token",
        why: "Sonar token: reads source and findings",
        keywords: &["squ_", "sqp_", "sqa_"],
        pattern: r"sq[upa]_[A-Za-z0-9]{40}\b",
        hits: &[
            concat!("sqp_", "xxaryUTwrDIYjABDwbVXLLEt9yZo7fwHq6o51pYI"),
            concat!("export TOKEN=\"sqa_", "X5Efbbj1GVCclar4sRZfvAZ70ZfjLx5dc7GHcX4N\""),
        ],
        misses: &[
            ("cut short", concat!("sqp_", "xxaryU")),
            ("inside a longer word", concat!("xsqp_", "xxaryUTwrDIYjABDwbVXLLEt9yZo7fwHq6o51pYI")),
            ("a filler", concat!("sqp_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "snyk-token",
        why: "Snyk service token",
        keywords: &["snyk_"],
        pattern: r"snyk_(?:uat|sat)\.[0-9a-f]{8}\.[A-Za-z0-9_.-]{32,}",
        hits: &[
            concat!("snyk_", "sat.fd6770d4.GdBVxEf6m3kVSDOQpOcfomfl4xX6t2E1"),
            concat!("export TOKEN=\"snyk_", "uat.21c506ba.4kYQI9Ef8LeUEFSb3Jfyg5ME3V0AiE4o\""),
        ],
        misses: &[
            ("cut short", concat!("snyk_", "sat.fd")),
            ("inside a longer word", concat!("xsnyk_", "sat.fd6770d4.GdBVxEf6m3kVSDOQpOcfomfl4xX6t2E1")),
            ("a filler", concat!("snyk_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "harness-token",
        why: "Harness token: deploys",
        keywords: &["pat.", "sat."],
        pattern: r"(?:pat|sat)\.[A-Za-z0-9_-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}\b",
        hits: &[
            concat!("sat.", "BZTx5b3CP1IdwkHOHWazyj.b76b2ca917b4c5d21718cde2.ETMuOrhucuvP9TqfF7Ko"),
            concat!(
                "export TOKEN=\"pat.",
                "B5DSxdPhRnayiAxzucE38E.92d76334d306f5ef11798d40.oTdXPsLTvMhEeb3Hkrps\""
            ),
        ],
        misses: &[
            ("cut short", concat!("sat.", "BZTx5b")),
            (
                "inside a longer word",
                concat!("xsat.", "BZTx5b3CP1IdwkHOHWazyj.b76b2ca917b4c5d21718cde2.ETMuOrhucuvP9TqfF7Ko"),
            ),
            (
                "a filler",
                concat!("sat.", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
            ),
        ],
        ..TOKEN
    },
    Rule {
        id: "octopus-deploy-key",
        why: "Octopus Deploy key: deploys",
        weight: LIKELY,
        keywords: &["api-"],
        pattern: r"API-[A-Z0-9]{26}\b",
        hits: &[
            concat!("API-", "BDUR8IYZQJ37UWQIL3SYT0RGLR"),
            concat!("export TOKEN=\"API-", "T9VQAPA43YLTJ609COVORGV7BM\""),
        ],
        misses: &[
            ("cut short", concat!("API-", "BDUR8I")),
            ("inside a longer word", concat!("xAPI-", "BDUR8IYZQJ37UWQIL3SYT0RGLR")),
            ("a filler", concat!("API-", "xxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "infracost-key",
        why: "Infracost key",
        keywords: &["ico-"],
        pattern: r"ico-[A-Za-z0-9]{32}(?:[^A-Za-z0-9_.-]|$)",
        hits: &[
            concat!("ico-", "mnvVVYwFeQxBtf9SPACXLG3vmcsqWVgu"),
            concat!("export TOKEN=\"ico-", "ZLySV1Zhm9tbcN8ICrumqLK6H54ilvWp\""),
        ],
        misses: &[
            ("cut short", concat!("ico-", "mnvVVY")),
            ("inside a longer word", concat!("xico-", "mnvVVYwFeQxBtf9SPACXLG3vmcsqWVgu")),
            ("a filler", concat!("ico-", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "terraform-cloud-token",
        why: "Terraform Cloud token: changes infrastructure",
        start: Start::Word,
        keywords: &[".atlasv1."],
        pattern: r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}",
        hits: &[
            concat!(
                "7LDnqtCIz",
                "4P1y6.atlasv1.pqLa81AX0OWKz0GE3Az0YgBANSeQahYKELkd703IuYoR19jnsE7raShPEVFh"
            ),
            concat!(
                "export TOKEN=\"nLy0ZEIMh",
                "xnmCI.atlasv1.k8iJPGJ82YWDMsp1bPwWsOLaL3UpaJUZyjDElUTfMJIbPD4DlSn8qJpmkhp3\""
            ),
        ],
        misses: &[
            ("cut short", "q0Zb1kT9aLwXe2.atlasv1.short"),
            ("without its head", "see .atlasv1. in the manual, which says nothing of Zb1kT9aLwXe2"),
        ],
        ..TOKEN
    },
    Rule {
        id: "pulumi-token",
        why: "Pulumi token: changes infrastructure",
        keywords: &["pul-"],
        pattern: r"pul-[0-9a-f]{40}\b",
        hits: &[
            concat!("pul-", "3794e8249b1f891a45d218bafcbbaa4913298276"),
            concat!("export TOKEN=\"pul-", "9100a24a6514cbb7928ac4d8b505ff3a5c241f7e\""),
        ],
        misses: &[
            ("cut short", concat!("pul-", "3794e8")),
            ("inside a longer word", concat!("xpul-", "3794e8249b1f891a45d218bafcbbaa4913298276")),
            ("a filler", concat!("pul-", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "prefect-key",
        why: "Prefect key: runs flows",
        keywords: &["pnu_"],
        pattern: r"pnu_[A-Za-z0-9]{36}\b",
        hits: &[
            concat!("pnu_", "CT7a1tTRdMKFJM2rHWTUwep28Nbmq9WoMNwf"),
            concat!("export TOKEN=\"pnu_", "onED7Cfh6cqaF7CZoKzdC7TdDlUieYBegD07\""),
        ],
        misses: &[
            ("cut short", concat!("pnu_", "CT7a1t")),
            ("inside a longer word", concat!("xpnu_", "CT7a1tTRdMKFJM2rHWTUwep28Nbmq9WoMNwf")),
            ("a filler", concat!("pnu_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "doppler-token",
        why: "Doppler token: reads stored secrets",
        keywords: &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."],
        pattern: r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{40,}",
        hits: &[
            concat!("dp.pt.", "Non17i5skaBSBNO5QeRmimu8bc2RMJryFgJSuT4h"),
            concat!("export TOKEN=\"dp.sa.", "OguhCxP3xrmY4Nl4wl2Hvsrm0d2bKW3IxP2x1ebk\""),
        ],
        misses: &[
            ("cut short", concat!("dp.pt.", "Non17i")),
            ("inside a longer word", concat!("xdp.pt.", "Non17i5skaBSBNO5QeRmimu8bc2RMJryFgJSuT4h")),
            ("a filler", concat!("dp.pt.", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "vault-token",
        why: "HashiCorp Vault token: reads stored secrets",
        keywords: &["hvs.", "hvb.", "hvr."],
        pattern: r"hv[sbr]\.[A-Za-z0-9_-]{24,}",
        hits: &[
            concat!("hvs.", "CwzHdG7w7PyeccqmSPNttLGu"),
            concat!("export TOKEN=\"hvb.", "BaDLvJgFOT6gytbc4coDaKsT\""),
        ],
        misses: &[
            ("cut short", concat!("hvs.", "CwzHdG")),
            ("inside a longer word", concat!("xhvs.", "CwzHdG7w7PyeccqmSPNttLGu")),
            ("a filler", concat!("hvs.", "xxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "infisical-token",
        why: "Infisical service token: reads stored secrets",
        keywords: &["st."],
        pattern: r"st\.[0-9a-f]{24}\.[0-9a-f]{32}\.[0-9a-f]{32}",
        hits: &[
            concat!(
                "st.a",
                "8d4032cb9d5059761791b35.3b191fd0bae5e67bb9d2759235937aa5.3bb93775c513a5890c54ece58ea3cf29"
            ),
            concat!(
                "export TOKEN=\"st.e",
                "11366e36ef3245ba9ea90ff.e730c74d99bfded353107d492fcc1eb2.ed7542e3f7128c3555127e4507b503cc\""
            ),
        ],
        misses: &[
            ("cut short", concat!("st.a", "8d403")),
            (
                "inside a longer word",
                concat!(
                    "xst.a",
                    "8d4032cb9d5059761791b35.3b191fd0bae5e67bb9d2759235937aa5.3bb93775c513a5890c54ece58ea3cf29"
                ),
            ),
            (
                "a filler",
                concat!(
                    "st.x",
                    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                ),
            ),
        ],
        ..TOKEN
    },
]);
