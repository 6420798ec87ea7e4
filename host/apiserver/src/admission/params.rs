//! The objects that a binding hands to its policy (apiserver `policy/generic/policy_dispatcher.go`).

use std::sync::Arc;

use serde_json::Value;

use super::attributes::Admission;
use super::matching::labels;
use crate::json::{get, text};
use crate::present;
use crate::registry::Resource;
use crate::selector::LabelSelector;
use crate::store::NamespacedName;

/// The resource of a policy's `paramKind`; nothing where it has none.
///
/// # Errors
/// If nothing of that kind is served.
pub(super) fn kind(
    param_kind: &Value,
    admission: &Admission<'_>,
) -> Result<Option<Arc<Resource>>, String> {
    if param_kind.is_null() {
        return Ok(None);
    }
    let (version, kind) = (text(param_kind, "apiVersion"), text(param_kind, "kind"));
    let registry = admission.call.state.registry();
    if let Some(found) = registry.of_kind(version, kind) {
        return Ok(Some(Arc::clone(found)));
    }
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    Err(format!(
        "failed to find resource referenced by paramKind: '{group}/{version}, Kind={kind}'"
    ))
}

/// The objects that a `paramRef` names, one evaluation each: `null` where there are no parameters, and
/// nothing at all where the binding does not hold without those that are missing.
///
/// # Errors
/// If the binding cannot be used.
pub(super) fn collect(
    kind: Option<&Resource>,
    param_ref: &Value,
    admission: &Admission<'_>,
) -> Result<Vec<Value>, String> {
    let Some(kind) = kind.filter(|_| !param_ref.is_null()) else {
        return Ok(vec![Value::Null]);
    };
    let said = text(param_ref, "namespace");
    let namespace = match (kind.namespaced, said) {
        (true, "") => admission.namespace(),
        (_, said) => said,
    };
    if kind.namespaced && namespace.is_empty() {
        return Err(
            "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
                .to_owned(),
        );
    }
    if !kind.namespaced && !said.is_empty() {
        return Err(
            "paramRef.namespace must not be provided for a cluster-scoped `paramKind`".to_owned(),
        );
    }
    let store = admission.call.state.store();
    let name = text(param_ref, "name");
    let found: Vec<Value> = if name.is_empty() {
        let selector = LabelSelector::of(get(param_ref, "selector"));
        let all = store.list(&kind.place(), kind.namespaced.then_some(namespace));
        let all = all.entries.iter().map(|entry| present::value(kind, entry));
        all.filter(|object| {
            let labels = labels(object);
            let selected = |selector: &LabelSelector| selector.selects(Some(&labels));
            selector.as_ref().is_some_and(selected)
        })
        .collect()
    } else {
        let held = store.get(&kind.place(), &NamespacedName::new(namespace, name));
        held.iter()
            .map(|entry| present::value(kind, entry))
            .collect()
    };
    if found.is_empty() && text(param_ref, "parameterNotFoundAction") == "Deny" {
        let why = "no params found for policy binding with `Deny` parameterNotFoundAction";
        return Err(why.to_owned());
    }
    Ok(found)
}
