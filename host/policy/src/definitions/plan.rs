//! What `spec.crds: Install` does about one definition.

use serde_json::{Map, Value, json};

use super::widen::widened;
use super::{Carried, PLUGIN_LABEL, check};
use windlass_base::text::clean;

/// Who manages an object, as people and Helm say it.
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
const HELM_RELEASE: &str = "meta.helm.sh/release-name";

/// What the host says there of itself.
const WINDLASS: &str = "windlass";

/// So much of somebody's name is shown.
const NAME: usize = 253;

/// What is done.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// The definition is created as this.
    Create(Value),
    /// The definition is changed by this merge patch, which names the version that it was made for.
    Widen(Value),
    /// Nothing: it does.
    Fine,
    /// Nothing: it does not do, and is not the host's to change, or cannot be widened. The reason follows on its name.
    Refused(String),
}

/// Decides what is done for `plugin`, which carries `carried` and needs the versions `needed` of it, while the cluster has
/// `present`.
pub fn plan(carried: &Carried, present: Option<&Value>, plugin: &str, needed: &[String]) -> Plan {
    let Some(present) = present else {
        return Plan::Create(new(carried, plugin));
    };
    let lack = check(carried, present, needed).err();
    let wide = widened(&carried.object, present);
    if wide == *present {
        return lack.map_or(Plan::Fine, |lack| {
            Plan::Refused(format!("{lack}; the host adds fields and versions only"))
        });
    }
    match (lack, owned(present, plugin)) {
        (None, Err(_)) => Plan::Fine,
        (Some(lack), Err(owner)) => Plan::Refused(format!("{lack}; {owner}")),
        (_, Ok(())) => match check(carried, &wide, needed) {
            Ok(()) => Plan::Widen(patch(present, &wide)),
            Err(lack) => Plan::Refused(format!("{lack}; the host adds fields and versions only")),
        },
    }
}

/// Whether a definition is the plugin's.
///
/// # Errors
/// Whose it is otherwise.
fn owned(present: &Value, plugin: &str) -> Result<(), String> {
    let read = |map: &str, name: &str| {
        let map = present.get("metadata")?.get(map)?;
        let text = map.get(name)?.as_str()?;
        Some(clean(text, NAME))
    };
    let manager = read("labels", MANAGED_BY);
    if let Some(release) = read("annotations", HELM_RELEASE) {
        return Err(format!("the Helm release {release} has installed it"));
    }
    if let Some(manager) = manager.filter(|manager| manager != WINDLASS) {
        return Err(format!("{manager} manages it ({MANAGED_BY})"));
    }
    let owner = present.pointer("/metadata/ownerReferences/0/kind");
    if let Some(owner) = owner.and_then(Value::as_str) {
        return Err(format!("it has an owner of kind {}", clean(owner, NAME)));
    }
    match read("labels", PLUGIN_LABEL) {
        Some(owner) if owner == plugin => Ok(()),
        Some(owner) => Err(format!("plugin {owner} has installed it")),
        None => Err(format!(
            "somebody else has installed it: to leave it to the plugin, label it {PLUGIN_LABEL}={plugin}"
        )),
    }
}

/// The definition as it is created: what only a server or another owner says is left out.
fn new(carried: &Carried, plugin: &str) -> Value {
    let texts = |name: &str| {
        let held = carried.object.pointer(&format!("/metadata/{name}"));
        let held = held.and_then(Value::as_object).cloned().unwrap_or_default();
        let others = held
            .into_iter()
            .filter(|(name, _)| !name.starts_with("windlass.dev/") && name != MANAGED_BY);
        others.collect::<Map<String, Value>>()
    };
    let (mut labels, annotations) = (texts("labels"), texts("annotations"));
    labels.insert(MANAGED_BY.into(), WINDLASS.into());
    labels.insert(PLUGIN_LABEL.into(), plugin.into());
    let spec = carried.object.get("spec").cloned();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": carried.name, "labels": labels, "annotations": annotations },
        "spec": spec.unwrap_or_default(),
    })
}

/// The difference from `present` to `wide`.
fn patch(present: &Value, wide: &Value) -> Value {
    let part = |pointer: &str| wide.pointer(pointer).cloned().unwrap_or_default();
    let version = present.pointer("/metadata/resourceVersion");
    json!({
        "metadata": { "resourceVersion": version.cloned().unwrap_or_default() },
        "spec": { "names": part("/spec/names"), "versions": part("/spec/versions") },
    })
}
