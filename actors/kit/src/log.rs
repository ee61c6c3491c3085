//! Log lines to standard error, which is a pipe to agentd: fields, never content, never secrets.

use ipc_proto::config::{Log, LogFormat};
use tracing::Level;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Sends this process's log lines to standard error, at its level. The bus's own spans are left out, since each call
/// would make one, and so are the lines of `/mcp`'s library about a request, which hold its client's text.
pub(crate) fn begin(log: &Log) {
    let level = log.level.parse::<Level>().unwrap_or(Level::INFO);
    let filter = Targets::new()
        .with_default(level)
        .with_target("tarpc", LevelFilter::OFF)
        .with_target("ractor", LevelFilter::OFF)
        .with_target("rmcp", LevelFilter::OFF)
        .with_target("rustls", LevelFilter::WARN);
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    let begun = match log.format {
        LogFormat::Json => {
            let layer = layer.json().flatten_event(true).with_current_span(false).with_span_list(false);
            tracing_subscriber::registry().with(layer.with_filter(filter)).try_init()
        }
        LogFormat::Text => tracing_subscriber::registry().with(layer.with_filter(filter)).try_init(),
    };
    drop(begun);
}
