//! What is under way for directories that people hand over.

use crate::asides::Asides;
use crate::binding::Binding;
use crate::look::Look;

/// It outlives no host.
#[derive(Debug, Default)]
pub(crate) struct Handed {
    /// Children that make the calls which may never return.
    pub(crate) asides: Asides,
    /// Looks at directories.
    pub(crate) looks: Vec<Look>,
    /// Launches that wait for the mount of one.
    pub(crate) bindings: Vec<Binding>,
}

impl Handed {
    /// The turns that get a runner as soon as their directory answers.
    pub(crate) fn turns(&self) -> impl Iterator<Item = [u8; 16]> {
        self.bindings.iter().map(Binding::turn)
    }

    /// Ends it all.
    pub(crate) fn end(&mut self) {
        self.looks.clear();
        self.bindings.clear();
        self.asides.end_all();
    }
}
