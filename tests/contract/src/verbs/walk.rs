//! What discovery lists, and what scenarios did of it.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, ensure};
use http::Method;
use serde_json::Value;
use windlass_apiserver::request::route::{Route, Verb};

use crate::server::Server;

/// A verb of a resource in a version: `list v1 pods`, `update apps/v1 deployments/status`.
pub type Deed = String;

/// Every verb of every resource and subresource that a server lists, group by group.
///
/// # Errors
/// A part of discovery is not there.
pub async fn listed(server: &Server) -> Result<BTreeSet<Deed>> {
    let core = read(server, "/api").await?;
    let versions = texts(&core, "/versions", "");
    let mut paths: Vec<String> = versions
        .iter()
        .map(|version| format!("/api/{version}"))
        .collect();
    let groups = read(server, "/apis").await?;
    for group in items(&groups, "/groups") {
        let versions = texts(group, "/versions", "/groupVersion");
        paths.extend(versions.iter().map(|version| format!("/apis/{version}")));
    }
    let mut all = BTreeSet::new();
    for path in paths {
        let list = read(server, &path).await?;
        let version = path
            .trim_start_matches("/apis/")
            .trim_start_matches("/api/");
        for resource in items(&list, "/resources") {
            let name = resource
                .get("name")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let verbs = texts(resource, "/verbs", "");
            ensure!(!verbs.is_empty(), "{name} of {version} has no verbs");
            all.extend(verbs.iter().map(|verb| deed(verb, version, name)));
        }
    }
    Ok(all)
}

async fn read(server: &Server, path: &str) -> Result<Value> {
    let (code, answer) = server.json("GET", path, &Value::Null).await?;
    ensure!(code == 200, "{path}: {code} {answer}");
    Ok(answer)
}

fn items<'a>(value: &'a Value, at: &str) -> impl Iterator<Item = &'a Value> {
    let list = value.pointer(at).and_then(Value::as_array);
    list.into_iter().flatten()
}

fn texts(value: &Value, at: &str, of_each: &str) -> Vec<String> {
    let found = items(value, at).filter_map(|item| item.pointer(of_each)?.as_str());
    found.map(str::to_owned).collect()
}

fn deed(verb: &str, version: &str, resource: &str) -> Deed {
    format!("{verb} {version} {resource}")
}

/// What a request did; nothing if it was about no objects.
pub(crate) fn done(method: &Method, uri: &http::Uri) -> Option<Deed> {
    let Route::Objects(target) = Route::parse(uri.path()) else {
        return None;
    };
    let query = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    let query: BTreeMap<_, _> = query.into_owned().collect();
    let watches = query
        .get("watch")
        .is_some_and(|word| matches!(word.as_str(), "true" | "1"));
    // A dry run has no effect.
    if query.contains_key("dryRun") {
        return None;
    }
    let verb = Verb::of(method, &target, watches)?;
    let version = match target.group.as_str() {
        "" => target.version,
        group => format!("{group}/{}", target.version),
    };
    let resource = match target.subresource {
        Some(part) => format!("{}/{part}", target.plural),
        None => target.plural,
    };
    Some(deed(verb.word(), &version, &resource))
}

/// What is wrong: verbs that are listed and that nobody did and nobody excuses, and excuses for others.
pub fn faults(
    listed: &BTreeSet<Deed>,
    done: &BTreeSet<Deed>,
    excused: &BTreeSet<Deed>,
) -> Vec<String> {
    let mut faults = Vec::new();
    for deed in listed {
        match (done.contains(deed), excused.contains(deed)) {
            (false, false) => faults.push(format!("{deed}: no scenario does this with success")),
            (true, true) => faults.push(format!("{deed} is listed as unserved, and is done")),
            _ => {}
        }
    }
    let absent = excused.difference(listed);
    faults
        .extend(absent.map(|deed| format!("{deed} is listed as unserved, and discovery has none")));
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_the_verb_of_a_resource() {
        for (method, path, want) in [
            ("GET", "/api/v1/pods", Some("list v1 pods")),
            ("GET", "/api/v1/pods?watch=true", Some("watch v1 pods")),
            (
                "DELETE",
                "/api/v1/namespaces/a/pods?x=y",
                Some("deletecollection v1 pods"),
            ),
            (
                "PUT",
                "/apis/apps/v1/namespaces/a/deployments/b/scale",
                Some("update apps/v1 deployments/scale"),
            ),
            (
                "PUT",
                "/api/v1/namespaces/a/finalize",
                Some("update v1 namespaces/finalize"),
            ),
            ("POST", "/api/v1/namespaces/a/pods?dryRun=All", None),
            ("GET", "/apis/apps/v1", None),
        ] {
            let found = done(&method.parse().unwrap(), &path.parse().unwrap());
            assert_eq!(found.as_deref(), want, "{method} {path}");
        }
    }

    #[test]
    fn each_verb_is_done_or_excused() {
        let set = |deeds: &[&str]| deeds.iter().map(|deed| (*deed).to_owned()).collect();
        let found = faults(&set(&["a", "b", "c"]), &set(&["a", "c"]), &set(&["c", "d"]));
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(faults(&set(&["a", "b"]), &set(&["a"]), &set(&["b"])).is_empty());
    }
}
