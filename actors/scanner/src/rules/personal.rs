//! Data about people. Addresses and telephone numbers are noted; bank accounts too, since
//! every transfer names one; card and social security numbers flag.
//! Data only.

use super::{Family, LIKELY, NOTE, Rule, Rules, Start, TOKEN};
use crate::checks;

pub(super) static RULES: Rules = Rules::new(&[
    Rule {
        id: "email",
        why: "Email address",
        family: Family::Personal,
        weight: NOTE,
        start: Start::Word,
        reach: 260,
        keywords: &["@"],
        pattern: r"[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@[A-Za-z0-9][A-Za-z0-9-]{0,62}(?:\.[A-Za-z0-9-]{1,63})*\.[A-Za-z]{2,24}\b",
        check: Some(checks::address),
        hits: &["write to ada.lovelace@analytical.test please", "<grace@navy.mil>"],
        misses: &[
            ("a handle", "ping @ada about it"),
            ("a reserved name", "ada@example.com"),
            ("an expression", "a @ b.c"),
        ],
        ..TOKEN
    },
    Rule {
        id: "payment-card",
        why: "Payment card number, checksum right",
        family: Family::Personal,
        weight: LIKELY,
        start: Start::Digits,
        reach: 40,
        keywords: &[],
        pattern: r"(?:\d[ -]?){12,18}\d\b",
        check: Some(checks::card),
        hits: &["card 4539 5787 6362 1486 ok", "5425233430109903"],
        misses: &[("checksum wrong", "4539 5787 6362 1487"), ("too short", "4539 5787")],
        ..TOKEN
    },
    Rule {
        id: "us-social-security",
        why: "US social security number",
        family: Family::Personal,
        weight: LIKELY,
        start: Start::Digits,
        reach: 16,
        keywords: &[],
        pattern: r"\d{3}-\d{2}-\d{4}\b",
        check: Some(checks::social_security),
        hits: &["SSN 219-09-9992", "his is 521-44-9382."],
        misses: &[
            ("an unused range", "000-12-3456"),
            ("a date", "2024-01-02-1234"),
            ("without its dashes", "219099999"),
        ],
        ..TOKEN
    },
    Rule {
        id: "iban",
        why: "Bank account number, checksum right",
        family: Family::Personal,
        weight: NOTE,
        start: Start::Country,
        reach: 44,
        keywords: &[],
        pattern: r"[A-Z]{2}\d{2}(?:[ ]?[A-Z0-9]{4}){2,7}(?:[ ]?[A-Z0-9]{1,3})?\b",
        check: Some(checks::iban),
        hits: &["pay GB82 WEST 1234 5698 7654 32 now", "DE89370400440532013000"],
        misses: &[("checksum wrong", "GB83 WEST 1234 5698 7654 32"), ("too short", "DE8937040")],
        ..TOKEN
    },
    Rule {
        id: "telephone",
        why: "Telephone number",
        family: Family::Personal,
        weight: NOTE,
        start: Start::Before(0),
        reach: 40,
        keywords: &[
            "tel:", "phone", "call ", "mobile", "whatsapp", "cell", "fax", "+1", "+4", "+3", "+6", "+8",
            "+9", "+5", "+2", "+7",
        ],
        pattern: r"\(?\+?\(?\d[\d ().-]{7,18}\d\b",
        check: Some(checks::telephone),
        hits: &["phone: +49 30 1234 5678", "call (415) 555-2671 today"],
        misses: &[("a version", "phone app 1.2.3"), ("an address", "cell 10.0.0.1")],
        ..TOKEN
    },
]);
