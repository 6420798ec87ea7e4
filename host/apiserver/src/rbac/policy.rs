//! What all roles and bindings say at a moment (kubernetes `pkg/registry/rbac/validation/rule.go`).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::attributes::Attributes;
use super::rules::Rule;
use super::{Decision, is_master};
use crate::meta;
use crate::request::User;

/// What all roles and bindings say.
#[derive(Clone, Debug, Default)]
pub struct RuleResolver {
    /// By namespace and name; ClusterRoles in the empty one.
    roles: BTreeMap<(String, String), Vec<Rule>>,
    /// By namespace; ClusterRoleBindings in the empty one.
    bindings: BTreeMap<String, Vec<RoleBinding>>,
}

#[derive(Clone, Debug)]
struct RoleBinding {
    name: String,
    role: RoleRef,
    subjects: Vec<Subject>,
}

/// The role that a binding gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the words of RoleRef")]
pub struct RoleRef {
    pub api_group: String,
    pub kind: String,
    pub name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Subject {
    kind: String,
    name: String,
    namespace: Option<String>,
}

/// The rules that hold for somebody, and what could not be found out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// The rules.
    pub rules: Vec<Rule>,
    /// Roles that bindings name and that are not there.
    pub errors: Vec<String>,
}

impl Rights {
    /// The rules of somebody who may do everything.
    pub fn everything() -> Self {
        let rule = |rule: &str| serde_json::from_str(rule).unwrap_or_default();
        Self {
            rules: vec![
                rule(r#"{ "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"] }"#),
                rule(r#"{ "verbs": ["*"], "nonResourceURLs": ["*"] }"#),
            ],
            errors: Vec::new(),
        }
    }
}

impl RuleResolver {
    /// The policy of these roles, ClusterRoles and bindings of both kinds.
    pub fn of<'a>(objects: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut policy = Self::default();
        for object in objects {
            let namespace = meta::text(object, "namespace").to_owned();
            let name = meta::text(object, "name").to_owned();
            let Some(role) = object.get("roleRef") else {
                policy.roles.insert((namespace, name), Rule::all_of(object));
                continue;
            };
            let subjects = object
                .get("subjects")
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            let binding = RoleBinding {
                name,
                role: RoleRef::deserialize(role).unwrap_or_default(),
                subjects: subjects
                    .filter_map(|subject| Subject::deserialize(subject).ok())
                    .collect(),
            };
            policy.bindings.entry(namespace).or_default().push(binding);
        }
        policy
    }

    /// Whether somebody may do something.
    pub fn decide(&self, attributes: &Attributes) -> Decision {
        if is_master(&attributes.user) {
            return Decision::yes();
        }
        let mut errors = Vec::new();
        for (binding, subject, namespace) in self.applying(&attributes.user, attributes.namespace())
        {
            match self.rules_of(&binding.role, namespace) {
                Err(error) => errors.push(error),
                Ok(rules) if rules.iter().any(|rule| rule.allows(attributes)) => {
                    return Decision {
                        allowed: true,
                        reason: format!(
                            "RBAC: allowed by {}",
                            binding.describe(subject, namespace)
                        ),
                    };
                }
                Ok(_) => {}
            }
        }
        let reason = if errors.is_empty() {
            String::new()
        } else {
            format!("RBAC: {}", aggregate(&errors))
        };
        Decision {
            allowed: false,
            reason,
        }
    }

    /// The rules that hold for somebody in a namespace.
    pub fn rights(&self, user: &User, namespace: &str) -> Rights {
        let mut rights = Rights::default();
        for (binding, _, namespace) in self.applying(user, namespace) {
            match self.rules_of(&binding.role, namespace) {
                Ok(rules) => rights.rules.extend_from_slice(rules),
                Err(error) => rights.errors.push(error),
            }
        }
        rights
    }

    /// The rules of a role that a binding in a namespace (or in none) names.
    ///
    /// # Errors
    /// There is no such role.
    pub fn rules_of(&self, role: &RoleRef, namespace: &str) -> Result<&[Rule], String> {
        let (namespace, kind) = match role.kind.as_str() {
            "Role" => (namespace, "role"),
            "ClusterRole" => ("", "clusterrole"),
            other => return Err(format!("unsupported role reference kind: {other:?}")),
        };
        let found = self.roles.get(&(namespace.to_owned(), role.name.clone()));
        let missing = || format!("{kind}.rbac.authorization.k8s.io {:?} not found", role.name);
        found.map(Vec::as_slice).ok_or_else(missing)
    }

    /// The bindings that are about somebody, with the subject that is, and the binding's namespace.
    fn applying<'a>(
        &'a self,
        user: &'a User,
        namespace: &'a str,
    ) -> impl Iterator<Item = (&'a RoleBinding, &'a Subject, &'a str)> {
        let own = (!namespace.is_empty()).then_some(namespace);
        [Some(""), own]
            .into_iter()
            .flatten()
            .flat_map(move |namespace| {
                let bindings = self.bindings.get(namespace).into_iter().flatten();
                bindings.filter_map(move |binding| {
                    let mut subjects = binding.subjects.iter();
                    let subject = subjects.find(|subject| subject.is(user, namespace))?;
                    Some((binding, subject, namespace))
                })
            })
    }
}

