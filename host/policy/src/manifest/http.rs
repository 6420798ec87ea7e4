//! `spec.http`: where a plugin may send requests.

use serde_json::{Map, Value};
use windlass_egress::{Problem, Rules};

use super::FieldError;
use crate::grants::words;

/// What else may be in `spec.http`, beside the rules.
const ACKNOWLEDGE: &str = "acknowledge";

/// Reads `spec.http`, and checks that it acknowledges what is powerful in it and no more.
pub(super) fn read(mut fields: Map<String, Value>) -> Result<Rules, Vec<FieldError>> {
    if fields.is_empty() {
        return Ok(Rules::default());
    }
    let held = acknowledged(fields.remove(ACKNOWLEDGE).as_ref());
    let rules = Rules::read(&Value::Object(fields)).map_err(|problems| {
        let problems = problems.iter();
        let field = |problem: &Problem| FieldError::new(path(&problem.path), &*problem.message);
        problems.map(field).collect::<Vec<_>>()
    })?;
    let Some(held) = held else {
        return Err(vec![FieldError::new(
            path(ACKNOWLEDGE),
            "must be a list of what is powerful in the rules",
        )]);
    };
    check(&rules, &held).map_err(|problem| vec![problem])?;
    Ok(rules)
}

/// The words in a list; one word of anything else that is true, which acknowledges nothing.
fn acknowledged(value: Option<&Value>) -> Option<Vec<String>> {
    match value {
        None | Some(Value::Bool(false)) => Some(Vec::new()),
        Some(Value::Bool(true)) => Some(vec!["true".to_owned()]),
        Some(Value::Array(held)) => {
            let words = held.iter().map(|word| word.as_str().map(str::to_owned));
            words.collect()
        }
        Some(_) => None,
    }
}

fn check(rules: &Rules, held: &[String]) -> Result<(), FieldError> {
    let mut needed: Vec<(String, String)> = Vec::new();
    for (index, rule) in rules.allow.iter().enumerate() {
        for power in rule.powers().into_iter().filter(|it| it.is_powerful()) {
            let (origin, field) = (&rule.origin, power.field());
            let at = format!("allow[{index}].{field}");
            needed.push((format!("{origin}/{field}"), at));
        }
    }
    let mut all: Vec<String> = Vec::new();
    for (word, _) in &needed {
        if !all.contains(word) {
            all.push(word.clone());
        }
    }
    let write = format!("write `{ACKNOWLEDGE}: {}` in spec.http", words(&all));
    if let Some((_, at)) = needed.iter().find(|(word, _)| !held.contains(word)) {
        let why =
            "this is powerful: the plugin chooses which Secret the host sends; if you want that";
        return Err(FieldError::new(path(at), format!("{why}, {write}")));
    }
    let Some((at, word)) = held
        .iter()
        .enumerate()
        .find(|(_, word)| !all.contains(word))
    else {
        return Ok(());
    };
    let remedy = if all.is_empty() {
        "nothing in spec.http is: remove `acknowledge`".to_owned()
    } else {
        write
    };
    Err(FieldError::new(
        path(&format!("{ACKNOWLEDGE}[{at}]")),
        format!("`{word}` is not something powerful that the rules give; {remedy}"),
    ))
}

fn path(below: &str) -> String {
    match below {
        "" => "spec.http".to_owned(),
        below => format!("spec.http.{below}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_rules_acknowledge_what_is_powerful_in_them_and_no_more() {
        let rule = |origin: &str| {
            json!({
                "origin": origin, "credentials": "same-namespace",
                "inject": [{ "header": "X", "value": "{k}" }],
            })
        };
        let plain = json!({ "origin": "https://p.example" });
        let (a, b) = (rule("https://a.example"), rule("https://b.example"));
        let word = |origin: &str| format!("https://{origin}.example/credentials");
        let write = "write `acknowledge: [\"https://a.example/credentials\"]` in spec.http";
        let powerful =
            "this is powerful: the plugin chooses which Secret the host sends; if you want that";
        let rows = [
            (json!({ "allow": [plain] }), String::new()),
            (json!({ "allow": [plain], "acknowledge": false }), String::new()),
            (json!({ "allow": [a], "acknowledge": [word("a")] }), String::new()),
            (json!({ "allow": [a, b], "acknowledge": [word("b"), word("a")] }), String::new()),
            (json!({ "allow": [plain, a] }), format!("spec.http.allow[1].credentials: {powerful}, {write}")),
            (json!({ "allow": [a], "acknowledge": true }), format!("spec.http.allow[0].credentials: {powerful}, {write}")),
            (
                json!({ "allow": [a, b], "acknowledge": [word("a")] }),
                format!("spec.http.allow[1].credentials: {powerful}, write `acknowledge: [\"https://a.example/credentials\", \"https://b.example/credentials\"]` in spec.http"),
            ),
            (
                json!({ "allow": [a], "acknowledge": [word("a"), word("b")] }),
                format!("spec.http.acknowledge[1]: `https://b.example/credentials` is not something powerful that the rules give; {write}"),
            ),
            (
                json!({ "allow": [plain], "acknowledge": ["x"] }),
                "spec.http.acknowledge[0]: `x` is not something powerful that the rules give; nothing in spec.http is: remove `acknowledge`".to_owned(),
            ),
            (
                json!({ "allow": [plain], "acknowledge": "x" }),
                "spec.http.acknowledge: must be a list of what is powerful in the rules".to_owned(),
            ),
            (json!({ "acknowledge": [1], "allow": [plain] }), "spec.http.acknowledge: must be a list of what is powerful in the rules".to_owned()),
        ];
        for (fields, want) in rows {
            let Value::Object(held) = fields.clone() else {
                panic!("{fields}");
            };
            let told = read(held).err().unwrap_or_default();
            let told: Vec<String> = told.iter().map(ToString::to_string).collect();
            assert_eq!(told.join("\n"), want, "{fields}");
        }
    }
}
