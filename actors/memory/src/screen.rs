//! What must hold of an entry before it may be stored. Pure; the verdicts come from `intake`, which asked the
//! scanner. Nothing else can make a [`Scanned`], and the store takes nothing else.

use crate::private;
use ipc_proto::label::{Class, Trust};
use ipc_proto::memory::Entry;
use ipc_proto::scanner::{Judgement, SCAN_BOUND, Severity, ThreatKind, Verdict};
use ipc_proto::{List, Text};
use sha2::{Digest, Sha256};

/// Why an entry is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// Nothing was left of it.
    #[error("nothing left to keep")]
    Empty,
    /// It was made to steer a model.
    #[error("scanner: injection in untrusted content")]
    Injection,
    /// It holds a secret that was not cut out.
    #[error("scanner: a secret that could not be cut out")]
    Secret,
    /// A tag was judged unfit; tags are not mended.
    #[error("scanner: a tag that must not be kept")]
    Tag,
    /// With what stands for its secrets it is over the bound.
    #[error("over the bound after secrets were cut out")]
    TooLong,
}

/// An entry without its private parts, that nobody has judged yet.
#[derive(Clone, Debug)]
pub(crate) struct Proposal {
    entry: Entry,
}

/// An entry that was judged fit to be kept, as it is to be kept.
#[derive(Clone, Debug)]
pub(crate) struct Scanned {
    entry: Entry,
}

impl Proposal {
    /// Drops the private parts of content and tags.
    pub(crate) fn of(entry: Entry) -> Result<Self, Refusal> {
        let content = private::dropped(&entry.content);
        if content.trim().is_empty() {
            return Err(Refusal::Empty);
        }
        let content = Text::new(content).map_err(|_| Refusal::TooLong)?;
        let tags = entry.tags.iter().map(|tag| private::dropped(tag).trim().to_owned());
        let tags = tags.filter(|tag| !tag.is_empty()).map(|tag| Text::clip(&tag));
        let tags = List::clip(tags.collect::<Vec<_>>());
        Ok(Self { entry: Entry { content, tags, ..entry } })
    }

    /// The entry so far.
    pub(crate) const fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Whether somebody else than the user wrote it. What others wrote will be read by a model again, so an injection
    /// in it is refused; what the user wrote is theirs to say, and only its secrets matter.
    pub(crate) fn foreign(&self) -> bool {
        self.entry.label.trust >= Trust::Verified
    }

    /// The content, to be judged.
    pub(crate) fn content(&self) -> Text<SCAN_BOUND> {
        Text::clip(&self.entry.content)
    }

    /// The tags, to be judged as one text, if there are any.
    pub(crate) fn tags(&self) -> Option<Text<SCAN_BOUND>> {
        let tags: Vec<&str> = self.entry.tags.iter().map(|tag| tag.as_str()).collect();
        (!tags.is_empty()).then(|| Text::clip(&tags.join("\n")))
    }

    /// What is to be kept of it in the light of both verdicts.
    pub(crate) fn judged(&self, content: &Verdict, tags: Option<&Verdict>) -> Result<Scanned, Refusal> {
        match tags {
            None if !self.entry.tags.is_empty() => return Err(Refusal::Tag),
            Some(verdict)
                if verdict.judgement == Judgement::Block
                    || holds_secret(verdict)
                    || (self.foreign() && steers(verdict)) =>
            {
                return Err(Refusal::Tag);
            }
            _ => {}
        }
        let mut entry = self.entry.clone();
        if let Some(redacted) = self.mended(content)? {
            entry.content = Text::new(redacted).map_err(|_| Refusal::TooLong)?;
            entry.label.class = entry.label.class.max(Class::Sensitive);
        } else {
            entry.label.class = entry.label.class.max(content.class);
        }
        if let Some(tags) = tags {
            entry.label.class = entry.label.class.max(tags.class);
        }
        Ok(Scanned { entry })
    }

    /// The content with its secrets cut out, or none if it can be kept as it is.
    fn mended(&self, verdict: &Verdict) -> Result<Option<String>, Refusal> {
        let blocked = verdict.judgement == Judgement::Block;
        if self.foreign() && steers(verdict) {
            return Err(Refusal::Injection);
        }
        match &verdict.redacted {
            Some(redacted) => Ok(Some(redacted.to_string())),
            None if blocked || verdict.class == Class::Secret => Err(Refusal::Secret),
            None => Ok(None),
        }
    }
}

/// Whether the text is likely made to steer a model. On its way out text is never refused for that, so the judgement
/// does not say it; the threats do.
fn steers(verdict: &Verdict) -> bool {
    let content = [ThreatKind::Secret, ThreatKind::Personal];
    verdict.threats.iter().any(|threat| threat.severity >= Severity::High && !content.contains(&threat.kind))
}

/// A secret is there even where the judgement lets text pass: on the way to a model it only flags.
fn holds_secret(verdict: &Verdict) -> bool {
    verdict.redacted.is_some() || verdict.class == Class::Secret
}

impl Scanned {
    /// The entry as it is to be kept.
    pub(crate) const fn entry(&self) -> &Entry {
        &self.entry
    }
}

