//! Where something stands in the text of a document, for messages about it.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;
use windlass_yaml as yaml;

/// A place in a text: line and column, the first being 1.
pub(super) type Place = (u64, u64);

/// A document, as far as places in it are asked for.
pub(super) struct Places(Spanned<Tree>);

impl Places {
    /// Those of each document in `text`; none if it is not YAML.
    pub(super) fn of(text: &str) -> Vec<Self> {
        let documents: Vec<Spanned<Tree>> = yaml::documents(text).unwrap_or_default();
        documents.into_iter().map(Self).collect()
    }

    /// Where `path` is, such as `spec.grants[1].verbs[0]`; or else the last that is there on the way to it.
    pub(super) fn find(&self, path: &str) -> Option<Place> {
        let mut at = &self.0;
        for step in path.split(['.', '[']).filter(|step| !step.is_empty()) {
            let Some(next) = at.value.child(step.trim_end_matches(']')) else {
                break;
            };
            at = next;
        }
        let place = (at.referenced.line(), at.referenced.column());
        Some(place).filter(|(line, _)| *line > 0)
    }

    fn name(&self) -> Option<&str> {
        match &self.0.value.child("metadata")?.value.child("name")?.value {
            Tree::Text(name) => Some(name),
            Tree::Other | Tree::List(_) | Tree::Map(_) => None,
        }
    }
}

/// The line on which grant number `index` of the plugin `name` begins in `text`, the first being 1.
pub fn line_of_grant(text: &str, name: &str, index: usize) -> Option<u64> {
    let documents = Places::of(text);
    let mut documents = documents.iter();
    let document = documents.find(|document| document.name() == Some(name))?;
    let Tree::List(grants) = &document.0.value.child("spec")?.value.child("grants")?.value else {
        return None;
    };
    let line = grants.get(index)?.referenced.line();
    Some(line).filter(|line| *line > 0)
}

/// YAML, with the place of each value.
enum Tree {
    Text(String),
    Other,
    List(Vec<Spanned<Tree>>),
    Map(Vec<(String, Spanned<Tree>)>),
}

impl Tree {
    /// The value of the field `step`, or the entry that has this number.
    fn child(&self, step: &str) -> Option<&Spanned<Tree>> {
        match self {
            Self::Text(_) | Self::Other => None,
            Self::List(entries) => entries.get(step.parse::<usize>().ok()?),
            Self::Map(fields) => {
                let mut fields = fields.iter();
                fields.find(|(key, _)| key == step).map(|(_, value)| value)
            }
        }
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a YAML value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Tree, E> {
        Ok(Tree::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Tree, E> {
        Ok(Tree::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Tree, E> {
        Ok(Tree::Other)
    }

    fn visit_i128<E>(self, _: i128) -> Result<Tree, E> {
        Ok(Tree::Other)
    }

    fn visit_u128<E>(self, _: u128) -> Result<Tree, E> {
        Ok(Tree::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Tree, E> {
        Ok(Tree::Other)
    }

    fn visit_str<E>(self, text: &str) -> Result<Tree, E> {
        Ok(Tree::Text(text.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Other)
    }

    fn visit_none<E>(self) -> Result<Tree, E> {
        Ok(Tree::Other)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Tree, D::Error> {
        Tree::deserialize(from)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Tree, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = list.next_element()? {
            entries.push(entry);
        }
        Ok(Tree::List(entries))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
        let mut fields = Vec::new();
        while let Some(key) = map.next_key::<Tree>()? {
            match key {
                Tree::Text(key) => fields.push((key, map.next_value()?)),
                Tree::Other | Tree::List(_) | Tree::Map(_) => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Tree::Map(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_is_found_by_its_line() {
        let document = |name: &str, grants: &str| {
            format!("kind: Plugin\nmetadata: {{ name: {name} }}\nspec:\n  grants:\n{grants}")
        };
        let text = format!(
            "{}---\n{}---\n{}",
            document("one", "    - { verbs: [get] }\n"),
            document(
                "two",
                "    - apiGroups: []\n      verbs: [get]\n\n    - verbs: []\n"
            ),
            "metadata: { name: three }\nspec: {}\n",
        );
        let line = |name: &str, index: usize| line_of_grant(&text, name, index);
        assert_eq!(line("one", 0), Some(5));
        assert_eq!((line("two", 0), line("two", 1)), (Some(11), Some(14)));
        assert_eq!(
            (line("two", 2), line("three", 0), line("four", 0)),
            (None, None, None)
        );
        assert_eq!(line_of_grant("a: [", "one", 0), None);
    }

    #[test]
    fn a_path_is_found_or_the_last_that_is_there_on_the_way() {
        let text = "a: 1\n---\nspec:\n  grants:\n    - verbs: [get,\n        list]\n      1: { odd: 0x10 }\n  to: ~\n  x: 1.5\n";
        let documents = Places::of(text);
        let [_, second] = documents.as_slice() else {
            panic!("{}", documents.len());
        };
        let rows = [
            ("spec.grants[0].verbs[1]", (6, 9)),
            ("spec.grants[0].verbs[2]", (5, 14)),
            ("spec.grants[0].acknowledge[0]", (5, 7)),
            ("spec.to", (8, 7)),
            ("spec.x.y.z", (9, 6)),
            ("none", (3, 1)),
        ];
        for (path, want) in rows {
            assert_eq!(second.find(path), Some(want), "{path}");
        }
        assert!(Places::of("a: [").is_empty());
    }
}
