//! The vocabulary of rules and the list of their families, one file each under `rules/`.
//! Rules are constant data: they touch nothing. A rule with fewer than two samples of what it must find and two of
//! what it must not find does not compile, and no rule may be written against one line of a corpus: it states a class.

mod ai;
mod apps;
mod assigned;
mod chat;
mod cloud;
mod commerce;
mod data;
mod delivery;
mod disguise;
mod exfiltration;
mod extraction;
mod forges;
mod headers;
mod hosting;
mod identity;
mod indirect;
mod keys;
mod languages;
mod locators;
mod mail;
mod monitoring;
mod overriding;
mod packages;
mod persona;
mod personal;
mod pipelines;
mod roles;
mod tools;
mod work;

macro_rules! families {
    ($($file:ident),+ $(,)?) => {
        /// Every family, one per file. A test compares it with the folder.
        pub static FAMILIES: &[&Rules] = &[$(&$file::RULES),+];
        #[cfg(test)]
        const FILES: &[&str] = &[$(concat!(stringify!($file), ".rs")),+];
    };
}

families![
    // Secrets and personal data.
    ai, apps, assigned, chat, cloud, commerce, data, delivery, forges, headers, hosting, identity, keys,
    locators, mail, monitoring, packages, work, personal, pipelines, // Injection.
    disguise, exfiltration, extraction, indirect, languages, overriding, persona, roles, tools,
];

/// The meaning of a rule's finding, and the name that it is reported under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// A credential.
    Secret,
    /// Data about a person.
    Personal,
    /// Asks to set earlier instructions aside.
    Override,
    /// Forges a role, a turn or a system message.
    Roles,
    /// Asks for the prompt or the hidden instructions.
    Extraction,
    /// Asks to send data somewhere.
    Exfiltration,
    /// Asks for a dangerous or unasked tool call.
    Tools,
    /// Speaks to whatever assistant reads the document.
    Indirect,
    /// Puts the model into a part without its rules.
    Persona,
    /// Hides text from the person who looks at it.
    Disguise,
}

/// The three kinds of evidence, weighed apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Instructions that should not be there.
    Injection,
    /// Credentials.
    Secret,
    /// Personal data.
    Personal,
}

impl Family {
    /// The family's name in reports and on the record.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Secret => "secret",
            Self::Personal => "personal",
            Self::Override => "override",
            Self::Roles => "roles",
            Self::Extraction => "extraction",
            Self::Exfiltration => "exfiltration",
            Self::Tools => "tools",
            Self::Indirect => "indirect",
            Self::Persona => "persona",
            Self::Disguise => "disguise",
        }
    }

    /// The kind of evidence the family counts as.
    #[must_use]
    pub const fn class(self) -> Class {
        match self {
            Self::Secret => Class::Secret,
            Self::Personal => Class::Personal,
            _ => Class::Injection,
        }
    }
}

/// The text that a rule reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// The text as it is, and once more cleaned if cleaning changed it. Patterns see bytes, case counts.
    Raw,
    /// The text cleaned and in lower case, and what was found hidden in it. Patterns see bytes here as well:
    /// letters outside ASCII are literals, never in a class, and a gap counts bytes.
    Folded,
}

/// Where a rule's pattern is tried. Never on the whole text: that is what keeps many rules fast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// Anchored at the keyword, which must not continue a word to its left.
    Keyword,
    /// Anchored at the start of the name that the keyword is part of.
    Word,
    /// Anywhere from this many bytes before the keyword on.
    Before(usize),
    /// Anchored where a run of digits begins that holds enough of them; needs no keyword.
    Digits,
    /// The same, two capital letters earlier.
    Country,
}

/// One thing to look for.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Unique name, shown in reports and in redacted text.
    pub id: &'static str,
    /// The meaning of a finding.
    pub family: Family,
    /// Why it matters, for whoever reads a report.
    pub why: &'static str,
    /// How much one finding alone says, 0 (worth knowing) to 100 (certain).
    pub weight: u8,
    /// The text that it reads.
    pub view: View,
    /// Where the pattern is tried.
    pub start: Start,
    /// How many bytes behind the keyword a match may end; see [`Rule::furthest`].
    pub reach: usize,
    /// True if a match may hold white space. Streaming then holds text back that far behind a keyword.
    pub crosses: bool,
    /// Lower-case words one of which every match holds.
    pub keywords: &'static [&'static str],
    /// Linear-time regular expression. If it has a group, the first group that took part is the finding.
    pub pattern: &'static str,
    /// A further condition on the finding that the pattern cannot express.
    pub check: Option<fn(&str) -> bool>,
    /// A further condition on the whole match, the name before the finding included, that the pattern cannot express.
    pub named: Option<fn(&str) -> bool>,
    /// Texts in which the rule must match.
    pub hits: &'static [&'static str],
    /// Texts in which it must not, each with what kind of near miss it is.
    pub misses: &'static [(&'static str, &'static str)],
}

