//! `spec.names` and `status.acceptedNames`: what a kind is called, and whether it may be called so.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{Approval, approval_of, invalid_approval, missing_approval};
use crate::conditions;
use crate::field::Path;
use crate::json::{item_texts, text, texts};
use crate::meta;
use crate::names::label_1035;
use crate::status::Cause;

/// The finalizer that keeps a definition until its objects are gone.
pub const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// What is wrong with names, by themselves.
pub(super) fn validate(names: &Value, at: Path<'_>, causes: &mut Vec<Cause>) {
    let mut check = |field: Path<'_>, value: &str, judged: &str, hint: &str| {
        let wrong = label_1035(judged);
        if !value.is_empty() && !wrong.is_empty() {
            let why = format!("{hint}{}", wrong.join(","));
            causes.push(Cause::invalid(field, &value.into(), &why));
        }
    };
    for field in ["plural", "singular"] {
        let name = text(names, field);
        check(at.child(field), name, name, "");
    }
    for field in ["kind", "listKind"] {
        let name = text(names, field);
        let hint = "may have mixed case, but should otherwise match: ";
        check(at.child(field), name, &name.to_lowercase(), hint);
    }
    let list = |field: &str| texts(names, field).enumerate();
    for (index, name) in list("shortNames") {
        check(at.child("shortNames").index(index), name, name, "");
    }
    let (kind, list_kind) = (text(names, "kind"), text(names, "listKind"));
    if !kind.is_empty() && kind == list_kind {
        let why = "kind and listKind may not be the same";
        causes.push(Cause::invalid(at.child("listKind"), &kind.into(), why));
    }
    for (index, name) in list("categories") {
        for why in label_1035(name) {
            let at = at.child("categories");
            causes.push(Cause::invalid(at.index(index), &name.into(), &why));
        }
    }
}

/// Accepts the names that a definition asks for, as far as no other one of its group has them.
///
/// `group` are all definitions of the group, this one among them. Answers the definition with its new
/// status; nothing if it has that already.
pub fn accept<'a>(
    crd: &Value,
    group: impl IntoIterator<Item = &'a Value>,
    now: Timestamp,
) -> Option<Value> {
    let wanted = crd.pointer("/spec/names")?;
    let has = crd.pointer("/status/acceptedNames").unwrap_or(&Value::Null);
    if same_names(wanted, has) {
        return None;
    }
    let mut used = Used::default();
    for other in group {
        used.add(other);
    }
    let (accepted, conflict) = judge(wanted, has, &used);
    let (reason, message) = conflict
        .clone()
        .unwrap_or(("NoConflicts", "no conflicts found".to_owned()));
    let is_fine = conflict.is_none();
    let before = conditions::get(crd, "NamesAccepted");
    let status = if is_fine { "True" } else { "False" };
    let unchanged = before.is_some_and(|before| {
        text(before, "status") == status
            && text(before, "reason") == reason
            && text(before, "message") == message
    });
    if unchanged && same_names(&accepted, has) {
        return None;
    }
    let mut crd = crd.clone();
    if let Some(fields) = crd.as_object_mut() {
        let of = fields.entry("status").or_insert(Value::Null);
        if !of.is_object() {
            *of = json!({});
        }
        if let Some(of) = of.as_object_mut() {
            of.insert("acceptedNames".to_owned(), accepted);
        }
    }
    conditions::set(&mut crd, "NamesAccepted", status, (reason, &message), now);
    let established =
        conditions::get(&crd, "Established").map(|known| text(known, "status") == "True");
    match (established, is_fine) {
        (Some(true), _) | (Some(false), false) => {}
        (_, true) => {
            let why = ("Installing", "the initial names have been accepted");
            conditions::set(&mut crd, "Established", "False", why, now);
        }
        (None, false) => {
            let why = ("NotAccepted", "not all names are accepted");
            conditions::set(&mut crd, "Established", "False", why, now);
        }
    }
    Some(crd)
}

/// Establishes a definition whose names are accepted. Answers it with its new status; nothing if there is
/// nothing to do.
pub fn establish(crd: &Value, now: Timestamp) -> Option<Value> {
    if !conditions::is_true(crd, "NamesAccepted") || conditions::is_true(crd, "Established") {
        return None;
    }
    let mut crd = crd.clone();
    let why = (
        "InitialNamesAccepted",
        "the initial names have been accepted",
    );
    conditions::set(&mut crd, "Established", "True", why, now);
    Some(crd)
}

/// Says in the status of a definition in a protected group who has agreed to it.
pub fn approve(crd: &Value, now: Timestamp) -> Option<Value> {
    let (status, reason, message) = match approval_of(crd) {
        Approval::NotNeeded => return None,
        Approval::Missing => ("False", "MissingAnnotation", missing_approval()),
        Approval::Invalid(_) => ("False", "InvalidAnnotation", invalid_approval()),
        Approval::Given(by) => ("True", "ApprovedAnnotation", format!("approved in {by}")),
        Approval::Bypassed(why) => (
            "False",
            "UnapprovedAnnotation",
            format!("not approved: {why:?}"),
        ),
    };
    let kind = "KubernetesAPIApprovalPolicyConformant";
    if conditions::get(crd, kind).is_some_and(|known| text(known, "message") == message) {
        return None;
    }
    let mut crd = crd.clone();
    conditions::set(&mut crd, kind, status, (reason, &message), now);
    Some(crd)
}

