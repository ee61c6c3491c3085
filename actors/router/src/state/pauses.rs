//! Pauses of the queue, in memory.

use crate::store::{Head, Scope};
use std::collections::HashSet;

/// The scopes in which no message starts.
#[derive(Default)]
pub(crate) struct Pauses(HashSet<Scope>);

impl Pauses {
    pub(crate) fn new(scopes: Vec<Scope>) -> Self {
        Self(scopes.into_iter().collect())
    }

    /// Returns true if no pause holds this message back. A message that has begun goes on.
    pub(crate) fn allow(&self, head: &Head) -> bool {
        let scopes = [Scope::All, Scope::User(head.user), Scope::Session(head.session)];
        head.attempts > 0 || !scopes.iter().any(|scope| self.0.contains(scope))
    }

    pub(crate) fn contains(&self, scope: Scope) -> bool {
        self.0.contains(&scope)
    }

    pub(crate) fn set(&mut self, scope: Scope, paused: bool) {
        if paused {
            self.0.insert(scope);
        } else {
            self.0.remove(&scope);
        }
    }
}
