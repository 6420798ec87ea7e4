//! Reads the rules from a document, with all problems at once.

use http::Method;
use serde_json::Value;

use super::fields::{Fields, note};
use super::{ConfigMapKey, Credentials, Inject, ObjectName, Problem, Rule, Rules, SecretSource};
use crate::addresses;
use crate::headers;
use crate::location::{Origin, Scheme, normal_path};
use crate::request::{METHODS, method};
use crate::secrets::Template;
use crate::text::{nearest, shown, suggestion};

const RULE: [&str; 8] = [
    "origin",
    "methods",
    "paths",
    "allowPrivate",
    "ca",
    "clientCertificate",
    "inject",
    "credentials",
];
/// The rules that a document can have.
const MOST: usize = 64;

impl Rules {
    /// Reads the part `http` of a document.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn read(value: &Value) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let allow = read_all(value, &mut problems).unwrap_or_default();
        if problems.is_empty() {
            Ok(Self { allow })
        } else {
            Err(problems)
        }
    }
}

fn read_all(value: &Value, problems: &mut Vec<Problem>) -> Option<Vec<Rule>> {
    let mut fields = Fields::open(value, "", &["allow"], problems)?;
    fields.required("allow")?;
    let list = fields.list("allow")?;
    if list.len() > MOST {
        fields.note(
            "allow",
            format!("has {} rules, and {MOST} are the most", list.len()),
        );
        return None;
    }
    let rules = list.into_iter();
    Some(
        rules
            .filter_map(|(path, value)| rule(value, &path, fields.problems()))
            .collect(),
    )
}

fn rule(value: &Value, path: &str, problems: &mut Vec<Problem>) -> Option<Rule> {
    let mut fields = Fields::open(value, path, &RULE, problems)?;
    let allow_private = fields.is_on("allowPrivate");
    let origin = origin(&mut fields, allow_private);
    let methods = methods(&mut fields);
    let paths = paths(&mut fields);
    let ca = ca(&mut fields);
    let client_certificate = client_certificate(&mut fields);
    let credentials = credentials(&mut fields);
    let inject = inject(&mut fields, credentials);
    let origin = origin?;
    if origin.scheme() == Scheme::Http {
        for field in ["inject", "credentials", "ca", "clientCertificate"] {
            if fields.value(field).is_some() {
                fields.note(field, format!("needs https: {origin} is in the clear"));
            }
        }
    }
    Some(Rule {
        origin,
        methods,
        paths,
        allow_private,
        ca,
        client_certificate,
        inject,
        credentials,
    })
}

fn origin(fields: &mut Fields<'_, '_>, allow_private: bool) -> Option<Origin> {
    let text = fields.required_text("origin")?;
    if text.contains('*') {
        let message = "has a wildcard: name each origin, such as https://api.example.com";
        fields.note("origin", message);
        return None;
    }
    let origin = match Origin::parse(text) {
        Ok(origin) => origin,
        Err(problem) => {
            fields.note("origin", problem);
            return None;
        }
    };
    if let Some(address) = origin.address()
        && let Err(kind) = addresses::allowed(address, allow_private)
    {
        fields.note("origin", format!("{address} is {kind}{}", kind.remedy()));
    }
    Some(origin)
}

fn methods(fields: &mut Fields<'_, '_>) -> Vec<Method> {
    let Some(texts) = fields.texts("methods") else {
        return vec![Method::GET, Method::HEAD];
    };
    let mut methods = Vec::new();
    for (path, text) in texts {
        match method(text) {
            Ok(method) if METHODS.contains(&text) => methods.push(method),
            Err(problem) if nearest(text, &METHODS).is_none() => {
                note(fields.problems(), &path, problem);
            }
            Ok(_) | Err(_) => {
                let meant = suggestion(text, &METHODS);
                let message = format!("{} is no known method{meant}", shown(text));
                note(fields.problems(), &path, message);
            }
        }
    }
    methods
}

fn paths(fields: &mut Fields<'_, '_>) -> Vec<String> {
    let mut paths = Vec::new();
    for (path, text) in fields.texts("paths").unwrap_or_default() {
        let message = match normal_path(text) {
            _ if !text.starts_with('/') => "must begin with a slash".to_owned(),
            _ if text.contains(['?', '#', '*']) => {
                "is a prefix of paths: it has no query, no fragment and no wildcard".to_owned()
            }
            Ok(normal) if normal == text => {
                paths.push(normal);
                continue;
            }
            Ok(normal) => format!("is not in its normal form: write {normal}"),
            Err(problem) => problem.to_string(),
        };
        note(fields.problems(), &path, message);
    }
    paths
}

