//! Calls of the browser tools: the session's browser runs in a jail of its own, which is launched when an address is opened. What a
//! page shows is a stranger's, and has the label of everything that was ever typed into the browser.

use crate::decision::page::{acts, reference};
use crate::decision::verdict;
use crate::effects::outcome::{Effect, done, failed, unknown};
use crate::effects::picture;
use crate::services;
use crate::state::context::GateContext;
use crate::state::mcp::{Instance, Lost, NO_PAGE, User, origin_of};
use crate::turn::context::TurnContext;
use ipc_proto::browser::{BrowserError, Command, Format, Key, Note, Outcome, Page};
use ipc_proto::credproxy::PLACEHOLDER;
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::mcp::{Act, Reply};
use ipc_proto::runner_gate::GateError;
use ipc_proto::scanner::Crossing;
use ipc_proto::tool::{self, ToolCall};
use ipc_proto::{List, Text};
use policy::Decision;
use serde::Deserialize as _;
use serde_json::{Map, Value};
use std::fmt::Write as _;
use std::sync::Arc;
use toolset::browser_tools::PREFIX;

/// Seconds of one command: more than a page has to load.
const SECONDS: u16 = 35;

/// The refusal of a placeholder, before the site.
const NO_SECRET: &str = "the placeholder of a secret is typed alone, and only where a [service.NAME] of this agent with `field` and \
                         `variable` has its `base_url` on the site of the page, which is";

/// Returns true if this tool uses the browser.
pub(crate) fn calls(tool: &str) -> bool {
    tool.starts_with(PREFIX)
}

/// Runs a call, which was permitted before.
///
/// # Errors
/// A process that every effect needs is not there.
pub(crate) async fn call(
    gate: &GateContext,
    context: &mut TurnContext,
    call: &ToolCall,
    args: &Map<String, Value>,
) -> Result<Effect, GateError> {
    let (command, browser) = match ready(gate, context, call, args).await {
        Ok(ready) => ready,
        Err(why) => return Ok(failed(&why)),
    };
    if tells(&command) {
        // Before anything of this label is told.
        browser.raise_to(&context.session.label.join(&context.workspace_label));
    }
    browser.browsing.begin(User {
        session: context.turn.session,
        turn: context.turn.id,
        agent: context.turn.agent.clone(),
        isolates: context.agent.browser_isolate,
    });
    let replied = browser.ask(Act::Browse(command), SECONDS).await;
    Ok(match replied {
        Ok(Reply::Browsed(Ok(outcome))) => {
            browser.browsing.shows(&outcome);
            if browser.browsing.has_left() {
                gate.mcp.close_browser(context.turn.session);
                return Ok(left(&browser, &outcome));
            }
            shown(gate, context, call, &browser, outcome).await?
        }
        Ok(Reply::Browsed(Err(BrowserError::Dead)) | Reply::Gone | Reply::TimedOut) | Err(Lost::Unknown) => {
            timed_out(&call.tool)
        }
        Ok(Reply::Browsed(Err(error))) => failed(&error.to_string()),
        Ok(Reply::Done { .. } | Reply::Items(_) | Reply::Asks { .. } | Reply::Refused(_)) => {
            failed("the browser gave no answer to this command")
        }
        Err(Lost::Unsent) => failed("the browser has just ended; call browser_navigate"),
    })
}

/// The command and the browser for it. The page must be the one that the call was decided on.
async fn ready(
    gate: &GateContext,
    context: &mut TurnContext,
    call: &ToolCall,
    args: &Map<String, Value>,
) -> Result<(Command, Arc<Instance>), String> {
    let command = command(gate, context, call, args)?;
    let browser = browser(gate, context, &command).await?;
    if acts(&call.tool) {
        let said = |name: &str| args.get(name).and_then(Value::as_str).unwrap_or_default();
        let act = browser.browsing.act(reference(args))?;
        if said("url") != act.site || said("element") != act.element {
            return Err(
                "stale_ref: the page is not the one that this call was decided on; call browser_snapshot"
                    .to_owned(),
            );
        }
        browser.browsing.permit();
        if let Command::Type { text, .. } = &command
            && text.contains(PLACEHOLDER)
        {
            let services = &gate.settings.services;
            if text.as_str() != PLACEHOLDER || !services::has_form(services, &context.turn.agent, &act.site) {
                return Err(format!("{NO_SECRET} {}", act.site));
            }
            browser.browsing.permit_secret();
        }
    }
    Ok((command, browser))
}

/// The outcome of a call without a reply: what was done on a page may have had an effect.
pub(crate) fn timed_out(tool: &str) -> Effect {
    if acts(tool) { unknown() } else { failed("the browser did not answer; call browser_navigate") }
}

