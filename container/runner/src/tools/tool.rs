//! A tool of the jail: checked arguments that can be run. A tool is a file of its own that implements [`Tool`], and a
//! line of the list in `tools`.

use super::context::Context;
use super::fault::ToolFault;
use super::outcome::Outcome;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt::Debug;

/// The checked arguments of a call.
pub(super) trait Tool: Debug + Send + Sync {
    /// Runs the call.
    fn run(&self, context: &Context) -> Result<Outcome, ToolFault>;

    /// The one file this call may change, where that is known beforehand.
    fn changes(&self) -> Option<&str> {
        None
    }
}

/// Arguments that can be checked.
pub(super) trait Checked: Tool + Sized + 'static {
    /// The arguments as JSON has them.
    type Raw: DeserializeOwned;

    /// Checks what a schema cannot say: a pattern that compiles, base64 that decodes.
    fn check(raw: Self::Raw) -> Result<Self, String>;
}

/// A line of the list of tools.
pub(super) struct Listed {
    /// The tool's name, as its schema has it.
    pub(super) name: &'static str,
    parse: fn(Value) -> Result<Box<dyn Tool>, String>,
}

impl Listed {
    /// The tool of this name, whose arguments are `T`.
    pub(super) const fn new<T: Checked>(name: &'static str) -> Self {
        Self { name, parse: parse::<T> }
    }

    /// Makes a call of arguments that fit the tool's schema.
    pub(super) fn parse(&self, args: Value) -> Result<Box<dyn Tool>, String> {
        (self.parse)(args)
    }
}

fn parse<T: Checked>(args: Value) -> Result<Box<dyn Tool>, String> {
    let raw = serde_json::from_value(args).map_err(|cause| cause.to_string())?;
    Ok(Box::new(T::check(raw)?))
}
