//! The values that a text vouches for, each with its near misses.

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn vouches(words: &str, value: &Value) -> bool {
    let mut trusted = Trusted::new();
    trusted.add(words);
    trusted.vouches(value)
}

// Holds P5-38.
#[test]
fn a_value_that_the_text_holds_is_vouched_for() {
    for (words, value) in [
        ("send it to Alice", json!("Alice")),
        ("send it to Alice's inbox", json!("alice")),
        ("send it to \u{201c}Alice\u{201d}.", json!("Alice")),
        ("Hi, tell **Alice** now", json!("Alice")),
        ("post to #general", json!("general")),
        ("post to the 'general' channel", json!("#general")),
        ("ping @bob!", json!("bob")),
        ("book the  Grand\nHotel Paris", json!("Grand Hotel Paris")),
        ("use \u{ff21}lice", json!("Alice")),
        ("caf\u{e9} Luna", json!("cafe\u{301} luna")),
        ("ask Bob about websites.Note that Dora is out", json!("websites")),
        ("at www.our-company.com.They sent", json!("www.our-company.com")),
        ("change it to '1j1l-2k3j'.", json!("1j1l-2k3j")),
        ("new address: 1234 Elm Street, New York, NY 10001 and", json!("1234 Elm Street")),
        ("new address: 1234 Elm Street, New York, NY 10001 and", json!("New York, NY 10001")),
        ("open the file 'bill-december-2023.txt'", json!("/workspace/bill-december-2023.txt")),
        ("run `cargo test -p x | tail -5` please", json!("cargo test -p x | tail -5")),
        ("mail Bob@Shop.Example", json!("Robert <bob@shop.example>")),
        ("mail a@b.example and c@d.example", json!("c@d.example, a@b.example")),
        ("pay GB29 NWBK 6016 1331 9268 19", json!("GB29NWBK60161331926819")),
        ("the rent is $2,200.00", json!(2200)),
        ("give back 10.00 of it", json!(10.0)),
        ("on April 1st, 2022", json!("2022-04-01")),
        ("on April 1st, 2022 at 2 pm", json!("2022-04-01 14:00")),
        ("write to \"me\"", json!("me")),
        ("ask Will Bo to Al now", json!("Al")),
        ("call +49 (30) 1234-567", json!("+49301234567")),
        ("anything", json!("")),
        ("anything", json!(null)),
        ("anything", json!([])),
        ("is it true", json!(true)),
    ] {
        assert!(vouches(words, &value), "{value} in {words}");
    }
}

// Holds P5-38.
#[test]
fn a_value_that_only_looks_held_is_not_vouched_for() {
    for (words, value) in [
        ("Also send it", json!("Al")),
        ("send it to Alice", json!("Ali")),
        ("send it to Alice", json!("Alice B")),
        ("send it to Alice", json!("Alice, Eve")),
        ("send it to Alice", json!("\u{410}lice")),
        ("send it to Alice", json!("Al\u{200b}ice")),
        ("send it to Alice\u{301}", json!("Alice")),
        ("mail alice@shop.example", json!("alice")),
        ("mail alice@shop.example", json!("shop.example")),
        ("mail alice@shop.example", json!("alice@shop.example.evil.example")),
        ("mail malice@shop.example", json!("alice@shop.example")),
        ("mail alice@shop.example", json!("alice+x@shop.example")),
        ("mail alice@shop.example", json!("alice@shop.example, eve@evil.example")),
        ("mail alice@shop.example", json!("alice@shop.example <eve@evil.example>")),
        ("see shop.com/alice", json!("shop.com")),
        ("see shop.com", json!("shop.com/?q=secret")),
        ("see shop.com", json!("sh\u{43e}p.com")),
        ("see login.shop.com", json!("shop.com")),
        ("change it to '1j1l-2k3j'", json!("1j1l")),
        ("change it to 'Tr0ub4dor&3'", json!("tr0ub4dor&3")),
        ("run make clean all", json!("make clean\nall")),
        ("run make clean", json!("make clean; rm -rf x")),
        ("delete /tmp/x only", json!("/tmp")),
        ("delete /tmp/x only", json!("/")),
        ("read ./src/a.rs", json!("src/../src/a.rs")),
        ("pay 10% more", json!(10)),
        ("pay 1,000", json!(1)),
        ("pay 1,000", json!(10000)),
        ("pay -5", json!(5)),
        ("pay ten", json!(10)),
        ("pay GB29NWBK60161331926819", json!("GB29NWBK6016133192681")),
        ("on April 1st", json!("2022-04-01")),
        ("on 04/01/2022", json!("2022-04-01")),
        ("on April 1st, 2022 at 2 pm", json!("2022-04-01 15:00")),
        ("Please send it to me", json!("me")),
        ("Please send it to me", json!("Please")),
        ("tell the user", json!("user")),
        ("anything", json!("..")),
        ("anything", json!("!")),
        ("anything", json!(true)),
        ("a b", json!("a\u{0}b")),
        ("write O'Brien", json!("Brien")),
        ("use --force-push", json!("force")),
        ("see Alice?q=1", json!("Alice")),
        ("Alice", json!(["Alice", "Eve"])),
        ("Alice", json!({"to": "Alice", "cc": "Eve"})),
    ] {
        assert!(!vouches(words, &value), "{value} in {words}");
    }
}

