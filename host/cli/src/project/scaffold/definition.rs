//! A kind that is there already: its CustomResourceDefinition, and an object that conforms to it.

use std::fs;
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use serde_json::{Map, Value, json};
use windlass_yaml::whole_numbers;

use super::names::check_text;
use super::words::Kind;
use crate::project::objects::objects;

/// How deep an example is made.
const DEPTH: usize = 32;
/// As many items and characters an example has at most.
const MOST: u64 = 100;

/// A definition, and what was read of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Crd {
    /// The file, as it is.
    pub(super) text: String,
    /// The kind that it defines.
    pub(super) kind: Kind,
    /// The fields of an object, as YAML.
    fields: String,
}

impl Crd {
    /// Reads the definition in `file`; of several, the one of the kind called `wanted`.
    ///
    /// # Errors
    /// There is none, or more than one, or what it says of the kind is not whole.
    pub(super) fn read(file: &Path, wanted: Option<&str>) -> anyhow::Result<Self> {
        let shown = file.display();
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {shown}"))?;
        let objects = objects(file, &text).map_err(anyhow::Error::msg)?;
        let definitions = objects.into_iter().filter_map(|object| object.definition());
        let named = |definition: &Value| text_at(definition, "/spec/names/kind");
        let (mut found, names): (Vec<Value>, Vec<String>) = definitions
            .map(|definition| {
                let name = named(&definition).unwrap_or_default();
                (definition, name)
            })
            .filter(|(_, name)| wanted.is_none_or(|wanted| wanted == name))
            .unzip();
        let Some(definition) = found.pop() else {
            match wanted {
                Some(kind) => {
                    bail!("{shown}: there is no CustomResourceDefinition of kind {kind}")
                }
                None => bail!("{shown}: there is no CustomResourceDefinition"),
            }
        };
        if !found.is_empty() {
            bail!(
                "{shown}: it defines several kinds: choose one with --kind: {}",
                names.join(", ")
            );
        }
        let Some((kind, schema)) = kind(&definition) else {
            bail!(
                "{shown}: this CustomResourceDefinition is incomplete: it needs spec.group, spec.scope, spec.names with kind and plural, and a version that is served"
            );
        };
        for name in [&kind.kind, &kind.group, &kind.plural, &kind.singular] {
            check_text(name).map_err(|wrong| anyhow!("{shown}: {wrong}"))?;
        }
        let fields = fields(&schema);
        let fields = if fields.is_empty() {
            String::new()
        } else {
            serde_saphyr::to_string(&fields).map_err(|error| anyhow!("{error}"))?
        };
        Ok(Self { text, kind, fields })
    }

    /// The fields of an object beside its name, as YAML; nothing if it needs none.
    pub(super) fn fields(&self) -> &str {
        &self.fields
    }
}

fn text_at(value: &Value, pointer: &str) -> Option<String> {
    Some(value.pointer(pointer)?.as_str()?.to_owned())
}

/// Whether a field of a version is true.
fn is_set(version: &Value, field: &str) -> bool {
    version.get(field).and_then(Value::as_bool) == Some(true)
}

/// The kind, and the schema of the version that is stored, or of the first one that is served.
fn kind(definition: &Value) -> Option<(Kind, Value)> {
    let text = |pointer| text_at(definition, pointer);
    let versions = definition.pointer("/spec/versions")?.as_array()?;
    let served = || versions.iter().filter(|version| is_set(version, "served"));
    let stored = served().find(|version| is_set(version, "storage"));
    let version = stored.or_else(|| served().next())?;
    let schema = version.pointer("/schema/openAPIV3Schema");
    let kind = text("/spec/names/kind")?;
    let singular = text("/spec/names/singular").filter(|singular| !singular.is_empty());
    let kind = Kind {
        group: text("/spec/group")?,
        version: text_at(version, "/name")?,
        plural: text("/spec/names/plural")?,
        singular: singular.unwrap_or_else(|| kind.to_ascii_lowercase()),
        cluster_scoped: text("/spec/scope")? == "Cluster",
        kind,
    };
    let words = [
        &kind.group,
        &kind.version,
        &kind.plural,
        &kind.singular,
        &kind.kind,
    ];
    let plain = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
    let all = words
        .iter()
        .all(|word| !word.is_empty() && word.chars().all(plain));
    all.then(|| (kind, schema.cloned().unwrap_or_default()))
}