impl Rule {
    /// How many bytes behind its keyword a match can end.
    #[must_use]
    pub const fn furthest(&self) -> usize {
        match self.start {
            Start::Before(_) => 2 * self.reach,
            _ => self.reach,
        }
    }
}

/// A family's rules, which only [`Rules::new`] can make.
#[derive(Debug)]
pub struct Rules(&'static [Rule]);

impl Rules {
    /// Takes a family's rules; a rule without its samples, its reason or its keywords does not compile.
    #[must_use]
    #[expect(clippy::indexing_slicing, reason = "runs at compile time only, and a const fn has no iterators")]
    pub const fn new(rules: &'static [Rule]) -> Self {
        let mut at = 0;
        while at < rules.len() {
            let rule = &rules[at];
            assert!(rule.hits.len() >= 2, "a rule needs two samples that it must find");
            assert!(rule.misses.len() >= 2, "a rule needs two near misses");
            assert!(!rule.why.is_empty() && !rule.pattern.is_empty(), "a rule needs a reason and a pattern");
            let digits = matches!(rule.start, Start::Digits | Start::Country);
            assert!(digits == rule.keywords.is_empty(), "a rule needs keywords, or starts at digits");
            assert!(rule.weight <= 100, "weights are in percent");
            at += 1;
        }
        Self(rules)
    }

    /// The rules, in file order.
    #[must_use]
    pub const fn list(&self) -> &'static [Rule] {
        self.0
    }
}

/// Beyond doubt: a format nobody else uses, a phrase nobody writes in earnest.
pub(crate) const CERTAIN: u8 = 95;
/// Enough to refuse untrusted input.
pub(crate) const STRONG: u8 = 85;
/// Enough to flag.
pub(crate) const LIKELY: u8 = 60;
/// Flags only together with another sign.
pub(crate) const HINT: u8 = 35;
/// Worth knowing, no more.
pub(crate) const NOTE: u8 = 0;

/// A token with a prefix of its own: what most secret rules are.
pub(crate) const TOKEN: Rule = Rule {
    id: "",
    family: Family::Secret,
    why: "",
    weight: CERTAIN,
    view: View::Raw,
    start: Start::Keyword,
    reach: 640,
    crosses: false,
    keywords: &[],
    pattern: "",
    check: Some(crate::checks::varied),
    named: None,
    hits: &[],
    misses: &[],
};

/// A phrase in prose: what most injection rules are.
pub(crate) const PHRASE: Rule = Rule {
    family: Family::Override,
    weight: STRONG,
    view: View::Folded,
    start: Start::Before(80),
    reach: 240,
    crosses: true,
    check: None,
    ..TOKEN
};

/// Every rule of every family.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    FAMILIES.iter().flat_map(|family| family.list())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Engine;
    use ipc_proto::scanner::{Direction, Profile};
    use std::collections::BTreeSet;

    fn found(engine: &Engine, text: &str, rule: &Rule) -> bool {
        engine
            .scan(Direction::Output, Profile::Standard, text, None)
            .findings
            .iter()
            .any(|finding| finding.rule == rule.id)
    }

    // Holds P8-14.
    #[test]
    fn every_rule_finds_its_hits_and_passes_its_near_misses() {
        let engine = Engine::new();
        let mut wrong = Vec::new();
        for rule in all() {
            wrong.extend(
                rule.hits
                    .iter()
                    .filter(|hit| !found(&engine, hit, rule))
                    .map(|hit| format!("{}: not found in {hit:?}", rule.id)),
            );
            let missed = rule.misses.iter().filter(|(_, text)| found(&engine, text, rule));
            wrong.extend(
                missed.map(|(kind, text)| format!("{}: found in near miss ({kind}) {text:?}", rule.id)),
            );
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn what_is_said_in_english_is_no_other_languages_finding() {
        let engine = Engine::new();
        let english = [&overriding::RULES, &persona::RULES, &extraction::RULES, &indirect::RULES];
        let texts = || english.iter().flat_map(|family| family.list()).flat_map(|rule| rule.hits);
        let mut wrong = Vec::new();
        for rule in languages::RULES.list() {
            let found = texts().filter(|text| text.is_ascii() && found(&engine, text, rule));
            wrong.extend(found.map(|text| format!("{}: found in {text:?}", rule.id)));
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn every_file_under_rules_is_registered() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/rules");
        let there: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let listed: BTreeSet<String> = FILES.iter().map(|file| (*file).to_owned()).collect();
        assert_eq!(there, listed);
    }

    #[test]
    fn ids_are_unique_and_keywords_are_lower_case() {
        let mut ids = BTreeSet::new();
        for rule in all() {
            assert!(ids.insert(rule.id), "{} twice", rule.id);
            assert!(
                rule.keywords.iter().all(|word| !word.is_empty() && *word == word.to_lowercase()),
                "{}",
                rule.id
            );
        }
    }

    #[test]
    fn misses_of_a_rule_say_what_kind_of_near_miss_they_are() {
        assert!(all().all(|rule| rule.misses.iter().all(|(kind, text)| kind.len() >= 4 && !text.is_empty())));
    }
}
