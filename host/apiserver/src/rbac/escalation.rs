//! Nobody writes a role, or binds one, that gives more than they have
//! (kubernetes `pkg/registry/rbac/*/policybased`).

use serde::Deserialize;
use serde_json::Value;

use super::covers::{describe, missing, quoted};
use super::policy::{Rights, RoleRef};
use super::{Attributes, Rule, RuleResolver, is_master};
use crate::meta;
use crate::request::User;
use crate::status::{Named, Refusal};

/// The group of roles and bindings.
const GROUP: &str = "rbac.authorization.k8s.io";

/// A write of a role or a binding.
#[derive(Clone, Copy, Debug)]
pub struct Grant<'a> {
    /// Who writes.
    pub user: &'a User,
    /// The group of the resource.
    pub group: &'a str,
    /// The plural, such as `roles`.
    pub plural: &'a str,
    /// The namespace of the path; empty where there is none.
    pub namespace: &'a str,
    /// The name in the path; empty for a create.
    pub name: &'a str,
    /// The object as it will be.
    pub new: &'a Value,
    /// As it was.
    pub old: Option<&'a Value>,
}

/// Whether writes to a resource have to be judged here.
pub fn applies(group: &str, plural: &str) -> bool {
    group == GROUP
        && matches!(
            plural,
            "roles" | "clusterroles" | "rolebindings" | "clusterrolebindings"
        )
}

/// Judges a write of a role or a binding.
///
/// # Errors
/// 403 if it gives what the user does not have.
pub fn check(policy: &RuleResolver, grant: Grant<'_>) -> Result<(), Refusal> {
    if is_master(grant.user) {
        return Ok(());
    }
    match grant.plural {
        "roles" | "clusterroles" => role(policy, grant),
        _ => binding(policy, grant),
    }
}

fn role(policy: &RuleResolver, grant: Grant<'_>) -> Result<(), Refusal> {
    let escalate = Attributes::resource(grant.user.clone(), "escalate", GROUP, grant.plural);
    let escalate = escalate.in_namespace(grant.namespace).named(grant.name);
    if policy.decide(&escalate).allowed || only_collected(grant) {
        return Ok(());
    }
    confirm(policy, grant, &Rule::all_of(grant.new))?;
    let aggregates = |object: &Value| {
        let selectors = object
            .pointer("/aggregationRule/clusterRoleSelectors")
            .and_then(Value::as_array);
        selectors.is_some_and(|selectors| !selectors.is_empty())
    };
    if aggregates(grant.new) || grant.old.is_some_and(aggregates) {
        let everything = Rights::everything().rules;
        let why = "must have cluster-admin privileges to use the aggregationRule";
        confirm(policy, grant, &everything).map_err(|_| forbidden(grant, why))?;
    }
    Ok(())
}

fn binding(policy: &RuleResolver, grant: Grant<'_>) -> Result<(), Refusal> {
    if only_collected(grant) {
        return Ok(());
    }
    let role = grant
        .new
        .get("roleRef")
        .map(RoleRef::deserialize)
        .and_then(Result::ok)
        .unwrap_or_default();
    let plural = match role.kind.as_str() {
        "ClusterRole" => Some("clusterroles"),
        "Role" => Some("roles"),
        _ => None,
    };
    if let Some(plural) = plural {
        let bind = Attributes::resource(grant.user.clone(), "bind", &role.api_group, plural);
        if policy
            .decide(&bind.in_namespace(grant.namespace).named(&role.name))
            .allowed
        {
            return Ok(());
        }
    }
    let rules = policy
        .rules_of(&role, grant.namespace)
        .map_err(|why| match plural {
            // The real one says the singular here.
            Some(plural) => {
                let named = Named {
                    group: GROUP,
                    resource: plural.trim_end_matches('s'),
                };
                Refusal::not_found(named, &role.name)
            }
            None => Refusal::internal(&why),
        })?;
    confirm(policy, grant, rules)
}

/// Whether a write changes only what the garbage collector changes.
fn only_collected(grant: Grant<'_>) -> bool {
    let Some(old) = grant.old else {
        return false;
    };
    let mut new = grant.new.clone();
    for field in [
        "ownerReferences",
        "finalizers",
        "managedFields",
        "resourceVersion",
    ] {
        meta::set(&mut new, field, meta::get(old, field).cloned());
    }
    new == *old
}

