//! What the real server (1.36.4) answered to objects that were sent to it, against what is answered here.

use serde_json::{Value, json};

use super::*;
use crate::metadata::coerce::Malformed;
use crate::schema::Schema;
use crate::schema::default::{default, drop_nulls};
use crate::schema::prune::prune;

/// What came of an object: the unknown fields and the object, the refusal, or the causes.
#[derive(Debug, PartialEq)]
struct Heard {
    unknown: Vec<String>,
    kept: Option<Value>,
    refused: Option<String>,
    causes: Vec<String>,
}

fn read(value: &Value, schema: View<'_>) -> Result<(Value, Vec<String>), Cause> {
    let mut value = value.clone();
    value["metadata"] = json!({ "name": "a" });
    let mut unknown = prune(&mut value, schema, true);
    drop_nulls(&mut value, schema);
    unknown.extend(embedded::coerce(&mut value, schema, Malformed::Refuse)?);
    default(&mut value, schema);
    Ok((value, unknown))
}

fn answer(case: &Value, schema: View<'_>) -> Heard {
    let mut heard = Heard {
        unknown: Vec::new(),
        kept: None,
        refused: None,
        causes: Vec::new(),
    };
    let (mut new, unknown) = match read(&case["new"], schema) {
        Ok(read) => read,
        Err(cause) => {
            heard.refused = Some(format!("{}: {}", cause.field, cause.message));
            return heard;
        }
    };
    heard.unknown = unknown;
    let old = case.get("old").map(|old| read(old, schema).unwrap().0);
    let causes = validate(&new, old.as_ref(), schema);
    if let (true, Value::Object(fields)) = (causes.is_empty(), &mut new) {
        fields.remove("metadata");
        heard.kept = Some(new);
    }
    let lines = causes.iter();
    heard.causes = lines
        .map(|cause| format!("{} {}: {}", cause.reason, cause.field, cause.message))
        .collect();
    // The real server goes through maps in no order.
    heard.causes.sort();
    heard
}

fn recorded(case: &Value) -> Heard {
    let texts = |word: &str| {
        let texts = case
            .get(word)
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let mut texts: Vec<String> = texts
            .map(|text| text.as_str().unwrap().to_owned())
            .collect();
        texts.sort();
        texts
    };
    let refused = case
        .get("refused")
        .and_then(Value::as_str)
        .map(|text| text.split_once("handled as a ").unwrap().1);
    let causes = texts("causes");
    let fine = causes.is_empty() && refused.is_none();
    Heard {
        unknown: texts("unknown"),
        kept: fine.then(|| case.get("kept").unwrap_or(&case["new"]).clone()),
        refused: refused.map(|text| text.split_once(": ").unwrap().1.to_owned()),
        causes,
    }
}

/// Floats without a fraction are integers on the wire.
fn on_the_wire(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() && number.as_f64().unwrap().fract() == 0.0 => {
            *value = (number.as_f64().unwrap() as i64).into();
        }
        Value::Array(items) => items.iter_mut().for_each(on_the_wire),
        Value::Object(fields) => fields.values_mut().for_each(on_the_wire),
        _ => {}
    }
}

fn compare(file: &str) {
    let file: Value = serde_json::from_str(file).unwrap();
    let schema = Schema::parse(&file["schema"]).unwrap();
    let mut wrong = 0;
    for case in file["cases"].as_array().unwrap() {
        let mut heard = answer(case, schema.view());
        heard.kept.iter_mut().for_each(on_the_wire);
        let recorded = recorded(case);
        if heard != recorded {
            wrong += 1;
            println!("{}\n  here:  {heard:?}\n  there: {recorded:?}", case["new"]);
        }
    }
    assert_eq!(wrong, 0, "answers differ from the real server's");
}

#[test]
fn values_are_judged_as_by_the_real_server() {
    compare(include_str!("recorded/values.json"));
}

#[test]
fn rules_and_changes_are_judged_as_by_the_real_server() {
    compare(include_str!("recorded/rules.json"));
}

#[test]
fn rules_that_cannot_be_asked_fail_as_in_the_real_server() {
    compare(include_str!("recorded/errors.json"));
}
