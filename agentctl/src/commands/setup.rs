//! `agentctl setup`: a provider, its key and a test call, in three prompts or by flags. Steps that need a host are left for
//! later if none runs, and the output says so. The key leaves this process only sealed to credproxy, like every secret; no
//! configuration ever holds it.

pub(crate) mod edit;
mod key;
mod known;
mod messages;
pub(crate) mod place;
mod provider;
mod restart;
mod served;

use crate::app::{App, Outcome};
use crate::commands::{config, cred};
use crate::failure::Failure;
use crate::out::Out;
use crate::{host, view};
use ipc_proto::Name;
use ipc_proto::config::UserRole;
use ipc_proto::control::{ControlError, Denied, method};
use ipc_proto::gate::Tried;
use ipc_proto::model::{ModelInfo, ModelName};
pub(crate) use place::is_same;
use provider::Provider;
use serde_json::{Value, json};
use std::io::{self, BufRead};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The longest wait for a host that restarts.
const RESTART: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(500);

/// The arguments of `setup`.
#[derive(clap::Args)]
pub(crate) struct Setup {
    /// A provider that is known by its name, such as openai, anthropic, ollama, openrouter, groq or mistral, or the base
    /// URL of an OpenAI-compatible server
    #[arg(long, value_name = "NAME|URL")]
    provider: Option<String>,
    /// The name of a provider that is given by its URL; by default a name made from its host
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The model, by the provider's own name
    #[arg(long)]
    model: Option<String>,
    #[command(flatten)]
    key: key::Source,
    /// The configuration to change; by default the one that the running host reads, else the usual one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Ask nothing
    #[arg(long, short)]
    yes: bool,
}

/// The steps done so far.
struct Done {
    provider: Provider,
    model: ModelName,
    config: PathBuf,
    /// The file that the running host reads instead.
    other: Option<PathBuf>,
    backup: Option<PathBuf>,
    /// True if the key is in the vault; `None` if the provider needs none.
    stored: Option<bool>,
}

/// Sets up a provider, and tries it.
pub(crate) async fn setup(app: &App, setup: Setup) -> Outcome {
    let person = !setup.yes && !app.out.json && Out::interactive();
    for_owner(app).await?;
    let provider = choose(app, &setup, person)?;
    let model = model(app, &setup, &provider, person)?;
    let model = ModelName::new(format!("{}/{model}", provider.name))
        .map_err(|why| Failure::TooLong { what: "--model", why })?;
    let read = host::status(app).await.ok().and_then(|host| host::config(&host));
    let config = setup.config.clone().or_else(|| read.clone()).unwrap_or_else(config::usual);
    let draft = place::draft(&config, &provider, &model)?;
    let stored = store(app, &setup, &provider, person).await?;
    let backup = draft.put()?;
    let other = read.filter(|read| !is_same(read, &config));
    let done = Done { provider, model, config, other, backup, stored };
    if !app.out.json {
        done.print_summary(app)?;
    }
    let tried = test(app, &done, person).await?;
    done.end(app, tried)
}

/// Refuses a caller who is not an owner of the running host. Without a host nobody is refused.
async fn for_owner(app: &App) -> Result<(), Failure> {
    let needs = || Name::clip("owner");
    let denied = match app.link.ask(&method::whoami, async |c, cx| c.whoami(cx).await).await {
        Ok(user) if user.role != UserRole::Owner => {
            let uid = nix::unistd::geteuid().as_raw();
            Denied { needs: needs(), uid, user: Some((user.name, Name::clip(&view::word(user.role)))) }
        }
        Err(Failure::Control(ControlError::NotAllowed(denied))) => Denied { needs: needs(), ..denied },
        Ok(_) | Err(_) => return Ok(()),
    };
    Err(Failure::Control(ControlError::NotAllowed(denied)))
}

fn choose(app: &App, setup: &Setup, person: bool) -> Result<Provider, Failure> {
    let asked = match &setup.provider {
        Some(provider) => provider.clone(),
        None if person => {
            app.out.remark(&format!("Known providers: {}.", known::names().join(", ")));
            typed(app, "Provider, by its name or a base URL [openai]: ", "openai")?
        }
        None => {
            let known = known::names().join(", ");
            return Err(Failure::Usage(format!("--provider is missing: a URL, or one of {known}")));
        }
    };
    Provider::named(&asked, setup.name.as_deref()).map_err(|why| Failure::Usage(why.to_string()))
}

