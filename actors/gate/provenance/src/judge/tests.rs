//! The facts that a call gives.

use super::*;
use serde_json::json;

fn facts(words: &str, args: Value) -> Vec<(String, bool, Kind)> {
    let mut trusted = Trusted::new();
    trusted.add(words);
    trusted.add_record("Landlord: DE89370400440532013000");
    let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let relevant = names(&["to", "message.to", "iban"]);
    let Value::Object(args) = args else { panic!("not an object") };
    judge(&trusted, &relevant, &names(&["iban"]), &args)
        .into_iter()
        .map(|fact| (fact.name, fact.vouched, fact.kind))
        .collect()
}

#[test]
fn each_relevant_argument_that_is_present_is_one_fact() {
    let words = "Tell Alice and bob@shop.example about it";
    for (args, expected) in [
        (json!({"body": "hi"}), vec![]),
        (json!({"to": "Alice"}), vec![("to", true, Kind::Argument)]),
        (json!({"to": "Eve"}), vec![("to", false, Kind::Argument)]),
        (json!({"to": []}), vec![("to", true, Kind::Argument)]),
        (json!({"to": ["alice", "bob@shop.example"]}), vec![("to", true, Kind::Argument)]),
        (json!({"to": ["alice", "eve@shop.example"]}), vec![("to", false, Kind::Argument)]),
        (json!({"to": {"name": "Alice", "mail": "x@evil.example"}}), vec![("to", false, Kind::Argument)]),
        (json!({"message": {"to": "Alice", "cc": "Eve"}}), vec![("message.to", true, Kind::Argument)]),
        (json!({"message": [{"to": "Alice"}, {"to": "Eve"}]}), vec![("message.to", false, Kind::Argument)]),
        (json!({"iban": "DE89 3704 0044 0532 0130 00"}), vec![("iban", true, Kind::Record)]),
        (json!({"iban": "DE89370400440532013001"}), vec![("iban", false, Kind::Argument)]),
        (json!({"to": "DE89370400440532013000"}), vec![("to", false, Kind::Argument)]),
    ] {
        let expected: Vec<_> =
            expected.into_iter().map(|(name, vouched, kind)| (name.to_owned(), vouched, kind)).collect();
        assert_eq!(facts(words, args.clone()), expected, "{args}");
    }
}

// Holds P5-40.
#[test]
fn each_other_argument_with_links_is_one_fact() {
    let words = "Post www.shop.example/a to the channel";
    for (args, expected) in [
        (json!({"body": "look at https://www.shop.example/a"}), vec![("body:link", true)]),
        (json!({"body": "look at www.shop.example/b"}), vec![("body:link", false)]),
        (json!({"body": "www.shop.example/a and evil[.]com"}), vec![("body:link", false)]),
        (
            json!({"body": ["www.shop.example/a", {"deep": "evil.com"}]}),
            vec![("body.deep:link", false), ("body:link", true)],
        ),
        (json!({"body": {"evil.com": 1}}), vec![("body:link", false)]),
        (json!({"body": "no link"}), vec![]),
    ] {
        let expected: Vec<_> =
            expected.into_iter().map(|(name, vouched)| (name.to_owned(), vouched, Kind::Link)).collect();
        assert_eq!(facts(words, args.clone()), expected, "{args}");
    }
}

#[test]
fn a_link_with_escapes_is_vouched_for_by_the_same_link() {
    let words = "Send https://shop.example/a%2Fb?x=1&amp;y=2 to Alice";
    let args = json!({"body": "https://shop.example/a%2Fb?x=1&amp;y=2"});
    assert_eq!(facts(words, args), [("body:link".to_owned(), true, Kind::Link)]);
}
