//! Numbers as Go keeps them.

use serde_json::{Number, Value};

/// The number that stays of a float when it is written as JSON and read again: Go writes whole floats
/// without a fraction.
#[expect(
    clippy::cast_possible_truncation,
    reason = "within these bounds it is exact, or what Go writes"
)]
pub fn whole(float: f64) -> Option<Number> {
    if float.fract() != 0.0 {
        return None;
    }
    if float.abs() < 9.0e18 {
        return Some((float as i64).into());
    }
    // The shortest digits, and zeros behind them.
    format!("{float}").parse::<u64>().ok().map(Number::from)
}

/// The value with all numbers as they are once it is kept.
pub fn whole_numbers(mut value: Value) -> Value {
    settle(&mut value);
    value
}

fn settle(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            if let Some(number) = number.as_f64().and_then(whole) {
                *value = number.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(settle),
        Value::Object(fields) => fields.values_mut().for_each(settle),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
