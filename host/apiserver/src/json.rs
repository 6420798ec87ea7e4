//! Reads JSON that may lack what is asked for: by the name of a field, or by a JSON pointer (`*_at`).

use serde_json::{Map, Value};

static NULL: Value = Value::Null;

/// The fields of an object.
pub(crate) type Fields = Map<String, Value>;

/// What has fields: any value, of which only an object has some, and a map.
pub(crate) trait HasFields {
    /// The value of a field.
    fn field(&self, name: &str) -> Option<&Value>;
}

impl HasFields for Value {
    fn field(&self, name: &str) -> Option<&Value> {
        self.get(name)
    }
}

impl HasFields for Fields {
    fn field(&self, name: &str) -> Option<&Value> {
        self.get(name)
    }
}

impl<T: HasFields> HasFields for &T {
    fn field(&self, name: &str) -> Option<&Value> {
        (**self).field(name)
    }
}

/// A field; `null` where there is none.
pub(crate) fn get<'a>(object: &'a impl HasFields, name: &str) -> &'a Value {
    object.field(name).unwrap_or(&NULL)
}

/// The text of a field; empty where there is none.
pub(crate) fn text<'a>(object: &'a impl HasFields, name: &str) -> &'a str {
    get(object, name).as_str().unwrap_or_default()
}

/// The items of a list in a field; none where there is no list.
pub(crate) fn list<'a>(object: &'a impl HasFields, name: &str) -> &'a [Value] {
    items(get(object, name))
}

/// The texts of a list in a field.
pub(crate) fn texts<'a, F: HasFields>(
    object: &'a F,
    name: &str,
) -> impl Iterator<Item = &'a str> + use<'a, F> {
    list(object, name).iter().filter_map(Value::as_str)
}

/// The entries of a map in a field, sorted by key.
pub(crate) fn entries<'a, F: HasFields>(
    object: &'a F,
    name: &str,
) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a, F> {
    let map = get(object, name).as_object();
    map.into_iter().flatten()
}

/// The text that a pointer leads to; empty where there is none.
pub(crate) fn text_at<'a>(value: &'a Value, pointer: &str) -> &'a str {
    let text = value.pointer(pointer).and_then(Value::as_str);
    text.unwrap_or_default()
}

/// The items of the list that a pointer leads to; none where there is no list.
pub(crate) fn list_at<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).map(items).unwrap_or_default()
}

/// The texts of the list that a pointer leads to.
pub(crate) fn texts_at<'a>(
    value: &'a Value,
    pointer: &str,
) -> impl Iterator<Item = &'a str> + use<'a> {
    list_at(value, pointer).iter().filter_map(Value::as_str)
}

/// The items of a list; none where it is something else.
pub(crate) fn items(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The texts of a list; none where it is something else.
pub(crate) fn item_texts(value: &Value) -> impl Iterator<Item = &str> {
    items(value).iter().filter_map(Value::as_str)
}

/// The type of a value, as Go's JSON decoder names it.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The Go type that a value is decoded into.
pub(crate) fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_absent_or_of_another_type_reads_as_empty() {
        let object = json!({ "a": "x", "b": ["y", 1, "z"], "c": { "d": "e" } });
        assert_eq!((text(&object, "a"), text(&object, "b")), ("x", ""));
        assert_eq!(Vec::from_iter(texts(&object, "b")), ["y", "z"]);
        assert_eq!(Vec::from_iter(item_texts(&object["b"])), ["y", "z"]);
        assert_eq!(list(&object, "a"), Vec::<Value>::new());
        assert_eq!(entries(&object, "c").count(), 1);
        assert_eq!(entries(&object, "a").count(), 0);
        assert_eq!(text_at(&object, "/c/d"), "e");
        assert_eq!(list_at(&object, "/b").len(), 3);
        assert_eq!(texts_at(&object, "/c").count(), 0);
        assert_eq!(get(&object, "f"), &Value::Null);
    }
}
