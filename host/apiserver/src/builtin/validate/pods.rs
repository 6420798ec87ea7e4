//! What is wrong with a pod, or the template of one.

use serde_json::Value;

use crate::names;
use crate::status::Cause;

/// Judges a `PodSpec` at a path.
pub(super) fn validate(spec: Option<&Value>, at: &str, causes: &mut Vec<Cause>) {
    let spec = spec.unwrap_or(&Value::Null);
    let containers = list(spec, "containers");
    if containers.is_empty() {
        causes.push(Cause::required(format!("{at}.containers"), ""));
    }
    let mut seen: Vec<&str> = Vec::new();
    for field in ["containers", "initContainers"] {
        for (index, container) in list(spec, field).iter().enumerate() {
            let at = format!("{at}.{field}[{index}]");
            let name = text(container, "name");
            if name.is_empty() {
                causes.push(Cause::required(format!("{at}.name"), ""));
            } else {
                for why in names::label(name) {
                    causes.push(Cause::invalid(format!("{at}.name"), &name.into(), &why));
                }
                if seen.contains(&name) {
                    causes.push(Cause::duplicate(format!("{at}.name"), &name.into()));
                }
                seen.push(name);
            }
            let image = text(container, "image");
            if image.is_empty() {
                causes.push(Cause::required(format!("{at}.image"), ""));
            } else if image.trim() != image {
                let why = "must not have leading or trailing whitespace";
                causes.push(Cause::invalid(format!("{at}.image"), &image.into(), why));
            }
            ports(container, &at, causes);
        }
    }
    let policy = text(spec, "restartPolicy");
    if !matches!(policy, "" | "Always" | "OnFailure" | "Never") {
        let all = ["Always", "OnFailure", "Never"].map(str::to_owned);
        causes.push(Cause::unsupported(
            format!("{at}.restartPolicy"),
            &policy.into(),
            &all,
        ));
    }
}

fn ports(container: &Value, at: &str, causes: &mut Vec<Cause>) {
    for (index, port) in list(container, "ports").iter().enumerate() {
        let at = format!("{at}.ports[{index}].containerPort");
        match port
            .get("containerPort")
            .and_then(Value::as_i64)
            .unwrap_or(0)
        {
            0 => causes.push(Cause::required(at, "")),
            1..=65535 => {}
            wrong => {
                let why = "must be between 1 and 65535, inclusive";
                causes.push(Cause::invalid(at, &wrong.into(), why));
            }
        }
    }
}

fn list<'a>(object: &'a Value, field: &str) -> &'a [Value] {
    let held = object.get(field).and_then(Value::as_array);
    held.map(Vec::as_slice).unwrap_or_default()
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object
        .get(field)
        .and_then(Value::as_str)
        .unwrap_or_default()
}
