//! Amounts of resources by name, and what becomes of two lists of them (apiserver `pkg/quota/v1/resources.go`).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::builtin::quantity::Amount;

/// How much there is of each resource.
pub(crate) type Amounts = BTreeMap<String, Amount>;

/// A list of resources as objects have it.
pub(crate) fn read(list: &Value) -> Amounts {
    let all = list.as_object().into_iter().flatten();
    let all = all.filter_map(|(name, text)| Some((name.clone(), Amount::parse(text.as_str()?)?)));
    all.collect()
}

/// A list of resources as objects have it.
pub(crate) fn written(amounts: &Amounts) -> Value {
    let all = amounts.iter();
    let all = all.map(|(name, amount)| (name.clone(), Value::from(amount.text())));
    Value::Object(all.collect::<Map<_, _>>())
}

/// Adds a list to another.
pub(crate) fn add(to: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        let sum = to.get(name).map_or(*amount, |held| held.plus(*amount));
        to.insert(name.clone(), sum);
    }
}

/// Raises each amount of a list to that of another.
pub(super) fn raise(to: &mut Amounts, other: &Amounts) {
    for (name, amount) in other {
        let is_more = to.get(name).is_none_or(|held| amount.is_above(*held));
        if is_more {
            to.insert(name.clone(), *amount);
        }
    }
}

/// The difference of two lists of amounts, 0 instead of a negative one (`SubtractWithNonNegativeResult`).
pub(super) fn growth(new: &Amounts, old: &Amounts) -> Amounts {
    let nothing = Amount::whole(0);
    let grown = new.iter().map(|(name, amount)| {
        let grown = old.get(name).map_or(*amount, |old| amount.minus(*old));
        let grown = if grown.is_positive() { grown } else { nothing };
        (name.clone(), grown)
    });
    let mut all: Amounts = grown.collect();
    for name in old.keys() {
        all.entry(name.clone()).or_insert(nothing);
    }
    all
}

/// The amounts whose names are chosen.
pub(crate) fn masked(amounts: &Amounts, is_chosen: impl Fn(&str) -> bool) -> Amounts {
    let all = amounts.iter().filter(|(name, _)| is_chosen(name));
    all.map(|(name, amount)| (name.clone(), *amount)).collect()
}

/// `cpu=1,memory=2Gi`.
pub(super) fn shown(amounts: &Amounts) -> String {
    let all = amounts.iter();
    let all = all.map(|(name, amount)| format!("{name}={}", amount.text()));
    all.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_are_added_raised_and_compared_by_name() {
        let list = |list: Value| read(&list);
        let mut sum = list(json!({ "cpu": "300m", "memory": "0" }));
        add(
            &mut sum,
            &list(json!({ "cpu": "1", "memory": "1Gi", "pods": "1" })),
        );
        assert_eq!(shown(&sum), "cpu=1300m,memory=1Gi,pods=1");
        let mut most = list(json!({ "cpu": "300m", "memory": "2Gi" }));
        raise(
            &mut most,
            &list(json!({ "cpu": "1", "memory": "1Gi", "x": "0" })),
        );
        assert_eq!(shown(&most), "cpu=1,memory=2Gi,x=0");
        let grown = growth(
            &list(json!({ "cpu": "1", "memory": "1Gi", "pods": "1" })),
            &list(json!({ "cpu": "300m", "memory": "2Gi", "x": "1" })),
        );
        assert_eq!(shown(&grown), "cpu=700m,memory=0,pods=1,x=0");
        assert_eq!(
            written(&masked(&grown, |name| name == "cpu")),
            json!({ "cpu": "700m" })
        );
    }
}
