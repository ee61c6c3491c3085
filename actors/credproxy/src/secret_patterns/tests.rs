//! Secrets are found in every form in which an upstream may send them back, and ordinary text is left alone.
use super::*;
use base64::Engine as _;
use proptest::prelude::*;

fn patterns(secrets: &[&str]) -> SecretPatterns {
    let secret = |text: &&str| Secret::new(Zeroizing::new(text.as_bytes().to_vec())).unwrap();
    SecretPatterns::new(&secrets.iter().map(secret).collect::<Vec<_>>())
}

fn holds(patterns: &SecretPatterns, text: &[u8]) -> bool {
    (0..text.len()).any(|at| patterns.at(&text[at..]).whole > 0)
}

fn backwards(text: &str) -> String {
    text.chars().rev().collect()
}

/// The text with `between` behind every `every` characters of it.
fn spaced(text: &str, every: usize, between: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(every).map(String::from_iter).collect::<Vec<_>>().join(between)
}

#[test]
fn the_longest_form_wins_and_one_that_the_end_cuts_is_reported() {
    let patterns = patterns(&["abcdefgh", "abcdefghij"]);
    assert_eq!(patterns.at(b"abcdefghi"), Found { whole: 8, cut: true });
    assert_eq!(patterns.at(b"abcdefghij-"), Found { whole: 10, cut: false });
    assert_eq!(patterns.at(b"abc"), Found { whole: 0, cut: true });
    assert_eq!(patterns.at(b"ABCdefG\nH\\"), Found { whole: 9, cut: true });
    assert_eq!(patterns.at(b"a b\\"), Found { whole: 0, cut: true });
    assert_eq!(patterns.at(b"abd"), Found::default());
    assert_eq!(patterns.at(b""), Found::default());
}

// Holds P4-29.
#[test]
fn case_white_space_and_direction_hide_no_secret() {
    let secret = "sk-Live/0123+ABCdef\"x";
    let patterns = patterns(&[secret, "correct horse battery"]);
    let framed = format!("{{\"key\":\"{secret}\"}}");
    let base64 = base64::engine::general_purpose::STANDARD.encode(&framed);
    let safe = URL_SAFE_NO_PAD.encode(&framed);
    let mirrored = STANDARD_NO_PAD.encode(backwards(secret));
    let hex = data_encoding::HEXLOWER.encode(secret.as_bytes());
    let json = serde_json::to_string(secret).unwrap();
    let texts = [secret, &base64, &safe, &hex, "correct horse battery"];
    let reversed = texts.map(backwards);
    assert!(holds(&patterns, json.as_bytes()), "{json}");
    for every in [1, 3] {
        let json = serde_json::to_string(&spaced(secret, every, "\r\n")).unwrap();
        assert!(holds(&patterns, json.as_bytes()), "{json}");
    }
    let forwards = texts.into_iter().chain([mirrored.as_str()]);
    for text in forwards.chain(reversed.iter().map(String::as_str)) {
        for text in [text.to_owned(), text.to_uppercase(), text.to_lowercase()] {
            assert!(holds(&patterns, text.as_bytes()), "{text}");
            for between in
                [" ", "\n", "\r\n", "\\n", "\\\\r\\\\n", "\t\t", "%0A", "%20", "\u{a0}", "\u{200b}\u{3000}"]
            {
                for every in [1, 3, 20] {
                    let text = spaced(&text, every, between);
                    assert!(holds(&patterns, text.as_bytes()), "{text}");
                }
            }
        }
    }
}

// Holds P4-29.
#[test]
fn more_than_four_kib_of_white_space_within_a_secret_hides_it() {
    let patterns = patterns(&["abcdefgh12"]);
    let text = |blanks: usize| format!("abcdefgh1{}2", " ".repeat(blanks));
    assert_eq!(patterns.at(text(BLANKS).as_bytes()), Found { whole: 10 + BLANKS, cut: false });
    assert_eq!(patterns.at(text(BLANKS + 1).as_bytes()), Found::default());
    let held = format!("abcdefgh1{}", " ".repeat(BLANKS));
    assert_eq!(patterns.at(held.as_bytes()), Found { whole: 0, cut: true });
    assert_eq!(patterns.at(format!("{held} ").as_bytes()), Found::default());
}

#[test]
fn a_secret_of_mostly_blanks_is_not_found_as_its_few_letters() {
    let patterns = patterns(&["ab      c"]);
    assert!(holds(&patterns, b"<ab      c>") && holds(&patterns, b"<AB  \n    C>"));
    assert_eq!(
        patterns.at(b"\\nab      c"),
        Found::default(),
        "white space before a secret is no part of it"
    );
    assert!(!holds(&patterns, b"<abc>") && !holds(&patterns, b"<ab c>"));
}

#[test]
fn backslashes_of_a_secret_are_not_taken_for_white_space() {
    let patterns = patterns(&["a\\nbc%20def"]);
    assert!(holds(&patterns, b"<a\\nbc%20def>") && holds(&patterns, b"<a\\\\nbc%20def>"));
    assert!(holds(&patterns, b"<a \\ n b c % 2 0 d e f>"));
    assert!(!holds(&patterns, b"<abcdef>"));
}

/// How often a text of random base64 begins with some form, at most.
fn chance(patterns: &SecretPatterns) -> f64 {
    let of = |byte: &u8| match byte {
        b'a'..=b'z' => 2.0 / 64.0,
        _ => 1.0 / 64.0,
    };
    patterns.forms.iter().map(|form| form.iter().map(of).product::<f64>()).sum()
}

// Holds P4-29.
#[test]
fn the_shortest_secrets_are_found_by_chance_less_than_once_in_a_billion() {
    let mut state = 7_u64;
    let mut letter = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b'a' + u8::try_from((state >> 33) % 26).unwrap())
    };
    let secrets: Vec<String> = (0..256).map(|_| (0..8).map(|_| letter()).collect()).collect();
    let secrets: Vec<&str> = secrets.iter().map(String::as_str).collect();
    let chance = chance(&patterns(&secrets));
    assert!(chance < 1e-9, "{chance}");
}

proptest! {
    #[test]
    fn a_secret_is_found_in_every_form_with_anything_around_it(
        secret in "[!-~]{8,40}", before: Vec<u8>, after: Vec<u8>,
    ) {
        let patterns = patterns(&[&secret]);
        let framed = [&before, secret.as_bytes(), &after].concat();
        let percent: String = secret.bytes().map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        }).collect();
        let forms = [
            framed.clone(),
            STANDARD_NO_PAD.encode(&framed).into_bytes(),
            base64::engine::general_purpose::STANDARD.encode(&framed).into_bytes(),
            URL_SAFE_NO_PAD.encode(&framed).into_bytes(),
            data_encoding::HEXUPPER.encode(&framed).into_bytes(),
            serde_json::to_vec(&secret).unwrap(),
            [&before, percent.as_bytes(), &after].concat(),
            [&before, percent.to_lowercase().as_bytes(), &after].concat(),
            [&before, backwards(&secret).as_bytes(), &after].concat(),
            secret.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>().into_bytes(),
            secret.bytes().map(|byte| format!("\\u{byte:04X}")).collect::<String>().into_bytes(),
            serde_json::to_string(&secret).unwrap().replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e").into_bytes(),
        ];
        for (number, form) in forms.iter().enumerate() {
            prop_assert!(holds(&patterns, form), "form {number}");
        }
    }
}
