//! Types with a decoder of their own in Go.

use serde_json::Value;

use super::scalars::{Precision, quantity, time};
use super::{Decoder, schema_of};
use crate::outline::OutlineStep;
use crate::schema::View;

const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const TIME: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Time";
const MICRO_TIME: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime";
const INT_OR_STRING: &str = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
const FIELDS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1";
const RAW: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";
const CRD: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.";

/// Reads a value of such a type; says whether it is one.
pub(super) fn decode(decoder: &mut Decoder, value: &mut Value, type_name: &str, go: &str) -> bool {
    let read = match type_name {
        QUANTITY => quantity(value, false),
        TIME => time(value, Precision::Seconds),
        MICRO_TIME => time(value, Precision::Micros),
        FIELDS | RAW => Ok(()),
        _ => match type_name.strip_prefix(CRD) {
            Some("JSON") => Ok(()),
            Some(
                "JSONSchemaPropsOrArray" | "JSONSchemaPropsOrBool" | "JSONSchemaPropsOrStringArray",
            ) => {
                schemas(decoder, value, go);
                Ok(())
            }
            _ => return false,
        },
    };
    decoder.own(read);
    true
}

/// A schema where something else could be, too.
fn schemas(decoder: &mut Decoder, value: &mut Value, go: &str) {
    let was_within = std::mem::replace(&mut decoder.is_within_own, true);
    let schema = schema_of(&format!("{CRD}JSONSchemaProps"));
    match value {
        Value::Object(_) => decoder.value(value, schema.view(), go),
        Value::Array(items) => items
            .iter_mut()
            .filter(|item| item.is_object())
            .for_each(|item| decoder.value(item, schema.view(), go)),
        _ => {}
    }
    decoder.is_within_own = was_within;
}

/// Whether the decoder of a type looks into the field at the end of a way: it skips what it does not know, and
/// leaves values to the decoders of their own types. A way that nobody knows counts.
pub(super) fn looks_into(view: View<'_>, way: &[OutlineStep]) -> bool {
    let mut view = view;
    for step in way {
        let type_name = view.type_name().unwrap_or_default();
        let is_own =
            zero(type_name).is_some() || type_name == FIELDS || { type_name.strip_prefix(CRD) }
                .is_some_and(|local| local == "JSON" || (local.starts_with("JSONSchemaPropsOr")));
        let below = match step {
            OutlineStep::Field(name) => view.field(name),
            OutlineStep::Item(_) => view.items(),
        };
        match below {
            Some(below) if !is_own => view = below,
            _ => return false,
        }
    }
    true
}

/// What Go writes for a zero value of such a type.
pub(super) fn zero(type_name: &str) -> Option<Value> {
    match type_name {
        QUANTITY => Some("0".into()),
        INT_OR_STRING => Some(0.into()),
        TIME | MICRO_TIME | RAW => Some(Value::Null),
        _ => None,
    }
}
