//! Arguments, read field by field. Each reading removes its field; an unknown field is refused before anything is done,
//! and every refusal names the field and its valid values. A null counts as absent.

use crate::catalogue::Tool;
use crate::cursor::{Bound, Reached};
use crate::envelope::Fault;
use crate::store::Place;
use ipc_proto::bounded::TooLong;
use ipc_proto::memory::{Filter, ObservationType, Project, WORDS, words};
use ipc_proto::{List, Text};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// The types of an observation, by name.
pub(crate) const TYPES: [(&str, ObservationType); 6] = [
    ("decision", ObservationType::Decision),
    ("bugfix", ObservationType::Bugfix),
    ("feature", ObservationType::Feature),
    ("refactor", ObservationType::Refactor),
    ("discovery", ObservationType::Discovery),
    ("change", ObservationType::Change),
];

/// The rows that a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Rows of the project that the client works in.
    Project,
    /// Rows of no project.
    User,
    /// Rows of every project and of none.
    All,
}

/// Scopes, by name.
pub(crate) const SCOPES: [(&str, Scope); 3] =
    [("project", Scope::Project), ("user", Scope::User), ("all", Scope::All)];

/// The arguments of one call.
#[derive(Debug)]
pub(crate) struct Args {
    given: Map<String, Value>,
    /// The question that a cursor must be of.
    pub(crate) bound: Bound,
}

impl Args {
    /// The arguments of a tool call.
    ///
    /// # Errors
    /// It does not know one of the fields.
    pub(crate) fn of(tool: &Tool, place: &Place, mut given: Map<String, Value>) -> Result<Self, Fault> {
        given.retain(|_, value| !value.is_null());
        let known = tool.fields();
        if let Some(unknown) = given.keys().find(|name| !known.contains(name)) {
            return Err(Fault::field(unknown, &format!("is no field of {}", tool.name), json!(known)));
        }
        let project = place.project.as_ref().map(|project| project.as_str());
        let question: BTreeMap<_, _> =
            given.iter().filter(|(name, _)| !matches!(name.as_str(), "limit" | "cursor")).collect();
        let bound = Bound::to(&json!([tool.name, project, question]));
        Ok(Self { given, bound })
    }

