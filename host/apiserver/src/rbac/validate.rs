//! What is wrong with roles and bindings (kubernetes `pkg/apis/rbac/validation`).

use serde_json::{Value, json};

use crate::json::{list, list_at, text};
use crate::names;
use crate::selector::requirement;
use crate::status::Cause;

const GROUP: &str = "rbac.authorization.k8s.io";

/// What is wrong with a role or a binding, beside its metadata.
pub fn causes(new: &Value, old: Option<&Value>, plural: &str) -> Vec<Cause> {
    match plural {
        "roles" | "clusterroles" => role(new, plural == "roles"),
        _ => binding(new, old, plural == "rolebindings"),
    }
}

fn role(role: &Value, namespaced: bool) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (index, rule) in list(role, "rules").iter().enumerate() {
        self::rule(rule, namespaced, &format!("rules[{index}]"), &mut causes);
    }
    if role
        .get("aggregationRule")
        .is_some_and(|rule| !rule.is_null())
    {
        let at = "aggregationRule.clusterRoleSelectors";
        let selectors = list_at(role, "/aggregationRule/clusterRoleSelectors");
        if selectors.is_empty() {
            let why = "at least one clusterRoleSelector required if aggregationRule is non-nil";
            causes.push(Cause::required(at, why));
        }
        for (index, selector) in selectors.iter().enumerate() {
            let at = format!("{at}[{index}]");
            let wrong = self::selector(selector, &at);
            let any = !wrong.is_empty();
            causes.extend(wrong);
            causes.extend(any.then(|| Cause::invalid(at, &Value::Null, "invalid label selector.")));
        }
    }
    causes
}

fn rule(rule: &Value, namespaced: bool, at: &str, causes: &mut Vec<Cause>) {
    let none = |field: &str| list(rule, field).is_empty();
    if none("verbs") {
        let why = "verbs must contain at least one value";
        causes.push(Cause::required(format!("{at}.verbs"), why));
    }
    if !none("nonResourceURLs") {
        let urls = rule.get("nonResourceURLs").unwrap_or(&Value::Null);
        let field = format!("{at}.nonResourceURLs");
        if namespaced {
            let why = "namespaced rules cannot apply to non-resource URLs";
            causes.push(Cause::invalid(field.clone(), urls, why));
        }
        if !["apiGroups", "resources", "resourceNames"]
            .into_iter()
            .all(none)
        {
            let why = "rules cannot apply to both regular resources and non-resource URLs";
            causes.push(Cause::invalid(field, urls, why));
        }
        return;
    }
    for (field, what) in [("apiGroups", "api group"), ("resources", "resource")] {
        if none(field) {
            let why = format!("resource rules must supply at least one {what}");
            causes.push(Cause::required(format!("{at}.{field}"), &why));
        }
    }
}

/// What is wrong with a label selector.
pub(crate) fn selector(selector: &Value, at: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    let labels = selector
        .get("matchLabels")
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    let field = format!("{at}.matchLabels");
    for (key, value) in labels {
        let wrong = names::label_key(key);
        causes.extend(
            wrong
                .iter()
                .map(|why| Cause::invalid(field.clone(), &json!(key), why)),
        );
        let wrong = names::label_value(value.as_str().unwrap_or_default());
        causes.extend(
            wrong
                .iter()
                .map(|why| Cause::invalid(field.clone(), value, why)),
        );
    }
    for (index, expression) in list(selector, "matchExpressions").iter().enumerate() {
        causes.extend(requirement(
            expression,
            &format!("{at}.matchExpressions[{index}]"),
        ));
    }
    causes
}

/// What is wrong with one requirement of a label selector.
fn requirement(expression: &Value, at: &str) -> Vec<Cause> {
    let operator = text(expression, "operator");
    let known = ["In", "NotIn", "Exists", "DoesNotExist"].contains(&operator);
    let unknown = || {
        let why = "not a valid selector operator";
        Cause::invalid(format!("{at}.operator"), &json!(operator), why)
    };
    let mut causes = Vec::from_iter((!known).then(unknown));
    causes.extend(requirement::validate_values(expression, at));
    causes.extend(requirement::validate_names(expression, at));
    causes
}

fn one_of(all: &[&str]) -> Vec<String> {
    all.iter().map(|text| (*text).to_owned()).collect()
}

fn binding(new: &Value, old: Option<&Value>, namespaced: bool) -> Vec<Cause> {
    let mut causes = Vec::new();
    let role = new.get("roleRef").unwrap_or(&Value::Null);
    let group = text(role, "apiGroup");
    if group != GROUP {
        causes.push(Cause::unsupported(
            "roleRef.apiGroup",
            &json!(group),
            &one_of(&[GROUP]),
        ));
    }
    let kinds: &[&str] = if namespaced {
        &["Role", "ClusterRole"]
    } else {
        &["ClusterRole"]
    };
    let kind = text(role, "kind");
    if !kinds.contains(&kind) {
        causes.push(Cause::unsupported(
            "roleRef.kind",
            &json!(kind),
            &one_of(kinds),
        ));
    }
    let name = text(role, "name");
    if name.is_empty() {
        causes.push(Cause::required("roleRef.name", ""));
    }
    let wrong = names::path_segment(name);
    causes.extend(
        wrong
            .iter()
            .map(|why| Cause::invalid("roleRef.name", &json!(name), why)),
    );
    for (index, subject) in list(new, "subjects").iter().enumerate() {
        self::subject(
            subject,
            namespaced,
            &format!("subjects[{index}]"),
            &mut causes,
        );
    }
    if old.is_some_and(|old| old.get("roleRef") != new.get("roleRef")) {
        // The real one shows its own form of it.
        let shown = json!({ "APIGroup": group, "Kind": kind, "Name": name });
        causes.push(Cause::invalid("roleRef", &shown, "cannot change roleRef"));
    }
    causes
}

