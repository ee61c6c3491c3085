//! Facts and entities that a model extracted from captured text, as rows of their own. Pure. All of it is a model's
//! word about a stranger's text: memory proposes the facts to a person and lets none of them hold by itself.

use crate::store::Job;
use crate::work::sixteen;
use ipc_proto::ids::MemoryId;
use ipc_proto::label::Label;
use ipc_proto::memory::{Area, Category, Entity as Named, EntityType, Entry, Fact, Kind, SourceType, TAKEN};
use ipc_proto::{List, Name, Text};
use serde::Deserialize;

/// How entities can hang together; any other relation is dropped.
const RELATIONS: &[&str] =
    &["uses", "depends_on", "implements", "extends", "related_to", "replaces", "configures"];
/// Facts of one row.
const FACTS: usize = 8;
/// Bytes of a fact's value, and of the facts about an entity.
const VALUE: usize = 1024;

/// Something that the model named.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Entity {
    pub(crate) name: String,
    /// Whatever it calls it: of an unknown type it is something else.
    #[serde(default)]
    r#type: String,
}

/// How two of them hang together.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Relation {
    source: String,
    kind: String,
    target: String,
}

/// Something that holds, as the model says.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Statement {
    key: String,
    value: String,
    /// From 0 to 1.
    #[serde(default)]
    confidence: f64,
}

/// Rows for memory to propose or to keep, at most as many as it takes. The same of the same job have the same ids.
pub(crate) fn entries(
    job: &Job,
    label: &Label,
    statements: &[Statement],
    entities: &[Entity],
    relations: &[Relation],
) -> List<Entry, TAKEN> {
    let whose = (job.view.info.owner.to_string(), &job.view.info.area);
    let facts = statements.iter().filter(|it| says(&it.key) && says(&it.value)).take(FACTS);
    let facts = facts.map(|statement| fact(&whose, label, statement));
    let sentences = self::relations(entities, relations);
    let mut named: Vec<&Entity> = Vec::new();
    for entity in entities.iter().filter(|entity| says(&entity.name)) {
        if !named.iter().any(|other| other.name.trim() == entity.name.trim()) {
            named.push(entity);
        }
    }
    let entities = named.into_iter().map(|entity| met(&whose, label, entity, &sentences));
    List::clip(facts.chain(entities))
}

fn says(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}

fn fact(whose: &(String, &Area), label: &Label, statement: &Statement) -> Entry {
    let (key, value) = (statement.key.trim(), statement.value.trim());
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is from 0 to 1000")]
    let confidence = (statement.confidence.clamp(0.0, 1.0) * 1000.0).round() as u16;
    let kind = Kind::Semantic(Fact { category: Category::Fact, key: Text::clip(key), confidence });
    entry(whose, label, kind, &["fact", key, value], value)
}