    /// Returns whether a field is there.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.given.contains_key(name)
    }

    /// A field, unchanged.
    ///
    /// # Errors
    /// It is not there.
    pub(crate) fn need(&mut self, name: &str, valid: &str) -> Result<Value, Fault> {
        self.given.remove(name).ok_or_else(|| Fault::field(name, "is needed", json!(valid)))
    }

    /// A text of at most `N` bytes.
    pub(crate) fn text<const N: usize>(&mut self, name: &str) -> Result<Option<Text<N>>, Fault> {
        self.given.remove(name).map(|value| text(name, value)).transpose()
    }

    /// The same; it is required and not empty.
    pub(crate) fn words<const N: usize>(&mut self, name: &str) -> Result<Text<N>, Fault> {
        let valid = || json!(format!("a text of 1 to {N} bytes"));
        let text = self.text(name)?.ok_or_else(|| Fault::field(name, "is needed", valid()))?;
        if text.trim().is_empty() { Err(Fault::field(name, "is empty", valid())) } else { Ok(text) }
    }

    /// The search text, from a text of any length; the flag says that it was shortened.
    pub(crate) fn question(&mut self, name: &str) -> Result<(Text<WORDS>, bool), Fault> {
        let Value::String(text) = self.need(name, "any text at all")? else {
            return Err(Fault::field(name, "must be a text", json!("any text at all")));
        };
        let text = text.trim();
        let question = words(text);
        let is_less = question.len() < text.len();
        Ok((question, is_less))
    }

    /// A list of at most `M` texts of at most `N` bytes, each of which holds something.
    pub(crate) fn texts<const N: usize, const M: usize>(
        &mut self,
        name: &str,
    ) -> Result<Option<List<Text<N>, M>>, Fault> {
        let Some(value) = self.given.remove(name) else { return Ok(None) };
        let valid = || json!(format!("a list of at most {M} texts"));
        let Value::Array(items) = value else { return Err(Fault::field(name, "is no list", valid())) };
        let item = |(at, item)| {
            let name = format!("{name}[{at}]");
            let item: Text<N> = text(&name, item)?;
            let valid = || json!(format!("a text of 1 to {N} bytes"));
            if item.trim().is_empty() { Err(Fault::field(&name, "is empty", valid())) } else { Ok(item) }
        };
        let items = items.into_iter().enumerate().map(item);
        let items = items.collect::<Result<Vec<_>, _>>()?;
        List::new(items).map(Some).map_err(|long| Fault::field(name, &over(long), valid()))
    }

    /// A whole number, if it is there.
    pub(crate) fn number<T: TryFrom<u64>>(
        &mut self,
        name: &str,
        range: RangeInclusive<u64>,
    ) -> Result<Option<T>, Fault> {
        let Some(value) = self.given.remove(name) else { return Ok(None) };
        // A client in a language with one kind of number may send 5.0.
        let whole = value.as_u64().or_else(|| value.as_f64().and_then(whole));
        let number =
            whole.filter(|number| range.contains(number)).and_then(|number| T::try_from(number).ok());
        let valid = json!({ "minimum": range.start(), "maximum": range.end() });
        let must = format!("must be a whole number from {} to {}", range.start(), range.end());
        number.map(Some).ok_or_else(|| Fault::field(name, &must, valid))
    }

    /// A boolean; false if absent.
    pub(crate) fn flag(&mut self, name: &str) -> Result<bool, Fault> {
        match self.given.remove(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(_) => Err(Fault::field(name, "must be true or false", json!([true, false]))),
        }
    }

    /// One of several names, if it is there.
    pub(crate) fn choice<T: Copy>(&mut self, name: &str, among: &[(&str, T)]) -> Result<Option<T>, Fault> {
        self.given.remove(name).map(|value| choice(name, &value, among)).transpose()
    }

    /// The types of observations to select; any if empty.
    pub(crate) fn types(&mut self) -> Result<List<ObservationType, 6>, Fault> {
        let Some(value) = self.given.remove("types") else { return Ok(List::default()) };
        let names = TYPES.map(|(name, _)| name);
        let Value::Array(items) = value else {
            return Err(Fault::field("types", "is no list", json!(names)));
        };
        let mut types: Vec<ObservationType> = Vec::new();
        for (at, item) in items.iter().enumerate() {
            let found = choice(&format!("types[{at}]"), item, &TYPES)?;
            if !types.contains(&found) {
                types.push(found);
            }
        }
        Ok(List::clip(types))
    }

    /// Reads the scope: the client's own project unless the call names another or the client has none. Returns the
    /// filter's project.
    pub(crate) fn scope(&mut self, place: &Place, among: &[(&str, Scope)]) -> Result<Option<Project>, Fault> {
        let scope = self.choice("scope", among)?;
        let default = if place.project.is_some() { Scope::Project } else { Scope::All };
        match (scope.unwrap_or(default), &place.project) {
            (Scope::Project, Some(project)) => Ok(Some(project.clone())),
            (Scope::Project, None) => {
                let names: Vec<_> =
                    among.iter().map(|(name, _)| *name).filter(|name| *name != "project").collect();
                let must = "cannot be `project`: this client names no project (over HTTP: /mcp?project=NAME)";
                Err(Fault::field("scope", must, json!(names)))
            }
            (Scope::User, _) => Ok(Some(Project::default())),
            (Scope::All, _) => Ok(None),
        }
    }

    /// The position that an earlier answer reached.
    pub(crate) fn cursor(&mut self) -> Result<u64, Fault> {
        let cursor: Option<Text<256>> = self.text("cursor")?;
        cursor.map_or(Ok(0), |cursor| self.bound.read(&cursor))
    }

    /// The rows behind which an earlier answer ended.
    pub(crate) fn reached(&mut self) -> Result<Reached, Fault> {
        let cursor: Option<Text<256>> = self.text("cursor")?;
        cursor.map_or(Ok(Reached::default()), |cursor| self.bound.reached(&cursor))
    }

    /// The names in a field that is an object of flags; those that are true.
    pub(crate) fn flags(&mut self, name: &str, among: &[&str]) -> Result<BTreeMap<String, bool>, Fault> {
        let Some(value) = self.given.remove(name) else { return Ok(BTreeMap::new()) };
        let Value::Object(items) = value else {
            return Err(Fault::field(name, "must be an object", json!(among)));
        };
        let mut flags = BTreeMap::new();
        for (item, value) in items {
            let path = format!("{name}.{item}");
            if !among.contains(&item.as_str()) {
                return Err(Fault::field(&path, "is not known", json!(among)));
            }
            let flag = value.as_bool();
            let flag =
                flag.ok_or_else(|| Fault::field(&path, "must be true or false", json!([true, false])))?;
            flags.insert(item, flag);
        }
        Ok(flags)
    }
}

/// A filter of a project, for current rows.
pub(crate) fn of_project(project: Option<Project>) -> Filter {
    Filter { project, ..Filter::default() }
}

/// An integer; `None` for a number that an `f64` cannot hold exactly.
fn whole(number: f64) -> Option<u64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let fits = number.fract() == 0.0 && (0.0..EXACT).contains(&number);
    fits.then(|| format!("{number:.0}").parse().ok()).flatten()
}

fn text<const N: usize>(name: &str, value: Value) -> Result<Text<N>, Fault> {
    let valid = || json!(format!("a text of at most {N} bytes"));
    let Value::String(text) = value else { return Err(Fault::field(name, "must be a text", valid())) };
    Text::new(text).map_err(|long| Fault::field(name, &over(long), valid()))
}

fn over(long: TooLong) -> String {
    format!("is too long: {long}")
}

fn choice<T: Copy>(name: &str, value: &Value, among: &[(&str, T)]) -> Result<T, Fault> {
    let found = value.as_str().and_then(|word| among.iter().find(|(name, _)| *name == word));
    let names: Vec<&str> = among.iter().map(|(name, _)| *name).collect();
    let must = format!("must be one of: {}", names.join(", "));
    found.map(|(_, value)| *value).ok_or_else(|| Fault::field(name, &must, json!(names)))
}
