//! Messages about the first call, each with what the person can do next.

use super::provider::Provider;
use crate::failure::Failure;
use crate::text::usd;
use ipc_proto::control::ControlError;
use ipc_proto::credproxy::CredError;
use ipc_proto::gate::{RelayError, Tried};
use ipc_proto::model::{ModelError, ModelInfo};

/// The message after a call that succeeded.
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

/// The message after a call that failed: the reason, and what to do.
pub(super) fn advice(failure: &Failure, provider: &Provider, model: &str) -> String {
    let error = match failure {
        Failure::Control(ControlError::Relay(RelayError::Model(error))) => *error,
        other => return format!("The test could not be made: {other}"),
    };
    let what = match error {
        ModelError::Credentials(error) => of_key(error, provider, model),
        ModelError::Rejected { status } => of_status(status, provider, model),
        error => of_answer(error, provider, model),
    };
    format!("It does not work yet: {what}")
}

fn of_key(error: CredError, provider: &Provider, model: &str) -> String {
    let (at, store) = (&provider.at, provider.store_command());
    match error {
        CredError::NoSecret => format!("no key of that name is stored. Store it: {store}"),
        CredError::NotBound => format!("the stored key is bound to something else. Store it anew: {store}"),
        CredError::Revoked | CredError::Expired | CredError::Spent => {
            format!("the stored key is used no more. Store it anew: {store}")
        }
        CredError::Locked => {
            format!(
                "the vault is locked. Open it with agentctl cred unlock, then: agentctl model test {model}"
            )
        }
        CredError::Dial(_) | CredError::Tls => {
            format!("{at} could not be reached: is this machine online, and is the address right?")
        }
        CredError::Upstream | CredError::Stalled => {
            format!(
                "{at} closed the connection or sent nothing: is the address right? Again: agentctl model test {model}"
            )
        }
        other => other.to_string(),
    }
}

fn of_status(status: u16, provider: &Provider, model: &str) -> String {
    let (name, at) = (&provider.name, &provider.at);
    match status {
        402 => format!("the key works, and {name} wants credit on its account first (status 402)"),
        404 => format!("{name} knows no such model. Another one: {}", provider.again()),
        300..=399 => format!(
            "{at} sends elsewhere (status {status}), where a key never follows: set up the address that it moved to"
        ),
        _ => format!(
            "{name} refused the request (status {status}); it may not know {model} by that name. Another one: {}",
            provider.again()
        ),
    }
}

fn of_answer(error: ModelError, provider: &Provider, model: &str) -> String {
    let (name, at) = (&provider.name, &provider.at);
    match error {
        ModelError::Auth => {
            format!("{name} refused the key. Store the right one: {}", provider.store_command())
        }
        ModelError::UnknownModel => format!("{name} knows no such model. Another one: {}", provider.again()),
        ModelError::RateLimited { retry_after_s } => format!(
            "the key works, and {name} asks to wait {retry_after_s} s; an account without credit gets the same answer"
        ),
        ModelError::Timeout => format!("{name} did not answer in time. Again: agentctl model test {model}"),
        ModelError::Server { status } => {
            format!(
                "{name} failed (status {status}), which is its own fault. Again: agentctl model test {model}"
            )
        }
        ModelError::InvalidJson | ModelError::Truncated => format!(
            "what {at} answers is not what its API would: a base URL leads up to, and without, the path of a method \
             such as /chat/completions"
        ),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_wrong_says_what_to_do_next() {
        let provider = Provider::named("openai", None).unwrap();
        let advice_for = |error| {
            advice(&Failure::Control(ControlError::Relay(RelayError::Model(error))), &provider, "openai/m")
        };
        let cases = [
            (ModelError::Auth, "agentctl cred set openai "),
            (ModelError::Credentials(CredError::NoSecret), "agentctl cred set openai "),
            (ModelError::Credentials(CredError::Tls), "api.openai.com:443 could not be reached"),
            (ModelError::Credentials(CredError::Locked), "agentctl cred unlock"),
            (ModelError::Credentials(CredError::Upstream), "agentctl model test openai/m"),
            (ModelError::Rejected { status: 404 }, "agentctl setup --provider openai --model MODEL"),
            (ModelError::Rejected { status: 400 }, "may not know openai/m by that name"),
            (ModelError::Rejected { status: 402 }, "the key works, and openai wants credit"),
            (ModelError::Rejected { status: 302 }, "sends elsewhere (status 302)"),
            (ModelError::Truncated, "such as /chat/completions"),
            (ModelError::RateLimited { retry_after_s: 7 }, "wait 7 s"),
            (ModelError::Server { status: 500 }, "failed (status 500), which is its own fault"),
        ];
        for (error, expected) in cases {
            assert!(advice_for(error).contains(expected), "{}", advice_for(error));
        }
    }
}
