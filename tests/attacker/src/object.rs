//! Objects and queries in the contract's terms.

use serde_json::{Value, json};

use crate::{API_VERSION, Action, Failure, Outcome, Primary, say};
use windlass_sdk::bindings::windlass::plugin::cluster::{
    self, Consistency, DeleteOptions, Error, ListQuery,
};
use windlass_sdk::bindings::windlass::plugin::types::ObjectRef;

/// A delete without conditions.
pub(crate) const DELETE: DeleteOptions = DeleteOptions {
    uid: None,
    resource_version: None,
    propagation: None,
    grace_period_seconds: None,
};

pub(crate) fn reference(
    api_version: &str,
    kind: &str,
    namespace: Option<&str>,
    name: &str,
) -> ObjectRef {
    ObjectRef {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        namespace: namespace.map(str::to_owned),
        name: name.to_owned(),
    }
}

/// A query for objects of the core group, without a selector.
pub(crate) fn query(kind: &str, namespace: Option<&str>, consistency: Consistency) -> ListQuery {
    ListQuery {
        api_version: "v1".to_owned(),
        kind: kind.to_owned(),
        namespace: namespace.map(str::to_owned),
        label_selector: None,
        field_selector: None,
        limit: None,
        consistency,
    }
}

/// How many objects a query finds.
pub(crate) fn list(query: &ListQuery) -> Result<String, Error> {
    cluster::list(query).map(|found| format!("{} objects", found.len()))
}

/// A ConfigMap in the primary's namespace. `metadata` is added to its metadata.
pub(crate) fn config_map(primary: &Primary, name: &str, metadata: &Value) -> Value {
    let mut map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": primary.namespace },
        "data": { "by": "attacker" },
    });
    if let (Some(Value::Object(held)), Value::Object(more)) = (map.get_mut("metadata"), metadata) {
        held.extend(more.clone());
    }
    map
}

/// Reads the Bag `deep`, which a user has nested deep: it must not count as absent.
pub(crate) fn read_deep_bag(primary: &Primary) -> Outcome {
    let target = reference(API_VERSION, "Bag", Some(&primary.namespace), "deep");
    let got = cluster::get(&target, None, Consistency::Stored);
    say(&format!("deep: {:?}", got.map(drop)));
    Ok(Action::AwaitChange)
}

/// Reads the primary from the API server, as an honest plugin does.
pub(crate) fn read_primary(primary: &Primary) -> Outcome {
    match cluster::get(&primary.reference(), None, Consistency::Latest) {
        Ok(_) => primary.end(),
        Err(error) => Err(Failure::Transient(format!("{error:?}"))),
    }
}
