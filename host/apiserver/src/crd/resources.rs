//! What a definition makes the server serve: one resource for each served version.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use super::read::versions;
use super::storage_version;
use crate::conditions::is_true;
use crate::deep;
use crate::discovery::{CUSTOM_VERBS, precedence};
use crate::json::{list, text, text_at, texts};
use crate::registry::{
    Column, Kept, LazySchema, LazySchemas, Origin, Resource, ScalePaths, Subresource,
};
use crate::schema::Schema;
use crate::{store, table};

/// Those of a definition that is going away.
const LAST_VERBS: [&str; 5] = ["delete", "deletecollection", "get", "list", "watch"];

/// What is served because of a definition, which is `json` as text; nothing before it is established.
/// `before` is how its objects were kept until now.
pub fn resources(crd: &Value, json: &Bytes, before: Option<&Arc<Kept>>) -> Vec<Resource> {
    if !is_true(crd, "Established") {
        return Vec::new();
    }
    let kept = storage(crd, json);
    let same = before.filter(|before| before.definition == kept.definition);
    let kept = same.cloned().unwrap_or_else(|| Arc::new(kept));
    versions(crd)
        .filter(is_served)
        .map(|version| resource(crd, version, &kept))
        .collect()
}

fn is_served(version: &&Value) -> bool {
    version.get("served") == Some(&Value::Bool(true))
}

fn storage(crd: &Value, json: &Bytes) -> Kept {
    let generation = crd
        .pointer("/metadata/generation")
        .and_then(Value::as_i64)
        .unwrap_or_default();
    let all = versions(crd).map(|version| text(version, "name").to_owned());
    Kept {
        definition: (text_at(crd, "/metadata/uid").to_owned(), generation),
        since: text_at(crd, "/metadata/resourceVersion")
            .parse()
            .unwrap_or(0),
        versions: all.collect(),
        schemas: LazySchemas::new(json.clone(), schemas),
    }
}

/// What objects look like in each version; all are read at once, since a write looks at all of them.
fn schemas(json: &Bytes) -> Vec<Option<Schema>> {
    let schema = |version: &Value| Schema::parse(version.pointer("/schema/openAPIV3Schema")?).ok();
    let read = || versions(&store::parse(json)).map(schema).collect();
    deep::roomy(deep::nesting(json), read)
}

fn schema(resource: &Resource) -> Option<Schema> {
    let kept = resource.kept.as_ref()?;
    kept.schema(&resource.version).cloned()
}

/// What users of a deprecated version are warned of: the definition's own words, or which version to use.
fn deprecated(crd: &Value, version: &Value) -> Option<String> {
    if version.get("deprecated") != Some(&Value::Bool(true)) {
        return None;
    }
    if let Some(said) = version.get("deprecationWarning").and_then(Value::as_str) {
        return Some(said.to_owned());
    }
    let (group, kind) = (
        text_at(crd, "/spec/group"),
        text_at(crd, "/spec/names/kind"),
    );
    let name = text(version, "name");
    let warning = format!("{group}/{name} {kind} is deprecated");
    let better = versions(crd)
        .filter(is_served)
        .filter(|other| other.get("deprecated") != Some(&Value::Bool(true)))
        .map(|other| text(other, "name"))
        .filter(|other| precedence(other, name).is_lt())
        .min_by(|left, right| precedence(left, right));
    Some(match better {
        Some(better) => format!("{warning}; use {group}/{better} {kind}"),
        None => warning,
    })
}

fn resource(crd: &Value, version: &Value, kept: &Arc<Kept>) -> Resource {
    let names = crd.pointer("/status/acceptedNames").unwrap_or(&Value::Null);
    let list = |field: &str| owned(texts(names, field));
    let name = |field: &str| text(names, field).to_owned();
    let is_terminating = is_true(crd, "Terminating");
    let verbs: &[&str] = if is_terminating {
        &LAST_VERBS
    } else {
        &CUSTOM_VERBS
    };
    Resource {
        group: text_at(crd, "/spec/group").to_owned(),
        version: text(version, "name").to_owned(),
        plural: name("plural"),
        singular: name("singular"),
        kind: name("kind"),
        list_kind: name("listKind"),
        short_names: list("shortNames"),
        categories: list("categories"),
        namespaced: text_at(crd, "/spec/scope") == "Namespaced",
        verbs: owned(verbs.iter().copied()),
        subresources: subresources(crd, version),
        storage: storage_version(crd).unwrap_or_default().to_owned(),
        kept: Some(Arc::clone(kept)),
        deprecated: deprecated(crd, version),
        origin: Origin::Custom {
            crd: text_at(crd, "/metadata/name").to_owned(),
            scale: scale(version),
        },
        selectable: selectable(version),
        columns: columns(version),
        schema: LazySchema::new(schema),
    }
}

fn owned<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<String> {
    texts.map(str::to_owned).collect()
}

fn subresources(crd: &Value, version: &Value) -> Vec<Subresource> {
    let mut all = Vec::new();
    let verbs = || owned(["get", "patch", "update"].into_iter());
    let there = |name: &str| {
        let part = version.get("subresources").and_then(|all| all.get(name));
        part.is_some_and(|part| !part.is_null())
    };
    if there("status") {
        all.push(Subresource {
            name: "status".to_owned(),
            kind: text_at(crd, "/status/acceptedNames/kind").to_owned(),
            group: text_at(crd, "/spec/group").to_owned(),
            version: text(version, "name").to_owned(),
            verbs: verbs(),
        });
    }
    if there("scale") {
        all.push(Subresource {
            name: "scale".to_owned(),
            kind: "Scale".to_owned(),
            group: "autoscaling".to_owned(),
            version: "v1".to_owned(),
            verbs: verbs(),
        });
    }
    all
}

fn scale(version: &Value) -> Option<ScalePaths> {
    let scale = version
        .pointer("/subresources/scale")
        .filter(|scale| !scale.is_null())?;
    let selector = text(scale, "labelSelectorPath");
    Some(ScalePaths {
        spec: text(scale, "specReplicasPath").to_owned(),
        status: text(scale, "statusReplicasPath").to_owned(),
        selector: (!selector.is_empty()).then(|| selector.to_owned()),
    })
}

fn selectable(version: &Value) -> Vec<String> {
    let paths = list(version, "selectableFields")
        .iter()
        .map(|field| text(field, "jsonPath"));
    owned(paths.map(|path| path.strip_prefix('.').unwrap_or(path)))
}

fn columns(version: &Value) -> Vec<Column> {
    let said = list(version, "additionalPrinterColumns");
    let columns: Vec<Column> = said.iter().map(column).collect();
    if columns.is_empty() {
        return vec![Column {
            name: "Age".to_owned(),
            kind: "date".to_owned(),
            description: table::AGE.to_owned(),
            path: ".metadata.creationTimestamp".to_owned(),
            ..Column::default()
        }];
    }
    columns
}

fn column(said: &Value) -> Column {
    let path = text(said, "jsonPath");
    let description = match text(said, "description") {
        "" => format!("Custom resource definition column (in JSONPath format): {path}"),
        description => description.to_owned(),
    };
    let priority = said.get("priority").and_then(Value::as_i64);
    Column {
        name: text(said, "name").to_owned(),
        kind: text(said, "type").to_owned(),
        format: text(said, "format").to_owned(),
        description,
        priority: priority
            .and_then(|priority| priority.try_into().ok())
            .unwrap_or_default(),
        path: path.to_owned(),
    }
}
