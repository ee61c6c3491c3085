//! Admission: decides, before anything of a message is stored or scanned, whether its sender may speak to the agent.

use ipc_proto::channel::{ConversationKind, DropReason, GroupRule, Inbound};
use ipc_proto::config::{ChannelRules, DmPolicy, UserRole};

/// The decision on a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// It is the user's whose identity the sender has.
    User,
    /// It is a guest's of their own.
    Guest,
    /// It is the group's, which is a guest of its own.
    Group,
    /// The sender gets a pairing code.
    Pairing,
    /// It is dropped.
    Drop(DropReason),
}

/// Decides on a message. `known` is the role of the user with the sender's identity, and `group` the rule of its group.
pub(crate) fn decide(
    rules: &ChannelRules,
    inbound: &Inbound,
    known: Option<UserRole>,
    group: Option<GroupRule>,
) -> Decision {
    if inbound.sender.bot || inbound.sender.itself {
        return Decision::Drop(DropReason::Bot);
    }
    if inbound.sender.id.is_empty() {
        return Decision::Drop(DropReason::Unproven);
    }
    if inbound.edit {
        return Decision::Drop(DropReason::Edit);
    }
    match inbound.conversation.kind {
        ConversationKind::Direct => direct(rules, &inbound.sender.id, known),
        ConversationKind::Group => in_group(inbound.mentions, known, group),
    }
}

/// Returns true if direct messages of this sender are admitted.
pub(crate) fn admits(rules: &ChannelRules, sender: &str, known: Option<UserRole>) -> bool {
    matches!(direct(rules, sender, known), Decision::User | Decision::Guest)
}

/// Returns true if the account may join a conversation that this sender invites it to: a user's, or that of somebody whose direct
/// messages it takes. Joining gives nobody a right to be answered.
pub(crate) fn may_invite(rules: &ChannelRules, sender: &str, known: Option<UserRole>) -> bool {
    known.is_some() || !matches!(direct(rules, sender, None), Decision::Drop(_))
}

fn direct(rules: &ChannelRules, sender: &str, known: Option<UserRole>) -> Decision {
    match (rules.dm, known) {
        (DmPolicy::Disabled, _) => Decision::Drop(DropReason::Disabled),
        (DmPolicy::OwnerOnly, Some(UserRole::Owner)) => Decision::User,
        (DmPolicy::OwnerOnly, _) => Decision::Drop(DropReason::NotAdmitted),
        (_, Some(_)) => Decision::User,
        (DmPolicy::Pairing, None) => Decision::Pairing,
        (DmPolicy::Allowlist, None) if rules.allow.iter().any(|id| id == sender) => Decision::Guest,
        (DmPolicy::Allowlist, None) => Decision::Drop(DropReason::NotAdmitted),
        (DmPolicy::Open, None) => Decision::Guest,
    }
}

