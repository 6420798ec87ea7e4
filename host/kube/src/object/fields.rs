//! Declared fields: cuts an object to what a plugin said that it reads.
//!
//! - Paths are the simple JSONPaths of CustomResourceDefinitions: `.spec.replicas`,
//!   `.data['app.conf']`, `.spec.containers[*].image`.
//! - `apiVersion`, `kind` and `metadata` are always there; `managedFields` never is.

#[cfg(test)]
mod tests;
mod text;

use serde_json::{Map, Value};

use super::RawFields;
use super::parts::RawField;
use text::Branch;

/// The room for what is left of an object, before it grows.
const ROOM: usize = 1024;

/// The fields that are always there.
const ALWAYS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Of an object it is not told what more declared fields than this take.
const MANY: usize = 64;

/// The fields that a plugin declared for one kind. None declared means all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    paths: Vec<Vec<PathStep>>,
    /// The same, and what is always there.
    tree: Branch,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PathStep {
    Field(String),
    Each,
}

/// A path that is not of the simple form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a simple JSONPath such as .spec.replicas, .data['app.conf'] or .spec.containers[*].image"
)]
pub struct BadPath(String);

impl Fields {
    /// Reads the paths.
    ///
    /// # Errors
    /// The first path that is not of the simple form.
    pub fn parse<'a>(paths: impl IntoIterator<Item = &'a str>) -> Result<Self, BadPath> {
        let parsed = paths.into_iter().map(|path| {
            steps(path)
                .filter(|steps| !steps.is_empty())
                .ok_or_else(|| BadPath(path.to_owned()))
        });
        parsed.collect::<Result<_, _>>().map(Self::of)
    }

    fn of(paths: Vec<Vec<PathStep>>) -> Self {
        if paths.is_empty() {
            return Self::default();
        }
        let mut tree = Branch::default();
        for always in ALWAYS {
            tree.add(&[PathStep::Field(always.to_owned())]);
        }
        paths.iter().for_each(|path| tree.add(path));
        Self { paths, tree }
    }

    /// None but those that every object has.
    pub fn of_metadata() -> Self {
        let name = ["metadata", "name"].map(|name| PathStep::Field(name.to_owned()));
        Self::of(vec![name.to_vec()])
    }

    /// The paths, in the order in which they were given.
    pub(super) fn paths(&self) -> &[Vec<PathStep>] {
        &self.paths
    }

    /// How many steps the longest path has.
    pub fn depth(&self) -> usize {
        self.paths.iter().map(Vec::len).max().unwrap_or_default()
    }

    /// Whether an object that is cut to them shows as much as before of what each of these paths leads to.
    pub fn hides_nothing_of(&self, paths: &Self) -> bool {
        let always = |path: &Vec<PathStep>| matches!(path.first(), Some(PathStep::Field(name)) if ALWAYS.contains(&&**name));
        let mut paths = paths.paths.iter();
        self.is_all() || paths.all(|path| always(path) || self.has(path))
    }

    /// What both name: empty means all, so all wins.
    pub fn union(mut self, other: Self) -> Self {
        if self.is_all() || other.is_all() {
            return Self::default();
        }
        self.paths.extend(other.paths);
        self.paths.sort();
        // What begins with a path that is there is in it.
        self.paths.dedup_by(|later, kept| later.starts_with(kept));
        Self::of(self.paths)
    }

    /// Whether it is everything.
    pub fn is_all(&self) -> bool {
        self.paths.is_empty()
    }

    /// Whether one of them is a top-level field called `name`, or within it.
    pub fn begin_with(&self, name: &str) -> bool {
        let first = |path: &Vec<PathStep>| matches!(path.first(), Some(PathStep::Field(field)) if field == name);
        self.is_all() || self.paths.iter().any(first)
    }

    /// Whether it has everything that `other` names.
    pub fn covers(&self, other: &Self) -> bool {
        let mut paths = other.paths.iter();
        self.is_all() || (!other.is_all() && paths.all(|path| self.has(path)))
    }

    /// Whether what this path leads to is in one of them.
    fn has(&self, path: &[PathStep]) -> bool {
        self.paths.iter().any(|kept| path.starts_with(kept))
    }

    /// Whether two objects are the same in the declared fields, metadata aside.
    pub fn same(&self, one: &Value, other: &Value) -> bool {
        let cut = |object: &Value| {
            let mut object = self.cut(object);
            if let Some(object) = object.as_object_mut() {
                object.remove("metadata");
            }
            object
        };
        cut(one) == cut(other)
    }

    /// How many bytes of an object's text they are, and what is always there, at most: a list of which parts are declared
    /// counts as a whole, and so does the object if very many fields are.
    pub(crate) fn length_in(&self, text: &str) -> usize {
        let parts = if self.is_all() || self.paths.len() > MANY {
            None
        } else {
            RawFields::of(text)
        };
        let Some(parts) = parts else {
            return text.len();
        };
        let always = ALWAYS.map(|name| length(&parts, &[PathStep::Field(name.to_owned())]));
        let declared = self.paths.iter().map(|path| length(&parts, path));
        let all = always.into_iter().chain(declared).sum::<usize>() + 2;
        all.min(text.len())
    }

    /// Cuts the text of an object in a store to the declared fields, without a tree.
    pub(crate) fn cut_text(&self, text: &str) -> String {
        if self.is_all() {
            return text.to_owned();
        }
        // What is kept is charged by its length, so there is not much more room than that.
        let mut kept = String::with_capacity(text.len().min(ROOM));
        if !self.tree.write(text, &mut kept) {
            kept.push_str("{}");
        }
        kept
    }

    /// Writes what the declared fields leave of a field of an object, as one that follows others in `to`.
    pub(super) fn write(&self, part: &RawField<'_>, to: &mut String) {
        if self.is_all() {
            return part.write(to);
        }
        let before = to.len();
        let is_kept = self.tree.field(part.name()).is_some_and(|branch| {
            part.write_name(to);
            branch.write(part.value.get(), to)
        });
        if !is_kept {
            to.truncate(before);
        }
    }

    /// Cuts `object` to the declared fields.
    pub fn cut(&self, object: &Value) -> Value {
        let Some(whole) = object.as_object() else {
            return object.clone();
        };
        let mut kept = Map::new();
        for always in ALWAYS {
            if let Some(value) = whole.get(always) {
                kept.insert(always.to_owned(), value.clone());
            }
        }
        if let Some(Value::Object(metadata)) = kept.get_mut("metadata") {
            metadata.remove("managedFields");
        }
        if self.paths.is_empty() {
            for (name, value) in whole {
                if name != "metadata" {
                    kept.insert(name.clone(), value.clone());
                }
            }
            return Value::Object(kept);
        }
        let mut kept = Value::Object(kept);
        for path in self
            .paths
            .iter()
            .filter(|path| path.first() != Some(&PathStep::Field("metadata".into())))
        {
            copy(object, &mut kept, path);
        }
        kept
    }
}

