//! `select` as the host does it: some fields of each object, by their paths.

use serde_json::Value;

use super::call::Call;
use crate::failed::Code;
use crate::query::{ListQuery, ObjectRef};

/// A step of a path.
#[derive(Debug, PartialEq)]
enum Step<'a> {
    Field(&'a str),
    Each,
}

impl Call<'_> {
    pub(super) fn try_select(
        &self,
        query: &ListQuery,
        paths: &[&str],
    ) -> Result<Vec<Vec<Value>>, Code> {
        let any = ObjectRef::cluster_scoped(&query.api_version, &query.kind, "");
        self.may(&["list"], &any, "")?;
        let steps: Result<Vec<_>, _> = paths.iter().map(|path| parse(path)).collect();
        let steps = steps?;
        if steps.is_empty() {
            return Err(Code::Invalid("name at least one path".into()));
        }
        let objects = self.cluster.borrow().list(query)?;
        let row = |object: &Value| steps.iter().map(|steps| value(object, steps)).collect();
        Ok(objects.iter().map(row).collect())
    }
}

/// What the steps lead to.
fn value(object: &Value, steps: &[Step<'_>]) -> Value {
    match (steps, object) {
        ([], _) => object.clone(),
        ([Step::Field(name), rest @ ..], _) => object
            .get(*name)
            .map_or(Value::Null, |inner| value(inner, rest)),
        ([Step::Each, rest @ ..], Value::Array(items)) => {
            items.iter().map(|item| value(item, rest)).collect()
        }
        ([Step::Each, ..], _) => Value::Null,
    }
}

/// Reads a simple JSONPath: `.spec.containers[*].image`, `.data['app.conf']`.
fn parse(path: &str) -> Result<Vec<Step<'_>>, Code> {
    let bad = || Code::Invalid(format!("{path:?} is not a simple JSONPath"));
    let (mut steps, mut rest) = (Vec::new(), path);
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('.') {
            let (name, tail) = after.split_at(after.find(['.', '[']).unwrap_or(after.len()));
            let plain = |c: char| c.is_ascii_alphanumeric() || "_-$".contains(c);
            if name.is_empty() || !name.chars().all(plain) {
                return Err(bad());
            }
            steps.push(Step::Field(name));
            rest = tail;
        } else if let Some(after) = rest.strip_prefix("[*]") {
            steps.push(Step::Each);
            rest = after;
        } else {
            let quoted = rest
                .strip_prefix("['")
                .and_then(|rest| rest.split_once("']"));
            let (name, tail) = quoted.ok_or_else(bad)?;
            steps.push(Step::Field(name));
            rest = tail;
        }
    }
    if steps.is_empty() {
        return Err(bad());
    }
    Ok(steps)
}
