//! Questions on a channel: who is shown one, and whose answer counts.

use super::channels::{accept, done, with, write};
use super::taking::{Work, claim};
use super::world::World;
use crate::channels::admission::tests::inbound;
use ipc_proto::approval::{Question, State};
use ipc_proto::audit::Action;
use ipc_proto::channel::{
    Admitted, Answer, Body, Button, Conversation, ConversationKind, Outcome, Piece, Press, PressAnswer,
};
use ipc_proto::config::{ChannelApprovals, DmPolicy};
use ipc_proto::ids::TurnId;
use ipc_proto::{List, Text};
use manifest::Process;

/// A turn of a direct message, which asks about call 1.
struct Asked {
    world: World,
    turn: TurnId,
    question: Question,
}

fn asked(approve: ChannelApprovals, edit: impl FnOnce(&mut Question)) -> Asked {
    let mut world = with(DmPolicy::Pairing);
    world.config.channels.get_mut("main").unwrap().approve = approve;
    world.restart();
    let turn = write(&mut world, "k1", "do it");
    let mut question = super::question(1, world.ms + 300_000);
    edit(&mut question);
    world.keep(turn, 0, super::asking(1)).unwrap();
    world.act(|router| router.ask(turn, &question)).unwrap();
    Asked { world, turn, question }
}

impl Asked {
    /// The question as the process is given it.
    fn shown(&mut self) -> Answer {
        match &claim(&mut self.world, 1, &[])[..] {
            [Work::Plan(answer)] => answer.clone(),
            other => panic!("{other:?}"),
        }
    }

    /// The process sends the question in so many pieces. Returns the buttons; the last message is `m9`.
    fn sent(&mut self, pieces: usize) -> Vec<Button> {
        let answer = self.shown();
        let piece = Piece { body: Body::Text(Text::clip(&answer.text)), markup: Text::default() };
        let plan = List::clip(vec![piece; pieces]);
        let planned =
            self.world.act(|router| router.channel_plan(Process::Telegram, "main", answer.delivery, &plan));
        assert_eq!(planned, Ok(()));
        for _ in 1..pieces {
            assert!(self.send("m1").is_empty(), "buttons are below the last piece");
        }
        self.send("m9")
    }

    fn send(&mut self, id: &str) -> Vec<Button> {
        let works = claim(&mut self.world, 1, &[]);
        let [Work::Send(given)] = &works[..] else { panic!("{works:?}") };
        let outcome = Outcome::Sent { id: Text::clip(id) };
        done(&mut self.world, given.piece, &outcome).unwrap();
        given.buttons.to_vec()
    }

    fn press(&mut self, sender: &str, message: &str, nonce: [u8; 16]) -> PressAnswer {
        let who = inbound("p", sender, "");
        let press = Press {
            conversation: inbound("p", "7", "").conversation,
            message: Text::clip(message),
            sender: who.sender,
            nonce,
        };
        self.press_of(&press)
    }

    fn press_of(&mut self, press: &Press) -> PressAnswer {
        let pressed =
            self.world.ask(|router, port| router.channel_press(Process::Telegram, "main", press, port));
        pressed.unwrap().unwrap()
    }

    /// The state of the question; `None` while it waits.
    fn state(&mut self) -> Option<State> {
        self.world.told(self.turn, self.question.id).map(Result::unwrap)
    }
}

fn captions(buttons: &[Button]) -> Vec<&str> {
    buttons.iter().map(|button| button.caption.as_str()).collect()
}

/// The code in the text of a question.
fn code(text: &str) -> String {
    text.split("/deny ").nth(1).unwrap().chars().take(8).collect()
}

// Holds P11-20.
#[test]
fn a_question_is_shown_on_no_channel_unless_the_account_says_so() {
    let mut off = asked(ChannelApprovals::Off, |_| {});
    assert!(claim(&mut off.world, 1, &[]).is_empty());
    let mut own = asked(ChannelApprovals::Own, |_| {});
    let shown = own.shown();
    assert!(shown.text.contains(own.question.action.as_str()), "{}", shown.text);
    assert_eq!(shown.conversation.id.as_str(), "7");
}

// Holds P11-20.
#[test]
fn a_question_of_a_group_or_of_a_guest_is_shown_nowhere() {
    for group in [true, false] {
        let mut world = with(DmPolicy::Open);
        world.config.channels.get_mut("main").unwrap().approve = ChannelApprovals::All;
        world.restart();
        let mut message = inbound("k1", if group { "7" } else { "9" }, "do it");
        if group {
            let id = Text::clip("-100");
            message.conversation = Conversation { id, thread: None, kind: ConversationKind::Group };
            message.mentions = true;
        }
        let fates = accept(&mut world, vec![message], "1");
        let [Admitted::Accepted { turn, .. }] = fates[..] else { panic!("{fates:?}") };
        world.inquire(turn, 1);
        assert!(claim(&mut world, 1, &[]).is_empty(), "{group}");
    }
}

