//! The environment of a program: the address of the model API, placeholders in the place of keys, and, for known
//! programs, settings which point there and switch their inner sandbox off, since the jail confines them. A profile can
//! only write into the jail's own home; it must never hold a key.

use super::api::PORT;
use crate::RunnerFault;
use crate::command::PATH;
use crate::egress;
use crate::places::Places;
use ipc_proto::router::Profile;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

/// Stands where a key goes.
const PLACEHOLDER: &str = "placeholder";

/// Writes the settings, and gives the variables.
pub(super) fn prepare(
    profile: Profile,
    model: &str,
    places: &Places,
    authority: Option<&Path>,
) -> Result<Vec<(&'static str, String)>, RunnerFault> {
    let home = home(places);
    fs::create_dir_all(&home)?;
    let mut variables = common(model, places, &home);
    variables.extend(egress::ways(authority));
    match profile {
        Profile::Plain => {}
        Profile::Codex => write(&home, ".codex/config.toml", &codex(model, &places.workspace))?,
        Profile::ClaudeCode => {
            let said = json!({"hasCompletedOnboarding": true, "bypassPermissionsModeAccepted": true,
                "customApiKeyResponses": {"approved": [PLACEHOLDER], "rejected": []}});
            write(&home, ".claude.json", &said.to_string())?;
            let settings =
                json!({"permissions": {"defaultMode": "bypassPermissions"}, "sandbox": {"enabled": false}});
            write(&home, ".claude/settings.json", &settings.to_string())?;
            let said = |name, value: &str| (name, value.to_owned());
            variables.extend([
                said("ANTHROPIC_MODEL", model),
                said("ANTHROPIC_SMALL_FAST_MODEL", model),
                said("ANTHROPIC_DEFAULT_HAIKU_MODEL", model),
                said("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
                said("DISABLE_AUTOUPDATER", "1"),
                said("IS_SANDBOX", "1"),
            ]);
        }
        Profile::Opencode => {
            write(&home, ".config/opencode/opencode.json", &opencode(model))?;
            for name in ["OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_AUTOUPDATE"] {
                variables.push((name, "1".to_owned()));
            }
        }
    }
    Ok(variables)
}

/// Puts the agent's rules where the program looks for those of every folder; false if it has no such place.
pub(super) fn instruct(profile: Profile, text: &str, places: &Places) -> Result<bool, RunnerFault> {
    let place = match profile {
        Profile::Plain => return Ok(false),
        Profile::Codex => ".codex/AGENTS.md",
        Profile::ClaudeCode => ".claude/CLAUDE.md",
        Profile::Opencode => ".config/opencode/AGENTS.md",
    };
    write(&home(places), place, text)?;
    Ok(true)
}

/// Where a program's home is.
pub(super) fn home(places: &Places) -> PathBuf {
    places.tmp.join("home")
}

fn common(model: &str, places: &Places, home: &Path) -> Vec<(&'static str, String)> {
    let shown = |path: &Path| path.display().to_string();
    let base = format!("http://127.0.0.1:{PORT}");
    vec![
        ("PATH", PATH.to_owned()),
        ("HOME", shown(home)),
        ("TMPDIR", shown(&places.tmp)),
        ("PWD", shown(&places.workspace)),
        ("USER", "agent".to_owned()),
        ("SHELL", "/bin/sh".to_owned()),
        ("LANG", "C.UTF-8".to_owned()),
        ("OPENAI_BASE_URL", format!("{base}/v1")),
        ("OPENAI_API_KEY", PLACEHOLDER.to_owned()),
        ("ANTHROPIC_BASE_URL", base),
        ("ANTHROPIC_API_KEY", PLACEHOLDER.to_owned()),
        ("CORDON_MODEL", model.to_owned()),
    ]
}

/// Strings of JSON are strings of TOML as well.
fn codex(model: &str, workspace: &Path) -> String {
    let (model, workspace) = (json!(model), json!(workspace.display().to_string()));
    format!(
        "model = {model}\n\
         model_provider = \"cordon\"\n\
         approval_policy = \"never\"\n\
         sandbox_mode = \"danger-full-access\"\n\
         check_for_update_on_startup = false\n\
         \n\
         [model_providers.cordon]\n\
         name = \"Cordon\"\n\
         base_url = \"http://127.0.0.1:{PORT}/v1\"\n\
         env_key = \"OPENAI_API_KEY\"\n\
         wire_api = \"responses\"\n\
         \n\
         [projects.{workspace}]\n\
         trust_level = \"trusted\"\n"
    )
}

fn opencode(model: &str) -> String {
    let options = json!({"baseURL": format!("http://127.0.0.1:{PORT}/v1"), "apiKey": PLACEHOLDER});
    let named = format!("cordon/{model}");
    json!({
        "$schema": "https://opencode.ai/config.json",
        "provider": {"cordon": {
            "npm": "@ai-sdk/openai-compatible", "name": "Cordon", "options": options,
            "models": {model: {"name": model}},
        }},
        "model": named, "small_model": named, "share": "disabled", "autoupdate": false,
        "permission": {"edit": "allow", "bash": "allow", "webfetch": "deny"},
    })
    .to_string()
}

fn write(home: &Path, name: &str, text: &str) -> Result<(), RunnerFault> {
    let path = home.join(name);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    Ok(fs::write(path, text)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use manifest::command::Mode;

    fn prepared(profile: Profile) -> (tempfile::TempDir, Vec<(&'static str, String)>) {
        let folder = tempfile::tempdir().unwrap();
        let tmp = folder.path().to_owned();
        let places = Places { mode: Mode::System, workspace: "/workspace".into(), tmp };
        let variables = prepare(profile, "corp/one", &places, None).unwrap();
        (folder, variables)
    }

    #[test]
    fn every_profile_uses_the_jails_loopback_and_a_placeholder() {
        for profile in [Profile::Plain, Profile::Codex, Profile::ClaudeCode, Profile::Opencode] {
            let (_folder, variables) = prepared(profile);
            let value = |name: &str| {
                variables
                    .iter()
                    .find(|(it, _)| *it == name)
                    .map(|(_, value)| value.as_str())
                    .unwrap_or_default()
            };
            assert_eq!(value("OPENAI_BASE_URL"), "http://127.0.0.1:7080/v1");
            assert_eq!(value("ANTHROPIC_BASE_URL"), "http://127.0.0.1:7080");
            assert_eq!((value("OPENAI_API_KEY"), value("ANTHROPIC_API_KEY")), (PLACEHOLDER, PLACEHOLDER));
            assert!(value("HOME").ends_with("/home"));
        }
    }

    #[test]
    fn known_programs_get_the_model_and_no_sandbox_of_their_own() {
        let (folder, _) = prepared(Profile::Codex);
        let codex = fs::read_to_string(folder.path().join("home/.codex/config.toml")).unwrap();
        for line in
            ["model = \"corp/one\"", "sandbox_mode = \"danger-full-access\"", "[projects.\"/workspace\"]"]
        {
            assert!(codex.lines().any(|it| it == line), "{codex}");
        }
        let (folder, _) = prepared(Profile::Opencode);
        let text = fs::read_to_string(folder.path().join("home/.config/opencode/opencode.json")).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["model"], "cordon/corp/one");
        assert_eq!(value["provider"]["cordon"]["models"]["corp/one"]["name"], "corp/one");
        let (folder, variables) = prepared(Profile::ClaudeCode);
        let text = fs::read_to_string(folder.path().join("home/.claude/settings.json")).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["sandbox"]["enabled"], false);
        assert!(variables.contains(&("ANTHROPIC_MODEL", "corp/one".to_owned())));
    }
}
