//! Field selectors, in the notation of apimachinery's `fields.ParseSelector`.
//!
//! Which fields there are depends on the kind:
//! <https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/>.

use serde_json::Value;

use super::BadSelector;
use crate::registry::{Origin, Resource};
use crate::store::Entry;

/// A selector over a few fields. The default one selects all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector(Vec<Term>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    field: String,
    equals: bool,
    value: String,
}

impl FieldSelector {
    /// Reads a selector; empty text selects all.
    ///
    /// # Errors
    /// Text that is not a selector.
    pub fn parse(text: &str) -> Result<Self, BadSelector> {
        let mut parts = split(text);
        parts.sort_unstable();
        let mut terms = Vec::new();
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            let term = term(part)?.ok_or_else(|| {
                BadSelector(format!(
                    "invalid selector: '{text}'; can't understand '{part}'"
                ))
            })?;
            terms.push(term);
        }
        Ok(Self(terms))
    }

    /// Whether it selects all.
    pub fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    /// The one name that it asks for, if it does.
    pub fn name(&self) -> Option<&str> {
        let name = |term: &&Term| term.equals && term.field == "metadata.name";
        Some(&self.0.iter().find(name)?.value)
    }

    /// Asks for one name, if it asks for nothing else; says whether it now does ask for it.
    pub fn only(&mut self, name: &str) -> bool {
        if self.is_everything() {
            self.0.push(Term {
                field: "metadata.name".to_owned(),
                equals: true,
                value: name.to_owned(),
            });
        }
        self.name() == Some(name)
    }

    /// Fields that objects of this kind cannot be selected by.
    ///
    /// # Errors
    /// The first such field, in the real server's words.
    pub fn check(&self, resource: &Resource) -> Result<(), BadSelector> {
        for term in &self.0 {
            if !supported(resource, &term.field) {
                return Err(BadSelector(unsupported(resource, &term.field)));
            }
        }
        Ok(())
    }

    /// Whether an object is selected; `read` parses it, if a field is looked at.
    pub fn selects(&self, entry: &Entry, read: impl Fn() -> Value) -> bool {
        let mut parsed: Option<Value> = None;
        self.0.iter().all(|term| {
            let held = match term.field.as_str() {
                "metadata.name" => entry.key.name.to_string(),
                "metadata.namespace" => entry.key.namespace.to_string(),
                field => text(parsed.get_or_insert_with(&read), field),
            };
            (held == term.value) == term.equals
        })
    }
}

/// Kinds that have no fields of their own say so in other words.
fn unsupported(resource: &Resource, field: &str) -> String {
    let is_plain =
        resource.origin == Origin::BuiltIn && supported_fields(resource).next().is_none();
    match (is_plain, resource.group.as_str(), resource.plural.as_str()) {
        (true, ..) => format!(
            "{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        ),
        (false, "batch", "jobs") => format!("field label {field:?} not supported for Job"),
        (false, "resource.k8s.io", "resourceslices") => format!(
            "field label not supported for {}, Kind=ResourceSlice: {field}",
            resource.api_version()
        ),
        (false, ..) => format!("field label not supported: {field}"),
    }
}

fn supported(resource: &Resource, field: &str) -> bool {
    // Kinds without fields of their own take the namespace even where they lie in none.
    let placed = resource.namespaced
        || resource.origin == Origin::BuiltIn && supported_fields(resource).next().is_none();
    field == "metadata.name"
        || (field == "metadata.namespace" && placed)
        || supported_fields(resource).any(|known| known == field)
        || resource.selectable.iter().any(|known| known == field)
}

/// The fields of built-in kinds beside name and namespace
/// (kubernetes `pkg/apis/*/v1/conversion.go`, `AddFieldLabelConversionFunc`).
fn supported_fields(resource: &Resource) -> impl Iterator<Item = &'static str> {
    let fields: &[&str] = match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "pods") => &[
            "spec.nodeName",
            "spec.host",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        ],
        ("", "nodes") => &["spec.unschedulable"],
        ("", "namespaces") => &["status.phase"],
        ("", "secrets") => &["type"],
        ("", "services") => &["spec.clusterIP", "spec.type"],
        ("", "replicationcontrollers") => &["status.replicas"],
        ("certificates.k8s.io", "certificatesigningrequests") => &["spec.signerName"],
        ("resource.k8s.io", "resourceslices") => &["spec.nodeName", "spec.driver"],
        ("batch", "jobs") => &["status.successful"],
        ("", "events") => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        ("events.k8s.io", "events") => &[
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reason",
            "reportingController",
            "type",
        ],
        _ => &[],
    };
    fields.iter().copied()
}

