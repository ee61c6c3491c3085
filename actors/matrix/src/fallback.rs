//! The quote that older clients put before the text of a reply: `> <@user:server> text`, and a blank line.

/// The text of a reply without the quote before it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unquoted<'a> {
    /// The person's own text.
    pub own: &'a str,
    /// The author of the quoted message, and the quoted text; none if there is no quote.
    pub quote: Option<(&'a str, String)>,
}

/// Takes the quote from before a reply's text.
pub(crate) fn unquoted(body: &str) -> Unquoted<'_> {
    let whole = Unquoted { own: body, quote: None };
    let Some((author, first)) = opening(body.lines().next().unwrap_or_default()) else { return whole };
    let (mut own, mut quoted) = (body, String::new());
    for (number, line) in body.split_inclusive('\n').enumerate() {
        let Some(text) = line.strip_prefix("> ").or_else(|| line.strip_prefix('>')) else { break };
        quoted.push_str(if number == 0 { first } else { text.trim_end_matches(['\r', '\n']) });
        quoted.push('\n');
        own = own.get(line.len()..).unwrap_or_default();
    }
    quoted.truncate(quoted.trim_end().len());
    let own = own.strip_prefix('\n').or_else(|| own.strip_prefix("\r\n")).unwrap_or(own);
    Unquoted { own, quote: Some((author, quoted)) }
}

/// The author and the text of the quote's first line: `> <@user:server> text`, or `> * <@user:server> text`.
fn opening(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix("> ")?;
    let rest = rest.strip_prefix("* ").unwrap_or(rest);
    let (author, text) = rest.strip_prefix('<')?.split_once('>')?;
    (author.starts_with('@') && author.contains(':')).then_some((author, text.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_quote_is_taken_from_before_the_own_text() {
        let body = "> <@ann:test> one\n> two\n>\n> three\n\nyes, do\n> mine";
        let unquoted = unquoted(body);
        assert_eq!(unquoted.own, "yes, do\n> mine");
        assert_eq!(unquoted.quote, Some(("@ann:test", "one\ntwo\n\nthree".to_owned())));
    }

    #[test]
    fn a_quote_that_the_person_typed_stays() {
        for body in ["> typed\n\nyes", "yes", "", "> <b>\nx", "> <@ann> x"] {
            assert_eq!(unquoted(body), Unquoted { own: body, quote: None });
        }
    }

    proptest! {
        #[test]
        fn own_text_is_always_the_end_of_the_body(body in "(> )?(<@a:b> )?[> \\na-c\\r<@:]{0,24}") {
            prop_assert!(body.ends_with(unquoted(&body).own));
        }
    }
}