fn credentials(fields: &mut Fields<'_, '_>) -> Credentials {
    match fields.text("credentials") {
        None => Credentials::None,
        Some("same-namespace") => Credentials::SameNamespace,
        Some(other) => {
            let message = format!(
                "{} is not same-namespace, the one word there is",
                shown(other)
            );
            fields.note("credentials", message);
            Credentials::None
        }
    }
}

fn ca(fields: &mut Fields<'_, '_>) -> Option<ConfigMapKey> {
    let path = fields.path("ca");
    let value = fields.value("ca")?;
    let mut ca = Fields::open(value, &path, &["configMap"], fields.problems())?;
    let value = ca.required("configMap")?;
    let path = ca.path("configMap");
    let known = ["namespace", "name", "key"];
    let mut object = Fields::open(value, &path, &known, ca.problems())?;
    let config_map = object_name(&mut object);
    let key = key(&mut object)?;
    Some(ConfigMapKey {
        config_map: config_map?,
        key,
    })
}

fn client_certificate(fields: &mut Fields<'_, '_>) -> Option<ObjectName> {
    let path = fields.path("clientCertificate");
    let value = fields.value("clientCertificate")?;
    let mut certificate = Fields::open(value, &path, &["secret"], fields.problems())?;
    certificate.required("secret")?;
    secret(&mut certificate)
}

fn inject(fields: &mut Fields<'_, '_>, credentials: Credentials) -> Vec<Inject> {
    let list = fields.list("inject").unwrap_or_default();
    let mut all: Vec<Inject> = Vec::new();
    for (path, value) in list {
        let Some(inject) = injected(value, &path, credentials, fields.problems()) else {
            continue;
        };
        if all
            .iter()
            .any(|other| other.header == inject.header && other.secret == inject.secret)
        {
            note(
                fields.problems(),
                &format!("{path}.header"),
                "is filled twice",
            );
        }
        all.push(inject);
    }
    let is_chosen = |inject: &Inject| inject.secret == SecretSource::Chosen;
    if credentials == Credentials::SameNamespace && !all.iter().any(is_chosen) {
        let message = "needs an entry of inject without secret: that is the header which is filled";
        fields.note("credentials", message);
    }
    all
}

fn injected(
    value: &Value,
    path: &str,
    credentials: Credentials,
    problems: &mut Vec<Problem>,
) -> Option<Inject> {
    let mut fields = Fields::open(value, path, &["header", "value", "secret"], problems)?;
    let header = fields.required_text("header").map(headers::parse_name);
    let header = note_problem(&mut fields, "header", header);
    let template = fields.required_text("value").map(Template::parse);
    let template = note_problem(&mut fields, "value", template);
    let source = if fields.value("secret").is_some() {
        secret(&mut fields).map(SecretSource::Named)
    } else if credentials == Credentials::SameNamespace {
        Some(SecretSource::Chosen)
    } else {
        fields.note("secret", "is missing");
        None
    };
    Some(Inject {
        header: header?,
        value: template?,
        secret: source?,
    })
}

fn note_problem<T, E: ToString>(
    fields: &mut Fields<'_, '_>,
    field: &str,
    parsed: Option<Result<T, E>>,
) -> Option<T> {
    match parsed? {
        Ok(parsed) => Some(parsed),
        Err(problem) => {
            fields.note(field, problem.to_string());
            None
        }
    }
}

fn secret(fields: &mut Fields<'_, '_>) -> Option<ObjectName> {
    let path = fields.path("secret");
    let value = fields.value("secret")?;
    let known = ["namespace", "name"];
    let mut object = Fields::open(value, &path, &known, fields.problems())?;
    object_name(&mut object)
}

fn object_name(fields: &mut Fields<'_, '_>) -> Option<ObjectName> {
    let namespace = fields.text("namespace");
    if namespace.is_some_and(|text| text.len() > 63 || text.contains('.') || !is_subdomain(text)) {
        fields.note("namespace", "is not the name of a namespace");
    }
    let name = fields.required_text("name")?;
    if !is_subdomain(name) {
        fields.note("name", "is not the name of an object");
    }
    Some(ObjectName {
        namespace: namespace.map(str::to_owned),
        name: name.to_owned(),
    })
}

fn key(fields: &mut Fields<'_, '_>) -> Option<String> {
    let key = fields.required_text("key")?;
    if !is_key(key) {
        fields.note("key", "is not the name of a key");
    }
    Some(key.to_owned())
}

/// Whether a Secret or a ConfigMap can have the key.
fn is_key(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    (1..=253).contains(&text.len()) && text.bytes().all(is_plain)
}

fn is_subdomain(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(is_plain)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(is_label)
}
