//! The counters of gateway, in the text format of Prometheus. Labels are this program's own words and never a client's.

use ipc_proto::model::Usage;
use ipc_proto::router::QueueInfo;
use prometheus::{
    HistogramOpts, HistogramVec, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry, TextEncoder,
};
use std::time::Duration;

/// Upper edges of the times of requests, seconds: from what a refusal takes to what an agent's turn does.
const TIMES: [f64; 13] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1.0, 5.0, 20.0, 60.0, 300.0];

/// The counters.
pub(crate) struct Metrics {
    registry: Registry,
    requests: IntCounterVec,
    seconds: HistogramVec,
    connections: IntGaugeVec,
    streams: IntGauge,
    tokens: IntCounterVec,
    queue: IntGaugeVec,
}

impl Metrics {
    /// New ones.
    ///
    /// # Errors
    /// A name or label is none, or is there twice.
    pub(crate) fn new() -> prometheus::Result<Self> {
        let opts = |name: &str, help: &str| Opts::new(format!("cordon_{name}"), help);
        let build = Opts::new("cordon_build_info", "The version that runs.")
            .const_label("version", env!("CARGO_PKG_VERSION"));
        let build = IntGauge::with_opts(build)?;
        build.set(1);
        let times = HistogramOpts::new(
            "cordon_gateway_request_seconds",
            "Time from a request to the head of its response, by route.",
        );
        let all = Self {
            registry: Registry::new(),
            requests: IntCounterVec::new(
                opts("gateway_requests_total", "Requests, by route and status."),
                &["route", "status"],
            )?,
            seconds: HistogramVec::new(times.buckets(TIMES.to_vec()), &["route"])?,
            connections: IntGaugeVec::new(
                opts("gateway_connections", "Connections, by listener."),
                &["listener"],
            )?,
            streams: IntGauge::with_opts(opts("gateway_streams", "Answers that are being streamed."))?,
            tokens: IntCounterVec::new(
                opts("gateway_tokens_total", "Tokens of answers given, by source and direction."),
                &["source", "direction"],
            )?,
            queue: IntGaugeVec::new(
                opts(
                    "queue_messages",
                    "Messages of the caller's own sessions, or of all for the owner, by state.",
                ),
                &["state"],
            )?,
        };
        let registry = &all.registry;
        registry.register(Box::new(build))?;
        registry.register(Box::new(all.requests.clone()))?;
        registry.register(Box::new(all.seconds.clone()))?;
        registry.register(Box::new(all.connections.clone()))?;
        registry.register(Box::new(all.streams.clone()))?;
        registry.register(Box::new(all.tokens.clone()))?;
        registry.register(Box::new(all.queue.clone()))?;
        Ok(all)
    }

    /// A request was answered.
    pub(crate) fn answered(&self, route: &str, status: u16, took: Duration) {
        self.requests.with_label_values(&[route, &status.to_string()]).inc();
        self.seconds.with_label_values(&[route]).observe(took.as_secs_f64());
    }

    /// A connection came, by this listener.
    pub(crate) fn connected(&self, listener: &str) {
        self.connections.with_label_values(&[listener]).inc();
    }

    /// It is gone.
    pub(crate) fn disconnected(&self, listener: &str) {
        self.connections.with_label_values(&[listener]).dec();
    }

    pub(crate) fn stream_began(&self) {
        self.streams.inc();
    }

    pub(crate) fn stream_ended(&self) {
        self.streams.dec();
    }

    /// An answer came to its end.
    pub(crate) fn spent(&self, is_agent: bool, usage: Usage) {
        let source = if is_agent { "agent" } else { "model" };
        self.tokens.with_label_values(&[source, "input"]).inc_by(usage.input.into());
        self.tokens.with_label_values(&[source, "output"]).inc_by(usage.output.into());
    }

    /// Everything as text.
    ///
    /// # Errors
    /// It cannot be written, which it always can.
    pub(crate) fn text(&self, queue: &QueueInfo) -> prometheus::Result<String> {
        for (state, count) in [("waiting", queue.waiting), ("running", queue.running), ("dead", queue.dead)] {
            self.queue.with_label_values(&[state]).set(count.into());
        }
        TextEncoder::new().encode_to_string(&self.registry.gather())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_counted_is_in_the_text() {
        let metrics = Metrics::new().unwrap();
        metrics.answered("/v1/models", 200, Duration::from_millis(3));
        metrics.connected("tcp");
        metrics.stream_began();
        metrics.spent(true, Usage { input: 7, output: 9, ..Usage::default() });
        let queue = QueueInfo {
            paused: false,
            paused_sessions: ipc_proto::List::default(),
            waiting: 4,
            running: 1,
            dead: 0,
        };
        let text = metrics.text(&queue).unwrap();
        for line in [
            "cordon_gateway_requests_total{route=\"/v1/models\",status=\"200\"} 1",
            "cordon_gateway_request_seconds_count{route=\"/v1/models\"} 1",
            "cordon_gateway_connections{listener=\"tcp\"} 1",
            "cordon_gateway_streams 1",
            "cordon_gateway_tokens_total{direction=\"output\",source=\"agent\"} 9",
            "cordon_queue_messages{state=\"waiting\"} 4",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert_eq!(text.lines().filter(|line| line.starts_with("# TYPE")).count(), 7, "{text}");
    }
}