fn met(whose: &(String, &Area), label: &Label, entity: &Entity, sentences: &[(&Relation, String)]) -> Entry {
    let (name, word) = (entity.name.trim(), entity.r#type.trim().to_ascii_lowercase());
    let r#type: EntityType = serde_json::from_value(word.into()).unwrap_or(EntityType::Other);
    let about = |it: &&(&Relation, String)| it.0.source == entity.name || it.0.target == entity.name;
    let mut lines = vec![name.to_owned()];
    lines.extend(sentences.iter().filter(about).map(|(_, sentence)| sentence.clone()));
    let text = lines.join("\n");
    let kind = Kind::Entity(Named { name: Text::clip(name), r#type });
    let mut entry = entry(whose, label, kind, &["entity", name, &text], &text);
    let word = serde_json::to_value(r#type).ok();
    entry.tags = List::clip(word.iter().filter_map(|word| word.as_str()).map(Name::clip));
    entry
}

/// Its id follows from all that it says, for this owner: a proposed or known fact is not so again.
fn entry((owner, area): &(String, &Area), label: &Label, kind: Kind, parts: &[&str], text: &str) -> Entry {
    let named = format!("{owner}\0{area:?}\0{}", parts.join("\0"));
    let id = MemoryId::from_bytes(sixteen(&named));
    let text = text.get(..text.floor_char_boundary(VALUE)).unwrap_or_default();
    let mut entry = Entry::new(id, Text::clip(text), label.clone());
    entry.detail.kind = kind;
    entry.detail.source.r#type = SourceType::AiInference;
    entry
}

/// Relations of the known kinds between entities that were named, each with its sentence.
pub(crate) fn relations<'a>(entities: &[Entity], relations: &'a [Relation]) -> Vec<(&'a Relation, String)> {
    let named = |name: &str| entities.iter().any(|entity| entity.name == name);
    let holds =
        |it: &&Relation| RELATIONS.contains(&it.kind.as_str()) && named(&it.source) && named(&it.target);
    let sentence =
        |it: &'a Relation| (it, format!("{} {} {}", it.source, it.kind.replace('_', " "), it.target));
    relations.iter().filter(holds).map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::new_job;
    use ipc_proto::curator::{JobKind, Priority};
    use ipc_proto::ids::{JobId, UserId};
    use ipc_proto::label::{Class, Trust};

    fn job(owner: u8) -> Job {
        let whose = (UserId::from_bytes([owner; 16]), Area::User);
        let view = new_job(JobId::random(), JobKind::Compress, Priority::Normal, whose, "x", 1);
        Job { view, seq: 1 }
    }

    fn read<T: serde::de::DeserializeOwned>(json: &str) -> T {
        serde_json::from_str(json).unwrap()
    }

    const ENTITIES: &str = r#"[{"name":"tokio","type":"library"},{"name":"kit","type":"spaceship"},{"name":"tokio"},
        {"name":" -- ","type":"file"}]"#;
    const LINKS: &str = r#"[{"source":"kit","kind":"depends_on","target":"tokio"},
        {"source":"kit","kind":"loves","target":"tokio"},{"source":"kit","kind":"uses","target":"ghost"}]"#;

    #[test]
    fn relations_of_unknown_kinds_or_to_what_was_not_named_are_dropped() {
        let links: Vec<Relation> = read(LINKS);
        let sentences: Vec<String> =
            relations(&read::<Vec<Entity>>(ENTITIES), &links).into_iter().map(|it| it.1).collect();
        assert_eq!(sentences, ["kit depends on tokio"]);
    }

    #[test]
    fn extracted_rows_carry_the_label_of_their_source() {
        let label = Label::of(Trust::Untrusted, Class::Sensitive, "hook");
        let facts: Vec<Statement> = read(
            r#"[{"key":"runtime","value":"kit runs on tokio","confidence":0.9},{"key":"","value":"x"},
            {"key":"sure","value":"very","confidence":7}]"#,
        );
        let (named, links): (Vec<Entity>, Vec<Relation>) = (read(ENTITIES), read(LINKS));
        let taken = entries(&job(1), &label, &facts, &named, &links);
        assert!(taken.iter().all(|entry| entry.label == label));
        let Kind::Semantic(fact) = &taken[0].detail.kind else { panic!("no fact") };
        assert_eq!(
            (fact.key.as_str(), fact.confidence, taken[0].content.as_str()),
            ("runtime", 900, "kit runs on tokio")
        );
        let Kind::Semantic(sure) = &taken[1].detail.kind else { panic!("no fact") };
        assert_eq!(sure.confidence, 1000);
        let names: Vec<(EntityType, &str)> = taken
            .iter()
            .filter_map(|entry| match &entry.detail.kind {
                Kind::Entity(entity) => Some((entity.r#type, entry.content.as_str())),
                _ => None,
            })
            .collect();
        let both = "kit depends on tokio";
        assert_eq!(names[0], (EntityType::Library, format!("tokio\n{both}").as_str()));
        assert_eq!(names[1], (EntityType::Other, format!("kit\n{both}").as_str()));
        assert_eq!((names.len(), taken[2].tags[0].as_str()), (2, "library"));
        let again = entries(&job(1), &label, &facts, &named, &links);
        assert_eq!(again, taken, "the same of another job is the same");
        assert_ne!(entries(&job(2), &label, &facts, &named, &links)[0].id, taken[0].id);
    }
}
