//! The roles and bindings of a new cluster, as the real server makes them.
//!
//! They are data, captured by `make apiserver-data`: a JSON array of objects.

use std::io::Read;

use flate2::read::GzDecoder;
use serde_json::Value;

const PACKED: &[u8] = include_bytes!("../../data/rbac.json.gz");

/// All of them: ClusterRoles, ClusterRoleBindings, Roles and RoleBindings.
pub fn objects() -> Vec<Value> {
    let mut text = String::new();
    // The tests read it; damaged data would be a fault of the build.
    let read = GzDecoder::new(PACKED).read_to_string(&mut text);
    read.ok()
        .and_then(|_| serde_json::from_str(&text).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta;
    use crate::rbac::{Attributes, RuleResolver};
    use crate::request::User;

    #[test]
    fn the_roles_that_users_expect_are_there() {
        let objects = objects();
        let has = |kind: &str, name: &str| {
            objects
                .iter()
                .any(|object| object["kind"] == kind && meta::text(object, "name") == name)
        };
        for name in [
            "cluster-admin",
            "admin",
            "edit",
            "view",
            "system:discovery",
            "system:basic-user",
        ] {
            assert!(has("ClusterRole", name), "{name}");
        }
        assert!(has("ClusterRoleBinding", "cluster-admin"));
        let policy = RuleResolver::of(&objects);
        let somebody = User {
            name: "somebody".to_owned(),
            groups: vec!["system:authenticated".to_owned()],
            ..User::default()
        };
        assert!(
            policy
                .decide(&Attributes::path(somebody.clone(), "get", "/apis/apps/v1"))
                .allowed
        );
        assert!(
            !policy
                .decide(&Attributes::resource(somebody, "list", "", "pods"))
                .allowed
        );
    }
}
