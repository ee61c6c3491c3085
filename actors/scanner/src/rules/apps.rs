//! Tokens of creative, device and social applications.
//! Data only.

use super::{LIKELY, Rule, Rules, Start, TOKEN};
use crate::checks;

pub(super) static RULES: Rules = Rules::new(&[
    Rule {
        id: "adobe-client-secret",
        why: "Adobe client secret",
        keywords: &["p8e-"],
        pattern: r"(?i)p8e-[a-z0-9_-]{32}(?:[^a-z0-9_-]|$)",
        hits: &[
            concat!("p8e-", "rpzu88ka47t1391fsrl9o2cpflr1yb4n"),
            concat!("export TOKEN=\"p8e-", "zoppq8f56p0ofp4gwb6vadue0swrbf3d\""),
        ],
        misses: &[
            ("cut short", concat!("p8e-", "rpzu88")),
            ("inside a longer word", concat!("xp8e-", "rpzu88ka47t1391fsrl9o2cpflr1yb4n")),
            ("a filler", concat!("p8e-", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "adafruit-key",
        why: "Adafruit IO key: devices of its owner",
        keywords: &["aio_"],
        pattern: r"aio_[A-Za-z]{4}\d\d[A-Za-z0-9]{22}\b",
        hits: &[
            concat!("aio_", "WIZl63XoFuqwOEXz5PyUFAjN9cng"),
            concat!("export TOKEN=\"aio_", "nvZw41j4zkWiU5mSArDJSC7IjfpZ\""),
        ],
        misses: &[
            ("cut short", concat!("aio_", "WIZl63")),
            ("inside a longer word", concat!("xaio_", "WIZl63XoFuqwOEXz5PyUFAjN9cng")),
            ("a filler", concat!("aio_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "beamer-token",
        why: "Beamer token",
        keywords: &["b_"],
        pattern: r"b_[A-Za-z0-9=_-]{44}(?:[^A-Za-z0-9=_-]|$)",
        hits: &[
            concat!("b_Dd", "vQFp3GED7V4OGVYZ6leLTdIaGn51lLmNFkwNNbQ2bh"),
            concat!("export TOKEN=\"b_Vk", "X1qccxppdL8iQzrrAHh6E8hXUWkey0U9K3CHrIasP6\""),
        ],
        misses: &[
            ("cut short", concat!("b_Dd", "vQFp")),
            ("inside a longer word", concat!("xb_Dd", "vQFp3GED7V4OGVYZ6leLTdIaGn51lLmNFkwNNbQ2bh")),
            ("a filler", concat!("b_xx", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "authress-key",
        why: "Authress service key: who may do what",
        keywords: &["sc_", "ext_", "scauth_", "authress_"],
        pattern: r"(?i)(?:sc|ext|scauth|authress)_[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][a-z0-9-]{10,32}\.[a-z0-9+/_=-]{30,120}",
        hits: &[
            concat!("scauth_", "x5d1n.bl26.acc-3taqnarp7u.ba1jb2k56y9906vh966mph30ymgg80"),
            concat!("export TOKEN=\"ext_9d8", "4b.4cr8.acc-h05ongyfv5.gnlc00utm6pjib7cywgaprck547b1e\""),
        ],
        misses: &[
            ("cut short", concat!("scauth_", "x5d1n.")),
            (
                "inside a longer word",
                concat!("xscauth_", "x5d1n.bl26.acc-3taqnarp7u.ba1jb2k56y9906vh966mph30ymgg80"),
            ),
            ("a filler", concat!("scauth_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "settlemint-token",
        why: "SettleMint token",
        keywords: &["sm_aat_", "sm_pat_", "sm_sat_"],
        pattern: r"sm_(?:aat|pat|sat)_[A-Za-z0-9]{16}\b",
        check: Some(checks::varied),
        hits: &[
            concat!("sm_sat_", "Fx5xhdllhsUoJfsk"),
            concat!("export TOKEN=\"sm_sat_", "zmtnrRCmpC5n5ZET\""),
        ],
        misses: &[
            ("cut short", concat!("sm_sat_", "Fx5xhd")),
            ("inside a longer word", concat!("xsm_sat_", "Fx5xhdllhsUoJfsk")),
        ],
        ..TOKEN
    },
    Rule {
        id: "intra42-secret",
        why: "42 network client secret",
        keywords: &["s-s4t2"],
        pattern: r"s-s4t2(?:ud|af)-[0-9a-f]{64}\b",
        hits: &[
            concat!("s-s4t2", "ud-3bb7d3d0e2e8969da717d8d594ae5d7ec486d1ef4b4b3fbbc85b23ec8d9cdcb6"),
            concat!(
                "export TOKEN=\"s-s4t2",
                "af-6eac40599137fbee01c550dd374d6b78f97d4e53d34bdbd20b2082c5ce5b670b\""
            ),
        ],
        misses: &[
            ("cut short", concat!("s-s4t2", "ud-3bb")),
            (
                "inside a longer word",
                concat!("xs-s4t2", "ud-3bb7d3d0e2e8969da717d8d594ae5d7ec486d1ef4b4b3fbbc85b23ec8d9cdcb6"),
            ),
            (
                "a filler",
                concat!("s-s4t2", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
            ),
        ],
        ..TOKEN
    },
    Rule {
        id: "maxmind-key",
        why: "MaxMind licence key",
        start: Start::Word,
        keywords: &["_mmk"],
        pattern: r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk\b",
        hits: &[
            concat!("wIGl", "kh_G7JDElhBtMDXMLdZaJGMxplMX0W9K_mmk"),
            concat!("export TOKEN=\"qVwS", "ul_aUvzj6lCL8Hz7gTpHvTdjaSMNkq42_mmk\""),
        ],
        misses: &[("cut short", "k3Xv9Q_m2Zp7_mmk"), ("a name", "the_file_mmk")],
        ..TOKEN
    },
    Rule {
        id: "clickhouse-secret",
        why: "ClickHouse Cloud secret",
        keywords: &["4b1d"],
        pattern: r"4b1d[A-Za-z0-9]{38}\b",
        hits: &[
            concat!("4b1d", "4iUMBQeT5SEbl24CGeWALwD6UPSvLLVCSc8a0t"),
            concat!("export TOKEN=\"4b1d", "EWVq2gu63XOdOV4QyKSzvxswNTZbm4wcSVAlDt\""),
        ],
        misses: &[
            ("cut short", concat!("4b1d", "4iUMBQ")),
            ("inside a longer word", concat!("x4b1d", "4iUMBQeT5SEbl24CGeWALwD6UPSvLLVCSc8a0t")),
            ("a filler", concat!("4b1d", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "launchdarkly-key",
        why: "LaunchDarkly SDK or access key",
        keywords: &["sdk-", "api-", "mob-"],
        pattern: r"(?:sdk|api|mob)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        hits: &[
            concat!("api-", "c9afd098-4db1-e1f4-07ee-06ce74cac8fc"),
            concat!("export TOKEN=\"mob-", "8bcda293-2aa7-cab3-36fb-4190371314ce\""),
        ],
        misses: &[
            ("cut short", concat!("api-", "c9afd0")),
            ("inside a longer word", concat!("xapi-", "c9afd098-4db1-e1f4-07ee-06ce74cac8fc")),
            ("a filler", concat!("api-", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "mapbox-token",
        why: "Mapbox secret token",
        keywords: &["sk.eyj"],
        pattern: r"sk\.eyJ[A-Za-z0-9_-]{40,}\.[A-Za-z0-9_-]{20,}",
        hits: &[
            concat!("sk.eyJ", "oUhAtd1JSDWybBYhWDVcVN7nRga8MLexnNVWE9k8.ONfLF0X8vXqDH2ORVBx8"),
            concat!(
                "export TOKEN=\"sk.eyJ",
                "n4bhY2MUGIWWeU8Wg1ZpBlTVFKYMkHBTwq4uo3xc.OnQio458GvIV97c1Ul3H\""
            ),
        ],
        misses: &[
            ("cut short", concat!("sk.eyJ", "oUhAtd")),
            (
                "inside a longer word",
                concat!("xsk.eyJ", "oUhAtd1JSDWybBYhWDVcVN7nRga8MLexnNVWE9k8.ONfLF0X8vXqDH2ORVBx8"),
            ),
            ("a filler", concat!("sk.eyJ", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "mapbox-public-token",
        why: "Mapbox token, public by intent but billed to its owner",
        weight: LIKELY,
        keywords: &["pk."],
        pattern: r"pk\.[A-Za-z0-9]{60,}\.[A-Za-z0-9_-]{22}",
        hits: &[
            concat!(
                "pk.U",
                "now0zs32uVI0GmAfeDxuMHNlI2rsx19zA1NoqSqMWMZ17pf2ASCG1YpDeAS.TbTI8Cbb51pkC8Jrlud8LD"
            ),
            concat!(
                "export TOKEN=\"pk.z",
                "WfW6JfzhJx9Z61edkiAAT2LU3dmz7BJFmYXrGzrMjWyZyVakBXv44PdfOX3.K9nDGovEDf9ajdwhK1i0iH\""
            ),
        ],
        misses: &[
            ("cut short", concat!("pk.U", "now0z")),
            (
                "inside a longer word",
                concat!(
                    "xpk.U",
                    "now0zs32uVI0GmAfeDxuMHNlI2rsx19zA1NoqSqMWMZ17pf2ASCG1YpDeAS.TbTI8Cbb51pkC8Jrlud8LD"
                ),
            ),
            (
                "a filler",
                concat!(
                    "pk.x",
                    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                ),
            ),
        ],
        ..TOKEN
    },
    Rule {
        id: "facebook-token",
        why: "Facebook token: pages and people of its owner",
        keywords: &["eaa"],
        pattern: r"EAA[MCFDG][A-Za-z0-9]{100,}",
        hits: &[
            concat!(
                "EAAG",
                "Eb3VfYjtyjsvkP5UvI6GgrcJ9fW7oaK2gLWIuJieP4SA3ggpmir7S4r2SC7P5UskXeCPmaM38PalgWJTbZliET2UZlHWFeGgnfoi"
            ),
            concat!(
                "export TOKEN=\"EAAD",
                "72xLD9q0lNGfjsWZnWZNZhvR9Rbkv1J6e6uScFSfV3766GFjKo9xiwAheJMwekiErFVQjWDYOEtT9ARjktipWaoqxJBlqGnZLiUp\""
            ),
        ],
        misses: &[
            ("cut short", concat!("EAAG", "Eb3Vf")),
            (
                "inside a longer word",
                concat!(
                    "xEAAG",
                    "Eb3VfYjtyjsvkP5UvI6GgrcJ9fW7oaK2gLWIuJieP4SA3ggpmir7S4r2SC7P5UskXeCPmaM38PalgWJTbZliET2UZlHWFeGgnfoi"
                ),
            ),
            (
                "a filler",
                concat!(
                    "EAAx",
                    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                ),
            ),
        ],
        ..TOKEN
    },
    Rule {
        id: "instagram-token",
        why: "Instagram token",
        keywords: &["igqv", "igaa"],
        pattern: r"IG(?:QV|AA)[A-Za-z0-9_-]{100,}",
        hits: &[
            concat!(
                "IGQV",
                "ARZMqbbbOhN3bd1NRgrZdk1aibuJn2nKQufmGT3uXcORIKQUK9o6D1yBW8I3Z4ZfgxJ9SiEu29M1OEM2PbzzPKwU6krHp3cjlSzi"
            ),
            concat!(
                "export TOKEN=\"IGAA",
                "LG954oTvIBAfZUblNjSiaOQuS2w3OIRbcb4jp0FxQTAwgdXAXJLknRrNRcKJOMzA4jH5YJOryJ6RxZCTm3Js62PmP8lCHPV5hT4k\""
            ),
        ],
        misses: &[
            ("cut short", concat!("IGQV", "ARZMqb")),
            (
                "inside a longer word",
                concat!(
                    "xIGQV",
                    "ARZMqbbbOhN3bd1NRgrZdk1aibuJn2nKQufmGT3uXcORIKQUK9o6D1yBW8I3Z4ZfgxJ9SiEu29M1OEM2PbzzPKwU6krHp3cjlSzi"
                ),
            ),
            (
                "a filler",
                concat!(
                    "IGQV",
                    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                ),
            ),
        ],
        ..TOKEN
    },
    Rule {
        id: "facebook-app-token",
        why: "Facebook application token",
        crosses: true,
        start: Start::Before(0),
        reach: 100,
        keywords: &["facebook", "fb_app", "graph."],
        pattern: r"\d{15,16}\|[A-Za-z0-9_-]{27,40}(?:[^A-Za-z0-9_-]|$)",
        check: Some(checks::varied),
        hits: &[
            "facebook: 1044957715494304|VF2Z8jTXo4B9FHMkHhgMU8Z8UMx",
            "fb_app_token=748543602486153|XccwaER5qd6bPds4h5WgArDhluN",
        ],
        misses: &[
            ("a table row", "facebook | 12 | 14 | 15"),
            ("cut short", "facebook: 1234567890123456|abc"),
        ],
        ..TOKEN
    },
    Rule {
        id: "twitter-bearer",
        why: "X bearer token: reads and writes as an application",
        keywords: &["aaaaaaaaaaaaaaaaaaaa"],
        pattern: r"A{20,24}[A-Za-z0-9%]{80,100}(?:[^A-Za-z0-9%]|$)",
        check: None,
        hits: &[
            "AAAAAAAAAAAAAAAAAAAAAAj7B9mm9K5hdGwylGkVqMXIF3FbbGmiOIN4MliWEuSIc9m5Em2Q5duyd6WU0dSMftto8bEvzqCnFTl8FU1McxLhVyTs",
            "Bearer AAAAAAAAAAAAAAAAAAAAANmEGFf5utdj4mdfj3Wyf5FrBIFmEk6Q8936RSm1MQxcB8K9XG6DtrUcLNeJJd15Sxp2WS8VWrffgrpSvnUUU",
        ],
        misses: &[
            ("a row of letters", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
            ("cut short", "AAAAAAAAAAAAAAAAAAAAAAk3Xv9Qm2"),
        ],
        ..TOKEN
    },
]);
