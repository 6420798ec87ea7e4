//! What a request asks for, in the words of authorization (apiserver `request.RequestInfoFactory`).

use http::Method;

use crate::request::route::{Route, Target, Verb};
use crate::request::{Request, User};
use crate::selector::FieldSelector;
use crate::status::{Named, Refusal};

/// What somebody wants to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// Who.
    pub user: User,
    /// The verb, such as `list`.
    pub verb: String,
    /// With what.
    pub asked: Asked,
}

/// With what somebody wants to do something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Objects.
    Resource(Objects),
    /// Something else that lies at this path.
    Path(String),
}

/// Objects that somebody wants to do something with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Objects {
    /// The group; empty for the core one.
    pub group: String,
    /// Such as `pods`.
    pub plural: String,
    /// Such as `status`; empty for the object itself.
    pub subresource: String,
    /// The namespace; empty for all, and for what lies in none.
    pub namespace: String,
    /// The object; empty for all.
    pub name: String,
}

impl Attributes {
    /// Something with objects of a resource.
    pub fn resource(user: User, verb: &str, group: &str, plural: &str) -> Self {
        Self {
            user,
            verb: verb.to_owned(),
            asked: Asked::Resource(Objects {
                group: group.to_owned(),
                plural: plural.to_owned(),
                ..Objects::default()
            }),
        }
    }

    /// Something at a path.
    pub fn path(user: User, verb: &str, path: &str) -> Self {
        Self {
            user,
            verb: verb.to_owned(),
            asked: Asked::Path(path.to_owned()),
        }
    }

    fn with(mut self, change: impl FnOnce(&mut Objects)) -> Self {
        if let Asked::Resource(objects) = &mut self.asked {
            change(objects);
        }
        self
    }

    /// The same about a subresource.
    #[must_use]
    pub fn of_subresource(self, subresource: &str) -> Self {
        self.with(|objects| subresource.clone_into(&mut objects.subresource))
    }

    /// The same in a namespace.
    #[must_use]
    pub fn in_namespace(self, namespace: &str) -> Self {
        self.with(|objects| namespace.clone_into(&mut objects.namespace))
    }

    /// The same about one object.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        self.with(|objects| name.clone_into(&mut objects.name))
    }

    /// What a request asks for.
    pub fn of(request: &Request) -> Self {
        let user = request.user.clone();
        let Route::Objects(target) = &request.route else {
            let verb = request.method.as_str().to_lowercase();
            return Self::path(user, &verb, &request.path);
        };
        let watches = request.query.truth("watch").unwrap_or(false);
        let verb = Verb::of(&request.method, target, watches).map(Verb::word);
        let subresource = target.subresource.as_deref().unwrap_or_default();
        Self::resource(
            user,
            verb.unwrap_or_default(),
            &target.group,
            &target.plural,
        )
        .of_subresource(subresource.split('/').next().unwrap_or_default())
        .in_namespace(namespace(target))
        .named(&name(request, target))
    }

    /// The namespace; empty where there is none.
    pub fn namespace(&self) -> &str {
        match &self.asked {
            Asked::Resource(objects) => &objects.namespace,
            Asked::Path(_) => "",
        }
    }

    /// 403: the user may not do this.
    pub fn forbidden(&self, reason: &str) -> Refusal {
        let user = &self.user.name;
        let verb = &self.verb;
        let Asked::Resource(objects) = &self.asked else {
            let path = match &self.asked {
                Asked::Path(path) => path.as_str(),
                Asked::Resource(_) => "",
            };
            let why = format!("User {user:?} cannot {verb} path {path:?}");
            return Refusal::forbidden_path(&with_reason(&why, reason));
        };
        let mut resource = objects.plural.clone();
        if !objects.subresource.is_empty() {
            resource = format!("{resource}/{}", objects.subresource);
        }
        let scope = if objects.namespace.is_empty() {
            "at the cluster scope".to_owned()
        } else {
            format!("in the namespace {:?}", objects.namespace)
        };
        let group = &objects.group;
        let why = format!(
            "User {user:?} cannot {verb} resource {resource:?} in API group {group:?} {scope}"
        );
        let named = Named {
            group,
            resource: &objects.plural,
        };
        Refusal::forbidden(named, &objects.name, &with_reason(&why, reason))
    }
}

