//! Tokens of messaging platforms, and webhook addresses, which are tokens too.
//! Data only.

use super::{CERTAIN, Rule, Rules, Start, TOKEN};
use crate::checks;

pub(super) static RULES: Rules = Rules::new(&[
    Rule {
        id: "slack-bot-token",
        why: "Slack bot token: reads and writes in the workspace",
        keywords: &["xoxb-"],
        pattern: r"xoxb-[0-9]{8,14}-[0-9A-Za-z-]{12,}",
        hits: &[
            concat!("xoxb-", "20553650-3Vo9b3HNtDEd"),
            concat!("export TOKEN=\"xoxb-", "57083159-QumkDSOdr3SN\""),
        ],
        misses: &[
            ("cut short", concat!("xoxb-", "205536")),
            ("inside a longer word", concat!("xxoxb-", "20553650-3Vo9b3HNtDEd")),
            ("a filler", concat!("xoxb-", "xxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "slack-user-token",
        why: "Slack user token: reads and writes as a person",
        keywords: &["xoxp-", "xoxe-"],
        pattern: r"xox[pe]-[0-9]{8,14}(?:-[0-9]{8,14}){1,2}-[A-Za-z0-9-]{20,}",
        hits: &[
            concat!("xoxe-", "82431850-20598280-PDqakbD0GlIZtaWZrjq1"),
            concat!("export TOKEN=\"xoxe-", "81799863-81833763-BqY5zVImzd7lcjkhuINi\""),
        ],
        misses: &[
            ("cut short", concat!("xoxe-", "824318")),
            ("inside a longer word", concat!("xxoxe-", "82431850-20598280-PDqakbD0GlIZtaWZrjq1")),
            ("a filler", concat!("xoxe-", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "slack-app-token",
        why: "Slack app token",
        keywords: &["xapp-"],
        pattern: r"(?i)xapp-\d-[A-Z0-9]+-\d+-[a-z0-9]{32,}",
        hits: &[
            concat!("xapp-", "5-Z-5-j2rkb7ckz1dg9omduyhinms2yvkv37a8"),
            concat!("export TOKEN=\"xapp-", "5-J-8-72hbaajjz534hrbpz2n4qnqeawntciko\""),
        ],
        misses: &[
            ("cut short", concat!("xapp-", "5-Z-5-")),
            ("inside a longer word", concat!("xxapp-", "5-Z-5-j2rkb7ckz1dg9omduyhinms2yvkv37a8")),
            ("a filler", concat!("xapp-", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "slack-config-token",
        why: "Slack configuration token",
        weight: CERTAIN,
        keywords: &["xoxe.xox"],
        pattern: r"(?i)xoxe\.xox[bp]-\d-[A-Z0-9]{100,}",
        hits: &[
            concat!(
                "xoxe.xox",
                "p-1-1KWZ55OKORVLDYKLMR4QYBWFARLZALFXQBM7GWMLZ1CLJXMRRSCDOLRNWQCKESCKZZHU8DTBIWPH2L3LCYALNLL9DUJ7WE820XOA"
            ),
            concat!(
                "export TOKEN=\"xoxe.xox",
                "b-6-KJJSEF7XNE30WL71BESWTQ20N5AJEQ833Y3DER1VB3JYS7LL5J8QPQ0JNGO0CH240BMM90T9IHDYFBY704K0Q6IZV1M1R2HFUM8D\""
            ),
        ],
        misses: &[
            ("cut short", concat!("xoxe.xox", "p-1-1K")),
            (
                "inside a longer word",
                concat!(
                    "xxoxe.xox",
                    "p-1-1KWZ55OKORVLDYKLMR4QYBWFARLZALFXQBM7GWMLZ1CLJXMRRSCDOLRNWQCKESCKZZHU8DTBIWPH2L3LCYALNLL9DUJ7WE820XOA"
                ),
            ),
            (
                "a filler",
                concat!(
                    "xoxe.xox",
                    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                ),
            ),
        ],
        ..TOKEN
    },
    Rule {
        id: "slack-config-refresh-token",
        why: "Slack configuration refresh token",
        keywords: &["xoxe-"],
        pattern: r"(?i)xoxe-\d-[A-Z0-9]{100,}",
        hits: &[
            concat!(
                "xoxe-",
                "7-T17GLHEFBW3YTZA4OQ3W0TDAO4YRKAUGWOH375ESLHMU6TUTHK9V4EL65C6982K0409BBO38AG7IUBZNEH46ZPRJVJS7YH2NC8FC"
            ),
            concat!(
                "export TOKEN=\"xoxe-",
                "6-BXH7FZU6CRDBNJW76YLLT1ZY03RHYWTNYFMUJRS8M7DW69OHVYUM3N0T8KCIQEZX1ASJSQRRR676RTXAT51VJ7JBZZ805WM7LIFB\""
            ),
        ],
        misses: &[
            ("cut short", concat!("xoxe-", "7-T17G")),
            (
                "inside a longer word",
                concat!(
                    "xxoxe-",
                    "7-T17GLHEFBW3YTZA4OQ3W0TDAO4YRKAUGWOH375ESLHMU6TUTHK9V4EL65C6982K0409BBO38AG7IUBZNEH46ZPRJVJS7YH2NC8FC"
                ),
            ),
            (
                "a filler",
                concat!(
                    "xoxe-",
                    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                ),
            ),
        ],
        ..TOKEN
    },
    Rule {
        id: "slack-legacy-token",
        why: "Slack token of an old form",
        keywords: &["xoxo-", "xoxs-", "xoxr-", "xoxa-"],
        pattern: r"xox[osra]-(?:\d-)?[0-9A-Za-z]{8,48}(?:-[0-9A-Za-z]{6,})+",
        check: Some(checks::generated),
        hits: &[
            "xoxs-548270482332-092990272-1658852597-75d0544559",
            "xoxa-2-d7bec5570-c078c034934a-373f41f6a698b713dd45",
        ],
        misses: &[
            ("a name in an address", "https://pics.test/2018-250-xoxo-indieweb-1.jpg"),
            ("a greeting", "love, xoxo-mum"),
        ],
        ..TOKEN
    },
    Rule {
        id: "slack-webhook",
        why: "Slack webhook: writes into a channel",
        start: Start::Before(0),
        keywords: &["hooks.slack.com/"],
        pattern: r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{40,}",
        hits: &[
            concat!("hooks.slack.com/", "services/HHeJ4pAGNwmXhUHFLuEsYzGA5jrujhwFOgapFwNv"),
            concat!("export TOKEN=\"hooks.slack.com/", "triggers/zgyZRglM3rlcNWgkf826ugUs30gXVTKN6RvxI3bh\""),
        ],
        misses: &[
            ("without its secret", "post to hooks.slack.com/services/"),
            ("a filler", "hooks.slack.com/services/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
        ],
        ..TOKEN
    },
    Rule {
        id: "discord-webhook",
        why: "Discord webhook: writes into a channel",
        start: Start::Before(0),
        keywords: &["discord.com/api/webhooks", "discordapp.com/api/webhooks"],
        pattern: r"discord(?:app)?\.com/api/webhooks/\d{17,20}/[A-Za-z0-9_-]{60,}",
        hits: &[
            concat!(
                "discord.com/api/webhooks",
                "/45229399567464348/zKs5lBK7XD6zC7HKdFBmIBR6jQGQXV88t2AKWqJSlm2z5UbOiNTJZ3w5CkCK"
            ),
            concat!(
                "export TOKEN=\"discord.com/api/webhooks",
                "/90296052703445595/y6THGfqs73HMMxOFO0DhbBmK2UhEveBPY87cOdLczO3r2I1ra6sME6HwZXfC\""
            ),
        ],
        misses: &[
            ("without its secret", "discord.com/api/webhooks/123456789012345678"),
            (
                "a filler",
                "discord.com/api/webhooks/123456789012345678/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            ),
        ],
        ..TOKEN
    },
    Rule {
        id: "discord-bot-token",
        why: "Discord bot token: acts as the bot",
        start: Start::Word,
        reach: 48,
        keywords: &[".g", ".x", ".y", ".z"],
        pattern: r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}(?:[^A-Za-z0-9_-]|$)",
        hits: &[
            "MTk4NjIyNDgzNDcxOTI1MjQ4.GxQ7bk.FHOz6Ml9m98sKU5Q4FdAIkTfvq2NGNb1cblXcH",
            "token = \"NzkyNzE1NDU0MTk2MDg4ODQy.X-hvzA.OSGz9Be4jQLZo0frWVuaWvyHIDi\"",
        ],
        misses: &[
            ("a path", "Modules.GraphX.gitignore"),
            ("cut short", "MTk4NjIyNDgzNDcxOTI1MjQ4.GxQ7bk.abc"),
        ],
        ..TOKEN
    },
    Rule {
        id: "telegram-bot-token",
        why: "Telegram bot token: acts as the bot",
        start: Start::Before(10),
        reach: 40,
        keywords: &[":aa"],
        pattern: r"\d{8,10}:AA[A-Za-z0-9_-]{32,34}(?:[^A-Za-z0-9_-]|$)",
        hits: &[
            "5830412976:AAP6oOe7bLAziJONweVXlob4hB8eDmntXpG",
            "https://api.telegram.org/bot719340265:AAqRL3kwtFP69C59MWKEgUVLck6zQ9zhfIF/getMe",
        ],
        misses: &[
            ("cut short", "5830412976:AAH3vk"),
            ("a time and a name", "at 10:30:AARDVARK-somebody-who-is-very-long"),
        ],
        ..TOKEN
    },
    Rule {
        id: "teams-webhook",
        why: "Teams webhook: writes into a channel",
        start: Start::Before(40),
        keywords: &[".webhook.office.com/"],
        pattern: r"[a-z0-9-]+\.webhook\.office\.com/webhookb2/[a-z0-9-]{30,}@[a-z0-9-]{30,}/IncomingWebhook/[a-z0-9]{32}/[a-z0-9-]{30,}",
        hits: &[
            concat!(
                "6.webhook.office.com",
                "/webhookb2/p4rqnc9tyz1g0bkbzrw2oz48bz2gkk@ar0qjjmzj4u4yia1pyigytl5gwi3ch/IncomingWebhook/wo0suq9ubofdljnb756a2dcpo326kk0m/d3rg3a8kmbeu3fzpvhbq1y4qfxdndb"
            ),
            concat!(
                "export TOKEN=\"v.webhook.office.com",
                "/webhookb2/mh74ql31lti7tzg9oy6rnp59grrcg3@sfhp2wpr63kp8lhzo426llu61wazfc/IncomingWebhook/kvm6aagskepxfh4uxcl7gw5m65klufcs/n7z8uxu7f0mptm10mjjhhvkbzm4kwz\""
            ),
        ],
        misses: &[
            ("without its secret", "https://corp.webhook.office.com/webhookb2/"),
            ("another page", "https://corp.webhook.office.com/help/IncomingWebhook"),
        ],
        ..TOKEN
    },
    Rule {
        id: "mattermost-hook",
        why: "Mattermost token by its usual name",
        crosses: true,
        reach: 200,
        keywords: &["mattermost"],
        pattern: r#"(?i)mattermost[\w.-]{0,20}["\']?\s*[=:]\s*["\']?([a-z0-9]{26})\b"#,
        check: Some(checks::varied),
        hits: &["MATTERMOST_TOKEN=j8o5nwabhur9krfyus5hd943ou", "mattermost: \"salu9k16x3j1mwvign13xv537q\""],
        misses: &[
            ("another length", "mattermost: \"k3xv9\""),
            ("prose", "mattermost: the open source chat server"),
        ],
        ..TOKEN
    },
    Rule {
        id: "line-channel-token",
        why: "LINE channel token by its usual name",
        crosses: true,
        reach: 200,
        keywords: &["line_channel", "linechannel", "line-channel"],
        pattern: r#"(?i)line[_-]?channel[_-]?access[_-]?token["\']?\s*[=:]\s*["\']?([A-Za-z0-9+/=]{100,})"#,
        check: Some(checks::varied),
        hits: &[
            "LINE_CHANNEL_ACCESS_TOKEN=ANXjhb85IEVSXAh9kZgzQltX49G1g39461EQQ4vLg8e1w0UK9joCYcGgE55GsLfV75jpBSCvmbaHjMOo7twqDHM7AxDTapTPREFNVrqb8ITsyty8c56iMg6LD5p32MNHZaxssbyzsjTd",
            "line-channel-access-token: \"4qfo7n9FH4SJK3eVKMy682OhQ3UVGJI1xCTrpVds5ScA7wIoyxJIigz2TaB1MzmqXMLpDfNfwRwQNQcbXcKNZagbsZl0OnTwMgKtmPzhRBOZjydldB4YsQBs\"",
        ],
        misses: &[
            ("a reference", "LINE_CHANNEL_ACCESS_TOKEN=${TOKEN}"),
            ("the name alone", "set LINE_CHANNEL_ACCESS_TOKEN first"),
        ],
        ..TOKEN
    },
    Rule {
        id: "zapier-webhook",
        why: "Zapier webhook: starts a workflow",
        start: Start::Before(0),
        keywords: &["hooks.zapier.com/"],
        pattern: r"hooks\.zapier\.com/hooks/catch/\d+/[a-z0-9]{5,}",
        check: None,
        hits: &[
            concat!("hooks.zapier.com/", "hooks/catch/8/5ax64"),
            concat!("export TOKEN=\"hooks.zapier.com/", "hooks/catch/8/obz3q\""),
        ],
        misses: &[
            ("without its secret", "hooks.zapier.com/hooks/catch/"),
            ("another page", "hooks.zapier.com/docs/catch"),
        ],
        ..TOKEN
    },
]);
