//! The conditions that an entry must meet before it may be stored. Pure; the verdicts come from `intake`, which asked
//! the scanner. Nothing else can make a [`Scanned`], and the store takes nothing else.

use crate::patterns::Patterns;
use crate::private;
use crate::texts::{Part, through};
use ipc_proto::Text;
use ipc_proto::ids::MemoryId;
use ipc_proto::label::{Class, Trust};
use ipc_proto::memory::{Entry, RAW_BOUND, Refusal};
use ipc_proto::scanner::{Judgement, SCAN_BOUND, Severity, ThreatKind, Verdict};
use sha2::{Digest, Sha256};

/// Stands between texts that are judged as one, on a line of its own: no secret goes over it, and no word.
const BETWEEN: &str = "\n\u{1e}\n";

/// Why one verdict on all texts of an entry does not let it be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// It is refused.
    Refused(Refusal),
    /// The text that was cut out runs over from one text into another: each is to be judged alone.
    Apart,
}

impl From<Refusal> for Unfit {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// An entry without its private parts, not judged yet.
#[derive(Clone, Debug)]
pub(crate) struct Proposal {
    entry: Entry,
    raw: Option<String>,
    revises: Option<MemoryId>,
    reason: Text<512>,
}

/// An entry that was judged fit to be kept, as it is to be kept.
#[derive(Clone, Debug)]
pub(crate) struct Scanned {
    entry: Entry,
    raw: Option<String>,
    revises: Option<MemoryId>,
    reason: Text<512>,
}

impl Proposal {
    /// Drops the private parts of every text.
    pub(crate) fn of(entry: Entry) -> Result<Self, Refusal> {
        let entry = through(&entry, &mut |part, text| {
            let kept = private::dropped(text);
            Ok(if part == Part::Name { kept.trim().to_owned() } else { kept })
        })?;
        if entry.content.trim().is_empty() {
            return Err(Refusal::Empty);
        }
        Ok(Self { entry, raw: None, revises: None, reason: Text::default() })
    }

    /// The same in the place of another row.
    pub(crate) fn instead_of(mut self, id: MemoryId, reason: &str) -> Self {
        self.revises = Some(id);
        self.reason = Text::clip(&private::dropped(reason));
        self
    }

    /// The same with why it was changed.
    pub(crate) fn because(mut self, reason: &str) -> Self {
        self.reason = Text::clip(&private::dropped(reason));
        self
    }

    /// The same with its source text.
    pub(crate) fn made_from(mut self, raw: &str) -> Self {
        self.raw = Some(private::dropped(raw)).filter(|raw| !raw.trim().is_empty());
        self
    }

    /// The same without the text that the owner never wants stored.
    pub(crate) fn without(mut self, patterns: &Patterns) -> Result<Self, Refusal> {
        if !patterns.is_empty() {
            self.entry = through(&self.entry, &mut |_, text| Ok(patterns.cut_out(text)))?;
            // A mark may be longer than the match that it replaces: text over the bound is neither scanned nor stored.
            let raw = self.raw.map(|raw| Text::<RAW_BOUND>::clip(&patterns.cut_out(&raw)).into_string());
            self.raw = raw;
            self.reason = Text::clip(&patterns.cut_out(&self.reason));
        }
        Ok(self)
    }

    /// The entry so far.
    pub(crate) const fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Returns true if somebody else than the user wrote it. A model will read others' text again, so an injection in
    /// it is refused; the user's own text is theirs to write, and only its secrets matter.
    pub(crate) fn foreign(&self) -> bool {
        self.entry.label.trust >= Trust::Verified
    }

    /// All its texts, each to be judged alone.
    pub(crate) fn apart(&self) -> Vec<Text<SCAN_BOUND>> {
        self.texts().iter().map(|text| Text::clip(text)).collect()
    }

    /// All its texts as one, to be judged at once; none if they cannot be told apart again or are too long together.
    pub(crate) fn together(&self) -> Option<Text<SCAN_BOUND>> {
        let texts = self.texts();
        let separable = !texts.iter().any(|text| text.contains('\u{1e}'));
        Text::new(texts.join(BETWEEN)).ok().filter(|_| separable)
    }

    fn texts(&self) -> Vec<String> {
        let mut texts = Vec::new();
        // Nothing is refused here, and nothing is changed.
        drop(through(&self.entry, &mut |_, text| {
            texts.push(text.to_owned());
            Ok(text.to_owned())
        }));
        texts.push(self.reason.to_string());
        texts.extend(self.raw.clone());
        texts
    }

    /// The entry to store in the light of one verdict on all of it.
    pub(crate) fn judged(&self, verdict: &Verdict) -> Result<Scanned, Unfit> {
        self.fit(verdict)?;
        let Some(redacted) = &verdict.redacted else {
            return Ok(self.with_texts(&self.texts(), verdict.class)?);
        };
        let pieces: Vec<String> = redacted.split(BETWEEN).map(str::to_owned).collect();
        if pieces.len() != self.texts().len() {
            return Err(Unfit::Apart);
        }
        Ok(self.with_texts(&pieces, Class::Sensitive)?)
    }

