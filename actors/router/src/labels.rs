//! The record of labels that rise.

use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::ids::{SessionId, TurnId};
use ipc_proto::label::Label;

/// The event for a session's label that rises in trust or class. A session's first label is no rise.
pub(crate) fn raised(session: SessionId, turn: TurnId, before: &Label, after: &Label) -> Option<Event> {
    let rises = after.trust > before.trust || after.class > before.class;
    if !rises || *before == Label::bottom() {
        return None;
    }
    let mut event = Event::new(Action::LabelRaised, Result3::Success).in_turn(session, turn);
    event.label = Some(after.clone());
    Some(event)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::label::{Class, Trust};

    #[test]
    fn a_rise_is_one_of_trust_or_class_over_a_label_that_was_there() {
        let (session, turn) = (SessionId::random(), TurnId::random());
        let user = Label::of(Trust::User, Class::Internal, "control");
        let web = user.join(&Label::of(Trust::Untrusted, Class::Public, "web"));
        let source = user.join(&Label::of(Trust::User, Class::Internal, "other"));
        assert!(raised(session, turn, &Label::bottom(), &user).is_none());
        assert!(raised(session, turn, &user, &source).is_none());
        assert!(raised(session, turn, &user, &user).is_none());
        assert_eq!(raised(session, turn, &user, &web).and_then(|event| event.label), Some(web));
    }
}
