//! What the cluster serves of what the grants of a plugin name: what `kinds` answers.

use std::time::Duration;

use sha2::{Digest, Sha256};

use super::bindings::cluster::Served;
use windlass_kube::api::ServedKind;
use windlass_policy::grants::Grants;
use windlass_view::KindsDigest;

/// What is answered is never older.
pub(crate) const KINDS_AGE: Duration = Duration::from_secs(15);

/// The kinds of `catalog` that `grants` name, each with the verbs that they name too.
pub fn granted(catalog: &[ServedKind], grants: &Grants) -> Vec<Served> {
    let served = catalog.iter().filter_map(|kind| {
        let resource = &kind.resource;
        let verbs = kind.verbs.iter();
        let verbs = verbs.filter(|verb| grants.name_kind(verb, &resource.group, &resource.plural));
        let verbs: Vec<String> = verbs.cloned().collect();
        (!verbs.is_empty()).then(|| Served {
            api_version: resource.api_version(),
            kind: resource.kind.clone(),
            plural: resource.plural.clone(),
            namespaced: resource.namespaced,
            verbs,
        })
    });
    served.collect()
}

/// Tells one answer from another.
pub fn digest(served: &[Served]) -> KindsDigest {
    let mut digest = Sha256::new();
    for kind in served {
        let texts = [&kind.api_version, &kind.kind, &kind.plural].into_iter();
        for text in texts.chain(&kind.verbs) {
            digest.update(text);
            // No name has it.
            digest.update([0]);
        }
        digest.update([1, u8::from(kind.namespaced)]);
    }
    digest.finalize().into()
}

/// About how many bytes an answer has.
pub(crate) fn bytes(served: &[Served]) -> usize {
    let kinds = served.iter();
    let texts = kinds.map(|kind| {
        let verbs = kind.verbs.iter().map(|verb| verb.len() + 32);
        kind.api_version.len() + kind.kind.len() + kind.plural.len() + verbs.sum::<usize>() + 128
    });
    texts.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_kube::api::Resource;
    use windlass_policy::grants::Grant;

    fn kind(group: &str, plural: &str, verbs: &[&str]) -> ServedKind {
        let resource = Resource {
            group: group.into(),
            version: "v1".into(),
            kind: plural.to_uppercase(),
            plural: plural.into(),
            namespaced: group != "b.dev",
        };
        let verbs = verbs.iter().map(|&verb| verb.to_owned()).collect();
        ServedKind { resource, verbs }
    }

    fn told(catalog: &[ServedKind], grants: &str) -> Vec<String> {
        let grants: Vec<Grant> = serde_saphyr::from_str(grants).unwrap();
        let served = granted(catalog, &Grants::new(grants).unwrap());
        let lines = served.iter();
        lines
            .map(|kind| {
                format!(
                    "{} {}: {}",
                    kind.api_version,
                    kind.plural,
                    kind.verbs.join(" ")
                )
            })
            .collect()
    }

    #[test]
    fn a_plugin_is_told_of_what_its_grants_name_and_of_nothing_else() {
        let catalog = [
            kind("", "configmaps", &["get", "list", "patch"]),
            kind("", "secrets", &["get", "list"]),
            kind("b.dev", "things", &["get", "proxy"]),
            kind("windlass.dev", "plugins", &["get"]),
        ];
        let cases: [(&str, &[&str]); 5] = [
            ("[]", &[]),
            (
                "[{ apiGroups: [''], resources: [configmaps], verbs: [list, delete] }]",
                &["v1 configmaps: list"],
            ),
            // A part of an object is not the object.
            (
                "[{ apiGroups: [''], resources: [configmaps/status], verbs: [get] }]",
                &[],
            ),
            // Some of its objects.
            (
                "[{ apiGroups: [''], resources: [secrets], resourceNames: [a], verbs: [get], acknowledge: [secrets/get/a] }]",
                &["v1 secrets: get"],
            ),
            (
                "[{ apiGroups: ['*'], resources: ['*'], verbs: ['*'], acknowledge: ['*.*/*'] }]",
                &[
                    "v1 configmaps: get list patch",
                    "b.dev/v1 things: get proxy",
                ],
            ),
        ];
        for (grants, want) in cases {
            assert_eq!(told(&catalog, grants), want, "{grants}");
        }
    }

    #[test]
    fn each_difference_makes_another_digest() {
        let wild = "[{ apiGroups: ['*'], resources: ['*'], verbs: ['*'], acknowledge: ['*.*/*'] }]";
        let grants: Vec<Grant> = serde_saphyr::from_str(wild).unwrap();
        let grants = Grants::new(grants).unwrap();
        let of = |catalog: &[ServedKind]| digest(&granted(catalog, &grants));
        let things = kind("a.dev", "things", &["get", "list"]);
        let base = of(std::slice::from_ref(&things));
        assert_eq!(of(std::slice::from_ref(&things)), base);
        let mut others = vec![things.clone(); 4];
        others[0].verbs.pop();
        others[1].resource.version = "v2".into();
        others[2].resource.namespaced = false;
        others[3].resource.kind = "Other".into();
        for other in others {
            assert_ne!(of(&[other]), base);
        }
        assert_ne!(of(&[things.clone(), things]), base);
    }
}
