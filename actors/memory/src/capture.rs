//! Makes a row of a tool call that a client's hook captured: pure. Text that this host itself put before the model is
//! not taken for something new, and text that the owner never wants stored is cut out before anything else looks at it.

use crate::block;
use crate::private;
use crate::sessions;
use ipc_proto::ids::{MemoryId, SessionId};
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::memory::{
    Capture, CaptureEvent, Detail, Entry, FilePath, Importance, Kind, LISTED, Observation, ObservationType,
    Scope, Source, SourceType,
};
use ipc_proto::{List, Name, Text};

/// Parts that clients and hosts put into a conversation by themselves: learned, they would be given back again and again.
const INJECTED: [&str; 8] = [
    block::MARK,
    "open-mem-context",
    "claude-mem-context",
    "system-reminder",
    "system_instruction",
    "system-instruction",
    "system_reminder",
    "persisted-output",
];
/// Characters of a message below which it says nothing.
const SHORT_MESSAGE: usize = 20;
/// Characters of a message in its row's title.
const OF_MESSAGE: usize = 60;
/// Characters of a message or an output in a row; its source text is stored beside it.
const SAID: usize = 2000;
/// Concepts of a message, and letters that a word of them has at least.
const CONCEPTS: usize = 5;
const CONCEPT: usize = 5;

/// The captures that are not stored.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ignored {
    /// Captures of these tools.
    pub(crate) tools: Vec<String>,
    /// Outputs of fewer characters.
    pub(crate) shorter: u32,
}

/// A row to be, and its source text.
#[derive(Debug)]
pub(crate) struct Captured {
    pub(crate) entry: Entry,
    pub(crate) raw: Option<String>,
}

/// The id of the row that a capture becomes, if it can become one: the same call or message is the same row.
pub(crate) fn id(scope: &Scope, capture: &Capture) -> Option<MemoryId> {
    let (what, name) = match &capture.event {
        CaptureEvent::Tool { call, .. } => ("tool", call),
        CaptureEvent::Message { message, .. } => ("message", message),
        _ => return None,
    };
    let words = [what, &capture.client, &capture.project, &capture.session, name];
    Some(MemoryId::from_bytes(sessions::derived(scope, &words)))
}

/// The part of a capture to store; none if there is nothing.
pub(crate) fn seen(scope: &Scope, capture: &Capture, ignored: &Ignored) -> Option<Captured> {
    let (id, session) = (id(scope, capture)?, sessions::id(scope, capture));
    match &capture.event {
        CaptureEvent::Tool { tool, title, file, output, .. } => {
            let output = cleaned(output);
            let ignores = ignored.tools.iter().any(|name| name == tool.as_str());
            let least = usize::try_from(ignored.shorter).unwrap_or(usize::MAX).max(1);
            if ignores || output.trim().chars().take(least).count() < least {
                return None;
            }
            let called = Called { tool, title, file: file.as_ref() };
            Some(Captured { entry: of_tool(id, session, capture, &called, &output), raw: Some(output) })
        }
        CaptureEvent::Message { message, text } => {
            let text = cleaned(text);
            let text = text.trim();
            if text.chars().take(SHORT_MESSAGE).count() < SHORT_MESSAGE {
                return None;
            }
            Some(Captured { entry: of_message(id, session, capture, message, text), raw: None })
        }
        _ => None,
    }
}

/// The text without its private parts and without the blocks that hosts and clients put into it.
fn cleaned(text: &str) -> String {
    let private = private::dropped(text);
    INJECTED.iter().fold(
        private,
        |text, name| {
            if text.contains('<') { private::without(&text, name) } else { text }
        },
    )
}

/// A tool's call, as its client tells of it.
struct Called<'a> {
    tool: &'a Name,
    title: &'a Text<200>,
    file: Option<&'a FilePath>,
}

fn of_tool(id: MemoryId, session: SessionId, capture: &Capture, called: &Called<'_>, output: &str) -> Entry {
    let (tool, changes) = (called.tool, changes(called.tool));
    // The author of a file that was read controls its content; only the client's word tells of a change, and the file
    // that it names comes first.
    let own = called.file.map(|file| Text::clip(&cleaned(file))).filter(|file: &FilePath| !file.is_empty());
    let named = files_in(output).into_iter().filter(|file| Some(file) != own.as_ref());
    let (modified, read) = if changes { (own.clone(), None) } else { (None, own.clone()) };
    let seen = Observation {
        r#type: if changes { ObservationType::Change } else { ObservationType::Discovery },
        title: Text::clip(&format!("{} execution", tool.as_str())),
        subtitle: Text::clip(&cleaned(called.title)),
        files_read: List::clip(read.into_iter().chain(named)),
        files_modified: List::clip(modified),
        discovery_tokens: tokens(output),
        plain: true,
        ..Observation::default()
    };
    Entry {
        id,
        content: Text::clip(cut(output, SAID)),
        tags: List::default(),
        label: label(Trust::Untrusted, capture),
        session: Some(session),
        detail: Detail {
            kind: Kind::Observation(Box::new(seen)),
            source: Source {
                r#type: SourceType::ToolOutput,
                tool: Some(tool.clone()),
                external: true,
                ..Source::default()
            },
            importance: Importance::of(2),
            project: Some(capture.project.clone()),
            expires_ms: None,
        },
    }
}

