//! What a reconciler says about itself, as JSON.

use serde_json::{Value, json};

use super::call::Tested;
use crate::adapter::describe;
use crate::bindings::windlass::plugin::types as wit;

/// The plugin that consists of `K`.
pub(super) fn plugin<K: Tested>() -> Value {
    json!({ "description": description::<K>(), "reconcilesGoing": K::GOES })
}

/// The description of the reconcilers `K`, in the words of the contract.
fn description<K: Tested>() -> Value {
    let described = describe::<K>("plugin", "0.0.0");
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
