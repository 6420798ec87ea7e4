//! One entry of `metadata.managedFields`, read and written.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::managers::{Manager, ManagerOperation, Owned};
use super::set::Set;
use crate::json::text;
use crate::status::shown::quoted;

/// Why `managedFields` cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct NoManagers(String);

/// Reads the entry at `index`.
///
/// # Errors
/// If it is none; the text is the real server's.
pub(super) fn read(index: usize, entry: &Value) -> Result<(Manager, Owned), NoManagers> {
    let wrong = |problem: String| Err(NoManagers(problem));
    let operation = match text(entry, "operation") {
        "Apply" => ManagerOperation::Apply,
        "Update" => ManagerOperation::Update,
        _ => return wrong("operation must be `Apply` or `Update`".to_owned()),
    };
    let api_version = text(entry, "apiVersion");
    if api_version.is_empty() {
        return wrong("apiVersion must not be empty".to_owned());
    }
    match text(entry, "fieldsType") {
        "FieldsV1" => {}
        "" => {
            return wrong(format!(
                "missing fieldsType in managed fields entry {index}"
            ));
        }
        other => {
            return wrong(format!(
                "invalid fieldsType {} in managed fields entry {index}",
                quoted(other)
            ));
        }
    }
    let fields = entry.get("fieldsV1").unwrap_or(&Value::Null);
    let set = Set::from_json(fields).map_err(|error| NoManagers(error.to_string()))?;
    let mut manager = Manager::new("", operation, api_version, text(entry, "subresource"));
    text(entry, "manager").clone_into(&mut manager.name);
    let owned = Owned {
        set,
        api_version: api_version.to_owned(),
        time: text(entry, "time").parse().ok(),
    };
    Ok((manager, owned))
}

/// Writes an entry; times are whole seconds.
pub(super) fn write(manager: &Manager, owned: &Owned) -> Value {
    let time = owned.time.map(|time| {
        let whole = Timestamp::from_second(time.as_second()).unwrap_or(time);
        whole.to_string()
    });
    let texts = [
        ("manager", manager.name.as_str()),
        ("operation", manager.operation.as_str()),
        ("apiVersion", &owned.api_version),
        ("time", time.as_deref().unwrap_or_default()),
        ("fieldsType", "FieldsV1"),
        ("subresource", &manager.subresource),
    ];
    let texts = texts.into_iter().filter(|(_, text)| !text.is_empty());
    let mut entry: Map<String, Value> = texts
        .map(|(name, text)| (name.to_owned(), json!(text)))
        .collect();
    entry.insert("fieldsV1".to_owned(), owned.set.to_json());
    Value::Object(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Value {
        json!({
            "manager": "a", "operation": "Update", "apiVersion": "v1", "time": "2024-02-03T04:05:06Z",
            "fieldsType": "FieldsV1", "fieldsV1": { "f:spec": {} }, "subresource": "status",
        })
    }

    #[test]
    fn an_entry_is_written_as_it_was_read() {
        let (manager, owned) = read(0, &example()).unwrap();
        assert_eq!(write(&manager, &owned), example());
    }

    #[test]
    fn times_are_whole_seconds_in_utc() {
        let mut odd = example();
        odd["time"] = json!("2024-02-03T04:05:06.789+02:00");
        let (manager, owned) = read(0, &odd).unwrap();
        assert_eq!(
            write(&manager, &owned)["time"],
            json!("2024-02-03T02:05:06Z")
        );
    }

    #[test]
    fn what_is_no_entry_is_refused() {
        let table = [
            (
                "operation",
                json!("Delete"),
                "operation must be `Apply` or `Update`",
            ),
            (
                "operation",
                json!(null),
                "operation must be `Apply` or `Update`",
            ),
            ("apiVersion", json!(""), "apiVersion must not be empty"),
            (
                "fieldsType",
                json!(""),
                "missing fieldsType in managed fields entry 0",
            ),
            (
                "fieldsType",
                json!("V2"),
                "invalid fieldsType \"V2\" in managed fields entry 0",
            ),
            ("fieldsV1", json!({ "spec": {} }), "missing colon: spec"),
        ];
        for (name, value, problem) in table {
            let mut wrong = example();
            wrong[name] = value;
            let found = read(0, &wrong).unwrap_err();
            assert_eq!(found.to_string(), problem);
        }
        assert!(read(0, &json!({})).is_err());
    }
}
