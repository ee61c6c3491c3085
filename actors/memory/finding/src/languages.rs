//! The language of a question, as far as its small words show it: the words that say little, and if it asks for a time,
//! a number or a name. Data and how it is read; a question in no other language is English.

use crate::wants::Wants;
use crate::word::Word;

/// A language other than English: its words that say little, and its question words.
pub(crate) struct Language {
    little: &'static [&'static str],
    /// A question with one of these among its first words asks for a time, a number, a person or a place.
    when: &'static [&'static str],
    many: &'static [&'static str],
    who: &'static [&'static str],
}

/// Words among which the one that asks stands: "ab wann", "a qué hora", "seit wie vielen Tagen".
const ASKS_WITHIN: usize = 2;

/// English words that say little. They are looked for only if there are no others.
pub(crate) const ENGLISH: &[&str] = &[
    "a", "about", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "could",
    "d", "did", "do", "does", "for", "from", "had", "has", "have", "he", "her", "him", "his", "how", "i",
    "if", "in", "is", "it", "its", "ll", "m", "me", "my", "no", "not", "of", "on", "or", "our", "re", "s",
    "she", "should", "so", "t", "that", "the", "their", "them", "then", "there", "these", "they", "this",
    "to", "us", "ve", "was", "we", "were", "what", "when", "where", "which", "who", "whom", "why", "will",
    "with", "would", "you", "your",
];

/// Those of German that a row's words are read by as well: they are in few names.
pub(crate) const GERMAN: &[&str] = &[
    "aber", "als", "auf", "aus", "bei", "das", "dem", "den", "der", "des", "die", "ein", "eine", "einen",
    "einer", "er", "es", "fur", "hat", "ich", "im", "ist", "mein", "meine", "mit", "nicht", "oder", "sie",
    "sind", "und", "von", "war", "wer", "wie", "wir", "wo", "zu", "zum", "zur",
];

