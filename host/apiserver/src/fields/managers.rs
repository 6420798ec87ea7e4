//! `metadata.managedFields`: who owns which fields, since when, and in which version.
//!
//! - One entry per manager, operation, subresource and, for updates, version: an applier has one entry
//!   whatever version it applied in.
//! - Entries without fields are dropped; of updaters, the oldest beyond ten are put together.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use super::entry::{self, NoManagers};
use super::set::Set;

const MAX_UPDATERS: usize = 10;
const OLDEST_UPDATERS: &str = "ancient-changes";

/// How fields came to be owned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ManagerOperation {
    Apply,
    Update,
}

/// Who owns fields.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Manager {
    pub(super) name: String,
    pub(super) operation: ManagerOperation,
    /// Empty for appliers.
    pub(super) api_version: String,
    pub(super) subresource: String,
}

/// What a manager owns.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Owned {
    pub(super) set: Set,
    pub(super) api_version: String,
    pub(super) time: Option<Timestamp>,
}

/// All who own fields of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Managers(pub(super) BTreeMap<Manager, Owned>);

impl ManagerOperation {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

impl Manager {
    /// A manager that writes in `api_version`.
    pub(super) fn new(
        name: &str,
        operation: ManagerOperation,
        api_version: &str,
        subresource: &str,
    ) -> Self {
        let api_version = match operation {
            ManagerOperation::Apply => "",
            ManagerOperation::Update => api_version,
        };
        Self {
            name: if name.is_empty() { "unknown" } else { name }.to_owned(),
            operation,
            api_version: api_version.to_owned(),
            subresource: subresource.to_owned(),
        }
    }

    /// What the real server knows a manager by; it sorts by this where nothing else is said.
    pub(super) fn identifier(&self) -> String {
        let mut parts = vec![
            ("manager", self.name.as_str()),
            ("operation", self.operation.as_str()),
            ("apiVersion", &self.api_version),
            ("subresource", &self.subresource),
        ];
        parts.retain(|(_, text)| !text.is_empty());
        let parts: Vec<String> = parts
            .into_iter()
            .map(|(name, text)| format!("\"{name}\":{}", Value::from(text)))
            .collect();
        format!("{{{}}}", parts.join(","))
    }
}

impl Managers {
    /// Reads the list; entries of the same manager replace each other.
    pub(super) fn read(entries: &[Value]) -> Result<Self, NoManagers> {
        let entries = entries.iter().enumerate();
        let managers = entries.map(|(index, entry)| entry::read(index, entry));
        Ok(Self(managers.collect::<Result<_, _>>()?))
    }

    /// Writes the list; nothing where nobody owns anything.
    pub(super) fn write(&self) -> Option<Value> {
        let mut entries: Vec<_> = self.0.iter().collect();
        entries.sort_by_key(|(manager, owned)| {
            (
                manager.operation,
                seconds(owned.time),
                &manager.name,
                &owned.api_version,
                &manager.subresource,
            )
        });
        let entries: Vec<Value> = entries
            .into_iter()
            .map(|(m, owned)| entry::write(m, owned))
            .collect();
        (!entries.is_empty()).then_some(Value::Array(entries))
    }

    /// What anybody owns in each version; first `first`.
    pub(super) fn by_version(&self, first: &str) -> Vec<Set> {
        let mut versions: BTreeMap<(bool, &str), Set> = BTreeMap::new();
        for owned in self.0.values() {
            let version = owned.api_version.as_str();
            let all = versions.entry((version != first, version)).or_default();
            all.add(&owned.set);
        }
        versions.into_values().collect()
    }

    /// Drops those who own nothing.
    pub(super) fn drop_empty(&mut self) {
        self.0.retain(|_, owned| !owned.set.is_empty());
    }

