//! A right, as a SubjectAccessReview asks for it: pure.

use std::fmt;

use serde_json::{Value, json};

use crate::grants::Breadth;
use windlass_kube::api::{Resource, ServiceAccount, object};

/// Something that an account may do, or may not.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Right {
    verb: String,
    group: String,
    plural: String,
    subresource: Option<String>,
    namespaced: bool,
    /// None for all namespaces, or for a cluster-scoped resource.
    namespace: Option<String>,
    /// None for the whole collection.
    name: Option<String>,
}

impl Right {
    /// To do `verb` to all objects of a resource in `namespace`, or in all.
    pub fn to(verb: &str, resource: &Resource, namespace: Option<&str>) -> Self {
        let namespace = namespace.filter(|_| resource.namespaced);
        Self {
            verb: verb.to_owned(),
            group: resource.group.clone(),
            plural: resource.plural.clone(),
            subresource: None,
            namespaced: resource.namespaced,
            namespace: namespace.map(str::to_owned),
            name: None,
        }
    }

    /// The same, of a subresource.
    #[must_use]
    pub fn of_part(self, subresource: Option<&str>) -> Self {
        let subresource = subresource.map(str::to_owned);
        Self {
            subresource,
            ..self
        }
    }

    /// The same, of the object called `name`.
    #[must_use]
    pub fn of_one(self, name: Option<&str>) -> Self {
        let name = name.map(str::to_owned);
        Self { name, ..self }
    }

    /// The rights that include this one, the widest that is granted first: few answers serve many objects then. If none of them is there,
    /// this one is not either.
    pub fn from_widest(&self, breadth: Breadth) -> Vec<Self> {
        let everywhere = Self {
            namespace: None,
            name: None,
            ..self.clone()
        };
        let whole = Self {
            name: None,
            ..self.clone()
        };
        let mut rights = Vec::new();
        if breadth.everywhere && self.namespace.is_some() {
            rights.push(everywhere);
        }
        rights.push(whole);
        if breadth.by_name && self.name.is_some() {
            rights.push(self.clone());
        }
        rights
    }

    /// The review that asks whether `account` has it.
    pub(super) fn review(&self, account: &ServiceAccount) -> Value {
        let text = |text: &Option<String>| text.clone().map(Value::from);
        let attributes = object([
            ("verb", Some(self.verb.clone().into())),
            ("group", Some(self.group.clone().into())),
            ("resource", Some(self.plural.clone().into())),
            ("subresource", text(&self.subresource)),
            ("namespace", text(&self.namespace)),
            ("name", text(&self.name)),
        ]);
        json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {
                "user": account.user(),
                "groups": account.groups(),
                "resourceAttributes": attributes,
            },
        })
    }
}

/// `list secrets in namespace a`.
impl fmt::Display for Right {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.verb, self.plural)?;
        if !self.group.is_empty() {
            write!(out, ".{}", self.group)?;
        }
        if let Some(subresource) = &self.subresource {
            write!(out, "/{subresource}")?;
        }
        if let Some(name) = &self.name {
            write!(out, " {name}")?;
        }
        match &self.namespace {
            Some(namespace) => write!(out, " in namespace {namespace}"),
            None if self.namespaced => write!(out, " in all namespaces"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(namespaced: bool) -> Resource {
        Resource {
            group: "apps".into(),
            version: "v1".into(),
            kind: "Deployment".into(),
            plural: "deployments".into(),
            namespaced,
        }
    }

    #[test]
    fn the_widest_right_that_is_granted_is_asked_for_first() {
        let one = Right::to("get", &resource(true), Some("shop")).of_one(Some("web"));
        let breadth = |everywhere, by_name| Breadth {
            everywhere,
            by_name,
        };
        let (all, home, web) = (
            "get deployments.apps in all namespaces",
            "get deployments.apps in namespace shop",
            "get deployments.apps web in namespace shop",
        );
        let rows: [(Breadth, &[&str]); 4] = [
            (breadth(false, false), &[home]),
            (breadth(true, false), &[all, home]),
            (breadth(false, true), &[home, web]),
            (breadth(true, true), &[all, home, web]),
        ];
        for (breadth, want) in rows {
            let asked = one.from_widest(breadth);
            let asked: Vec<String> = asked.iter().map(ToString::to_string).collect();
            assert_eq!(asked, want, "{breadth:?}");
        }
        let cluster = Right::to("list", &resource(false), Some("shop"));
        let asked = cluster.from_widest(breadth(true, true));
        assert_eq!(asked, [cluster], "a cluster-scoped kind has no namespaces");
    }

    #[test]
    fn a_review_is_about_the_account_with_its_groups() {
        let account = ServiceAccount::new("apps", "greeter").unwrap();
        let right = Right::to("patch", &resource(true), Some("shop"));
        let right = right.of_part(Some("status")).of_one(Some("web"));
        let want = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {
                "user": "system:serviceaccount:apps:greeter",
                "groups": ["system:serviceaccounts", "system:serviceaccounts:apps", "system:authenticated"],
                "resourceAttributes": {
                    "verb": "patch", "group": "apps", "resource": "deployments", "subresource": "status",
                    "namespace": "shop", "name": "web",
                },
            },
        });
        assert_eq!(right.review(&account), want);
    }
}