/// The fields that an object needs, and its spec.
fn fields(schema: &Value) -> Map<String, Value> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let of_server = ["apiVersion", "kind", "metadata", "status"];
    let properties = properties.into_iter().flatten();
    properties
        .filter(|(name, _)| !of_server.contains(&name.as_str()))
        .filter(|(name, _)| *name == "spec" || is_required(schema, name))
        .map(|(name, schema)| (name.clone(), example(schema, DEPTH)))
        .collect()
}

fn is_required(schema: &Value, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|required| required.iter().any(|one| one == name))
}

/// A value that conforms to a schema, as far as that can be told without its patterns and rules.
fn example(schema: &Value, depth: usize) -> Value {
    let given = ["default", "example"]
        .iter()
        .find_map(|name| schema.get(*name));
    let listed = || schema.get("enum")?.as_array()?.first();
    if let Some(given) = given.or_else(listed) {
        return given.clone();
    }
    let number = |name: &str| schema.get(name).and_then(Value::as_u64);
    match schema.get("type").and_then(Value::as_str) {
        _ if depth == 0 => Value::Null,
        Some("object") => {
            let properties = schema.get("properties").and_then(Value::as_object);
            let properties = properties.into_iter().flatten();
            let required = properties.filter(|(name, _)| is_required(schema, name));
            let fields = required.map(|(name, schema)| (name.clone(), example(schema, depth - 1)));
            Value::Object(fields.collect())
        }
        Some("array") => {
            let items = schema.get("items").cloned().unwrap_or_default();
            let count = number("minItems").unwrap_or(0).min(MOST);
            (0..count).map(|_| example(&items, depth - 1)).collect()
        }
        Some("boolean") => json!(false),
        Some("integer" | "number") => a_number(schema),
        Some("string") => json!(string(schema)),
        _ => json!(1),
    }
}

/// 1, or what is nearest to it.
fn a_number(schema: &Value) -> Value {
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    let is = |name: &str| schema.get(name) == Some(&json!(true));
    let step = bound("multipleOf")
        .filter(|step| *step > 0.0)
        .unwrap_or(1.0);
    let least = bound("minimum").map(|least| {
        if is("exclusiveMinimum") {
            least + step
        } else {
            least
        }
    });
    let most = bound("maximum").map(|most| {
        if is("exclusiveMaximum") {
            most - step
        } else {
            most
        }
    });
    let mut number = 1.0_f64.max(least.unwrap_or(1.0));
    number = number.min(most.unwrap_or(number));
    if bound("multipleOf").is_some() {
        number = (number / step).ceil() * step;
    }
    whole_numbers(json!(number))
}

