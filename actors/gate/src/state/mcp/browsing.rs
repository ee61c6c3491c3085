//! The page of a browser as the gate knows it: from this, not from the model, come the site and the element that policy and people
//! see of a call; and the sites that the browser may send to.

use ipc_proto::Text;
use ipc_proto::browser::{Outcome, Page};
use ipc_proto::egress::Origin;
use ipc_proto::ids::{SessionId, TurnId};
use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Characters of an element's line that a person is shown.
const LINE: usize = 120;

/// The refusal of what needs a page where none is open.
pub(crate) const NO_PAGE: &str = "no page is open; call browser_navigate first";

/// The page.
#[derive(Default)]
pub(crate) struct Browsing(Mutex<State>);

#[derive(Default)]
struct State {
    /// The address of the page; empty before one was opened.
    url: String,
    /// The lines of the last snapshot, by reference, while its page is shown.
    elements: BTreeMap<u32, String>,
    /// The sites that something was done on, as policy or a person permitted.
    acted_on: HashSet<Origin>,
    /// The turn that uses it, or did last.
    turn: Option<(SessionId, TurnId)>,
}

/// An act of a call on a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Act {
    /// The site of the page, as a URL.
    pub(crate) site: String,
    /// The line of the element in the snapshot; empty for a key.
    pub(crate) element: String,
}

impl Browsing {
    /// Notes the turn whose call comes next.
    pub(crate) fn begin(&self, session: SessionId, turn: TurnId) {
        self.state().turn = Some((session, turn));
    }

    /// The turn that uses it, or did last.
    pub(crate) fn turn(&self) -> Option<(SessionId, TurnId)> {
        self.state().turn
    }

    /// The act of a call on the page, with the element of this reference if it names one.
    ///
    /// # Errors
    /// The reason for which nothing can be done, with the next step.
    pub(crate) fn act(&self, reference: Option<u32>) -> Result<Act, &'static str> {
        let state = self.state();
        let site = origin_of(&state.url).ok_or(NO_PAGE)?;
        let element = match reference {
            None => String::new(),
            Some(number) => {
                let line = state.elements.get(&number);
                line.ok_or("stale_ref: the last snapshot has no such element; call browser_snapshot")?.clone()
            }
        };
        Ok(Act { site: format!("{}/", site.url()), element })
    }

    /// Permits the page to send to its site from now on.
    pub(crate) fn permit(&self) {
        let mut state = self.state();
        let site = origin_of(&state.url);
        state.acted_on.extend(site);
    }

    /// Returns true if something was done on this site.
    pub(crate) fn permits(&self, site: &Origin) -> bool {
        self.state().acted_on.contains(site)
    }

    /// Takes what the browser shows. A snapshot replaces the elements; a page of another address ends them.
    pub(crate) fn shows(&self, outcome: &Outcome) {
        let mut state = self.state();
        match outcome {
            Outcome::Page(page) | Outcome::Picture { page, .. } => state.turn_to(page),
            Outcome::Snapshot { page, text, .. } => {
                state.turn_to(page);
                state.elements = text.lines().filter_map(element).collect();
            }
            Outcome::Closed => state.turn_to(&Page::default()),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn turn_to(&mut self, page: &Page) {
        if self.url != page.url.as_str() {
            self.elements.clear();
            self.url = page.url.to_string();
        }
    }
}

/// The site of an address.
pub(crate) fn origin_of(url: &str) -> Option<Origin> {
    let target = address::parse(url.split('#').next()?).ok()?;
    let tls = target.scheme == address::Scheme::Https;
    Some(Origin { tls, host: Text::clip(&target.host.to_string()), port: target.port })
}

/// The reference and the rest of a snapshot's line that begins with `[N]`, behind its indentation.
fn element(line: &str) -> Option<(u32, String)> {
    let (number, rest) = line.trim_start().strip_prefix('[')?.split_once(']')?;
    Some((number.parse().ok()?, rest.trim().chars().take(LINE).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(url: &str) -> Page {
        Page { url: Text::clip(url), ..Page::default() }
    }

    fn snapshot(url: &str, text: &str) -> Outcome {
        Outcome::Snapshot { page: page(url), text: Text::clip(text), first: 1, count: 2, cut: false }
    }

    #[test]
    fn an_act_names_the_site_and_the_element_of_the_last_snapshot() {
        let browsing = Browsing::default();
        assert!(browsing.act(None).is_err_and(|why| why.contains("browser_navigate")));
        browsing.shows(&snapshot("https://shop.example/cart?a#b", "Cart\n  [7] button \"Buy now\"\n[x] no"));
        let act = browsing.act(Some(7)).unwrap();
        assert_eq!(
            (act.site.as_str(), act.element.as_str()),
            ("https://shop.example/", "button \"Buy now\"")
        );
        assert!(browsing.act(Some(8)).is_err_and(|why| why.starts_with("stale_ref")));
        browsing.shows(&Outcome::Page(page("https://shop.example/cart?a#b")));
        assert_eq!(browsing.act(Some(7)), Ok(act), "what is typed changes no page");
        browsing.shows(&Outcome::Page(page("https://shop.example/thanks")));
        assert!(browsing.act(Some(7)).is_err(), "the elements were those of another page");
        browsing.shows(&Outcome::Page(page("http://other.example:8080/")));
        assert_eq!(browsing.act(None).unwrap().site, "http://other.example:8080/");
    }

    #[test]
    fn only_a_site_that_was_acted_on_may_be_sent_to() {
        let browsing = Browsing::default();
        let shop = origin_of("https://shop.example/").unwrap();
        browsing.permit();
        browsing.shows(&Outcome::Page(page("https://shop.example/")));
        assert!(!browsing.permits(&shop));
        browsing.permit();
        assert!(browsing.permits(&shop));
        assert!(!browsing.permits(&origin_of("http://shop.example/").unwrap()));
        assert!(!browsing.permits(&origin_of("https://pay.example/").unwrap()));
    }
}
