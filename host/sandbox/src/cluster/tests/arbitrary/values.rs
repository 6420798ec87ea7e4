//! Arguments of any kind, from a seed.

use super::*;

/// Arguments from a seed.
pub(super) struct Arbitrary(pub(super) Rng);

impl Arbitrary {
    pub(super) fn below(&self, end: u64) -> u64 {
        self.0.number() % end
    }

    pub(super) fn one_of<'a>(&self, texts: &[&'a str]) -> &'a str {
        texts[usize::try_from(self.below(texts.len() as u64)).unwrap()]
    }

    pub(super) fn maybe<T>(&self, value: T) -> Option<T> {
        (self.below(2) == 0).then_some(value)
    }

    /// Any text: mostly short, sometimes long, of any characters.
    pub(super) fn noise(&self) -> String {
        let bytes = match self.below(20) {
            0 => 64 << 10,
            _ => self.below(40),
        };
        let bytes: Vec<u8> = (0..bytes)
            .map(|_| self.0.number().to_le_bytes()[0])
            .collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// One of `texts`, or any text.
    pub(super) fn text(&self, texts: &[&str]) -> String {
        match self.below(4) {
            0 => self.noise(),
            _ => self.one_of(texts).to_owned(),
        }
    }

    pub(super) fn name(&self) -> String {
        self.text(&[
            "ada", "page", "", ".", "..", "a/b", "%2e", "\0", "x y", "A", "~",
        ])
    }

    pub(super) fn reference(&self) -> ObjectRef {
        let versions = [
            "v1",
            "apps/v1",
            "examples.windlass.dev/v1",
            "",
            "/",
            "v1/",
            "a/b/c",
        ];
        let kinds = [
            "ConfigMap",
            "Greeting",
            "Deployment",
            "Secret",
            "Pod",
            "configmaps",
            "\n",
        ];
        ObjectRef {
            api_version: self.text(&versions),
            kind: self.text(&kinds),
            namespace: match self.below(3) {
                0 => None,
                1 => Some("default".to_owned()),
                _ => Some(self.name()),
            },
            name: self.name(),
        }
    }

    pub(super) fn value(&self, depth: u64) -> Value {
        match self.below(8) {
            0 => Value::Null,
            1 => json!(true),
            2 => json!(self.0.number()),
            3 => json!(self.noise()),
            4 if depth < 100 => json!([self.value(depth + 1)]),
            5 if depth < 100 => {
                json!({ self.name(): self.value(depth + 1), "finalizers": self.value(depth + 1) })
            }
            6 => json!(-1e300),
            _ => json!({}),
        }
    }

    /// An object of a kind that is served or not, with fields that are right or not; or no JSON.
    pub(super) fn object(&self) -> String {
        let of = self.reference();
        let metadata = json!({ "name": of.name, "namespace": of.namespace });
        let mut object =
            json!({ "apiVersion": of.api_version, "kind": of.kind, "metadata": metadata });
        let fields = ["metadata", "spec", "status", "data", "kind", "apiVersion"];
        let metadata = [
            "uid",
            "resourceVersion",
            "labels",
            "ownerReferences",
            "finalizers",
            "generateName",
        ];
        for _ in 0..self.below(4) {
            let value = self.value(0);
            if self.below(2) == 0 {
                object[self.text(&fields)] = value;
            } else if let Some(Value::Object(held)) = object.get_mut("metadata") {
                held.insert(self.text(&metadata), value);
            }
        }
        let mut text = object.to_string();
        if self.below(6) == 0 {
            let mut end = usize::try_from(self.below(text.len() as u64)).unwrap();
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.truncate(end);
        }
        text
    }

    pub(super) fn patch(&self) -> String {
        let operations = ["add", "remove", "replace", "move", "copy", "test"];
        let paths = [
            "",
            "/data/a",
            "/data",
            "/metadata/labels/a",
            "/metadata/uid",
            "//",
            "/~2",
            "/data/-",
        ];
        match self.below(2) {
            0 => self.object(),
            _ => json!([{
                "op": self.text(&operations), "path": self.text(&paths),
                "from": self.text(&paths), "value": self.value(0),
            }])
            .to_string(),
        }
    }

    pub(super) fn query(&self) -> cluster::ListQuery {
        let of = self.reference();
        let selectors = [
            "",
            "a=b",
            "a in (b,c)",
            "!a",
            "a in ()",
            "(((",
            "=",
            "a notin (",
            "a=b=c",
        ];
        cluster::ListQuery {
            api_version: of.api_version,
            kind: of.kind,
            namespace: of.namespace,
            label_selector: self.maybe(self.text(&selectors)),
            field_selector: self.maybe(self.text(&selectors)),
            limit: self.maybe(u32::try_from(self.below(1 << 32)).unwrap()),
            consistency: self.consistency(),
        }
    }

    pub(super) fn children_query(&self) -> cluster::ChildrenQuery {
        let of = self.reference();
        cluster::ChildrenQuery {
            api_version: of.api_version,
            kind: of.kind,
            namespace: of.namespace,
            owner: self.maybe(self.noise()),
            orphans: self.below(2) == 0,
            metadata_only: self.below(2) == 0,
        }
    }

    pub(super) fn finalizer(&self) -> String {
        self.text(&["example.com/a", "windlass.dev/greeter", "orphan", "", "/"])
    }

    pub(super) fn consistency(&self) -> Consistency {
        match self.below(2) {
            0 => Consistency::Stored,
            _ => Consistency::Latest,
        }
    }

    pub(super) fn delete_options(&self) -> DeleteOptions {
        DeleteOptions {
            uid: self.maybe(self.noise()),
            resource_version: self.maybe(self.noise()),
            propagation: self.maybe(cluster::Propagation::Foreground),
            grace_period_seconds: self.maybe(u32::MAX),
        }
    }

    pub(super) fn event(&self) -> events::Event {
        events::Event {
            regarding: self.maybe(self.reference()),
            related: self.maybe(self.reference()),
            severity: events::Severity::Warning,
            reason: self.name(),
            action: self.name(),
            note: self.noise(),
        }
    }

    pub(super) fn float(&self) -> f64 {
        let numbers = [-0.0, 1.0, f64::NAN, f64::INFINITY, f64::MIN, f64::MAX];
        match self.below(2) {
            0 => f64::from_bits(self.0.number()),
            _ => numbers[usize::try_from(self.below(numbers.len() as u64)).unwrap()],
        }
    }

    pub(super) fn labels(&self) -> Vec<metrics::Label> {
        let label = |_| metrics::Label {
            name: self.name(),
            value: self.noise(),
        };
        (0..self.below(12)).map(label).collect()
    }
}
