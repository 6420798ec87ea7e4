//! Answers of imports, as they are recorded and given again.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::words;
use crate::bindings::cluster::{Error, Refusal, Served, SetError};
use crate::served;

/// What a host answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reply {
    /// It was carried out; objects are JSON, not text.
    Ok(Value),
    /// It was not.
    Errors(Vec<RecordedError>),
}

/// An error as the contract names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RecordedError {
    /// Which object of a set, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// `not-found`, `denied`, `conflict`, `invalid`, `gone`, `unavailable` or `other`.
    pub code: String,
    /// What was wrong, of `denied`, `conflict`, `invalid` and `other`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What else the API server answered, if it refused the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<RecordedStatus>,
}

/// What the API server answered beside its message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RecordedStatus {
    /// The HTTP status code.
    pub code: u16,
    /// The reason, in CamelCase.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What it names as causes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
}

impl RecordedError {
    fn of(index: Option<u32>, error: &Error) -> Self {
        let refusal = error.refusal();
        let text = refusal.map(|refusal| refusal.message.clone());
        let status = refusal.filter(|refusal| refusal.code != 0);
        Self {
            index,
            code: error.word().to_owned(),
            text: text.filter(|text| !text.is_empty()),
            status: status.map(|refusal| RecordedStatus {
                code: refusal.code,
                reason: refusal.reason.clone(),
                causes: refusal.causes.clone(),
            }),
        }
    }

    fn error(&self) -> Option<Error> {
        let status = self.status.clone();
        let refusal = Refusal {
            code: status.as_ref().map_or(0, |status| status.code),
            message: self.text.clone().unwrap_or_default(),
            reason: status
                .as_ref()
                .map_or_else(String::new, |status| status.reason.clone()),
            causes: status.map_or_else(Vec::new, |status| status.causes),
        };
        Error::of_word(&self.code, refusal)
    }
}

/// An answer that can be noted, and given again from a note.
pub(crate) trait Recordable: Sized {
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
pub(crate) trait RecordablePart: Sized {
    fn to_json(&self) -> Value;
    fn length(&self) -> usize;
    fn objects(&self, each: &mut dyn FnMut(&str));
    fn from_json(value: Value) -> Option<Self>;
}

/// An object.
impl RecordablePart for String {
    fn to_json(&self) -> Value {
        words::object(self)
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

impl RecordablePart for Vec<Served> {
    fn to_json(&self) -> Value {
        self.iter().map(words::served).collect()
    }

    fn length(&self) -> usize {
        served::bytes(self)
    }

    fn objects(&self, _: &mut dyn FnMut(&str)) {}

    fn from_json(value: Value) -> Option<Self> {
        match value {
            Value::Array(items) => items.into_iter().map(words::served_from).collect(),
            _ => None,
        }
    }
}

impl RecordablePart for u32 {
    fn to_json(&self) -> Value {
        (*self).into()
    }

    fn length(&self) -> usize {
        size_of::<Self>()
    }

    fn objects(&self, _: &mut dyn FnMut(&str)) {}

    fn from_json(value: Value) -> Option<Self> {
        serde_json::from_value(value).ok()
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

/// The answer to one of many objects, as it is recorded.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum RecordedItem {
    Ok(Value),
    Error(RecordedError),
}

/// What is noted for many objects that were all dealt with, of which these are the answers.
pub(crate) fn all_done(answers: Vec<Value>) -> Value {
    items(answers.into_iter().map(RecordedItem::Ok))
}

fn items(items: impl Iterator<Item = RecordedItem>) -> Value {
    // It cannot fail: all keys are texts.
    let items = items.map(|item| serde_json::to_value(item).unwrap_or_default());
    items.collect()
}

impl<T: RecordablePart> Recordable for Vec<Result<T, Error>> {
    fn reply(&self) -> Reply {
        Reply::Ok(items(self.iter().map(|answer| match answer {
            Ok(part) => RecordedItem::Ok(part.to_json()),
            Err(error) => RecordedItem::Error(RecordedError::of(None, error)),
        })))
    }

    fn bytes(&self) -> usize {
        let answers = self.iter();
        answers.map(|answer| Recordable::bytes(answer) + 32).sum()
    }

    fn objects(&self, each: &mut dyn FnMut(&str)) {
        self.iter()
            .for_each(|answer| Recordable::objects(answer, each));
    }

    fn from_reply(reply: Reply) -> Option<Self> {
        let answers: Vec<RecordedItem> = match reply {
            Reply::Ok(value) => serde_json::from_value(value).ok()?,
            Reply::Errors(errors) => errors.into_iter().map(RecordedItem::Error).collect(),
        };
        let answers = answers.into_iter().map(|answer| {
            Some(match answer {
                RecordedItem::Ok(value) => Ok(T::from_json(value)?),
                RecordedItem::Error(error) => Err(error.error()?),
            })
        });
        answers.collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_the_same_after_they_were_noted() {
        let errors = [
            Error::NotFound,
            Error::denied("a"),
            Error::conflict(""),
            Error::invalid("a"),
            Error::Gone,
            Error::Unavailable,
            Error::Other(Refusal {
                code: 403,
                reason: "Forbidden".into(),
                message: "exceeded quota".into(),
                causes: vec!["pods".into()],
            }),
        ];
        let again = |reply: Reply| {
            let text = serde_json::to_string(&reply).unwrap();
            serde_json::from_str::<Reply>(&text).unwrap()
        };
        for error in errors {
            let set = Err::<Vec<String>, _>(vec![SetError {
                index: Some(3),
                error: error.clone(),
            }]);
            let reply = set.reply();
            let back = Result::<Vec<String>, Vec<SetError>>::from_reply(again(reply.clone()));
            assert_eq!(back.map(|back| back.reply()), Some(reply));
            let reply = Err::<String, _>(error).reply();
            let back = Result::<String, Error>::from_reply(again(reply.clone()));
            assert_eq!(back.map(|back| back.reply()), Some(reply));
        }
        let many = vec![Ok("{\"a\":1}".to_owned()), Err(Error::Gone)];
        let Reply::Ok(noted) = many.reply() else {
            panic!("it is not an error as a whole")
        };
        let want = serde_json::json!([{ "ok": { "a": 1 } }, { "error": { "code": "gone" } }]);
        assert_eq!(noted, want);
        let back = Vec::<Result<String, Error>>::from_reply(again(Reply::Ok(noted)));
        assert_eq!(back.map(|back| back.reply()), Some(many.reply()));
        let list = Ok::<_, Error>(vec!["{\"a\":1}".to_owned(), "no JSON".to_owned()]);
        let back = Result::<Vec<String>, Error>::from_reply(again(list.reply()));
        assert!(matches!(&back, Some(Ok(items)) if *items == ["{\"a\":1}", "no JSON"]));
        let wrong = Reply::Errors(vec![RecordedError {
            index: None,
            code: "whatever".into(),
            text: None,
            status: None,
        }]);
        assert!(Result::<String, Error>::from_reply(wrong).is_none());
    }
}