fn model(app: &App, setup: &Setup, provider: &Provider, person: bool) -> Result<String, Failure> {
    match (&setup.model, provider.model) {
        (Some(model), _) if model.is_empty() => Err(Failure::Usage("--model is empty".to_owned())),
        (Some(model), _) => {
            let own = model.strip_prefix(&format!("{}/", provider.name));
            Ok(own.unwrap_or(model).to_owned())
        }
        (None, Some(usual)) => Ok(usual.to_owned()),
        (None, None) => served(app, provider, person),
    }
}

/// One of the models that the server lists, by its number or name; any name where it lists none.
fn served(app: &App, provider: &Provider, person: bool) -> Result<String, Failure> {
    let models = provider.served();
    if !person {
        let why = match &models[..] {
            [] => format!("{} has no usual one", provider.name),
            models => format!("{} has {}", provider.name, models.join(", ")),
        };
        return Err(Failure::Usage(format!("--model is missing: {why}")));
    }
    let Some(first) = models.first() else { return typed(app, "Model, by the server's own name: ", "") };
    app.out.remark(&format!("{} has:", provider.name));
    for (number, model) in (1..).zip(&models) {
        app.out.remark(&format!("  {number:>2}  {model}"));
    }
    let typed = typed(app, &format!("Model, by its number or name [{first}]: "), first)?;
    let listed = typed.parse::<usize>().ok().and_then(|number| models.get(number.checked_sub(1)?));
    Ok(listed.cloned().unwrap_or(typed))
}

/// Stores the key, if there is one. Without a host this is left for later, and the output says so.
async fn store(app: &App, setup: &Setup, provider: &Provider, person: bool) -> Result<Option<bool>, Failure> {
    let Some((name, binding)) = provider.secret() else { return Ok(None) };
    let Some(value) = setup.key.read(&provider.name, person)? else {
        return Ok(Some(is_stored(app, &name).await));
    };
    match cred::store(app, &name, binding, value).await {
        Ok(()) => Ok(Some(true)),
        Err(Failure::Unreachable { .. }) => Ok(Some(false)),
        Err(failure) => Err(failure),
    }
}

/// Returns true if a key of this name was stored before.
async fn is_stored(app: &App, name: &str) -> bool {
    let found = app.link.ask(&method::cred_list, async |c, cx| c.cred_list(cx).await).await;
    found.is_ok_and(|secrets| secrets.iter().any(|secret| secret.name.as_str() == name))
}

/// A typed line, or the default for an empty one; `None` at the end of input.
fn ask(app: &App, question: &str, usual: &str) -> Result<Option<String>, Failure> {
    app.out.ask(question)?;
    let mut line = String::new();
    if io::stdin().lock().read_line(&mut line)? == 0 {
        app.out.line("")?;
        return Ok(None);
    }
    let line = line.trim();
    Ok(Some(if line.is_empty() { usual } else { line }.to_owned()))
}

/// The same for a question that must have an answer, before anything was changed.
fn typed(app: &App, question: &str, usual: &str) -> Result<String, Failure> {
    let nothing = || Failure::Usage("nothing was typed; nothing was changed".to_owned());
    ask(app, question, usual)?.filter(|line| !line.is_empty()).ok_or_else(nothing)
}

/// The result of the test call: an answer, a message about its failure, or not tried yet.
enum Test {
    Answered(Tried, Option<ModelInfo>),
    Failed(String),
    Later,
}

/// Calls the model, once a host knows it.
async fn test(app: &App, done: &Done, person: bool) -> Result<Test, Failure> {
    if done.stored == Some(false) {
        return Ok(Test::Later);
    }
    let mut known = listed(app, &done.model).await;
    if known.is_none() && person {
        if done.other.is_none() {
            offer_restart(app)?;
        }
        let question = "Press Enter once the host runs again to have the model tried, or type `later`: ";
        if ask(app, question, "now")?.as_deref() == Some("now") {
            known = wait(app, &done.model).await;
        }
    }
    let Some(info) = known else { return Ok(Test::Later) };
    app.out.remark(&format!("{} is asked for a word; one that is busy is asked again", done.model));
    let tried = app.link.ask(&method::model_test, async |c, cx| c.model_test(cx, done.model.clone()).await);
    match tried.await {
        Ok(tried) => Ok(Test::Answered(tried, Some(info))),
        Err(failure) => Ok(Test::Failed(messages::advice(&failure, &done.provider, &done.model))),
    }
}

