//! What the real server's admission refuses: new content in what is absent or going away.

use serde_json::Value;

use crate::call::Call;
use crate::meta;
use crate::mutants::mutant;
use crate::registry::Origin;
use crate::status::{Cause, Named, Refusal};
use crate::store::{GroupResource, NamespacedName};

/// Judges a new object.
pub(super) fn create(call: &Call<'_>, object: &mut Value) -> Result<(), Refusal> {
    if call.resource.origin != Origin::BuiltIn && !call.resource.has_verb("create") {
        let why = "create not allowed while custom resource definition is terminating";
        return Err(Refusal::forbidden(
            call.named(),
            meta::text(object, "name"),
            why,
        ));
    }
    let Some(namespace) = call.target.namespace.as_deref() else {
        return Ok(());
    };
    if call.resource.group == "authorization.k8s.io" {
        return Ok(());
    }
    namespace_takes(call, namespace, meta::text(object, "name"))
}

/// Whether a namespace takes a new object of this name.
///
/// # Errors
/// 404 if there is no such namespace, 403 if it is going away.
pub fn namespace_takes(call: &Call<'_>, namespace: &str, name: &str) -> Result<(), Refusal> {
    let place = GroupResource {
        group: String::new(),
        plural: "namespaces".to_owned(),
    };
    let held = call
        .state
        .store()
        .get(&place, &NamespacedName::new("", namespace));
    let Some(held) = held else {
        let named = Named {
            group: "",
            resource: "namespaces",
        };
        return Err(Refusal::not_found(named, namespace));
    };
    if mutant!(TerminatingNamespacesTakeMore, !held.deleting, true) {
        return Ok(());
    }
    let why = format!(
        "unable to create new content in namespace {namespace} because it is being terminated"
    );
    let named = Named {
        group: &call.resource.group,
        resource: &call.resource.plural,
    };
    let mut refusal = Refusal::forbidden(named, name, &why);
    refusal.details.causes = vec![Cause {
        reason: "NamespaceTerminating",
        message: format!("namespace {namespace} is being terminated"),
        field: "metadata.namespace".to_owned(),
    }];
    Err(refusal)
}