/// Marks a definition that is to be deleted: it stays until its objects are gone.
pub fn begin_deletion(crd: &mut Value, now: Timestamp) {
    if let Some(metadata) = crd.get_mut("metadata").and_then(Value::as_object_mut) {
        let at = metadata.entry("deletionTimestamp").or_insert(Value::Null);
        if at.is_null() {
            *at = meta::time(now).into();
        }
        let finalizers = metadata.entry("finalizers").or_insert_with(|| json!([]));
        if let Some(finalizers) = finalizers.as_array_mut()
            && !finalizers.contains(&CLEANUP.into())
        {
            finalizers.push(CLEANUP.into());
        }
    }
    let why =
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    conditions::set(
        crd,
        "Terminating",
        "True",
        ("InstanceDeletionPending", why),
        now,
    );
}

/// How far the deletion of a definition's objects has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cleanup {
    /// The objects are being deleted.
    InProgress,
    /// The objects are gone.
    Completed,
    /// There never were any.
    NeverEstablished,
}

/// Says in a definition's status how far the deletion of its objects has come; when it has come to its
/// end, the finalizer goes away.
pub fn cleanup(crd: &mut Value, how_far: Cleanup, now: Timestamp) {
    let (status, why) = match how_far {
        Cleanup::InProgress => (
            "True",
            (
                "InstanceDeletionInProgress",
                "CustomResource deletion is in progress",
            ),
        ),
        Cleanup::Completed => (
            "False",
            ("InstanceDeletionCompleted", "removed all instances"),
        ),
        Cleanup::NeverEstablished => (
            "False",
            ("NeverEstablished", "resource was never established"),
        ),
    };
    conditions::set(crd, "Terminating", status, why, now);
    let finalizers = crd.pointer_mut("/metadata/finalizers");
    if let Some(finalizers) = finalizers.and_then(Value::as_array_mut)
        && how_far != Cleanup::InProgress
    {
        finalizers.retain(|finalizer| finalizer != CLEANUP);
    }
}

/// The names that a group's definitions have.
#[derive(Default)]
struct Used<'a> {
    resources: Vec<&'a str>,
    kinds: Vec<&'a str>,
}

impl<'a> Used<'a> {
    fn add(&mut self, crd: &'a Value) {
        let Some(names) = crd.pointer("/status/acceptedNames") else {
            return;
        };
        self.resources
            .extend([text(names, "plural"), text(names, "singular")]);
        self.resources.extend(texts(names, "shortNames"));
        self.kinds
            .extend([text(names, "kind"), text(names, "listKind")]);
    }
}

/// The reason and message of a conflict.
type NameConflict = (&'static str, String);

/// Which of the wanted names can be had, and the last conflict.
fn judge(wanted: &Value, has: &Value, used: &Used<'_>) -> (Value, Option<NameConflict>) {
    let mut accepted: Map<String, Value> = has.as_object().cloned().unwrap_or_default();
    let mut conflict = None;
    let taken = |name: &str| format!("{name:?} is already in use");
    for (field, used, reason) in [
        ("plural", &used.resources, "PluralConflict"),
        ("singular", &used.resources, "SingularConflict"),
        ("shortNames", &used.resources, "ShortNamesConflict"),
        ("kind", &used.kinds, "KindConflict"),
        ("listKind", &used.kinds, "ListKindConflict"),
    ] {
        let before: Vec<&str> = each(has, field).collect();
        let fresh = each(wanted, field).filter(|name| !before.contains(name));
        let clashes: Vec<String> = fresh
            .filter(|name| used.contains(name))
            .map(taken)
            .collect();
        match clashes.as_slice() {
            [] => put(&mut accepted, wanted, field),
            [one] => conflict = Some((reason, one.clone())),
            all => conflict = Some((reason, format!("[{}]", all.join(", ")))),
        }
    }
    put(&mut accepted, wanted, "categories");
    (Value::Object(accepted), conflict)
}

/// A name, or each of a list.
fn each<'a>(names: &'a Value, field: &str) -> impl Iterator<Item = &'a str> {
    let value = names.get(field).unwrap_or(&Value::Null);
    value.as_str().into_iter().chain(item_texts(value))
}

fn put(accepted: &mut Map<String, Value>, wanted: &Value, field: &str) {
    match wanted
        .get(field)
        .filter(|value| each(wanted, field).next().is_some() || value.is_string())
    {
        Some(value) => accepted.insert(field.to_owned(), value.clone()),
        None => accepted.remove(field),
    };
}

fn same_names(a: &Value, b: &Value) -> bool {
    let fields = [
        "plural",
        "singular",
        "shortNames",
        "kind",
        "listKind",
        "categories",
    ];
    let mut fields = fields.into_iter();
    fields.all(|field| {
        let of = |names| each(names, field).filter(|name: &&str| !name.is_empty());
        of(a).eq(of(b))
    })
}
