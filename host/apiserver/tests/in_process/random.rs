//! Requests drawn from bytes: mostly what a client would send, with one thing or another wrong.
//!
//! The same bytes are the same requests, so a fuzzer can hand them in as well as a seeded generator.

use arbitrary::{Result, Unstructured};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Uri};

/// A request, as a client may send it.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: Bytes,
}

const METHODS: [&str; 9] = [
    "GET", "GET", "POST", "POST", "PUT", "PATCH", "PATCH", "DELETE", "OPTIONS",
];
/// Where objects are, with the index in [`BODIES`] of one that belongs there.
const COLLECTIONS: [(&str, usize); 24] = [
    ("/api/v1/namespaces/default/configmaps", 0),
    ("/api/v1/namespaces/default/configmaps", 1),
    ("/api/v1/namespaces/default/configmaps", 2),
    ("/api/v1/namespaces/default/secrets", 3),
    ("/api/v1/namespaces/default/pods", 4),
    ("/api/v1/namespaces/default/services", 5),
    ("/api/v1/namespaces/default/serviceaccounts", 21),
    ("/api/v1/namespaces/default/events", 21),
    ("/api/v1/namespaces", 6),
    ("/api/v1/nodes", 21),
    ("/api/v1/configmaps", 0),
    ("/apis/apps/v1/namespaces/default/deployments", 7),
    ("/apis/batch/v1/namespaces/default/jobs", 8),
    ("/apis/coordination.k8s.io/v1/namespaces/default/leases", 9),
    ("/apis/rbac.authorization.k8s.io/v1/clusterroles", 21),
    (
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        10,
    ),
    ("/apis/play.example.com/v1/namespaces/default/things", 11),
    ("/apis/play.example.com/v1/namespaces/default/things", 12),
    ("/apis/play.example.com/v2/namespaces/default/things", 12),
    ("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", 19),
    ("/openapi/v3", 21),
    ("/apis", 21),
    ("/apis/nowhere/v1/namespaces/default/nothings", 21),
    ("/", 21),
];
const NAMES: [&str; 9] = [
    "a",
    "b",
    "c",
    "default",
    "things.play.example.com",
    "A_b",
    "a%2Fb",
    "%00",
    "-",
];
const SUBRESOURCES: [&str; 9] = [
    "status",
    "scale",
    "token",
    "eviction",
    "binding",
    "log",
    "finalize",
    "ephemeralcontainers",
    "x",
];
const QUERIES: [&str; 44] = [
    "watch=true",
    "watch=1",
    "watch=maybe",
    "limit=1",
    "limit=-1",
    "limit=x",
    "continue=abc",
    "continue=e30",
    "resourceVersion=0",
    "resourceVersion=1",
    "resourceVersion=5",
    "resourceVersion=99999999",
    "resourceVersion=x",
    "resourceVersionMatch=Exact",
    "resourceVersionMatch=NotOlderThan",
    "resourceVersionMatch=Best",
    "sendInitialEvents=true",
    "allowWatchBookmarks=true",
    "timeoutSeconds=1",
    "timeoutSeconds=-5",
    "labelSelector=app%3Da",
    "labelSelector=app+in+(a,b)",
    "labelSelector=app+in+(",
    "labelSelector=!app",
    "fieldSelector=metadata.name%3Da",
    "fieldSelector=metadata.name!%3Da",
    "fieldSelector=spec.x%3D1",
    "fieldSelector=%3D%3D",
    "dryRun=All",
    "dryRun=Some",
    "fieldValidation=Strict",
    "fieldValidation=Warn",
    "fieldValidation=Ignore",
    "fieldValidation=No",
    "fieldManager=one",
    "fieldManager=two",
    "fieldManager=%0A",
    "force=true",
    "force=maybe",
    "propagationPolicy=Foreground",
    "propagationPolicy=Orphan",
    "propagationPolicy=Background",
    "gracePeriodSeconds=0",
    "pretty=true",
];
const TYPES: [&str; 5] = [
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json;charset=utf-8",
    "application/apply-patch+cbor",
    "text/plain; charset=utf-8",
];
const PATCHES: [&str; 6] = [
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/apply-patch+yaml",
];
const ACCEPTS: [&str; 8] = [
    "application/json",
    "*/*",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "text/html",
];
/// Whole bodies, of which most become something else on the way.
const BODIES: [&str; 22] = [
    r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"app":"a"}},"data":{"k":"1"}}"#,
    r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"g-","finalizers":["x.com/f"]},"data":{"k":"2"}}"#,
    r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"a","uid":"u"}]}}"#,
    r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"stringData":{"k":"v"}}"#,
    r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i","ports":[{"containerPort":80}]}]}}"#,
    r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":{"selector":{"app":"a"},"ports":[{"port":80}]}}"#,
    r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"c"}}"#,
    r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"replicas":2,"selector":{"matchLabels":{"app":"a"}},"template":{"metadata":{"labels":{"app":"a"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}"#,
    r#"{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a"},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}"#,
    r#"{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"a"},"spec":{"holderIdentity":"h"}}"#,
    r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.play.example.com"},"spec":{"group":"play.example.com","names":{"plural":"things","kind":"Thing"},"scope":"Namespaced","versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.n","statusReplicasPath":".status.n"}},"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"n":{"type":"integer","default":3,"maximum":9},"list":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"},"v":{"type":"integer"}}}}},"x-kubernetes-validations":[{"rule":"self.n != 7"}]},"status":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}},{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}"#,
    r#"{"apiVersion":"play.example.com/v1","kind":"Thing","metadata":{"name":"a"},"spec":{"n":1,"list":[{"k":"x","v":1}]}}"#,
    r#"{"apiVersion":"play.example.com/v1","kind":"Thing","metadata":{"name":"a"},"spec":{"list":[{"k":"y"}],"more":true}}"#,
    r#"{"metadata":{"labels":{"app":"b"},"finalizers":null},"data":{"k":null}}"#,
    r#"[{"op":"test","path":"/metadata/finalizers","value":null},{"op":"add","path":"/metadata/labels","value":{"app":"c"}}]"#,
    r#"[{"op":"remove","path":"/spec/list/0"},{"op":"move","from":"/a","path":"/b"},{"op":"copy","from":"/spec","path":"/spec/x"}]"#,
    r#"{"spec":{"containers":[{"name":"c","$patch":"delete"},{"$patch":"replace"}],"$setElementOrder/containers":[{"name":"c"}]}}"#,
    r#"{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"x","resourceVersion":"1"},"propagationPolicy":"Foreground"}"#,
    r#"{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"a"},"spec":{"replicas":4}}"#,
    r#"{"spec":{"resourceAttributes":{"verb":"get","resource":"pods","namespace":"default"}}}"#,
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels: {app: a}\ndata:\n  k: \"3\"\n",
    r#"{"metadata":{"name":"a"}}"#,
];
/// What bodies become worse by.
const SPLINTERS: [&str; 20] = [
    "null",
    "0",
    "-1",
    "1e400",
    "9223372036854775808",
    "\"\"",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "[]",
    "{}",
    "[[[[[[[[",
    "{\"a\":",
    ":",
    ",",
    "}",
    "\"metadata\":null",
    "\"spec\":[]",
    "*a",
    "&a [*a]",
    "\u{feff}",
];

/// Draws one request.
///
/// # Errors
/// The bytes do not suffice.
pub(crate) fn request(bytes: &mut Unstructured<'_>) -> Result<Drawn> {
    let method = Method::from_bytes(bytes.choose(&METHODS)?.as_bytes()).unwrap_or_default();
    let (collection, own) = *bytes.choose(&COLLECTIONS)?;
    let uri = uri(bytes, collection, &method)?;
    let mut headers = vec![
        header("user-agent", "random/1.0"),
        header("content-type", content_type(bytes, &method)?),
    ];
    if bytes.ratio(1, 5)? {
        headers.push(header("accept", bytes.choose(&ACCEPTS)?));
    }
    let body = if matches!(method, Method::GET) && bytes.ratio(9, 10)? {
        Bytes::new()
    } else {
        body(bytes, own)?
    };
    Ok(Drawn {
        method,
        uri,
        headers,
        body,
    })
}

fn header(name: &'static str, value: &'static str) -> (HeaderName, HeaderValue) {
    (
        HeaderName::from_static(name),
        HeaderValue::from_static(value),
    )
}

fn content_type(bytes: &mut Unstructured<'_>, method: &Method) -> Result<&'static str> {
    Ok(match *method {
        _ if bytes.ratio(1, 10)? => bytes.choose(&TYPES)?,
        Method::PATCH => bytes.choose(&PATCHES)?,
        _ => "application/json",
    })
}

fn uri(bytes: &mut Unstructured<'_>, collection: &str, method: &Method) -> Result<Uri> {
    let mut text = collection.to_owned();
    let named = match *method {
        Method::POST => bytes.ratio(1, 8)?,
        Method::GET => bytes.ratio(1, 2)?,
        _ => bytes.ratio(9, 10)?,
    };
    if named {
        text.push('/');
        text.push_str(bytes.choose(&NAMES)?);
        if bytes.ratio(1, 5)? {
            text.push('/');
            text.push_str(bytes.choose(&SUBRESOURCES)?);
        }
    }
    for mark in ["?", "&", "&"] {
        if bytes.ratio(2, 3)? {
            break;
        }
        text.push_str(mark);
        text.push_str(bytes.choose(&QUERIES)?);
    }
    Ok(text.parse().unwrap_or_default())
}

fn body(bytes: &mut Unstructured<'_>, own: usize) -> Result<Bytes> {
    let body = if bytes.ratio(1, 8)? {
        bytes.choose(&BODIES)?
    } else {
        BODIES[own]
    };
    let mut text = body.as_bytes().to_vec();
    while !text.is_empty() && bytes.ratio(1, 3)? {
        let place = bytes.choose_index(text.len())?;
        match bytes.int_in_range(0..=4)? {
            0 => text.truncate(place),
            1 => {
                text = [
                    &text[..place],
                    bytes.choose(&SPLINTERS)?.as_bytes(),
                    &text[place..],
                ]
                .concat()
            }
            2 => text[place] = bytes.arbitrary()?,
            3 => {
                let other = bytes.choose(&BODIES)?.as_bytes();
                text = [&text[..place], &other[place.min(other.len())..]].concat();
            }
            // A value becomes another one.
            _ => value(&mut text, place, bytes.choose(&SPLINTERS)?),
        }
    }
    Ok(text.into())
}

/// Puts `new` in the place of what stands behind the first colon after `from`.
fn value(text: &mut Vec<u8>, from: usize, new: &str) {
    let Some(colon) = text[from..].iter().position(|byte| *byte == b':') else {
        return;
    };
    let start = from + colon + 1;
    let rest = text[start..].iter();
    let mut ends = rest.enumerate().filter(|(_, byte)| b",}]".contains(byte));
    let end = ends.next().map_or(text.len(), |(index, _)| start + index);
    text.splice(start..end, new.bytes());
}
