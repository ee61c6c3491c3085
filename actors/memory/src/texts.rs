//! Visits every text of an entry, so that a treatment of one is a treatment of all. Pure.

use ipc_proto::memory::{CONTENT_BOUND, Entity, Entry, Fact, Kind, Observation, Refusal, Summary};
use ipc_proto::{List, Text};

/// The role of a text in its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Words, which may be mended.
    Words,
    /// An identifying text: mended, it would be another one.
    Name,
}

/// The function that makes a new text of each.
pub(crate) type Each<'a> = &'a mut dyn FnMut(Part, &str) -> Result<String, Refusal>;

/// The entry with every text replaced; items of lists of which nothing is left are left out.
pub(crate) fn through(entry: &Entry, each: Each<'_>) -> Result<Entry, Refusal> {
    let mut made = entry.clone();
    let content = each(Part::Words, &entry.content)?;
    made.content = Text::<CONTENT_BOUND>::new(content).map_err(|_| Refusal::TooLong)?;
    made.tags = List::clip(list::<64, 16>(&entry.tags, Part::Name, each)?);
    made.detail.kind = kind(&entry.detail.kind, each)?;
    let source = &mut made.detail.source;
    source.message = some(source.message.as_ref(), each)?;
    source.tool = some(source.tool.as_ref(), each)?;
    made.detail.project = some(entry.detail.project.as_ref(), each)?;
    Ok(made)
}

fn kind(kind: &Kind, each: Each<'_>) -> Result<Kind, Refusal> {
    Ok(match kind {
        Kind::Note { key } => Kind::Note { key: some(key.as_ref(), each)? },
        Kind::Episodic { role } => Kind::Episodic { role: text(role, Part::Name, each)? },
        Kind::Semantic(fact) => {
            Kind::Semantic(Fact { key: text(&fact.key, Part::Name, each)?, ..fact.clone() })
        }
        Kind::Entity(entity) => {
            Kind::Entity(Entity { name: text(&entity.name, Part::Name, each)?, r#type: entity.r#type })
        }
        Kind::Observation(seen) => Kind::Observation(Box::new(Observation {
            title: text(&seen.title, Part::Words, each)?,
            subtitle: text(&seen.subtitle, Part::Words, each)?,
            facts: List::clip(list(&seen.facts, Part::Words, each)?),
            files_read: List::clip(list(&seen.files_read, Part::Words, each)?),
            files_modified: List::clip(list(&seen.files_modified, Part::Words, each)?),
            ..Observation::clone(seen)
        })),
        Kind::Summary(came) => Kind::Summary(Box::new(Summary {
            request: text(&came.request, Part::Words, each)?,
            investigated: text(&came.investigated, Part::Words, each)?,
            learned: text(&came.learned, Part::Words, each)?,
            completed: text(&came.completed, Part::Words, each)?,
            next_steps: text(&came.next_steps, Part::Words, each)?,
            key_decisions: List::clip(list(&came.key_decisions, Part::Words, each)?),
            files_modified: List::clip(list(&came.files_modified, Part::Words, each)?),
        })),
    })
}

/// A mended text over its bound is cut, except the content, which would lose text that was to be stored.
fn text<const N: usize>(text: &Text<N>, part: Part, each: Each<'_>) -> Result<Text<N>, Refusal> {
    Ok(Text::clip(&each(part, text)?))
}

fn some<const N: usize>(name: Option<&Text<N>>, each: Each<'_>) -> Result<Option<Text<N>>, Refusal> {
    name.map(|name| text(name, Part::Name, each)).transpose()
}

fn list<const N: usize, const M: usize>(
    items: &List<Text<N>, M>,
    part: Part,
    each: Each<'_>,
) -> Result<Vec<Text<N>>, Refusal> {
    let mut made = Vec::with_capacity(items.len());
    for item in items.iter() {
        made.push(text(item, part, each)?);
    }
    made.retain(|item| !item.trim().is_empty());
    Ok(made)
}