/// Offers to restart the host, where the service manager runs it.
fn offer_restart(app: &App) -> Result<(), Failure> {
    let Some(command) = restart::command(config::is_system()) else { return Ok(()) };
    let question = format!("Restart the host now, by `{}`? [Y/n] ", command.join(" "));
    let answer = ask(app, &question, "y")?;
    if matches!(answer.as_deref(), Some("y" | "Y" | "yes")) && !restart::succeeds(&command) {
        app.out.remark("the restart failed; see: systemctl status cordon");
    }
    Ok(())
}

async fn listed(app: &App, name: &ModelName) -> Option<ModelInfo> {
    let models = app.link.ask(&method::models, async |c, cx| c.models(cx).await).await.ok()?;
    models.into_iter().find(|model| model.name == *name)
}

async fn wait(app: &App, name: &ModelName) -> Option<ModelInfo> {
    let begun = Instant::now();
    while begun.elapsed() < RESTART {
        if let Some(found) = listed(app, name).await {
            return Some(found);
        }
        tokio::time::sleep(PAUSE).await;
    }
    None
}

impl Done {
    /// Prints the steps that were done, and the reach of the key.
    fn print_summary(&self, app: &App) -> Result<(), Failure> {
        let config = self.config.display();
        let kept =
            self.backup.as_ref().map(|path| format!("; what stood there before is {}", path.display()));
        app.out.line(&format!(
            "{config} names {} for the agent default{}",
            self.model,
            kept.unwrap_or_default()
        ))?;
        let reach = &self.provider.at;
        app.out.line(&format!(
            "Nothing but {reach} is reached for it, by dialer; agents themselves have no network."
        ))?;
        let name = &self.provider.name;
        match self.stored {
            None => app.out.line("It needs no key.")?,
            Some(true) => app.out.line(&format!(
                "The key is the secret {name}: it goes to {reach} alone, in its header, and never comes out again."
            ))?,
            Some(false) => app.out.line(&format!("No key is stored yet: {}", self.provider.store_command()))?,
        }
        let restart = self.restart();
        Ok(app.out.line(&match &self.other {
            None => format!("A host that runs already reads it when it starts again: {restart}"),
            Some(other) => format!(
                "The host that runs reads {} and not this file: start it with `{restart}`.",
                other.display()
            ),
        })?)
    }

    /// The sentence about how a host reads the new configuration.
    fn restart(&self) -> String {
        match &self.other {
            None => place::restart().to_owned(),
            Some(_) => format!("agentd run --config {}", self.config.display()),
        }
    }

    fn end(&self, app: &App, test: Test) -> Outcome {
        let (words, failed) = match &test {
            Test::Answered(tried, info) => (messages::verdict(tried, &self.model, info.as_ref()), false),
            Test::Failed(advice) => (advice.clone(), true),
            Test::Later => (self.later(), false),
        };
        if app.out.json {
            let mut document = self.document(&test);
            if failed && let Some(fields) = document.as_object_mut() {
                fields.insert("ok".to_owned(), Value::Bool(false));
                fields.insert("error".to_owned(), json!({ "type": "test_failed", "message": words }));
            }
            app.out.document(document)?;
        } else {
            app.out.line(&words)?;
        }
        Ok(ExitCode::from(u8::from(failed)))
    }

    fn later(&self) -> String {
        format!(
            "Not tried yet. When the host has read it{}: agentctl model test {}",
            if self.stored == Some(false) { " and the key is stored" } else { "" },
            self.model
        )
    }

    fn document(&self, test: &Test) -> Value {
        let tested = match test {
            Test::Answered(tried, _) => json!(tried),
            Test::Failed(_) | Test::Later => Value::Null,
        };
        let price = match test {
            Test::Answered(_, Some(info)) if info.priced => json!({
                "input_micros_per_million": info.input_micros,
                "output_micros_per_million": info.output_micros,
            }),
            _ => Value::Null,
        };
        let text = |path: &Path| path.to_string_lossy().into_owned();
        json!({
            "config": text(&self.config), "host_reads": self.other.as_deref().map(text),
            "backup": self.backup.as_deref().map(text), "provider": self.provider.name,
            "model": self.model,
            "secret": self.provider.secret().map(|(name, _)| name), "stored": self.stored,
            "reaches": [self.provider.at], "price": price, "test": tested,
            "restart": self.restart(),
        })
    }
}
