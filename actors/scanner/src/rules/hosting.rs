//! Keys of smaller clouds, hosting providers, vaults and private networks.
//! Data only.

use super::{LIKELY, Rule, Rules, TOKEN};
use crate::checks;

pub(super) static RULES: Rules = Rules::new(&[
    Rule {
        id: "alibaba-access-key",
        why: "Alibaba Cloud access key id",
        keywords: &["ltai"],
        pattern: r"LTAI[A-Za-z0-9]{17,21}\b",
        hits: &[concat!("LTAI", "kCTfQVOf64xUsWrkf"), concat!("export TOKEN=\"LTAI", "GioCkoaD5QvjwY9HQ\"")],
        misses: &[
            ("cut short", concat!("LTAI", "kCTfQV")),
            ("inside a longer word", concat!("xLTAI", "kCTfQVOf64xUsWrkf")),
            ("a filler", concat!("LTAI", "xxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "tencent-secret-id",
        why: "Tencent Cloud secret id",
        keywords: &["akid"],
        pattern: r"AKID[A-Za-z0-9]{32}\b",
        hits: &[
            concat!("AKID", "sH6ORXpLSXMUoX120fHj5cJnKwAhkqfC"),
            concat!("export TOKEN=\"AKID", "645BMjeAoqDiDTuoJ1SFjsN3eZe0VNA9\""),
        ],
        misses: &[
            ("cut short", concat!("AKID", "sH6ORX")),
            ("inside a longer word", concat!("xAKID", "sH6ORXpLSXMUoX120fHj5cJnKwAhkqfC")),
            ("a filler", concat!("AKID", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "digitalocean-token",
        why: "DigitalOcean token: machines and data of its owner",
        keywords: &["dop_v1_", "doo_v1_", "dor_v1_"],
        pattern: r"do[opr]_v1_[0-9a-f]{64}\b",
        hits: &[
            concat!("doo_v1_", "a655cb61a5f65a1343be4d769e02049fb045decf71ad9a825ada20f7c715a532"),
            concat!(
                "export TOKEN=\"doo_v1_",
                "ee52fc57c7ba7a02e895204fe4dc076fba735951a942bed6734becc88608b144\""
            ),
        ],
        misses: &[
            ("cut short", concat!("doo_v1_", "a655cb")),
            (
                "inside a longer word",
                concat!("xdoo_v1_", "a655cb61a5f65a1343be4d769e02049fb045decf71ad9a825ada20f7c715a532"),
            ),
            (
                "a filler",
                concat!("doo_v1_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
            ),
        ],
        ..TOKEN
    },
    Rule {
        id: "heroku-key",
        why: "Heroku key: applications of its owner",
        keywords: &["hrku-"],
        pattern: r"HRKU-[A-Za-z0-9_-]{36,}",
        hits: &[
            concat!("HRKU-", "W0ByslWgqFV3jsBGqOHlQ5j1dCx5LHS6VPIi"),
            concat!("export TOKEN=\"HRKU-", "QUTVlOrXXNBI95Y1zg3HBHpkTg7WIrXlD7sf\""),
        ],
        misses: &[
            ("cut short", concat!("HRKU-", "W0Bysl")),
            ("inside a longer word", concat!("xHRKU-", "W0ByslWgqFV3jsBGqOHlQ5j1dCx5LHS6VPIi")),
            ("a filler", concat!("HRKU-", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "flyio-token",
        why: "Fly.io token: machines of its owner",
        keywords: &["fo1_", "fm1_", "fm1a_", "fm1r_", "fm2_"],
        pattern: r"(?:fo1_[A-Za-z0-9_-]{43}(?:[^A-Za-z0-9_-]|$)|fm[12][ar]?_[A-Za-z0-9+/]{100,}={0,3})",
        hits: &[
            "fo1_pQ3vXk9Lm2Zr7Tw5Jn8By1GdHcF6sE0aUoIiTxVbKwq",
            "FLY=\"fo1_Zk7vXq3Lm9Pr2Tw5Jn8By1GdHcF6sE0aUoIiTxVbQwe\"",
        ],
        misses: &[
            ("inside a longer word", "authenticity-Fo1hsC6oovfBsJFLGPUl2EhkSWPbJhWANwgaJWBDl1vx"),
            ("cut short", "fo1_pQ3vXk9Lm2Zr"),
        ],
        ..TOKEN
    },
    Rule {
        id: "cloudflare-origin-ca-key",
        why: "Cloudflare origin key: certificates of the zone",
        keywords: &["v1.0-"],
        pattern: r"v1\.0-[0-9a-f]{24}-[0-9a-f]{146}",
        hits: &[
            concat!(
                "v1.0-",
                "72172dcce4bbf5b4d2876592-14f3d6620bb96ceaa4d00e7b382a4d1567358f806bb23edd542db04f0bb544c90f1675da37a9eaec0d21382b0c945880e0eb766cea8b1a7c781c921caee1ed02cdb879162ddbcdb316"
            ),
            concat!(
                "export TOKEN=\"v1.0-",
                "d425e9916e8fae859c2c1a38-2b2c63811fa1c77737b081faec1cd8cf5c82f96ec8fffd4051f315e2f82f6c420c422dcd1c14e0b3e6dec13c2597c9495e4617acf1ce5abeca471c19baf8be849c2e1d61b2d896a3a8\""
            ),
        ],
        misses: &[
            ("cut short", concat!("v1.0-", "72172d")),
            (
                "inside a longer word",
                concat!(
                    "xv1.0-",
                    "72172dcce4bbf5b4d2876592-14f3d6620bb96ceaa4d00e7b382a4d1567358f806bb23edd542db04f0bb544c90f1675da37a9eaec0d21382b0c945880e0eb766cea8b1a7c781c921caee1ed02cdb879162ddbcdb316"
                ),
            ),
            (
                "a filler",
                concat!(
                    "v1.0-",
                    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                ),
            ),
        ],
        ..TOKEN
    },
    Rule {
        id: "scaleway-key",
        why: "Scaleway access key",
        weight: LIKELY,
        keywords: &["scw"],
        pattern: r"SCW[A-Z0-9]{17}\b",
        hits: &[concat!("SCWF", "GPX97T4G4CU0X65L"), concat!("export TOKEN=\"SCWV", "PNT64E49SKO90SVM\"")],
        misses: &[
            ("cut short", concat!("SCWF", "GPX97")),
            ("inside a longer word", concat!("xSCWF", "GPX97T4G4CU0X65L")),
            ("a filler", concat!("SCWx", "xxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "scalingo-token",
        why: "Scalingo token: applications of its owner",
        keywords: &["tk-us-"],
        pattern: r"tk-us-[A-Za-z0-9_-]{48}(?:[^A-Za-z0-9_-]|$)",
        hits: &[
            concat!("tk-us-", "y17jRSIq6nYq5ciDzBhUGNkZHV8ozGX9wmwcIyuSw2J23LiI"),
            concat!("export TOKEN=\"tk-us-", "y68G6C7Two7yNepVdOoynLatijiDgaF5WJxZmtzr3Dclf6EA\""),
        ],
        misses: &[
            ("cut short", concat!("tk-us-", "y17jRS")),
            ("inside a longer word", concat!("xtk-us-", "y17jRSIq6nYq5ciDzBhUGNkZHV8ozGX9wmwcIyuSw2J23LiI")),
            ("a filler", concat!("tk-us-", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "yandex-iam-token",
        why: "Yandex Cloud token",
        keywords: &["t1."],
        pattern: r"t1\.[A-Za-z0-9_-]+=*\.[A-Za-z0-9_-]{86}",
        hits: &[
            "t1.pKrcrptcsnsWEcN0yCvky5updnDn3XJ7QmCPoGZAbrx8ae7Ftw==.gtZmT9tmQHcAOkv8W5fFXQgyENlcBwXHrBFeoHDlR5NGAIcRmHiV4gvtks1mQVLqTj1J6o9jz9OFN0Jj5chDgm",
            "token: t1.5POuw0RFH7iM47fdikSTOqJvzUikVKqwA5Eb0IbBCw34mS=.oiarGpxcFQ5JJzhcCN0gQSm3kHmRk4Dw63KDo1ESDXi7r26CHLHZBLQeSkHWVWJsU6K4mmkm6skCFV2OaWkkHw",
        ],
        misses: &[("cut short", "t1.Zk7vXq3Lm9.Pr2"), ("a version", "t1.2.3")],
        ..TOKEN
    },
    Rule {
        id: "yandex-api-key",
        why: "Yandex Cloud API key",
        keywords: &["aqvn"],
        pattern: r"AQVN[A-Za-z0-9_-]{35,38}(?:[^A-Za-z0-9_-]|$)",
        hits: &[
            concat!("AQVN", "570VeRCntJdUQsB81JbQTKzJWUgseGCNLHx"),
            concat!("export TOKEN=\"AQVN", "ESKxYcWzjo3wWffMScvSVgV1ZGrG8mZBJYE\""),
        ],
        misses: &[
            ("cut short", concat!("AQVN", "570VeR")),
            ("inside a longer word", concat!("xAQVN", "570VeRCntJdUQsB81JbQTKzJWUgseGCNLHx")),
            ("a filler", concat!("AQVN", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "yandex-access-key",
        why: "Yandex Cloud storage key",
        weight: LIKELY,
        keywords: &["yc"],
        pattern: r"YC[A-Za-z0-9_-]{38}(?:[^A-Za-z0-9_-]|$)",
        hits: &[
            concat!("YCtc", "hq6DbPTGVYJGSVl46CRosAt21AoqlgJjYiRz"),
            concat!("export TOKEN=\"YCt6", "iQgPl96p9flAzW8mf6rzfYZCpzwYxTtZkEpj\""),
        ],
        misses: &[
            ("cut short", concat!("YCtc", "hq6D")),
            ("inside a longer word", concat!("xYCtc", "hq6DbPTGVYJGSVl46CRosAt21AoqlgJjYiRz")),
            ("a filler", concat!("YCxx", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "ibm-cloud-key",
        why: "IBM Cloud key by its usual name",
        crosses: true,
        reach: 200,
        keywords: &["ibm"],
        pattern: r#"(?i)ibm(?:cloud)?[_-]?api[_-]?key["\']?\s*[=:]\s*["\']?([A-Za-z0-9_-]{44})(?:[^A-Za-z0-9_-]|$)"#,
        check: Some(checks::varied),
        hits: &[
            "IBMCLOUD_API_KEY=zViImYXbPjT703fg6X0NWiJIuvDhdL0LoYgga3MFO24O",
            "ibm_api_key: \"LBnDOcv5jzblp5GaXQufsv1Zp5fUpSunKlGTR4QzQIe0\"",
        ],
        misses: &[("cut short", "IBM_API_KEY=k3Xv9Qm2"), ("a reference", "ibm_api_key: ${IBM_KEY}")],
        ..TOKEN
    },
    Rule {
        id: "openshift-token",
        why: "OpenShift session token: the rights of its user",
        keywords: &["sha256~"],
        pattern: r"sha256~[A-Za-z0-9_-]{43}(?:[^A-Za-z0-9_-]|$)",
        hits: &[
            concat!("sha256~", "TD7kKV7VGuxv265YhPhbyxeafnUQk3vN02oa8BLFMVI"),
            concat!("export TOKEN=\"sha256~", "HGPsxAr93aB4Q4IyavvjYsroj7hXtAktXkHHwaMEX5J\""),
        ],
        misses: &[
            ("cut short", concat!("sha256~", "TD7kKV")),
            ("inside a longer word", concat!("xsha256~", "TD7kKV7VGuxv265YhPhbyxeafnUQk3vN02oa8BLFMVI")),
            ("a filler", concat!("sha256~", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "planetscale-secret",
        why: "PlanetScale token or password",
        keywords: &["pscale_tkn_", "pscale_oauth_", "pscale_pw_"],
        pattern: r"pscale_(?:tkn|oauth|pw)_[A-Za-z0-9_=.-]{30,}",
        hits: &[
            concat!("pscale_pw_", "Ye0itBlqsuefMvgVukQtOstxEZXs1S"),
            concat!("export TOKEN=\"pscale_tkn", "_q0MIFkgTkST6AxcKFIYQvXyQqxZ9KC\""),
        ],
        misses: &[
            ("cut short", concat!("pscale_pw_", "Ye0itB")),
            ("inside a longer word", concat!("xpscale_pw_", "Ye0itBlqsuefMvgVukQtOstxEZXs1S")),
            ("a filler", concat!("pscale_pw_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "supabase-key",
        why: "Supabase access token",
        keywords: &["sbp_"],
        pattern: r"sbp_[0-9a-f]{40}\b",
        hits: &[
            concat!("sbp_", "e6046f6a36c5e44a102cba4c803a62befb941a1e"),
            concat!("export TOKEN=\"sbp_", "0822830cffce3fdd2ac0e1c1354aefcd0a25a628\""),
        ],
        misses: &[
            ("cut short", concat!("sbp_", "e6046f")),
            ("inside a longer word", concat!("xsbp_", "e6046f6a36c5e44a102cba4c803a62befb941a1e")),
            ("a filler", concat!("sbp_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "netlify-token",
        why: "Netlify token: sites of its owner",
        keywords: &["nfp_"],
        pattern: r"nfp_[A-Za-z0-9]{36,}",
        hits: &[
            concat!("nfp_", "ASYvsC6cryGoPGyN0ks1fFWb8BIe1XYK5Qtw"),
            concat!("export TOKEN=\"nfp_", "AR5h3ajQNiaD200iV04DuqOZMpO7sHCYmqDV\""),
        ],
        misses: &[
            ("cut short", concat!("nfp_", "ASYvsC")),
            ("inside a longer word", concat!("xnfp_", "ASYvsC6cryGoPGyN0ks1fFWb8BIe1XYK5Qtw")),
            ("a filler", concat!("nfp_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "vercel-token",
        why: "Vercel token: sites of its owner",
        keywords: &["vcp_", "vck_", "vci_", "vca_", "vcr_"],
        pattern: r"vc[pkiar]_[A-Za-z0-9]{24,}",
        hits: &[
            concat!("vcr_", "LA3686F0YSZBsFXL71Ejf5e2"),
            concat!("export TOKEN=\"vck_", "Y2M1Ib4y944HCECeJjITaQuB\""),
        ],
        misses: &[
            ("cut short", concat!("vcr_", "LA3686")),
            ("inside a longer word", concat!("xvcr_", "LA3686F0YSZBsFXL71Ejf5e2")),
            ("a filler", concat!("vcr_", "xxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "render-key",
        why: "Render key: services of its owner",
        keywords: &["rnd_"],
        pattern: r"rnd_[A-Za-z0-9]{28,}",
        hits: &[
            concat!("rnd_", "r5e9cK3Syv1oQVxbL7Bb9Q6HIwyR"),
            concat!("export TOKEN=\"rnd_", "dwCoq33UxxY8c2hwF6sD9HOwXlmn\""),
        ],
        misses: &[
            ("cut short", concat!("rnd_", "r5e9cK")),
            ("inside a longer word", concat!("xrnd_", "r5e9cK3Syv1oQVxbL7Bb9Q6HIwyR")),
            ("a filler", concat!("rnd_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "onepassword-secret-key",
        why: "1Password secret key: half of what opens a vault",
        keywords: &["a3-"],
        pattern: r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}\b",
        hits: &[
            concat!("A3-I", "TVHXE-22QFH8-XLI6J-IJOO2-H6V75-6I5DD"),
            concat!("export TOKEN=\"A3-Q", "WUL9A-3GBIVN-CTTFH-WSQVI-J7SDP-TX39F\""),
        ],
        misses: &[
            ("cut short", concat!("A3-I", "TVHXE")),
            ("inside a longer word", concat!("xA3-I", "TVHXE-22QFH8-XLI6J-IJOO2-H6V75-6I5DD")),
            ("a filler", concat!("A3-x", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "onepassword-service-token",
        why: "1Password service token: reads stored secrets",
        reach: 2048,
        keywords: &["ops_eyj"],
        pattern: r"ops_eyJ[A-Za-z0-9+/]{200,}={0,3}",
        hits: &[
            concat!(
                "ops_eyJ",
                "UhiusNGAdSCas9RwFyzjtUgqGO6sXbQVFfncTut6tAjZ5FdXlLFDe1RfakyqcgX9JgHIErW2UmCmSkAGYgG0IDx5Xc33lt6RoJrKg3dUVtOJmlQkbcwdEm9xcVElXN8iqiFoh5zq4oWNKImBi9mAVwEej1Qzpw7FnjKCLbhjLzTgM7OQFZwkezgwSPQRrFQeZLWT6W1n"
            ),
            concat!(
                "export TOKEN=\"ops_eyJ",
                "YJ12zJIRIL4TpafFmX76yJYIYwH7YXnaDayjuh7OCgMPiSh21mglKfEOjFJT4hyZYgjP5PTf2vYt9THG4PyT0SJIj3CdpIqhhqY5aDu5QoPgeXLT3V5zdJybzpkCtHcKEGHlPedW1Vb5kMALVyvvXlvVPBSlkXMHMQpw8Zj4Sv7sITvyVCyD3fOnwkUSlnyweRuEPCt8\""
            ),
        ],
        misses: &[
            ("cut short", concat!("ops_eyJ", "UhiusN")),
            (
                "inside a longer word",
                concat!(
                    "xops_eyJ",
                    "UhiusNGAdSCas9RwFyzjtUgqGO6sXbQVFfncTut6tAjZ5FdXlLFDe1RfakyqcgX9JgHIErW2UmCmSkAGYgG0IDx5Xc33lt6RoJrKg3dUVtOJmlQkbcwdEm9xcVElXN8iqiFoh5zq4oWNKImBi9mAVwEej1Qzpw7FnjKCLbhjLzTgM7OQFZwkezgwSPQRrFQeZLWT6W1n"
                ),
            ),
            (
                "a filler",
                concat!(
                    "ops_eyJ",
                    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                ),
            ),
        ],
        ..TOKEN
    },
    Rule {
        id: "pangea-token",
        why: "Pangea token",
        keywords: &["pts_"],
        pattern: r"pts_[a-z0-9]{32}\b",
        hits: &[
            concat!("pts_", "xuy5qi4ao94ydma5ijg0pql9vn6zqijk"),
            concat!("export TOKEN=\"pts_", "oxheignd2p9pwhn19ohhxfayctml0owq\""),
        ],
        misses: &[
            ("cut short", concat!("pts_", "xuy5qi")),
            ("inside a longer word", concat!("xpts_", "xuy5qi4ao94ydma5ijg0pql9vn6zqijk")),
            ("a filler", concat!("pts_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "defined-networking-token",
        why: "Defined Networking key: joins the private network",
        keywords: &["dnkey-"],
        pattern: r"dnkey-[A-Za-z0-9=_-]{26}-[A-Za-z0-9=_-]{52}",
        hits: &[
            concat!(
                "dnkey-",
                "vQ82tuBcDhvaTIuRuhmWrcnXOp-KwX6uAI9u9JlVgQerwdlQ770WuSld5plFQdyW7aCqqAITQKEXSrb"
            ),
            concat!(
                "export TOKEN=\"dnkey-",
                "k630XY2RyxkVo0GocDXoa5u70I-Nx51AbQhmM3f7BvyvmyulcwYLdf5qO56HftwVrMiOixEJg3jbNf4\""
            ),
        ],
        misses: &[
            ("cut short", concat!("dnkey-", "vQ82tu")),
            (
                "inside a longer word",
                concat!(
                    "xdnkey-",
                    "vQ82tuBcDhvaTIuRuhmWrcnXOp-KwX6uAI9u9JlVgQerwdlQ770WuSld5plFQdyW7aCqqAITQKEXSrb"
                ),
            ),
            (
                "a filler",
                concat!(
                    "dnkey-",
                    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                ),
            ),
        ],
        ..TOKEN
    },
    Rule {
        id: "tailscale-key",
        why: "Tailscale key: joins the private network",
        keywords: &["tskey-"],
        pattern: r"tskey-(?:auth|api|client|scim|webhook)?-?[A-Za-z0-9]{8,}-[A-Za-z0-9]{16,}",
        hits: &[
            concat!("tskey-", "Xp7nyXPG-M5aEc6X8fyc2fkKS"),
            concat!("export TOKEN=\"tskey-", "vqXvYf2O-yvQYoMxz3uvHJnOo\""),
        ],
        misses: &[
            ("cut short", concat!("tskey-", "Xp7nyX")),
            ("inside a longer word", concat!("xtskey-", "Xp7nyXPG-M5aEc6X8fyc2fkKS")),
            ("a filler", concat!("tskey-", "xxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "ngrok-key",
        why: "ngrok key: opens tunnels",
        weight: LIKELY,
        keywords: &["ak_", "cr_"],
        pattern: r"ak_[A-Za-z0-9]{27}\b|cr_[A-Za-z0-9]{27}\b",
        hits: &[
            concat!("ak_w", "RCX8kZJUlBngCeNdLDH4bPXutv"),
            concat!("export TOKEN=\"ak_D", "4PFGtPIkzXWPuJFc3dNhO9kw3x\""),
        ],
        misses: &[
            ("cut short", concat!("ak_w", "RCX8k")),
            ("inside a longer word", concat!("xak_w", "RCX8kZJUlBngCeNdLDH4bPXutv")),
            ("a filler", concat!("ak_x", "xxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "openvpn-static-key",
        why: "OpenVPN static key: joins the private network",
        crosses: true,
        reach: 2048,
        keywords: &["-----begin openvpn static"],
        pattern: r"-----BEGIN OpenVPN Static key V1-----\s+[0-9a-f\s]{64,}",
        hits: &[
            "-----BEGIN OpenVPN Static key V1-----\n4f1c0b2d93e8a7566d2b1f0c9e8d7a3b\n1c2d3e4f5a6b7c8d9e0f1a2b3c4d5e6f\n",
            "-----BEGIN OpenVPN Static key V1-----\r\n9e8d7a3b4f1c0b2d93e8a7566d2b1f0c\r\n5a6b7c8d9e0f1a2b3c4d5e6f1c2d3e4f\r\n",
        ],
        misses: &[
            ("no key material", "-----BEGIN OpenVPN Static key V1-----\nanything"),
            ("a mention", "an OpenVPN Static key V1 file"),
        ],
        ..TOKEN
    },
]);
