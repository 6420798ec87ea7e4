//! Reads fixtures as `sigs.k8s.io/yaml` reads YAML, and so Kubernetes, kubectl and `windlass test`.
//!
//! - `0400` is 256, `yes` is true, 1.0 is 1, and the key `y` is `"true"`.

use std::fmt;

use serde::de::{
    Deserialize, DeserializeOwned, Deserializer, Error, MapAccess, SeqAccess, Visitor,
};
use serde_json::{Map, Number, Value};

/// Reads every document in `text`.
///
/// # Errors
/// It is not YAML, or a document is not a `T`.
pub(super) fn documents<T: DeserializeOwned>(text: &str) -> Result<Vec<T>, serde_saphyr::Error> {
    let options = serde_saphyr::options! { legacy_octal_numbers: true };
    serde_saphyr::from_multiple_with_options(text, options)
}

/// For `#[serde(deserialize_with)]`: a field that holds values without a type of their own. Null is the default.
///
/// # Errors
/// The value is not a `T`.
pub(super) fn untyped<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let Untyped(value) = Untyped::deserialize(from)?;
    let read: Option<T> = serde_json::from_value(value).map_err(D::Error::custom)?;
    Ok(read.unwrap_or_default())
}

struct Untyped(Value);

impl<'de> Deserialize<'de> for Untyped {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Values).map(Self)
    }
}

struct Values;

impl<'de> Visitor<'de> for Values {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, |number| whole_numbers(number.into())))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Untyped(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some((Untyped(key), Untyped(value))) = fields.next_entry()? {
            let key = match key {
                Value::String(key) => key,
                Value::Bool(_) | Value::Number(_) => key.to_string(),
                Value::Null | Value::Array(_) | Value::Object(_) => {
                    return Err(A::Error::custom("a key is a text, a number or a boolean"));
                }
            };
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

/// The value with all numbers as an API server keeps them: 1.0 is 1.
pub(super) fn whole_numbers(value: Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => whole(float).map_or(Value::Number(number), Value::from),
            None => Value::Number(number),
        },
        Value::Array(items) => items.into_iter().map(whole_numbers).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter();
            Value::Object(
                fields
                    .map(|(name, value)| (name, whole_numbers(value)))
                    .collect(),
            )
        }
        Value::Null | Value::Bool(_) | Value::String(_) => value,
    }
}

/// The whole number that a float is, if a float can tell.
fn whole(value: f64) -> Option<i64> {
    let exact = value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0;
    exact.then(|| format!("{value:.0}").parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{FakeCluster, Step, Wrote};
    use super::*;

    #[test]
    fn values_are_read_as_kubernetes_reads_them() {
        for (text, want) in [
            ("0400", json!(256)),
            ("-0400", json!(-256)),
            ("0o644", json!(420)),
            ("0x1F", json!(31)),
            ("0899", json!(899)),
            ("1_000", json!(1000)),
            ("1.0", json!(1)),
            ("-2.0", json!(-2)),
            ("1e3", json!(1000)),
            ("1.5", json!(1.5)),
            ("yes", json!(true)),
            ("off", json!(false)),
            ("~", json!(null)),
            ("'0400'", json!("0400")),
            ("\"yes\"", json!("yes")),
            ("1:30", json!("1:30")),
            ("2026-11-21", json!("2026-11-21")),
            ("[0400, { a: 1.0 }]", json!([256, { "a": 1 }])),
            (
                "{ y: 1, 0400: 2, 'on': 3 }",
                json!({ "true": 1, "256": 2, "on": 3 }),
            ),
        ] {
            let text = format!("v: {text}\n");
            let read: Vec<Untyped> = documents(&text).unwrap();
            let values: Vec<Value> = read.into_iter().map(|Untyped(value)| value).collect();
            assert_eq!(values, [json!({ "v": want })], "{text}");
        }
        assert!(documents::<Untyped>("? [a]\n: b").is_err());
    }
    #[test]
    fn a_fixture_has_such_values_everywhere() {
        let text = "given: { config: { mode: 0644 }, objects: [{ y: 0899 }], edits: { A/b: { k: 2.0 } } }\nwhen: { reconcile: A/b }\nthen: { answer: done, writes: [{ apply: { mode: 0400 } }], status: { k: 1.0 } }\n";
        let steps: Vec<Step> = documents(text).unwrap();
        let [step] = steps.as_slice() else {
            panic!("one step")
        };
        assert_eq!(step.given.config, Some(json!({ "mode": 420 })));
        assert_eq!(step.given.objects, [json!({ "true": 899 })]);
        assert_eq!(step.given.edits.get("A/b"), Some(&json!({ "k": 2 })));
        assert_eq!(step.then.writes, [Wrote::Apply(json!({ "mode": 256 }))]);
        assert_eq!(step.then.status, Some(json!({ "k": 1 })));
    }

    #[test]
    fn a_whole_number_is_the_same_however_a_plugin_writes_it() {
        let mut cluster = FakeCluster::new();
        for number in [json!(1.0), json!(1), json!(1.0)] {
            let metadata = json!({ "name": "m", "namespace": "default" });
            let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "list": [number] });
            cluster.apply("m", &object).unwrap();
        }
        let lists: Vec<_> = cluster
            .writes()
            .iter()
            .map(|write| write.object.get("list").cloned())
            .collect();
        assert_eq!(lists, [Some(json!([1]))]);
    }
}
