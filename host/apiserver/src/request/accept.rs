//! How the client wants the answer: the object, rows of a table, or metadata alone, in JSON or in protobuf.

use http::StatusCode;

use crate::status::Refusal;

/// A form of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The object.
    Object,
    /// A `meta.k8s.io` Table.
    Table {
        /// In the version `v1beta1`.
        beta: bool,
    },
    /// `PartialObjectMetadata` or its list.
    Metadata {
        /// In the version `v1beta1`.
        beta: bool,
        /// Whether the client wants a list.
        list: bool,
    },
    /// The aggregated form of discovery, in the version that the client names.
    Discovery,
}

const TYPES: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// What a path has beside objects in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offers {
    /// Tables, as of custom resources.
    Tables,
    /// Tables and protobuf, as of most built-in kinds.
    TablesAndProtobuf,
    /// Protobuf: reviews and some subresources have no columns.
    Protobuf,
    /// Aggregated discovery.
    Discovery,
}

/// The encoding of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// JSON.
    Json,
    /// Protobuf, for who takes no JSON.
    Protobuf,
}

/// The first form in an `Accept` header that the path has.
///
/// # Errors
/// What there is none of.
pub fn form(accept: Option<&str>, offers: Offers) -> Result<Form, Missing> {
    accepted(accept, offers).map(|(form, _)| form)
}

/// The encoding of what [`form`] finds.
pub fn encoding(accept: Option<&str>, offers: Offers) -> Encoding {
    accepted(accept, offers).map_or(Encoding::Json, |(_, encoding)| encoding)
}

fn accepted(accept: Option<&str>, offers: Offers) -> Result<(Form, Encoding), Missing> {
    let Some(accept) = accept.filter(|accept| !accept.trim().is_empty()) else {
        return Ok((Form::Object, Encoding::Json));
    };
    let has_protobuf = matches!(offers, Offers::Protobuf | Offers::TablesAndProtobuf);
    let mut missing = Missing::Type;
    let mut in_protobuf = None;
    for wanted in accept.split(',') {
        let kind = wanted.split(';').next().unwrap_or_default().trim();
        let encoding = match kind {
            "application/json" | "application/*" | "*/*" => Encoding::Json,
            PROTOBUF if has_protobuf => Encoding::Protobuf,
            _ => continue,
        };
        missing = Missing::Form;
        match (form_of(wanted, offers, encoding), encoding) {
            (Some(form), Encoding::Json) => return Ok((form, encoding)),
            (Some(form), Encoding::Protobuf) => {
                in_protobuf = in_protobuf.or(Some((form, encoding)));
            }
            (None, _) => {}
        }
    }
    in_protobuf.ok_or(missing)
}

/// The form that one media type asks for.
fn form_of(wanted: &str, offers: Offers, encoding: Encoding) -> Option<Form> {
    let parameter = |name: &str| {
        let parameters = wanted.split(';').skip(1);
        let mut pairs = parameters.filter_map(|part| part.split_once('='));
        let held = pairs.find(|(held, _)| held.trim() == name);
        held.map(|(_, value)| value.trim().to_owned())
    };
    let group = parameter("g").unwrap_or_default();
    let version = parameter("v").unwrap_or_default();
    let Some(kind) = parameter("as") else {
        return Some(Form::Object);
    };
    if kind == "APIGroupDiscoveryList" && offers == Offers::Discovery && version == "v2" {
        return Some(Form::Discovery);
    }
    if group != "meta.k8s.io" || !matches!(&*version, "v1" | "v1beta1") {
        return None;
    }
    let beta = version == "v1beta1";
    let has_columns = offers != Offers::Protobuf && encoding == Encoding::Json;
    match kind.as_str() {
        "Table" if has_columns => Some(Form::Table { beta }),
        "PartialObjectMetadata" => Some(Form::Metadata { beta, list: false }),
        "PartialObjectMetadataList" => Some(Form::Metadata { beta, list: true }),
        _ => None,
    }
}

/// The first media type that the client takes of those that the server has, in the order of the client's
/// wishes (munnerz/goautoneg `ParseAccept`); the server's first if it does not say.
pub fn first<'a>(accept: Option<&str>, has: &[&'a str]) -> Option<&'a str> {
    let accept = accept.filter(|accept| !accept.is_empty()).unwrap_or("*/*");
    let mut wishes: Vec<(f64, &str, &str)> = accept.split(',').filter_map(wish).collect();
    wishes.sort_by(|(q, kind, sub), (other_q, other_kind, other_sub)| {
        let by_wish = other_q.total_cmp(q);
        let by_kind = (*kind == "*").cmp(&(*other_kind == "*"));
        by_wish
            .then(by_kind)
            .then((*sub == "*").cmp(&(*other_sub == "*")))
    });
    let takes = |(_, kind, sub): &(f64, &str, &str), one: &str| {
        let (own_kind, own_sub) = one.split_once('/').unwrap_or((one, ""));
        (*kind == own_kind || *kind == "*") && (*sub == own_sub || *sub == "*")
    };
    let found = |wish| has.iter().find(|one| takes(wish, one)).copied();
    wishes.iter().find_map(found)
}

