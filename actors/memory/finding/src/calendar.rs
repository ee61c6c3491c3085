//! The names of months, weekdays and the days about today, in English, German, Spanish, French, Italian, Portuguese,
//! Dutch and Russian, folded as words are. Data; a name that is more often something else is left out.

/// By month.
const MONTHS: [&[&str]; 12] = [
    &["january", "januar", "enero", "janvier", "gennaio", "janeiro", "januari", "январь", "января", "январе"],
    &[
        "february", "februar", "febrero", "fevrier", "febbraio", "fevereiro", "februari", "февраль",
        "февраля", "феврале",
    ],
    &["march", "marz", "marzo", "maart", "март", "марта", "марте"],
    &["april", "abril", "avril", "aprile", "апрель", "апреля", "апреле"],
    &["may", "mai", "mayo", "maggio", "maio", "май", "мая", "мае"],
    &["june", "juni", "junio", "juin", "giugno", "junho", "июнь", "июня", "июне"],
    &["july", "juli", "julio", "juillet", "luglio", "julho", "июль", "июля", "июле"],
    &["august", "agosto", "aout", "augustus", "август", "августа", "августе"],
    &["september", "septiembre", "septembre", "settembre", "setembro", "сентябрь", "сентября", "сентябре"],
    &["october", "oktober", "octubre", "octobre", "ottobre", "outubro", "октябрь", "октября", "октябре"],
    &["november", "noviembre", "novembre", "novembro", "ноябрь", "ноября", "ноябре"],
    &[
        "december", "dezember", "diciembre", "decembre", "dicembre", "dezembro", "декабрь", "декабря",
        "декабре",
    ],
];

/// By weekday, from Monday.
const WEEKDAYS: [&[&str]; 7] = [
    &["monday", "montag", "lunes", "lundi", "lunedi", "maandag", "понедельник", "понедельника"],
    &["tuesday", "dienstag", "martes", "mardi", "martedi", "dinsdag", "вторник", "вторника"],
    &["wednesday", "mittwoch", "miercoles", "mercredi", "mercoledi", "woensdag", "среда", "среду", "среды"],
    &["thursday", "donnerstag", "jueves", "jeudi", "giovedi", "donderdag", "четверг", "четверга"],
    &["friday", "freitag", "viernes", "vendredi", "venerdi", "vrijdag", "пятница", "пятницу", "пятницы"],
    &["saturday", "samstag", "sabado", "samedi", "sabato", "zaterdag", "суббота", "субботу", "субботы"],
    &["sunday", "sonntag", "domingo", "dimanche", "domenica", "zondag", "воскресенье", "воскресенья"],
];

/// Months that are also verbs, names or food: said as a month only with a sign of it.
const UNSURE: &[&str] = &["may", "march", "mayo", "mai", "julio"];

/// The number of a month, from 1, by its whole name; by the first three letters of an English one.
pub(crate) fn month(word: &str) -> Option<i64> {
    let short = |names: &[&str]| {
        word == "sept" && names.contains(&"september")
            || word.len() == 3 && names.first().is_some_and(|name| name.starts_with(word))
    };
    let at = MONTHS.iter().position(|names| names.contains(&word) || short(names))?;
    i64::try_from(at + 1).ok()
}

/// Returns whether a month's name is more often something else.
pub(crate) fn is_unsure(word: &str) -> bool {
    UNSURE.contains(&word)
}

/// The weekday that a word names, from 0 for Monday.
pub(crate) fn weekday(word: &str) -> Option<i64> {
    i64::try_from(WEEKDAYS.iter().position(|names| names.contains(&word))?).ok()
}

/// How many days after today it is.
pub(crate) fn days_from_today(word: &str) -> Option<i64> {
    Some(match word {
        "anteayer" | "vorgestern" | "eergisteren" | "позавчера" => -2,
        "yesterday" | "gestern" | "ayer" | "ieri" | "ontem" | "gisteren" | "вчера" => -1,
        "today" | "tonight" | "heute" | "hoy" | "oggi" | "hoje" | "vandaag" | "сегодня" => 0,
        "tomorrow" | "завтра" => 1,
        "ubermorgen" => 2,
        _ => return None,
    })
}
