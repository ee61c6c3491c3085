//! Patterns of hosts: `host:port`, or `*.suffix:port` for every name below the suffix. A `*` stands in the facts of platforms
//! alone; the configuration names each host.

use super::{Host, HostPort, NoHost};
use std::fmt;
use std::str::FromStr;

/// A host and port, or all names below one at this port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPattern {
    below: bool,
    at: HostPort,
}

impl HostPattern {
    /// The host and port, if the pattern is no more than that.
    #[must_use]
    pub const fn exact(&self) -> Option<&HostPort> {
        if self.below { None } else { Some(&self.at) }
    }

    /// Returns true if this host and port are of the pattern. An address is of no `*.suffix`, nor is the suffix itself.
    #[must_use]
    pub fn covers(&self, target: &HostPort) -> bool {
        if !self.below {
            return self.at == *target;
        }
        let (Host::Name(suffix), Host::Name(name)) = (&self.at.host, &target.host) else { return false };
        let label = name.strip_suffix(suffix.as_str()).and_then(|front| front.strip_suffix('.'));
        self.at.port == target.port && label.is_some_and(|label| !label.is_empty())
    }
}

impl FromStr for HostPattern {
    type Err = NoHost;

    /// `host:port` or `*.suffix:port`; the suffix has two labels at least.
    fn from_str(text: &str) -> Result<Self, NoHost> {
        let Some(suffix) = text.strip_prefix("*.") else {
            return Ok(Self { below: false, at: text.parse()? });
        };
        let at: HostPort = suffix.parse()?;
        match &at.host {
            Host::Name(name) if name.contains('.') => Ok(Self { below: true, at }),
            _ => Err(NoHost),
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.below { write!(f, "*.{}", self.at) } else { self.at.fmt(f) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn covers(pattern: &str, target: &str) -> bool {
        pattern.parse::<HostPattern>().unwrap().covers(&target.parse().unwrap())
    }

    #[test]
    fn a_suffix_covers_names_below_it_at_its_port_and_nothing_else() {
        assert!(covers("*.discord.gg:443", "gateway.discord.gg:443"));
        assert!(covers("*.discord.gg:443", "a.b.DISCORD.gg.:443"));
        assert!(covers("a.test:443", "A.test:443"));
        for target in ["discord.gg:443", "evildiscord.gg:443", "discord.gg.evil.test:443", "a.discord.gg:80"]
        {
            assert!(!covers("*.discord.gg:443", target), "{target}");
        }
        assert!(!covers("a.test:443", "b.a.test:443") && !covers("a.test:443", "a.test:444"));
    }

    #[test]
    fn a_star_stands_alone_before_a_name_of_two_labels() {
        for bad in [
            "*:443", "*.gg:443", "*.1.2.3.4:443", "*.[::1]:443", "a*.test.org:443", "*.*.test.org:443",
            "*.a.b",
        ] {
            assert!(bad.parse::<HostPattern>().is_err(), "{bad}");
        }
        for same in ["*.a.test:443", "a.test:1"] {
            assert_eq!(same.parse::<HostPattern>().unwrap().to_string(), same);
        }
    }

    proptest! {
        #[test]
        fn what_a_suffix_covers_ends_in_it_and_is_longer(front in "[a-z.-]{0,12}", suffix in "[a-z]{1,4}\\.[a-z]{2,4}") {
            let pattern: HostPattern = format!("*.{suffix}:443").parse().unwrap();
            if let Ok(target) = format!("{front}{suffix}:443").parse::<HostPort>() {
                let below = front.len() > 1 && front.ends_with('.');
                prop_assert_eq!(pattern.covers(&target), below);
            }
        }
    }
}
