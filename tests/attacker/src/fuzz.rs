//! Calls of every import with arguments made up from a seed.

use serde_json::{Value, json};

use crate::{Outcome, Primary};
use windlass_sdk::bindings::windlass::plugin::cluster::{
    self, ChildrenQuery, Consistency, DeleteOptions, ListQuery, PatchType, Propagation,
};
use windlass_sdk::bindings::windlass::plugin::events::{self, Event, Severity};
use windlass_sdk::bindings::windlass::plugin::log::{self, Field, Level};
use windlass_sdk::bindings::windlass::plugin::metrics::{self, Label};
use windlass_sdk::bindings::windlass::plugin::types::ObjectRef;
use windlass_sdk::bindings::windlass::plugin::{clock, config, http, memory, rates};

const VERSIONS: &[&str] = &[
    "v1",
    "",
    "/",
    "v1/",
    "apps/v1",
    "examples.windlass.dev/v1",
    "examples.windlass.dev/v9",
    "\u{0}",
    "..",
    "a/b/c",
];
const KINDS: &[&str] = &[
    "ConfigMap",
    "Greeting",
    "Secret",
    "",
    "\n",
    "Bag",
    "configmaps",
    "Namespace",
    "é",
    "Service",
];
const NAMES: &[&str] = &[
    "victim", "g1", "", ".", "..", "a/b", "%2e", "\u{0}", "x y", "\u{202e}", "A", "g2-h", "~", "@",
    ":",
];
const SUBRESOURCES: &[&str] = &[
    "status", "scale", "", "exec", "..", "log", "token", "eviction", "\u{1b}",
];
const SELECTORS: &[&str] = &[
    "",
    "a=b",
    "a in (b,c)",
    "!a",
    "a in ()",
    "(((",
    "a==b,c!=d",
    "=",
    "a notin (",
    "a,b,c",
    "\u{0}",
    "x in (a",
    "a=b=c",
];
const PATHS: &[&str] = &[
    ".metadata.name",
    ".metadata",
    ".data['a']",
    ".spec[*][*].a",
    "",
    ".",
    "[*]",
    ".a['",
    "\u{0}",
];
const FIELDS: &[&str] = &["metadata", "spec", "status", "data", "kind", "apiVersion"];
const METADATA: &[&str] = &[
    "uid",
    "resourceVersion",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "generateName",
    "deletionTimestamp",
    "generation",
    "name",
    "namespace",
];
const OPERATIONS: &[&str] = &["add", "remove", "replace", "move", "copy", "test", ""];
const POINTERS: &[&str] = &[
    "",
    "/metadata/labels/a",
    "/data/a",
    "/data",
    "/spec",
    "/status",
    "/metadata/annotations",
    "/data/-",
    "/data/0",
    "/~2",
    "/data/~",
    "//",
    "/metadata/uid",
];

