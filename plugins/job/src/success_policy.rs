//! `successPolicy`: when an indexed Job succeeds although not all indexes have (KEP-3998).

use serde::Deserialize;

use crate::indexes::Indexes;

/// Rules, of which one is enough.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SuccessPolicy {
    rules: Vec<Rule>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Rule {
    succeeded_indexes: Option<String>,
    succeeded_count: Option<usize>,
}

impl SuccessPolicy {
    /// Which rule these succeeded indexes fulfil.
    pub(crate) fn fulfilled(&self, succeeded: &Indexes, completions: usize) -> Option<usize> {
        self.rules.iter().position(|rule| {
            let wanted = rule.succeeded_indexes.as_deref();
            let wanted = wanted.map(|text| Indexes::parse(text, completions));
            let held = match &wanted {
                Some(wanted) => succeeded.shared_with(wanted),
                None => succeeded.len(),
            };
            match (rule.succeeded_count, &wanted) {
                (Some(count), _) => held >= count,
                (None, Some(wanted)) => held >= wanted.len(),
                (None, None) => false,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_rule_names_indexes_or_a_count_or_both() {
        let rules = json!([
            { "succeededIndexes": "0,2", "succeededCount": 1 },
            { "succeededIndexes": "1,3" },
            { "succeededCount": 4 },
            {},
        ]);
        let policy: SuccessPolicy = serde_json::from_value(json!({ "rules": rules })).unwrap();
        for (succeeded, want) in [
            ("", None),
            ("1", None),
            ("1,3", Some(1)),
            ("2", Some(0)),
            ("1,4-6", Some(2)),
        ] {
            let found = policy.fulfilled(&Indexes::parse(succeeded, 9), 9);
            assert_eq!(found, want, "{succeeded}");
        }
    }
}
