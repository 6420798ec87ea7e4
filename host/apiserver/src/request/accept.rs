//! How the client wants the answer: JSON, rows of a table, or metadata alone.

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

/// The first form in an `Accept` header that the server has; `aggregated` says whether the path has
/// aggregated discovery.
///
/// # Errors
/// What there is none of.
pub fn form(accept: Option<&str>, aggregated: bool) -> Result<Form, Missing> {
    let Some(accept) = accept.filter(|accept| !accept.trim().is_empty()) else {
        return Ok(Form::Object);
    };
    let mut missing = Missing::Type;
    for wanted in accept.split(',') {
        let mut parts = wanted.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default();
        if !matches!(kind, "application/json" | "application/*" | "*/*") {
            continue;
        }
        missing = Missing::Form;
        let parameter = |name: &str| {
            let parameters = wanted.split(';').skip(1);
            let mut pairs = parameters.filter_map(|part| part.split_once('='));
            let held = pairs.find(|(held, _)| held.trim() == name);
            held.map(|(_, value)| value.trim().to_owned())
        };
        let group = parameter("g").unwrap_or_default();
        let version = parameter("v").unwrap_or_default();
        match parameter("as").as_deref() {
            None => return Ok(Form::Object),
            Some("APIGroupDiscoveryList") if aggregated && version == "v2" => {
                return Ok(Form::Discovery);
            }
            Some(kind) if group == "meta.k8s.io" && matches!(&*version, "v1" | "v1beta1") => {
                let beta = version == "v1beta1";
                match kind {
                    "Table" => return Ok(Form::Table { beta }),
                    "PartialObjectMetadata" => return Ok(Form::Metadata { beta, list: false }),
                    "PartialObjectMetadataList" => return Ok(Form::Metadata { beta, list: true }),
                    _ => {}
                }
            }
            Some(_) => {}
        }
    }
    Err(missing)
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
            assert_eq!(form(accept, false).ok(), want, "{accept:?}");
        }
    }
}