/// The user has all of these rules.
fn confirm(policy: &RuleResolver, grant: Grant<'_>, rules: &[Rule]) -> Result<(), Refusal> {
    let rights = policy.rights(grant.user, grant.namespace);
    let lacking = missing(&rights.rules, rules);
    if lacking.is_empty() {
        return Ok(());
    }
    let User { name, groups, .. } = grant.user;
    let mut why = format!(
        "user {name:?} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
        quoted(groups),
        describe(&lacking).join("\n")
    );
    if !rights.errors.is_empty() {
        why = format!(
            "{why}; resolution errors: [{}]",
            super::policy::aggregate(&rights.errors)
        );
    }
    Err(forbidden(grant, &why))
}

fn forbidden(grant: Grant<'_>, why: &str) -> Refusal {
    let named = Named {
        group: GROUP,
        resource: grant.plural,
    };
    Refusal::forbidden(named, meta::text(grant.new, "name"), why)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn policy(rules: &Value) -> RuleResolver {
        let role = json!({ "metadata": { "name": "own" }, "rules": rules });
        let view = json!({
            "metadata": { "name": "view" },
            "rules": [{ "verbs": ["get"], "apiGroups": [""], "resources": ["pods"] }],
        });
        let binding = json!({
            "metadata": { "name": "own" },
            "roleRef": { "kind": "ClusterRole", "name": "own" },
            "subjects": [{ "kind": "User", "name": "ann" }],
        });
        let wide = json!({
            "metadata": { "name": "wide" },
            "rules": [{ "verbs": ["get"], "apiGroups": [""], "resources": ["secrets"] }],
        });
        RuleResolver::of(&[role, view, wide, binding])
    }

    fn ann() -> User {
        User {
            name: "ann".to_owned(),
            groups: vec!["system:authenticated".to_owned()],
            ..User::default()
        }
    }

    fn verdict(
        rules: &Value,
        plural: &str,
        new: &Value,
        old: Option<&Value>,
    ) -> Result<(), String> {
        let user = ann();
        let grant = Grant {
            user: &user,
            group: GROUP,
            plural,
            namespace: if plural.starts_with("cluster") {
                ""
            } else {
                "a"
            },
            name: "new",
            new,
            old,
        };
        check(&policy(rules), grant).map_err(|refusal| refusal.message)
    }

    const GET_PODS: &str = r#"{ "verbs": ["get"], "apiGroups": [""], "resources": ["pods"] }"#;

    fn get_pods() -> Value {
        serde_json::from_str(GET_PODS).unwrap()
    }

    #[test]
    fn roles_give_what_their_writer_has_or_may_escalate_to() {
        let role = json!({ "metadata": { "name": "new" }, "rules": [get_pods()] });
        assert_eq!(verdict(&json!([get_pods()]), "roles", &role, None), Ok(()));
        let refused = verdict(&json!([]), "roles", &role, None);
        assert_eq!(
            refused.unwrap_err(),
            "roles.rbac.authorization.k8s.io \"new\" is forbidden: user \"ann\" \
             (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not currently \
             held:\n{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"get\"]}"
        );
        let escalate =
            json!([{ "verbs": ["escalate"], "apiGroups": [GROUP], "resources": ["roles"] }]);
        assert_eq!(verdict(&escalate, "roles", &role, None), Ok(()));
        let mut released = role.clone();
        released["metadata"]["finalizers"] = json!(["x"]);
        assert_eq!(verdict(&json!([]), "roles", &role, Some(&released)), Ok(()));
        let aggregated = json!({
            "metadata": { "name": "new" },
            "aggregationRule": { "clusterRoleSelectors": [{}] },
        });
        let refused = verdict(&json!([get_pods()]), "clusterroles", &aggregated, None);
        assert!(
            refused
                .unwrap_err()
                .ends_with("must have cluster-admin privileges to use the aggregationRule")
        );
    }

    #[test]
    fn bindings_give_roles_that_their_writer_has_or_may_bind() {
        let binding = |role: &str| {
            json!({
                "metadata": { "name": "new" },
                "roleRef": { "apiGroup": GROUP, "kind": "ClusterRole", "name": role },
            })
        };
        assert_eq!(
            verdict(&json!([get_pods()]), "rolebindings", &binding("view"), None),
            Ok(())
        );
        assert!(verdict(&json!([]), "rolebindings", &binding("view"), None).is_err());
        let bind = json!([{
            "verbs": ["bind"], "apiGroups": [GROUP], "resources": ["clusterroles"], "resourceNames": ["view"],
        }]);
        assert_eq!(
            verdict(&bind, "clusterrolebindings", &binding("view"), None),
            Ok(())
        );
        assert!(verdict(&bind, "clusterrolebindings", &binding("wide"), None).is_err());
        assert_eq!(
            verdict(&json!([]), "rolebindings", &binding("nope"), None).unwrap_err(),
            "clusterrole.rbac.authorization.k8s.io \"nope\" not found"
        );
    }
}
