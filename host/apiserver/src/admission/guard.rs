//! What else stands against writing a policy or a binding: rights that its writer lacks
//! (kubernetes `pkg/registry/admissionregistration/*/authz.go`).

use serde_json::Value;

use crate::call::Call;
use crate::json::{get, text};
use crate::meta;
use crate::policy::GROUP;
use crate::rbac::Attributes;
use crate::status::{Cause, Refusal};
use crate::store::{GroupResource, NamespacedName};

/// Whether a policy or a binding may be written as it is.
///
/// # Errors
/// 422 if not.
pub(crate) fn allow(call: &Call<'_>, new: &Value, old: Option<&Value>) -> Result<(), Refusal> {
    if call.resource.group != GROUP {
        return Ok(());
    }
    let Some(cause) = without_permission(call, new, old) else {
        return Ok(());
    };
    let name = meta::text(new, "name");
    Err(Refusal::invalid(call.kind(), name, vec![cause]))
}

/// Who writes a policy or a binding may read the parameters.
fn without_permission(call: &Call<'_>, new: &Value, old: Option<&Value>) -> Option<Cause> {
    let plural = call.resource.plural.as_str();
    let is_binding = plural.ends_with("bindings");
    let field = if is_binding { "paramRef" } else { "paramKind" };
    let spec = get(new, "spec");
    let wanted = get(spec, field);
    let held = old.map(|old| get(old, "spec"));
    let same = |held: &Value| {
        get(held, field) == wanted && get(held, "policyName") == get(spec, "policyName")
    };
    if wanted.is_null() || held.is_some_and(same) || call.target.subresource.is_some() {
        return None;
    }
    let user = &call.request.user;
    let policy = policy(call, text(spec, "policyName")).unwrap_or_default();
    let kind = if is_binding {
        get(get(&policy, "spec"), "paramKind")
    } else {
        wanted
    };
    let (group, resource) = resolved(call, kind);
    let (verb, name, namespace) = match (is_binding, text(wanted, "name")) {
        (false, _) => ("get", "*", "*"),
        (true, "") => ("list", "", text(wanted, "namespace")),
        (true, name) => ("get", name, text(wanted, "namespace")),
    };
    let asked = Attributes::resource(user.clone(), verb, &group, &resource)
        .named(name)
        .in_namespace(namespace);
    let server = call.state;
    if server.authorizer().decide(server.store(), &asked).allowed {
        return None;
    }
    let why = if is_binding {
        format!(
            "user {} does not have \"{verb}\" permission on the object referenced by paramRef",
            user.name
        )
    } else {
        format!(
            "user {} must have \"get\" permission on all objects of the referenced paramKind (kind={}, \
             apiVersion={})",
            user.name,
            text(kind, "kind"),
            text(kind, "apiVersion")
        )
    };
    Some(Cause::forbidden(format!("spec.{field}"), &why))
}

/// The policy of a binding.
fn policy(call: &Call<'_>, name: &str) -> Option<Value> {
    let plural = call.resource.plural.replace("policybindings", "policies");
    let place = GroupResource {
        group: GROUP.to_owned(),
        plural,
    };
    let held = call
        .state
        .store()
        .get(&place, &NamespacedName::new("", name))?;
    Some(held.value())
}

/// The group and the plural of a kind; all of them where nothing is known.
fn resolved(call: &Call<'_>, kind: &Value) -> (String, String) {
    let version = text(kind, "apiVersion");
    if version.is_empty() {
        return ("*".to_owned(), "*".to_owned());
    }
    let registry = call.state.registry();
    match registry.of_kind(version, text(kind, "kind")) {
        Some(found) => (found.group.clone(), found.plural.clone()),
        None => {
            let group = version.split_once('/').map_or("", |(group, _)| group);
            (group.to_owned(), "*".to_owned())
        }
    }
}
