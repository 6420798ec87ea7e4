//! What is wrong with an expression of a policy before it ever runs
//! (apiserver `pkg/admission/plugin/cel/compile.go`).

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use kube_cel::cel::common::ast::Expr;
use serde_json::{Value, json};

use crate::schema::rules::{self, Type};
use crate::schema::{Kind, Node, Schema};

/// What an expression is to result in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// A condition.
    Bool,
    /// A message.
    Text,
    /// An audit annotation.
    TextOrNull,
    /// A variable.
    Anything,
    /// An object to apply.
    Object,
    /// A JSON patch.
    Patches,
}

/// The names that expressions of a policy know.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    /// Whether there is `params`.
    params: bool,
    /// Whether there is no `authorizer`.
    without_rights: bool,
    variables: Option<BTreeMap<String, Node>>,
}

/// The variables that hold anything.
const ANYTHING: [&str; 2] = ["object", "oldObject"];

static REQUEST: LazyLock<Schema> = LazyLock::new(|| {
    let text = json!({ "type": "string" });
    let texts = json!({ "type": "array", "items": text });
    let kind = fields(&[("group", &text), ("version", &text), ("kind", &text)]);
    let resource = fields(&[("group", &text), ("version", &text), ("resource", &text)]);
    let extra = json!({ "type": "object", "additionalProperties": texts });
    let user = fields(&[
        ("username", &text),
        ("uid", &text),
        ("groups", &texts),
        ("extra", &extra),
    ]);
    schema(&fields(&[
        ("kind", &kind),
        ("resource", &resource),
        ("subResource", &text),
        ("requestKind", &kind),
        ("requestResource", &resource),
        ("requestSubResource", &text),
        ("name", &text),
        ("namespace", &text),
        ("operation", &text),
        ("userInfo", &user),
        ("dryRun", &json!({ "type": "boolean" })),
        ("options", &anything()),
    ]))
});

static NAMESPACE: LazyLock<Schema> = LazyLock::new(|| {
    let text = json!({ "type": "string" });
    let texts = json!({ "type": "array", "items": text });
    let map = json!({ "type": "object", "additionalProperties": text });
    let number = json!({ "type": "integer" });
    let time = json!({ "type": "string", "format": "date-time" });
    let condition = fields(&[
        ("status", &text),
        ("type", &text),
        ("lastTransitionTime", &time),
        ("message", &text),
        ("reason", &text),
    ]);
    let conditions = json!({ "type": "array", "items": condition });
    let metadata = fields(&[
        ("name", &text),
        ("generateName", &text),
        ("namespace", &text),
        ("labels", &map),
        ("annotations", &map),
        ("UID", &text),
        ("creationTimestamp", &time),
        ("deletionGracePeriodSeconds", &number),
        ("deletionTimestamp", &time),
        ("generation", &number),
        ("resourceVersion", &text),
        ("finalizers", &texts),
    ]);
    schema(&fields(&[
        ("metadata", &metadata),
        ("spec", &fields(&[("finalizers", &texts)])),
        (
            "status",
            &fields(&[("conditions", &conditions), ("phase", &text)]),
        ),
    ]))
});

fn anything() -> Value {
    json!({ "x-kubernetes-int-or-string": true })
}

fn fields(fields: &[(&str, &Value)]) -> Value {
    let fields = fields.iter();
    let properties: serde_json::Map<String, Value> = fields
        .map(|(name, schema)| ((*name).to_owned(), (*schema).clone()))
        .collect();
    json!({ "type": "object", "properties": properties })
}

fn schema(openapi: &Value) -> Schema {
    Schema::parse(openapi).unwrap_or_else(|_| crate::schema::anything())
}

impl Names {
    /// Those of a policy with or without parameters.
    pub(crate) fn new(params: bool) -> Self {
        Self {
            params,
            ..Self::default()
        }
    }

    /// The same without `authorizer`.
    #[must_use]
    pub(crate) fn without_rights(&self) -> Self {
        Self {
            without_rights: true,
            ..self.clone()
        }
    }

    /// Those of a policy that declares variables, none of which is known yet.
    #[must_use]
    pub(crate) fn with_variables(mut self) -> Self {
        self.variables = Some(BTreeMap::new());
        self
    }

    /// What is wrong with a variable, which those after it know.
    pub(crate) fn declare(&mut self, name: &str, text: &str) -> Option<String> {
        let judged = self.judge(text, Wanted::Anything);
        let kind = judged.as_ref().copied().unwrap_or(Kind::IntOrString);
        let node = Node {
            kind: Some(kind),
            ..Node::default()
        };
        let variables = self.variables.get_or_insert_default();
        variables.insert(name.to_owned(), node);
        judged.err()
    }

    /// What is wrong with an expression, in the real server's words.
    pub(crate) fn fault(&self, text: &str, wanted: Wanted) -> Option<String> {
        self.judge(text, wanted).err()
    }

