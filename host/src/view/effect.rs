//! What a write did: the fields that were applied, and what else changed because of it.
//!
//! - What was sent tells both apart: a default of the API server is not a write of the plugin.
//! - What another field manager owns has changed because of that one, and is left out.
//! - Of fields that the plugin does not read, nobody knows what was there, or whether they have changed.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::difference::{Difference, Hide, compared, created};
use crate::memory::tree_of;
use crate::object::{Fields, Object, RawFields};

/// A write as it was sent, and its answer.
#[derive(Clone, Copy, Debug)]
pub struct SentWrite<'a> {
    /// The object, a merge patch, or what a JSON patch is about, marked.
    pub object: &'a Value,
    /// The answer as it is written, with its managedFields.
    pub answer: &'a str,
    /// The field manager.
    pub manager: &'a str,
}

impl SentWrite<'_> {
    /// Whether it was about one version of the object: if it is done, nobody else was there in between.
    pub(super) fn names_version(&self) -> bool {
        let version = self.object.pointer("/metadata/resourceVersion");
        version.is_some_and(Value::is_string)
    }

    /// Whether the API server has deleted `object` with this write, which is its answer: the write took off the last
    /// finalizer of an object that nothing else keeps. A pod that ends, or a namespace that is emptied, stays.
    pub(super) fn has_deleted(&self, object: &Object) -> bool {
        let metadata = &object.metadata;
        if !metadata.deleting || !metadata.finalizers.is_empty() {
            return false;
        }
        let number = |field: Option<&RawValue>| field?.get().parse::<i64>().ok();
        let is_empty = |list: &RawValue| matches!(list.get().trim(), "[]" | "null");
        let has_ended = || {
            let parts = RawFields::of(self.answer)?;
            let metadata = RawFields::within(parts.get("metadata")?)?;
            let grace = number(metadata.get("deletionGracePeriodSeconds"));
            let spec = parts.get("spec").and_then(RawFields::within);
            let more = spec.and_then(|spec| spec.get("finalizers"));
            Some(grace == Some(0) && more.is_none_or(is_empty))
        };
        has_ended().unwrap_or(false)
    }
}

#[cfg(test)]
impl SentWrite<'_> {
    /// Nothing, as nobody.
    pub(crate) const NOTHING: Self = Self {
        object: &Value::Null,
        answer: "",
        manager: "",
    };
}

/// What a write did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Effect {
    /// Fields that were sent.
    pub(super) applied: Vec<Difference>,
    /// Other fields: defaults, and what is not applied any more.
    pub(super) followed: Vec<Difference>,
    /// Fields that were sent and that the plugin does not read, with what is there now.
    pub(super) unread: Vec<Difference>,
}

/// What the write that made `object` did.
pub(super) fn of_creation(object: &Object, sent: &SentWrite<'_>, hide: Option<&Hide>) -> Effect {
    created(&object.but_metadata(), sent.object, hide)
}

/// What the write did that changed `before` to `after`, of which the plugin reads `fields`.
pub(super) fn of_change(
    before: &Object,
    after: &Object,
    fields: Option<&Fields>,
    sent: &SentWrite<'_>,
    hide: Option<&Hide>,
) -> Effect {
    let (old, whole) = before.unlike(after);
    let cut = fields.map(|fields| (fields.cut(&old), fields.cut(&whole)));
    let (old, new) = cut.as_ref().map_or((&old, &whole), |(old, new)| (old, new));
    let others = others(sent);
    let others = others.iter().filter_map(Value::as_object).collect();
    let mut effect = compared([old, new], new, sent.object, others, hide);
    let same_version = before.metadata.resource_version == after.metadata.resource_version;
    if let Some(fields) = fields.filter(|_| !same_version) {
        let there = there(sent.object, Some(&whole));
        let read = fields.cut(&there);
        let unread = compared([&read, &there], new, &there, Vec::new(), hide);
        let gone = |after: &String| after == "null";
        effect.unread = unread
            .applied
            .into_iter()
            .map(|field| Difference {
                before: None,
                after: field.after.filter(|after| !gone(after)),
                ..field
            })
            .collect();
    }
    effect
}

/// What is there now of the fields that were sent: null if nothing is. Items of a list are as they were sent, since they
/// may be elsewhere now.
fn there(sent: &Value, now: Option<&Value>) -> Value {
    match (sent, now) {
        (Value::Object(sent), None | Some(Value::Object(_))) => {
            let field = |(name, sent): (&String, &Value)| {
                let now = now.and_then(|now| now.get(name));
                (name.clone(), there(sent, now))
            };
            Value::Object(sent.iter().map(field).collect())
        }
        (Value::Array(_), Some(Value::Array(_))) => sent.clone(),
        (_, Some(now)) => now.clone(),
        (_, None) => Value::Null,
    }
}

/// So many other field managers are looked at.
const MANAGERS: usize = 50;

/// What other field managers own, as the answer says: sets of fields (structured-merge-diff's `fieldpath`).
fn others(sent: &SentWrite<'_>) -> Vec<Value> {
    let entries = || -> Option<Vec<Value>> {
        let parts = RawFields::of(sent.answer)?;
        let metadata = RawFields::within(parts.get("metadata")?)?;
        tree_of(metadata.get("managedFields")?.get())
    };
    let entries = entries().unwrap_or_default().into_iter();
    let theirs = entries
        .filter(|entry| entry.get("manager").and_then(Value::as_str) != Some(sent.manager))
        .filter_map(|mut entry| Some(entry.get_mut("fieldsV1")?.take()));
    theirs.take(MANAGERS).collect()
}

