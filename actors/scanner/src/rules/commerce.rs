//! Keys that move money or goods.
//! Data only.

use super::{Rule, Rules, TOKEN};

pub(super) static RULES: Rules = Rules::new(&[
    Rule {
        id: "stripe-key",
        why: "Stripe secret key: charges and refunds",
        keywords: &["sk_test_", "sk_live_", "sk_prod_", "rk_test_", "rk_live_", "rk_prod_"],
        pattern: r"(?:sk|rk)_(?:test|live|prod)_[A-Za-z0-9]{10,}",
        hits: &[concat!("rk_prod_", "v8g7oEpUl3"), concat!("export TOKEN=\"rk_test_", "e9Fw9rs1N9\"")],
        misses: &[
            ("the public key", "pk_live_k3Xv9Qm2Zp7Lw5Rt8Jn1By4G"),
            ("cut short", "sk_live_k3Xv9"),
            ("a filler", "sk_test_xxxxxxxxxxxxxxxxxxxxxxxx"),
        ],
        ..TOKEN
    },
    Rule {
        id: "stripe-webhook-secret",
        why: "Stripe webhook secret: forges payment events",
        keywords: &["whsec_"],
        pattern: r"whsec_[A-Za-z0-9+/]{32,}",
        hits: &[
            concat!("whsec_", "izcWWIbHrr7mTq01yHafDfSJlGyWHp7Q"),
            concat!("export TOKEN=\"whsec_", "PQxZsT69D8JAWjjpPQk8OgCdjxkWenhC\""),
        ],
        misses: &[
            ("cut short", concat!("whsec_", "izcWWI")),
            ("inside a longer word", concat!("xwhsec_", "izcWWIbHrr7mTq01yHafDfSJlGyWHp7Q")),
            ("a filler", concat!("whsec_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "square-token",
        why: "Square token: charges and refunds",
        keywords: &["eaaa", "sq0atp-"],
        pattern: r"(?:EAAA[A-Za-z0-9_-]{60}|sq0atp-[A-Za-z0-9_-]{22,60})(?:[^A-Za-z0-9_-]|$)",
        hits: &[
            concat!("EAAA", "2N8Aqmu2M0tDWzw18t3q6XLmXUkAhx0LhUBSna3U6EfNxG9fZEshzos1xPzr"),
            concat!("export TOKEN=\"sq0a", "tp-Al71Ltd2YmKILKrom5pkbV\""),
        ],
        misses: &[("a hash", "eaaac0b75a9329fded2ffa9a02b47e0117831b82"), ("cut short", "sq0atp-JWc7eS")],
        ..TOKEN
    },
    Rule {
        id: "square-secret",
        why: "Square application secret",
        keywords: &["sq0csp-"],
        pattern: r"sq0csp-[A-Za-z0-9_-]{43}",
        hits: &[
            concat!("sq0csp-", "NZDNNiHq3yZyMWjwsRQPYvfUn2cEnh8VkHvskpb3ZtJ"),
            concat!("export TOKEN=\"sq0csp-", "B3WJEGwYzeqUxH7TmoA7sKpeRHMvjwVlEWqZOCePTnh\""),
        ],
        misses: &[
            ("cut short", concat!("sq0csp-", "NZDNNi")),
            ("inside a longer word", concat!("xsq0csp-", "NZDNNiHq3yZyMWjwsRQPYvfUn2cEnh8VkHvskpb3ZtJ")),
            ("a filler", concat!("sq0csp-", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "shopify-token",
        why: "Shopify token: orders and customers of a shop",
        keywords: &["shpat_", "shpca_", "shppa_", "shpss_"],
        pattern: r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b",
        hits: &[
            concat!("shpss_", "8f2DF8CB46BCBd216fd1f16aa631B375"),
            concat!("export TOKEN=\"shpca_", "7Bae8083268d54F3bcAd7252d3Ed7B22\""),
        ],
        misses: &[
            ("cut short", concat!("shpss_", "8f2DF8")),
            ("inside a longer word", concat!("xshpss_", "8f2DF8CB46BCBd216fd1f16aa631B375")),
            ("a filler", concat!("shpss_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "paypal-token",
        why: "Braintree or PayPal production token",
        keywords: &["access_token$production$"],
        pattern: r"access_token\$production\$[0-9a-z]{16}\$[0-9a-f]{32}",
        hits: &[
            concat!("access_token$production$", "ocy6s0uf1ov2izoe$0400f13fa906ddb3bb7771cfbd8bd675"),
            concat!(
                "export TOKEN=\"access_token$production$",
                "tacibjsrhiyzxpzn$c6aa1c9599b6b85ab3ba29d29b73d20e\""
            ),
        ],
        misses: &[
            ("cut short", concat!("access_token$production$", "ocy6s0")),
            (
                "inside a longer word",
                concat!("xaccess_token$production$", "ocy6s0uf1ov2izoe$0400f13fa906ddb3bb7771cfbd8bd675"),
            ),
            (
                "a filler",
                concat!("access_token$production$", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
            ),
        ],
        ..TOKEN
    },
    Rule {
        id: "adyen-key",
        why: "Adyen key: charges and refunds",
        keywords: &["aqe"],
        pattern: r"AQE[a-z][A-Za-z0-9+/]{60,}={0,2}",
        hits: &[
            concat!("AQEx", "mHeCL4aZe4UHrMhUI4Kgpxm608FCVhD1CEZyQRcsnNTIGVNNlLonyHC51ge5"),
            concat!("export TOKEN=\"AQEb", "yugEIzGetQVYYD8d7YyLipG5aJUcOElKxSQ307yyDxN9gDyfFswBjyZtCYjo\""),
        ],
        misses: &[
            ("cut short", concat!("AQEx", "mHeCL")),
            (
                "inside a longer word",
                concat!("xAQEx", "mHeCL4aZe4UHrMhUI4Kgpxm608FCVhD1CEZyQRcsnNTIGVNNlLonyHC51ge5"),
            ),
            ("a filler", concat!("AQEx", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "flutterwave-key",
        why: "Flutterwave key: charges and refunds",
        keywords: &["flwseck_test-", "flwpubk_test-"],
        pattern: r"(?i)FLW(?:PUB|SEC)K_TEST-(?:[a-h0-9]{32}-X|[a-h0-9]{12})",
        hits: &[
            concat!("FLWPUBK_TEST-", "6bea8ffefg94b7a4g34ffaggfch2bhga-X"),
            concat!("export TOKEN=\"FLWSECK_TEST-", "68be10822dfe\""),
        ],
        misses: &[
            ("cut short", concat!("FLWPUBK_TEST-", "6bea8f")),
            ("inside a longer word", concat!("xFLWPUBK_TEST-", "6bea8ffefg94b7a4g34ffaggfch2bhga-X")),
            ("a filler", concat!("FLWPUBK_TEST-", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "flutterwave-live-key",
        why: "Flutterwave live key: charges and refunds",
        keywords: &["flwseck-"],
        pattern: r"(?i)FLWSECK-[a-h0-9]{32}-X",
        hits: &[
            concat!("FLWSECK-", "85dd7g1g78h8bf2f442f1c05267cg43d-X"),
            concat!("export TOKEN=\"FLWSECK-", "7f26d03d9e6be21fc6fbb6db3bc6dbce-X\""),
        ],
        misses: &[
            ("cut short", concat!("FLWSECK-", "85dd7g")),
            ("inside a longer word", concat!("xFLWSECK-", "85dd7g1g78h8bf2f442f1c05267cg43d-X")),
            ("a filler", concat!("FLWSECK-", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "easypost-key",
        why: "EasyPost key: buys postage",
        keywords: &["ezak", "eztk"],
        pattern: r"EZ[AT]K[A-Za-z0-9]{54}\b",
        hits: &[
            concat!("EZAK", "8Pyi11xvL7Hm65I2ImJE6jSRVe8qRjtQ7pl45F9zaftrVbFpzRGQo2"),
            concat!("export TOKEN=\"EZAK", "YzomGJtravuoIYp9o8ZYnngSGhSfTLkhgpDLVkwUYuMQf5FwUgxJR7\""),
        ],
        misses: &[
            ("cut short", concat!("EZAK", "8Pyi11")),
            (
                "inside a longer word",
                concat!("xEZAK", "8Pyi11xvL7Hm65I2ImJE6jSRVe8qRjtQ7pl45F9zaftrVbFpzRGQo2"),
            ),
            ("a filler", concat!("EZAK", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "duffel-token",
        why: "Duffel token: books flights",
        keywords: &["duffel_"],
        pattern: r"duffel_(?:test|live)_[A-Za-z0-9_=-]{43}",
        hits: &[
            concat!("duffel_", "test_bHbgqWGvMnvRoyZk2cKxTKvsG32f5ytvxpBulwinKVx"),
            concat!("export TOKEN=\"duffel_", "test_5FNJX8ZMPZ805JJ5Og8MKoUadKvBVvTPqDTxDW3GI2M\""),
        ],
        misses: &[
            ("cut short", concat!("duffel_", "test_b")),
            ("inside a longer word", concat!("xduffel_", "test_bHbgqWGvMnvRoyZk2cKxTKvsG32f5ytvxpBulwinKVx")),
            ("a filler", concat!("duffel_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "gocardless-token",
        why: "GoCardless token: collects payments",
        keywords: &["live_"],
        pattern: r"live_[A-Za-z0-9_=-]{40}(?:[^A-Za-z0-9_=-]|$)",
        hits: &[
            concat!("live_", "JvOcRtj3f8V5I91yEilYqdlcK5g814MuxWVoU8y5"),
            concat!("export TOKEN=\"live_", "Ud4hVKEQuoAW8AsCNUzIU6pxs55Rckq20gQ5UV34\""),
        ],
        misses: &[
            ("cut short", concat!("live_", "JvOcRt")),
            ("inside a longer word", concat!("xlive_", "JvOcRtj3f8V5I91yEilYqdlcK5g814MuxWVoU8y5")),
            ("a filler", concat!("live_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "lob-key",
        why: "Lob key: sends letters",
        keywords: &["live_", "test_"],
        pattern: r"(?:live|test)_(?:pub_)?[a-f0-9]{31,35}\b",
        hits: &[
            concat!("test_", "3f28100a219ff8c86a7315b68242f2c"),
            concat!("export TOKEN=\"live_", "077752d41fa518d889dfa1971eefba2\""),
        ],
        misses: &[
            ("cut short", concat!("test_", "3f2810")),
            ("inside a longer word", concat!("xtest_", "3f28100a219ff8c86a7315b68242f2c")),
            ("a filler", concat!("test_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "plaid-access-token",
        why: "Plaid token: reads a bank account",
        keywords: &["access-"],
        pattern: r"access-(?:sandbox|development|production)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        hits: &[
            concat!("access-", "development-7ca394b8-1d62-5467-bf64-ee7e4ca0182f"),
            concat!("export TOKEN=\"access-", "production-0f105568-71da-084e-f04d-b5979b7b01c7\""),
        ],
        misses: &[
            ("cut short", concat!("access-", "develo")),
            ("inside a longer word", concat!("xaccess-", "development-7ca394b8-1d62-5467-bf64-ee7e4ca0182f")),
            ("a filler", concat!("access-", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "shippo-token",
        why: "Shippo token: buys postage",
        keywords: &["shippo_"],
        pattern: r"shippo_(?:live|test)_[a-fA-F0-9]{40}\b",
        hits: &[
            concat!("shippo_", "live_B045fF20A14Fe1dbdDe863F00fBaBDba29D6Bff9"),
            concat!("export TOKEN=\"shippo_", "test_bAa8aec869DF5B8aFea983B1C21F5e96adFfc925\""),
        ],
        misses: &[
            ("cut short", concat!("shippo_", "live_B")),
            ("inside a longer word", concat!("xshippo_", "live_B045fF20A14Fe1dbdDe863F00fBaBDba29D6Bff9")),
            ("a filler", concat!("shippo_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "coinbase-key",
        why: "Coinbase CDP key name: trades",
        keywords: &["organizations/"],
        pattern: r"organizations/[0-9a-f-]{36}/apiKeys/[0-9a-f-]{36}",
        hits: &[
            "\"name\": \"organizations/fa8d27b9-1272-aa76-0128-98b315006667/apiKeys/cf09acf5-a813-882b-d17c-e7b0d7aa840c\"",
            "organizations/6f74f23d-63ac-2a89-cdc3-f73e45df14a3/apiKeys/9e383d5a-6322-adcd-9301-925253daffad",
        ],
        misses: &[
            ("another resource", "organizations/acme/teams/ops"),
            ("cut short", "organizations/acme/apiKeys/1"),
        ],
        ..TOKEN
    },
    Rule {
        id: "razorpay-key",
        why: "Razorpay key id: charges and refunds",
        keywords: &["rzp_"],
        pattern: r"rzp_(?:live|test)_[A-Za-z0-9]{14}\b",
        hits: &[
            concat!("rzp_", "test_ddAkl9Nq0Cs0xu"),
            concat!("export TOKEN=\"rzp_", "test_GNjpXz6pL5NPsd\""),
        ],
        misses: &[
            ("cut short", concat!("rzp_", "test_d")),
            ("inside a longer word", concat!("xrzp_", "test_ddAkl9Nq0Cs0xu")),
            ("a filler", concat!("rzp_", "xxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "paystack-key",
        why: "Paystack secret key by its length",
        keywords: &["sk_live_", "sk_test_"],
        pattern: r"sk_(?:live|test)_[0-9a-f]{40}\b",
        hits: &[
            concat!("sk_test_", "fc538b6c939750732a60e762e441684d71eeb9fb"),
            concat!("export TOKEN=\"sk_live_", "55e5d3c966405b98099ab66aeb1f41141f08ba23\""),
        ],
        misses: &[
            ("cut short", concat!("sk_test_", "fc538b")),
            ("inside a longer word", concat!("xsk_test_", "fc538b6c939750732a60e762e441684d71eeb9fb")),
            ("a filler", concat!("sk_test_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
]);
