//! Resources and prompts of a server, for a person to read. All of it is a stranger's text, and is escaped on a terminal.

use crate::app::{App, Outcome};
use crate::failure::Failure;
use ipc_proto::control::method;
use ipc_proto::mcp::{Act, Item, Reply, URI};
use ipc_proto::{Name, Text};
use serde_json::{Map, Value, json};
use std::process::ExitCode;

/// Lists resources, or prints one.
pub(super) async fn resource(app: &App, name: &Name, uri: Option<Text<URI>>) -> Outcome {
    let act = uri.map_or(Act::Resources, |uri| Act::Read { uri });
    answered(app, name, act, ("resources", "RESOURCE")).await
}

/// Lists prompts, or prints one.
pub(super) async fn prompt(
    app: &App,
    name: &Name,
    prompt: Option<Text<128>>,
    arguments: &[String],
) -> Outcome {
    let mut given = Map::new();
    for argument in arguments {
        let usage = || Failure::Usage(format!("{argument} is no argument: give NAME=VALUE"));
        let (name, value) = argument.split_once('=').ok_or_else(usage)?;
        given.insert(name.to_owned(), Value::from(value));
    }
    let args = Text::new(Value::Object(given).to_string());
    let args = args.map_err(|why| Failure::TooLong { what: "the arguments", why })?;
    let act = prompt.map_or(Act::Prompts, |name| Act::Prompt { name, args });
    answered(app, name, act, ("prompts", "PROMPT")).await
}

async fn answered(app: &App, name: &Name, act: Act, (key, head): (&str, &str)) -> Outcome {
    let asked = app.link.ask(&method::mcp_ask, async |c, cx| c.mcp_ask(cx, name.clone(), act.clone()).await);
    match asked.await? {
        Reply::Items(items) => Ok(app.out.list(key, &items, document, &[head, "DESCRIPTION"], |item| {
            vec![item.name.to_string(), item.description.to_string()]
        })?),
        Reply::Done { text, .. } => {
            if app.out.json {
                app.out.document(json!({ "server": name, "text": text }))?;
            } else {
                app.out.content(format!("{text}\n").as_bytes(), false, false)?;
            }
            Ok(ExitCode::SUCCESS)
        }
        Reply::Refused(why) => Err(Failure::Server { name: name.to_string(), why: why.to_string() }),
        Reply::TimedOut | Reply::Gone | Reply::Asks { .. } | Reply::Browsed(_) => {
            Err(Failure::Server { name: name.to_string(), why: "it did not answer".to_owned() })
        }
    }
}

fn document(item: &Item) -> Value {
    json!({ "name": item.name, "description": item.description })
}
