//! Checks a client's message before the SDK reads it: a text that is no message of the protocol is answered by the code
//! that JSON-RPC has for it, under its id where it has one. The SDK would pass over it, or take known methods with wrong
//! parameters for unknown ones. Pure.

use ipc_proto::json;
use rmcp::model::{
    CallToolRequestMethod, CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, ConstString,
    ErrorData, InitializeRequestParams, InitializeResultMethod, JsonRpcError, ListToolsRequestMethod,
    PaginatedRequestParams, RequestId,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The message in these bytes. Half characters in its texts are replaced in their place.
///
/// # Errors
/// The answer to bytes that are no message.
pub fn read_message(bytes: &mut [u8]) -> Result<ClientJsonRpcMessage, Box<JsonRpcError>> {
    json::mend(bytes);
    let said: Value = serde_json::from_slice(bytes).map_err(|error| {
        let message = format!("Parse error: no JSON, at line {} column {}", error.line(), error.column());
        refusal(None, ErrorData::parse_error(message, None))
    })?;
    let Value::Object(said) = said else { return Err(invalid(None, "a message is one object")) };
    let id = id(&said)?;
    if said.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(invalid(id, "`jsonrpc` must be \"2.0\""));
    }
    let is_answer = said.contains_key("result") || said.contains_key("error");
    if !is_answer && !said.get("method").is_some_and(Value::is_string) {
        return Err(invalid(id, "`method` must be a text"));
    }
    if said.get("params").is_some_and(|params| !params.is_object() && !params.is_null()) {
        return Err(refusal(id, ErrorData::invalid_params("`params` must be an object", None)));
    }
    let message: ClientJsonRpcMessage = serde_json::from_value(Value::Object(said))
        .map_err(|_| invalid(id, "it is none of the protocol's messages"))?;
    match misread(&message) {
        Some((id, why)) => Err(refusal(Some(id), ErrorData::invalid_params(why, None))),
        None => Ok(message),
    }
}

fn invalid(id: Option<RequestId>, why: &str) -> Box<JsonRpcError> {
    refusal(id, ErrorData::invalid_request(format!("Invalid request: {why}"), None))
}

fn refusal(id: Option<RequestId>, error: ErrorData) -> Box<JsonRpcError> {
    Box::new(JsonRpcError::new(id, error))
}

/// The id of a message, to answer it by.
fn id(said: &Map<String, Value>) -> Result<Option<RequestId>, Box<JsonRpcError>> {
    match said.get("id") {
        None => Ok(None),
        Some(Value::Null) if said.contains_key("error") => Ok(None),
        Some(id) => serde_json::from_value(id.clone())
            .map(Some)
            .map_err(|_| invalid(None, "`id` must be a text or a whole number")),
    }
}

/// A request for a known method that the SDK would take for an unknown one, since its parameters are wrong; and their
/// defect.
fn misread(message: &ClientJsonRpcMessage) -> Option<(RequestId, String)> {
    let ClientJsonRpcMessage::Request(asked) = message else { return None };
    let ClientRequest::CustomRequest(unknown) = &asked.request else { return None };
    let params = unknown.params.clone().unwrap_or_default();
    let why = match unknown.method.as_str() {
        InitializeResultMethod::VALUE => wrong::<InitializeRequestParams>(params),
        CallToolRequestMethod::VALUE => wrong::<CallToolRequestParams>(params),
        ListToolsRequestMethod::VALUE => wrong::<PaginatedRequestParams>(params),
        _ => return None,
    };
    Some((asked.id.clone(), format!("Invalid params of {}: {why}", unknown.method)))
}

