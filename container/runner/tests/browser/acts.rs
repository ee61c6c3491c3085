//! Every command against pages that mean no harm.

use crate::visit;
use ipc_proto::browser::{BrowserError, Command, Format, Key, Note, Outcome};
use std::time::Instant;

#[test]
fn a_person_s_way_through_a_shop_works_over_tls() {
    visit(|mut v| async move {
        let page = v.go("https://shop.test/").await;
        assert_eq!((page.url.as_str(), page.title.as_str()), ("https://shop.test/", "Shop"));
        assert!(v.text.contains("heading 1 \"Log in\""), "{}", v.text);
        assert!(!v.text.contains("Hidden") && !v.text.contains("Unseen"), "{}", v.text);
        v.type_into("textbox \"User name\"", "ada").await.unwrap();
        v.type_into("password", "placeholder").await.unwrap();
        v.look().await;
        assert!(v.text.contains("= \"ada\"") && v.text.contains("password filled"), "{}", v.text);
        assert!(!v.text.contains("placeholder"), "a password is not shown");
        // The form is for another window, which there is not.
        let page = v.click("Sign in").await.unwrap();
        assert_eq!(page.url.as_str(), "https://shop.test/account", "{:?}", v.shop.asked);
        v.look().await;
        assert!(v.text.contains("select \"Size\" = \"Medium\" of \"Small, Medium, Large\""), "{}", v.text);
        v.select("Size", &["Large"]).await.unwrap();
        v.click("As a gift").await.unwrap();
        v.type_into("\"On\"", "2026-12-24").await.unwrap();
        v.type_into("Note", "new").await.unwrap();
        v.type_into("Amount", "7").await.unwrap();
        v.look().await;
        for shown in
            ["= \"Large\" of", "checkbox \"As a gift\" checked", "= \"2026-12-24\"", "\"Note\"", "= \"7\""]
        {
            assert!(v.text.contains(shown), "{shown} in\n{}", v.text);
        }
        assert!(v.shop.asked.borrow().iter().all(|asked| !asked.contains("bought")));
        let page = v.act(Command::Press { key: Key::Enter }).await;
        // The focus is still in the field that was typed into last.
        assert_eq!(page.unwrap().title.as_str(), "Bought", "{:?}", v.shop.asked);
        assert!(v.shop.was_asked("size=l&gift=on&on=2026-12-24"), "{:?}", v.shop.asked);
        assert_eq!(v.act(Command::Back).await.unwrap().title.as_str(), "Account");
    });
}

#[test]
fn commands_that_an_element_does_not_take_are_refused() {
    visit(|mut v| async move {
        assert_eq!(v.act(Command::Back).await, Err(BrowserError::NoPage));
        v.go("http://shop.test/").await;
        let first = v.number("Sign in");
        assert!(matches!(v.type_into("Sign in", "x").await, Err(BrowserError::Unfit(_))));
        assert!(matches!(v.select("User name", &["x"]).await, Err(BrowserError::Unfit(_))));
        for reference in [0, first + 1, u32::MAX] {
            assert_eq!(v.act(Command::Click { reference }).await, Err(BrowserError::StaleRef), "{reference}");
        }
        v.look().await;
        assert!(v.number("Sign in") > first, "no number is given twice");
        assert_eq!(v.act(Command::Click { reference: first }).await, Err(BrowserError::StaleRef));
        let now = v.number("Sign in");
        v.go("http://shop.test/popup").await;
        assert_eq!(v.act(Command::Click { reference: now }).await, Err(BrowserError::StaleRef));
        let link = v.number("Elsewhere");
        v.click("Remove").await.unwrap();
        assert_eq!(v.act(Command::Click { reference: link }).await, Err(BrowserError::StaleRef));
    });
}

