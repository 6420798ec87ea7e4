//! What is wrong with an expression of a policy before it ever runs
//! (apiserver `pkg/admission/plugin/cel/compile.go`).

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use kube_cel::cel::common::ast::Expr;
use serde_json::{Value, json};

use crate::schema::rules::{self, CelType};
use crate::schema::{Kind, Schema, SchemaNode};

/// What an expression is to result in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExpectedType {
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
pub(crate) struct PolicyVariables {
    /// Whether there is `params`.
    params: bool,
    /// Whether there is no `authorizer`.
    without_rights: bool,
    variables: Option<BTreeMap<String, SchemaNode>>,
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

impl PolicyVariables {
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
        let judged = self.judge(text, ExpectedType::Anything);
        let kind = judged.as_ref().copied().unwrap_or(Kind::IntOrString);
        let node = SchemaNode {
            kind: Some(kind),
            ..SchemaNode::default()
        };
        let variables = self.variables.get_or_insert_default();
        variables.insert(name.to_owned(), node);
        judged.err()
    }

    /// What is wrong with an expression, in the real server's words.
    pub(crate) fn fault(&self, text: &str, wanted: ExpectedType) -> Option<String> {
        self.judge(text, wanted).err()
    }

    /// The kind of what an expression results in.
    fn judge(&self, text: &str, wanted: ExpectedType) -> Result<Kind, String> {
        let variables = self.variables.clone().map(|properties| {
            let root = SchemaNode {
                kind: Some(Kind::Object),
                properties,
                ..SchemaNode::default()
            };
            Schema::new(root, Arc::default())
        });
        let mut known: Vec<(String, CelType<'_>)> = ANYTHING
            .iter()
            .map(|name| ((*name).to_owned(), CelType::Dyn))
            .collect();
        known.push(("request".to_owned(), CelType::of(REQUEST.view(), false)));
        let namespace = CelType::of(NAMESPACE.view(), false);
        known.push(("namespaceObject".to_owned(), namespace));
        for (name, there) in [
            ("params", self.params),
            ("authorizer", !self.without_rights),
        ] {
            if there {
                known.push((name.to_owned(), CelType::Dyn));
            }
        }
        if let Some(variables) = &variables {
            known.push(("variables".to_owned(), CelType::of(variables.view(), false)));
        }
        let found =
            rules::typed(text, known).map_err(|why| format!("compilation failed: {why}"))?;
        if !matches!(wanted, ExpectedType::Object | ExpectedType::Patches) {
            rules::compile(text).map_err(|why| format!("compilation failed: {why}"))?;
        }
        let name = match found {
            CelType::Dyn if is_anything(text) => Some("dyn"),
            found => found.scalar(),
        };
        match (wanted, name) {
            (ExpectedType::Bool, Some(name)) if name != "bool" => {
                Err(format!("must evaluate to bool but got {name}"))
            }
            (ExpectedType::Text, Some(name)) if name != "string" => {
                Err(format!("must evaluate to string but got {name}"))
            }
            (ExpectedType::Object, Some(name)) => {
                Err(format!("must evaluate to Object but got {name}"))
            }
            (ExpectedType::Patches, Some(name)) => {
                Err(format!("must evaluate to list(JSONPatch) but got {name}"))
            }
            (ExpectedType::TextOrNull, Some(name)) if name != "string" => Err(format!(
                "must evaluate to one of [string null_type] but got {name}"
            )),
            _ => Ok(match found {
                CelType::Bool => Kind::Boolean,
                CelType::Int => Kind::Integer,
                CelType::Double => Kind::Number,
                CelType::Text => Kind::String,
                CelType::Dyn
                | CelType::Bytes
                | CelType::List(_)
                | CelType::Map(_)
                | CelType::Fields(..) => Kind::IntOrString,
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
        let names = PolicyVariables::default();
        for fine in [
            "object.spec.replicas <= 5",
            "request.userInfo.groups.exists(group, group == 'a')",
            "namespaceObject.metadata.labels['a'] == 'b'",
            "has(oldObject.spec) && request.operation == 'UPDATE'",
        ] {
            assert_eq!(names.fault(fine, ExpectedType::Bool), None, "{fine}");
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
            assert_eq!(names.fault(text, ExpectedType::Bool).as_deref(), Some(want));
        }
        let with = PolicyVariables::new(true);
        assert_eq!(with.fault("params.a == 1", ExpectedType::Bool), None);
        let annotation = names.fault("1", ExpectedType::TextOrNull);
        let want = "must evaluate to one of [string null_type] but got int";
        assert_eq!(annotation.as_deref(), Some(want));
    }

    #[test]
    fn a_variable_is_known_after_it_was_declared() {
        let mut names = PolicyVariables::default().with_variables();
        let use_it = "variables.small";
        let fault = names.fault(use_it, ExpectedType::Bool).unwrap();
        assert!(fault.contains("undefined field 'small'"), "{fault}");
        assert_eq!(names.declare("small", "object.spec.replicas < 5"), None);
        assert_eq!(names.fault(use_it, ExpectedType::Bool), None);
        let text = names.fault(use_it, ExpectedType::Text);
        assert_eq!(
            text.as_deref(),
            Some("must evaluate to string but got bool")
        );
    }
}