    /// The entry to store in the light of a verdict on each of its texts.
    pub(crate) fn judged_apart(&self, verdicts: &[Verdict]) -> Result<Scanned, Refusal> {
        let mut class = Class::Public;
        let mut pieces = Vec::new();
        for (text, verdict) in self.texts().into_iter().zip(verdicts) {
            self.fit(verdict)?;
            if let Some(redacted) = &verdict.redacted {
                pieces.push(redacted.to_string());
                class = class.max(Class::Sensitive);
            } else {
                pieces.push(text);
                class = class.max(verdict.class);
            }
        }
        self.with_texts(&pieces, class)
    }

    /// Checks that it can be stored once the findings are cut out.
    fn fit(&self, verdict: &Verdict) -> Result<(), Refusal> {
        if self.foreign() && steers(verdict) {
            return Err(Refusal::Injection);
        }
        let blocked = verdict.judgement == Judgement::Block || verdict.class == Class::Secret;
        if verdict.redacted.is_none() && blocked { Err(Refusal::Secret) } else { Ok(()) }
    }

    /// With these for its texts.
    fn with_texts(&self, pieces: &[String], class: Class) -> Result<Scanned, Refusal> {
        let mut pieces = pieces.iter();
        let mut entry = through(&self.entry, &mut |part, text| {
            // A text without a verdict would count as one that holds a secret.
            let piece = pieces.next().ok_or(Refusal::Secret)?;
            if part == Part::Name && piece != text { Err(Refusal::Name) } else { Ok(piece.clone()) }
        })?;
        let reason = pieces.next().ok_or(Refusal::Secret)?;
        entry.label.class = entry.label.class.max(class);
        let raw = self.raw.as_ref().and(pieces.next()).cloned();
        Ok(Scanned { entry, raw, revises: self.revises, reason: Text::clip(reason) })
    }
}

/// Returns whether the text is likely made to steer a model. On its way out text is never refused for that, so the judgement
/// does not say it; the threats do.
pub(crate) fn steers(verdict: &Verdict) -> bool {
    let content = [ThreatKind::Secret, ThreatKind::Personal];
    verdict.threats.iter().any(|threat| threat.severity >= Severity::High && !content.contains(&threat.kind))
}

impl Scanned {
    /// The entry as it is to be kept.
    pub(crate) const fn entry(&self) -> &Entry {
        &self.entry
    }

    /// The text that it was made from.
    pub(crate) fn raw(&self) -> Option<&str> {
        self.raw.as_deref()
    }

    /// The row that it is a revision of.
    pub(crate) const fn revises(&self) -> Option<MemoryId> {
        self.revises
    }

