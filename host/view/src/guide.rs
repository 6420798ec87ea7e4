//! Who is responsible for each part of an object that a write has changed.
//!
//! - What was sent tells the writer's parts from those that only followed.
//! - What another field manager owns has changed because of that one.

use serde_json::{Map, Value};

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
