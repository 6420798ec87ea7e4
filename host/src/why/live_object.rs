//! What the API server says of an object, beside what a plugin's store shows.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use windlass_kube::object::{Metadata, Object};

/// What the API server says of the object now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiveObject {
    /// It could not be asked.
    Unknown(String),
    /// It is not there.
    Absent,
    /// It is there.
    There(Arc<Metadata>),
}

impl LiveObject {
    /// The object in an answer to a `get`.
    pub(super) fn of(answer: &str) -> Self {
        match Object::parse(answer) {
            Some(object) => Self::There(object.metadata),
            None => Self::Unknown("it answered with something that is not an object".to_owned()),
        }
    }

    /// The object in a list of all objects with one name.
    pub(super) fn of_list(answer: &str) -> Self {
        #[derive(Deserialize)]
        struct List<'a> {
            #[serde(borrow)]
            items: Option<Vec<&'a RawValue>>,
        }
        match serde_json::from_str::<List<'_>>(answer) {
            Ok(list) => match list.items.unwrap_or_default().first() {
                Some(object) => Self::of(object.get()),
                None => Self::Absent,
            },
            Err(_) => Self::Unknown("it answered with something that is not a list".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_one_name_says_what_a_get_would() {
        let object = r#"{"metadata":{"name":"ada","uid":"u","resourceVersion":"7"}}"#;
        let LiveObject::There(there) = LiveObject::of_list(&format!(r#"{{"items":[{object}]}}"#))
        else {
            panic!("it is there");
        };
        assert_eq!(LiveObject::of(object), LiveObject::There(there));
        for empty in [r#"{"items":[]}"#, r#"{"items":null}"#] {
            assert_eq!(LiveObject::of_list(empty), LiveObject::Absent);
        }
        for wrong in ["[]", "no", r#"{"items":[7]}"#] {
            let said = LiveObject::of_list(wrong);
            assert!(matches!(said, LiveObject::Unknown(_)), "{wrong}: {said:?}");
        }
    }
}
