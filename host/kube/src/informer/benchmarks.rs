//! The store, for the benchmarks of the host.

use std::hint::black_box;

use serde_json::json;

use super::store::Store;
use crate::object::Object;
use windlass_base::scene::Scene;

const STEPS: usize = 1_000;

/// Objects that nobody has seen are taken in.
pub fn insert() -> Scene {
    let (mut store, objects) = (Store::new(false, None), objects(1));
    Scene::new(STEPS, move || {
        for object in objects {
            black_box(store.show(object, 1));
        }
        store
    })
}

/// Other versions of what is there are taken in.
pub fn update() -> Scene {
    let mut store = Store::new(false, None);
    for object in objects(1) {
        store.show(object, 1);
    }
    let newer = objects(2);
    Scene::new(STEPS, move || {
        for object in newer {
            black_box(store.show(object, 1));
        }
        store
    })
}

/// ConfigMaps with a label and an owner.
fn objects(round: usize) -> Vec<Object> {
    let objects = (0..STEPS).map(|number| {
        Object::new(&json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": format!("object-{number}"),
                "namespace": "default",
                "uid": format!("00000000-0000-0000-0000-{number:012}"),
                "resourceVersion": (round * STEPS + number).to_string(),
                "labels": { "app": "measured", "part": (number % 10).to_string() },
                "ownerReferences": [{ "apiVersion": "v1", "kind": "Owner", "name": "one", "uid": (number % 100).to_string() }],
            },
            "data": { "round": round.to_string() },
        }))
    });
    objects.flatten().collect()
}