/// One of the types that a client takes, with how much it wants it.
fn wish(text: &str) -> Option<(f64, &str, &str)> {
    let mut parts = text.split(';').map(str::trim);
    let (kind, sub) = match parts.next()? {
        "*" => ("*", "*"),
        both => both.split_once('/')?,
    };
    let q = parts.find_map(|part| part.strip_prefix("q="));
    let q = q.and_then(|q| q.parse().ok()).unwrap_or(1.0);
    Some((q, kind.trim(), sub.trim()))
}

/// Why the server has no form that the client takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It writes none of these types.
    Type,
    /// It writes the type, and does not know what it is to be.
    Form,
}

impl Missing {
    /// 406: the way to what is built in looks at the types first, and says so in its own words; watches
    /// have more of them.
    pub fn refusal(self, built_in: bool, streams: bool) -> Refusal {
        let code = StatusCode::NOT_ACCEPTABLE;
        let types = if streams { STREAMS } else { TYPES };
        match self {
            Self::Type if built_in => Refusal::generic(
                code,
                "NotAcceptable",
                format!("406: Not Acceptable\n\nAvailable representations: {types}"),
            ),
            Self::Type | Self::Form => Refusal::new(
                code,
                "NotAcceptable",
                format!("only the following media types are accepted: {TYPES}"),
            ),
        }
    }
}

const STREAMS: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf, \
     application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_that_the_client_wants_most_wins() {
        let has = ["application/json", "application/pb"];
        for (accept, want) in [
            (None, Some("application/json")),
            (Some("*/*"), Some("application/json")),
            (Some("application/pb"), Some("application/pb")),
            (Some("*/*, application/pb"), Some("application/pb")),
            (
                Some("application/json;q=0.5, application/pb;q=0.9"),
                Some("application/pb"),
            ),
            (
                Some("text/html, application/*;q=0.1"),
                Some("application/json"),
            ),
            (Some("text/html"), None),
        ] {
            assert_eq!(first(accept, &has), want, "{accept:?}");
        }
    }

    #[test]
    fn the_first_form_that_the_server_has_wins() {
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
        let cases = [
            (None, Some(Form::Object)),
            (Some("*/*"), Some(Form::Object)),
            (
                Some("application/vnd.kubernetes.protobuf,application/json"),
                Some(Form::Object),
            ),
            (Some(table), Some(Form::Table { beta: false })),
            (
                Some("application/json;as=Table;v=v2;g=meta.k8s.io,application/json"),
                Some(Form::Object),
            ),
            (
                Some("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"),
                Some(Form::Metadata {
                    beta: false,
                    list: true,
                }),
            ),
            (Some("text/html"), None),
        ];
        for (accept, want) in cases {
            assert_eq!(form(accept, Offers::Tables).ok(), want, "{accept:?}");
        }
    }

    #[test]
    fn who_takes_no_json_gets_protobuf_where_there_is_some() {
        let table = "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io";
        let metadata =
            "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
        let (json, protobuf) = (Encoding::Json, Encoding::Protobuf);
        let object = Some(Form::Object);
        let partial = Form::Metadata {
            beta: false,
            list: false,
        };
        let both = Offers::TablesAndProtobuf;
        for (accept, offers, form_wanted, wanted) in [
            (PROTOBUF, both, object, protobuf),
            (PROTOBUF, Offers::Protobuf, object, protobuf),
            (PROTOBUF, Offers::Tables, None, json),
            (PROTOBUF, Offers::Discovery, None, json),
            (
                "application/vnd.kubernetes.protobuf, */*",
                both,
                object,
                json,
            ),
            (
                "text/html, application/vnd.kubernetes.protobuf;stream=watch",
                both,
                object,
                protobuf,
            ),
            (table, both, None, json),
            (metadata, both, Some(partial), protobuf),
        ] {
            assert_eq!(form(Some(accept), offers).ok(), form_wanted, "{accept}");
            assert_eq!(encoding(Some(accept), offers), wanted, "{accept}");
        }
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
        assert_eq!(form(Some(table), Offers::Protobuf), Err(Missing::Form));
    }
}
