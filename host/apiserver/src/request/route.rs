//! What a path names: objects of a resource, or something else that the server has to say
//! (apiserver `request.RequestInfoFactory`).

use http::Method;

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// Objects.
    Objects(Target),
    /// Discovery, health and so on: the parts of the path.
    Other(Vec<String>),
}

/// Objects that a path names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// The group; empty for the core one.
    pub group: String,
    /// The version.
    pub version: String,
    /// The namespace; nothing for all, and for what lies in none.
    pub namespace: Option<String>,
    /// The plural.
    pub plural: String,
    /// One object.
    pub name: Option<String>,
    /// Such as `status`.
    pub subresource: Option<String>,
    /// The old form of a watch, `/api/v1/watch/…`.
    pub watch: bool,
}

/// What is to be done, in RBAC's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words of RBAC")]
pub enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
}

impl Verb {
    /// The verb in RBAC's word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }

    /// What a method on a target asks for; nothing for methods that Kubernetes does not know.
    pub fn of(method: &Method, target: &Target, watches: bool) -> Option<Self> {
        let one = target.name.is_some();
        Some(match *method {
            Method::GET | Method::HEAD if target.watch => Self::Watch,
            Method::GET | Method::HEAD if one => Self::Get,
            Method::GET | Method::HEAD if watches => Self::Watch,
            Method::GET | Method::HEAD => Self::List,
            Method::POST => Self::Create,
            Method::PUT => Self::Update,
            Method::PATCH => Self::Patch,
            Method::DELETE if one => Self::Delete,
            Method::DELETE => Self::DeleteCollection,
            _ => return None,
        })
    }
}

impl Target {
    /// The path that names it.
    pub fn path(&self) -> String {
        let mut path = if self.group.is_empty() {
            format!("/api/{}", self.version)
        } else {
            format!("/apis/{}/{}", self.group, self.version)
        };
        if self.watch {
            path.push_str("/watch");
        }
        let namespace = self
            .namespace
            .iter()
            .flat_map(|namespace| ["namespaces", namespace]);
        let rest = [
            Some(self.plural.as_str()),
            self.name.as_deref(),
            self.subresource.as_deref(),
        ];
        for part in namespace.chain(rest.into_iter().flatten()) {
            path.push('/');
            path.push_str(part);
        }
        path
    }
}

impl Route {
    /// Takes a path apart (it is unescaped already).
    pub fn parse(path: &str) -> Self {
        let mut parts: Vec<&str> = path.strip_prefix('/').unwrap_or(path).split('/').collect();
        // One slash at the end is none.
        if parts.last() == Some(&"") {
            parts.pop();
        }
        let other = || Self::Other(parts.iter().map(|part| (*part).to_owned()).collect());
        let (group, version, rest) = match parts.as_slice() {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return other(),
        };
        let (watch, rest) = match rest {
            ["watch", rest @ ..] if !rest.is_empty() => (true, rest),
            rest => (false, rest),
        };
        let (namespace, rest) = match rest {
            // `namespaces/a` and its own subresources are about the namespace itself.
            ["namespaces", namespace, sub, ..] if matches!(*sub, "status" | "finalize") => {
                (Some(*namespace), rest)
            }
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some(*namespace), rest),
            rest => (None, rest),
        };
        let (plural, name, subresource) = match rest {
            [] => return other(),
            [plural] => (*plural, None, None),
            [plural, name] => (*plural, Some(*name), None),
            [plural, name, sub @ ..] => (*plural, Some(*name), Some(sub.join("/"))),
        };
        let namespace = namespace.filter(|_| plural != "namespaces");
        Self::Objects(Target {
            group: group.to_owned(),
            version: version.to_owned(),
            namespace: namespace.map(str::to_owned),
            plural: plural.to_owned(),
            name: name.map(str::to_owned),
            subresource,
            watch,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(path: &str) -> String {
        match Route::parse(path) {
            Route::Other(parts) => format!("other {}", parts.join(" ")),
            Route::Objects(target) => format!(
                "{} {} ns={} {} name={} sub={} {}",
                target.group,
                target.version,
                target.namespace.unwrap_or_default(),
                target.plural,
                target.name.unwrap_or_default(),
                target.subresource.unwrap_or_default(),
                target.watch
            ),
        }
    }

    #[test]
    fn every_form_of_a_path_is_understood() {
        let cases = [
            ("/api", "other api"),
            ("/apis/apps/v1", "other apis apps v1"),
            ("/openapi/v3/api/v1", "other openapi v3 api v1"),
            ("/api/v1/pods", " v1 ns= pods name= sub= false"),
            (
                "/api/v1/namespaces/a/pods/b/log",
                " v1 ns=a pods name=b sub=log false",
            ),
            (
                "/apis/apps/v1/namespaces/a/deployments/b",
                "apps v1 ns=a deployments name=b sub= false",
            ),
            (
                "/api/v1/namespaces/a",
                " v1 ns= namespaces name=a sub= false",
            ),
            (
                "/api/v1/namespaces/a/finalize",
                " v1 ns= namespaces name=a sub=finalize false",
            ),
            (
                "/api/v1/watch/namespaces/a/pods",
                " v1 ns=a pods name= sub= true",
            ),
            (
                "/apis/a.b/v1/widgets/w/scale",
                "a.b v1 ns= widgets name=w sub=scale false",
            ),
        ];
        for (path, want) in cases {
            assert_eq!(shown(path), want, "{path}");
            if let Route::Objects(target) = Route::parse(path) {
                assert_eq!(target.path(), path);
            }
        }
    }
}