/// Errors as apimachinery's `util/errors` puts them together.
pub(super) fn aggregate(errors: &[String]) -> String {
    let mut each: Vec<&str> = Vec::new();
    for error in errors {
        if !each.contains(&error.as_str()) {
            each.push(error);
        }
    }
    match each.as_slice() {
        [one] => (*one).to_owned(),
        more => format!("[{}]", more.join(", ")),
    }
}

impl Subject {
    fn is(&self, user: &User, namespace: &str) -> bool {
        match self.kind.as_str() {
            "User" => self.name == user.name,
            "Group" => user.groups.contains(&self.name),
            "ServiceAccount" => {
                let own = self.namespace.as_deref().filter(|own| !own.is_empty());
                let namespace = own.unwrap_or(namespace);
                !namespace.is_empty()
                    && user.name == format!("system:serviceaccount:{namespace}:{}", self.name)
            }
            _ => false,
        }
    }
}

impl RoleBinding {
    fn describe(&self, subject: &Subject, namespace: &str) -> String {
        let (kind, name) = if namespace.is_empty() {
            ("ClusterRoleBinding", self.name.clone())
        } else {
            ("RoleBinding", format!("{}/{namespace}", self.name))
        };
        let shown = if subject.kind == "ServiceAccount" {
            let own = subject.namespace.as_deref().filter(|own| !own.is_empty());
            format!("{}/{}", subject.name, own.unwrap_or(namespace))
        } else {
            subject.name.clone()
        };
        let role = &self.role;
        format!(
            "{kind} {name:?} of {} {:?} to {} {shown:?}",
            role.kind, role.name, subject.kind
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn policy() -> RuleResolver {
        let rule = |resource: &str| json!([{ "verbs": ["get"], "apiGroups": [""], "resources": [resource] }]);
        let role = |namespace: &str, name: &str, resource: &str| json!({ "metadata": { "namespace": namespace, "name": name }, "rules": rule(resource) });
        let binding = |namespace: &str, name: &str, kind: &str, role: &str, subject: Value| {
            json!({
                "metadata": { "namespace": namespace, "name": name },
                "roleRef": { "kind": kind, "name": role },
                "subjects": [subject],
            })
        };
        let objects = [
            role("", "nodes", "nodes"),
            role("", "pods", "pods"),
            role("a", "maps", "configmaps"),
            binding(
                "",
                "all",
                "ClusterRole",
                "nodes",
                json!({ "kind": "Group", "name": "ops" }),
            ),
            binding(
                "",
                "gone",
                "ClusterRole",
                "nope",
                json!({ "kind": "User", "name": "lost" }),
            ),
            binding(
                "a",
                "maps",
                "Role",
                "maps",
                json!({ "kind": "ServiceAccount", "name": "bot" }),
            ),
            binding(
                "a",
                "pods",
                "ClusterRole",
                "pods",
                json!({ "kind": "User", "name": "ann" }),
            ),
            binding(
                "b",
                "far",
                "ClusterRole",
                "pods",
                json!({ "kind": "ServiceAccount", "name": "bot", "namespace": "a" }),
            ),
        ];
        RuleResolver::of(&objects)
    }

    fn user(name: &str, groups: &[&str]) -> User {
        User {
            name: name.to_owned(),
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
            ..User::default()
        }
    }

    #[test]
    fn bindings_give_their_role_to_their_subjects_where_they_lie() {
        let bot = "system:serviceaccount:a:bot";
        let cases: [(&str, &[&str], &str, &str, bool); 11] = [
            ("ann", &[], "a", "pods", true),
            ("ann", &[], "b", "pods", false),
            ("ann", &[], "", "pods", false),
            ("ann", &[], "a", "configmaps", false),
            ("eve", &["ops"], "", "nodes", true),
            ("eve", &["ops"], "a", "nodes", true),
            ("eve", &[], "", "nodes", false),
            (bot, &[], "a", "configmaps", true),
            (bot, &[], "b", "pods", true),
            ("system:serviceaccount:b:bot", &[], "a", "configmaps", false),
            ("root", &["system:masters"], "z", "secrets", true),
        ];
        for (name, groups, namespace, plural, want) in cases {
            let attributes = Attributes::resource(user(name, groups), "get", "", plural);
            let decision = policy().decide(&attributes.in_namespace(namespace));
            assert_eq!(decision.allowed, want, "{name} {namespace} {plural}");
        }
    }

    #[test]
    fn reasons_say_which_binding_or_what_is_missing() {
        let reason = |name: &str, groups: &[&str], namespace: &str, plural: &str| {
            let attributes = Attributes::resource(user(name, groups), "get", "", plural);
            policy().decide(&attributes.in_namespace(namespace)).reason
        };
        assert_eq!(
            reason("eve", &["ops"], "", "nodes"),
            "RBAC: allowed by ClusterRoleBinding \"all\" of ClusterRole \"nodes\" to Group \"ops\""
        );
        assert_eq!(
            reason("system:serviceaccount:a:bot", &[], "a", "configmaps"),
            "RBAC: allowed by RoleBinding \"maps/a\" of Role \"maps\" to ServiceAccount \"bot/a\""
        );
        assert_eq!(
            reason("lost", &[], "", "nodes"),
            "RBAC: clusterrole.rbac.authorization.k8s.io \"nope\" not found"
        );
        assert_eq!(reason("ann", &[], "", "nodes"), "");
    }
}
