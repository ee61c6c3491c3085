//! The wire forms by kind of provider.

use crate::anthropic::Messages;
use crate::ollama::Chat;
use crate::openai::ChatCompletions;
use crate::responses::Responses;
use crate::wire::Dialect;
use ipc_proto::config::ProviderKind;

/// The wire form of this kind of provider.
pub(crate) fn dialect(kind: ProviderKind) -> &'static dyn Dialect {
    match kind {
        ProviderKind::Openai => &ChatCompletions,
        ProviderKind::Responses => &Responses,
        ProviderKind::Anthropic => &Messages,
        ProviderKind::Ollama => &Chat,
    }
}