fn of_message(id: MemoryId, session: SessionId, capture: &Capture, message: &Text<128>, text: &str) -> Entry {
    let seen = Observation {
        r#type: ObservationType::Discovery,
        title: Text::clip(&format!("User request: {}", cut(text, OF_MESSAGE))),
        discovery_tokens: tokens(text),
        ..Observation::default()
    };
    Entry {
        id,
        content: Text::clip(cut(text, SAID)),
        tags: List::clip(concepts(text)),
        label: label(Trust::Verified, capture),
        session: Some(session),
        detail: Detail {
            kind: Kind::Observation(Box::new(seen)),
            source: Source {
                r#type: SourceType::UserMessage,
                message: Some(message.clone()),
                ..Source::default()
            },
            importance: Importance::default(),
            project: Some(capture.project.clone()),
            expires_ms: None,
        },
    }
}

fn label(trust: Trust, capture: &Capture) -> Label {
    Label::of(trust, Class::Internal, &format!("hook:{}", capture.client.as_str()))
}

/// Returns true if a tool changes files rather than reads them.
fn changes(tool: &str) -> bool {
    ["write", "edit", "bash", "multiedit", "notebookedit", "patch"]
        .iter()
        .any(|name| tool.eq_ignore_ascii_case(name))
}

/// The first distinct words of some length, in lower case.
fn concepts(text: &str) -> Vec<Name> {
    let mut concepts: Vec<String> = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_') {
        let word = word.to_lowercase();
        if word.chars().count() >= CONCEPT && !concepts.contains(&word) {
            concepts.push(word);
        }
        if concepts.len() == CONCEPTS {
            break;
        }
    }
    concepts.iter().map(|word| Name::clip(word)).collect()
}

/// Paths of files in a text, each once: words of the letters that paths are made of, with a folder or from the root, and
/// a name with an ending. One pass over the text.
pub(crate) fn files_in(text: &str) -> Vec<FilePath> {
    let of_path = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | '@' | '+' | '~');
    let mut files: Vec<FilePath> = Vec::new();
    for word in text.split(|c: char| !of_path(c)) {
        let word = word.trim_end_matches(['.', '-']);
        if is_file(word) && !files.iter().any(|file| file.as_str() == word) {
            files.extend(Text::new(word).ok());
        }
        if files.len() == LISTED {
            break;
        }
    }
    files
}

fn is_file(word: &str) -> bool {
    let Some((folder, name)) = word.rsplit_once('/') else { return false };
    let ending = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, ending)| ending);
    let ends = ending.is_some_and(|ending| {
        (1..=10).contains(&ending.len()) && ending.chars().all(|c| c.is_ascii_alphanumeric())
    });
    ends && !folder.starts_with("//") && !word.contains("//")
}

fn tokens(text: &str) -> u32 {
    u32::try_from(text.chars().count().div_ceil(4)).unwrap_or(u32::MAX)
}

