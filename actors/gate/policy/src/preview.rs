//! The preview of a call for the person who is asked. Text of others is escaped, so that nothing on the screen can be made to
//! look like something else.

use crate::{Call, Catalogue};
use ipc_proto::capability::Effect;
use serde_json::Value;
use std::fmt::Write;

/// Bytes of a preview.
const BOUND: usize = 4096;
/// Characters of one argument that are shown; how many more there are is said.
const SHOWN: usize = 600;

/// The preview of a call in plain words, at most 4096 bytes.
#[must_use]
pub fn preview(catalogue: &Catalogue, call: &Call<'_>) -> String {
    let effect = catalogue.get(call.tool).map(|capability| capability.effect);
    let text = |name: &str| call.args.get(name).and_then(Value::as_str).unwrap_or_default();
    let head = match call.tool {
        "bash" => "Runs a command in the jail".to_owned(),
        "write" => format!("Writes {} bytes to {}", text("content").len(), escaped(text("path"))),
        "edit" => format!("Changes {} places in {}", places(call), escaped(text("path"))),
        "web_fetch" => format!("Asks {} with {}", escaped(text("url")), escaped(method(text("method")))),
        "network" if text("method") == "GET" => {
            format!("Lets the program read from {}", escaped(text("url")))
        }
        "network" if text("method") == "CONNECT" => {
            format!("Lets the program speak unseen with {}", escaped(text("url")))
        }
        "network" => format!("Lets the program send to {}", escaped(text("url"))),
        "web_search" => "Searches the web".to_owned(),
        "send_file" => format!("Sends the file {} to the conversation", escaped(text("path"))),
        "http_call" | "oauth_call" => {
            let (service, path) = (escaped(text("service")), escaped(text("path")));
            format!("Calls your service {service} with {} {path}", escaped(method(text("method"))))
        }
        "browser_navigate" => format!("Opens {} in the browser", escaped(text("url"))),
        "browser_click" => format!("Clicks {} on {}", escaped(text("element")), escaped(text("url"))),
        "browser_type" | "browser_select" => {
            format!("Fills in {} on {}", escaped(text("element")), escaped(text("url")))
        }
        "browser_press" => format!("Presses {} on {}", escaped(text("key")), escaped(text("url"))),
        "scheduler_add_cron" | "scheduler_run_at" => {
            let (schedule, next) = (escaped(text("schedule")), escaped(text("next")));
            format!(
                "Adds a job of the agent's own, which works with nobody before it: {schedule}; first on {next}"
            )
        }
        "scheduler_remove" => format!("Removes the job {}", escaped(text("job"))),
        "memory_write" => "Remembers, for later sessions".to_owned(),
        "memory_revise" => "Changes a memory, for later sessions".to_owned(),
        "memory_delete" => "Forgets a memory".to_owned(),
        "mcp_ask" => format!(
            "The server {} asks you, not Cordon and not your agent; what you enter goes to that server",
            escaped(text("server"))
        ),
        tool => format!("{} {}", escaped(tool), deed(effect)),
    };
    let mut out = head;
    for (name, value) in call.args {
        let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        // The message of a job is short enough to be read whole.
        let most = if name == "prompt" && call.tool.starts_with("scheduler_") { BOUND / 2 } else { SHOWN };
        let begin: String = shown.chars().take(most).collect();
        let more = shown.chars().count().saturating_sub(most);
        let _ = write!(out, "\n  {}: {}", escaped(name), escaped(&begin));
        if more > 0 {
            let _ = write!(out, " … and {more} characters more");
        }
    }
    ipc_proto::Text::<BOUND>::clip(&out).into_string()
}

fn places(call: &Call<'_>) -> usize {
    call.args.get("edits").and_then(Value::as_array).map_or(0, Vec::len)
}

const fn method(method: &str) -> &str {
    if method.is_empty() { "GET" } else { method }
}

const fn deed(effect: Option<Effect>) -> &'static str {
    match effect {
        Some(Effect::Read) => "reads something",
        Some(Effect::Write) => "changes something",
        Some(Effect::Send) => "tells somebody something",
        Some(Effect::Pay) => "moves money",
        Some(Effect::Delete) => "destroys something",
        None => "does something that nobody declared",
    }
}

/// The text with everything that is not seen as itself written as `\u{…}`: controls, marks that turn or join text,
/// characters without width, and spaces that are not the space.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            hidden if is_hidden(hidden) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(hidden));
            }
            plain => out.push(plain),
        }
    }
    out
}

/// Characters that show as nothing, or change how others show.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || (character.is_whitespace() && character != ' ')
        || matches!(u32::from(character),
            0x00ad | 0x034f | 0x061c | 0x115f | 0x1160 | 0x17b4 | 0x17b5 | 0x180b..=0x180f | 0x200b..=0x200f
            | 0x202a..=0x202e | 0x2060..=0x206f | 0x3164 | 0xfe00..=0xfe0f | 0xfeff | 0xffa0 | 0xfff0..=0xfffb
            | 0x1bca0..=0x1bca3 | 0x1d173..=0x1d17a | 0xe0000..=0xe0fff)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_hides_or_turns_text_is_shown_as_a_number() {
        assert_eq!(
            escaped("a\u{202e}b\u{200b}c\u{1b}[31m\u{e0041}\n"),
            "a\\u{202e}b\\u{200b}c\\u{1b}[31m\\u{e0041}\\n"
        );
        assert_eq!(
            escaped("C:\\u{202e}"),
            "C:\\\\u{202e}",
            "what a text spells itself is not taken for an escape"
        );
        assert_eq!(escaped("žluťoučký 日本"), "žluťoučký 日本");
    }

    proptest::proptest! {
        // Holds P5-61.
        #[test]
        fn no_text_at_all_shows_what_hides(text: String) {
            assert!(!escaped(&text).chars().any(is_hidden));
        }
    }

    // Holds B-48.
    #[test]
    fn a_preview_names_every_argument_and_says_what_it_leaves_out() {
        let catalogue = Catalogue::built_in().unwrap();
        let args = json!({"path": "a\u{202e}.txt", "content": "x".repeat(700)});
        let args = args.as_object().unwrap();
        let text = preview(&catalogue, &Call { tool: "write", args });
        assert!(text.starts_with("Writes 700 bytes to a\\u{202e}.txt"), "{text}");
        assert!(text.contains("… and 100 characters more"), "{text}");
        assert!(preview(&catalogue, &Call { tool: "nothing", args }).contains("nobody declared"));
    }

    // Holds P12-46.
    #[test]
    fn the_message_of_a_job_is_shown_whole_behind_its_times() {
        let catalogue = Catalogue::built_in().unwrap();
        let args =
            json!({"at": "a", "prompt": "é".repeat(1024), "schedule": "once", "next": "Tue", "zone": "UTC"});
        let args = args.as_object().unwrap();
        let text = preview(&catalogue, &Call { tool: "scheduler_run_at", args });
        assert!(text.starts_with(
            "Adds a job of the agent's own, which works with nobody before it: once; first on Tue"
        ));
        assert!(
            text.contains(&"é".repeat(1024)) && text.ends_with("zone: UTC") && !text.contains('…'),
            "{text}"
        );
    }
}
