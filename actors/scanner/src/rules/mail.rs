//! Keys that send mail and text messages, and customer lists.
//! Data only.

use super::{LIKELY, Rule, Rules, Start, TOKEN};
use crate::checks;

pub(super) static RULES: Rules = Rules::new(&[
    Rule {
        id: "sendgrid-key",
        why: "SendGrid key: sends mail as its owner",
        keywords: &["sg."],
        pattern: r"SG\.[A-Za-z0-9_=-]{16,32}\.[A-Za-z0-9_=-]{32,64}",
        hits: &[
            concat!("SG.d", "AfwjKqcOPnkekSO.DmhNvO1gPg3wTRMyrwWYZjNGyJCvvnBE"),
            concat!("export TOKEN=\"SG.Z", "a4ilk2PV9ehABdG.HMetJonYI2lOplsZPmxIzi1zsvRkeLrc\""),
        ],
        misses: &[
            ("cut short", concat!("SG.d", "AfwjK")),
            ("inside a longer word", concat!("xSG.d", "AfwjKqcOPnkekSO.DmhNvO1gPg3wTRMyrwWYZjNGyJCvvnBE")),
            ("a filler", concat!("SG.x", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "mailgun-key",
        why: "Mailgun key: sends mail as its owner",
        keywords: &["key-", "pubkey-"],
        pattern: r"(?:key|pubkey)-[0-9a-f]{32}\b",
        hits: &[
            concat!("key-", "e30980b85b88c8d5d42392c8f4c96642"),
            concat!("export TOKEN=\"pubk", "ey-de515c98ba6d04644a3a6dca8860be9a\""),
        ],
        misses: &[
            ("cut short", concat!("key-", "e30980")),
            ("inside a longer word", concat!("xkey-", "e30980b85b88c8d5d42392c8f4c96642")),
            ("a filler", concat!("key-", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "mailgun-new-key",
        why: "Mailgun key of the dashed form",
        crosses: true,
        start: Start::Before(0),
        reach: 100,
        keywords: &["mailgun", "mg_api"],
        pattern: r"[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}\b",
        hits: &[
            "MAILGUN_KEY=c8a8534fa386b05f342f1e70354e3f7e-bc527f04-5717b592",
            "mailgun: f2f3b62880519342d4668f3e776dc7ad-81cf5b0d-ddc55dd6",
        ],
        misses: &[
            ("without its name", "897f2fae4fdef635290ce0de2b5c5e74-fb996f51-0a1b2c3d"),
            ("a mention", "mailgun sent 3 messages"),
        ],
        ..TOKEN
    },
    Rule {
        id: "mailchimp-key",
        why: "Mailchimp key: mailing lists of its owner",
        start: Start::Word,
        reach: 8,
        keywords: &["-us"],
        pattern: r"[0-9a-f]{32}-us\d{1,2}\b",
        hits: &["1cccbff478d0d358d392f542f0c2895f-us20", "key: 4ef7ba6871df1e699e8f152d3a8df6ca-us7"],
        misses: &[("a locale", "translated-by-us1 and en-us"), ("a bucket", "logs-897f2fae-us1")],
        ..TOKEN
    },
    Rule {
        id: "mandrill-key",
        why: "Mailchimp Transactional key",
        weight: LIKELY,
        keywords: &["md-"],
        pattern: r"md-[A-Za-z0-9_-]{22}(?:[^A-Za-z0-9_-]|$)",
        hits: &[
            concat!("md-r", "3hAJGzuu68pprPcAfG4ah"),
            concat!("export TOKEN=\"md-m", "X4850K3p1yHvRIkyYexVN\""),
        ],
        misses: &[
            ("cut short", concat!("md-r", "3hAJG")),
            ("inside a longer word", concat!("xmd-r", "3hAJGzuu68pprPcAfG4ah")),
            ("a filler", concat!("md-x", "xxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "sendinblue-key",
        why: "Brevo key: sends mail as its owner",
        keywords: &["xkeysib-"],
        pattern: r"xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}\b",
        hits: &[
            concat!(
                "xkeysib-",
                "e8b2d98a31e0a9398a2c72c08162d1f013737029cc2f8af5704c2c31c57f330c-RzLVtRqG2QVK316y"
            ),
            concat!(
                "export TOKEN=\"xkeysib-",
                "99907c17454c61cddca6f6af34389e9b9603b974dba5ae9192877f08d861b157-Ddbcmxg9RxqK1Lv6\""
            ),
        ],
        misses: &[
            ("cut short", concat!("xkeysib-", "e8b2d9")),
            (
                "inside a longer word",
                concat!(
                    "xxkeysib-",
                    "e8b2d98a31e0a9398a2c72c08162d1f013737029cc2f8af5704c2c31c57f330c-RzLVtRqG2QVK316y"
                ),
            ),
            (
                "a filler",
                concat!(
                    "xkeysib-",
                    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                ),
            ),
        ],
        ..TOKEN
    },
    Rule {
        id: "brevo-smtp-key",
        why: "Brevo SMTP key: sends mail as its owner",
        keywords: &["xsmtpsib-"],
        pattern: r"xsmtpsib-[0-9a-f]{64}-[A-Za-z0-9]{16}\b",
        hits: &[
            concat!(
                "xsmtpsib-",
                "675c39161930cb3cc1e17c030b81671d78f89aaf988324d68230207ad71c8290-VULTvZXxgjd5WNS3"
            ),
            concat!(
                "export TOKEN=\"xsmtpsib-",
                "811aa604eeaa39d8a4c79ea60bc30dc27f3858a64ac64e0c77544ddfaa7d2fa4-icmVs1NN3MjtFncU\""
            ),
        ],
        misses: &[
            ("cut short", concat!("xsmtpsib-", "675c39")),
            (
                "inside a longer word",
                concat!(
                    "xxsmtpsib-",
                    "675c39161930cb3cc1e17c030b81671d78f89aaf988324d68230207ad71c8290-VULTvZXxgjd5WNS3"
                ),
            ),
            (
                "a filler",
                concat!(
                    "xsmtpsib-",
                    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                ),
            ),
        ],
        ..TOKEN
    },
    Rule {
        id: "twilio-key",
        why: "Twilio key: sends messages on its owner's bill",
        keywords: &["sk"],
        pattern: r"SK[0-9a-fA-F]{32}\b",
        hits: &[
            concat!("SK2d", "E8D5Be6e86a4adcC71cCFDbE621B7a"),
            concat!("export TOKEN=\"SKbA", "FFb9Ce7BaFf20AFeAb4c81f1cB75c6\""),
        ],
        misses: &[
            ("cut short", concat!("SK2d", "E8D5")),
            ("inside a longer word", concat!("xSK2d", "E8D5Be6e86a4adcC71cCFDbE621B7a")),
            ("a filler", concat!("SKxx", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "twilio-account",
        why: "Twilio account id, one half of its credentials",
        weight: LIKELY,
        keywords: &["ac"],
        pattern: r"AC[0-9a-f]{32}\b",
        hits: &[
            concat!("AC63", "2c9dd289c5a4a26acaf6fc7c8dad96"),
            concat!("export TOKEN=\"AC0b", "b49d472aac3a1767a92ecac8418142\""),
        ],
        misses: &[
            ("cut short", concat!("AC63", "2c9d")),
            ("inside a longer word", concat!("xAC63", "2c9dd289c5a4a26acaf6fc7c8dad96")),
            ("a filler", concat!("ACxx", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "postmark-token",
        why: "Postmark server token by its usual name",
        crosses: true,
        reach: 200,
        keywords: &["postmark"],
        pattern: r#"(?i)postmark[\w.-]{0,24}["\']?\s*[=:]\s*["\']?([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b"#,
        check: Some(checks::varied),
        hits: &[
            "POSTMARK_SERVER_TOKEN=213e44fd-c1f6-655d-c415-a8c550cbc539",
            "postmark: \"dcb0bec9-1795-1af0-dc90-1e968bc84787\"",
        ],
        misses: &[
            ("another id", "request: be1b0129-728e-447b-a048-d08d64c4fc35"),
            ("prose", "postmark: delivered"),
        ],
        ..TOKEN
    },
    Rule {
        id: "resend-key",
        why: "Resend key: sends mail as its owner",
        keywords: &["re_"],
        pattern: r"re_[A-Za-z0-9]{6,10}_[A-Za-z0-9]{20,}",
        hits: &[
            concat!("re_N", "U7Fjd_Rc3YO0qTjRKOvDRhV6Pt"),
            concat!("export TOKEN=\"re_h", "syC94_dT7ooxuBp5Mty0eddR0C\""),
        ],
        misses: &[
            ("cut short", concat!("re_N", "U7Fjd")),
            ("inside a longer word", concat!("xre_N", "U7Fjd_Rc3YO0qTjRKOvDRhV6Pt")),
            ("a filler", concat!("re_x", "xxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "hubspot-token",
        why: "HubSpot private app token: customers of its owner",
        keywords: &["pat-"],
        pattern: r"pat-(?:na|eu|ap)\d-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        hits: &[
            concat!("pat-", "eu6-5ed927dc-8fa4-a1d7-6d2f-912b89a01cfe"),
            concat!("export TOKEN=\"pat-", "na2-54dce9d3-3c96-7a6a-1be6-ca98929d4650\""),
        ],
        misses: &[
            ("cut short", concat!("pat-", "eu6-5e")),
            ("inside a longer word", concat!("xpat-", "eu6-5ed927dc-8fa4-a1d7-6d2f-912b89a01cfe")),
            ("a filler", concat!("pat-", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "intercom-token",
        why: "Intercom token: conversations with customers",
        keywords: &["dg9r"],
        pattern: r"dG9r[A-Za-z0-9+/=]{50,}",
        hits: &[
            concat!("dG9r", "lNdNzxfURsI1JjB530cMRYxQ3zR3dbwjhRl6LR9LuVEkBeDp8S"),
            concat!("export TOKEN=\"dG9r", "ZGbfDX3386CA2kcPFJdqG53ROchBoCy0Xu2v1TzetH2zlu8g3P\""),
        ],
        misses: &[
            ("cut short", concat!("dG9r", "lNdNzx")),
            ("inside a longer word", concat!("xdG9r", "lNdNzxfURsI1JjB530cMRYxQ3zR3dbwjhRl6LR9LuVEkBeDp8S")),
            ("a filler", concat!("dG9r", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "sendbird-token",
        why: "Sendbird token by its usual name",
        crosses: true,
        reach: 200,
        keywords: &["sendbird"],
        pattern: r#"(?i)sendbird[\w.-]{0,24}["\']?\s*[=:]\s*["\']?([a-f0-9]{40})\b"#,
        check: Some(checks::varied),
        hits: &[
            "SENDBIRD_API_TOKEN=1274ccb057d0399fbfa72227fdb6155ada68b39c",
            "sendbird: \"13caba86827f3dae7ad18305d917379a615fd75b\"",
        ],
        misses: &[("another length", "sendbird: \"abc123\""), ("prose", "sendbird: chat service")],
        ..TOKEN
    },
    Rule {
        id: "klaviyo-key",
        why: "Klaviyo private key: customers of its owner",
        keywords: &["pk_"],
        pattern: r"pk_[0-9a-f]{34}\b",
        hits: &[
            concat!("pk_4", "bdd7eeda77ebac64877bbb8a6da08b065"),
            concat!("export TOKEN=\"pk_3", "4992fe257617602fdf200fbcd78c74450\""),
        ],
        misses: &[
            ("cut short", concat!("pk_4", "bdd7e")),
            ("inside a longer word", concat!("xpk_4", "bdd7eeda77ebac64877bbb8a6da08b065")),
            ("a filler", concat!("pk_x", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "vonage-key",
        why: "Vonage or Customer.io key by its usual name",
        crosses: true,
        reach: 200,
        keywords: &["vonage", "nexmo", "customerio"],
        pattern: r#"(?i)(?:vonage|nexmo|customerio)[\w.-]{0,24}["\']?\s*[=:]\s*["\']?([A-Za-z0-9]{16,32})\b"#,
        check: Some(checks::generated),
        hits: &["NEXMO_API_SECRET=k3Xv9Qm2Zp7Lw5Rt", "vonage_secret: \"b7Qx2Lm9Zk4Rt8Wn\""],
        misses: &[("prose", "vonage: telecommunications"), ("a reference", "NEXMO_API_SECRET=${NEXMO}")],
        ..TOKEN
    },
]);
