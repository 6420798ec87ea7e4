//! What a path and a query mean.

use windlass_sdk::ObjectRef;

use super::kinds::{KINDS, Kind};

/// What a path leads to.
#[derive(Debug)]
pub(super) enum Route {
    /// The list of groups.
    Groups,
    /// The resources of a group's version.
    Resources(String),
    /// An object or a collection.
    Objects(Place),
}

/// An object or a collection.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) kind: Kind,
    pub(super) namespace: Option<String>,
    pub(super) name: Option<String>,
    pub(super) subresource: Option<String>,
}

impl Place {
    /// The object, as the SDK names it.
    pub(super) fn target(&self) -> ObjectRef {
        ObjectRef {
            api_version: self.kind.api_version.to_owned(),
            kind: self.kind.kind.to_owned(),
            namespace: self.namespace.clone(),
            name: self.name.clone().unwrap_or_default(),
        }
    }
}

/// Where `path` leads; nowhere if nothing is served there.
pub(super) fn route(path: &str) -> Option<Route> {
    let pieces: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let (api_version, rest) = match pieces.as_slice() {
        ["apis"] => return Some(Route::Groups),
        ["api", version, rest @ ..] => ((*version).to_owned(), rest),
        ["apis", group, version, rest @ ..] => (format!("{group}/{version}"), rest),
        _ => return None,
    };
    let (namespace, rest) = match rest {
        [] => {
            let served = KINDS.iter().any(|kind| kind.api_version == api_version);
            return served.then_some(Route::Resources(api_version));
        }
        ["namespaces", name, plural, rest @ ..] if *plural != "status" => {
            (Some(*name), (*plural, rest))
        }
        [plural, rest @ ..] => (None, (*plural, rest)),
    };
    let (plural, rest) = rest;
    let served = |kind: &&Kind| kind.api_version == api_version && kind.plural == plural;
    let kind = *KINDS.iter().find(served)?;
    let (name, subresource) = match rest {
        [] => (None, None),
        [name] => (Some(*name), None),
        [name, subresource] => (Some(*name), Some(*subresource)),
        _ => return None,
    };
    Some(Route::Objects(Place {
        kind,
        namespace: namespace.map(str::to_owned),
        name: name.map(str::to_owned),
        subresource: subresource.map(str::to_owned),
    }))
}

/// The parameters of a query.
#[derive(Debug)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads what follows the question mark.
    pub(super) fn parse(text: &str) -> Self {
        let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
        Self(pairs.map(|(k, v)| (decode(k), decode(v))).collect())
    }

    /// A parameter that is not empty.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        let found = self.0.iter().find(|(held, _)| held == name);
        found
            .map(|(_, value)| value.clone())
            .filter(|value| !value.is_empty())
    }
}

/// Undoes the escaping of a form.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || {
                    char::from(rest.next().unwrap_or(b'0'))
                        .to_digit(16)
                        .unwrap_or(0)
                };
                u8::try_from(digit() * 16 + digit()).unwrap_or(b'?')
            }
            byte => byte,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_told_apart() {
        let shown = |path| match route(path) {
            None => "nothing".to_owned(),
            Some(Route::Groups) => "groups".to_owned(),
            Some(Route::Resources(version)) => format!("resources of {version}"),
            Some(Route::Objects(place)) => {
                let sub = place.subresource.clone().unwrap_or_default();
                format!("{} {sub}", place.target())
            }
        };
        let cases = [
            ("/apis", "groups"),
            ("/apis/apps/v1", "resources of apps/v1"),
            ("/api/v1", "resources of v1"),
            ("/apis/x.dev/v1", "nothing"),
            ("/api/v1/namespaces/a", "Namespace/a "),
            ("/api/v1/namespaces/a/status", "Namespace/a status"),
            ("/api/v1/namespaces/a/secrets/b", "Secret/a/b "),
            ("/api/v1/configmaps", "ConfigMap/ "),
            (
                "/apis/apps/v1/namespaces/a/deployments/b/status",
                "Deployment/a/b status",
            ),
            ("/api/v1/pods", "nothing"),
        ];
        for (path, want) in cases {
            assert_eq!(shown(path), want, "{path}");
        }
    }

    #[test]
    fn queries_are_unescaped() {
        let query = Query::parse("labelSelector=app%3Dweb+x&limit=5&continue=");
        assert_eq!(query.text("labelSelector").as_deref(), Some("app=web x"));
        assert_eq!(query.text("limit").as_deref(), Some("5"));
        assert_eq!(query.text("continue"), None);
    }
}
