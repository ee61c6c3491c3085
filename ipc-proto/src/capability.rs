//! The declaration of a tool in six parts: approval, data, network, execution, audit, labels; besides, its effect,
//! the arguments that decide its harm, and the sources that vouch for them. A tool that declares nothing is refused.
//!
//! Field names, enums and defaults are the seed's (`ToolCapabilitySchema`), in snake case; camel case is understood
//! as well. Where the seed trusts after one approval by default, here it is off.

use crate::label::{Class, Trust};
use serde::{Deserialize, Serialize};

/// The declaration of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Capability {
    /// When a person is asked.
    pub approval: Approval,
    /// The data that it handles.
    pub data: Data,
    /// The network that it may reach.
    pub network: Network,
    /// How it runs.
    pub execution: Execution,
    /// The parts of a call that go on the record.
    pub audit: Audit,
    /// The labels of its output.
    pub labels: Labels,
    /// Its effect on the world.
    pub effect: Effect,
    /// Arguments that decide whether a call does harm: recipients, addresses, paths, amounts, commands.
    #[serde(alias = "relevantArgs")]
    pub relevant_args: Vec<String>,
    /// The security-relevant arguments that the owner's own records may vouch for: a value read by a tool whose
    /// output is the owner's own (`labels.owner_records`) counts as vouched.
    #[serde(alias = "recordArgs")]
    pub record_args: Vec<String>,
    /// It cannot be taken back. `None`: what `effect` says (send, pay and delete cannot).
    pub irreversible: Option<bool>,
}

/// The effect of a tool on the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// It only reads.
    Read,
    /// It changes what can be changed back.
    #[default]
    Write,
    /// It tells somebody something.
    Send,
    /// It moves money.
    Pay,
    /// It destroys.
    Delete,
}

impl Effect {
    /// Returns whether what it does cannot be taken back.
    #[must_use]
    pub const fn is_irreversible(self) -> bool {
        matches!(self, Self::Send | Self::Pay | Self::Delete)
    }
}

/// When a person is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Approval {
    /// The tool's own demand for an approval.
    pub level: Level,
    /// Regular expressions over every argument: a hit asks whatever `level` says, each time.
    #[serde(alias = "dangerPatterns")]
    pub danger_patterns: Vec<String>,
    /// One approval may be given for the rest of the session, for the same relevant arguments.
    #[serde(alias = "trustAfterApproval")]
    pub trust_after_approval: bool,
    /// HTTP methods that ask.
    #[serde(alias = "askForMethods")]
    pub ask_for_methods: Vec<String>,
}

/// A tool's own demand for an approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// It does not; policy may.
    #[default]
    Auto,
    /// It does, unless a grant of the session covers the call.
    Ask,
    /// It does, each time.
    Always,
}

/// The data that a tool handles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Data {
    /// How delicate what it touches is.
    pub sensitivity: Sensitivity,
    /// It may be given secret data.
    #[serde(alias = "canReadSecrets")]
    pub can_read_secrets: bool,
    /// Its arguments can leave the host through it.
    #[serde(alias = "canLeakData")]
    pub can_leak_data: bool,
    /// Secrets are cut out of its output.
    #[serde(alias = "sanitizeOutput")]
    pub sanitize_output: bool,
}

/// How delicate data is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sensitivity {
    /// Not.
    None,
    /// A little.
    Low,
    /// Somewhat.
    #[default]
    Medium,
    /// Very.
    High,
    /// Keys and passwords.
    Secret,
}

/// The network that a tool may reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Network {
    /// How much of it.
    pub access: Access,
    /// Host globs it may reach; `None`: any that the rest allows.
    #[serde(alias = "allowedHosts")]
    pub allowed_hosts: Option<Vec<String>>,
    /// Host globs it may not, looked at after the allowed ones.
    #[serde(alias = "blockedHosts")]
    pub blocked_hosts: Vec<String>,
    /// Ports it may not.
    #[serde(alias = "blockedPorts")]
    pub blocked_ports: Vec<u16>,
    /// Private addresses are refused.
    #[serde(alias = "blockPrivateIPs", alias = "blockPrivateIps")]
    pub block_private_ips: bool,
    /// Metadata services of clouds are refused.
    #[serde(alias = "blockMetadata")]
    pub block_metadata: bool,
    /// A host that no list and no trusted text names asks.
    #[serde(alias = "requireApprovalForUnknownHosts")]
    pub require_approval_for_unknown_hosts: bool,
}

