//! The valid objects that are changed.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::suite::folder;

/// A valid object.
#[derive(Clone, Debug)]
pub struct Base {
    /// Its kind.
    pub kind: String,
    /// The path of its version, such as `apis/apps/v1`.
    pub version: String,
    /// The object.
    pub object: Value,
}

/// All objects by their kinds; the kinds in order.
///
/// # Errors
/// A file holds no objects.
pub fn all() -> Result<Vec<(String, Vec<Base>)>> {
    let mut kinds: BTreeMap<String, Vec<Base>> = BTreeMap::new();
    for file in std::fs::read_dir(folder().join("mutations"))? {
        let path = file?.path();
        let read =
            || -> Result<Vec<Value>> { crate::yaml::several(&std::fs::read_to_string(&path)?) };
        for object in read().with_context(|| format!("in {}", path.display()))? {
            let base = Base::of(object).with_context(|| format!("in {}", path.display()))?;
            kinds.entry(base.kind.clone()).or_default().push(base);
        }
    }
    Ok(kinds.into_iter().collect())
}

impl Base {
    fn of(object: Value) -> Result<Self> {
        let text = |field: &str| object.get(field).and_then(Value::as_str);
        let version = text("apiVersion").context("an object without apiVersion")?;
        let root = if version.contains('/') { "apis" } else { "api" };
        Ok(Self {
            kind: text("kind").context("an object without kind")?.to_owned(),
            version: format!("{root}/{version}"),
            object,
        })
    }
}
