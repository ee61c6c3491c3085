//! How a first call went, in words: what a person does next follows from each.

use super::provider::Provider;
use crate::failure::Failure;
use crate::text::usd;
use ipc_proto::control::ControlError;
use ipc_proto::credproxy::CredError;
use ipc_proto::gate::{RelayError, Tried};
use ipc_proto::model::{ModelError, ModelInfo};

/// What a call that went well says.
pub(super) fn verdict(tried: &Tried, model: &str, info: Option<&ModelInfo>) -> String {
    let (read, written) = tried.tokens;
    let price = match info {
        Some(info) if info.priced => format!(
            "It costs {} for a million tokens that it reads and {} for a million that it writes; this call cost {}.",
            usd(info.input_micros),
            usd(info.output_micros),
            usd(tried.cost_micros)
        ),
        _ => "What it costs is not known here; its prices can stand in the configuration.".to_owned(),
    };
    format!(
        "It works: {model} answered after {} ms, {} ms in all, with {read} tokens read and {written} written. {price}",
        tried.first_ms, tried.whole_ms
    )
}

/// What a call that failed says, and what to do.
pub(super) fn advice(failure: &Failure, provider: &Provider) -> String {
    let name = &provider.name;
    let error = match failure {
        Failure::Control(ControlError::Relay(RelayError::Model(error))) => error,
        other => return format!("The test could not be made: {other}"),
    };
    let what = match error {
        ModelError::Auth => {
            format!("{name} refused the key. Store the right one: {}", provider.store_command())
        }
        ModelError::Credentials(CredError::NoSecret) => {
            format!("no key of that name is stored. Store it: {}", provider.store_command())
        }
        ModelError::Credentials(CredError::NotBound) => {
            format!("the stored key is bound to something else. Store it anew: {}", provider.store_command())
        }
        ModelError::Credentials(CredError::Dial(_) | CredError::Tls) => {
            format!("{} could not be reached: is this machine online, and is the address right?", provider.at)
        }
        ModelError::UnknownModel | ModelError::Rejected { status: 404 } => {
            format!("{name} knows no such model. Another one: agentctl setup --provider {name} --model MODEL")
        }
        ModelError::RateLimited { retry_after_s } => format!(
            "the key works, and {name} asks to wait {retry_after_s} s; an account without credit says the same"
        ),
        ModelError::Timeout => format!("{name} did not answer in time; try again with agentctl model test"),
        other => other.to_string(),
    };
    format!("It does not work yet: {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_wrong_says_what_to_do_next() {
        let provider = Provider::named("openai", None).unwrap();
        let said =
            |error| advice(&Failure::Control(ControlError::Relay(RelayError::Model(error))), &provider);
        let cases = [
            (ModelError::Auth, "agentctl cred set openai "),
            (ModelError::Credentials(CredError::NoSecret), "agentctl cred set openai "),
            (ModelError::Credentials(CredError::Tls), "api.openai.com:443 could not be reached"),
            (ModelError::Rejected { status: 404 }, "--model MODEL"),
            (ModelError::RateLimited { retry_after_s: 7 }, "wait 7 s"),
            (ModelError::Server { status: 500 }, "LLM_SERVER_ERROR"),
        ];
        for (error, expected) in cases {
            assert!(said(error).contains(expected), "{}", said(error));
        }
    }
}
