//! The CustomResourceDefinitions that a plugin carries, beside what its document says about them: pure.

use windlass_policy::definitions::Carried;
use windlass_policy::grants::{Grants, VERBS};
use windlass_policy::manifest::DefinitionPolicy;
use windlass_sandbox::Description;

/// What a plugin carries that its document has the host look after: nothing if it is ignored. The host installs kinds only
/// that a grant names.
///
/// # Errors
/// What to say behind the plugin's name.
pub fn carried(
    description: &Description,
    policy: DefinitionPolicy,
    grants: &Grants,
) -> Result<Vec<Carried>, String> {
    if policy == DefinitionPolicy::Ignore {
        return Ok(Vec::new());
    }
    let carried = Carried::read(&description.crds)
        .map_err(|why| format!("has `spec.crds: {policy}`, but {why}"))?;
    if policy == DefinitionPolicy::Check {
        return Ok(carried);
    }
    for Carried { group, plural, .. } in &carried {
        if !VERBS
            .into_iter()
            .any(|verb| grants.name_kind(verb, group, plural))
        {
            return Err(format!(
                "has `spec.crds: Install`, but no grant names {plural} of {group}, whose CustomResourceDefinition it carries: add it to spec.grants, or write `crds: Check`"
            ));
        }
    }
    for carried in &carried {
        carried.installable().map_err(|why| {
            format!(
                "has `spec.crds: Install`, but the CustomResourceDefinition {} {why}: install it yourself, and write `crds: Check`",
                carried.name
            )
        })?;
    }
    Ok(carried)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use windlass_policy::grants::{Grant, Namespaces};

    fn crd(group: &str, conversion: &str) -> String {
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("widgets.{group}") },
            "spec": {
                "group": group,
                "names": { "plural": "widgets", "kind": "Widget" },
                "versions": [{ "name": "v1" }],
                "conversion": { "strategy": conversion },
            },
        });
        crd.to_string()
    }

    #[test]
    fn only_what_is_granted_is_installed() {
        use DefinitionPolicy::{Check, Ignore, Install};
        let widgets = crd("example.com", "None");
        let (others, webhook) = (crd("other.com", "None"), crd("example.com", "Webhook"));
        // (what is carried; how many definitions are looked after, or what is said)
        let rows: [(&[&str], DefinitionPolicy, Result<usize, &str>); 9] = [
            (&[], Install, Ok(0)),
            (&[&widgets], Install, Ok(1)),
            (&[&widgets, &others], Check, Ok(2)),
            (&[&widgets, "{"], Ignore, Ok(0)),
            (&[&widgets, "{"], Check, Err("number 2 of the Custom")),
            (&["{}"], Install, Err("is not a CustomResourceDefinition")),
            (
                &[&widgets, &others],
                Install,
                Err("no grant names widgets of other.com"),
            ),
            (&[&webhook], Install, Err("is converted by a webhook")),
            (&[&webhook], Check, Ok(1)),
        ];
        let grant = Grant::suggested("example.com", &["widgets"], &["list"], Namespaces::All);
        let grants = Grants::new(vec![grant]).unwrap();
        for (crds, policy, want) in rows {
            let mut description = Description::asking("", "configmaps", &[]);
            description.crds = crds.iter().map(|&crd| crd.to_owned()).collect();
            match (carried(&description, policy, &grants), want) {
                (Ok(carried), want) => assert_eq!(Ok(carried.len()), want, "{crds:?}"),
                (Err(why), want) => {
                    assert!(
                        want.is_err_and(|want| why.contains(want)),
                        "{crds:?}: {why}"
                    );
                }
            }
        }
    }
}