/// The defect of the parameters, for the client that sent them.
fn wrong<T: DeserializeOwned>(params: Value) -> String {
    let params = if params.is_null() { Value::Object(Map::new()) } else { params };
    match serde_path_to_error::deserialize::<_, T>(params) {
        Ok(_) => "they are not as the protocol has them".to_owned(),
        Err(fault) if fault.path().iter().next().is_none() => fault.inner().to_string(),
        Err(fault) => format!("`{}`: {}", fault.path(), fault.inner()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::ErrorCode;
    use serde_json::json;

    fn refused(bytes: &[u8]) -> (i32, Option<Value>, String) {
        let JsonRpcError { id, error, .. } = *read_message(&mut bytes.to_vec()).unwrap_err();
        (error.code.0, id.map(RequestId::into_json_value), error.message.into_owned())
    }

    // Holds P3-24.
    #[test]
    fn what_is_no_message_is_answered_by_its_code_and_its_id() {
        for (said, code, id) in [
            ("{bad", ErrorCode::PARSE_ERROR, None),
            ("", ErrorCode::PARSE_ERROR, None),
            ("[]", ErrorCode::INVALID_REQUEST, None),
            ("null", ErrorCode::INVALID_REQUEST, None),
            (r#"{"id":1,"method":"ping"}"#, ErrorCode::INVALID_REQUEST, Some(json!(1))),
            (r#"{"jsonrpc":"2.0"}"#, ErrorCode::INVALID_REQUEST, None),
            (r#"{"jsonrpc":"2.0","id":"a","method":5}"#, ErrorCode::INVALID_REQUEST, Some(json!("a"))),
            (r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, ErrorCode::INVALID_REQUEST, None),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, ErrorCode::INVALID_REQUEST, None),
            (
                r#"{"jsonrpc":"2.0","id":2,"method":"x","params":[1]}"#,
                ErrorCode::INVALID_PARAMS,
                Some(json!(2)),
            ),
            (r#"{"jsonrpc":"2.0","id":3,"method":"tools/call"}"#, ErrorCode::INVALID_PARAMS, Some(json!(3))),
            (
                r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{}}"#,
                ErrorCode::INVALID_PARAMS,
                Some(json!(4)),
            ),
            (
                r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"mem-help","arguments":[1]}}"#,
                ErrorCode::INVALID_PARAMS,
                Some(json!(5)),
            ),
            (
                r#"{"jsonrpc":"2.0","id":6,"method":"initialize","params":{"protocolVersion":1}}"#,
                ErrorCode::INVALID_PARAMS,
                Some(json!(6)),
            ),
        ] {
            let (given, to, _) = refused(said.as_bytes());
            assert_eq!((given, to), (code.0, id), "{said}");
        }
        assert_eq!(refused(b"\xff\xfe").0, ErrorCode::PARSE_ERROR.0);
        let arguments =
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":"y"}}"#;
        assert!(
            refused(arguments.as_bytes()).2.contains("`arguments`"),
            "{:?}",
            refused(arguments.as_bytes())
        );
    }

    #[test]
    fn messages_of_the_protocol_are_read_also_those_of_an_unknown_method() {
        for said in [
            json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }),
            json!({ "jsonrpc": "2.0", "id": "a", "method": "tools/list", "params": {} }),
            json!({ "jsonrpc": "2.0", "id": 2, "method": "memory/burn", "params": { "a": [1] } }),
            json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": { "name": "mem-help" } }),
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
            json!({ "jsonrpc": "2.0", "error": { "code": -32600, "message": "no" } }),
            json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32600, "message": "no" } }),
        ] {
            let message = read_message(&mut said.to_string().into_bytes());
            assert!(message.is_ok(), "{said}: {message:?}");
        }
    }

    // Holds P3-24.
    #[test]
    fn our_own_refusals_are_no_reason_for_another() {
        let refusal = read_message(&mut b"{bad".to_vec()).unwrap_err();
        assert!(read_message(&mut serde_json::to_vec(&refusal).unwrap()).is_ok());
    }

    #[test]
    fn half_a_character_in_a_text_costs_nothing_but_itself() {
        let said = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"query":"a\ud83d"}}}"#;
        let message = read_message(&mut said.as_bytes().to_vec()).unwrap();
        let ClientJsonRpcMessage::Request(asked) = message else { panic!("no request") };
        let ClientRequest::CallToolRequest(call) = asked.request else { panic!("another request") };
        assert_eq!(call.params.arguments.unwrap()["query"], "a\u{fffd}");
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_at_all_are_heard_or_answered(bytes: Vec<u8>, text in "[\\[\\]{}:,\"a-z0-9.]{0,60}") {
            let _ = read_message(&mut bytes.clone());
            let _ = read_message(&mut text.into_bytes());
        }
    }
}