/// The text as the real server sanitizes it, and why.
fn with_reason(why: &str, reason: &str) -> String {
    let why = why
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    if reason.is_empty() {
        why
    } else {
        format!("{why}: {reason}")
    }
}

/// A namespace itself lies in itself.
fn namespace(target: &Target) -> &str {
    let own = (target.plural == "namespaces").then_some(target.name.as_deref());
    own.unwrap_or(target.namespace.as_deref())
        .unwrap_or_default()
}

/// The name in the path, or the one that a list or watch is restricted to.
fn name(request: &Request, target: &Target) -> String {
    if let Some(name) = &target.name {
        return name.clone();
    }
    if !matches!(request.method, Method::GET | Method::HEAD) {
        return String::new();
    }
    let selector = request.query.text("fieldSelector").unwrap_or_default();
    let selector = FieldSelector::parse(selector).unwrap_or_default();
    let name = selector
        .name()
        .filter(|name| crate::names::path_segment(name).is_empty());
    name.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::HeaderMap;

    use super::*;
    use crate::request::query::Query;

    fn request(method: &str, uri: &str) -> Request {
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        Request {
            method: method.parse().unwrap(),
            path: path.to_owned(),
            route: Route::parse(path),
            query: Query::parse(query),
            headers: HeaderMap::new(),
            body: Bytes::new(),
            user: User {
                name: "bob".to_owned(),
                ..User::default()
            },
        }
    }

    #[test]
    fn refusals_name_what_was_asked() {
        let cases = [
            (
                "GET /api/v1/namespaces/a/pods",
                "pods is forbidden: User \"bob\" cannot list resource \"pods\" in API group \"\" in the \
                 namespace \"a\"",
            ),
            (
                "GET /api/v1/namespaces/a/pods/x/log",
                "pods \"x\" is forbidden: User \"bob\" cannot get resource \"pods/log\" in API group \"\" in \
                 the namespace \"a\"",
            ),
            (
                "GET /apis/apps/v1/deployments?watch=1",
                "deployments.apps is forbidden: User \"bob\" cannot watch resource \"deployments\" in API \
                 group \"apps\" at the cluster scope",
            ),
            (
                "DELETE /api/v1/namespaces/a",
                "namespaces \"a\" is forbidden: User \"bob\" cannot delete resource \"namespaces\" in API \
                 group \"\" in the namespace \"a\"",
            ),
            (
                "DELETE /api/v1/namespaces/a/pods",
                "pods is forbidden: User \"bob\" cannot deletecollection resource \"pods\" in API group \"\" \
                 in the namespace \"a\"",
            ),
            (
                "GET /api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Dx",
                "pods \"x\" is forbidden: User \"bob\" cannot list resource \"pods\" in API group \"\" in \
                 the namespace \"a\"",
            ),
            (
                "POST /version",
                "forbidden: User \"bob\" cannot post path \"/version\"",
            ),
            (
                "GET /a<b>",
                "forbidden: User \"bob\" cannot get path \"/a&lt;b&gt;\"",
            ),
        ];
        for (line, want) in cases {
            let (method, uri) = line.split_once(' ').unwrap();
            let refusal = Attributes::of(&request(method, uri)).forbidden("");
            assert_eq!(refusal.message, want);
        }
        let refusal = Attributes::of(&request("GET", "/api/v1/nodes")).forbidden("RBAC: it broke");
        assert!(
            refusal
                .message
                .ends_with("at the cluster scope: RBAC: it broke")
        );
    }
}
