//! Paths in OpenAPI v2, made of those of v3.

use serde_json::{Map, Value, json};

use super::schema::plain;
use crate::openapi::parameters;

/// Where v2 has the parameters that many requests share.
const PARAMETERS: &str = "#/parameters/";
/// The order in which the real server names media types.
const FORMS: [&str; 9] = [
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf;stream=watch",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];

/// The parameters that requests share, by the names that they are referred to by.
pub(super) fn shared() -> impl Iterator<Item = (String, Value)> {
    parameters::all().map(|(key, parameter)| (key, flat(parameter)))
}

/// A path with its requests.
pub(super) fn item(item: Value, custom: bool) -> Value {
    let Value::Object(words) = item else {
        return item;
    };
    let words = words.into_iter().map(|(word, value)| match word.as_str() {
        "parameters" => (word, list(value, None)),
        _ => (word, operation(value, custom)),
    });
    Value::Object(words.collect())
}

fn operation(of_v3: Value, custom: bool) -> Value {
    let Value::Object(mut words) = of_v3 else {
        return of_v3;
    };
    let request = words.remove("requestBody");
    let consumes = request
        .as_ref()
        .and_then(|request| forms(request.get("content")));
    let any: &[&str] = if custom {
        FORMS.get(..2).unwrap_or_default()
    } else {
        &["*/*"]
    };
    words.insert(
        "consumes".to_owned(),
        consumes.unwrap_or_else(|| json!(any)),
    );
    let answers = words.remove("responses").unwrap_or_default();
    let produces = answers
        .get("200")
        .and_then(|answer| forms(answer.get("content")));
    if let Some(produces) = produces {
        words.insert("produces".to_owned(), produces);
    }
    words.insert("responses".to_owned(), responses(answers));
    words.insert("schemes".to_owned(), json!(["https"]));
    let own = words.remove("parameters").unwrap_or_else(|| json!([]));
    let parameters = list(own, request.as_ref().and_then(body));
    if parameters != json!([]) {
        words.insert("parameters".to_owned(), parameters);
    }
    Value::Object(words)
}

/// The media types of a body.
fn forms(content: Option<&Value>) -> Option<Value> {
    let mut forms: Vec<&String> = content?.as_object()?.keys().collect();
    forms.sort_by_key(|form| FORMS.iter().position(|known| known == form));
    Some(json!(forms))
}

fn first_schema(holder: &Value) -> Option<Value> {
    let content = holder.get("content")?.as_object()?;
    Some(plain(content.values().next()?.get("schema")?.clone()))
}

fn body(request: &Value) -> Option<Value> {
    let mut body = json!({ "in": "body", "name": "body", "schema": first_schema(request)? });
    if let (Some(required), Value::Object(fields)) = (request.get("required"), &mut body) {
        fields.insert("required".to_owned(), required.clone());
    }
    Some(body)
}

fn responses(of_v3: Value) -> Value {
    let Value::Object(all) = of_v3 else {
        return of_v3;
    };
    let all = all.into_iter().map(|(code, answer)| {
        let mut flat = Map::new();
        let text = answer.get("description").cloned();
        flat.insert("description".to_owned(), text.unwrap_or_default());
        if let Some(schema) = first_schema(&answer) {
            flat.insert("schema".to_owned(), schema);
        }
        (code, Value::Object(flat))
    });
    Value::Object(all.collect())
}

/// Parameters by name; those that many requests have are referred to.
fn list(of_v3: Value, body: Option<Value>) -> Value {
    let Value::Array(all) = of_v3 else {
        return of_v3;
    };
    let flat = |parameter: Value| match parameters::key(&parameter) {
        Some(key) => (
            name(&parameter),
            json!({ "$ref": format!("{PARAMETERS}{key}") }),
        ),
        None => (name(&parameter), flat(parameter)),
    };
    let body = body.map(|body| (name(&body), body));
    let mut all: Vec<(String, Value)> = all.into_iter().map(flat).chain(body).collect();
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    all.into_iter().map(|(_, parameter)| parameter).collect()
}

fn name(parameter: &Value) -> String {
    let name = parameter.get("name").and_then(Value::as_str);
    name.unwrap_or_default().to_owned()
}

/// A parameter whose type stands beside its name.
fn flat(parameter: Value) -> Value {
    let Value::Object(mut words) = parameter else {
        return parameter;
    };
    if let Some(Value::Object(schema)) = words.remove("schema") {
        words.extend(schema);
    }
    Value::Object(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_lead_to_definitions() {
        let answer = json!({ "200": { "description": "OK", "content": {
            "application/json": { "schema": { "$ref": "#/components/schemas/a.B" } } } } });
        let flat = responses(answer);
        assert_eq!(flat["200"]["schema"]["$ref"], "#/definitions/a.B");
    }
}