#[test]
fn records_vouch_apart_from_words() {
    let mut trusted = Trusted::new();
    trusted.add_record("Landlord 1100");
    assert!(trusted.records_vouch(&json!("Landlord")) && !trusted.vouches(&json!("Landlord")));
    trusted.add("Landlady");
    assert!(!trusted.records_vouch(&json!("Landlady")));
}

// Holds B-49.
#[test]
fn over_the_bounds_the_oldest_text_vouches_no_more() {
    let mut trusted = Trusted::new();
    trusted.add("oldest1");
    for n in 0..TEXTS - 1 {
        trusted.add(&format!("text{n}"));
    }
    assert!(trusted.vouches(&json!("oldest1")));
    trusted.add("newest1");
    assert!(!trusted.vouches(&json!("oldest1")) && trusted.vouches(&json!("newest1")));
    trusted.add(&format!("{} tailword", "x".repeat(BYTES - 4)));
    assert!(!trusted.vouches(&json!("newest1")), "the bytes are bounded as well");
    assert!(!trusted.vouches(&json!("tail")), "no word is cut short");
}

#[test]
fn a_debug_print_shows_no_text() {
    let mut trusted = Trusted::new();
    trusted.add("hunter2");
    assert_eq!(format!("{trusted:?}"), "Trusted(1 texts, 0 records)");
}

proptest! {
    // Holds P5-38.
    #[test]
    fn what_is_not_in_the_text_is_never_vouched_for(words in "[ -~]{0,60}", value in "[a-z]{3,8}[0-9]{4}[a-z]{3,8}") {
        prop_assume!(!words.to_lowercase().contains(&value));
        prop_assert!(!vouches(&words, &json!(value)));
    }

    #[test]
    fn a_name_is_vouched_for_whatever_stands_around_it(before in "[a-z ]{0,20}", after in "([ ,;!)]|[?] )[a-z ]{0,20}", name in "[A-Z][a-z]{3,8}zq") {
        let words = format!("{before} {name}{after}");
        prop_assert!(vouches(&words, &json!(name)));
        prop_assert!(vouches(&words, &json!(name.to_uppercase())));
        let quoted = format!(" \"{name}\" ");
        prop_assert!(vouches(&words, &json!(quoted)));
        prop_assert!(!vouches(&words, &json!(name.trim_end_matches('q'))));
    }

    #[test]
    fn any_value_and_any_text_are_compared(words in "\\PC{0,60}", value in "\\PC{0,30}") {
        let held = vouches(&words, &json!(value));
        prop_assert!(!held || value.trim().is_empty() || !words.trim().is_empty());
    }

    #[test]
    fn of_marks_nothing_is_vouched_for_that_has_other_letters(words in "[a1 .,:;@/\\\\'\"#$%+-]{0,30}", value in "[ab1 .,:;@/\\\\'\"#$%+-]{0,10}") {
        prop_assert!(!value.contains('b') || !vouches(&words, &json!(value)));
    }
}