/// Admission to direct messages gives no right here: the group has to be listed, and a group is never its members' own user.
fn in_group(mentions: bool, known: Option<UserRole>, group: Option<GroupRule>) -> Decision {
    let Some(rule) = group else { return Decision::Drop(DropReason::NotListed) };
    if known.is_none() && !rule.members {
        return Decision::Drop(DropReason::NotAdmitted);
    }
    if rule.require_mention && !mentions {
        return Decision::Drop(DropReason::NotMentioned);
    }
    Decision::Group
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use ipc_proto::channel::{Conversation, InboundPart, PartKind, Platform, Sender};
    use ipc_proto::config::ChannelApprovals;
    use ipc_proto::{List, Text};
    use proptest::prelude::*;

    /// The rules of a Telegram account.
    pub(crate) fn rules(dm: DmPolicy) -> ChannelRules {
        ChannelRules {
            platform: Platform::Telegram,
            secret: "telegram".into(),
            hosts: vec!["api.telegram.org:443".into()],
            agent: "default".into(),
            dm,
            allow: vec!["7".into()],
            groups: vec!["-100".into()],
            members: false,
            require_mention: true,
            shared_session: false,
            trust_user: false,
            approve: ChannelApprovals::Off,
            approve_code: None,
            guest_messages: 100,
        }
    }

    /// A direct message.
    pub(crate) fn inbound(key: &str, sender: &str, text: &str) -> Inbound {
        let part = InboundPart { kind: PartKind::Own, text: Text::clip(text) };
        Inbound {
            key: Text::clip(key),
            conversation: Conversation {
                id: Text::clip(sender),
                thread: None,
                kind: ConversationKind::Direct,
            },
            sender: Sender { id: Text::clip(sender), name: Text::clip("Ann"), bot: false, itself: false },
            parts: List::clip([part]),
            attachments: List::default(),
            message: Text::clip(key),
            reply_to: None,
            sent_ms: 1,
            edit: false,
            mentions: false,
            moved_from: None,
        }
    }

    fn in_a_group(mentions: bool) -> Inbound {
        let mut message = inbound("1", "7", "hello");
        message.conversation.kind = ConversationKind::Group;
        message.mentions = mentions;
        message
    }

    // Holds P11-01.
    #[test]
    fn each_policy_admits_to_direct_messages_as_it_says() {
        use DropReason::{Disabled, NotAdmitted};
        let (owner, user) = (Some(UserRole::Owner), Some(UserRole::User));
        let cases = [
            (DmPolicy::OwnerOnly, "7", owner, Decision::User),
            (DmPolicy::OwnerOnly, "7", user, Decision::Drop(NotAdmitted)),
            (DmPolicy::OwnerOnly, "7", None, Decision::Drop(NotAdmitted)),
            (DmPolicy::Pairing, "9", user, Decision::User),
            (DmPolicy::Pairing, "9", None, Decision::Pairing),
            (DmPolicy::Allowlist, "7", None, Decision::Guest),
            (DmPolicy::Allowlist, "9", None, Decision::Drop(NotAdmitted)),
            (DmPolicy::Allowlist, "9", user, Decision::User),
            (DmPolicy::Open, "9", None, Decision::Guest),
            (DmPolicy::Disabled, "7", owner, Decision::Drop(Disabled)),
        ];
        for (dm, sender, known, expected) in cases {
            let decision = decide(&rules(dm), &inbound("1", sender, "hello"), known, None);
            assert_eq!(decision, expected, "{dm:?} {sender} {known:?}");
        }
    }

    // Holds P11-96.
    #[test]
    fn a_sender_who_is_not_proven_is_admitted_by_no_policy() {
        for dm in [DmPolicy::OwnerOnly, DmPolicy::Pairing, DmPolicy::Allowlist, DmPolicy::Open] {
            let decision = decide(&rules(dm), &inbound("1", "", "hello"), Some(UserRole::Owner), None);
            assert_eq!(decision, Decision::Drop(DropReason::Unproven), "{dm:?}");
        }
    }

    // Holds P11-22.
    #[test]
    fn an_invitation_is_accepted_of_those_who_may_write_and_of_users() {
        let cases = [
            (DmPolicy::OwnerOnly, "9", None, false),
            (DmPolicy::OwnerOnly, "9", Some(UserRole::User), true),
            (DmPolicy::Allowlist, "7", None, true),
            (DmPolicy::Allowlist, "9", None, false),
            (DmPolicy::Pairing, "9", None, true),
            (DmPolicy::Open, "9", None, true),
            (DmPolicy::Disabled, "9", None, false),
        ];
        for (dm, sender, known, expected) in cases {
            assert_eq!(may_invite(&rules(dm), sender, known), expected, "{dm:?} {sender} {known:?}");
        }
    }

    // Holds P11-02.
    #[test]
    fn a_group_is_admitted_by_its_own_rule_and_never_as_its_members_user() {
        use DropReason::{NotAdmitted, NotListed, NotMentioned};
        let rule = |members, require_mention| Some(GroupRule { members, require_mention });
        let owner = Some(UserRole::Owner);
        let cases = [
            (true, owner, None, Decision::Drop(NotListed)),
            (true, owner, rule(false, true), Decision::Group),
            (false, owner, rule(false, true), Decision::Drop(NotMentioned)),
            (false, owner, rule(false, false), Decision::Group),
            (true, None, rule(false, true), Decision::Drop(NotAdmitted)),
            (true, None, rule(true, true), Decision::Group),
        ];
        for (mentions, known, group, expected) in cases {
            let decision = decide(&rules(DmPolicy::Open), &in_a_group(mentions), known, group);
            assert_eq!(decision, expected, "{mentions} {known:?} {group:?}");
        }
    }

    proptest! {
        // Holds P11-01, P11-02.
        #[test]
        fn bots_edits_and_the_account_itself_are_never_admitted(
            bot: bool, itself: bool, edit: bool, group: bool, mentions: bool, known: bool, policy in 0_usize..5,
        ) {
            let policies = [DmPolicy::OwnerOnly, DmPolicy::Pairing, DmPolicy::Allowlist, DmPolicy::Open, DmPolicy::Disabled];
            let mut message = inbound("1", "7", "hello");
            message.sender.bot = bot;
            message.sender.itself = itself;
            message.edit = edit;
            message.mentions = mentions;
            if group {
                message.conversation.kind = ConversationKind::Group;
            }
            let rule = Some(GroupRule { members: true, require_mention: false });
            let decision = decide(&rules(policies[policy]), &message, known.then_some(UserRole::Owner), rule);
            if bot || itself || edit {
                prop_assert!(matches!(decision, Decision::Drop(DropReason::Bot | DropReason::Edit)));
            }
            if group {
                prop_assert!(!matches!(decision, Decision::User | Decision::Guest | Decision::Pairing));
            }
        }
    }
}