#[test]
fn frames_and_shadow_trees_are_read_and_clicked() {
    visit(|mut v| async move {
        v.go("http://shop.test/frames").await;
        assert!(v.text.contains("frame \"same\", shown below"), "{}", v.text);
        assert!(v.text.contains("frame of http://pay.test/card:"), "{}", v.text);
        assert_eq!(v.click("\"Inner\"").await.unwrap().title.as_str(), "clicked");
        v.type_into("Number", "4711").await.unwrap();
        v.click("\"Pay\"").await.unwrap();
        v.look().await;
        assert!(v.text.contains("button \"Paid\"") && v.text.contains("= \"4711\""), "{}", v.text);

        v.go("http://shop.test/shadow").await;
        assert!(v.text.contains("text \"Slotted\"") && v.text.contains("slot link"), "{}", v.text);
        assert_eq!(v.click("In shadow").await.unwrap().title.as_str(), "shadow clicked");
    });
}

#[test]
fn links_to_another_window_open_in_this_one_and_popups_are_refused() {
    visit(|mut v| async move {
        v.go("http://shop.test/popup").await;
        let page = v.click("\"Open\"").await.unwrap();
        assert!(matches!(page.notes.first(), Some(Note::PopupRefused(_))), "{page:?}");
        assert!(!v.shop.was_asked("popup-asked"));
        assert_eq!(v.click("Elsewhere").await.unwrap().title.as_str(), "Shop");
    });
}

#[test]
fn a_picture_is_taken_in_either_format_and_the_browser_closes() {
    visit(|mut v| async move {
        v.go("http://shop.test/").await;
        let taken = v.browser.perform(Command::Screenshot).await.unwrap();
        let Outcome::Picture { format, bytes, .. } = taken else { panic!("{taken:?}") };
        assert_eq!((format, bytes.starts_with(b"\x89PNG")), (Format::Png, true));
        assert_eq!(v.browser.perform(Command::Close).await, Ok(Outcome::Closed));
        assert_eq!(v.browser.perform(Command::Snapshot).await, Err(BrowserError::Dead));
    });
}

#[test]
fn snapshots_are_quick_and_bounded_and_memory_is_small() {
    visit(|mut v| async move {
        v.go("http://shop.test/links-300").await;
        let mut took = Vec::new();
        for _ in 0..5 {
            let begun = Instant::now();
            v.look().await;
            took.push(begun.elapsed().as_millis());
        }
        assert_eq!(v.text.matches("link \"Product").count(), 300);
        let memory = memory(v.browser.id());
        v.act(Command::Navigate { url: ipc_proto::Text::clip("http://shop.test/links-3000") }).await.unwrap();
        let begun = Instant::now();
        let outcome = v.browser.perform(Command::Snapshot).await.unwrap();
        let Outcome::Snapshot { text, count, cut, .. } = outcome else { panic!("{outcome:?}") };
        println!(
            "ready in {:?}, 300 links {took:?} ms, 3,000 links {} ms, {memory} MiB",
            v.ready,
            begun.elapsed().as_millis()
        );
        assert!(cut && count <= 2000 && text.len() > 60_000, "{count} {}", text.len());
        // Other browsers run beside this one: the bench measures against 400 ms and 300 ms.
        assert!(v.ready < std::time::Duration::from_secs(10), "{:?}", v.ready);
        assert!(took.iter().min().unwrap() < &5000, "{took:?}");
        // Memory that browsers share is counted in part: with eight of them each has less than half of what one alone has.
        assert!((30..300).contains(&memory), "{memory} MiB");
    });
}

/// Memory of the shell's processes, MiB, what is shared counted in part.
fn memory(root: u32) -> u64 {
    let sum = crate::processes(root).into_iter().filter_map(|id| {
        let rollup = std::fs::read_to_string(format!("/proc/{id}/smaps_rollup")).ok()?;
        rollup
            .lines()
            .find_map(|line| line.strip_prefix("Pss:")?.split_whitespace().next()?.parse::<u64>().ok())
    });
    sum.sum::<u64>() / 1024
}
