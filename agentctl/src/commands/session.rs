//! `agentctl session`: conversations.

use crate::app::{App, Outcome};
use crate::commands::statistics::{self, Statistics};
use crate::{text, view};
use ipc_proto::control::method;
use ipc_proto::router::{SessionName, SessionView};
use serde_json::{Value, json};
use std::process::ExitCode;

/// The commands of `session`.
#[derive(clap::Subcommand)]
pub(crate) enum Session {
    /// List sessions, last used first
    List,
    /// Show a session, its statistics and its transcript
    Show {
        /// The session
        #[arg(value_parser = crate::arguments::text::<128>)]
        name: SessionName,
    },
    /// End a session; its transcript stays
    End {
        /// The session
        #[arg(value_parser = crate::arguments::text::<128>)]
        name: SessionName,
    },
}

/// Lists sessions.
pub(crate) async fn list(app: &App) -> Outcome {
    let found = app.link.ask(&method::sessions, async |c, cx| c.sessions(cx).await).await?;
    let head = ["SESSION", "USER", "AGENT", "STATUS", "MESSAGES", "LAST USED", "LABEL"];
    Ok(app.out.list("sessions", &found, view::session, &head, |session| {
        vec![
            session.name.to_string(),
            session.user.to_string(),
            session.agent.to_string(),
            session.status.to_string(),
            session.messages.to_string(),
            text::utc(session.used_ms),
            view::label(&session.label),
        ]
    })?)
}

/// Shows a session.
pub(crate) async fn show(app: &App, name: SessionName) -> Outcome {
    let view = app.link.ask(&method::session, async |c, cx| c.session(cx, name.clone()).await).await?;
    let counted = statistics::of(app, &view.info).await;
    if app.out.json {
        app.out.document(document(&view, &counted))?;
    } else {
        print(app, &view, &counted)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Missing statistics are `null`, with the reason beside them.
fn document(view: &SessionView, counted: &Result<Statistics, String>) -> Value {
    let transcript: Vec<_> = view.transcript.iter().map(view::labelled).collect();
    json!({
        "session": view::session(&view.info),
        "statistics": counted.as_ref().ok().map(Statistics::json),
        "no_statistics": counted.as_ref().err(),
        "transcript": transcript,
    })
}

fn print(app: &App, view: &SessionView, counted: &Result<Statistics, String>) -> std::io::Result<()> {
    let info = &view.info;
    app.out.pairs(&[
        ("session", info.name.to_string()),
        ("id", info.id.to_string()),
        ("user", info.user.to_string()),
        ("agent", info.agent.to_string()),
        ("status", info.status.to_string()),
        ("workspace", info.workspace.to_string()),
        ("label", view::label(&info.label)),
        ("created", text::utc(info.created_ms)),
        ("last used", text::utc(info.used_ms)),
    ])?;
    app.out.line("")?;
    match counted {
        Ok(counted) => app.out.pairs(&counted.facts())?,
        Err(why) => app.out.line(&format!("no statistics: {why}"))?,
    }
    for entry in &view.transcript {
        let role = view::word(entry.message.role);
        app.out.line(&format!("\n{role} [{}]", view::label(&entry.label)))?;
        if !entry.message.text.is_empty() {
            app.out.line(entry.message.text.trim_end())?;
        }
        for call in &entry.message.calls {
            app.out.line(&format!("  - {} {}", call.tool, text::begin(&call.args, 200)))?;
        }
    }
    Ok(())
}

/// Ends a session.
pub(crate) async fn end(app: &App, name: SessionName) -> Outcome {
    app.link.ask(&method::end_session, async |c, cx| c.end_session(cx, name.clone()).await).await?;
    Ok(app.out.done(json!({ "session": name }), &format!("session {name} has ended"))?)
}