/// The text of a field; empty where it is absent.
fn text(object: &Value, field: &str) -> String {
    // The source of an Event is who reported it, if it has none (`ToSelectableFields` in pkg/registry/core/event/strategy.go).
    if field == "source" {
        let source = text(object, "source.component");
        return match source.is_empty() {
            true => text(object, "reportingComponent"),
            false => source,
        };
    }
    let field = match field {
        "reportingController" => "reportingComponent",
        "status.successful" => "status.succeeded",
        "spec.host" => "spec.nodeName",
        other => other,
    };
    // Events lie in the store in the form of the core group.
    let core = field
        .strip_prefix("regarding.")
        .map(|rest| format!("involvedObject.{rest}"));
    let field = core.as_deref().unwrap_or(field);
    let mut held = object;
    for part in field.split('.') {
        match held.get(part) {
            Some(next) => held = next,
            None if matches!(field, "spec.unschedulable" | "spec.hostNetwork") => {
                return "false".to_owned();
            }
            None if matches!(field, "status.replicas" | "status.succeeded") => {
                return "0".to_owned();
            }
            None => return String::new(),
        }
    }
    match held {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn split(text: &str) -> Vec<&str> {
    let mut escaped = false;
    let at_comma = |c: char| {
        if escaped {
            escaped = false;
            return false;
        }
        escaped = c == '\\';
        c == ','
    };
    text.split(at_comma).collect()
}

fn term(part: &str) -> Result<Option<Term>, BadSelector> {
    for (at, _) in part.char_indices() {
        let (field, rest) = part.split_at(at);
        let operators = [("!=", false), ("==", true), ("=", true)];
        let operator = operators.iter().find(|(sign, _)| rest.starts_with(sign));
        if let Some((sign, equals)) = operator {
            return Ok(Some(Term {
                field: field.to_owned(),
                equals: *equals,
                value: unescape(rest.get(sign.len()..).unwrap_or_default())?,
            }));
        }
    }
    Ok(None)
}

fn unescape(value: &str) -> Result<String, BadSelector> {
    let mut text = String::new();
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some(next @ ('\\' | ',' | '=')) => text.push(next),
                next => {
                    let pair: String = ['\\'].into_iter().chain(next).collect();
                    return Err(BadSelector(format!(
                        "invalid field selector: invalid escape sequence: {pair}"
                    )));
                }
            },
            ',' | '=' => {
                return Err(BadSelector(format!(
                    "invalid field selector: unescaped character in value: {}",
                    u32::from(letter)
                )));
            }
            other => text.push(other),
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::store::{GroupResource, NamespacedName, Store, Write};

    #[test]
    fn fields_are_compared_as_text() {
        let object = json!({ "metadata": { "name": "a" }, "status": { "phase": "Running" } });
        let place = GroupResource {
            group: String::new(),
            plural: "pods".to_owned(),
        };
        let store = Store::default();
        let entry = store
            .write(
                &place,
                NamespacedName::new("ns", "a"),
                None,
                Write::Put(object),
            )
            .unwrap();
        let cases = [
            ("", true),
            ("metadata.name=a", true),
            ("metadata.name==b", false),
            ("metadata.namespace!=other,status.phase=Running", true),
            ("spec.nodeName=", true),
            ("spec.nodeName!=", false),
        ];
        for (selector, want) in cases {
            let parsed = FieldSelector::parse(selector).unwrap();
            assert_eq!(
                parsed.selects(&entry, || entry.value()),
                want,
                "{selector:?}"
            );
        }
        assert!(FieldSelector::parse("metadata.name").is_err());
        assert!(FieldSelector::parse("a=b\\x").is_err());
    }
}
