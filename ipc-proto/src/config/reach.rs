//! The reach of the channels' accounts: the hosts of the platform itself and the account's own, the secrets that may go there, and the
//! requests that only wait for news.

use crate::credproxy::PLACEHOLDER;
use serde::{Deserialize, Serialize};

/// The reach of one `[channel.NAME]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelReach {
    /// The name of the process that serves it.
    pub process: String,
    /// Its name.
    pub account: String,
    /// Its secrets.
    pub secrets: Vec<String>,
    /// Hosts that its requests may go to, as `HostPattern` reads them.
    pub hosts: Vec<String>,
    /// Whole paths, without a query, of requests that wait for news: their use of a secret is recorded once a minute.
    pub polls: Vec<String>,
}

/// The hosts and the polls of a platform that is one service. A platform that anybody may serve has no host of its own.
struct Facts {
    hosts: &'static [&'static str],
    polls: &'static [&'static str],
}

impl ChannelReach {
    /// The reach of an account of `platform`, which the process of this name serves. `servers` are the account's own, each as
    /// `host:port` and the path of its base URL; they stand in the place of the platform's hosts.
    #[must_use]
    pub fn of(
        platform: &str,
        process: &str,
        account: &str,
        secrets: Vec<String>,
        servers: &[(String, &str)],
    ) -> Self {
        let Facts { hosts, polls } = facts(platform);
        let own = |text: &&str| (*text).to_owned();
        let base = servers.first().map_or("", |(_, base)| base.trim_end_matches('/'));
        let hosts = match servers {
            [] => hosts.iter().map(own).collect(),
            servers => servers.iter().map(|(host, _)| host.clone()).collect(),
        };
        let polls = polls.iter().map(|path| format!("{base}{}", path.replace("{secret}", PLACEHOLDER)));
        Self {
            process: process.to_owned(),
            account: account.to_owned(),
            secrets,
            hosts,
            polls: polls.collect(),
        }
    }
}

fn facts(platform: &str) -> Facts {
    match platform {
        "telegram" => Facts { hosts: &["api.telegram.org:443"], polls: &["/bot{secret}/getUpdates"] },
        "discord" => {
            // A session is resumed at the host that it was given, which stands for the gateway.
            Facts {
                hosts: &[
                    "discord.com:443",
                    "cdn.discordapp.com:443",
                    "gateway.discord.gg:443",
                    "*.discord.gg:443",
                ],
                polls: &[],
            }
        }
        "slack" => Facts { hosts: &["slack.com:443", "*.slack.com:443"], polls: &[] },
        "matrix" => Facts { hosts: &[], polls: &["/_matrix/client/v3/sync"] },
        "whatsapp" => Facts { hosts: &["graph.facebook.com:443", "lookaside.fbsbx.com:443"], polls: &[] },
        _ => Facts { hosts: &[], polls: &[] },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialer::HostPattern;

    fn reach(platform: &str, servers: &[(String, &str)]) -> ChannelReach {
        ChannelReach::of(platform, "telegram", "main", vec!["token".to_owned()], servers)
    }

    #[test]
    fn every_host_of_a_platform_is_a_pattern() {
        for platform in ["telegram", "discord", "slack", "whatsapp"] {
            let reach = reach(platform, &[]);
            assert!(!reach.hosts.is_empty(), "{platform}");
            assert!(reach.hosts.iter().all(|text| text.parse::<HostPattern>().is_ok()), "{platform}");
        }
        assert!(reach("matrix", &[]).hosts.is_empty());
    }

    #[test]
    fn an_accounts_own_server_stands_in_the_place_of_the_platforms() {
        let own = reach("telegram", &[("bots.lan:8443".to_owned(), "/api/")]);
        assert_eq!(own.hosts, ["bots.lan:8443"]);
        assert_eq!(own.polls, ["/api/bot__cordon_secret__/getUpdates"]);
        assert_eq!(reach("telegram", &[]).polls, ["/bot__cordon_secret__/getUpdates"]);
    }
}
