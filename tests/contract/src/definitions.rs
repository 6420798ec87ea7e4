//! Many CRDs on both servers: how long it takes until all are served.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::{Map, Value, json};
use windlass_controlplane::eventually;

use crate::server::Server;

const PATH: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// The sizes of definitions, in bytes.
const SIZES: std::ops::Range<usize> = 10_000..200_000;
/// How many definitions a group has.
const IN_GROUP: usize = 4;
/// How long the last of them may take to be served.
const PATIENCE: Duration = Duration::from_secs(120);

/// Definitions of 10 to 200 KB, most of them small, as those of well-known projects are; always the same for
/// the same seed.
#[must_use]
pub fn generated(count: usize, seed: u64) -> Vec<Value> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let all = 0..count;
    all.map(|nth| {
        // As many between 10 and 20 KB as between 80 and 160.
        let base = SIZES.start << rng.u8(..5);
        let size = (base + rng.usize(..base)).min(SIZES.end);
        definition(nth, size, &mut rng)
    })
    .collect()
}

fn definition(nth: usize, size: usize, rng: &mut fastrand::Rng) -> Value {
    let group = group(nth);
    let versions: &[&str] = if nth.is_multiple_of(3) {
        &["v1", "v1beta1"]
    } else {
        &["v1"]
    };
    let each = size / versions.len();
    let schema = schema(each, rng);
    let versions = versions.iter().map(|version| {
        json!({
            "name": version, "served": true, "storage": *version == "v1",
            "subresources": { "status": {} },
            "additionalPrinterColumns": [
                { "name": "Mode", "type": "string", "jsonPath": ".spec.part0.mode" },
                { "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp" },
            ],
            "schema": { "openAPIV3Schema": schema },
        })
    });
    let plural = plural(nth);
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{group}") },
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": { "plural": plural, "kind": format!("Many{nth}") },
            "versions": versions.collect::<Vec<_>>(),
        },
    })
}

fn group(nth: usize) -> String {
    format!("group{}.many.windlass.dev", nth / IN_GROUP)
}

fn plural(nth: usize) -> String {
    format!("many{nth}s")
}

fn schema(size: usize, rng: &mut fastrand::Rng) -> Value {
    let mut parts = Map::new();
    let mut length = 0;
    while length < size {
        let part = part(rng);
        length += part.to_string().len() + 12;
        parts.insert(format!("part{}", parts.len()), part);
    }
    json!({
        "type": "object",
        "description": text(20, rng),
        "properties": {
            "spec": { "type": "object", "properties": parts },
            "status": { "type": "object", "properties": {
                "phase": { "type": "string" },
                "conditions": {
                    "type": "array", "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["type"],
                    "items": { "type": "object", "required": ["type"], "properties": {
                        "type": { "type": "string" }, "status": { "type": "string" } } },
                },
            } },
        },
    })
}

/// What schemas are made of: texts, limits, lists, maps, defaults, and now and then a rule.
fn part(rng: &mut fastrand::Rng) -> Value {
    let mut part = json!({
        "type": "object",
        "description": text(60, rng),
        "properties": {
            "name": { "type": "string", "maxLength": 63, "description": text(30, rng) },
            "count": { "type": "integer", "minimum": 0, "maximum": 100, "default": rng.u8(..100) },
            "mode": { "type": "string", "enum": ["fast", "slow"], "default": "slow" },
            "port": { "x-kubernetes-int-or-string": true },
            "labels": { "type": "object", "additionalProperties": { "type": "string" } },
            "items": { "type": "array", "maxItems": 16, "items": { "type": "object", "properties": {
                "key": { "type": "string", "pattern": "^[a-z0-9]+$", "description": text(20, rng) },
                "value": { "type": "string", "nullable": true },
            } } },
        },
    });
    if rng.u8(..8) == 0
        && let Value::Object(words) = &mut part
    {
        let rule = json!({ "rule": "self.count <= 100", "message": text(6, rng) });
        words.insert("x-kubernetes-validations".to_owned(), json!([rule]));
    }
    part
}

fn text(words: usize, rng: &mut fastrand::Rng) -> String {
    const WORDS: [&str; 8] = [
        "the",
        "value",
        "of",
        "a",
        "field",
        "which",
        "controllers",
        "read",
    ];
    let words = (0..words).filter_map(|_| WORDS.get(rng.usize(..WORDS.len())));
    words.copied().collect::<Vec<_>>().join(" ")
}

/// Creates definitions one after the other, as `kubectl create -f` does, and waits until each is served.
/// Answers how long that took.
///
/// # Errors
/// The server refuses one, or does not serve it in time.
pub async fn install(server: &Server, definitions: &[Value]) -> Result<Duration> {
    let start = Instant::now();
    for definition in definitions {
        let (code, answer) = server.json("POST", PATH, definition).await?;
        ensure!(code == 201, "{code} {answer}");
    }
    for nth in 0..definitions.len() {
        let path = format!("/apis/{}/v1/{}", group(nth), plural(nth));
        eventually(PATIENCE, &format!("{path} is served"), async || {
            let (code, _) = server.json("GET", &path, &Value::Null).await?;
            Ok((code == 200).then_some(()))
        })
        .await?;
    }
    Ok(start.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_the_same_for_the_same_seed_and_of_all_sizes() {
        let all = generated(100, 1);
        assert_eq!(all, generated(100, 1));
        assert_ne!(all, generated(100, 2));
        let mut sizes: Vec<usize> = all.iter().map(|one| one.to_string().len()).collect();
        sizes.sort_unstable();
        assert!(sizes.first() >= Some(&SIZES.start), "{sizes:?}");
        assert!(sizes.last() < Some(&(SIZES.end + SIZES.start)), "{sizes:?}");
        assert!(sizes.last() > Some(&(SIZES.end / 2)), "{sizes:?}");
    }
}