/// xorshift: the same numbers for the same seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(seed ^ 0x9e37_79b9_7f4a_7c15 | 1)
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.number() % end
    }

    fn one_of(&mut self, texts: &[&'static str]) -> &'static str {
        let count = texts.len().max(1) as u64;
        let index = usize::try_from(self.below(count)).unwrap_or(0);
        texts.get(index).copied().unwrap_or_default()
    }

    fn maybe<T>(&mut self, value: T) -> Option<T> {
        (self.below(2) == 0).then_some(value)
    }

    fn consistency(&mut self) -> Consistency {
        match self.below(2) {
            0 => Consistency::Stored,
            _ => Consistency::Latest,
        }
    }

    /// Any JSON value.
    fn value(&mut self, depth: usize) -> Value {
        match self.below(9) {
            0 => Value::Null,
            1 => json!(true),
            2 => json!(self.number()),
            3 => json!(1e308),
            4 => json!("\u{1b}[2J\u{0}x"),
            5 if depth < 20 => json!([self.value(depth + 1)]),
            6 if depth < 20 => {
                json!({ "finalizers": self.value(depth + 1), "a": self.value(depth + 1) })
            }
            7 => json!(-0.0),
            _ => json!(""),
        }
    }
}

/// Makes `count` calls. The seed is the configuration's `seed` and the primary's name.
pub(crate) fn fuzz(primary: &Primary) -> Outcome {
    let name = primary.name.bytes();
    let name = name.fold(7_u64, |sum, byte| sum.wrapping_mul(31) + u64::from(byte));
    let seed = u64::try_from(primary.number("seed", 1)).unwrap_or(1);
    let mut random = Random::seeded(seed.wrapping_mul(0x1_0000_0001) ^ name);
    for _ in 0..primary.number("count", 60) {
        call(primary, &mut random);
    }
    primary.end()
}

fn call(primary: &Primary, random: &mut Random) {
    let namespace = match random.below(4) {
        0 => None,
        1 => Some(primary.namespace.clone()),
        2 => Some(primary.text("other", "other")),
        _ => Some(random.one_of(NAMES).to_owned()),
    };
    let target = ObjectRef {
        api_version: random.one_of(VERSIONS).to_owned(),
        kind: random.one_of(KINDS).to_owned(),
        namespace,
        name: random.one_of(NAMES).to_owned(),
    };
    let subresource = random.one_of(SUBRESOURCES);
    match random.below(18) {
        0 => {
            let (subresource, consistency) = (random.maybe(subresource), random.consistency());
            drop(cluster::get(&target, subresource, consistency));
            drop(cluster::unchanged_for(&target));
        }
        1 => {
            drop(cluster::list(&query(&target, random)));
            let paths: Vec<String> = (0..random.below(5))
                .map(|_| random.one_of(PATHS).to_owned())
                .collect();
            drop(cluster::select(&query(&target, random), &paths));
        }
        2 => drop(cluster::apply(&object(&target, random))),
        3 => drop(cluster::apply_status(&object(&target, random))),
        4 => {
            let set = [object(&target, random), object(&target, random)];
            drop(cluster::apply_set(&set));
        }
        5 => {
            drop(cluster::create(&object(&target, random)));
            let many: Vec<String> = (0..random.below(6))
                .map(|_| object(&target, random))
                .collect();
            drop(cluster::create_many(&many));
        }
        6 => {
            let object = object(&target, random);
            drop(cluster::create_subresource(&target, subresource, &object));
            drop(cluster::update_subresource(&target, subresource, &object));
        }
        7 => {
            let patch = json!([{
                "op": random.one_of(OPERATIONS), "path": random.one_of(POINTERS),
                "from": random.one_of(POINTERS), "value": random.value(0),
            }]);
            let subresource = random.maybe(subresource);
            drop(cluster::patch(
                &target,
                subresource,
                PatchType::Json,
                &patch.to_string(),
            ));
        }
        8 => {
            let patch = object(&target, random);
            let subresource = random.maybe(subresource);
            drop(cluster::patch(
                &target,
                subresource,
                PatchType::Merge,
                &patch,
            ));
        }
        9 => {
            drop(cluster::delete(&target, &delete_options(random)));
            let query = query(&target, random);
            drop(cluster::delete_all(&query, &delete_options(random)));
            let many = [
                (target.clone(), delete_options(random)),
                (target, delete_options(random)),
            ];
            drop(cluster::delete_many(&many));
        }
        10 => publish(&target, random),
        11 => measure(random),
        12 => {
            let field = Field {
                key: random.one_of(NAMES).to_owned(),
                value: random.one_of(SELECTORS).to_owned(),
            };
            log::log(Level::Debug, random.one_of(NAMES), &[field]);
        }
        13 => {
            let owner = random.one_of(NAMES);
            let query = ChildrenQuery {
                api_version: target.api_version,
                kind: target.kind,
                namespace: target.namespace,
                owner: random.maybe(owner).map(str::to_owned),
                orphans: random.below(2) == 0,
                metadata_only: random.below(2) == 0,
            };
            drop(cluster::list_children(&query));
            drop(cluster::kinds());
        }
        14 => {
            let (uid, finalizer) = (random.one_of(NAMES), random.one_of(SUBRESOURCES));
            let owner = (random.below(2) == 0).then(|| target.clone());
            let finalizer = random.maybe(finalizer);
            drop(cluster::adopt(&target, uid, owner.as_ref(), finalizer));
            let owners = [random.one_of(NAMES).to_owned()];
            drop(cluster::disown(&target, uid, &owners, finalizer));
        }
        15 => {
            let (uid, finalizer) = (random.one_of(NAMES), random.one_of(SUBRESOURCES));
            drop(cluster::hold(&target, uid, finalizer));
            drop(cluster::release(&target, uid, finalizer));
            drop(cluster::protect());
            let targets = [(target.clone(), uid.to_owned()), (target, String::new())];
            drop(cluster::release_many(&targets, finalizer));
        }
        16 => {
            let header = http::Header {
                name: random.one_of(NAMES).to_owned(),
                value: random.one_of(SELECTORS).to_owned(),
            };
            let url = format!(
                "https://{}/{}",
                random.one_of(NAMES),
                random.one_of(SUBRESOURCES)
            );
            drop(http::fetch(&http::Request {
                method: random.one_of(&["GET", "POST", "TRACE", "get"]).to_owned(),
                url,
                headers: vec![header],
                body: vec![0; usize::try_from(random.below(4096)).unwrap_or(0)],
                timeout_ms: random.maybe(1),
                credential: None,
            }));
        }
        _ => {
            clock::wake_at(random.one_of(SELECTORS));
            drop((config::get(), clock::now()));
            memory::keep(&vec![
                1;
                usize::try_from(random.below(20 << 10)).unwrap_or(0)
            ]);
            drop(memory::recall());
            let per_hour = u32::try_from(random.below(1 << 32)).unwrap_or(0);
            let _ = rates::take(random.one_of(SELECTORS), per_hour, per_hour % 3);
        }
    }
}

/// An object of the target's kind with random fields.
fn object(target: &ObjectRef, random: &mut Random) -> String {
    let metadata = json!({ "name": target.name, "namespace": target.namespace });
    let mut object =
        json!({ "apiVersion": target.api_version, "kind": target.kind, "metadata": metadata });
    for _ in 0..random.below(4) {
        let value = random.value(0);
        let of_metadata = random.below(2) == 0;
        let field = random.one_of(if of_metadata { METADATA } else { FIELDS });
        let place = if of_metadata {
            object.get_mut("metadata")
        } else {
            Some(&mut object)
        };
        if let Some(Value::Object(fields)) = place {
            fields.insert(field.to_owned(), value);
        }
    }
    // Sometimes it is not JSON at all.
    let text = object.to_string();
    match random.below(8) {
        0 => text.chars().take(text.len() / 2).collect(),
        _ => text,
    }
}

fn query(target: &ObjectRef, random: &mut Random) -> ListQuery {
    ListQuery {
        api_version: target.api_version.clone(),
        kind: target.kind.clone(),
        namespace: target.namespace.clone(),
        label_selector: Some(random.one_of(SELECTORS).to_owned()),
        field_selector: {
            let selector = random.one_of(SELECTORS).to_owned();
            random.maybe(selector)
        },
        limit: match random.below(4) {
            0 => Some(0),
            1 => Some(u32::MAX),
            2 => Some(1),
            _ => None,
        },
        consistency: random.consistency(),
    }
}

fn delete_options(random: &mut Random) -> DeleteOptions {
    DeleteOptions {
        uid: random.maybe("x".to_owned()),
        resource_version: random.maybe("\u{0}".to_owned()),
        propagation: random.maybe(Propagation::Orphan),
        grace_period_seconds: random.maybe(u32::MAX),
    }
}

fn publish(target: &ObjectRef, random: &mut Random) {
    events::publish(&Event {
        regarding: random.maybe(target.clone()),
        related: random.maybe(target.clone()),
        severity: Severity::Normal,
        reason: random.one_of(NAMES).to_owned(),
        action: random.one_of(NAMES).to_owned(),
        note: random.one_of(SELECTORS).to_owned(),
    });
}

fn measure(random: &mut Random) {
    let label = Label {
        name: random.one_of(NAMES).to_owned(),
        value: random.one_of(NAMES).to_owned(),
    };
    let value = match random.below(4) {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2 => -1.0,
        _ => 1e308,
    };
    let name = random.one_of(NAMES);
    match random.below(3) {
        0 => metrics::add(name, &[label], value),
        1 => metrics::set(name, &[label], value),
        _ => metrics::observe(name, &[label], value),
    }
}
