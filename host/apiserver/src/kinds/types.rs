//! The types of the built-in kinds, by the names that OpenAPI gives them.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use super::data;
use crate::schema::{Schema, SchemaNode, Types};

/// What was captured, a line for each type, sorted by name.
static TEXT: LazyLock<String> = LazyLock::new(|| data::unpack(data::TYPES));
static LINES: LazyLock<Vec<(&'static str, &'static str)>> = LazyLock::new(|| {
    TEXT.lines()
        .filter_map(|line| line.split_once('\t'))
        .collect()
});
static TYPES: LazyLock<Arc<Types>> = LazyLock::new(|| {
    let names = LINES.iter().map(|(name, _)| (*name).to_owned());
    Arc::new(Types::lazy(names, read))
});

/// The schema of a type.
pub(crate) fn schema(type_name: &str) -> Schema {
    let root = SchemaNode {
        named: Some(type_name.to_owned()),
        ..SchemaNode::default()
    };
    Schema::new(root, Arc::clone(&TYPES))
}

/// A type in OpenAPI v3, without texts.
pub(crate) fn openapi(type_name: &str) -> Option<&'static str> {
    let place = LINES.binary_search_by_key(&type_name, |(name, _)| name);
    LINES.get(place.ok()?).map(|(_, openapi)| *openapi)
}

/// The texts of all types, which are only unpacked while someone asks for them.
#[derive(Debug)]
pub(crate) struct Texts(String);

impl Texts {
    pub(crate) fn unpack() -> Self {
        Self(data::unpack(data::TEXTS))
    }

    /// The texts of all types by their names: those of fields, and their own by the empty name.
    pub(crate) fn by_type(&self) -> BTreeMap<&str, &str> {
        let lines = self.0.lines();
        lines.filter_map(|line| line.split_once('\t')).collect()
    }
}

fn read(type_name: &str) -> Option<SchemaNode> {
    let openapi = serde_json::from_str(openapi(type_name)?).ok()?;
    SchemaNode::parse(&openapi).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_can_be_read() {
        assert!(LINES.len() > 400);
        for (name, _) in LINES.iter() {
            assert!(TYPES.get(name).is_some(), "{name}");
        }
    }
}
