//! Search: one provider, of the configuration. Brave and Tavily want a key, which credproxy puts in on the way out;
//! a SearXNG instance of one's own is fetched like a page, and from nowhere but its own host.

use crate::ask::{Ask, out_of_bounds};
use crate::fetch::{Outside, Web};
use crate::found;
use address::Target;
use ipc_proto::config::{self, SearchProvider};
use ipc_proto::credproxy::{CredError, Header, Placement, Request, Verb};
use ipc_proto::web::{self, Found, Mode, PAGE_BOUND, Rule, WebError};
use ipc_proto::{Blob, List, Name, Text};
use std::time::Duration;
use tokio::time::timeout;

/// Time for one search.
const PATIENCE: Duration = Duration::from_secs(20);
/// Characters of a query.
const QUERY: usize = 500;
/// Hits of one search.
const HITS: u8 = 20;

/// The search provider.
pub(crate) struct Search {
    provider: SearchProvider,
    base: Option<Target>,
    secret: Option<Name>,
}

/// The section is not usable.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadSearch {
    /// The base URL is none.
    #[error("[web.search] base_url: {0}")]
    Base(address::Unfit),
    /// SearXNG has no address of its own.
    #[error("[web.search] base_url is missing: `searxng` is wherever its owner runs it")]
    NoBase,
    /// The secret's name is too long.
    #[error("[web.search] secret: not a name")]
    Secret,
}

impl Search {
    /// As the section says.
    pub(crate) fn new(section: &config::WebSearch) -> Result<Self, BadSearch> {
        let usual = match section.provider {
            SearchProvider::None => None,
            SearchProvider::Brave => Some("https://api.search.brave.com/res/v1"),
            SearchProvider::Tavily => Some("https://api.tavily.com"),
            SearchProvider::Searxng => Some(section.base_url.as_deref().ok_or(BadSearch::NoBase)?),
        };
        let base = usual.map(|usual| section.base_url.as_deref().unwrap_or(usual));
        let base = base.map(address::parse).transpose().map_err(BadSearch::Base)?;
        let secret = section.secret.as_deref().map(Name::new).transpose().map_err(|_| BadSearch::Secret)?;
        Ok(Self { provider: section.provider, base, secret })
    }

    /// `base_url` with a path and a query behind it.
    fn url(&self, path: &str, query: &[(&str, &str)]) -> Result<String, WebError> {
        let mut target = self.base.clone().ok_or(WebError::NoProvider)?;
        let folder = target.path_and_query.split('?').next().unwrap_or_default().trim_end_matches('/');
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
        let mark = if query.is_empty() { "" } else { "?" };
        target.path_and_query = format!("{folder}/{path}{mark}{query}");
        Ok(target.to_string())
    }

    /// The key in this header of a request.
    fn keyed(&self, header: &str, prefix: &str) -> Result<Option<Placement>, WebError> {
        let secret = self.secret.as_ref().ok_or(WebError::Credentials(CredError::NoSecret))?;
        Ok(Some(Placement::header(secret, header, prefix)))
    }
}

impl<O: Outside> Web<O> {
    /// Searches. What comes back is no more trusted than a page.
    pub(crate) async fn search(&self, query: &str, max: u8) -> Result<List<Found, 20>, WebError> {
        let _slot = self.slots.try_acquire().map_err(|_| WebError::Busy)?;
        let query = query.trim();
        if !(1..=QUERY).contains(&query.chars().count()) {
            return Err(out_of_bounds("query"));
        }
        if !(1..=HITS).contains(&max) {
            return Err(out_of_bounds("max"));
        }
        let answer = timeout(PATIENCE, self.answer(query, max)).await.map_err(|_| WebError::TimedOut)?;
        let (status, answer) = answer?;
        if status != 200 {
            return Err(WebError::Provider(status));
        }
        found::read(self.search.provider, &answer, max).ok_or(WebError::Upstream)
    }

    async fn answer(&self, query: &str, max: u8) -> Result<(u16, Vec<u8>), WebError> {
        match self.search.provider {
            SearchProvider::None => Err(WebError::NoProvider),
            SearchProvider::Brave => self.ask(self.search.brave(query, max)?).await,
            SearchProvider::Tavily => self.ask(self.search.tavily(query, max)?).await,
            SearchProvider::Searxng => self.searxng(query).await,
        }
    }

    async fn ask(&self, request: Request) -> Result<(u16, Vec<u8>), WebError> {
        self.outside.request(request, PAGE_BOUND).await.map_err(WebError::Credentials)
    }

    async fn searxng(&self, query: &str) -> Result<(u16, Vec<u8>), WebError> {
        let url = self.search.url("search", &[("q", query), ("format", "json")])?;
        let host = self.search.base.as_ref().map(|base| Text::clip(&base.host.to_string()));
        let rule = Rule {
            mode: Mode::Allowlist,
            allow: List::clip(host),
            private: self.private.clone(),
            ..Rule::default()
        };
        let ask = Ask::new(web::Method::Get, &[], None)?;
        let fetched = self.follow(&url, ask, (&rule, false), PAGE_BOUND).await?;
        Ok((fetched.status.as_u16(), fetched.body))
    }
}

impl Search {
    fn brave(&self, query: &str, max: u8) -> Result<Request, WebError> {
        let url = self.url("web/search", &[("q", query), ("count", &max.to_string())])?;
        let secret = self.keyed("X-Subscription-Token", "")?;
        request(Verb::Get, &url, "", secret)
    }

    fn tavily(&self, query: &str, max: u8) -> Result<Request, WebError> {
        let body = serde_json::json!({ "query": query, "max_results": max }).to_string();
        request(Verb::Post, &self.url("search", &[])?, &body, self.keyed("Authorization", "Bearer ")?)
    }
}

fn request(verb: Verb, url: &str, body: &str, secret: Option<Placement>) -> Result<Request, WebError> {
    let json = |name: &str| Header { name: Name::clip(name), value: Text::clip("application/json") };
    let headers =
        if body.is_empty() { vec![json("Accept")] } else { vec![json("Accept"), json("Content-Type")] };
    Ok(Request {
        verb,
        // 500 characters of a script that takes nine bytes for each are more than a URL holds.
        url: Text::new(url).map_err(|_| out_of_bounds("query"))?,
        headers: List::clip(headers),
        body: Blob::new(body).map_err(|_| out_of_bounds("query"))?,
        secret,
        cookies: false,
    })
}

#[cfg(test)]
mod tests;
