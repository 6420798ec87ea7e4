//! An example plugin: deletes objects of any kind when their time is up.
//!
//! It watches every kind that its grants name, and gets only the metadata of their objects.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use windlass_sdk::{
    Action, Cluster, DeleteOptions, Event, Failure, Needs, Object, Propagation, Reconciler, export,
    need,
};

/// How long an object is kept, from when it was created: `90s`, `30m`, `72h`, `7d`.
const TTL: &str = "examples.windlass.dev/ttl";

/// The controller.
#[derive(Default)]
pub struct Janitor;

impl Reconciler for Janitor {
    const WATCHES: (&'static str, &'static str) = ("*", "*");
    type Object = Object<Option<Value>>;

    fn needs() -> Needs {
        need("*", "*", &["delete"])
    }

    fn reconcile(&self, object: &Self::Object, cluster: &dyn Cluster) -> Result<Action, Failure> {
        let Some(text) = object.metadata.annotations.get(TTL) else {
            return Ok(Action::AwaitChange);
        };
        let Some(ttl) = duration(text) else {
            let message = format!("{TTL}: {text:?} is not a time such as 90s, 30m, 72h or 7d");
            cluster.event(Event::warning("InvalidTTL", "Reconcile", &message));
            return Err(Failure::terminal(message));
        };
        let created = time(object.metadata.creation_timestamp().unwrap_or_default())?;
        let end = created
            .checked_add(ttl)
            .map_err(|error| Failure::terminal(error.to_string()))?;
        if time(&cluster.now())? < end {
            cluster.wake_at(&end.to_string());
            return Ok(Action::AwaitChange);
        }
        // Not if somebody has given it more time meanwhile.
        let options = DeleteOptions {
            uid: Some(object.metadata.uid.clone()),
            resource_version: version(object).map(str::to_owned),
            propagation: Some(Propagation::Background),
            ..DeleteOptions::default()
        };
        match cluster.delete_with(&object.reference(), &options) {
            Err(error) if error.is_not_found() => {}
            deleted => deleted?,
        }
        Ok(Action::AwaitChange)
    }
}

fn version(object: &Object<Option<Value>>) -> Option<&str> {
    object.metadata.rest.get("resourceVersion")?.as_str()
}

/// A whole number and its unit.
fn duration(text: &str) -> Option<SignedDuration> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        _ => return None,
    };
    let number: u32 = number.parse().ok()?;
    Some(SignedDuration::from_secs(i64::from(number) * seconds))
}

fn time(text: &str) -> Result<Timestamp, Failure> {
    let read = text.parse::<Timestamp>();
    read.map_err(|error| Failure::terminal(format!("{text:?} is not a time: {error}")))
}

export!(Janitor);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_number_and_a_unit() {
        let rows = [
            ("90s", Some(90)),
            ("30m", Some(1800)),
            ("72h", Some(259_200)),
            ("7d", Some(604_800)),
            ("0s", Some(0)),
            ("", None),
            ("h", None),
            ("1w", None),
            ("-1h", None),
            ("1.5h", None),
            ("99999999999h", None),
            ("3 µ", None),
        ];
        for (text, want) in rows {
            let read = duration(text).map(|read| read.as_secs());
            assert_eq!(read, want, "{text:?}");
        }
    }
}