    /// Puts the oldest updaters together, by version, until there are ten.
    pub(super) fn cap_updaters(&mut self) {
        let mut updaters: Vec<_> = self
            .0
            .iter()
            .filter(|(manager, _)| manager.operation == ManagerOperation::Update)
            .map(|(manager, owned)| (seconds(owned.time), manager.identifier(), manager.clone()))
            .collect();
        updaters.sort();
        let mut left = updaters.len();
        let mut first: BTreeMap<String, Manager> = BTreeMap::new();
        for (_, _, manager) in updaters {
            if left <= MAX_UPDATERS {
                return;
            }
            let Some(owned) = self.0.get(&manager).cloned() else {
                continue;
            };
            let version = owned.api_version.clone();
            let bucket = Manager::new(OLDEST_UPDATERS, ManagerOperation::Update, &version, "");
            let Some(first) = first.get(&version) else {
                first.insert(version, manager);
                continue;
            };
            if !self.0.contains_key(&bucket)
                && let Some(oldest) = self.0.remove(first)
            {
                self.0.insert(bucket.clone(), oldest);
            }
            if let Some(bucket) = self.0.get_mut(&bucket) {
                bucket.set.add(&owned.set);
                bucket.time = owned.time;
            }
            self.0.remove(&manager);
            left -= 1;
        }
    }
}

fn seconds(time: Option<Timestamp>) -> i64 {
    time.map(Timestamp::as_second).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(manager: &str, operation: &str, version: &str, second: i64) -> Value {
        json!({
            "manager": manager, "operation": operation, "apiVersion": version,
            "time": Timestamp::from_second(second).unwrap().to_string(),
            "fieldsType": "FieldsV1", "fieldsV1": { format!("f:{manager}{version}"): {} },
        })
    }

    fn rewritten(entries: &[Value]) -> Value {
        Managers::read(entries).unwrap().write().unwrap()
    }

    #[test]
    fn entries_are_written_as_they_were_read_and_sorted() {
        let mut status = entry("c", "Update", "v1", 3);
        status["subresource"] = json!("status");
        let mut timeless = entry("z", "Update", "v1", 0);
        timeless.as_object_mut().unwrap().remove("time");
        let sorted = [
            entry("b", "Apply", "v1", 9),
            timeless,
            entry("c", "Update", "v1", 3),
            status,
            entry("c", "Update", "v2", 3),
            entry("d", "Update", "v1", 3),
            entry("a", "Update", "v1", 4),
        ];
        let mut shuffled = sorted.to_vec();
        shuffled.reverse();
        assert_eq!(rewritten(&shuffled), json!(sorted));
    }

    #[test]
    fn an_applier_has_one_entry_whatever_the_version() {
        let both = [entry("a", "Apply", "v1", 1), entry("a", "Apply", "v2", 2)];
        assert_eq!(rewritten(&both), json!([entry("a", "Apply", "v2", 2)]));
    }

    #[test]
    fn the_oldest_updaters_are_put_together() {
        let names = |managers: &Managers| -> Vec<String> {
            let entries = managers.write().unwrap();
            let entries = entries.as_array().unwrap().iter();
            entries
                .map(|entry| {
                    let text = |name: &str| entry[name].as_str().unwrap();
                    let time: Timestamp = text("time").parse().unwrap();
                    format!(
                        "{} {} {}",
                        text("manager"),
                        text("apiVersion"),
                        time.as_second()
                    )
                })
                .collect()
        };
        let updaters =
            |count: i64| (0..count).map(|i| entry(&format!("m{i}"), "Update", "v1", i + 1));
        let mut ten = Managers::read(&updaters(10).collect::<Vec<_>>()).unwrap();
        let before = ten.clone();
        ten.cap_updaters();
        assert_eq!(ten, before);

        let mut more: Vec<Value> = updaters(12).collect();
        more.push(entry("a", "Apply", "v1", 1));
        let mut more = Managers::read(&more).unwrap();
        more.cap_updaters();
        let mut left = vec!["a v1 1".to_owned(), "ancient-changes v1 3".to_owned()];
        left.extend((3..12).map(|i| format!("m{i} v1 {}", i + 1)));
        assert_eq!(names(&more), left);
        let bucket = Manager::new(OLDEST_UPDATERS, ManagerOperation::Update, "v1", "");
        assert_eq!(
            more.0[&bucket].set.to_json(),
            json!({ "f:m0v1": {}, "f:m1v1": {}, "f:m2v1": {} })
        );
        // The next one joins them.
        more.0
            .extend(Managers::read(&[entry("n", "Update", "v1", 20)]).unwrap().0);
        more.cap_updaters();
        assert_eq!(names(&more)[1], "ancient-changes v1 4");
    }

    #[test]
    fn updaters_are_put_together_by_version() {
        let versions = ["v1", "v2", "v1", "v2", "v3"];
        let many: Vec<Value> = versions
            .iter()
            .cycle()
            .take(13)
            .enumerate()
            .map(|(i, version)| entry(&format!("m{i:02}"), "Update", version, i as i64))
            .collect();
        let mut managers = Managers::read(&many).unwrap();
        managers.cap_updaters();
        let buckets: Vec<_> = managers
            .0
            .iter()
            .filter(|(m, _)| m.name == OLDEST_UPDATERS)
            .collect();
        let buckets: Vec<_> = buckets
            .iter()
            .map(|(_, owned)| (owned.api_version.as_str(), owned.set.to_json()))
            .collect();
        assert_eq!(
            buckets,
            [
                ("v1", json!({ "f:m00v1": {}, "f:m02v1": {}, "f:m05v1": {} })),
                ("v2", json!({ "f:m01v2": {}, "f:m03v2": {} })),
            ]
        );
        assert_eq!(managers.0.len(), 10);
    }

    #[test]
    fn managers_are_known_by_what_the_real_server_knows_them_by() {
        let update = Manager::new("kubectl", ManagerOperation::Update, "apps/v1", "status");
        assert_eq!(
            update.identifier(),
            r#"{"manager":"kubectl","operation":"Update","apiVersion":"apps/v1","subresource":"status"}"#
        );
        let apply = Manager::new("", ManagerOperation::Apply, "apps/v1", "");
        assert_eq!(
            apply.identifier(),
            r#"{"manager":"unknown","operation":"Apply"}"#
        );
    }
}
