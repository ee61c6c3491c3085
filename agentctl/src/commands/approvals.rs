//! `agentctl approvals`: lists, shows and answers the approvals that wait for a person, and revokes grants.

use crate::app::{App, Outcome};
use crate::approval::{answer, card, ends, facts, fetch, present};
use crate::failure::Failure;
use crate::form::{Form, Values};
use crate::{text, view, wrap};
use ipc_proto::Text;
use ipc_proto::approval::{ApprovalView, Grant, Reply, State};
use ipc_proto::control::{ControlError, method};
use ipc_proto::ids::ApprovalId;
use ipc_proto::router::RouterError;
use nix::sys::termios::{FlushArg, tcflush};
use serde_json::json;
use std::io::{BufRead, IsTerminal};
use std::process::ExitCode;

/// The commands of `approvals`.
#[derive(clap::Subcommand)]
pub(crate) enum Approvals {
    /// List pending approvals
    List {
        /// Also list answered and expired ones
        #[arg(long)]
        all: bool,
    },
    /// Show one approval in full, with the exact action
    Show {
        /// Its id, or the first digits of it
        #[arg(value_parser = prefix)]
        id: String,
    },
    /// Show one approval, and approve exactly that action
    Approve {
        /// Its id, or the first digits of it
        #[arg(value_parser = prefix)]
        id: String,
        /// Also approve the same action for the rest of the session
        #[arg(long)]
        session: bool,
        /// The value of a field, where a server asks you to fill in a form; may be given again
        #[arg(long = "set", value_name = "NAME=VALUE")]
        values: Vec<String>,
        /// Do not ask for confirmation
        #[arg(long, short)]
        yes: bool,
    },
    /// Deny one approval
    Deny {
        /// Its id, or the first digits of it
        #[arg(value_parser = prefix)]
        id: String,
    },
    /// List grants for the rest of a session
    Grants,
    /// Revoke a grant for the rest of a session
    Revoke {
        /// The grant's id, or the first digits of it
        #[arg(value_parser = prefix)]
        id: String,
    },
}

/// The beginning of an id: hexadecimal digits, with or without its dashes.
fn prefix(text: &str) -> Result<String, String> {
    let digits: String = text.chars().filter(|c| *c != '-').collect::<String>().to_ascii_lowercase();
    let good = (1..=32).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if good { Ok(digits) } else { Err("an id, or the beginning of one, in hexadecimal digits".to_owned()) }
}

/// Runs the command.
pub(crate) async fn run(app: &App, command: Approvals) -> Outcome {
    match command {
        Approvals::List { all } => list(app, all).await,
        Approvals::Show { id } => show(app, id).await,
        Approvals::Approve { id, session, values, yes } => approve(app, id, (session, yes), &values).await,
        Approvals::Deny { id } => deny(app, id).await,
        Approvals::Grants => grants(app).await,
        Approvals::Revoke { id } => revoke(app, id).await,
    }
}

/// Lists approvals.
async fn list(app: &App, all: bool) -> Outcome {
    let found = app.link.ask(&method::approvals, async |c, cx| c.approvals(cx, all).await).await?;
    let head = ["ID", "STATE", "USER", "SESSION", "TOOL", "ENDS", "REASON"];
    let now = text::now_ms();
    Ok(app.out.list("approvals", &found, view::approval, &head, |it| {
        vec![
            it.id.to_string(),
            view::word(it.state),
            it.user.to_string(),
            it.session.to_string(),
            it.tool.to_string(),
            ends(it, now),
            text::begin(&it.reason, 100),
        ]
    })?)
}

