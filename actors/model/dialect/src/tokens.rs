//! A count of tokens as a provider writes it. It never fails: an unreadable count is a missing one, which is estimated;
//! an answer that came whole, and was paid for, is not lost for it.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A count; none if the value is no number of things.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tokens(Option<u32>);

impl Tokens {
    /// It; 0 where there is none, which is estimated.
    pub(crate) fn or_zero(self) -> u32 {
        self.0.unwrap_or(0)
    }

    /// It, or else the earlier one.
    pub(crate) fn or(self, before: Self) -> Self {
        Self(self.0.or(before.0))
    }
}

impl<'de> Deserialize<'de> for Tokens {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(|value| Self(number(&value)))
    }
}

/// Some servers write a whole number with a fraction of nought, or as a text; more than can be is the most that can be.
fn number(value: &Value) -> Option<u32> {
    let text = match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.trim().to_owned(),
        _ => return None,
    };
    let whole = text.split_once('.').map_or(text.as_str(), |(whole, _)| whole);
    whole.parse::<u64>().ok().map(|count| u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    // Holds B-58.
    #[test]
    fn a_count_is_read_however_it_is_written_and_what_is_none_is_none() {
        for (json, expected) in [
            ("0", Some(0)),
            ("10", Some(10)),
            ("10.0", Some(10)),
            ("1.5", Some(1)),
            (r#"" 10 ""#, Some(10)),
            ("1000000000000", Some(u32::MAX)),
            ("-1", None),
            ("-0.5", None),
            ("1e300", None),
            ("null", None),
            ("true", None),
            (r#""many""#, None),
            ("[1]", None),
            (r#"{"a":1}"#, None),
        ] {
            let read: Tokens = serde_json::from_str(json).unwrap();
            assert_eq!(read.0, expected, "{json}");
        }
    }

    proptest! {
        #[test]
        fn any_whole_number_is_the_count_that_it_is(count in any::<u32>()) {
            let read: Tokens = serde_json::from_str(&count.to_string()).unwrap();
            prop_assert_eq!(read.0, Some(count));
        }
    }
}
