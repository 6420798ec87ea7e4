//! Types with a decoder of their own in Go.

use serde_json::Value;

use super::scalars::{Precision, quantity, time};
use super::{Decoder, schema_of};

const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const TIME: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Time";
const MICRO_TIME: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime";
const INT_OR_STRING: &str = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
const FIELDS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1";
const RAW: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";
const CRD: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.";

/// Reads a value of such a type; nothing for other types.
pub(super) fn decode(
    decoder: &mut Decoder,
    value: &mut Value,
    type_name: &str,
    go: &str,
) -> Option<Result<(), String>> {
    Some(match type_name {
        QUANTITY => quantity(value, false),
        TIME => time(value, Precision::Seconds),
        MICRO_TIME => time(value, Precision::Micros),
        FIELDS | RAW => Ok(()),
        _ => match type_name.strip_prefix(CRD)? {
            "JSON" => Ok(()),
            "JSONSchemaPropsOrArray" | "JSONSchemaPropsOrBool" | "JSONSchemaPropsOrStringArray" => {
                schemas(decoder, value, go)
            }
            _ => return None,
        },
    })
}

/// A schema where something else could be, too: its decoder is not strict.
fn schemas(decoder: &mut Decoder, value: &mut Value, go: &str) -> Result<(), String> {
    let was_lenient = std::mem::replace(&mut decoder.is_lenient, true);
    let schema = schema_of(&format!("{CRD}JSONSchemaProps"));
    let read = match value {
        Value::Object(_) => decoder.value(value, schema.view(), go),
        Value::Array(items) => items
            .iter_mut()
            .filter(|item| item.is_object())
            .try_for_each(|item| decoder.value(item, schema.view(), go)),
        _ => Ok(()),
    };
    decoder.is_lenient = was_lenient;
    read
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