/// The command of a call. An address is judged once more, and opened in the form that was judged.
fn command(
    gate: &GateContext,
    context: &mut TurnContext,
    call: &ToolCall,
    args: &Map<String, Value>,
) -> Result<Command, String> {
    let reference = reference(args).unwrap_or_default();
    let text = |name: &str| args.get(name).and_then(Value::as_str).unwrap_or_default();
    Ok(match call.tool.as_str() {
        "browser_navigate" => {
            let verdict = verdict::by_policy(gate, context, &call.tool, args, Class::Public);
            let url = verdict.target.filter(|_| verdict.decision != Decision::Deny);
            let url = url.ok_or("policy denies this address by now")?;
            Command::Navigate { url: Text::new(url).map_err(|_| "the address is too long")? }
        }
        "browser_snapshot" => Command::Snapshot,
        "browser_click" => Command::Click { reference },
        "browser_type" => {
            let text = Text::new(text("text")).map_err(|_| "the text is too long")?;
            Command::Type { reference, text }
        }
        "browser_select" => {
            let values = args.get("values").and_then(Value::as_array).into_iter().flatten();
            let values = values.filter_map(Value::as_str).map(Text::clip);
            Command::Select { reference, values: List::clip(values) }
        }
        "browser_press" => {
            let key = Key::deserialize(args.get("key").unwrap_or(&Value::Null));
            Command::Press { key: key.map_err(|_| "there is no such key")? }
        }
        "browser_back" => Command::Back,
        "browser_screenshot" => Command::Screenshot,
        "browser_close" => Command::Close,
        _ => return Err("this is no tool of the browser".to_owned()),
    })
}

/// Returns true if a command tells the browser something.
const fn tells(command: &Command) -> bool {
    matches!(command, Command::Navigate { .. } | Command::Type { .. } | Command::Select { .. })
}

/// The browser of the session. Only an address launches one.
async fn browser(
    gate: &GateContext,
    context: &TurnContext,
    command: &Command,
) -> Result<Arc<Instance>, String> {
    let session = context.turn.session;
    if let Command::Navigate { url } = command {
        let open = gate.mcp.open_browser(session).filter(|_| context.agent.browser_isolate);
        if open.is_some_and(|open| open.browsing.is_of_another_site(url)) {
            gate.mcp.close_browser(session);
        }
        return gate.mcp.browser(session).await.map_err(|trouble| trouble.to_string());
    }
    let open = gate.mcp.open_browser(session);
    open.ok_or_else(|| NO_PAGE.to_owned())
}

/// The result of a command, as the model is told it.
async fn shown(
    gate: &GateContext,
    context: &mut TurnContext,
    call: &ToolCall,
    browser: &Instance,
    outcome: Outcome,
) -> Result<Effect, GateError> {
    let (page, text) = match outcome {
        Outcome::Closed => return Ok(done("the browser is closed".to_owned(), None)),
        Outcome::Page(page) => (page, String::new()),
        Outcome::Snapshot { page, text, cut, .. } => {
            let more = if cut { "\n[the page has more than is shown]" } else { "" };
            (page, format!("\n\n{text}{more}"))
        }
        Outcome::Picture { page, format, bytes } => {
            let (media, name) = match format {
                Format::Png => ("image/png", "page.png"),
                Format::Jpeg => ("image/jpeg", "page.jpg"),
            };
            let length = bytes.len();
            picture::show(gate, context, call, (media, name), bytes).await?;
            (page, format!("\n[a picture of {length} bytes]"))
        }
    };
    Ok(told(browser, &page, format!("{}{text}", head(&page))))
}

/// The result of a command that led an isolated browser to another site; the browser was closed.
fn left(browser: &Instance, outcome: &Outcome) -> Effect {
    let blank = Page::default();
    let page = match outcome {
        Outcome::Page(page) | Outcome::Snapshot { page, .. } | Outcome::Picture { page, .. } => page,
        Outcome::Closed => &blank,
    };
    let site = origin_of(&page.url).map_or_else(String::new, |origin| origin.url());
    let text = format!(
        "It led to {site}, another site than the browser was launched for, and this agent's browser shows one site a launch: it was \
         closed with its logins. Call browser_navigate to open an address there."
    );
    told(browser, page, text)
}

/// A text about a page, which is its site's.
fn told(browser: &Instance, page: &Page, output: String) -> Effect {
    let host = origin_of(&page.url).map_or_else(|| "blank".to_owned(), |origin| origin.host.to_string());
    let source = format!("browser:{host}");
    let label = Label::of(Trust::Untrusted, Class::Internal, &source).join(&browser.label());
    Effect {
        outcome: tool::Outcome::Success,
        output,
        label: Some(label),
        crossing: Crossing::Web,
        source: Some(source),
    }
}

/// The address, the title and the events of a page.
fn head(page: &Page) -> String {
    let mut head = format!("Address: {}\nTitle: {}", page.url, page.title);
    for note in page.notes.iter() {
        let _ = match note {
            Note::DialogDismissed(text) => write!(head, "\nA dialog was dismissed: {text}"),
            Note::ScriptStopped => {
                write!(head, "\nThe page opened dialogs without end; its script was stopped")
            }
            Note::PopupRefused(url) => write!(head, "\nA second window was refused: {url}"),
            Note::DownloadRefused(name) => write!(head, "\nA download was refused: {name}"),
            Note::ChooserRefused => write!(head, "\nThe page asked for a file and was given none"),
            Note::StillLoading => write!(head, "\nThe page still loads"),
        };
    }
    head
}
