//! Tokens of package registries: with one, an attacker ships code to everyone.
//! Data only.

use super::{Rule, Rules, Start, TOKEN};
use crate::checks;

pub(super) static RULES: Rules = Rules::new(&[
    Rule {
        id: "npm-token",
        why: "npm token: publishes packages",
        keywords: &["npm_"],
        pattern: r"npm_[A-Za-z0-9]{36}\b",
        hits: &[
            concat!("npm_", "CvPxAJWRtncfVEc1Pn1UDXqw831Rxj6TvjkC"),
            concat!("export TOKEN=\"npm_", "vi8kVEq5rl5SKX0a19Z52eQMjsmCyIRxDs6D\""),
        ],
        misses: &[
            ("cut short", concat!("npm_", "CvPxAJ")),
            ("inside a longer word", concat!("xnpm_", "CvPxAJWRtncfVEc1Pn1UDXqw831Rxj6TvjkC")),
            ("a filler", concat!("npm_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "npmrc-auth",
        why: "npm credential as it stands in .npmrc",
        start: Start::Before(0),
        reach: 200,
        crosses: true,
        keywords: &["_auth", "_password="],
        pattern: r#"_(?:authToken|auth|password)\s*=\s*"?([A-Za-z0-9+/=_-]{16,})"#,
        check: Some(checks::generated),
        hits: &[
            "//registry.npmjs.org/:_authToken=5ab9c799-d55c-9653",
            "_auth=\"dXNlcjprOVhtMlpwN0x3NVJ0OEpu==\"",
        ],
        misses: &[
            ("a reference", "//registry.npmjs.org/:_authToken=${NPM_TOKEN}"),
            ("the name alone", "_authToken="),
        ],
        ..TOKEN
    },
    Rule {
        id: "pypi-token",
        why: "PyPI token: publishes packages",
        keywords: &["pypi-age"],
        pattern: r"pypi-AgE[A-Za-z0-9_-]{60,}",
        hits: &[
            concat!("pypi-AgE", "Ws5vKqL9XdgVKyaGQTq2iuOWFmOF4G5oNlREzhSVvZbG3gZyExhj1mNewF6a"),
            concat!(
                "export TOKEN=\"pypi-AgE",
                "f5biXPOlQQwdViQpxeP3iwOztwgsOhDZxSdelkBKzMvoPlQPekYtCkKQ34Be\""
            ),
        ],
        misses: &[
            ("cut short", concat!("pypi-AgE", "Ws5vKq")),
            (
                "inside a longer word",
                concat!("xpypi-AgE", "Ws5vKqL9XdgVKyaGQTq2iuOWFmOF4G5oNlREzhSVvZbG3gZyExhj1mNewF6a"),
            ),
            ("a filler", concat!("pypi-AgE", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "rubygems-token",
        why: "RubyGems token: publishes packages",
        keywords: &["rubygems_"],
        pattern: r"rubygems_[0-9a-f]{48}\b",
        hits: &[
            concat!("rubygems_", "81b34ebabee4db8c71013a2f6d6169b7d26de134bd020260"),
            concat!("export TOKEN=\"rubygems_", "79e3870f79117f2648c54d9827fb1cb62bca967f30db1ec4\""),
        ],
        misses: &[
            ("cut short", concat!("rubygems_", "81b34e")),
            (
                "inside a longer word",
                concat!("xrubygems_", "81b34ebabee4db8c71013a2f6d6169b7d26de134bd020260"),
            ),
            ("a filler", concat!("rubygems_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "crates-token",
        why: "crates.io token: publishes packages",
        keywords: &["cio"],
        pattern: r"cio[A-Za-z0-9]{32}\b",
        hits: &[
            concat!("cioq", "UPPgceIV6hyNltj7QB91kOXP4DRrQ7c"),
            concat!("export TOKEN=\"ciol", "W1yDIaHF1yPISvOKJ7VmFwzb1IjtkYu\""),
        ],
        misses: &[
            ("cut short", concat!("cioq", "UPPgc")),
            ("inside a longer word", concat!("xcioq", "UPPgceIV6hyNltj7QB91kOXP4DRrQ7c")),
            ("a filler", concat!("ciox", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "nuget-key",
        why: "NuGet key: publishes packages",
        keywords: &["oy2"],
        pattern: r"oy2[a-z0-9]{43}\b",
        hits: &[
            concat!("oy2a", "e4d2jmrpmpl5b2mb8hgzb1rlsn9f4r7jyrgzzi8w48"),
            concat!("export TOKEN=\"oy2g", "qf4y4z6l2cn519v4m5x044oqygdxx88gbq9skpu7uk\""),
        ],
        misses: &[
            ("cut short", concat!("oy2a", "e4d2j")),
            ("inside a longer word", concat!("xoy2a", "e4d2jmrpmpl5b2mb8hgzb1rlsn9f4r7jyrgzzi8w48")),
            ("a filler", concat!("oy2x", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "clojars-token",
        why: "Clojars token: publishes packages",
        keywords: &["clojars_"],
        pattern: r"CLOJARS_[a-z0-9]{60}\b",
        hits: &[
            concat!("CLOJARS_", "vyf3z9s3a4qy8yrodwt3o0nwrn56fb3gm6tap52gd8w3xdneckexq6zarms0"),
            concat!(
                "export TOKEN=\"CLOJARS_",
                "ocud4j2zstq94a52mx4nnd83n9zwpshu28bt61iw564roosfpj5yirg8g8mp\""
            ),
        ],
        misses: &[
            ("cut short", concat!("CLOJARS_", "vyf3z9")),
            (
                "inside a longer word",
                concat!("xCLOJARS_", "vyf3z9s3a4qy8yrodwt3o0nwrn56fb3gm6tap52gd8w3xdneckexq6zarms0"),
            ),
            ("a filler", concat!("CLOJARS_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "docker-token",
        why: "Docker Hub token: pushes images",
        keywords: &["dckr_"],
        pattern: r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{27,}",
        hits: &[
            concat!("dckr_", "oat_NkYzN36kPCU9Bag2ivMFQUxqG4C"),
            concat!("export TOKEN=\"dckr_", "pat_RUM4z1QiWXEtpDY7kmxTaV7WgvG\""),
        ],
        misses: &[
            ("cut short", concat!("dckr_", "oat_Nk")),
            ("inside a longer word", concat!("xdckr_", "oat_NkYzN36kPCU9Bag2ivMFQUxqG4C")),
            ("a filler", concat!("dckr_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "artifactory-key",
        why: "Artifactory key: reads and writes packages",
        keywords: &["akcp"],
        pattern: r"AKCp[A-Za-z0-9]{69}\b",
        hits: &[
            concat!("AKCp", "Xpa2BGjlhjeOXUhsiksxyZAvl4WxOEFK9UDPIESMFdos0GwZ6xoRUalfAOkahMaHxObfP"),
            concat!(
                "export TOKEN=\"AKCp",
                "zuKj2XFPzh8ja7SwCwUJlMCLSQlNVVoEEetWA2Z2xIS5RQbeRKuGRSZMo91Kw95gEc8y3\""
            ),
        ],
        misses: &[
            ("cut short", concat!("AKCp", "Xpa2BG")),
            (
                "inside a longer word",
                concat!("xAKCp", "Xpa2BGjlhjeOXUhsiksxyZAvl4WxOEFK9UDPIESMFdos0GwZ6xoRUalfAOkahMaHxObfP"),
            ),
            (
                "a filler",
                concat!("AKCp", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
            ),
        ],
        ..TOKEN
    },
    Rule {
        id: "artifactory-reference-token",
        why: "Artifactory reference token",
        keywords: &["cmvmdgtu"],
        pattern: r"cmVmdGtu[A-Za-z0-9]{56}\b",
        hits: &[
            concat!("cmVmdGtu", "GUB8YMZPd9lfbc30hH3326jf7FzldkOoiCdrf2sQ5kd59Hg3cUyPvqdc"),
            concat!("export TOKEN=\"cmVmdGtu", "29Qrl136a7NejQzXHmmeq6w6WfLJhRvclPRBs1RQmpRyqZJEqUmNExkB\""),
        ],
        misses: &[
            ("cut short", concat!("cmVmdGtu", "GUB8YM")),
            (
                "inside a longer word",
                concat!("xcmVmdGtu", "GUB8YMZPd9lfbc30hH3326jf7FzldkOoiCdrf2sQ5kd59Hg3cUyPvqdc"),
            ),
            ("a filler", concat!("cmVmdGtu", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "sidekiq-credential",
        why: "Credential of a paid gem source",
        start: Start::Word,
        reach: 60,
        crosses: true,
        keywords: &["__contribsys__com"],
        pattern: r#"(?i)BUNDLE_(?:ENTERPRISE|GEMS)__CONTRIBSYS__COM[\w.-]{0,12}["\']?\s*[:?|]{0,3}[=:>]{1,2}\s*["\'`]?([a-f0-9]{8}:[a-f0-9]{8})\b"#,
        check: None,
        hits: &[
            "BUNDLE_ENTERPRISE__CONTRIBSYS__COM=8f2e0b1c:a93d77e4",
            "export BUNDLE_GEMS__CONTRIBSYS__COM=\"1c9a04be:77d2e0f3\"",
        ],
        misses: &[
            ("the name alone", "set BUNDLE_GEMS__CONTRIBSYS__COM first"),
            ("a reference", "BUNDLE_GEMS__CONTRIBSYS__COM=$CREDENTIAL"),
        ],
        ..TOKEN
    },
    Rule {
        id: "sidekiq-url",
        why: "Paid gem source with its credential in the address",
        start: Start::Before(40),
        keywords: &["contribsys.com"],
        pattern: r"https?://([a-f0-9]{8}:[a-f0-9]{8})@(?:gems|enterprise)\.contribsys\.com",
        check: None,
        hits: &[
            "https://8f2e0b1c:a93d77e4@gems.contribsys.com/",
            "source \"http://1c9a04be:77d2e0f3@enterprise.contribsys.com\"",
        ],
        misses: &[
            ("no credential", "https://gems.contribsys.com/"),
            ("a user alone", "https://8f2e0b1c@gems.contribsys.com/"),
        ],
        ..TOKEN
    },
    Rule {
        id: "jfrog-key",
        why: "JFrog identity token by its usual name",
        crosses: true,
        reach: 200,
        keywords: &["jfrog", "artifactory", "bintray", "xray"],
        pattern: r#"(?i)(?:jfrog|artifactory|bintray|xray)[\w.-]{0,24}["\']?\s*[=:]\s*["\']?([A-Za-z0-9]{64,73})\b"#,
        check: Some(checks::varied),
        hits: &[
            "JFROG_TOKEN=FxomIGWz6RtRzfmfCSUzaYuF6WcqZFj4QYpHIeKRipImu36F5QnEgtUTThr1dNMG",
            "artifactory: \"i4OGLWrUoscymTImzBLnn0HnNYzYpuu81SXcuUeOjmaTPwQND7L2Y4YUitkLp9xszsSrQ7Zfb\"",
        ],
        misses: &[("prose", "jfrog: the company behind it"), ("cut short", "JFROG_TOKEN=k3Xv9Qm2Zp7")],
        ..TOKEN
    },
    Rule {
        id: "nuget-password",
        why: "Password in a NuGet configuration",
        start: Start::Before(16),
        reach: 96,
        crosses: true,
        keywords: &["password\" value", "password\"  value"],
        pattern: r#"(?i)key="(?:ClearText)?Password"\s+value="([^"]{5,64})""#,
        check: Some(checks::password),
        hits: &[
            "<add key=\"ClearTextPassword\" value=\"kq9!zR2m#Lw\" />",
            "<add key=\"Password\" value=\"Tz7$Qw2pLx\" />",
        ],
        misses: &[
            ("a reference", "<add key=\"ClearTextPassword\" value=\"%NUGET_PW%\" />"),
            ("empty", "<add key=\"Password\" value=\"\" />"),
        ],
        ..TOKEN
    },
]);
