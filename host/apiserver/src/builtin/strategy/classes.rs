//! The class of a claim or an Ingress that names none: the one that is marked as the default.

use std::cmp::Reverse;

use serde_json::Value;

use super::{BuiltInWrite, Fields, object};
use crate::json::{get, text};
use crate::status::Named;

/// Classes of a kind, and where objects name theirs.
pub(super) struct Classes {
    classes: Named<'static>,
    /// The annotations that make a class the default.
    marks: &'static [&'static str],
    /// The field of an object that names its class.
    field: &'static str,
    /// An older annotation that does so.
    annotation: &'static str,
}

/// DefaultStorageClass.
pub(super) const STORAGE: Classes = Classes {
    classes: Named {
        group: "storage.k8s.io",
        resource: "storageclasses",
    },
    marks: &[
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    ],
    field: "storageClassName",
    annotation: "volume.beta.kubernetes.io/storage-class",
};
/// DefaultIngressClass.
pub(super) const INGRESS: Classes = Classes {
    classes: Named {
        group: "networking.k8s.io",
        resource: "ingressclasses",
    },
    marks: &["ingressclass.kubernetes.io/is-default-class"],
    field: "ingressClassName",
    annotation: "kubernetes.io/ingress.class",
};

/// Puts the default class where none is named: the newest of several, and of these the first by name.
pub(super) fn set_default(fields: &mut Fields, kind: &Classes, write: BuiltInWrite<'_>) {
    let annotations = get(get(fields, "metadata"), "annotations");
    if annotations.get(kind.annotation).is_some() {
        return;
    }
    let Some(spec) = object(fields, "spec") else {
        return;
    };
    if !get(&*spec, kind.field).is_null() {
        return;
    }
    let classes = write.cluster.list(kind.classes);
    let defaults = classes.iter().map(|class| get(class, "metadata"));
    let defaults = defaults.filter(|metadata| {
        let annotations = get(*metadata, "annotations");
        { kind.marks.iter() }.any(|mark| text(annotations, mark) == "true")
    });
    let rank = |metadata: &&Value| {
        let created = text(*metadata, "creationTimestamp").to_owned();
        (created, Reverse(text(*metadata, "name").to_owned()))
    };
    if let Some(newest) = defaults.max_by_key(rank) {
        spec.insert(kind.field.to_owned(), get(newest, "name").clone());
    }
}
