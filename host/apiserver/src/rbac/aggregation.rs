//! ClusterRoles that are put together from others
//! (kubernetes `pkg/controller/clusterroleaggregation`).

use serde_json::Value;

use super::Rule;
use crate::meta;
use crate::selector::LabelSelector;
use crate::store::Labels;

/// The rules that an aggregated ClusterRole has by the others; nothing for one that is not aggregated.
pub fn rules(role: &Value, all: &[Value]) -> Option<Vec<Rule>> {
    let selectors = role
        .pointer("/aggregationRule/clusterRoleSelectors")?
        .as_array()?;
    let name = meta::text(role, "name");
    let mut rules: Vec<Rule> = Vec::new();
    for selector in selectors {
        let selector = LabelSelector::of(selector)?;
        let chosen = all
            .iter()
            .filter(|other| selector.selects(labels(other).as_ref()));
        let mut chosen: Vec<&Value> = chosen.collect();
        chosen.sort_by_key(|other| meta::text(other, "name"));
        for other in chosen
            .into_iter()
            .filter(|other| meta::text(other, "name") != name)
        {
            for rule in Rule::all_of(other) {
                if !rules.contains(&rule) {
                    rules.push(rule);
                }
            }
        }
    }
    Some(rules)
}

fn labels(object: &Value) -> Option<Labels> {
    let labels = meta::get(object, "labels")?.as_object()?.iter();
    let text = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
    Some(labels.filter_map(text).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_aggregated_role_has_the_rules_of_those_it_selects() {
        let role = |name: &str, label: &str, resource: &str| {
            json!({
                "metadata": { "name": name, "labels": { label: "true" } },
                "rules": [{ "verbs": ["get"], "apiGroups": [""], "resources": [resource] }],
            })
        };
        let all = [
            role("b", "to-view", "pods"),
            role("a", "to-view", "nodes"),
            role("c", "other", "secrets"),
            role("d", "to-view", "pods"),
        ];
        let view = json!({
            "metadata": { "name": "view" },
            "aggregationRule": { "clusterRoleSelectors": [{ "matchLabels": { "to-view": "true" } }] },
        });
        let rules = rules(&view, &all).unwrap();
        let resources: Vec<&str> = rules
            .iter()
            .map(|rule| rule.resources[0].as_str())
            .collect();
        assert_eq!(resources, ["nodes", "pods"]);
        assert_eq!(super::rules(&all[0], &all), None);
    }
}