/// Shows one.
async fn show(app: &App, id: String) -> Outcome {
    let view = fetch(app, find(app, &id).await?).await?;
    if app.out.json {
        app.out.document(json!({ "approval": view::approval_view(&view) }))?;
    } else {
        app.out.pairs(&facts(&view))?;
        app.out.line(&format!("\n{}", text::exact(&view.question.action)))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Approves one: exactly the action that is shown here.
async fn approve(app: &App, id: String, (session, yes): (bool, bool), given: &[String]) -> Outcome {
    if app.out.json && !yes {
        return Err(Failure::Usage("with --json there is no confirmation: give --yes".to_owned()));
    }
    let view = fetch(app, find(app, &id).await?).await?;
    waits(&view)?;
    let form = Form::of(&view.question);
    let mut values = match &form {
        Some(form) => form.given(given)?,
        None if given.is_empty() => Values::new(),
        None => return Err(Failure::Usage("this is no form, and takes no --set".to_owned())),
    };
    if yes && !app.out.json {
        present(app, &view);
    }
    if !yes && !confirmed(app, &view, session)? {
        return Ok(app
            .out
            .done(json!({ "approval": view::approval_view(&view) }), "nothing was answered")?);
    }
    let form = match form {
        Some(form) => {
            if !yes {
                fill(app, &form, &mut values)?;
            }
            form.sent(&values)?
        }
        None => Text::default(),
    };
    let reply = if session { Reply::Session } else { Reply::Once };
    let info = answer(app, &view.question, reply, &form).await?;
    let sentence = if session { "approved, and for the rest of the session" } else { "approved" };
    Ok(app
        .out
        .done(json!({ "approval": view::approval(&info), "action": view.question.action }), sentence)?)
}

/// Asks for the fields that have no value yet.
fn fill(app: &App, form: &Form, values: &mut Values) -> Result<(), Failure> {
    let mut from = 0;
    while let Some(at) = form.open(values, from) {
        app.out.ask(&form.prompt(at))?;
        let mut line = String::new();
        if std::io::stdin().lock().read_line(&mut line)? == 0 {
            return Err(Failure::Usage("the form was not filled in".to_owned()));
        }
        match form.put(values, at, &line) {
            Ok(()) => from = at + 1,
            Err(why) => app.out.remark(&why),
        }
    }
    Ok(())
}

/// Denies one.
async fn deny(app: &App, id: String) -> Outcome {
    let view = fetch(app, find(app, &id).await?).await?;
    waits(&view)?;
    let info = answer(app, &view.question, Reply::Deny, &Text::default()).await?;
    Ok(app.out.done(json!({ "approval": view::approval(&info) }), "denied: it is not run")?)
}

/// Lists grants.
async fn grants(app: &App) -> Outcome {
    let found = app.link.ask(&method::grants, async |c, cx| c.grants(cx).await).await?;
    let head = ["ID", "TOOL", "SESSION", "GIVEN BY", "GIVEN"];
    Ok(app.out.list("grants", &found, view::grant, &head, |grant| {
        vec![
            grant.id.to_string(),
            grant.tool.to_string(),
            grant.session.to_string(),
            grant.given_by.to_string(),
            text::utc(grant.given_ms),
        ]
    })?)
}

/// Revokes a grant.
async fn revoke(app: &App, id: String) -> Outcome {
    let held = app.link.ask(&method::grants, async |c, cx| c.grants(cx).await).await?;
    let id = only(&id, held.iter().map(|grant: &Grant| grant.id))?;
    app.link.ask(&method::revoke, async |c, cx| c.revoke(cx, id).await).await?;
    Ok(app.out.done(json!({ "id": id.to_string() }), "taken back")?)
}

fn waits(view: &ApprovalView) -> Result<(), Failure> {
    match view.info.state {
        State::Pending => Ok(()),
        settled => Err(Failure::Control(ControlError::Router(RouterError::NotPending(settled)))),
    }
}

/// Shows the card and asks. An action that the card does not show whole is shown with all its details at once.
fn confirmed(app: &App, view: &ApprovalView, session: bool) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        let why = "standard input is no terminal: --yes approves the shown action without a confirmation";
        return Err(Failure::Usage(why.to_owned()));
    }
    let card = card(view);
    card.lines(wrap::columns(std::io::stderr())).iter().for_each(|line| app.out.remark(line));
    if !card.is_whole {
        present(app, view);
    }
    let scope = if session { " for the rest of the session" } else { "" };
    loop {
        // Input typed before the question was visible is not an answer.
        tcflush(std::io::stdin(), FlushArg::TCIFLUSH).map_err(std::io::Error::from)?;
        app.out.ask(&format!("approve this{scope}? [y]es / [N]o / [d]etails: "))?;
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line)?;
        match line.trim() {
            "d" | "details" => present(app, view),
            answer => return Ok(matches!(answer, "y" | "Y" | "yes")),
        }
    }
}

/// The approval with this prefix: the only pending one, else the only one.
async fn find(app: &App, prefix: &str) -> Result<ApprovalId, Failure> {
    if prefix.len() == 32 {
        return only(prefix, prefix.parse());
    }
    let all = app.link.ask(&method::approvals, async |c, cx| c.approvals(cx, true).await).await?;
    let waiting = || all.iter().filter(|it| it.state == State::Pending);
    match only(prefix, waiting().map(|it| it.id)) {
        Err(Failure::Control(_)) => only(prefix, all.iter().map(|it| it.id)),
        found => found,
    }
}

/// The only id with this prefix.
fn only(prefix: &str, ids: impl IntoIterator<Item = ApprovalId>) -> Result<ApprovalId, Failure> {
    let begins = |id: &ApprovalId| text::hex(&id.bytes()).starts_with(prefix);
    let found: Vec<ApprovalId> = ids.into_iter().filter(begins).collect();
    match &found[..] {
        [id] => Ok(*id),
        [] => Err(Failure::Control(ControlError::Router(RouterError::NoApproval))),
        many => {
            let names: Vec<String> = many.iter().take(8).map(ToString::to_string).collect();
            Err(Failure::Usage(format!("{prefix} is the beginning of several ids: {}", names.join(", "))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_may_be_begun_and_its_dashes_left_out() {
        for (text, digits) in
            [("A1", "a1"), ("01020304-0506", "010203040506"), (&"f".repeat(32), &"f".repeat(32))]
        {
            assert_eq!(prefix(text).unwrap(), digits);
        }
        for wrong in ["", "-", "xyz", &"f".repeat(33), "1 2"] {
            assert!(prefix(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_beginning_means_the_only_id_that_begins_so() {
        let ids = [[0x11; 16], [0x12; 16], [0x22; 16]].map(ApprovalId::from_bytes);
        assert_eq!(only("2", ids).unwrap(), ids[2]);
        assert_eq!(only("12", ids).unwrap(), ids[1]);
        assert!(matches!(only("1", ids), Err(Failure::Usage(_))));
        assert!(matches!(only("3", ids), Err(Failure::Control(_))));
    }
}
