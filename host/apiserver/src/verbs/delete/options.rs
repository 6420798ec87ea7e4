//! The options of a deletion, in the body or in the query (apiserver `pkg/endpoints/handlers/delete.go`).

use serde_json::Value;

use crate::builtin;
use crate::call::Call;
use crate::request::options::DeleteOptions;
use crate::request::{decode, yaml};
use crate::status::Refusal;
use crate::write::sent;

/// The one kind that there is for it.
const KIND: &str = "DeleteOptions";

/// Reads the options.
///
/// # Errors
/// 400 for what does not parse or is of another kind, 415 for other formats, 422 for values that there are
/// not.
pub(super) fn read(call: &Call<'_>) -> Result<DeleteOptions, Refusal> {
    let request = call.request;
    if request.body.is_empty() {
        return DeleteOptions::read(&request.query, None);
    }
    let format = decode::format(request.header("content-type"))?;
    let options = body(&request.body, format).map_err(Refusal::bad_request)?;
    DeleteOptions::read(&request.query, Some(&options))
}

/// The options in a body, in any format and in the version of any group.
fn body(body: &[u8], format: decode::BodyFormat) -> Result<Value, String> {
    let mut options = match format {
        decode::BodyFormat::Protobuf => {
            builtin::decode_protobuf(body, ("v1", KIND)).map_err(|refused| refused.why)?
        }
        decode::BodyFormat::Yaml => yaml::read(body)?.value,
        decode::BodyFormat::Json => {
            decode::json(body)
                .map_err(|why| format!("couldn't get version/kind; json parse error: {why}"))?
                .value
        }
    };
    if let Some(why) = decode::type_error(&options) {
        return Err(why);
    }
    let said = |field: &str| {
        options
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (kind, version) = (said("kind"), said("apiVersion"));
    if !kind.is_empty() && kind != KIND {
        return Err(sent::unregistered(kind, version));
    }
    if options.is_null() {
        return Ok(options);
    }
    builtin::decode_delete_options(&mut options)?;
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::decode::BodyFormat;
    use serde_json::json;

    /// What client-go sends: the options in `runtime.Unknown`.
    fn sent(api_version: &str, kind: &str, options: &[u8]) -> Vec<u8> {
        let part = |number: u8, bytes: &[u8]| {
            let mut part = vec![number << 3 | 2, u8::try_from(bytes.len()).unwrap()];
            part.extend_from_slice(bytes);
            part
        };
        let type_meta = [part(1, api_version.as_bytes()), part(2, kind.as_bytes())].concat();
        let parts = [
            part(1, &type_meta),
            part(2, options),
            part(3, b""),
            part(4, b""),
        ];
        [b"k8s\0".as_slice(), &parts.concat()].concat()
    }

    #[test]
    fn typed_clients_send_options_in_protobuf_and_in_the_version_of_any_group() {
        // gracePeriodSeconds, preconditions (uid), propagationPolicy, dryRun.
        let options = b"\x08\x1e\x12\x03\x0a\x01u\x22\x0aBackground\x2a\x03All";
        for version in ["v1", "policy/v1", "example.dev/v1", "meta.k8s.io/v1", ""] {
            let bytes = sent(version, "DeleteOptions", options);
            let body = body(&bytes, BodyFormat::Protobuf).unwrap();
            let query = crate::request::query::Query::default();
            let read = DeleteOptions::read(&query, Some(&body)).unwrap();
            assert_eq!(read.grace_seconds, Some(30), "{version}");
            assert_eq!(read.uid.as_deref(), Some("u"));
            assert!(read.dry_run && read.propagation.is_some());
        }
        let none = body(&sent("v1", "DeleteOptions", b""), BodyFormat::Protobuf).unwrap();
        let query = crate::request::query::Query::default();
        let read = DeleteOptions::read(&query, Some(&none)).unwrap();
        assert_eq!(read, DeleteOptions::default());
        let other = body(&sent("v1", "ConfigMap", b""), BodyFormat::Protobuf);
        assert_eq!(
            other.unwrap_err(),
            "no kind \"ConfigMap\" is registered for version \"v1\" in scheme \"pkg/runtime/scheme.go:111\""
        );
    }

    #[test]
    fn options_of_the_wrong_type_are_refused() {
        let read = |value: Value| body(value.to_string().as_bytes(), BodyFormat::Json);
        assert_eq!(
            read(json!({ "gracePeriodSeconds": "5" })).unwrap_err(),
            "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64"
        );
        assert!(read(json!({ "kind": 1 })).is_err());
        assert!(read(json!([])).is_err());
        assert_eq!(read(json!({ "nonsense": 1 })).unwrap(), json!({}));
        assert_eq!(read(Value::Null).unwrap(), Value::Null);
    }
}