// Holds P11-20.
#[test]
fn the_press_of_the_person_who_was_asked_approves_once() {
    let mut asked = asked(ChannelApprovals::Own, |_| {});
    let buttons = asked.sent(1);
    assert_eq!(captions(&buttons), ["Approve once", "Deny"]);
    let pressed = asked.press("7", "m9", buttons[0].nonce);
    assert_eq!((pressed.done, pressed.text.as_str()), (true, "Approved."));
    assert_eq!(asked.state(), Some(State::Approved));
    for button in &buttons {
        assert!(!asked.press("7", "m9", button.nonce).done, "a button is pressed once");
    }
    assert_eq!(asked.state(), Some(State::Approved));
    let mut answers = asked.world.record.iter().filter(|event| event.action == Action::ApprovalAnswered);
    let reason =
        answers.next().and_then(|event| event.reason.as_ref().map(ToString::to_string)).unwrap_or_default();
    assert_eq!((reason.as_str(), answers.count()), ("once, by mia, at telegram:main", 0));
}

// Holds P11-20.
#[test]
fn a_press_by_another_person_or_of_another_message_changes_nothing() {
    let mut asked = asked(ChannelApprovals::All, |_| {});
    let buttons = asked.sent(1);
    let (yes, no) = (buttons[0].nonce, buttons[1].nonce);
    for (sender, message, nonce) in
        [("9", "m9", yes), ("9", "m9", no), ("7", "m8", yes), ("7", "m9", [7; 16])]
    {
        assert!(!asked.press(sender, message, nonce).done, "{sender} {message}");
    }
    let other = inbound("p", "8", "").conversation;
    let sender = inbound("p", "7", "").sender;
    let elsewhere = Press { conversation: other, message: Text::clip("m9"), sender, nonce: yes };
    assert!(!asked.press_of(&elsewhere).done);
    assert_eq!(asked.state(), None, "it waits");
    assert!(asked.press("7", "m9", no).done);
    assert_eq!(asked.state(), Some(State::Denied));
}

// Holds P11-20.
#[test]
fn what_declassifies_or_is_the_owners_needs_the_host_unless_all_is_set() {
    for edit in [|q: &mut Question| q.declassifies = true, |q: &mut Question| q.owner_only = true] {
        let mut own = asked(ChannelApprovals::Own, edit);
        let shown = own.shown();
        assert!(shown.text.contains("cannot be approved here"), "{}", shown.text);
        let said = format!("/approve {}", code(&shown.text));
        accept(&mut own.world, vec![inbound("k2", "7", &said)], "2");
        assert_eq!(own.state(), None, "its code denies only");
        let mut all = asked(ChannelApprovals::All, edit);
        let buttons = all.sent(1);
        assert!(all.press("7", "m9", buttons[0].nonce).done);
        assert_eq!(all.state(), Some(State::Approved));
    }
}

// Holds P11-21.
#[test]
fn a_question_of_more_than_three_messages_can_be_denied_only() {
    let mut asked = asked(ChannelApprovals::All, |_| {});
    let buttons = asked.sent(4);
    assert_eq!(captions(&buttons), ["Deny"]);
    assert!(asked.press("7", "m9", buttons[0].nonce).done);
    assert_eq!(asked.state(), Some(State::Denied));
}

// Holds P11-20.
#[test]
fn a_code_answers_for_its_person_in_its_conversation_and_once() {
    let mut asked = asked(ChannelApprovals::Own, |_| {});
    let code = code(&asked.shown().text);
    for (key, sender, said) in [
        ("k2", "7", "/approve".to_owned()),
        ("k3", "7", "/approve 22222222".to_owned()),
        ("k4", "9", format!("/approve {code}")),
    ] {
        accept(&mut asked.world, vec![inbound(key, sender, &said)], key);
        assert_eq!(asked.state(), None, "{sender} {said}");
    }
    let said = format!("/approve {}", code.to_lowercase());
    let fates = accept(&mut asked.world, vec![inbound("k5", "7", &said)], "5");
    assert_eq!((&fates[..], asked.state()), (&[Admitted::Command][..], Some(State::Approved)));
    accept(&mut asked.world, vec![inbound("k6", "7", &format!("/deny {code}"))], "6");
    assert_eq!(asked.state(), Some(State::Approved));
}

// Holds P11-20.
#[test]
fn without_an_answer_in_time_a_shown_question_is_denied() {
    let mut asked = asked(ChannelApprovals::Own, |_| {});
    let buttons = asked.sent(1);
    asked.world.pass(300_500);
    assert_eq!(asked.state(), Some(State::Expired));
    assert!(!asked.press("7", "m9", buttons[0].nonce).done);
    assert_eq!(asked.state(), Some(State::Expired));
}
