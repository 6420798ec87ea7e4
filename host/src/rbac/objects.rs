//! Roles and bindings as Kubernetes objects, and how they are printed.

use std::collections::BTreeMap;

use anyhow::Context;
use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;
use serde_json::json;
use windlass_yaml::comment;

use super::rules::{RoleScope, Rules};
use windlass_kube::api::ServiceAccount;

/// The group of everything here.
const GROUP: &str = "rbac.authorization.k8s.io";

/// Who roles are for.
#[derive(Clone, Copy, Debug)]
pub(super) enum RolesFor<'a> {
    /// The host, as which a plugin acts.
    Host(&'a ServiceAccount),
    /// The host, beside the account as which a plugin acts.
    HostOf(&'a ServiceAccount, &'a ServiceAccount),
    /// The account as which a plugin acts.
    Account(&'a ServiceAccount),
}

impl<'a> RolesFor<'a> {
    /// Who gets them.
    fn subject(self) -> &'a ServiceAccount {
        match self {
            Self::Host(account) | Self::HostOf(account, _) | Self::Account(account) => account,
        }
    }

    /// What they give, for a comment.
    fn comment(self, plugin: &str, file: &str, scope: &str) -> String {
        match self {
            Self::Host(_) => format!(
                "What plugin {plugin} of {file} is granted {scope}, and what the host needs for it."
            ),
            Self::HostOf(_, account) => {
                format!(
                    "What the host needs {scope} for plugin {plugin} of {file}, which acts as {account}."
                )
            }
            Self::Account(_) => format!("What plugin {plugin} of {file} is granted {scope}."),
        }
    }
}

/// An object, and what is said above it.
#[derive(Clone, Debug)]
pub(super) struct Printed {
    /// The lines of the comment above it.
    above: String,
    object: RbacObject,
}

#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
enum RbacObject {
    ClusterRole(ClusterRole),
    ClusterRoleBinding(ClusterRoleBinding),
    Role(Role),
    RoleBinding(RoleBinding),
    ServiceAccount(k8s_openapi::api::core::v1::ServiceAccount),
}

/// A role and its binding for each place of `rules`.
pub(super) fn roles(
    (plugin, file): (&str, &str),
    rules: Rules,
    remarks: &BTreeMap<RoleScope, Vec<String>>,
    roles_for: RolesFor<'_>,
) -> Vec<Printed> {
    let account = roles_for.subject();
    let mut printed = Vec::new();
    for (place, rules) in rules {
        let remarks = remarks.get(&place).into_iter().flatten();
        let line = |remark: &String| format!("\n{remark}");
        let remarks: String = remarks.map(line).collect();
        let (scope, namespace) = match place {
            RoleScope::Everywhere => ("in all namespaces".to_owned(), None),
            RoleScope::Namespace(name) => (format!("in namespace {}", comment(&name)), Some(name)),
        };
        let metadata = metadata(plugin, namespace, account);
        let [role, binding] = pair(metadata, rules, account);
        let comments = [
            roles_for.comment(plugin, file, &scope) + &remarks,
            format!("Gives it to {account}."),
        ];
        for (above, object) in comments.into_iter().zip([role, binding]) {
            printed.push(Printed { above, object });
        }
    }
    printed
}

/// The account as which a plugin acts.
pub(super) fn service_account(plugin: &str, account: &ServiceAccount) -> Printed {
    let metadata = ObjectMeta {
        name: Some(account.name().to_owned()),
        namespace: Some(account.namespace().to_owned()),
        ..ObjectMeta::default()
    };
    Printed {
        above: format!("Who plugin {plugin} is to the API server. Its namespace must exist."),
        object: RbacObject::ServiceAccount(k8s_openapi::api::core::v1::ServiceAccount {
            metadata,
            // No pod runs as it.
            automount_service_account_token: Some(false),
            ..Default::default()
        }),
    }
}