fn subject(subject: &Value, namespaced: bool, at: &str, causes: &mut Vec<Cause>) {
    let (kind, name, group) = (
        text(subject, "kind"),
        text(subject, "name"),
        text(subject, "apiGroup"),
    );
    if name.is_empty() {
        causes.push(Cause::required(format!("{at}.name"), ""));
    }
    let group_field = format!("{at}.apiGroup");
    match kind {
        "ServiceAccount" => {
            let wrong = if name.is_empty() {
                Vec::new()
            } else {
                names::subdomain(name)
            };
            let field = format!("{at}.name");
            causes.extend(
                wrong
                    .iter()
                    .map(|why| Cause::invalid(field.clone(), &json!(name), why)),
            );
            if !group.is_empty() {
                causes.push(Cause::unsupported(
                    group_field,
                    &json!(group),
                    &one_of(&[""]),
                ));
            }
            if !namespaced && text(subject, "namespace").is_empty() {
                causes.push(Cause::required(format!("{at}.namespace"), ""));
            }
        }
        "User" | "Group" if group != GROUP => {
            causes.push(Cause::unsupported(
                group_field,
                &json!(group),
                &one_of(&[GROUP]),
            ));
        }
        "User" | "Group" => {}
        _ => {
            let all = one_of(&["ServiceAccount", "User", "Group"]);
            causes.push(Cause::unsupported(format!("{at}.kind"), &json!(kind), &all));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(plural: &str, object: &Value, old: Option<&Value>) -> Vec<String> {
        let all = causes(object, old, plural).into_iter();
        all.map(|cause| format!("{}: {}", cause.field, cause.message))
            .collect()
    }

    #[test]
    fn rules_are_about_resources_or_about_paths() {
        let rules = json!({ "rules": [
            { "verbs": [] },
            { "verbs": ["get"], "nonResourceURLs": ["/x"], "resources": ["a"] },
            { "verbs": ["get"], "apiGroups": [""], "resources": ["pods"] },
        ] });
        let both = "rules[1].nonResourceURLs: Invalid value: [\"/x\"]: rules cannot apply to both regular \
             resources and non-resource URLs";
        let first = [
            "rules[0].verbs: Required value: verbs must contain at least one value",
            "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
            "rules[0].resources: Required value: resource rules must supply at least one resource",
        ];
        let own = "rules[1].nonResourceURLs: Invalid value: [\"/x\"]: namespaced rules cannot apply to \
             non-resource URLs";
        assert_eq!(
            lines("roles", &rules, None),
            [&first[..], &[own, both]].concat()
        );
        assert_eq!(
            lines("clusterroles", &rules, None),
            [&first[..], &[both]].concat()
        );
        let none = json!({ "aggregationRule": {} });
        assert_eq!(lines("clusterroles", &none, None).len(), 1);
        let bad = json!({ "aggregationRule": { "clusterRoleSelectors": [
            { "matchExpressions": [{ "key": "a", "operator": "Foo" }, { "key": "b", "operator": "In" }] },
        ] } });
        let at = "aggregationRule.clusterRoleSelectors[0]";
        assert_eq!(
            lines("clusterroles", &bad, None),
            [
                format!(
                    "{at}.matchExpressions[0].operator: Invalid value: \"Foo\": not a valid selector operator"
                ),
                format!(
                    "{at}.matchExpressions[1].values: Required value: must be specified when `operator` is \
                     'In' or 'NotIn'"
                ),
                format!("{at}: Invalid value: null: invalid label selector."),
            ]
        );
    }

    #[test]
    fn bindings_name_a_role_and_subjects() {
        let role =
            |kind: &str, name: &str| json!({ "apiGroup": GROUP, "kind": kind, "name": name });
        let bad = json!({
            "roleRef": role("X", "a%b"),
            "subjects": [{ "kind": "Foo", "name": "a" }, { "kind": "User", "name": "u", "apiGroup": "x" }],
        });
        assert_eq!(
            lines("rolebindings", &bad, None),
            [
                "roleRef.kind: Unsupported value: \"X\": supported values: \"Role\", \"ClusterRole\"",
                "roleRef.name: Invalid value: \"a%b\": may not contain '%'",
                "subjects[0].kind: Unsupported value: \"Foo\": supported values: \"ServiceAccount\", \
                 \"User\", \"Group\"",
                "subjects[1].apiGroup: Unsupported value: \"x\": supported values: \
                 \"rbac.authorization.k8s.io\"",
            ]
        );
        let local = json!({
            "roleRef": role("Role", ""), "subjects": [{ "kind": "ServiceAccount", "name": "a" }],
        });
        assert_eq!(
            lines("clusterrolebindings", &local, None),
            [
                "roleRef.kind: Unsupported value: \"Role\": supported values: \"ClusterRole\"",
                "roleRef.name: Required value",
                "subjects[0].namespace: Required value",
            ]
        );
        let old = json!({ "roleRef": role("Role", "x") });
        let new = json!({ "roleRef": role("Role", "y") });
        assert_eq!(
            lines("rolebindings", &new, Some(&old)),
            [
                "roleRef: Invalid value: {\"APIGroup\":\"rbac.authorization.k8s.io\",\"Kind\":\"Role\",\"Name\":\
              \"y\"}: cannot change roleRef"
            ]
        );
        assert!(lines("rolebindings", &old, Some(&old)).is_empty());
    }
}
