//! The grant check, for the benchmarks of the host.

use std::hint::black_box;

use super::{Access, Grant, Grants, Owners};
use windlass_base::scene::Scene;
use windlass_kube::api::Resource;

const STEPS: usize = 1_000;

/// One request is held against the last of ten grants.
pub fn allow() -> Scene {
    let all = (0..10).map(|number| Grant {
        api_groups: vec!["apps".to_owned(), format!("group-{number}.example.com")],
        resources: vec![format!("things{number}"), format!("things{number}/status")],
        resource_names: Vec::new(),
        verbs: ["get", "list", "watch", "patch"]
            .map(str::to_owned)
            .to_vec(),
        namespaces: Default::default(),
        acknowledge: Vec::new(),
        adopt: false,
        finalizers: Vec::new(),
        owners: Owners::Primary,
    });
    let grants = Grants::new(all.collect()).unwrap_or_default();
    let resource = Resource {
        group: "group-9.example.com".to_owned(),
        version: "v1".to_owned(),
        kind: "Thing9".to_owned(),
        plural: "things9".to_owned(),
        namespaced: true,
    };
    Scene::new(STEPS, move || {
        for _ in 0..STEPS {
            let access = Access {
                verb: "patch",
                resource: black_box(&resource),
                subresource: Some("status"),
                namespace: Some("default"),
                name: Some("one"),
            };
            black_box(grants.allow(&access, Some("default")));
        }
        grants
    })
}