/// How much of the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// None.
    #[default]
    None,
    /// The allowed hosts.
    Limited,
    /// All public hosts.
    Full,
}

/// How a tool runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Execution {
    /// Where. The host's own jail is at least as strong as any of these.
    pub sandbox: Sandbox,
    /// The network of the sandbox; only `none` is given.
    #[serde(alias = "networkMode")]
    pub network_mode: NetworkMode,
    /// Milliseconds after which it is stopped.
    pub timeout: u32,
    /// Bytes of output that are kept.
    #[serde(alias = "maxOutputSize")]
    pub max_output_size: u32,
    /// Path globs it may name; `None`: any in the workspace.
    #[serde(alias = "allowedPaths")]
    pub allowed_paths: Option<Vec<String>>,
    /// Path globs it may not.
    #[serde(alias = "blockedPaths")]
    pub blocked_paths: Vec<String>,
    /// The environment of the sandbox.
    pub env: Env,
    /// Variables of an explicit environment.
    #[serde(alias = "allowedEnvVars")]
    pub allowed_env_vars: Vec<String>,
}

/// Where a tool runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sandbox {
    /// In the gate.
    None,
    /// In a process of its own.
    #[default]
    Process,
    /// In a jail.
    Container,
}

/// The network of a sandbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkMode {
    /// None.
    #[default]
    None,
    /// Through a proxy.
    Proxy,
    /// The machine's.
    Host,
}

/// The environment of a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Env {
    /// The host's.
    Inherit,
    /// None of it.
    #[default]
    Clean,
    /// Only the named variables.
    Explicit,
}

/// The parts of a tool's call that go on the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Audit {
    /// A digest of its arguments.
    #[serde(alias = "logArgs")]
    pub log_args: bool,
    /// A digest of its output.
    #[serde(alias = "logOutput")]
    pub log_output: bool,
    /// Its arguments and output pass the scanner before anything of them is written.
    #[serde(alias = "useSharedSecretDetector")]
    pub use_shared_secret_detector: bool,
    /// Outcomes that are an alert: `blocked`, `error`, `success`, `asked`.
    #[serde(alias = "alertOn")]
    pub alert_on: Vec<String>,
}

/// The labels of a tool's output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Labels {
    /// How far it is trusted.
    #[serde(alias = "outputTrust")]
    pub output_trust: Trust,
    /// How confidential it is.
    #[serde(alias = "outputDataClass")]
    pub output_data_class: Class,
    /// It may be called once the session has read untrusted content.
    #[serde(alias = "acceptsUntrusted")]
    pub accepts_untrusted: bool,
    /// Its output is the owner's own records: it vouches for the `record_args` of other tools, and for nothing else.
    #[serde(alias = "ownerRecords")]
    pub owner_records: bool,
}

impl Default for Data {
    fn default() -> Self {
        Self {
            sensitivity: Sensitivity::Medium,
            can_read_secrets: false,
            can_leak_data: false,
            sanitize_output: true,
        }
    }
}

impl Default for Network {
    fn default() -> Self {
        Self {
            access: Access::None,
            allowed_hosts: None,
            blocked_hosts: Vec::new(),
            blocked_ports: Vec::new(),
            block_private_ips: true,
            block_metadata: true,
            require_approval_for_unknown_hosts: false,
        }
    }
}

impl Default for Execution {
    fn default() -> Self {
        Self {
            sandbox: Sandbox::Process,
            network_mode: NetworkMode::None,
            timeout: 60_000,
            max_output_size: 1_000_000,
            allowed_paths: None,
            blocked_paths: Vec::new(),
            env: Env::Clean,
            allowed_env_vars: Vec::new(),
        }
    }
}

impl Default for Audit {
    fn default() -> Self {
        Self { log_args: true, log_output: false, use_shared_secret_detector: true, alert_on: Vec::new() }
    }
}

impl Default for Labels {
    fn default() -> Self {
        Self {
            output_trust: Trust::Untrusted,
            output_data_class: Class::Internal,
            accepts_untrusted: true,
            owner_records: false,
        }
    }
}
