//! The first deletion of what only goes when its contents have gone: namespaces and CRDs
//! (kubernetes `pkg/registry/core/namespace/storage`, apiextensions-apiserver
//! `pkg/registry/customresourcedefinition`).

use jiff::Timestamp;
use serde_json::{Value, json};

use super::decide::{DeletionStep, FOREGROUND, ORPHAN};
use crate::crd::names;
use crate::definitions;
use crate::meta;
use crate::registry::Resource;
use crate::request::options::{DeleteOptions, Propagation};
use crate::status::{Named, Refusal};
use crate::write::namespaces::{has_contents, is_namespace};

/// Whether objects of a resource are deleted this way.
pub(super) fn applies(resource: &Resource) -> bool {
    is_namespace(resource) || definitions::is_crd(resource)
}

/// The object is the one that the client means.
pub(super) fn preconditions(
    resource: &Resource,
    old: &Value,
    options: &DeleteOptions,
) -> Result<(), Refusal> {
    let named = Named {
        group: &resource.group,
        resource: &resource.plural,
    };
    let fields = [
        ("UID", "uid", &options.uid),
        (
            "ResourceVersion",
            "resourceVersion",
            &options.resource_version,
        ),
    ];
    for (shown, field, wanted) in fields {
        let held = meta::text(old, field);
        if let Some(wanted) = wanted.as_deref().filter(|wanted| *wanted != held) {
            let why = format!(
                "Precondition failed: {shown} in precondition: {wanted}, {shown} in object meta: {held}"
            );
            return Err(Refusal::conflict(named, meta::text(old, "name"), &why));
        }
    }
    Ok(())
}

/// What a deletion does with such an object; nothing if it does what it does with any.
pub(super) fn next(
    resource: &Resource,
    old: &Value,
    options: &DeleteOptions,
    now: Timestamp,
) -> Option<DeletionStep> {
    if meta::is_deleting(old) {
        let waits = is_namespace(resource) && has_contents(old);
        return waits.then_some(DeletionStep::Stay);
    }
    let mut new = old.clone();
    if is_namespace(resource) {
        meta::set_text(&mut new, "deletionTimestamp", &meta::time(now));
        meta::set_in(&mut new, "status", "phase", Some("Terminating".into()));
        set_finalizers(&mut new, &collector(old, options));
    } else {
        names::begin_deletion(&mut new, now);
    }
    Some(DeletionStep::Wait(new))
}

fn set_finalizers(object: &mut Value, finalizers: &[String]) {
    let finalizers = (!finalizers.is_empty()).then(|| json!(finalizers));
    meta::set(object, "finalizers", finalizers);
}

/// The finalizers with the garbage collector's two put in or taken out.
fn collector(old: &Value, options: &DeleteOptions) -> Vec<String> {
    let mut all = meta::finalizers(old);
    let wants = |policy, orphan| match (options.orphan, options.propagation) {
        (Some(said), _) => Some(said == orphan),
        (None, Some(said)) => Some(said == policy),
        (None, None) => None,
    };
    let wanted = [
        (ORPHAN, wants(Propagation::Orphan, true)),
        (FOREGROUND, wants(Propagation::Foreground, false)),
    ];
    for (name, wanted) in wanted {
        let has = all.iter().any(|held| held == name);
        match wanted {
            Some(true) if !has => all.push(name.to_owned()),
            Some(false) if has => all.retain(|held| held != name),
            _ => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_gets_the_finalizers_that_the_policy_asks_for() {
        let options = |orphan, propagation| DeleteOptions {
            orphan,
            propagation,
            ..DeleteOptions::default()
        };
        let cases: [(&[&str], DeleteOptions, &[&str]); 6] = [
            (&["x"], options(None, None), &["x"]),
            (&[ORPHAN], options(None, None), &[ORPHAN]),
            (
                &[ORPHAN],
                options(None, Some(Propagation::Foreground)),
                &[FOREGROUND],
            ),
            (
                &["x"],
                options(None, Some(Propagation::Orphan)),
                &["x", ORPHAN],
            ),
            (&[], options(Some(false), None), &[FOREGROUND]),
            (
                &[FOREGROUND],
                options(None, Some(Propagation::Background)),
                &[],
            ),
        ];
        for (held, options, want) in cases {
            let old = json!({ "metadata": { "finalizers": held } });
            assert_eq!(collector(&old, &options), want, "{held:?} {options:?}");
        }
    }
}
