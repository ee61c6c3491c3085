//! A line of an editor as a message of JSON-RPC. A line that is none is answered with the error that it gets here.

use agent_client_protocol_schema::v1::{Error, RequestId};
use serde_json::{Map, Value};

/// A message of the editor.
#[derive(Debug, PartialEq)]
pub(super) enum Message {
    /// It wants an answer.
    Request { id: RequestId, method: String, params: Value },
    /// It wants none.
    Notification { method: String, params: Value },
    /// It answers a request of ours.
    Response { id: RequestId, result: Result<Value, Error> },
}

/// Reads one line.
///
/// # Errors
/// The error to answer with, and the id of the request that it was, if that can be told.
pub(super) fn read(line: &[u8]) -> Result<Message, Box<(RequestId, Error)>> {
    let refused = |id, error: Error| Box::new((id, error));
    let parsed = serde_json::from_slice(line)
        .map_err(|error| refused(RequestId::Null, Error::parse_error().data(error.to_string())))?;
    let Value::Object(mut fields) = parsed else {
        return Err(refused(RequestId::Null, invalid("a message is a JSON object")));
    };
    let id = id(&fields).map_err(|error| refused(RequestId::Null, error))?;
    let or_null = id.clone().unwrap_or(RequestId::Null);
    if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(refused(or_null, invalid("`jsonrpc` is \"2.0\"")));
    }
    let params = fields.remove("params").unwrap_or(Value::Null);
    match (fields.remove("method"), id) {
        (Some(Value::String(method)), Some(id)) => Ok(Message::Request { id, method, params }),
        (Some(Value::String(method)), None) => Ok(Message::Notification { method, params }),
        (None, Some(id)) => match response(&mut fields) {
            Some(result) => Ok(Message::Response { id, result }),
            None => Err(refused(or_null, invalid("a message has a method, a result or an error"))),
        },
        _ => Err(refused(or_null, invalid("`method` is a text"))),
    }
}

fn id(fields: &Map<String, Value>) -> Result<Option<RequestId>, Error> {
    let read =
        |id: &Value| serde_json::from_value(id.clone()).map_err(|_| invalid("`id` is a number or a text"));
    fields.get("id").map(read).transpose()
}

fn response(fields: &mut Map<String, Value>) -> Option<Result<Value, Error>> {
    if let Some(error) = fields.remove("error") {
        let unread = |_| Error::internal_error().data("the editor's error cannot be read");
        return Some(Err(serde_json::from_value(error).unwrap_or_else(unread)));
    }
    fields.remove("result").map(Ok)
}

fn invalid(why: &str) -> Error {
    Error::invalid_request().data(why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    // Holds P13-01.
    #[test]
    fn a_line_that_is_no_message_gets_its_error_and_its_id() {
        for (line, code, id) in [
            ("{", -32700, json!(null)),
            ("\u{fffd}", -32700, json!(null)),
            ("[]", -32600, json!(null)),
            ("7", -32600, json!(null)),
            (r#"{"jsonrpc":"1.0","id":3,"method":"x"}"#, -32600, json!(3)),
            (r#"{"jsonrpc":"2.0","id":"a"}"#, -32600, json!("a")),
            (r#"{"jsonrpc":"2.0","id":4,"method":7}"#, -32600, json!(4)),
            (r#"{"jsonrpc":"2.0","id":[],"method":"x"}"#, -32600, json!(null)),
            (r#"{"jsonrpc":"2.0"}"#, -32600, json!(null)),
        ] {
            let (found, error) = *read(line.as_bytes()).unwrap_err();
            assert_eq!(i32::from(error.code), code, "{line}");
            assert_eq!(serde_json::to_value(found).unwrap(), id, "{line}");
        }
    }

    #[test]
    fn requests_notifications_and_responses_are_told_apart() {
        let request = read(br#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"b":2}}"#).unwrap();
        let expected =
            Message::Request { id: RequestId::Number(1), method: "a".into(), params: json!({"b": 2}) };
        assert_eq!(request, expected);
        let notification = read(br#"{"jsonrpc":"2.0","method":"a"}"#).unwrap();
        assert_eq!(notification, Message::Notification { method: "a".into(), params: Value::Null });
        let response = read(br#"{"jsonrpc":"2.0","id":1,"result":null}"#).unwrap();
        assert_eq!(response, Message::Response { id: RequestId::Number(1), result: Ok(Value::Null) });
        let error = read(br#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}"#).unwrap();
        assert!(matches!(error, Message::Response { result: Err(_), .. }));
        let odd = read(br#"{"jsonrpc":"2.0","id":1,"error":7}"#).unwrap();
        assert!(matches!(odd, Message::Response { result: Err(_), .. }));
    }

    proptest! {
        // Holds P13-01.
        #[test]
        fn any_bytes_at_all_are_a_message_or_an_error(line: Vec<u8>) {
            let _ = read(&line);
        }

        #[test]
        fn any_object_is_a_message_or_an_error(
            fields in proptest::collection::btree_map("jsonrpc|id|method|params|result|error", "\\PC{0,8}|2.0", 0..6)
        ) {
            let _ = read(json!(fields).to_string().as_bytes());
        }
    }
}
