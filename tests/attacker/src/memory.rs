//! Attacks that make the host keep much, or build much from little.

use serde_json::{Map, Value, json};

use crate::object::{DELETE, config_map, query, reference};
use crate::{API_VERSION, Outcome, Primary, say, short};
use windlass_sdk::bindings::windlass::plugin::cluster::{self, Consistency, Error, PatchType};
use windlass_sdk::bindings::windlass::plugin::log::{self, Level};

/// The largest JSON text that an import takes, or nearly.
const JSON_BOMB: usize = (3 << 20) - 256;

/// Reads objects of `count` kinds that do not exist, each with a name of `bytes` bytes. No grant covers them.
pub(crate) fn read_made_up_kinds(primary: &Primary) -> Outcome {
    let mut kind = "k".repeat(primary.number("bytes", 1 << 20));
    for number in 0..primary.number("count", 100) {
        mark(&mut kind, number);
        let target = reference("v1", &kind, None, "x");
        let _ = cluster::get(&target, None, Consistency::Stored);
    }
    primary.end()
}

/// Reads `count` ConfigMaps whose names have `bytes` bytes each.
pub(crate) fn read_long_names(primary: &Primary) -> Outcome {
    let mut name = "n".repeat(primary.number("bytes", 1 << 20));
    for number in 0..primary.number("count", 100) {
        mark(&mut name, number);
        let target = primary.core("ConfigMap", &name);
        let _ = cluster::get(&target, None, Consistency::Stored);
    }
    primary.end()
}

/// Lists ConfigMaps `count` times, each time by another selector of 4 KiB.
pub(crate) fn list_by_long_selectors(primary: &Primary) -> Outcome {
    for number in 0..primary.number("count", 999) {
        let mut query = query("ConfigMap", Some(&primary.namespace), Consistency::Stored);
        query.label_selector = Some(long_selector(number));
        if let Err(error) = cluster::list(&query) {
            say(&format!("list {number}: {}", short(&format!("{error:?}"))));
            break;
        }
    }
    primary.end()
}

/// A label selector with as many requirements as 4 KiB can hold.
pub(crate) fn long_selector(number: usize) -> String {
    let mut selector = format!("!a{number}");
    while selector.len() < 4_090 {
        selector.push_str(",!z");
    }
    selector
}

/// Applies an object that is a few megabytes as text, and hundreds of times as much as a tree.
pub(crate) fn apply_json_bomb(primary: &Primary) -> Outcome {
    throw(primary, |bomb| cluster::apply(bomb).map(drop))
}

/// Creates such an object.
pub(crate) fn create_json_bomb(primary: &Primary) -> Outcome {
    throw(primary, |bomb| cluster::create(bomb).map(drop))
}

/// Sends such an object as a merge patch.
pub(crate) fn patch_json_bomb(primary: &Primary) -> Outcome {
    let kind = primary.text("kind", "Secret");
    let target = primary.core(&kind, "x");
    throw(primary, |bomb| {
        cluster::patch(&target, None, PatchType::Merge, bomb).map(drop)
    })
}

/// Applies a set of two such objects.
pub(crate) fn apply_set_json_bombs(primary: &Primary) -> Outcome {
    throw(primary, |bomb| {
        let set = [bomb.to_owned(), bomb.to_owned()];
        let first = |mut errors: Vec<cluster::SetError>| errors.remove(0).error;
        cluster::apply_set(&set).map(drop).map_err(first)
    })
}

/// Sends a bomb `count` times. Its kind is a Secret, which nobody granted, if `kind` does not name another.
fn throw(primary: &Primary, send: impl Fn(&str) -> Result<(), Error>) -> Outcome {
    let kind = primary.text("kind", "Secret");
    let bytes = primary.number("bytes", JSON_BOMB);
    let unit = "{\"\":0},";
    let values = unit.repeat(bytes / unit.len());
    let head = format!(
        "\"apiVersion\":\"v1\",\"kind\":\"{kind}\",\"metadata\":{{\"name\":\"{}-bomb\",\"namespace\":\"{}\"}}",
        primary.name, primary.namespace
    );
    let bomb = format!("{{{head},\"a\":[{values}0]}}");
    for _ in 0..primary.number("count", 2) {
        let _ = send(&bomb);
    }
    primary.end()
}

/// Applies `count` ConfigMaps of `bytes` bytes each, which the plugin also watches.
pub(crate) fn fill_store(primary: &Primary) -> Outcome {
    let bytes = primary.number("bytes", 900_000);
    for number in 0..primary.number("count", 20) {
        let mut map = config_map(
            primary,
            &format!("{}-fill-{number}", primary.name),
            &json!({}),
        );
        if let Some(data) = map.get_mut("data") {
            *data = json!({ "noise": noise(bytes, number) });
        }
        if let Err(error) = cluster::apply(&map.to_string()) {
            say(&format!("fill {number}: {}", short(&format!("{error:?}"))));
            break;
        }
    }
    primary.end()
}

/// Text that no compression makes shorter.
fn noise(bytes: usize, seed: usize) -> String {
    let mut random = crate::fuzz::Random::seeded(seed as u64);
    let mut text = String::with_capacity(bytes + 16);
    while text.len() < bytes {
        text.push_str(&format!("{:016x}", random.number()));
    }
    text
}

/// Lists all ConfigMaps of the namespace from the API server, `count` times.
pub(crate) fn list_all(primary: &Primary) -> Outcome {
    for _ in 0..primary.number("count", 10) {
        let query = query("ConfigMap", Some(&primary.namespace), Consistency::Latest);
        if let Err(error) = cluster::list(&query) {
            say(&format!("list: {}", short(&format!("{error:?}"))));
        }
    }
    primary.end()
}

/// Creates and deletes `count` Bags with 32 fields below one field whose name has `bytes` bytes.
pub(crate) fn fill_journal(primary: &Primary) -> Outcome {
    let field = "f".repeat(primary.number("bytes", 400_000));
    for number in 0..primary.number("count", 20) {
        let leaves: Map<String, Value> = (0..32)
            .map(|leaf| (format!("leaf{leaf}"), json!(number)))
            .collect();
        let name = format!("{}-bag-{number}", primary.name);
        let bag = json!({
            "apiVersion": API_VERSION, "kind": "Bag",
            "metadata": { "name": name, "namespace": primary.namespace },
            "spec": { field.clone(): leaves },
        });
        if let Err(error) = cluster::create(&bag.to_string()) {
            say(&format!("bag {number}: {}", short(&format!("{error:?}"))));
            break;
        }
        let target = reference(API_VERSION, "Bag", Some(&primary.namespace), &name);
        let _ = cluster::delete(&target, &DELETE);
    }
    primary.end()
}

/// Hands arguments of `bytes` bytes to an import that does nothing with them, `count` times.
pub(crate) fn long_arguments(primary: &Primary) -> Outcome {
    let text = "x".repeat(primary.number("bytes", 7 << 20));
    for _ in 0..primary.number("count", 100_000) {
        log::log(Level::Trace, &text, &[]);
    }
    primary.end()
}

/// Makes a text differ from the others by a number at its start.
fn mark(text: &mut String, number: usize) {
    text.replace_range(..8, &format!("{number:08}"));
}
