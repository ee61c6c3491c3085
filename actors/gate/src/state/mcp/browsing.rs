//! The page of a browser as the gate knows it: from this, not from the model, come the site and the element that policy and people
//! see of a call; the sites that the browser may send to; and the one site whose pages it may show, where it is isolated.

use ipc_proto::browser::{Outcome, Page};
use ipc_proto::egress::{Origin, Request};
use ipc_proto::ids::{SessionId, TurnId};
use ipc_proto::{Name, Text};
use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Characters of an element's line that a person is shown.
const LINE: usize = 120;

/// The uses of a reply, as a browser names them, that are pages; the first is a page by itself.
const PAGES: [&str; 6] = ["document", "iframe", "frame", "fencedframe", "embed", "object"];

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
    /// The sites on a page of which the placeholder of a secret was typed.
    typed_on: HashSet<Origin>,
    /// The user of the browser, or the last one.
    user: Option<User>,
    /// The site that it was launched for, where its user isolates sites.
    site: Option<String>,
    /// It has shown a page.
    shown: bool,
}

/// The turn that uses a browser.
#[derive(Clone, Debug)]
pub(crate) struct User {
    pub(crate) session: SessionId,
    pub(crate) turn: TurnId,
    pub(crate) agent: Name,
    /// Its browser shows pages of one site a launch.
    pub(crate) isolates: bool,
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
    /// Notes the user whose call comes next.
    pub(crate) fn begin(&self, user: User) {
        self.state().user = Some(user);
    }

    /// The user of the browser, or the last one.
    pub(crate) fn user(&self) -> Option<User> {
        self.state().user.clone()
    }

    /// Returns true if its pages are of another site than this address, so that an isolated browser has to be launched anew for it.
    pub(crate) fn is_of_another_site(&self, url: &str) -> bool {
        let (state, site) = (self.state(), site_of(url));
        state.shown && site.is_some() && state.site != site
    }

    /// Returns true if this request would put a page of another site, or a frame of one, beside those of the site that an isolated
    /// browser was launched for. The first page may redirect.
    pub(crate) fn mixes_sites(&self, request: &Request) -> bool {
        let line = |line: &&ipc_proto::egress::Line| line.name.eq_ignore_ascii_case("sec-fetch-dest");
        let Some(part) = request.headers.iter().find(line).map(|line| line.value.to_ascii_lowercase()) else {
            return false;
        };
        let mut state = self.state();
        if !state.isolates() || !PAGES.contains(&part.as_str()) {
            return false;
        }
        let site = site_of(&request.origin.url());
        if part == PAGES[0] && !state.shown {
            state.site = site;
            return false;
        }
        state.site != site
    }

    /// Returns true if an isolated browser shows a page of another site than it was launched for.
    pub(crate) fn has_left(&self) -> bool {
        let mut state = self.state();
        let site = site_of(&state.url);
        if !state.isolates() || site.is_none() {
            return false;
        }
        let was_shown = std::mem::replace(&mut state.shown, true);
        if !was_shown {
            state.site = site;
            return false;
        }
        state.site != site
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

    /// Permits the page's site to be sent a secret in the place of the placeholder that is typed next.
    pub(crate) fn permit_secret(&self) {
        let mut state = self.state();
        let site = origin_of(&state.url);
        state.typed_on.extend(site);
    }

    /// Returns true if the placeholder of a secret was typed on this site.
    pub(crate) fn permits_secret(&self, site: &Origin) -> bool {
        self.state().typed_on.contains(site)
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
    fn isolates(&self) -> bool {
        self.user.as_ref().is_some_and(|user| user.isolates)
    }

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

/// The site of an address: its host without `www.`.
fn site_of(url: &str) -> Option<String> {
    let host = origin_of(url)?.host;
    Some(host.strip_prefix("www.").unwrap_or(&host).to_owned())
}

/// The reference and the rest of a snapshot's line that begins with `[N]`, behind its indentation.
fn element(line: &str) -> Option<(u32, String)> {
    let (number, rest) = line.trim_start().strip_prefix('[')?.split_once(']')?;
    Some((number.parse().ok()?, rest.trim().chars().take(LINE).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::egress::Line;
    use ipc_proto::{Blob, List};

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
    fn isolated() -> Browsing {
        let browsing = Browsing::default();
        let (session, turn) = (SessionId::random(), TurnId::random());
        browsing.begin(User { session, turn, agent: Name::clip("a"), isolates: true });
        browsing
    }

    fn loads(part: &str, url: &str) -> Request {
        let line = |(name, value): (&str, &str)| Line { name: Name::clip(name), value: Text::clip(value) };
        Request {
            origin: origin_of(url).unwrap(),
            method: Name::clip("GET"),
            path: Text::clip("/"),
            headers: List::clip([line(("Sec-Fetch-Dest", part))]),
            body: Blob::default(),
            websocket: false,
        }
    }

    // Holds P1-65.
    #[test]
    fn an_isolated_browser_has_pages_of_one_site() {
        let browsing = isolated();
        let (shop, bank) = ("https://www.shop.example/", "https://bank.example/");
        assert!(
            !browsing.mixes_sites(&loads("document", "http://shop.test/")),
            "the first page may redirect"
        );
        assert!(!browsing.mixes_sites(&loads("document", shop)));
        assert!(browsing.mixes_sites(&loads("iframe", bank)), "even before the first page is shown");
        browsing.shows(&Outcome::Page(page(shop)));
        assert!(!browsing.has_left() && !browsing.is_of_another_site("https://shop.example/cart"));
        for (part, url, mixes) in [
            ("document", bank, true),
            ("iframe", bank, true),
            ("document", "https://shop.example/cart", false),
            ("script", bank, false),
        ] {
            assert_eq!(browsing.mixes_sites(&loads(part, url)), mixes, "{part} {url}");
        }
        assert!(browsing.is_of_another_site(bank));
        browsing.shows(&Outcome::Page(page(bank)));
        assert!(browsing.has_left());
        let shared = Browsing::default();
        shared.shows(&Outcome::Page(page(shop)));
        shared.shows(&Outcome::Page(page(bank)));
        assert!(!shared.has_left() && !shared.mixes_sites(&loads("iframe", shop)));
    }
}
