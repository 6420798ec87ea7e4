//! Patch, in its four forms: JSON patch, merge patch, strategic merge patch, server-side apply.

use http::StatusCode;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::builtin::Words;
use crate::call::Call;
use crate::fields::{self, OnConflict};
use crate::json::type_name;
use crate::outline::Doubled;
use crate::registry::Origin;
use crate::request::decode::{self, Decoded};
use crate::request::options::{FieldValidation, WriteKind, WriteOptions};
use crate::request::yaml;
use crate::status::{Cause, Named, Refusal};
use crate::write::{ObjectPart, WantedObject, Writing, accept};
use crate::{meta, patch};

/// A form of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PatchType {
    Json,
    Merge,
    Strategic,
    Apply,
}

const FORMS: [(&str, PatchType); 4] = [
    ("application/json-patch+json", PatchType::Json),
    ("application/merge-patch+json", PatchType::Merge),
    (
        "application/strategic-merge-patch+json",
        PatchType::Strategic,
    ),
    ("application/apply-patch+yaml", PatchType::Apply),
];

/// Patches an object; server-side apply also creates it.
///
/// # Errors
/// 404, 409, 415, 422, and whatever admission and validation refuse.
pub fn patch(call: &Call<'_>) -> Result<Answer, Refusal> {
    part(call, ObjectPart::Main)
}

/// Patches one part of an object.
///
/// # Errors
/// As [`patch()`].
pub fn part(call: &Call<'_>, part: ObjectPart) -> Result<Answer, Refusal> {
    let form = form(call)?;
    let kind = match form {
        PatchType::Apply => WriteKind::Apply,
        _ => WriteKind::Patch,
    };
    call.look()?;
    let options = WriteOptions::read(&call.request.query, kind)?;
    let mut writing = Writing::of(call, &options, part);
    writing.creates = form == PatchType::Apply && part == ObjectPart::Main;
    let written = writing.update(|old| match form {
        PatchType::Apply => applied(&writing, old),
        _ => patched(&writing, old.unwrap_or(&Value::Null), form),
    })?;
    written.answer(call)
}

fn form(call: &Call<'_>) -> Result<PatchType, Refusal> {
    let said = call.request.header("content-type").unwrap_or_default();
    let said = said.split(';').next().unwrap_or_default().trim();
    let custom = call.resource.origin != Origin::BuiltIn;
    let allowed = FORMS
        .iter()
        .filter(|(_, form)| !(custom && *form == PatchType::Strategic));
    let found = allowed.clone().find(|(name, _)| *name == said);
    found.map(|(_, form)| *form).ok_or_else(|| {
        if custom && said == "application/strategic-merge-patch+json" {
            let names: Vec<&str> = allowed.map(|(name, _)| *name).collect();
            return decode::unsupported(&names.join(", "));
        }
        let code = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        Refusal::generic(code, "UnsupportedMediaType", "415: Unsupported Media Type")
    })
}

fn patched(writing: &Writing<'_>, old: &Value, form: PatchType) -> Result<WantedObject, Refusal> {
    let call = writing.call;
    let body = &call.request.body;
    let decoded = decode::json(body).map_err(|why| {
        Refusal::bad_request(match form {
            PatchType::Strategic => why,
            _ => format!("error decoding patch: {why}"),
        })
    })?;
    let make = || match form {
        PatchType::Json => patch::json(old, &decoded.value),
        PatchType::Merge => patch::merge(old, &decoded.value),
        PatchType::Strategic | PatchType::Apply => {
            let schema = crate::schema::anything();
            let schema = call.resource.schema().unwrap_or(&schema);
            patch::strategic(old, &decoded.value, schema.view())
        }
    };
    let new = make()?;
    let words = match form {
        PatchType::Strategic => Words::Maps,
        PatchType::Json | PatchType::Merge | PatchType::Apply => Words::Json,
    };
    // Made once more for who is refused, so that nobody else pays for a text.
    let refused = |why: String| {
        let text = match form {
            PatchType::Strategic => patch::display(&decoded.value),
            PatchType::Json | PatchType::Merge | PatchType::Apply => {
                make().unwrap_or_default().to_string()
            }
        };
        unprocessable(&text, &why)
    };
    let mut doubled = decoded.doubled.clone();
    for problem in &mut doubled {
        // A place in the patch is none in the object.
        problem.at.clear();
    }
    if form == PatchType::Json {
        for problem in &mut doubled {
            problem.text = format!("json patch {}", problem.text);
        }
        let unknown = patch::json_unknown_fields(&decoded.value).into_iter();
        doubled.extend(unknown.map(|text| Doubled {
            text,
            at: Vec::new(),
        }));
    }
    let mut accepted = accept::patched(call, new, doubled, words).map_err(refused)?;
    accept::noted(call, writing.options.field_validation, &accepted.warnings).map_err(refused)?;
    accept::place(call, &mut accepted.object)?;
    accept::name(call, &accepted.object)?;
    Ok(WantedObject::Updated(accepted.object))
}

/// 422: what the patch makes is not an object of the kind.
fn unprocessable(text: &str, why: &str) -> Refusal {
    let none = Named {
        group: "",
        resource: "",
    };
    Refusal::invalid(none, "", vec![Cause::invalid("patch", &json!(text), why)])
}

/// The configuration that a server-side apply sends.
///
/// # Errors
/// 400 for what is not YAML, or not an object.
pub fn configuration(call: &Call<'_>) -> Result<Decoded, Refusal> {
    yaml::read(&call.request.body)
        .map_err(|why| format!("error converting YAML to JSON: {why}"))
        .and_then(|decoded| match &decoded.value {
            Value::Null | Value::Object(_) => Ok(decoded),
            other => Err(format!(
                "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {} into Go value \
                 of type map[string]interface {{}}",
                type_name(other)
            )),
        })
        .map_err(|why| Refusal::bad_request(format!("error decoding YAML: {why}")))
}

fn applied(writing: &Writing<'_>, old: Option<&Value>) -> Result<WantedObject, Refusal> {
    let call = writing.call;
    let decoded = configuration(call)?;
    let config = decoded.value;
    let on_conflict = OnConflict::of(writing.options.force);
    let object = writing.as_writer(&writing.options.field_manager, |writer, schema| {
        fields::apply(old, &config, schema, writer, on_conflict, &writing.reset())
    })?;
    let validation = writing.options.field_validation;
    let doubled = decoded
        .doubled
        .iter()
        .map(|one| format!("error converting YAML to JSON: {}", one.text));
    match (validation, doubled.collect::<Vec<_>>()) {
        (FieldValidation::Strict, doubled) if !doubled.is_empty() => {
            let why = doubled.join(", ");
            let message = format!("error strict decoding YAML: {why}");
            return Err(Refusal::bad_request(message));
        }
        (_, doubled) => accept::noted(call, validation, &doubled).map_err(Refusal::bad_request)?,
    }
    let accepted = accept::applied(object, call.resource)?;
    let (mut object, unknown) = (accepted.object, accepted.warnings);
    let uid = meta::text(&object, "uid").to_owned();
    if old.is_none() && !uid.is_empty() {
        let why = format!(
            "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        );
        let name = call.target.name.as_deref().unwrap_or_default();
        return Err(Refusal::conflict(call.named(), name, &why));
    }
    accept::place(call, &mut object)?;
    accept::name(call, &object)?;
    if validation != FieldValidation::Ignore {
        call.warnings.extend(unknown);
    }
    Ok(WantedObject::Applied(object))
}