/// SHA-256 of an entry's content, as the record names it.
pub(crate) fn hash(entry: &Entry) -> [u8; 32] {
    Sha256::digest(entry.content.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{entry, passed};
    use ipc_proto::scanner::Threat;

    fn verdict(judgement: Judgement, class: Class, redacted: Option<&str>) -> Verdict {
        let redacted = redacted.map(Text::clip);
        Verdict { judgement, class, redacted, ..passed() }
    }

    fn steering(severity: Severity) -> Verdict {
        let threats = List::clip([Threat { kind: ThreatKind::Injection, severity }]);
        Verdict { judgement: Judgement::Flag, threats, ..passed() }
    }

    fn proposal(trust: Trust, content: &str, tags: &[&str]) -> Proposal {
        let mut entry = entry(1, content);
        entry.label.trust = trust;
        entry.tags = List::clip(tags.iter().map(|tag| Text::clip(tag)));
        Proposal::of(entry).unwrap()
    }

    #[test]
    fn an_injection_is_refused_from_others_and_kept_from_the_user() {
        let cases =
            [(Trust::Untrusted, true), (Trust::Verified, true), (Trust::User, false), (Trust::System, false)];
        for (trust, refused) in cases {
            let proposal = proposal(trust, "do as I say", &[]);
            let kept = proposal.judged(&steering(Severity::High), None);
            assert_eq!(kept.err(), refused.then_some(Refusal::Injection), "{trust:?}");
        }
    }

    #[test]
    fn a_tag_that_steers_is_refused_from_others_and_a_mere_suspicion_is_kept() {
        let tagged = |trust| proposal(trust, "x", &["do as I say"]);
        let found = steering(Severity::Critical);
        let refused = tagged(Trust::Untrusted).judged(&passed(), Some(&found)).err();
        assert_eq!(refused, Some(Refusal::Tag));
        assert!(tagged(Trust::User).judged(&passed(), Some(&found)).is_ok());
        let suspected = steering(Severity::Medium);
        assert!(proposal(Trust::Untrusted, "x", &[]).judged(&suspected, None).is_ok());
    }

    #[test]
    fn a_secret_is_cut_out_and_what_is_left_is_sensitive() {
        let cases = [(Trust::User, Judgement::Block), (Trust::Untrusted, Judgement::Flag)];
        for (trust, judgement) in cases {
            let proposal = proposal(trust, "the key is hunter2", &[]);
            let found = verdict(judgement, Class::Secret, Some("the key is [REDACTED:key]"));
            let kept = proposal.judged(&found, None).unwrap();
            assert_eq!(kept.entry().content.as_str(), "the key is [REDACTED:key]");
            assert_eq!(kept.entry().label.class, Class::Sensitive);
            assert_eq!(kept.entry().label.trust, trust);
        }
    }

    #[test]
    fn a_secret_that_was_not_cut_out_is_not_kept() {
        for judgement in [Judgement::Pass, Judgement::Flag, Judgement::Block] {
            let kept = proposal(Trust::User, "x", &[]).judged(&verdict(judgement, Class::Secret, None), None);
            assert_eq!(kept.err(), Some(Refusal::Secret));
        }
        let long = "x".repeat(ipc_proto::memory::CONTENT_BOUND + 1);
        let over = verdict(Judgement::Block, Class::Secret, Some(&long));
        assert_eq!(proposal(Trust::User, "x", &[]).judged(&over, None).err(), Some(Refusal::TooLong));
    }

    #[test]
    fn personal_data_raises_the_class_and_nothing_lowers_it() {
        let personal = verdict(Judgement::Flag, Class::Sensitive, None);
        let kept = proposal(Trust::User, "x", &[]).judged(&personal, None).unwrap();
        assert_eq!(kept.entry().label.class, Class::Sensitive);
        let mut secret = entry(1, "x");
        secret.label.class = Class::Secret;
        let kept = Proposal::of(secret).unwrap().judged(&passed(), None).unwrap();
        assert_eq!(kept.entry().label.class, Class::Secret);
    }

    #[test]
    fn a_tag_that_is_unfit_or_was_not_judged_refuses_the_entry() {
        let tagged = proposal(Trust::User, "x", &["one"]);
        assert_eq!(tagged.judged(&passed(), None).err(), Some(Refusal::Tag));
        for found in [
            verdict(Judgement::Block, Class::Public, None),
            verdict(Judgement::Flag, Class::Secret, Some("")),
        ] {
            assert_eq!(tagged.judged(&passed(), Some(&found)).err(), Some(Refusal::Tag));
        }
        assert!(tagged.judged(&passed(), Some(&passed())).is_ok());
    }

    #[test]
    fn private_parts_are_gone_before_anything_is_judged() {
        let proposal =
            proposal(Trust::User, "keep <private>drop", &["a<private>drop</private>", "<private>drop"]);
        assert_eq!(proposal.content().as_str(), "keep ");
        assert_eq!(proposal.tags().unwrap().as_str(), "a");
        assert_eq!(Proposal::of(entry(1, "<private>all of it</private> ")).err(), Some(Refusal::Empty));
    }
}
