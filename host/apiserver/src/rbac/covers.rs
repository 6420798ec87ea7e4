//! Whether one's rights cover a role: nobody gives what they do not have
//! (component-helpers `auth/rbac/validation/policy_comparator.go`).

use std::collections::BTreeMap;

use super::rules::{ALL, Rule, has, matches_path};

/// The parts of `wanted` that `held` does not cover, each with one verb.
pub fn missing(held: &[Rule], wanted: &[Rule]) -> Vec<Rule> {
    let parts = wanted.iter().flat_map(break_down);
    parts
        .filter(|part| !held.iter().any(|rule| covers(rule, part)))
        .collect()
}

fn break_down(rule: &Rule) -> Vec<Rule> {
    let one = |text: &String| vec![text.clone()];
    let mut parts = Vec::new();
    for group in &rule.api_groups {
        for resource in &rule.resources {
            for verb in &rule.verbs {
                let part = Rule {
                    verbs: one(verb),
                    api_groups: one(group),
                    resources: one(resource),
                    ..Rule::default()
                };
                if rule.resource_names.is_empty() {
                    parts.push(part);
                    continue;
                }
                parts.extend(rule.resource_names.iter().map(|name| Rule {
                    resource_names: one(name),
                    ..part.clone()
                }));
            }
        }
    }
    for path in &rule.non_resource_urls {
        parts.extend(rule.verbs.iter().map(|verb| Rule {
            verbs: one(verb),
            non_resource_urls: one(path),
            ..Rule::default()
        }));
    }
    parts
}

fn covers(rule: &Rule, part: &Rule) -> bool {
    let all = |held: &[String], wanted: &[String]| wanted.iter().all(|text| has(held, text));
    let names = &rule.resource_names;
    (has(&rule.verbs, ALL) || all(&rule.verbs, &part.verbs))
        && (has(&rule.api_groups, ALL) || all(&rule.api_groups, &part.api_groups))
        && part
            .resources
            .iter()
            .all(|wanted| covers_resource(&rule.resources, wanted))
        && part.non_resource_urls.iter().all(|wanted| {
            rule.non_resource_urls
                .iter()
                .any(|held| held == wanted || held.ends_with('*') && matches_path(held, wanted))
        })
        && (names.is_empty() || !part.resource_names.is_empty() && all(names, &part.resource_names))
}

fn covers_resource(held: &[String], wanted: &str) -> bool {
    let any = wanted
        .split_once('/')
        .map(|(_, subresource)| format!("*/{subresource}"));
    has(held, ALL) || has(held, wanted) || any.is_some_and(|any| has(held, &any))
}

/// Puts rules together that differ only in their verb, and shows each in one line, sorted.
pub fn describe(rules: &[Rule]) -> Vec<String> {
    let mut simple: BTreeMap<Rule, Vec<String>> = BTreeMap::new();
    let mut lines = Vec::new();
    for rule in rules {
        if rule.non_resource_urls.is_empty() {
            let key = Rule {
                verbs: Vec::new(),
                ..rule.clone()
            };
            simple
                .entry(key)
                .or_default()
                .extend(rule.verbs.iter().cloned());
        } else {
            lines.push(line(rule));
        }
    }
    lines.extend(
        simple
            .into_iter()
            .map(|(key, verbs)| line(&Rule { verbs, ..key })),
    );
    lines.sort();
    lines.dedup();
    lines
}

fn line(rule: &Rule) -> String {
    let parts = [
        ("APIGroups", &rule.api_groups),
        ("Resources", &rule.resources),
        ("NonResourceURLs", &rule.non_resource_urls),
        ("ResourceNames", &rule.resource_names),
        ("Verbs", &rule.verbs),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(_, texts)| !texts.is_empty())
        .map(|(name, texts)| format!("{name}:{}", quoted(texts)))
        .collect();
    format!("{{{}}}", parts.join(", "))
}

/// A list of texts as Go's `%q` shows it.
pub(super) fn quoted(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| format!("{text:?}")).collect();
    format!("[{}]", texts.join(" "))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::{Value, json};

    use super::*;

    fn rules(value: &Value) -> Vec<Rule> {
        let all = value.as_array().unwrap().iter();
        all.map(|rule| Rule::deserialize(rule).unwrap()).collect()
    }

    #[test]
    fn nobody_gives_what_they_do_not_have() {
        let pods =
            |verbs: &[&str]| json!([{ "verbs": verbs, "apiGroups": [""], "resources": ["pods"] }]);
        let named = |names: &[&str]| json!([{ "verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": names }]);
        let resource = |group: &str, resource: &str| json!([{ "verbs": ["get"], "apiGroups": [group], "resources": [resource] }]);
        let paths = |paths: &[&str]| json!([{ "verbs": ["get"], "nonResourceURLs": paths }]);
        let cases: [(Value, Value, &[&str]); 12] = [
            (pods(&["get", "list"]), pods(&["get"]), &[]),
            (
                pods(&["get"]),
                pods(&["get", "list", "watch"]),
                &[r#"{APIGroups:[""], Resources:["pods"], Verbs:["list" "watch"]}"#],
            ),
            (pods(&["*"]), pods(&["escalate"]), &[]),
            (
                pods(&["get"]),
                pods(&["*"]),
                &[r#"{APIGroups:[""], Resources:["pods"], Verbs:["*"]}"#],
            ),
            (named(&["a", "b"]), named(&["a"]), &[]),
            (pods(&["get"]), named(&["a"]), &[]),
            (
                named(&["a"]),
                pods(&["get"]),
                &[r#"{APIGroups:[""], Resources:["pods"], Verbs:["get"]}"#],
            ),
            (
                named(&["a"]),
                named(&["b"]),
                &[r#"{APIGroups:[""], Resources:["pods"], ResourceNames:["b"], Verbs:["get"]}"#],
            ),
            (
                resource("*", "*/scale"),
                resource("apps", "deployments/scale"),
                &[],
            ),
            (
                resource("apps", "deployments"),
                resource("apps", "deployments/scale"),
                &[r#"{APIGroups:["apps"], Resources:["deployments/scale"], Verbs:["get"]}"#],
            ),
            (paths(&["/api/*"]), paths(&["/api/v1", "/api/*"]), &[]),
            (
                paths(&["/api"]),
                paths(&["/apis"]),
                &[r#"{NonResourceURLs:["/apis"], Verbs:["get"]}"#],
            ),
        ];
        for (held, wanted, want) in cases {
            let lines = describe(&missing(&rules(&held), &rules(&wanted)));
            assert_eq!(lines, want, "{held} {wanted}");
        }
    }
}
