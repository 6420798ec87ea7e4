//! What holds for any object: tried on random ones.

use fastrand::Rng;
use serde_json::{Value, json};

use super::compare::{Comparison, compare};
use super::merge::merge;
use super::set::Set;
use super::testing::{ApplyStory, fruits};
use super::types::Type;
use super::walk::field_set;

fn letter(random: &mut Rng) -> Value {
    ["a", "b", "c", "d"][random.usize(..4)].into()
}

fn anything(random: &mut Rng, depth: usize) -> Value {
    match random.usize(..if depth > 2 { 4 } else { 7 }) {
        0 => json!(random.i32(0..3)),
        1 => json!(null),
        2 => json!(random.bool()),
        3 => letter(random),
        4 => list(random, |random| anything(random, depth + 1)),
        _ => map(random, |random| anything(random, depth + 1)),
    }
}

fn list(random: &mut Rng, item: impl Fn(&mut Rng) -> Value) -> Value {
    (0..random.usize(..4)).map(|_| item(random)).collect()
}

fn map(random: &mut Rng, value: impl Fn(&mut Rng) -> Value) -> Value {
    let entries = (0..random.usize(..4)).map(|_| {
        let name = letter(random).as_str().unwrap_or_default().to_owned();
        (name, value(random))
    });
    Value::Object(entries.collect())
}

/// A list without doubled items.
fn distinct(random: &mut Rng, item: impl Fn(&mut Rng) -> Value, key: &str) -> Value {
    let mut items: Vec<Value> = Vec::new();
    for _ in 0..random.usize(..4) {
        let new = item(random);
        let same =
            |old: &Value| old == &new || (new.get(key).is_some() && old.get(key) == new.get(key));
        if !items.iter().any(same) {
            items.push(new);
        }
    }
    Value::Array(items)
}

fn fruit(random: &mut Rng) -> Value {
    let count = json!(random.i32(0..3));
    let item = |random: &mut Rng| json!({ "name": letter(random), "count": random.i32(0..2), "point": { "x": random.i32(0..2) } });
    let port = |random: &mut Rng| {
        if random.bool() {
            json!({ "port": random.i32(0..3), "name": letter(random) })
        } else {
            json!({ "port": random.i32(0..3), "protocol": "UDP" })
        }
    };
    let all = json!({
        "count": count,
        "text": letter(random),
        "inner": { "count": count },
        "labels": map(random, letter),
        "maps": map(random, |random| map(random, |random| json!(random.i32(0..3)))),
        "atomic": list(random, letter),
        "set": distinct(random, letter, ""),
        "items": distinct(random, item, "name"),
        "ports": distinct(random, port, "port"),
        "free": map(random, |random| anything(random, 0)),
        "metadata": { "labels": map(random, letter), "finalizers": distinct(random, letter, "") },
    });
    let all = all.as_object().into_iter().flatten();
    let some = all.filter(|_| random.bool());
    Value::Object(
        some.map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
    )
}

fn for_seeds(test: impl Fn(&mut Rng)) {
    for seed in 0..300 {
        test(&mut Rng::with_seed(seed));
    }
}

#[test]
fn sets_are_read_as_they_were_written() {
    let schema = fruits();
    for_seeds(|random| {
        let set = field_set(&fruit(random), Type::root(schema.view()));
        assert_eq!(Set::from_json(&set.to_json()), Ok(set));
    });
}

#[test]
fn sets_obey_the_laws_of_sets() {
    let schema = fruits();
    for_seeds(|random| {
        let ty = Type::root(schema.view());
        let [a, b] = [fruit(random), fruit(random)].map(|fruit| field_set(&fruit, ty));
        let (both, only) = (a.intersection(&b), a.difference(&b));
        assert_eq!(a.union(&b), b.union(&a));
        assert_eq!(both, b.intersection(&a));
        assert_eq!(both.union(&only), a);
        assert!(both.intersection(&only).is_empty());
        assert_eq!(a.union(&b).difference(&b), only);
        assert_eq!(a.recursive_difference(&b).difference(&only), Set::default());
        assert!(a.paths().iter().all(|path| a.has(path)));
    });
}

#[test]
fn a_configuration_is_in_what_it_was_merged_into() {
    let schema = fruits();
    for_seeds(|random| {
        let ty = Type::root(schema.view());
        let (live, config) = (fruit(random), fruit(random));
        assert_eq!(merge(&live, &live, ty), live);
        let merged = merge(&live, &config, ty);
        assert_eq!(merge(&merged, &config, ty), merged, "{live} {config}");
        let changes = compare(&live, &merged, ty);
        assert!(
            changes
                .modified
                .difference(&field_set(&config, ty))
                .is_empty()
        );
        assert_eq!(compare(&merged, &merged, ty), Comparison::default());
    });
}

#[test]
fn what_is_added_on_the_way_there_is_removed_on_the_way_back() {
    let schema = fruits();
    for_seeds(|random| {
        let ty = Type::root(schema.view());
        let (a, b) = (fruit(random), fruit(random));
        let (there, back) = (compare(&a, &b, ty), compare(&b, &a, ty));
        assert_eq!(there.modified.difference(&back.modified), Set::default());
        assert_eq!((there.added, there.removed), (back.removed, back.added));
    });
}

#[test]
fn objects_a_thousand_deep_are_no_trouble() {
    let deep = |inmost: i32| {
        let free = (0..1000).fold(json!(inmost), |value, _| json!({ "a": value }));
        json!({ "free": free })
    };
    let mut story = ApplyStory::new();
    story.update("a", deep(1));
    story.force("b", deep(2));
    assert!(story.fields() == deep(2));
}

/// Leaves out what is empty: if it was not before, it takes a second time until it is again.
fn without_empty(value: Value) -> Value {
    let kept = |value: &Value| *value != json!([]) && *value != json!({});
    match value {
        Value::Object(fields) => {
            let fields = fields
                .into_iter()
                .map(|(name, value)| (name, without_empty(value)));
            Value::Object(fields.filter(|(_, value)| kept(value)).collect())
        }
        other => other,
    }
}

#[test]
fn applying_again_changes_nothing() {
    for_seeds(|random| {
        let mut story = ApplyStory::new();
        for _ in 0..random.usize(1..6) {
            let manager = ["a", "b", "c"][random.usize(..3)];
            if random.bool() {
                story.update(manager, fruit(random));
                continue;
            }
            let config = without_empty(fruit(random));
            story.force(manager, config.clone());
            let once = story.live.clone();
            story.apply(manager, config).unwrap();
            assert_eq!(story.live, once);
        }
    });
}
