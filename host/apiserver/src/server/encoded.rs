//! Answers about objects in protobuf, for clients that take no JSON.

use serde_json::Value;

use crate::answer::{Answer, JSON};
use crate::builtin;
use crate::request::Request;
use crate::request::accept::{self, Encoding, Offers};
use crate::request::route::Route;

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const STREAM: &str = "application/vnd.kubernetes.protobuf;stream=watch";

/// The answer in the encoding that the client takes. What has no other form stays JSON.
pub(super) fn encoded(request: &Request, mut answer: Answer) -> Answer {
    let offers = Offers::TablesAndProtobuf;
    let takes_json = accept::encoding(request.header("accept"), offers) == Encoding::Json;
    let is_of_objects = matches!(request.route, Route::Objects(_));
    if takes_json || !is_of_objects || answer.content_type != JSON {
        return answer;
    }
    let is_stream = answer.body.is_stream();
    let encode = if is_stream { frames } else { whole };
    answer.body = match answer.body.encoded(encode) {
        Ok(body) => {
            answer.content_type = if is_stream { STREAM } else { PROTOBUF };
            body
        }
        Err(body) => body,
    };
    answer
}

/// An object.
fn whole(text: &[u8]) -> Option<Vec<u8>> {
    builtin::encode_protobuf(&serde_json::from_slice(text).ok()?)
}

/// Events of a watch, each after its length.
fn frames(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for event in serde_json::Deserializer::from_slice(text).into_iter::<Value>() {
        let event = builtin::encode_event(&event.ok()?)?;
        let length = u32::try_from(event.len()).ok()?;
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(&event);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_event_follows_on_its_length() {
        let event = br#"{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1"}}"#;
        let one = frames(event).unwrap();
        let (length, rest) = one.split_at(4);
        assert_eq!(length, u32::try_from(rest.len()).unwrap().to_be_bytes());
        let two = [&event[..], b"\n", event].concat();
        assert_eq!(frames(&two), Some([one.as_slice(), &one].concat()));
        let map = whole(br#"{"kind":"ConfigMap","apiVersion":"v1"}"#);
        assert!(map.unwrap().starts_with(b"k8s\0"));
        assert_eq!(whole(b"x"), None);
    }
}
