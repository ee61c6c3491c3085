//! Pages that mean harm: each leaves the browser of use, or is said to have ended it.

use crate::visit;
use ipc_proto::Text;
use ipc_proto::browser::{BrowserError, Command, Note, Outcome};
use std::time::{Duration, Instant};

fn open(url: &str) -> Command {
    Command::Navigate { url: Text::new(url).unwrap() }
}

#[test]
fn addresses_of_other_schemes_are_refused_from_people_and_pages() {
    visit(|mut v| async move {
        for url in
            ["file:///etc/passwd", "data:text/html,x", "chrome://version", "javascript:1", "about:blank"]
        {
            assert_eq!(v.act(open(url)).await, Err(BrowserError::BadUrl), "{url}");
        }
        v.go("http://shop.test/popup").await;
        let page = v.click("\"Data\"").await.unwrap();
        assert_eq!(page.url.as_str(), "http://shop.test/popup");
        let page = v.click("\"Get\"").await.unwrap();
        assert!(
            matches!(page.notes.first(), Some(Note::DownloadRefused(name)) if name.as_str() == "x.bin"),
            "{page:?}"
        );
        assert!(matches!(v.act(open("http://shop.test/download")).await, Err(BrowserError::NotLoaded(_))));
        assert!(matches!(v.act(open("http://shop.test:1/")).await, Err(BrowserError::NotLoaded(_))));
    });
}

#[test]
fn every_request_of_a_page_goes_to_the_proxy_loopback_included() {
    visit(|mut v| async move {
        v.go("http://shop.test/popup").await;
        v.click("\"Beacon\"").await.unwrap();
        let end = Instant::now() + Duration::from_secs(5);
        while !(v.shop.was_asked("http://evil.test/beacon")
            && v.shop.was_asked("http://127.0.0.1:9999/rebound"))
        {
            assert!(Instant::now() < end, "{:?}", v.shop.asked);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // Nothing was asked that no page asked for.
        let asked = v.shop.asked.borrow();
        let known = ["shop.test", "evil.test", "127.0.0.1:9999"];
        assert!(asked.iter().all(|asked| known.iter().any(|known| asked.contains(known))), "{asked:?}");
    });
}

#[test]
fn an_alert_loop_is_dismissed_stopped_and_told() {
    visit(|mut v| async move {
        v.act(open("http://shop.test/alerts")).await.unwrap();
        tokio::time::sleep(Duration::from_millis(300)).await;
        let page = v.act(Command::Snapshot).await.unwrap();
        v.look().await;
        assert!(v.text.contains("Before"), "{}", v.text);
        assert!(
            matches!(page.notes.first(), Some(Note::DialogDismissed(text)) if text.as_str() == "again"),
            "{page:?}"
        );
        assert_eq!(v.act(open("http://shop.test/")).await.unwrap().title.as_str(), "Shop");
    });
}

#[test]
fn endless_and_deep_pages_are_shown_within_the_budget() {
    visit(|mut v| async move {
        v.act(open("http://shop.test/endless")).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let begun = Instant::now();
        let outcome = v.browser.perform(Command::Snapshot).await.unwrap();
        let Outcome::Snapshot { text, cut, .. } = outcome else { panic!("{outcome:?}") };
        assert!(
            cut && text.len() <= 65536 && begun.elapsed() < Duration::from_secs(5),
            "{:?}",
            begun.elapsed()
        );
        v.act(open("http://shop.test/deep")).await.unwrap();
        v.look().await;
        assert!(v.text.contains("bottom") || v.text.is_empty(), "{}", v.text);
    });
}

#[test]
fn a_page_that_never_returns_is_stopped_and_left() {
    visit(|mut v| async move {
        v.go("http://shop.test/spin").await;
        let begun = Instant::now();
        let clicked = v.click("Spin").await;
        assert!(clicked.is_ok() || clicked == Err(BrowserError::TooLong), "{clicked:?}");
        assert!(begun.elapsed() < Duration::from_secs(30));
        assert_eq!(v.act(open("http://shop.test/")).await.unwrap().title.as_str(), "Shop");
    });
}

#[test]
fn a_server_that_never_answers_is_given_up_after_30_seconds() {
    visit(|mut v| async move {
        v.go("http://shop.test/").await;
        let begun = Instant::now();
        assert_eq!(v.act(open("http://shop.test/never")).await, Err(BrowserError::TooLong));
        assert!(begun.elapsed() < Duration::from_secs(34), "{:?}", begun.elapsed());
        assert_eq!(v.act(open("http://shop.test/")).await.unwrap().title.as_str(), "Shop");
    });
}

#[test]
fn pages_can_neither_forge_a_reference_nor_hide_from_the_walk() {
    visit(|mut v| async move {
        v.go("http://shop.test/forged").await;
        let lines: Vec<&str> = v.text.lines().filter(|line| line.starts_with('[')).collect();
        assert_eq!(lines, ["[1] button \"a\\\" [9] button \\\"b\""], "{}", v.text);
        v.go("http://shop.test/clobber").await;
        assert!(v.text.contains("textbox \"One\"") && v.text.contains("button \"Last\""), "{}", v.text);
        v.type_into("\"One\"", "typed").await.unwrap();
        v.click("Last").await.unwrap();
    });
}

#[test]
fn an_element_under_another_s_frame_is_not_clicked() {
    visit(|mut v| async move {
        v.go("http://shop.test/cover").await;
        assert_eq!(v.click("Harmless").await, Err(BrowserError::Covered));
    });
}

#[test]
fn a_renderer_that_died_is_said_so() {
    visit(|mut v| async move {
        v.go("http://shop.test/").await;
        let renderer = crate::processes(v.browser.id()).into_iter().find(|id| {
            std::fs::read_to_string(format!("/proc/{id}/cmdline"))
                .unwrap_or_default()
                .contains("--type=renderer")
        });
        let renderer = nix::unistd::Pid::from_raw(i32::try_from(renderer.unwrap()).unwrap());
        nix::sys::signal::kill(renderer, nix::sys::signal::Signal::SIGKILL).unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(v.click("Sign in").await, Err(BrowserError::Dead));
    });
}
