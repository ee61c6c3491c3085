//! Tokens of code hosts.
//! Data only.

use super::{Rule, Rules, TOKEN};

pub(super) static RULES: Rules = Rules::new(&[
    Rule {
        id: "github-pat",
        why: "GitHub personal token: the rights of its owner",
        keywords: &["ghp_"],
        pattern: r"ghp_[A-Za-z0-9]{36,}",
        hits: &[
            concat!("ghp_", "6NXicz5G8lH12QoQ3cPs5fD7yrIN3TO2f61A"),
            concat!("export TOKEN=\"ghp_", "q7NBGLOOUnUN91ZKirLdB9pbCSb1HjLnPFvD\""),
        ],
        misses: &[
            ("cut short", concat!("ghp_", "6NXicz")),
            ("inside a longer word", concat!("xghp_", "6NXicz5G8lH12QoQ3cPs5fD7yrIN3TO2f61A")),
            ("a filler", concat!("ghp_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "github-oauth",
        why: "GitHub OAuth token",
        keywords: &["gho_"],
        pattern: r"gho_[A-Za-z0-9]{36,}",
        hits: &[
            concat!("gho_", "RNcyKwPMCXwzyDjLmp8FJX78veyBWnAxvkTy"),
            concat!("export TOKEN=\"gho_", "lrv1IPluyYKcWVvBi2FCzPDDIOuGiMDHceiM\""),
        ],
        misses: &[
            ("cut short", concat!("gho_", "RNcyKw")),
            ("inside a longer word", concat!("xgho_", "RNcyKwPMCXwzyDjLmp8FJX78veyBWnAxvkTy")),
            ("a filler", concat!("gho_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "github-app-token",
        why: "GitHub app token, of a user or a server",
        keywords: &["ghu_", "ghs_"],
        pattern: r"gh[us]_[A-Za-z0-9]{36,}",
        hits: &[
            concat!("ghs_", "qF6ckBd5fQwFx9mWhoq62lDiL6gfZIM1Olec"),
            concat!("export TOKEN=\"ghs_", "Gxdlux0R27C4baL3s56Rzi0mUsBw8ZjtD4fy\""),
        ],
        misses: &[
            ("cut short", concat!("ghs_", "qF6ckB")),
            ("inside a longer word", concat!("xghs_", "qF6ckBd5fQwFx9mWhoq62lDiL6gfZIM1Olec")),
            ("a filler", concat!("ghs_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "github-refresh-token",
        why: "GitHub refresh token: makes new tokens",
        keywords: &["ghr_"],
        pattern: r"ghr_[A-Za-z0-9]{36,}",
        hits: &[
            concat!("ghr_", "vTgmVLDXWk9KlwbSzfWjGo52mHebdyXz4xb2"),
            concat!("export TOKEN=\"ghr_", "AptW6paMy6XwUTGcG4ZJiCCVBKMuaOLHcHz9\""),
        ],
        misses: &[
            ("cut short", concat!("ghr_", "vTgmVL")),
            ("inside a longer word", concat!("xghr_", "vTgmVLDXWk9KlwbSzfWjGo52mHebdyXz4xb2")),
            ("a filler", concat!("ghr_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "github-fine-grained-pat",
        why: "GitHub fine-grained token",
        keywords: &["github_pat_"],
        pattern: r"github_pat_[A-Za-z0-9_]{70,}",
        hits: &[
            concat!("github_pat_", "OzgRP27yMbNbz7haoTeSXTtfsLeTnOqAOboKWWoa7ToGGydI0tiUEIDa9g2M7KBTvSpdtd"),
            concat!(
                "export TOKEN=\"github_pat_",
                "r3Z7huADIqtAOdqY3NUuDp0jX3AIgxI85rbVpkAhmptLlYUIcb9RCrB1AnJxzYkiCvbdYy\""
            ),
        ],
        misses: &[
            ("cut short", concat!("github_pat_", "OzgRP2")),
            (
                "inside a longer word",
                concat!(
                    "xgithub_pat_",
                    "OzgRP27yMbNbz7haoTeSXTtfsLeTnOqAOboKWWoa7ToGGydI0tiUEIDa9g2M7KBTvSpdtd"
                ),
            ),
            (
                "a filler",
                concat!(
                    "github_pat_",
                    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                ),
            ),
        ],
        ..TOKEN
    },
    Rule {
        id: "gitlab-pat",
        why: "GitLab personal token: the rights of its owner",
        keywords: &["glpat-"],
        pattern: r"glpat-[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_-]{2,12})*",
        hits: &[
            concat!("glpat-", "59pnwQddDNjFoMI1Mi5s"),
            concat!("export TOKEN=\"glpat-", "iwfueUsTFBljJtYDzvY1\""),
        ],
        misses: &[
            ("cut short", concat!("glpat-", "59pnwQ")),
            ("inside a longer word", concat!("xglpat-", "59pnwQddDNjFoMI1Mi5s")),
            ("a filler", concat!("glpat-", "xxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "gitlab-pipeline-trigger-token",
        why: "GitLab pipeline trigger token",
        keywords: &["glptt-"],
        pattern: r"glptt-[A-Za-z0-9_-]{18,}(?:\.[A-Za-z0-9_-]{2,12})*",
        hits: &[
            concat!("glptt-", "hipunSdw437hcX15Jg"),
            concat!("export TOKEN=\"glptt-", "40QpQZoNbhUqoVj92S\""),
        ],
        misses: &[
            ("cut short", concat!("glptt-", "hipunS")),
            ("inside a longer word", concat!("xglptt-", "hipunSdw437hcX15Jg")),
            ("a filler", concat!("glptt-", "xxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "gitlab-deploy-token",
        why: "GitLab deploy token",
        keywords: &["gldt-"],
        pattern: r"gldt-[A-Za-z0-9_-]{18,}(?:\.[A-Za-z0-9_-]{2,12})*",
        hits: &[
            concat!("gldt-", "XoOofYia8G7YcFQCRf"),
            concat!("export TOKEN=\"gldt-", "FMeihlkxzpeNX21i1e\""),
        ],
        misses: &[
            ("cut short", concat!("gldt-", "XoOofY")),
            ("inside a longer word", concat!("xgldt-", "XoOofYia8G7YcFQCRf")),
            ("a filler", concat!("gldt-", "xxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "gitlab-feed-token",
        why: "GitLab feed token",
        keywords: &["glft-"],
        pattern: r"glft-[A-Za-z0-9_-]{18,}(?:\.[A-Za-z0-9_-]{2,12})*",
        hits: &[
            concat!("glft-", "0fFKJkCSSYTzz6PGFr"),
            concat!("export TOKEN=\"glft-", "FNWoO0tE2Ev9rMrJ7q\""),
        ],
        misses: &[
            ("cut short", concat!("glft-", "0fFKJk")),
            ("inside a longer word", concat!("xglft-", "0fFKJkCSSYTzz6PGFr")),
            ("a filler", concat!("glft-", "xxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "gitlab-incoming-mail-token",
        why: "GitLab incoming mail token",
        keywords: &["glimt-"],
        pattern: r"glimt-[A-Za-z0-9_-]{18,}(?:\.[A-Za-z0-9_-]{2,12})*",
        hits: &[
            concat!("glimt-", "CmWvrA1rcRnDkFmdSr"),
            concat!("export TOKEN=\"glimt-", "mmEPio9ONdFAKnmyxC\""),
        ],
        misses: &[
            ("cut short", concat!("glimt-", "CmWvrA")),
            ("inside a longer word", concat!("xglimt-", "CmWvrA1rcRnDkFmdSr")),
            ("a filler", concat!("glimt-", "xxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "gitlab-cluster-agent-token",
        why: "GitLab cluster agent token",
        keywords: &["glagent-"],
        pattern: r"glagent-[A-Za-z0-9_-]{18,}(?:\.[A-Za-z0-9_-]{2,12})*",
        hits: &[
            concat!("glagent-", "1rvlj7YYhWsSWqEXV7"),
            concat!("export TOKEN=\"glagent-", "cduIJLsQ2dbpXG3Ztx\""),
        ],
        misses: &[
            ("cut short", concat!("glagent-", "1rvlj7")),
            ("inside a longer word", concat!("xglagent-", "1rvlj7YYhWsSWqEXV7")),
            ("a filler", concat!("glagent-", "xxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "gitlab-oauth-application-secret",
        why: "GitLab OAuth application secret",
        keywords: &["gloas-"],
        pattern: r"gloas-[A-Za-z0-9_-]{18,}(?:\.[A-Za-z0-9_-]{2,12})*",
        hits: &[
            concat!("gloas-", "d09LQ9Oc26u6J6MFvg"),
            concat!("export TOKEN=\"gloas-", "miq02lBfZbHspSyUIu\""),
        ],
        misses: &[
            ("cut short", concat!("gloas-", "d09LQ9")),
            ("inside a longer word", concat!("xgloas-", "d09LQ9Oc26u6J6MFvg")),
            ("a filler", concat!("gloas-", "xxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "gitlab-runner-authentication-token",
        why: "GitLab runner authentication token",
        keywords: &["glrt-"],
        pattern: r"glrt-[A-Za-z0-9_-]{18,}(?:\.[A-Za-z0-9_-]{2,12})*",
        hits: &[
            concat!("glrt-", "vaQ0wt3yqF2JUcu1qk"),
            concat!("export TOKEN=\"glrt-", "vmWnfS15YKu41cZsjM\""),
        ],
        misses: &[
            ("cut short", concat!("glrt-", "vaQ0wt")),
            ("inside a longer word", concat!("xglrt-", "vaQ0wt3yqF2JUcu1qk")),
            ("a filler", concat!("glrt-", "xxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "gitlab-scim-token",
        why: "GitLab SCIM token",
        keywords: &["glsoat-"],
        pattern: r"glsoat-[A-Za-z0-9_-]{18,}(?:\.[A-Za-z0-9_-]{2,12})*",
        hits: &[
            concat!("glsoat-", "nE4sDCtbHhaDaisASC"),
            concat!("export TOKEN=\"glsoat-", "5KLdCYa7lotSbB65sj\""),
        ],
        misses: &[
            ("cut short", concat!("glsoat-", "nE4sDC")),
            ("inside a longer word", concat!("xglsoat-", "nE4sDCtbHhaDaisASC")),
            ("a filler", concat!("glsoat-", "xxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "gitlab-feature-flag-client-token",
        why: "GitLab feature flag client token",
        keywords: &["glffct-"],
        pattern: r"glffct-[A-Za-z0-9_-]{18,}(?:\.[A-Za-z0-9_-]{2,12})*",
        hits: &[
            concat!("glffct-", "BcKbBOsQxptIJg86ak"),
            concat!("export TOKEN=\"glffct-", "zTuKku9XtiCRqqY0GV\""),
        ],
        misses: &[
            ("cut short", concat!("glffct-", "BcKbBO")),
            ("inside a longer word", concat!("xglffct-", "BcKbBOsQxptIJg86ak")),
            ("a filler", concat!("glffct-", "xxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "gitlab-runner-token-of-the-routable-form",
        why: "GitLab runner token of the routable form",
        keywords: &["glrtr-"],
        pattern: r"glrtr-[A-Za-z0-9_-]{18,}(?:\.[A-Za-z0-9_-]{2,12})*",
        hits: &[
            concat!("glrtr-", "GijiBnXPMAiEBHvUg3"),
            concat!("export TOKEN=\"glrtr-", "le37l6cLnShaI7S7Nc\""),
        ],
        misses: &[
            ("cut short", concat!("glrtr-", "GijiBn")),
            ("inside a longer word", concat!("xglrtr-", "GijiBnXPMAiEBHvUg3")),
            ("a filler", concat!("glrtr-", "xxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "gitlab-job-token",
        why: "GitLab job token: the rights of a running pipeline",
        keywords: &["glcbt-"],
        pattern: r"glcbt-[0-9a-zA-Z]{1,5}_[A-Za-z0-9_-]{20,}",
        hits: &[
            concat!("glcbt-", "r_M5GD6udrJrILEICo97z5"),
            concat!("export TOKEN=\"glcbt-", "a_areiNimgBfuFw10StuBb\""),
        ],
        misses: &[
            ("cut short", concat!("glcbt-", "r_M5GD")),
            ("inside a longer word", concat!("xglcbt-", "r_M5GD6udrJrILEICo97z5")),
            ("a filler", concat!("glcbt-", "xxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "gitlab-runner-registration",
        why: "GitLab runner registration token: adds a machine that sees all jobs",
        keywords: &["gr1348941"],
        pattern: r"GR1348941[A-Za-z0-9_-]{20,}",
        hits: &[
            concat!("GR1348941", "jkr7vSIp0lmaOcecYY8m"),
            concat!("export TOKEN=\"GR1348941", "htE2hEUJlqtdK8lbxp1v\""),
        ],
        misses: &[
            ("cut short", concat!("GR1348941", "jkr7vS")),
            ("inside a longer word", concat!("xGR1348941", "jkr7vSIp0lmaOcecYY8m")),
            ("a filler", concat!("GR1348941", "xxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "gitlab-session",
        why: "GitLab session cookie: a signed-in browser",
        keywords: &["_gitlab_session="],
        pattern: r"_gitlab_session=[0-9a-z]{32}\b",
        hits: &[
            concat!("_gitlab_session=", "8cifsljw7zuuycinya5byf736ltsiikq"),
            concat!("export TOKEN=\"_gitlab_session=", "qcpre3nhgj0lc5xjipx1hyi4epksafg8\""),
        ],
        misses: &[
            ("cut short", concat!("_gitlab_session=", "8cifsl")),
            ("inside a longer word", concat!("x_gitlab_session=", "8cifsljw7zuuycinya5byf736ltsiikq")),
            ("a filler", concat!("_gitlab_session=", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "bitbucket-app-password",
        why: "Bitbucket app password",
        keywords: &["atbb"],
        pattern: r"ATBB[A-Za-z0-9]{28,}",
        hits: &[
            concat!("ATBB", "RsLi9BhTnwAenhXELIz9YFnUSzSE"),
            concat!("export TOKEN=\"ATBB", "pUi5LWWHMIK1qOG1vNSyEJrkG955\""),
        ],
        misses: &[
            ("cut short", concat!("ATBB", "RsLi9B")),
            ("inside a longer word", concat!("xATBB", "RsLi9BhTnwAenhXELIz9YFnUSzSE")),
            ("a filler", concat!("ATBB", "xxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "atlassian-token",
        why: "Atlassian token: Jira and Confluence as its owner",
        keywords: &["atatt3", "atctt3"],
        pattern: r"AT[AC]TT3[A-Za-z0-9_=-]{60,}",
        hits: &[
            concat!("ATATT3", "GxqmLo6uSbcHO73em2hpCnmzDv1cTpLPkObOaLqw2V4iW8thsrguebh74qZs"),
            concat!(
                "export TOKEN=\"ATCTT3",
                "MIfGfBIMhQcBsxkpNhhRhVFiToGwjoADflfbXQB2DNOm6ru2xRHHtFPPqP0Z\""
            ),
        ],
        misses: &[
            ("cut short", concat!("ATATT3", "GxqmLo")),
            (
                "inside a longer word",
                concat!("xATATT3", "GxqmLo6uSbcHO73em2hpCnmzDv1cTpLPkObOaLqw2V4iW8thsrguebh74qZs"),
            ),
            ("a filler", concat!("ATATT3", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
]);
