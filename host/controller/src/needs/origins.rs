//! The origins that a plugin wants to send HTTP requests to, beside what its document allows: pure.

use windlass_egress::{Origin, Rules};

use windlass_sandbox::Description;

/// What to say of the origins that no rule allows, behind the plugin's name; nothing if all are allowed.
pub fn closed_origins(description: &Description, rules: &Rules) -> Option<String> {
    let is_open = |origin: &Origin| rules.allow.iter().any(|rule| rule.origin == *origin);
    let closed = description.origins.iter().filter(|it| !is_open(it));
    let closed: Vec<String> = closed.map(ToString::to_string).collect();
    if closed.is_empty() {
        return None;
    }
    let entries = closed.iter().map(|origin| format!("- origin: {origin}"));
    Some(format!(
        "sends HTTP requests to {}, which its document does not allow; add to spec.http.allow, if it is to do that: {}",
        closed.join(", "),
        entries.collect::<Vec<_>>().join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_origin_is_open_if_a_rule_names_it_in_whatever_form() {
        let origins = ["https://a.example", "https://b.example:8443"];
        let mut description = Description::asking("", "configmaps", &[]);
        assert_eq!(closed_origins(&description, &Rules::default()), None);
        let parse = |text: &str| Origin::parse(text).unwrap();
        description.origins = origins.iter().map(|text| parse(text)).collect();
        let rules = |origins: &[&str]| {
            let allow: Vec<_> = origins.iter().map(|it| json!({ "origin": it })).collect();
            Rules::read(&json!({ "allow": allow })).unwrap()
        };
        let both = rules(&["https://A.example:443", "https://b.example:8443"]);
        assert_eq!(closed_origins(&description, &both), None);
        let said = closed_origins(&description, &rules(&["https://a.example"])).unwrap();
        assert!(said.contains("to https://b.example:8443, which"), "{said}");
        assert!(said.ends_with("- origin: https://b.example:8443"), "{said}");
    }
}
