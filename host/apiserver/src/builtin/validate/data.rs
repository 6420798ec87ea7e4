//! What is wrong with config maps and secrets.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::spot::{Causes, Spot};
use crate::json::type_name;
use crate::request::golang;
use crate::status::Cause;

/// All data of a config map or a secret together may have so many bytes.
const MAX_DATA: usize = 1 << 20;
const KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. \
     'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const IMMUTABLE: &str = "field is immutable when `immutable` is set";
const ACCOUNT: &str = "kubernetes.io/service-account.name";

pub(super) fn config_map(map: &Spot<'_>, causes: &mut Causes) {
    let (data, binary) = (map.of("data"), map.of("binaryData"));
    keys(&data, causes);
    keys(&binary, causes);
    let mut size = 0;
    for (key, value) in data.entries() {
        if binary.key(key).is_set() {
            let why = "duplicate of key present in binaryData";
            causes.push(Cause::invalid(data.key(key).path(), &key.into(), why));
        }
        size += value.text().len();
    }
    size += binary
        .entries()
        .map(|(_, value)| decoded(&value).len())
        .sum::<usize>();
    small(size, "[]", causes);
}

pub(super) fn secret(secret: &Spot<'_>, causes: &mut Causes) {
    let data = secret.of("data");
    keys(&data, causes);
    let size = data.entries().map(|(_, value)| decoded(&value).len()).sum();
    small(size, "data", causes);
    let needs = |key: &str, causes: &mut Causes| {
        if !data.key(key).is_set() {
            data.key(key).required("", causes);
        }
    };
    match secret.of("type").text() {
        "kubernetes.io/service-account-token" => {
            let annotations = secret.of("metadata.annotations");
            if annotations.key(ACCOUNT).is_empty() {
                annotations.key(ACCOUNT).required("", causes);
            }
        }
        "kubernetes.io/dockercfg" => json(&data.key(".dockercfg"), causes),
        "kubernetes.io/dockerconfigjson" => json(&data.key(".dockerconfigjson"), causes),
        "kubernetes.io/basic-auth"
            if !data.key("username").is_set() && !data.key("password").is_set() =>
        {
            needs("username", causes);
            needs("password", causes);
        }
        "kubernetes.io/ssh-auth" => {
            let key = data.key("ssh-privatekey");
            if key.is_empty() {
                key.required("", causes);
            }
        }
        "kubernetes.io/tls" => {
            needs("tls.crt", causes);
            needs("tls.key", causes);
        }
        _ => {}
    }
}

/// What was marked as immutable stays, and stays marked.
pub(super) fn immutable(new: &Spot<'_>, old: &Spot<'_>, parts: &[&str], causes: &mut Causes) {
    if !old.of("immutable").is_true() {
        return;
    }
    if !new.of("immutable").is_true() {
        new.of("immutable").forbidden(IMMUTABLE, causes);
    }
    for part in parts {
        if new.of(part).value() != old.of(part).value() {
            new.of(part).forbidden(IMMUTABLE, causes);
        }
    }
}

fn keys(data: &Spot<'_>, causes: &mut Causes) {
    for (key, value) in data.entries() {
        for why in key_problems(key) {
            causes.push(Cause::invalid(value.path(), &key.into(), &why));
        }
    }
}

fn decoded(value: &Spot<'_>) -> Vec<u8> {
    STANDARD.decode(value.text()).unwrap_or_default()
}

fn small(size: usize, field: &str, causes: &mut Causes) {
    if size > MAX_DATA {
        causes.push(Cause::too_long(field, MAX_DATA as u64));
    }
}

/// There must be JSON.
fn json(value: &Spot<'_>, causes: &mut Causes) {
    if !value.is_set() {
        return value.required("", causes);
    }
    let text = decoded(value);
    let word = match serde_json::from_slice(&text) {
        Ok(serde_json::Value::Object(_) | serde_json::Value::Null) => return,
        Ok(other) => type_name(&other),
        Err(_) => "",
    };
    let why = golang::json_error(&text).unwrap_or_else(|| {
        format!("json: cannot unmarshal {word} into Go value of type map[string]interface {{}}")
    });
    let secret = "<secret contents redacted>";
    causes.push(Cause::invalid(value.path(), &secret.into(), &why));
}

/// What is wrong with a key of a config map or a secret.
pub(super) fn key_problems(key: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if key.len() > 253 {
        problems.push("must be no more than 253 characters".to_owned());
    }
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if key.is_empty() || !key.chars().all(fine) {
        problems.push(KEY.to_owned());
    } else if matches!(key, "." | "..") {
        problems.push(format!("must not be '{key}'"));
    } else if key.starts_with("..") {
        problems.push("must not start with '..'".to_owned());
    }
    problems
}
