//! What a reconciler says about itself, as JSON.

use serde_json::{Value, json};

use crate::adapter::{And, describe};
use crate::bindings::windlass::plugin::types as wit;
use crate::reconciler::Reconciler;

/// The plugin that consists of `R`.
pub(super) fn plugin<R: Reconciler>() -> Value {
    let reconciles_going = R::RECONCILE_GOING.is_some();
    json!({ "description": description::<R>(), "reconcilesGoing": reconciles_going })
}

/// What `R` says about itself, in the words of the contract.
fn description<R: Reconciler>() -> Value {
    let described = describe::<And<R, ()>>("plugin", "0.0.0");
    let needs = described.needs.iter().map(rule);
    json!({
        "name": described.name,
        "version": described.version,
        "primaries": described.primaries.iter().map(watch).collect::<Vec<_>>(),
        "needs": needs.collect::<Vec<_>>(),
        "origins": described.origins,
        "crds": described.crds,
    })
}

fn rule(rule: &wit::Rule) -> Value {
    json!({
        "apiGroups": rule.api_groups,
        "resources": rule.resources,
        "resourceNames": rule.resource_names,
        "verbs": rule.verbs,
        "fields": rule.fields,
    })
}

fn watch(watch: &wit::Watch) -> Value {
    json!({
        "apiVersion": watch.api_version,
        "kind": watch.kind,
        "labelSelector": watch.label_selector,
        "fieldSelector": watch.field_selector,
        "trigger": match watch.trigger {
            wit::Trigger::AnyChange => "any-change",
            wit::Trigger::SpecChange => "spec-change",
        },
        "finalizes": match watch.finalizes {
            wit::Finalizes::Never => "never",
            wit::Finalizes::Always => "always",
            wit::Finalizes::OnRequest => "on-request",
        },
        "onLeave": match watch.on_leave {
            wit::OnLeave::Forget => "forget",
            wit::OnLeave::Finalize => "finalize",
        },
        "fields": watch.fields,
    })
}
