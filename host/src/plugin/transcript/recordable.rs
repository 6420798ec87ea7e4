//! Answers of imports, as they are noted and given again.

use serde_json::Value;

use super::{RecordedError, Reply, arguments};
use crate::plugin::bindings::cluster::{Error, SetError};

/// An answer that can be noted, and given again from a note.
pub(in crate::plugin) trait Recordable: Sized {
    /// As it is noted.
    fn reply(&self) -> Reply;

    /// About how many bytes it has until then.
    fn bytes(&self) -> usize;

    /// Calls `each` with each object in it.
    fn objects(&self, each: &mut dyn FnMut(&str));

    /// What was noted; none if the note is of something else.
    fn from_reply(reply: Reply) -> Option<Self>;
}

/// A part of an answer.
pub(in crate::plugin) trait RecordablePart: Sized {
    fn to_json(&self) -> Value;
    fn length(&self) -> usize;
    fn objects(&self, each: &mut dyn FnMut(&str));
    fn from_json(value: Value) -> Option<Self>;
}

/// An object.
impl RecordablePart for String {
    fn to_json(&self) -> Value {
        arguments::object(self)
    }

    fn length(&self) -> usize {
        self.len()
    }

    fn objects(&self, each: &mut dyn FnMut(&str)) {
        each(self);
    }

    fn from_json(value: Value) -> Option<Self> {
        Some(match value {
            Value::String(text) => text,
            value => value.to_string(),
        })
    }
}

impl RecordablePart for Vec<String> {
    fn to_json(&self) -> Value {
        self.iter().map(RecordablePart::to_json).collect()
    }

    fn length(&self) -> usize {
        self.iter().map(|text| text.len() + 32).sum()
    }

    fn objects(&self, each: &mut dyn FnMut(&str)) {
        self.iter().for_each(|text| each(text));
    }

    fn from_json(value: Value) -> Option<Self> {
        match value {
            Value::Array(items) => items.into_iter().map(String::from_json).collect(),
            _ => None,
        }
    }
}

impl RecordablePart for () {
    fn to_json(&self) -> Value {
        Value::Null
    }

    fn length(&self) -> usize {
        0
    }

    fn objects(&self, _: &mut dyn FnMut(&str)) {}

    fn from_json(_: Value) -> Option<Self> {
        Some(())
    }
}

impl<T: RecordablePart> Recordable for Result<T, Error> {
    fn reply(&self) -> Reply {
        match self {
            Ok(part) => Reply::Ok(part.to_json()),
            Err(error) => Reply::Errors(vec![RecordedError::of(None, error)]),
        }
    }

    fn bytes(&self) -> usize {
        self.as_ref().map_or(64, RecordablePart::length)
    }

    fn objects(&self, each: &mut dyn FnMut(&str)) {
        if let Ok(part) = self {
            part.objects(each);
        }
    }

    fn from_reply(reply: Reply) -> Option<Self> {
        Some(match reply {
            Reply::Ok(value) => Ok(T::from_json(value)?),
            Reply::Errors(errors) => Err(errors.first()?.error()?),
        })
    }
}

impl<T: RecordablePart> Recordable for Result<T, Vec<SetError>> {
    fn reply(&self) -> Reply {
        match self {
            Ok(part) => Reply::Ok(part.to_json()),
            Err(errors) => {
                let problems = errors
                    .iter()
                    .map(|error| RecordedError::of(error.index, &error.error));
                Reply::Errors(problems.collect())
            }
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Ok(part) => part.length(),
            Err(errors) => errors.len() * 64,
        }
    }

    fn objects(&self, each: &mut dyn FnMut(&str)) {
        if let Ok(part) = self {
            part.objects(each);
        }
    }

    fn from_reply(reply: Reply) -> Option<Self> {
        Some(match reply {
            Reply::Ok(value) => Ok(T::from_json(value)?),
            Reply::Errors(problems) => {
                let errors = problems.iter().map(|problem| {
                    let (index, error) = (problem.index, problem.error()?);
                    Some(SetError { index, error })
                });
                Err(errors.collect::<Option<_>>()?)
            }
        })
    }
}
