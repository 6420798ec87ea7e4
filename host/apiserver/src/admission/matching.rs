//! Which requests a policy or a binding is about: rules, selectors and equivalent resources
//! (apiserver `pkg/admission/plugin/policy/matching`, `pkg/admission/plugin/webhook/predicates`).

use std::sync::Arc;

use serde_json::Value;

use super::attributes::Admission;
use crate::json;
use crate::meta;
use crate::registry::Resource;
use crate::selector::LabelSelector;
use crate::status::{Named, Refusal};
use crate::store::{GroupResource, Labels, NamespacedName};

/// Takes a request for one of a resource, if `constraints` (a `MatchResources`) are about it.
///
/// # Errors
/// If that cannot be told.
pub(super) fn matched(
    constraints: &Value,
    admission: &Admission<'_>,
) -> Result<Option<Arc<Resource>>, String> {
    let in_namespace = namespace_selected(json::get(constraints, "namespaceSelector"), admission);
    if in_namespace == Ok(false)
        || !object_selected(json::get(constraints, "objectSelector"), admission)
    {
        return Ok(None);
    }
    let equivalent = json::get(constraints, "matchPolicy") == "Equivalent";
    let by_rules = |rules: &Value| by_rules(json::items(rules), admission, equivalent);
    if by_rules(json::get(constraints, "excludeResourceRules")).is_some() {
        return Ok(None);
    }
    let rules = json::get(constraints, "resourceRules");
    let found = match rules.as_array() {
        Some(some) if !some.is_empty() => by_rules(rules),
        _ => Some(Arc::clone(admission.call.resource)),
    };
    match (found, in_namespace) {
        (None, _) => Ok(None),
        (_, Err(why)) => Err(why),
        (found, Ok(_)) => Ok(found),
    }
}

fn namespace_selected(selector: &Value, admission: &Admission<'_>) -> Result<bool, String> {
    let is_namespace = admission.call.resource.plural == "namespaces";
    let namespace = admission.namespace();
    if namespace.is_empty() && !is_namespace {
        return Ok(true);
    }
    let Some(selector) = LabelSelector::of(selector).filter(|found| !found.is_everything()) else {
        return Ok(true);
    };
    let labels = match admission.object {
        Some(object) if is_namespace && admission.subresource().is_empty() => labels(object),
        _ => labels(&self::namespace(admission, namespace)?),
    };
    Ok(selector.selects(Some(&labels)))
}

/// A namespace.
///
/// # Errors
/// If there is none of this name.
pub(super) fn namespace(admission: &Admission<'_>, name: &str) -> Result<Value, String> {
    let place = GroupResource {
        group: String::new(),
        plural: "namespaces".to_owned(),
    };
    let held = admission
        .call
        .state
        .store()
        .get(&place, &NamespacedName::new("", name));
    let named = Named {
        group: "",
        resource: "namespaces",
    };
    let held = held.ok_or_else(|| Refusal::not_found(named, name).message)?;
    Ok(held.value())
}

fn object_selected(selector: &Value, admission: &Admission<'_>) -> bool {
    let Some(selector) = LabelSelector::of(selector).filter(|found| !found.is_everything()) else {
        return true;
    };
    let mut objects = [admission.object, admission.old].into_iter().flatten();
    objects.any(|object| selector.selects(Some(&labels(object))))
}

/// The labels of an object.
pub(super) fn labels(object: &Value) -> Labels {
    let held = meta::get(object, "labels")
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    held.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
        .collect()
}

/// The resource that one of the rules is about: that of the request, or an equivalent one.
fn by_rules(rules: &[Value], admission: &Admission<'_>, equivalent: bool) -> Option<Arc<Resource>> {
    let asked = RequestAttributes::of(admission);
    let own = admission.call.resource;
    if rules.iter().any(|rule| asked.fits(rule, own)) {
        return Some(Arc::clone(own));
    }
    if !equivalent {
        return None;
    }
    let registry = admission.call.state.registry();
    let place = own.place();
    let is_other = |other: &&Arc<Resource>| {
        other.place() == place && (&other.group, &other.version) != (&own.group, &own.version)
    };
    let others: Vec<_> = registry.all().iter().filter(is_other).collect();
    rules.iter().find_map(|rule| {
        let mut others = others.iter();
        let found = others.find(|other| asked.fits(rule, other))?;
        Some(Arc::clone(found))
    })
}