    /// The kind of what an expression results in.
    fn judge(&self, text: &str, wanted: Wanted) -> Result<Kind, String> {
        let variables = self.variables.clone().map(|properties| {
            let root = Node {
                kind: Some(Kind::Object),
                properties,
                ..Node::default()
            };
            Schema::new(root, Arc::default())
        });
        let mut known: Vec<(String, Type<'_>)> = ANYTHING
            .iter()
            .map(|name| ((*name).to_owned(), Type::Dyn))
            .collect();
        known.push(("request".to_owned(), Type::of(REQUEST.view(), false)));
        let namespace = Type::of(NAMESPACE.view(), false);
        known.push(("namespaceObject".to_owned(), namespace));
        for (name, there) in [
            ("params", self.params),
            ("authorizer", !self.without_rights),
        ] {
            if there {
                known.push((name.to_owned(), Type::Dyn));
            }
        }
        if let Some(variables) = &variables {
            known.push(("variables".to_owned(), Type::of(variables.view(), false)));
        }
        let found = rules::typed(text, known);
        let found = found.map_err(|why| format!("compilation failed: {why}"))?;
        if !matches!(wanted, Wanted::Object | Wanted::Patches) {
            rules::compile(text).map_err(|why| format!("compilation failed: {why}"))?;
        }
        let name = match found {
            Type::Dyn if is_anything(text) => Some("dyn"),
            found => found.scalar(),
        };
        match (wanted, name) {
            (Wanted::Bool, Some(name)) if name != "bool" => {
                Err(format!("must evaluate to bool but got {name}"))
            }
            (Wanted::Text, Some(name)) if name != "string" => {
                Err(format!("must evaluate to string but got {name}"))
            }
            (Wanted::Object, Some(name)) => Err(format!("must evaluate to Object but got {name}")),
            (Wanted::Patches, Some(name)) => {
                Err(format!("must evaluate to list(JSONPatch) but got {name}"))
            }
            (Wanted::TextOrNull, Some(name)) if name != "string" => Err(format!(
                "must evaluate to one of [string null_type] but got {name}"
            )),
            _ => Ok(match found {
                Type::Bool => Kind::Boolean,
                Type::Int => Kind::Integer,
                Type::Double => Kind::Number,
                Type::Text => Kind::String,
                Type::Dyn | Type::Bytes | Type::List(_) | Type::Map(_) | Type::Fields(..) => {
                    Kind::IntOrString
                }
            }),
        }
    }
}

/// Whether an expression is a field of what may hold anything, so that its type is `dyn` for sure.
fn is_anything(text: &str) -> bool {
    let Ok(parsed) = rules::parse(text) else {
        return false;
    };
    let mut place = &parsed;
    loop {
        place = match &place.expr {
            Expr::Select(select) if !select.test => &select.operand,
            Expr::Ident(name) => return name == "params" || ANYTHING.contains(&name.as_str()),
            _ => return false,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_judged_by_the_names_that_they_know() {
        let names = Names::default();
        for fine in [
            "object.spec.replicas <= 5",
            "request.userInfo.groups.exists(group, group == 'a')",
            "namespaceObject.metadata.labels['a'] == 'b'",
            "has(oldObject.spec) && request.operation == 'UPDATE'",
        ] {
            assert_eq!(names.fault(fine, Wanted::Bool), None, "{fine}");
        }
        let cases = [
            (
                "params.a == 1",
                "compilation failed: ERROR: <input>:1:1: undeclared reference to 'params' (in container \
                 '')\n | params.a == 1\n | ^",
            ),
            (
                "request.who == 'a'",
                "compilation failed: ERROR: <input>:1:8: undefined field 'who'\n | request.who == 'a'\n \
                 | .......^",
            ),
            ("'a'", "must evaluate to bool but got string"),
            ("object.spec.fine", "must evaluate to bool but got dyn"),
        ];
        for (text, want) in cases {
            assert_eq!(names.fault(text, Wanted::Bool).as_deref(), Some(want));
        }
        let with = Names::new(true);
        assert_eq!(with.fault("params.a == 1", Wanted::Bool), None);
        let annotation = names.fault("1", Wanted::TextOrNull);
        let want = "must evaluate to one of [string null_type] but got int";
        assert_eq!(annotation.as_deref(), Some(want));
    }

    #[test]
    fn a_variable_is_known_after_it_was_declared() {
        let mut names = Names::default().with_variables();
        let use_it = "variables.small";
        let fault = names.fault(use_it, Wanted::Bool).unwrap();
        assert!(fault.contains("undefined field 'small'"), "{fault}");
        assert_eq!(names.declare("small", "object.spec.replicas < 5"), None);
        assert_eq!(names.fault(use_it, Wanted::Bool), None);
        let text = names.fault(use_it, Wanted::Text);
        assert_eq!(
            text.as_deref(),
            Some("must evaluate to string but got bool")
        );
    }
}