/// Who is responsible for a part of an object.
#[derive(Clone, Debug)]
pub(super) struct Guide<'a> {
    sent: SentPart<'a>,
    /// What other managers own within the part.
    others: Vec<&'a Map<String, Value>>,
    /// Whether another manager owns all of it.
    is_theirs: bool,
}

/// What was sent of a part.
#[derive(Clone, Copy, Debug)]
enum SentPart<'a> {
    /// All that is there.
    All,
    /// This.
    Some(&'a Value),
    /// Nothing.
    None,
}

/// Why a part has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChangeCause {
    /// It was sent.
    Applied,
    /// The write led to it.
    Followed,
    /// Somebody else has changed it.
    Others,
}

impl<'a> Guide<'a> {
    /// Of a whole object.
    pub(super) fn new(sent: &'a Value, others: Vec<&'a Map<String, Value>>) -> Self {
        Self {
            sent: SentPart::Some(sent),
            others,
            is_theirs: false,
        }
    }

    /// Of an object of which all was sent.
    pub(super) const ALL: Self = Self {
        sent: SentPart::All,
        others: Vec::new(),
        is_theirs: false,
    };

    /// Whether all of it was sent.
    pub(super) fn is_all(&self) -> bool {
        matches!(self.sent, SentPart::All)
    }

    /// How many sets of fields are looked through to go on.
    pub(super) fn sets(&self) -> usize {
        1 + self.others.len()
    }

    /// Why it has changed.
    pub(super) fn cause(&self) -> ChangeCause {
        match self.sent {
            SentPart::All | SentPart::Some(_) => ChangeCause::Applied,
            SentPart::None if self.is_theirs || !self.others.is_empty() => ChangeCause::Others,
            SentPart::None => ChangeCause::Followed,
        }
    }

    /// Of the field `name` in it.
    pub(super) fn field(&self, name: &str) -> Self {
        let sent = match self.sent {
            SentPart::Some(Value::Object(fields)) => {
                fields.get(name).map_or(SentPart::None, SentPart::Some)
            }
            SentPart::All | SentPart::Some(_) => SentPart::All,
            SentPart::None => SentPart::None,
        };
        let step = format!("f:{name}");
        self.within(sent, |fields| fields.get(&step).into_iter().collect())
    }

    /// Of the item at `index` in it.
    pub(super) fn item(&self, index: usize, item: Option<&Value>) -> Self {
        let sent = match self.sent {
            SentPart::Some(Value::Array(items)) => match sent_of(items, index, item) {
                Some(sent) => SentPart::Some(sent),
                None => SentPart::None,
            },
            SentPart::All | SentPart::Some(_) => SentPart::All,
            SentPart::None => SentPart::None,
        };
        self.within(sent, |fields| {
            let steps = fields.iter().take(ITEMS);
            let leads = steps.filter(|(step, _)| leads_to(step, index, item));
            leads.map(|(_, below)| below).collect()
        })
    }

    fn within(
        &self,
        sent: SentPart<'a>,
        below: impl Fn(&'a Map<String, Value>) -> Vec<&'a Value>,
    ) -> Self {
        let mut inner = Self {
            sent,
            others: Vec::new(),
            is_theirs: self.is_theirs,
        };
        for fields in self.others.iter().flat_map(|fields| below(fields)) {
            match fields.as_object() {
                Some(fields) if !fields.is_empty() => inner.others.push(fields),
                // A step without steps below it owns all that is there.
                _ => inner.is_theirs = true,
            }
        }
        inner
    }
}

/// So many items of a list are looked through for the one that was sent, or that another manager owns.
const ITEMS: usize = 100;

/// What was sent of the item at `index`: the item there may say more, such as defaults, and may be elsewhere.
fn sent_of<'a>(items: &'a [Value], index: usize, item: Option<&Value>) -> Option<&'a Value> {
    let same_place = items.get(index);
    let Some(item) = item else {
        return same_place;
    };
    let mut candidates = same_place.into_iter().chain(items.iter().take(ITEMS));
    let found = candidates.find(|sent| names_same(sent, item));
    // The API server may write a value in another form.
    found.or(same_place.filter(|sent| sent.get("name").is_none()))
}

/// Whether two items are about the same: they have the same name, or all of the smaller one's plain fields.
fn names_same(sent: &Value, item: &Value) -> bool {
    match (sent.get("name"), item.get("name")) {
        (Some(one), Some(other)) => one == other,
        _ => match (sent, item) {
            (Value::Object(sent), Value::Object(item)) => sent
                .iter()
                .filter(|(_, value)| !value.is_object() && !value.is_array())
                .all(|(name, value)| item.get(name) == Some(value)),
            (sent, item) => sent == item,
        },
    }
}

/// Whether a step of a set of fields leads to the item.
fn leads_to(step: &str, index: usize, item: Option<&Value>) -> bool {
    let Some((kind, rest)) = step.split_once(':') else {
        return false;
    };
    let parsed = || serde_json::from_str::<Value>(rest).ok();
    match (kind, item) {
        ("i", _) => rest.parse() == Ok(index),
        ("v", Some(item)) => parsed().as_ref() == Some(item),
        ("k", Some(item)) => {
            let key = parsed();
            let key = key.as_ref().and_then(Value::as_object);
            key.is_some_and(|key| {
                key.iter()
                    .all(|(name, value)| item.get(name) == Some(value))
            })
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