/// All but English, without accents, as words are folded.
const TONGUES: &[Language] = &[
    // German.
    Language {
        little: &[
            "aber", "ab", "alle", "als", "am", "an", "auch", "auf", "aus", "bei", "beim", "bis", "da", "das",
            "dass", "dein", "dem", "den", "denn", "der", "des", "die", "dies", "diese", "dieser", "du",
            "durch", "ein", "eine", "einem", "einen", "einer", "er", "es", "etwas", "euch", "fur", "gab",
            "gibt", "habe", "haben", "hat", "hatte", "hatten", "ich", "ihr", "ihre", "im", "in", "ist",
            "kann", "mein", "meine", "mich", "mir", "mit", "nach", "nicht", "noch", "nun", "nur", "oder",
            "ob", "seit", "sein", "seine", "sich", "sie", "sind", "so", "uber", "um", "und", "uns", "unser",
            "unsere", "viel", "viele", "vielen", "vom", "von", "vor", "wann", "war", "waren", "warum", "was",
            "welche", "welchem", "welchen", "welcher", "welches", "wem", "wen", "wer", "werden", "weshalb",
            "wessen", "wie", "wieso", "wieviel", "wir", "wird", "wo", "woher", "wohin", "wurde", "wurden",
            "zu", "zum", "zur",
        ],
        when: &["wann"],
        many: &["viel", "viele", "vielen", "wieviel", "lange", "oft", "alt", "hoch", "teuer", "weit"],
        who: &["wer", "wem", "wen", "wessen", "wo", "woher", "wohin"],
    },
    // Spanish.
    Language {
        little: &[
            "a", "al", "algo", "como", "con", "cual", "cuales", "cuando", "cuanta", "cuantas", "cuanto",
            "cuantos", "de", "del", "donde", "e", "el", "ella", "ellos", "en", "era", "es", "esa", "ese",
            "eso", "esta", "estaba", "estan", "este", "esto", "fue", "fueron", "ha", "habia", "han", "hay",
            "hemos", "la", "las", "le", "les", "lo", "los", "mas", "me", "mi", "mis", "muy", "no", "nos",
            "nuestra", "nuestro", "o", "para", "pero", "por", "que", "quien", "quienes", "se", "ser", "si",
            "sin", "sobre", "son", "su", "sus", "te", "tu", "un", "una", "unos", "y", "ya", "yo",
        ],
        when: &["cuando"],
        many: &["cuanto", "cuanta", "cuantos", "cuantas"],
        who: &["quien", "quienes", "donde"],
    },
    // French.
    Language {
        little: &[
            "a", "au", "aux", "avec", "avons", "c", "ce", "ces", "cette", "combien", "comment", "d", "dans",
            "de", "des", "du", "elle", "en", "est", "et", "etait", "ete", "il", "ils", "j", "je", "l", "la",
            "le", "les", "leur", "mais", "ma", "mon", "n", "ne", "nos", "notre", "nous", "on", "ont", "ou",
            "par", "pas", "plus", "pour", "pourquoi", "qu", "quand", "que", "quel", "quelle", "quelles",
            "quels", "qui", "quoi", "s", "sa", "se", "ses", "son", "sont", "sur", "t", "un", "une", "vous",
            "y",
        ],
        when: &["quand"],
        many: &["combien"],
        who: &["qui", "ou"],
    },
    // Italian.
    Language {
        little: &[
            "a", "ai", "al", "alla", "anche", "c", "che", "chi", "ci", "come", "con", "cosa", "da", "dal",
            "dalla", "dei", "del", "della", "delle", "di", "dove", "e", "era", "gli", "ha", "hanno", "i",
            "il", "in", "l", "la", "le", "lo", "ma", "mi", "nel", "nella", "non", "nostra", "nostro", "o",
            "per", "perche", "piu", "quale", "quali", "quando", "quanta", "quante", "quanti", "quanto", "se",
            "si", "sono", "su", "sul", "sulla", "un", "una", "uno",
        ],
        when: &["quando"],
        many: &["quanta", "quante", "quanti", "quanto"],
        who: &["chi", "dove"],
    },
    // Portuguese.
    Language {
        little: &[
            "a", "ao", "aos", "as", "com", "como", "da", "das", "de", "do", "dos", "e", "ela", "ele", "em",
            "era", "esta", "foi", "foram", "ha", "isso", "mais", "mas", "na", "nao", "nas", "no", "nos",
            "nossa", "nosso", "o", "onde", "os", "ou", "para", "pela", "pelo", "por", "porque", "qual",
            "quais", "quando", "quanta", "quantas", "quanto", "quantos", "que", "quem", "se", "seu", "sua",
            "um", "uma",
        ],
        when: &["quando"],
        many: &["quanta", "quantas", "quanto", "quantos"],
        who: &["quem", "onde"],
    },
    // Russian.
    Language {
        little: &[
            "а", "бы", "был", "была", "были", "было", "в", "во", "вы", "где", "для", "до", "его", "ее", "ей",
            "ему", "если", "есть", "еще", "же", "за", "зачем", "и", "из", "или", "им", "их", "к", "как",
            "какая", "какие", "каких", "какого", "какое", "какой", "какую", "кем", "ко", "когда", "кого",
            "кому", "кто", "куда", "ли", "мне", "мой", "мои", "моя", "мы", "на", "над", "нас", "наш", "не",
            "него", "нее", "ней", "ни", "ним", "них", "но", "о", "об", "он", "она", "они", "оно", "от",
            "откуда", "по", "под", "почему", "при", "про", "с", "свой", "себе", "себя", "сколько", "со",
            "так", "там", "то", "тоже", "только", "ты", "у", "уже", "чего", "чей", "чем", "что", "чтобы",
            "эта", "эти", "это", "этого", "этот", "я",
        ],
        when: &["когда"],
        many: &["сколько"],
        who: &["где", "кем", "кого", "кому", "кто", "куда", "откуда", "чей", "чья"],
    },
    // Dutch.
    Language {
        little: &[
            "aan", "als", "bij", "dat", "de", "deze", "die", "dit", "door", "een", "en", "er", "had", "heb",
            "hebben", "heeft", "het", "hij", "hoe", "hoeveel", "ik", "in", "is", "je", "kan", "maar", "met",
            "mijn", "naar", "niet", "nog", "of", "om", "ons", "onze", "ook", "op", "over", "te", "tot",
            "uit", "van", "veel", "voor", "waar", "waarom", "wanneer", "was", "wat", "we", "welk", "welke",
            "werd", "wie", "wij", "wordt", "ze", "zijn", "zo",
        ],
        when: &["wanneer"],
        many: &["hoeveel"],
        who: &["wie", "waar"],
    },
];

impl Language {
    /// The language that a question is asked in: the one that has most of its small words, where that is more than English has,
    /// and two or the one that asks. One small word alone may be a name, or mean something else in English. None if it is
    /// English, or does not show.
    pub(crate) fn of(words: &[Word]) -> Option<&'static Self> {
        let count = |list: &[&str]| words.iter().filter(|word| list.contains(&word.plain.as_str())).count();
        let english = count(ENGLISH);
        let found = TONGUES.iter().map(|tongue| (count(tongue.little), tongue));
        let (little, tongue) = found.rev().max_by_key(|(little, _)| *little)?;
        let shows = little > 1 || little == 1 && tongue.wants(words) != Wants::Anything;
        (little > english && shows).then_some(tongue)
    }

    /// Returns whether a word says little.
    pub(crate) fn says_little(&self, plain: &str) -> bool {
        self.little.contains(&plain)
    }

    /// The kind of answer that the first words of a question ask for.
    pub(crate) fn wants(&self, words: &[Word]) -> Wants {
        let first =
            |list: &[&str]| words.iter().take(ASKS_WITHIN).any(|word| list.contains(&word.plain.as_str()));
        if first(self.when) {
            Wants::Time
        } else if first(self.many) {
            Wants::Number
        } else if first(self.who) {
            Wants::Name
        } else {
            Wants::Anything
        }
    }
}