/// Two hosts in one cluster have roles of their own, also for plugins of one name. No plugin may change roles with such a
/// name.
fn metadata(plugin: &str, namespace: Option<String>, account: &ServiceAccount) -> ObjectMeta {
    let labels = [
        ("app.kubernetes.io/name", "windlass"),
        ("app.kubernetes.io/component", "rbac"),
        ("app.kubernetes.io/part-of", "windlass"),
        ("app.kubernetes.io/managed-by", "windlass"),
        ("windlass.dev/plugin", plugin),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    ObjectMeta {
        name: Some(format!(
            "{}:{}:{plugin}",
            account.namespace(),
            account.name()
        )),
        namespace,
        labels: Some(labels.into()),
        ..ObjectMeta::default()
    }
}

fn pair(metadata: ObjectMeta, rules: Vec<PolicyRule>, account: &ServiceAccount) -> [RbacObject; 2] {
    let role_ref = |kind: &str| RoleRef {
        api_group: Some(GROUP.to_owned()),
        kind: kind.to_owned(),
        name: metadata.name.clone().unwrap_or_default(),
    };
    let subjects = Some(vec![Subject {
        kind: "ServiceAccount".to_owned(),
        name: account.name().to_owned(),
        namespace: Some(account.namespace().to_owned()),
        ..Subject::default()
    }]);
    if metadata.namespace.is_some() {
        let binding = RoleBinding {
            role_ref: role_ref("Role"),
            metadata: metadata.clone(),
            subjects,
        };
        let role = Role {
            metadata,
            rules: Some(rules),
        };
        [RbacObject::Role(role), RbacObject::RoleBinding(binding)]
    } else {
        let binding = ClusterRoleBinding {
            role_ref: role_ref("ClusterRole"),
            metadata: metadata.clone(),
            subjects,
        };
        let role = ClusterRole {
            metadata,
            rules: Some(rules),
            ..ClusterRole::default()
        };
        [
            RbacObject::ClusterRole(role),
            RbacObject::ClusterRoleBinding(binding),
        ]
    }
}

/// One YAML document for each.
///
/// # Errors
/// None that is known.
pub(super) fn yaml(printed: &[Printed]) -> anyhow::Result<String> {
    let mut text = String::new();
    for Printed { above, object } in printed {
        let object = serde_saphyr::to_string(object).context("cannot write YAML")?;
        text.push_str("---\n");
        for line in above.lines() {
            text.push_str(&format!("# {}\n", comment(line)));
        }
        text.push_str(&format!("{}\n", object.trim_end()));
    }
    Ok(text)
}

/// One List.
///
/// # Errors
/// None that is known.
pub(super) fn json(printed: Vec<Printed>) -> anyhow::Result<String> {
    let items: Vec<RbacObject> = printed.into_iter().map(|printed| printed.object).collect();
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
    Ok(serde_json::to_string_pretty(&list).context("cannot write JSON")? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(place: RoleScope) -> Vec<Printed> {
        let rule = PolicyRule {
            api_groups: Some(vec![String::new()]),
            resources: Some(vec!["*".into()]),
            verbs: vec!["get".into()],
            ..PolicyRule::default()
        };
        let account = ServiceAccount::new("windlass-system", "windlass").unwrap();
        let remarks = BTreeMap::from([(place.clone(), vec!["Powerful: they run.".to_owned()])]);
        let rules = BTreeMap::from([(place, vec![rule])]);
        let of = ("greeter", "plugins/greeter.yaml");
        roles(of, rules, &remarks, RolesFor::Host(&account))
    }

    #[test]
    fn a_role_and_its_binding_say_whose_they_are() {
        let text = yaml(&printed(RoleScope::Everywhere)).unwrap();
        let want = r#"---
# What plugin greeter of plugins/greeter.yaml is granted in all namespaces, and what the host needs for it.
# Powerful: they run.
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  labels:
    app.kubernetes.io/component: rbac
    app.kubernetes.io/managed-by: windlass
    app.kubernetes.io/name: windlass
    app.kubernetes.io/part-of: windlass
    windlass.dev/plugin: greeter
  name: windlass-system:windlass:greeter
rules:
- apiGroups:
  - ""
  resources:
  - "*"
  verbs:
  - get
---
# Gives it to windlass-system/windlass.
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  labels:
    app.kubernetes.io/component: rbac
    app.kubernetes.io/managed-by: windlass
    app.kubernetes.io/name: windlass
    app.kubernetes.io/part-of: windlass
    windlass.dev/plugin: greeter
  name: windlass-system:windlass:greeter
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: windlass-system:windlass:greeter
subjects:
- kind: ServiceAccount
  name: windlass
  namespace: windlass-system
"#;
        assert_eq!(text, want);
    }

    #[test]
    fn a_place_that_looks_like_something_else_in_yaml_is_a_text() {
        for name in [
            "on",
            "y",
            "null",
            "123",
            "1e3",
            "0x1f",
            "12:30:45",
            "a\nb: c",
            "a\u{2028}b: c",
        ] {
            let text = yaml(&printed(RoleScope::Namespace(name.into()))).unwrap();
            let read: Vec<serde_json::Value> = serde_saphyr::from_multiple(&text).unwrap();
            for object in &read {
                assert_eq!(object["metadata"]["namespace"], name, "{text}");
            }
            let quoted = text.matches(&format!("namespace: {name}\n")).count();
            assert_eq!((read.len(), quoted), (2, 0), "{text}");
        }
    }

    #[test]
    fn as_json_it_is_one_list() {
        let text = json(printed(RoleScope::Namespace("a".into()))).unwrap();
        let list: serde_json::Value = serde_json::from_str(&text).unwrap();
        let kinds = ["/kind", "/items/0/kind", "/items/1/kind"]
            .map(|path| list.pointer(path).and_then(serde_json::Value::as_str));
        assert_eq!(kinds, [Some("List"), Some("Role"), Some("RoleBinding")]);
    }
}