/// The text up to a number of characters.
fn cut(text: &str, most: usize) -> &str {
    match text.char_indices().nth(most) {
        Some((at, _)) => text.get(..at).unwrap_or(text),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::user;

    fn capture(event: CaptureEvent) -> Capture {
        Capture {
            client: Text::clip("claude-code"),
            session: Text::clip("s"),
            project: Text::clip("/home/a/p"),
            event,
        }
    }

    /// The file that an edit or a read is of.
    const OWN: &str = "src/own.rs";

    fn tool(name: &str, call: &str, output: &str) -> Capture {
        let event = CaptureEvent::Tool {
            tool: Text::clip(name),
            call: Text::clip(call),
            title: Text::default(),
            file: (name == "Edit" || name == "Read").then(|| Text::clip(OWN)),
            output: Text::clip(output),
        };
        capture(event)
    }

    fn message(text: &str) -> Capture {
        capture(CaptureEvent::Message { message: Text::clip("m"), text: Text::clip(text) })
    }

    fn captured(capture: &Capture) -> Option<(Entry, Observation)> {
        let ignored = Ignored { tools: vec!["TodoWrite".to_owned()], shorter: 50 };
        let entry = seen(&user(1), capture, &ignored)?.entry;
        let Kind::Observation(seen) = entry.detail.kind.clone() else { panic!("no observation") };
        Some((entry, *seen))
    }

    #[test]
    fn a_tools_output_is_a_plain_observation_of_little_importance() {
        let output =
            format!("edited {OWN}, says /srv/app/src/main.rs, and ./lib/a.ts. {}", "x ".repeat(2000));
        let (entry, seen) = captured(&tool("Edit", "1", &output)).unwrap();
        assert_eq!((seen.title.as_str(), seen.r#type), ("Edit execution", ObservationType::Change));
        assert_eq!(
            (entry.detail.importance.get(), entry.label.trust, seen.plain),
            (2, Trust::Untrusted, true)
        );
        assert_eq!(entry.content.chars().count(), SAID);
        for (name, r#type) in
            [("Read", "Discovery"), ("Grep", "Discovery"), ("Bash", "Change"), ("x", "Discovery")]
        {
            let (_, seen) = captured(&tool(name, "1", &output)).unwrap();
            assert_eq!(format!("{:?}", seen.r#type), r#type, "{name}");
        }
    }

    // Holds P5-33.
    #[test]
    fn a_tools_own_file_comes_first_and_its_output_changes_none() {
        let output = "the page says src/light.rs and docs/light.md, and then the file that it is: src/own.rs";
        let (of_own, of_page) =
            ([OWN, "src/light.rs", "docs/light.md"], ["src/light.rs", "docs/light.md", OWN]);
        for (name, read, modified) in [
            ("Read", of_own.to_vec(), vec![]),
            ("Edit", of_page[..2].to_vec(), vec![OWN]),
            ("Bash", of_page.to_vec(), vec![]),
            ("Grep", of_page.to_vec(), vec![]),
        ] {
            let (_, seen) = captured(&tool(name, "1", output)).unwrap();
            let files = |files: &[FilePath]| files.iter().map(ToString::to_string).collect::<Vec<_>>();
            assert_eq!(files(&seen.files_read), read, "{name}");
            assert_eq!(files(&seen.files_modified), modified, "{name}");
        }
    }

    #[test]
    fn short_outputs_ignored_tools_and_short_messages_are_nothing() {
        let long = "word ".repeat(20);
        let nothing = [
            tool("Read", "1", "short"),
            tool("Read", "1", ""),
            tool("TodoWrite", "1", &long),
            tool("Read", "1", &format!("<private>{long}</private> rest")),
            tool("Read", "1", &format!("<private>{long}")),
            tool("Read", "1", &format!("<memory-context id=\"1\">{long}</memory-context id=\"1\">")),
            message("too short"),
            message(&format!("<system-reminder>{long}</system-reminder> ok")),
            capture(CaptureEvent::Idle),
        ];
        for capture in nothing {
            assert!(captured(&capture).is_none(), "{capture:?}");
        }
    }

    #[test]
    fn a_message_is_a_discovery_with_the_words_it_is_about() {
        let text = "Please make the harbour office open at seven from Monday, please";
        let (entry, seen) = captured(&message(&format!("{text}<system-reminder>never this"))).unwrap();
        assert_eq!(seen.title.as_str(), format!("User request: {}", &text[..60]));
        assert_eq!((entry.content.as_str(), entry.detail.importance.get()), (text, 3));
        let tags: Vec<&str> = entry.tags.iter().map(|tag| tag.as_str()).collect();
        assert_eq!(tags, ["please", "harbour", "office", "seven", "monday"]);
        assert_eq!((entry.label.trust, seen.plain), (Trust::Verified, false));
    }

    #[test]
    fn the_same_call_is_the_same_row_and_another_owners_is_another() {
        let (one, again) = (tool("Read", "1", "a"), tool("Read", "1", "b"));
        assert_eq!(id(&user(1), &one), id(&user(1), &again));
        let others = [id(&user(2), &one), id(&user(1), &tool("Read", "2", "a")), id(&user(1), &message("1"))];
        assert!(others.iter().all(|other| *other != id(&user(1), &one)));
        assert_eq!(id(&user(1), &capture(CaptureEvent::Started)), None);
    }

    #[test]
    fn only_what_looks_like_a_file_in_a_folder_is_one() {
        let text = "see https://a.example/x.html, src/a.rs:12, /etc/hosts, a/b/.env, and v1.2/3.4. (lib/x_y-z.tar.gz)";
        let files: Vec<String> = files_in(text).into_iter().map(Text::into_string).collect();
        assert_eq!(files, ["src/a.rs", "v1.2/3.4", "lib/x_y-z.tar.gz"]);
        assert_eq!(files_in(&"a/b".repeat(100_000)).len(), 0);
    }
}
