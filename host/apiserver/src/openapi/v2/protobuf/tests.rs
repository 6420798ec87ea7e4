use prost::encoding::{WireType, decode_key, decode_varint};
use serde_json::json;

use super::*;

/// What stands in a field.
#[derive(Clone, Debug, PartialEq)]
enum Held {
    Bytes(Vec<u8>),
    Count(u64),
    Number(f64),
}

/// The fields of a message, in order.
#[derive(Clone, Debug)]
struct Read(Vec<(u32, Held)>);

impl Read {
    fn of(mut bytes: &[u8]) -> Self {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let (field, wire) = decode_key(&mut bytes).unwrap();
            let held = match wire {
                WireType::Varint => Held::Count(decode_varint(&mut bytes).unwrap()),
                WireType::SixtyFourBit => {
                    let (number, rest) = bytes.split_at(8);
                    bytes = rest;
                    Held::Number(f64::from_le_bytes(number.try_into().unwrap()))
                }
                WireType::LengthDelimited => {
                    let length = decode_varint(&mut bytes).unwrap().try_into().unwrap();
                    let (held, rest) = bytes.split_at(length);
                    bytes = rest;
                    Held::Bytes(held.to_vec())
                }
                other => panic!("{other:?}"),
            };
            fields.push((field, held));
        }
        Self(fields)
    }

    fn all(&self, field: u32) -> Vec<&Held> {
        let found = self.0.iter().filter(|(held, _)| *held == field);
        found.map(|(_, held)| held).collect()
    }

    fn texts(&self, field: u32) -> Vec<String> {
        let texts = self.all(field).into_iter().map(|held| match held {
            Held::Bytes(bytes) => String::from_utf8(bytes.clone()).unwrap(),
            other => panic!("{other:?}"),
        });
        texts.collect()
    }

    fn inner(&self, field: u32) -> Self {
        match self.all(field)[..] {
            [Held::Bytes(bytes)] => Self::of(bytes),
            ref other => panic!("{field}: {other:?}"),
        }
    }

    /// The value of an entry of a map.
    fn named(&self, field: u32, name: &str) -> Self {
        let entries = self.all(field).into_iter().map(|held| match held {
            Held::Bytes(bytes) => Self::of(bytes),
            other => panic!("{other:?}"),
        });
        let mut entries = entries.filter(|entry| entry.texts(1) == [name]);
        entries.next().unwrap().inner(2)
    }
}

#[test]
fn a_type_says_in_protobuf_what_it_says_in_json() {
    let value = json!({
        "description": "A thing.",
        "type": "object",
        "required": ["a", "b"],
        "properties": {
            "a": { "type": "array", "items": { "$ref": "#/definitions/x.Y" } },
            "b": { "type": "string", "maxLength": 3, "enum": ["p", "q"] },
            "c": { "type": "object", "additionalProperties": { "type": "number", "minimum": 0.5 } },
            "d": { "type": "object", "additionalProperties": false },
        },
        "x-kubernetes-group-version-kind": [{ "group": "g", "version": "v1", "kind": "Y" }],
    });
    let whole = Read::of(&schema(&value));
    assert_eq!(whole.texts(4), ["A thing."]);
    assert_eq!(whole.texts(19), ["a", "b"]);
    assert_eq!(whole.inner(22).texts(1), ["object"]);
    let of = |name: &str| whole.inner(25).named(1, name);
    assert_eq!(of("a").inner(23).inner(1).texts(1), ["#/definitions/x.Y"]);
    let b = of("b");
    assert_eq!(b.all(11), [&Held::Count(3)]);
    assert_eq!(b.all(20).len(), 2);
    let values = of("c").inner(21).inner(1);
    assert_eq!(values.all(9), [&Held::Number(0.5)]);
    assert_eq!(
        of("d").inner(21).all(2),
        [&Held::Count(0)],
        "chosen, and false"
    );
    let yaml = whole.named(31, "x-kubernetes-group-version-kind").texts(2);
    let said: Value = serde_json::from_str(&yaml[0]).unwrap();
    assert_eq!(said, value["x-kubernetes-group-version-kind"]);
}

#[test]
fn a_document_has_its_parts_where_gnostic_looks_for_them() {
    let one = |name: &str, bytes: Vec<u8>| BTreeMap::from([(name.to_owned(), bytes)]);
    let get = json!({
        "operationId": "read", "tags": ["t"], "parameters": [{ "$ref": "#/parameters/pretty" }],
        "responses": { "200": { "description": "OK", "schema": { "$ref": "#/definitions/a.B" } } },
        "x-kubernetes-action": "get",
    });
    let written = document(&PartTable {
        info: &part(DocumentPart::Info, &json!({ "title": "T", "version": "v" })),
        paths: &one("/p", path(&json!({ "get": get }))),
        types: &one("a.B", schema(&json!({ "type": "string" }))),
        parameters: &one(
            "pretty",
            parameter(&json!({ "in": "query", "name": "pretty" })),
        ),
        security: &part(DocumentPart::Security, &json!([{ "Token": [] }])),
        security_definitions: &one("Token", Vec::new()),
    });
    let read = Read::of(&written);
    assert_eq!(read.texts(1), ["2.0"]);
    assert_eq!(read.inner(2).texts(2), ["v"]);
    let get = read.inner(8).named(2, "/p").inner(2);
    assert_eq!(get.texts(5), ["read"]);
    assert_eq!(get.inner(8).inner(2).texts(1), ["#/parameters/pretty"]);
    let answer = get.inner(9).named(1, "200").inner(1);
    assert_eq!(answer.inner(2).inner(1).texts(1), ["#/definitions/a.B"]);
    assert_eq!(get.named(13, "x-kubernetes-action").texts(2), ["\"get\""]);
    assert_eq!(read.inner(9).named(1, "a.B").inner(22).texts(1), ["string"]);
    let pretty = read.inner(10).named(1, "pretty").inner(2).inner(3);
    assert_eq!(pretty.texts(4), ["pretty"]);
    assert!(read.inner(12).named(1, "Token").0.is_empty());
    read.inner(13).named(1, "Token");
}

#[test]
fn parameters_are_told_apart_by_where_they_are() {
    let read = |value: Value| Read::of(&parameter(&value));
    let query = read(json!({ "in": "query", "name": "q", "type": "string", "uniqueItems": true }));
    let query = query.inner(2).inner(3);
    assert_eq!(
        (query.texts(4), query.texts(6)),
        (vec!["q".to_owned()], vec!["string".to_owned()])
    );
    assert_eq!(query.all(20), [&Held::Count(1)]);
    let path = read(json!({ "in": "path", "name": "n", "type": "string", "required": true }));
    let path = path.inner(2).inner(4);
    assert_eq!(
        (path.all(1), path.texts(5)),
        (vec![&Held::Count(1)], vec!["string".to_owned()])
    );
    let body = read(json!({ "in": "body", "name": "body", "schema": { "type": "string" } }));
    assert_eq!(body.inner(1).inner(5).inner(22).texts(1), ["string"]);
}
