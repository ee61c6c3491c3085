//! The part of a capability about a call's execution and output: bounds, the record, the label of the output.

use ipc_proto::capability::{Capability, Sensitivity};
use ipc_proto::label::{Class, Label, Trust};

/// Outcomes that a capability may want an alert for.
pub(crate) const OUTCOMES: &[&str] = &["blocked", "error", "success", "asked"];

/// The bounds of a call's execution, and its record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handling {
    /// Milliseconds after which it is stopped.
    pub timeout_ms: u32,
    /// Bytes of output that are kept.
    pub max_output: u32,
    /// Secrets are cut out of its output.
    pub sanitize_output: bool,
    /// A digest of its arguments is recorded.
    pub log_args: bool,
    /// A digest of its output is recorded.
    pub log_output: bool,
    /// Outcomes that are an alert.
    pub alert_on: Vec<String>,
}

impl Handling {
    pub(crate) fn of(capability: &Capability) -> Self {
        Self {
            timeout_ms: capability.execution.timeout,
            max_output: capability.execution.max_output_size,
            sanitize_output: capability.data.sanitize_output,
            log_args: capability.audit.log_args,
            log_output: capability.audit.log_output,
            alert_on: capability.audit.alert_on.clone(),
        }
    }

    /// Returns whether an outcome (`blocked`, `error`, `success` or `asked`) is an alert.
    #[must_use]
    pub fn alerts(&self, outcome: &str) -> bool {
        self.alert_on.iter().any(|wanted| wanted == outcome)
    }
}

/// The label of what a tool gave back: what it declares of its output, the class that was found in it, and what was
/// known of the content before (a memory's row, a workspace's label).
#[must_use]
pub fn result_label(tool: &str, capability: &Capability, found: Class, own: Option<&Label>) -> Label {
    let handles = match capability.data.sensitivity {
        Sensitivity::None | Sensitivity::Low => Class::Public,
        Sensitivity::Medium => Class::Internal,
        Sensitivity::High => Class::Sensitive,
        Sensitivity::Secret => Class::Secret,
    };
    let declared = &capability.labels;
    // A tool that handles nothing delicate is believed in what it declares of its output, and never below it.
    let class = declared.output_data_class.max(handles).max(found);
    // A tool speaks for nobody: it cannot vouch for its output more than the host itself does.
    let trust = declared.output_trust.max(Trust::System);
    let label = Label::of(trust, class, &format!("tool:{tool}"));
    own.map_or(label.clone(), |own| own.join(&label))
}
