//! From what was fetched to the page that the caller gets.

use crate::decode::{self, MediaType};
use crate::fetch::Fetched;
use crate::readable;
use ipc_proto::Text;
use ipc_proto::web::{PAGE_BOUND, Page};

/// The page: HTML as readable text, other text as it is, anything else by its name and length.
pub(crate) fn read(fetched: &Fetched) -> Page {
    let kind = MediaType::parse(&fetched.content_type);
    let text = match decode::text(&kind, &fetched.body) {
        None if fetched.body.is_empty() => String::new(),
        None => {
            let name = if kind.essence.is_empty() { "unknown" } else { &kind.essence };
            let more = if fetched.cut { " or more" } else { "" };
            format!("[{name}, {}{more} bytes, not text]", fetched.body.len())
        }
        Some(text) if kind.is_html() || kind.essence.is_empty() && looks_like_html(&text) => {
            readable::text(&text, Some(&fetched.target), PAGE_BOUND)
        }
        Some(text) => text,
    };
    Page {
        status: fetched.status.as_u16(),
        url: Text::clip(&fetched.target.to_string()),
        media_type: Text::clip(&kind.essence),
        cut: fetched.cut || text.len() > PAGE_BOUND,
        text: Text::clip(&text),
        redirects: fetched.redirects,
        challenge: fetched.challenge.as_deref().and_then(|line| Text::new(line).ok()).unwrap_or_default(),
    }
}

fn looks_like_html(text: &str) -> bool {
    let head = text.trim_start().get(..5).unwrap_or_default().to_ascii_lowercase();
    head == "<html" || head == "<!doc"
}
