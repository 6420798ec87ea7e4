//! Reads that no grant covers.

use super::{VICTIM, end, tried};
use crate::object::{list, query, reference};
use crate::{Outcome, Primary};
use windlass_sdk::bindings::windlass::plugin::cluster::{self, Consistency};

/// Reads by another namespace, case, plural, path or query.
pub(crate) fn reads(primary: &Primary) -> Outcome {
    let (home, other) = (primary.namespace.as_str(), primary.text("other", "other"));
    let (home, other) = (Some(home), Some(other.as_str()));
    let none = None;
    let gets = [
        ("another namespace", "v1", "ConfigMap", other, VICTIM, none),
        ("no namespace", "v1", "ConfigMap", None, VICTIM, none),
        (
            "a kind in lower case",
            "v1",
            "configmap",
            home,
            VICTIM,
            none,
        ),
        ("a plural", "v1", "configmaps", home, VICTIM, none),
        ("a secret", "v1", "Secret", home, VICTIM, none),
        (
            "a path as namespace",
            "v1",
            "ConfigMap",
            Some("default/configmaps/x?"),
            VICTIM,
            none,
        ),
        (
            "dots as namespace",
            "v1",
            "ConfigMap",
            Some(".."),
            VICTIM,
            none,
        ),
        (
            "an escaped path as name",
            "v1",
            "ConfigMap",
            home,
            "..%2fsecrets%2fvictim",
            none,
        ),
        (
            "a line break in a name",
            "v1",
            "ConfigMap",
            home,
            "x HTTP/1.1\r\nX-Forged: yes",
            none,
        ),
        (
            "a slash after the version",
            "v1/",
            "ConfigMap",
            home,
            VICTIM,
            none,
        ),
        (
            "a slash before the version",
            "/v1",
            "ConfigMap",
            home,
            VICTIM,
            none,
        ),
        (
            "a path as version",
            "api/v1",
            "ConfigMap",
            home,
            VICTIM,
            none,
        ),
        (
            "a version in upper case",
            "V1",
            "ConfigMap",
            home,
            VICTIM,
            none,
        ),
        (
            "an empty subresource",
            "v1",
            "ConfigMap",
            home,
            VICTIM,
            Some(""),
        ),
        (
            "a subresource",
            "v1",
            "ConfigMap",
            home,
            VICTIM,
            Some("status"),
        ),
        (
            "a path as subresource",
            "v1",
            "ConfigMap",
            home,
            VICTIM,
            Some("../../secrets/victim"),
        ),
        ("exec of a pod", "v1", "Pod", home, "p", Some("exec")),
    ];
    for (what, version, kind, namespace, name, subresource) in gets {
        let target = reference(version, kind, namespace, name);
        let got = cluster::get(&target, subresource, Consistency::Latest);
        tried(&format!("get by {what}"), got);
    }
    let secret = primary.core("Secret", VICTIM);
    let got = cluster::get(&secret, None, Consistency::Stored);
    tried("get by a stored secret", got);
    let lists = [
        ("all namespaces", "ConfigMap", None, Consistency::Latest, ""),
        (
            "all namespaces, stored",
            "ConfigMap",
            None,
            Consistency::Stored,
            "",
        ),
        (
            "an empty namespace",
            "ConfigMap",
            Some(""),
            Consistency::Latest,
            "",
        ),
        (
            "another namespace",
            "ConfigMap",
            other,
            Consistency::Latest,
            "",
        ),
        ("secrets", "Secret", home, Consistency::Latest, ""),
        (
            "a field that names another namespace",
            "ConfigMap",
            home,
            Consistency::Latest,
            "metadata.namespace=other",
        ),
        (
            "a field with more of a query",
            "ConfigMap",
            home,
            Consistency::Latest,
            "metadata.name=x&watch=true&namespace=other",
        ),
    ];
    for (what, kind, namespace, consistency, field) in lists {
        let mut query = query(kind, namespace, consistency);
        query.field_selector = Some(field.to_owned()).filter(|field| !field.is_empty());
        tried(&format!("list by {what}"), list(&query));
    }
    end()
}