/// How many bytes of the text `path` leads to, with the names on the way.
fn length(parts: &RawFields<'_>, path: &[PathStep]) -> usize {
    let [PathStep::Field(name), rest @ ..] = path else {
        return 0;
    };
    let Some(value) = parts.get(name) else {
        return 0;
    };
    // Quotes, a colon, a comma, and braces.
    let around = name.len() + 6;
    match rest {
        [PathStep::Field(_), ..] => {
            RawFields::within(value).map_or(0, |inner| around + length(&inner, rest))
        }
        _ => around + value.get().len(),
    }
}

/// Copies what `path` leads to from one tree to the other, making what is on the way.
fn copy(from: &Value, to: &mut Value, path: &[PathStep]) {
    match (path, from) {
        ([], _) => *to = from.clone(),
        ([PathStep::Field(name), rest @ ..], Value::Object(fields)) => {
            let Some(inner) = fields.get(name).filter(|inner| reaches(inner, rest)) else {
                return;
            };
            if !to.is_object() {
                *to = Value::Object(Map::new());
            }
            if let Value::Object(kept) = to {
                copy(
                    inner,
                    kept.entry(name.clone())
                        .or_insert_with(|| empty_like(inner)),
                    rest,
                );
            }
        }
        ([PathStep::Each, rest @ ..], Value::Array(items)) => {
            if !to.is_array() {
                *to = Value::Array(Vec::new());
            }
            if let Value::Array(kept) = to {
                kept.resize(items.len(), Value::Null);
                for (inner, slot) in items.iter().zip(kept) {
                    if slot.is_null() {
                        *slot = empty_like(inner);
                    }
                    copy(inner, slot, rest);
                }
            }
        }
        ([PathStep::Field(_) | PathStep::Each, ..], _) => {}
    }
}

/// Whether `path` leads to something. Lists count as something, so that their items keep their
/// places.
fn reaches(value: &Value, path: &[PathStep]) -> bool {
    match path {
        [] => true,
        [PathStep::Field(name), rest @ ..] => {
            value.get(name).is_some_and(|inner| reaches(inner, rest))
        }
        [PathStep::Each, ..] => value.is_array(),
    }
}

fn empty_like(value: &Value) -> Value {
    match value {
        Value::Object(_) => Value::Object(Map::new()),
        Value::Array(_) => Value::Array(Vec::new()),
        _ => Value::Null,
    }
}

fn steps(path: &str) -> Option<Vec<PathStep>> {
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            let (name, tail) = after.split_at(end);
            let plain = |c: char| c.is_ascii_alphanumeric() || "_-$".contains(c);
            if name.is_empty() || !name.chars().all(plain) {
                return None;
            }
            steps.push(PathStep::Field(name.to_owned()));
            rest = tail;
        } else if let Some(after) = rest.strip_prefix("[*]") {
            steps.push(PathStep::Each);
            rest = after;
        } else {
            let (name, tail) = rest.strip_prefix("['")?.split_once("']")?;
            steps.push(PathStep::Field(name.to_owned()));
            rest = tail;
        }
    }
    Some(steps)
}