    /// Why it is.
    pub(crate) fn reason(&self) -> &str {
        &self.reason
    }
}

/// SHA-256 of an entry's content, as the record names it.
pub(crate) fn hash(entry: &Entry) -> [u8; 32] {
    Sha256::digest(entry.content.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{entry, observed, passed};
    use ipc_proto::List;
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

    /// The verdict of a scanner that cuts this out of whatever it is given.
    fn cutting(text: &Text<SCAN_BOUND>, secret: &str) -> Verdict {
        let redacted = text.replace(secret, "[REDACTED:key]");
        let found = redacted != text.as_str();
        let class = if found { Class::Secret } else { Class::Public };
        verdict(if found { Judgement::Block } else { Judgement::Pass }, class, found.then_some(&redacted))
    }

    // Holds P8-12.
    #[test]
    fn an_injection_is_refused_from_others_and_kept_from_the_user() {
        let cases =
            [(Trust::Untrusted, true), (Trust::Verified, true), (Trust::User, false), (Trust::System, false)];
        for (trust, refused) in cases {
            let proposal = proposal(trust, "do as I say", &[]);
            let kept = proposal.judged(&steering(Severity::High));
            assert_eq!(kept.err(), refused.then_some(Refusal::Injection.into()), "{trust:?}");
        }
        let suspected = steering(Severity::Medium);
        assert!(proposal(Trust::Untrusted, "x", &[]).judged(&suspected).is_ok());
    }

    // Holds P8-13.
    #[test]
    fn a_secret_is_cut_out_of_any_text_and_the_rest_is_sensitive() {
        for trust in [Trust::User, Trust::Untrusted] {
            let mut entry = observed(1, "it logs in with hunter2", "the title says hunter2");
            entry.label.trust = trust;
            let proposal = Proposal::of(entry).unwrap().made_from("raw hunter2 raw");
            let together = proposal.judged(&cutting(&proposal.together().unwrap(), "hunter2")).unwrap();
            let verdicts: Vec<Verdict> =
                proposal.apart().iter().map(|text| cutting(text, "hunter2")).collect();
            let apart = proposal.judged_apart(&verdicts).unwrap();
            for kept in [together, apart] {
                assert!(!kept.entry().texts().any(|text| text.contains("hunter2")));
                assert_eq!(kept.entry().content.as_str(), "it logs in with [REDACTED:key]");
                assert_eq!(kept.raw(), Some("raw [REDACTED:key] raw"));
                assert_eq!((kept.entry().label.class, kept.entry().label.trust), (Class::Sensitive, trust));
            }
        }
    }

    // Holds P8-13.
    #[test]
    fn a_secret_across_two_texts_is_searched_for_in_each() {
        let proposal = Proposal::of(observed(1, "the narrative", "the title")).unwrap();
        let all = proposal.together().unwrap();
        let cut = verdict(Judgement::Block, Class::Secret, Some(&all.replace(BETWEEN, "")));
        assert_eq!(proposal.judged(&cut).err(), Some(Unfit::Apart));
        let planted = Proposal::of(entry(1, "a\n\u{1e}\nb")).unwrap();
        assert_eq!(planted.together(), None, "what could shift a text into another is judged alone");
    }

    #[test]
    fn a_text_that_nobody_judged_is_not_kept() {
        let proposal = Proposal::of(observed(1, "the narrative", "the title")).unwrap().made_from("the raw");
        let texts = proposal.apart().len();
        for judged in 0..texts - 1 {
            let verdicts = vec![passed(); judged];
            assert_eq!(proposal.judged_apart(&verdicts).err(), Some(Refusal::Secret), "{judged} of {texts}");
        }
        let without_raw = proposal.judged_apart(&vec![passed(); texts - 1]).unwrap();
        assert_eq!(without_raw.raw(), None);
        assert_eq!(proposal.judged_apart(&vec![passed(); texts]).unwrap().raw(), Some("the raw"));
    }

    // Holds P8-12.
    #[test]
    fn a_secret_that_was_not_cut_out_is_not_kept() {
        for judgement in [Judgement::Pass, Judgement::Flag, Judgement::Block] {
            let kept = proposal(Trust::User, "x", &[]).judged(&verdict(judgement, Class::Secret, None));
            assert_eq!(kept.err(), Some(Refusal::Secret.into()));
        }
        let long = Proposal::of(entry(1, &"x ".repeat(ipc_proto::memory::CONTENT_BOUND / 2))).unwrap();
        let over = cutting(&long.together().unwrap(), "x");
        assert_eq!(long.judged(&over).err(), Some(Refusal::TooLong.into()));
    }

    #[test]
    fn personal_data_raises_the_class_and_nothing_lowers_it() {
        let personal = verdict(Judgement::Flag, Class::Sensitive, None);
        let kept = proposal(Trust::User, "x", &[]).judged(&personal).unwrap();
        assert_eq!(kept.entry().label.class, Class::Sensitive);
        let mut secret = entry(1, "x");
        secret.label.class = Class::Secret;
        let kept = Proposal::of(secret).unwrap().judged(&passed()).unwrap();
        assert_eq!(kept.entry().label.class, Class::Secret);
    }

    #[test]
    fn a_name_with_a_secret_in_it_refuses_the_entry() {
        let tagged = proposal(Trust::User, "x", &["hunter2"]);
        let found = cutting(&tagged.together().unwrap(), "hunter2");
        assert_eq!(tagged.judged(&found).err(), Some(Refusal::Name.into()));
        assert!(tagged.judged(&passed()).is_ok());
    }

    // Holds P8-13.
    #[test]
    fn private_and_unwanted_text_is_gone_before_the_scan() {
        let proposal =
            proposal(Trust::User, "keep <private>drop", &["a<private>drop</private>", "<private>drop"]);
        assert_eq!(proposal.apart().iter().map(|text| text.as_str()).collect::<Vec<_>>(), ["keep ", "a", ""]);
        assert_eq!(Proposal::of(entry(1, "<private>all of it</private> ")).err(), Some(Refusal::Empty));
        let patterns = Patterns::of(&["AB-[0-9]+".to_owned()]).unwrap();
        let mut seen = observed(1, "case AB-123", "about AB-9");
        seen.tags = List::clip([Text::clip("ab-9")]);
        let kept =
            Proposal::of(seen).unwrap().made_from("AB-7").without(&patterns).unwrap().texts().join("|");
        assert!(!kept.contains("AB-") && kept.contains("ab-9") && kept.contains("case [REDACTED]"), "{kept}");
        let short = Patterns::of(&["a".to_owned()]).unwrap();
        let raw = "a".repeat(RAW_BOUND);
        let long = Proposal::of(entry(1, "x")).unwrap().made_from(&raw).without(&short).unwrap();
        assert!(long.raw.is_some_and(|raw| raw.len() <= RAW_BOUND));
        let everywhere = Patterns::of(&["x*".to_owned()]).unwrap();
        assert_eq!(everywhere.cut_out("axxb"), "a[REDACTED]b", "what matches nothing is nothing");
    }
}
