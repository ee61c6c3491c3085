//! Every link is found, and prose is none.

use super::*;
use proptest::prelude::*;

#[test]
fn every_kind_of_link_is_found() {
    for (text, link) in [
        ("see http://a.example/x.", "http://a.example/x"),
        ("see HTTPS://A.example", "HTTPS://A.example"),
        ("see (https://a.example/b(c)).", "https://a.example/b(c)"),
        ("see https:a.example", "https:a.example"),
        ("see https:/\\a.example", "https:/\\a.example"),
        ("see ftp://a.example and", "ftp://a.example"),
        ("see any+scheme://a", "any+scheme://a"),
        ("see www.a-b.com, please", "www.a-b.com"),
        ("see www.nonsense.zzz", "www.nonsense.zzz"),
        ("see evil.com", "evil.com"),
        ("see sub.evil.co.uk!", "sub.evil.co.uk"),
        ("see evil.zzz/path?q=1", "evil.zzz/path?q=1"),
        ("see evil.zzz:8080", "evil.zzz:8080"),
        ("see evil.zzz?q=secret", "evil.zzz?q=secret"),
        ("see 203.0.113.9/x", "203.0.113.9/x"),
        ("[text](evil.zzz)", "evil.zzz"),
        ("![pic](//evil.zzz/p.png)", "evil.zzz/p.png"),
        ("[a]: evil.zzz", "evil.zzz"),
        ("<https://a.example>", "https://a.example"),
        ("<a href='evil.zzz'>x</a>", "evil.zzz"),
        ("<img src = evil.zzz/x>", "evil.zzz/x"),
        ("//evil.zzz/x", "evil.zzz/x"),
        ("\\\\fileserver\\share", "fileserver\\share"),
        ("https://good.example@evil.example/", "https://good.example@evil.example/"),
        ("good.example:x@evil.example/y", "good.example:x@evil.example/y"),
        ("data:text/html,x", "data:text/html,x"),
        ("write mailto:a@b.example", "mailto:a@b.example"),
        ("javascript:alert(1)", "javascript:alert(1)"),
        ("xn--e1afmkfd.xn--p1ai", "xn--e1afmkfd.xn--p1ai"),
        (
            "\u{43f}\u{440}\u{438}\u{43c}\u{435}\u{440}.\u{440}\u{444}",
            "\u{43f}\u{440}\u{438}\u{43c}\u{435}\u{440}.\u{440}\u{444}",
        ),
        ("hxxp://evil.example", "http://evil.example"),
        ("evil[.]com", "evil.com"),
        ("evil (dot) com", "evil.com"),
        ("evil [.] com", "evil.com"),
        ("ev\u{200b}il.com", "evil.com"),
        ("evil\u{ff0e}com", "evil.com"),
        ("evil\u{3002}com", "evil.com"),
        ("http\u{ff1a}\u{ff0f}\u{ff0f}evil.example", "http://evil.example"),
        ("https%3A%2F%2Fevil.example", "https://evil.example"),
        ("https&#58;//evil&period;example", "https://evil.example"),
        ("https:\\/\\/evil.example", "https://evil.example"),
        ("\u{4e2d}\u{6587}https://a.example", "https://a.example"),
    ] {
        assert!(links(text).iter().any(|found| found == link), "{text}: {:?}", links(text));
    }
}

#[test]
fn prose_is_no_link() {
    for text in [
        "",
        "Hello there. How are you?",
        "e.g. this, i.e. that",
        "it costs 3.50 or 1,000.50",
        "at 10:30",
        "and/or",
        "version 1.2.3.4",
        "<summary>",
        "note: this",
        "data: the following",
        "mail bob@evil.com or first.last@shop.example",
        "open main.rs and README.md",
        "self.name = np.array",
        "report.pdf",
        "src/evil.com",
        "a:b",
        "Re: hello",
        "...",
        "://",
        "http: no",
        "Mr.Smith",
        "100%",
    ] {
        assert_eq!(links(text), Vec::<String>::new(), "{text}");
    }
}

// Holds B-50.
#[test]
fn more_links_than_are_told_are_told_as_one_that_nothing_vouches_for() {
    let text: String = (0..LINKS + 5).map(|n| format!("www.a{n}.example ")).collect();
    let found = links(&text);
    assert_eq!(found.len(), LINKS + 1);
    assert_eq!(found.last().map(String::as_str), Some(MORE));
}

proptest! {
    // Holds P5-40.
    #[test]
    fn a_link_embedded_in_any_text_is_found(before in "[a-z .,!(\\[<\"'\n]{0,20}", host in "[a-z]{3,8}\\.(com|example|io|zzz/x)", after in "[ \n>\"][a-z ]{0,10}") {
        let link = format!("https://{host}");
        let text = format!("{before} {link}{after}");
        prop_assert!(links(&text).contains(&link), "{}", text);
        let link = format!("www.{host}");
        let text = format!("{before} {link}{after}");
        prop_assert!(links(&text).contains(&link), "{}", text);
    }

    #[test]
    fn any_text_is_read(text in "\\PC{0,60}") {
        for link in links(&text) {
            prop_assert!(!link.is_empty());
        }
    }

    #[test]
    fn text_made_of_marks_is_read(text in "[a:/\\\\.@%&#;\\[\\]()<>\"' \u{e9}-]{0,40}") {
        prop_assert!(links(&text).iter().all(|link| !link.is_empty()));
    }
}