fn string(schema: &Value) -> String {
    let number = |name: &str| schema.get(name).and_then(Value::as_u64);
    match schema.get("format").and_then(Value::as_str) {
        Some("date-time") => return "2026-01-01T00:00:00Z".to_owned(),
        Some("date") => return "2026-01-01".to_owned(),
        Some("duration") => return "1m".to_owned(),
        Some("ipv4" | "ip") => return "192.0.2.1".to_owned(),
        Some("ipv6") => return "2001:db8::1".to_owned(),
        Some("cidr") => return "192.0.2.0/24".to_owned(),
        Some("mac") => return "00:00:5e:00:53:01".to_owned(),
        Some("uri") => return "https://example.com".to_owned(),
        Some("email") => return "ada@example.com".to_owned(),
        Some("byte") => return "ZXhhbXBsZQ==".to_owned(),
        Some("uuid" | "uuid4") => return "6f1c2b5e-0000-4000-8000-00000000ada0".to_owned(),
        _ => {}
    }
    let least = number("minLength").unwrap_or(0).min(MOST);
    let most = number("maxLength").unwrap_or(u64::MAX);
    let letters = "example".chars().cycle();
    let length = least.max(7).min(most);
    letters.take(usize::try_from(length).unwrap_or(7)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crd(kind: &str, scope: &str) -> String {
        format!(
            r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{ name: gateways.net.example.com }}
spec:
  group: net.example.com
  scope: {scope}
  names: {{ kind: {kind}, plural: gateways }}
  versions:
    - {{ name: v1alpha1, served: true, storage: false }}
    - name: v1beta1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          required: [mode]
          properties:
            metadata: {{ type: object }}
            status: {{ type: object, properties: {{ ready: {{ type: boolean }} }} }}
            mode: {{ type: string, enum: [Fast, Slow] }}
            other: {{ type: string }}
            spec:
              type: object
              required: [hosts, port, since, code, secure]
              properties:
                hosts: {{ type: array, minItems: 1, items: {{ type: string }} }}
                port: {{ type: integer, minimum: 1024 }}
                since: {{ type: string, format: date-time }}
                code: {{ type: string, maxLength: 3 }}
                secure: {{ type: boolean }}
                left: {{ type: string }}
"#
        )
    }

    fn read(text: &str, kind: Option<&str>) -> anyhow::Result<Crd> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("crd.yaml");
        fs::write(&file, text)?;
        Crd::read(&file, kind)
    }

    #[test]
    fn a_kind_is_read_with_its_names_and_an_object_that_conforms() {
        let text = crd("Gateway", "Cluster");
        let read = read(&text, None).unwrap();
        let want = Kind {
            group: "net.example.com".into(),
            version: "v1beta1".into(),
            kind: "Gateway".into(),
            plural: "gateways".into(),
            singular: "gateway".into(),
            cluster_scoped: true,
        };
        assert_eq!((read.kind.clone(), read.text.clone()), (want, text));
        let fields: Value = serde_saphyr::from_str(read.fields()).unwrap();
        let spec = json!({
            "hosts": ["example"], "port": 1024, "since": "2026-01-01T00:00:00Z", "code": "exa", "secure": false,
        });
        assert_eq!(fields, json!({ "mode": "Fast", "spec": spec }));
    }

    #[test]
    fn a_number_is_within_its_bounds_and_a_text_of_its_format() {
        for (schema, want) in [
            (json!({}), json!(1)),
            (json!({ "minimum": 3 }), json!(3)),
            (json!({ "maximum": 0 }), json!(0)),
            (json!({ "minimum": -5, "maximum": -2 }), json!(-2)),
            (json!({ "maximum": 0.5 }), json!(0.5)),
            (json!({ "minimum": 1.5 }), json!(1.5)),
            (json!({ "minimum": 1, "exclusiveMinimum": true }), json!(2)),
            (json!({ "maximum": 1, "exclusiveMaximum": true }), json!(0)),
            (json!({ "multipleOf": 5 }), json!(5)),
            (json!({ "minimum": 7, "multipleOf": 5 }), json!(10)),
        ] {
            assert_eq!(a_number(&schema), want, "{schema}");
        }
        let text = |format: &str| string(&json!({ "type": "string", "format": format }));
        assert_eq!(text("byte"), "ZXhhbXBsZQ==");
        assert_eq!(text("cidr"), "192.0.2.0/24");
        assert_eq!(text("anything"), "example");
    }

    #[test]
    fn one_kind_is_chosen_and_what_is_wrong_is_said() {
        let two = format!(
            "{}---{}",
            crd("Gateway", "Namespaced"),
            crd("Route", "Namespaced")
        );
        assert_eq!(read(&two, Some("Route")).unwrap().kind.kind, "Route");
        let quoted = crd("'On'", "Namespaced");
        for (text, kind, want) in [
            (&*two, None, "choose one with --kind: Gateway, Route"),
            (
                &*two,
                Some("Pod"),
                "there is no CustomResourceDefinition of kind Pod",
            ),
            ("kind: Pod\n", None, "there is no CustomResourceDefinition"),
            ("kind: CustomResourceDefinition\n", None, "is incomplete"),
            (&*quoted, None, "YAML reads On without quotes"),
            ("a: [", None, "crd.yaml:1"),
        ] {
            let error = format!("{:#}", read(text, kind).unwrap_err());
            assert!(error.contains(want), "{want}: {error}");
        }
    }
}