/// What rules ask of a request, beside its resource.
#[derive(Debug)]
struct RequestAttributes<'a> {
    operation: &'static str,
    subresource: &'a str,
    namespace: &'a str,
    name: &'a str,
}

impl<'a> RequestAttributes<'a> {
    fn of(admission: &'a Admission<'_>) -> Self {
        Self {
            operation: admission.operation.word(),
            subresource: admission.subresource(),
            namespace: admission.namespace(),
            name: admission.name(),
        }
    }

    fn fits(&self, rule: &Value, resource: &Resource) -> bool {
        let names: Vec<&str> = json::texts(rule, "resourceNames").collect();
        self.is_in_scope(json::get(rule, "scope").as_str().unwrap_or("*"), resource)
            && has(json::get(rule, "operations"), self.operation)
            && has(json::get(rule, "apiGroups"), &resource.group)
            && has(json::get(rule, "apiVersions"), &resource.version)
            && self.is_among(json::get(rule, "resources"), &resource.plural)
            && (names.is_empty() || names.contains(&self.name))
    }

    fn is_in_scope(&self, scope: &str, resource: &Resource) -> bool {
        let is_namespace = resource.group.is_empty() && resource.plural == "namespaces";
        let in_cluster = is_namespace || self.namespace.is_empty();
        match scope {
            "*" => true,
            "Namespaced" => !in_cluster,
            "Cluster" => in_cluster,
            _ => false,
        }
    }

    fn is_among(&self, resources: &Value, plural: &str) -> bool {
        json::item_texts(resources).any(|resource| {
            let (resource, sub) = resource.split_once('/').unwrap_or((resource, ""));
            (resource == "*" || resource == plural) && (sub == "*" || sub == self.subresource)
        })
    }
}

fn has(list: &Value, wanted: &str) -> bool {
    json::item_texts(list).any(|held| held == "*" || held == wanted)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::registry::Registry;

    #[test]
    fn a_rule_is_about_resources_operations_scopes_and_names() {
        let registry = Registry::new(crate::builtin::resources());
        let find = |group: &str, plural: &str| registry.find(group, "v1", plural).unwrap();
        let (deployments, namespaces) = (find("apps", "deployments"), find("", "namespaces"));
        let asked = |subresource, namespace| RequestAttributes {
            operation: "UPDATE",
            subresource,
            namespace,
            name: "a",
        };
        let rule = |more: Value| {
            let mut rule = json!({
                "operations": ["CREATE", "UPDATE"], "apiGroups": ["apps"], "apiVersions": ["v1"],
                "resources": ["deployments", "*/scale"], "scope": "*",
            });
            for (key, value) in more.as_object().unwrap() {
                rule[key] = value.clone();
            }
            rule
        };
        let here = asked("", "default");
        assert!(here.fits(&rule(json!({})), deployments));
        assert!(asked("scale", "default").fits(&rule(json!({})), deployments));
        assert!(!asked("status", "default").fits(&rule(json!({})), deployments));
        let others = [
            json!({ "operations": ["DELETE"] }),
            json!({ "apiGroups": [""] }),
            json!({ "apiVersions": ["v2"] }),
            json!({ "resources": ["pods"] }),
            json!({ "scope": "Cluster" }),
            json!({ "resourceNames": ["b"] }),
        ];
        for other in others {
            assert!(!here.fits(&rule(other.clone()), deployments), "{other}");
        }
        assert!(here.fits(&rule(json!({ "resourceNames": ["b", "a"] })), deployments));
        let all = rule(json!({ "apiGroups": ["*"], "resources": ["*"], "scope": "Cluster" }));
        assert!(
            asked("", "a").fits(&all, namespaces),
            "a namespace is of the cluster"
        );
    }
}
