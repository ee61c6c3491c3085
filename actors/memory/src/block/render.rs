//! The text of one row in a block: a line of the index, and the row in full. Pure. The content of a row is quoted here, so
//! that no caller can forget it.

use super::quote::{self, SHOWN};
use ipc_proto::label::Trust;
use ipc_proto::memory::{Category, Kind, Observation, ObservationType, Row, SessionRow, Summary};

/// Where rows stand that touched no file.
const NOWHERE: &str = "General";
const MINUTE: u64 = 60_000;

/// Its line in the index.
pub(super) fn index(row: &Row) -> String {
    let (id, kind, tokens) = (row.entry.id, kind(row), row.tokens);
    format!("| {id} | {kind} | {} | ~{tokens} |\n", title(row, SHOWN))
}

/// Its line among decisions.
pub(super) fn decision(row: &Row) -> String {
    format!("- {} ({})\n", title(row, SHOWN), row.entry.id)
}

/// The file that it touched first, seen from the project.
pub(super) fn place(row: &Row, project: Option<&str>) -> String {
    let first = match &row.entry.detail.kind {
        Kind::Observation(seen) => seen.files_modified.first().or_else(|| seen.files_read.first()),
        Kind::Summary(came) => came.files_modified.first(),
        Kind::Note { .. } | Kind::Episodic { .. } | Kind::Semantic(_) | Kind::Entity(_) => None,
    };
    let path = first.map_or("", |path| path.as_str());
    let within = project.and_then(|project| path.strip_prefix(project)?.strip_prefix('/'));
    let shown = quote::line(within.unwrap_or(path), SHOWN);
    if shown.is_empty() { NOWHERE.to_owned() } else { shown }
}

/// The heading of a row that stands whole.
pub(super) fn heading(row: &Row) -> String {
    let detail = &row.entry.detail;
    let project = detail.project.as_ref().map(|project| format!(", project {}", quote::line(project, SHOWN)));
    format!(
        "### {} ({})\n{}: {}, importance {}{}\n",
        title(row, SHOWN),
        kind(row),
        row.entry.id,
        time(row.created_ms),
        detail.importance.get(),
        project.unwrap_or_default()
    )
}

/// All that it says besides, in lines of a quotation.
pub(super) fn whole(row: &Row) -> Vec<String> {
    let mut lines = Vec::new();
    match &row.entry.detail.kind {
        Kind::Observation(seen) => observed(&mut lines, seen, &row.entry.content),
        Kind::Summary(came) => summed(&mut lines, came, &row.entry.content),
        Kind::Note { .. } | Kind::Episodic { .. } | Kind::Semantic(_) | Kind::Entity(_) => {
            lines.extend(quote::lines(&row.entry.content));
        }
    }
    lines
}

fn observed(lines: &mut Vec<String>, seen: &Observation, narrative: &str) {
    lines.extend(quote::lines(&seen.subtitle));
    lines.extend(quote::lines(narrative));
    listed(lines, "Facts", seen.facts.iter().map(|fact| fact.as_str()));
    listed(lines, "Read", seen.files_read.iter().map(|path| path.as_str()));
    listed(lines, "Changed", seen.files_modified.iter().map(|path| path.as_str()));
}

fn summed(lines: &mut Vec<String>, came: &Summary, text: &str) {
    lines.extend(quote::lines(text));
    let parts = [
        ("Asked", &came.request),
        ("Looked into", &came.investigated),
        ("Learned", &came.learned),
        ("Done", &came.completed),
        ("Left", &came.next_steps),
    ];
    for (name, said) in parts {
        listed(lines, name, [said.as_str()].into_iter());
    }
    listed(lines, "Decided", came.key_decisions.iter().map(|decision| decision.as_str()));
    listed(lines, "Changed", came.files_modified.iter().map(|path| path.as_str()));
}

fn listed<'a>(lines: &mut Vec<String>, name: &str, items: impl Iterator<Item = &'a str>) {
    let items: Vec<String> =
        items.map(|item| quote::line(item, usize::MAX)).filter(|item| !item.is_empty()).collect();
    if !items.is_empty() {
        lines.push(format!("> {name}: {}\n", items.join("; ")));
    }
}

/// A session's line: its time, client, place, size and result.
pub(super) fn session(session: &SessionRow, summary: Option<&Row>) -> String {
    let began = time(session.started_ms);
    let (client, project) = (quote::line(&session.client, SHOWN), quote::line(&session.project, SHOWN));
    let came = summary.map_or_else(|| "–".to_owned(), |row| title(row, 2 * SHOWN));
    format!("| {began} | {client} | {project} | {} | {came} |\n", session.observations)
}

/// The title, or the beginning of a row without one.
fn title(row: &Row, most: usize) -> String {
    let content = row.entry.content.as_str();
    let or = |title: &str| if title.trim().is_empty() { content.to_owned() } else { title.to_owned() };
    let title = match &row.entry.detail.kind {
        Kind::Observation(seen) => or(&seen.title),
        Kind::Summary(came) => or(&came.request),
        Kind::Note { key: Some(key) } => format!("{key}: {content}"),
        Kind::Semantic(fact) => format!("{}: {content}", fact.key),
        Kind::Episodic { role } => format!("{role}: {content}"),
        Kind::Entity(entity) => or(&entity.name),
        Kind::Note { key: None } => content.to_owned(),
    };
    // The rest is not worked on: a row may be long.
    let begun: String = title.chars().take(16 * most).collect();
    quote::line(&begun, most)
}

/// The kind, with a mark if others than the person wrote it.
fn kind(row: &Row) -> String {
    let name = match &row.entry.detail.kind {
        Kind::Note { .. } => "note",
        Kind::Episodic { .. } => "episodic",
        Kind::Semantic(fact) => match fact.category {
            Category::Fact => "fact",
            Category::Preference => "preference",
            Category::Instruction => "instruction",
        },
        Kind::Observation(seen) => match seen.r#type {
            ObservationType::Decision => "decision",
            ObservationType::Bugfix => "bugfix",
            ObservationType::Feature => "feature",
            ObservationType::Refactor => "refactor",
            ObservationType::Discovery => "discovery",
            ObservationType::Change => "change",
        },
        Kind::Summary(_) => "summary",
        Kind::Entity(_) => "entity",
    };
    let others = row.entry.label.trust > Trust::User;
    format!("{name}{}", if others { "*" } else { "" })
}

/// Returns true if it is shown among decisions.
pub(super) fn decides(row: &Row) -> bool {
    matches!(&row.entry.detail.kind, Kind::Observation(seen) if seen.r#type == ObservationType::Decision)
}

/// The cost of finding out the content of the row.
pub(super) fn discovery(row: &Row) -> u32 {
    if let Kind::Observation(seen) = &row.entry.detail.kind { seen.discovery_tokens } else { 0 }
}

/// UTC to the minute.
fn time(ms: u64) -> String {
    let minutes = ms / MINUTE;
    let (year, month, day) = finding::civil(i64::try_from(minutes / 1440).unwrap_or(0));
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}", minutes / 60 % 24, minutes % 60)
}
