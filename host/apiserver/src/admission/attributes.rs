//! A request as admission sees it: what is done, with which object, by whom
//! (apiserver `pkg/admission/attributes.go`, `pkg/admission/plugin/cel/condition.go`).

use serde_json::{Map, Value, json};

use crate::call::Call;
use crate::registry::{Origin, Resource};
use crate::request::options::{DeleteOptions, Propagation, WriteOptions};
use crate::{builtin, convert, meta};

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AdmissionOperation {
    /// An object is created.
    Create,
    /// An object is changed.
    Update,
    /// An object is deleted.
    Delete,
}

impl AdmissionOperation {
    /// The word that rules have for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// A request that is to be admitted.
#[derive(Clone, Debug)]
pub(crate) struct Admission<'a> {
    /// The request.
    pub(crate) call: &'a Call<'a>,
    /// What is done.
    pub(crate) operation: AdmissionOperation,
    /// The object as it will be; nothing for a deletion.
    pub(crate) object: Option<&'a Value>,
    /// The object as it was; nothing for a creation.
    pub(crate) old: Option<&'a Value>,
    /// The name that the client sent, where the path has none: one that the server makes is not part of the request.
    pub(crate) sent_name: &'a str,
    /// The options of the request.
    pub(crate) options: Value,
    /// Whether nothing will be kept.
    pub(crate) dry_run: bool,
}

/// A kind with its group and version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GroupVersionKind {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
}

impl<'a> Admission<'a> {
    /// A write.
    pub(crate) fn write(
        call: &'a Call<'a>,
        options: &WriteOptions,
        object: &'a Value,
        old: Option<&'a Value>,
    ) -> Self {
        let operation = match old {
            Some(_) => AdmissionOperation::Update,
            None => AdmissionOperation::Create,
        };
        let kind = match operation {
            AdmissionOperation::Update => "UpdateOptions",
            AdmissionOperation::Create | AdmissionOperation::Delete => "CreateOptions",
        };
        let mut said = typed_options(kind, options.dry_run);
        let validation = call.request.query.text("fieldValidation");
        let texts = [
            ("fieldManager", options.field_manager.as_str()),
            ("fieldValidation", validation.unwrap_or_default()),
        ];
        for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
            said.insert(name.to_owned(), text.into());
        }
        Self {
            call,
            operation,
            object: Some(object),
            old,
            sent_name: meta::text(object, "name"),
            options: Value::Object(said),
            dry_run: options.dry_run,
        }
    }

    /// A deletion.
    pub(crate) fn delete(call: &'a Call<'a>, options: &DeleteOptions, old: &'a Value) -> Self {
        let mut said = typed_options("DeleteOptions", options.dry_run);
        if let Some(seconds) = options.grace_seconds {
            said.insert("gracePeriodSeconds".to_owned(), seconds.into());
        }
        let mut wanted = Map::new();
        let preconditions = [
            ("uid", &options.uid),
            ("resourceVersion", &options.resource_version),
        ];
        for (name, text) in preconditions {
            if let Some(text) = text {
                wanted.insert(name.to_owned(), text.as_str().into());
            }
        }
        if !wanted.is_empty() {
            said.insert("preconditions".to_owned(), Value::Object(wanted));
        }
        if let Some(orphan) = options.orphan {
            said.insert("orphanDependents".to_owned(), orphan.into());
        }
        if let Some(propagation) = options.propagation {
            let word = match propagation {
                Propagation::Background => "Background",
                Propagation::Foreground => "Foreground",
                Propagation::Orphan => "Orphan",
            };
            said.insert("propagationPolicy".to_owned(), word.into());
        }
        Self {
            call,
            operation: AdmissionOperation::Delete,
            object: None,
            old: Some(old),
            sent_name: "",
            options: Value::Object(said),
            dry_run: options.dry_run,
        }
    }

    /// The name of the object; empty for all of them, and where the server makes one.
    pub(super) fn name(&self) -> &str {
        self.call.target.name.as_deref().unwrap_or(self.sent_name)
    }

    /// The name of the object, also of one whose name the server has made.
    pub(super) fn final_name(&self) -> &str {
        let made = || self.object.map(|object| meta::text(object, "name"));
        match self.name() {
            "" => made().unwrap_or_default(),
            name => name,
        }
    }

    /// The name in messages.
    pub(super) fn shown_name(&self) -> &str {
        let of_object = |field| self.object.map(|object| meta::text(object, field));
        let names = [
            Some(self.name()),
            of_object("name"),
            of_object("generateName"),
        ];
        let mut names = names.into_iter().flatten();
        names.find(|name| !name.is_empty()).unwrap_or("Unknown")
    }

    /// The namespace; a namespace itself lies in itself.
    pub(super) fn namespace(&self) -> &str {
        let target = self.call.target;
        let own = (target.plural == "namespaces" && target.group.is_empty())
            .then_some(target.name.as_deref());
        own.unwrap_or(target.namespace.as_deref())
            .unwrap_or_default()
    }

    /// The subresource; empty for the object itself.
    pub(super) fn subresource(&self) -> &str {
        self.call.target.subresource.as_deref().unwrap_or_default()
    }

    /// The kind of what is sent to a resource, or to a part of it.
    pub(super) fn kind(&self, resource: &Resource) -> GroupVersionKind {
        match resource.subresource(self.subresource()) {
            Some(sub) => GroupVersionKind {
                group: sub.group.clone(),
                version: sub.version.clone(),
                kind: sub.kind.clone(),
            },
            None => GroupVersionKind {
                group: resource.group.clone(),
                version: resource.version.clone(),
                kind: resource.kind.clone(),
            },
        }
    }

    /// An object in the version of another resource that is the same as that of the request.
    pub(super) fn versioned(&self, object: &Value, resource: &Resource) -> Value {
        let mut object = object.clone();
        let own = self.call.resource;
        if self.kind(own) == self.kind(resource) {
            return object;
        }
        if own.origin == Origin::BuiltIn {
            builtin::convert(&mut object, &resource.api_version());
            return object;
        }
        convert::to_served(object, resource)
    }

    /// An object of another resource in the version of the request.
    pub(super) fn as_asked(&self, mut object: Value, resource: &Resource) -> Value {
        let own = self.call.resource;
        if self.kind(own) == self.kind(resource) {
            return object;
        }
        if own.origin == Origin::BuiltIn {
            builtin::convert(&mut object, &own.api_version());
            return object;
        }
        convert::to_served(object, own)
    }

    /// The variable `request`, for a policy that has met the request as one of `resource`: `shown` is the resource
    /// that it names.
    pub(super) fn request(&self, resource: &Resource, shown: &Resource) -> Value {
        let own = self.call.resource;
        let user = &self.call.request.user;
        let mut info = json!({ "groups": user.groups });
        for (name, text) in [("username", &user.name), ("uid", &user.uid)] {
            if !text.is_empty() {
                meta::put(&mut info, name, text.as_str());
            }
        }
        if !user.extra.is_empty() {
            meta::put(&mut info, "extra", json!(user.extra));
        }
        let mut request = json!({
            "uid": "",
            "kind": self.kind(resource).to_value(),
            "resource": named(shown),
            "requestKind": self.kind(own).to_value(),
            "requestResource": named(own),
            "operation": self.operation.word(),
            "userInfo": info,
            "dryRun": self.dry_run,
            "options": self.options,
        });
        let texts = [
            ("subResource", self.subresource()),
            ("requestSubResource", self.subresource()),
            ("name", self.name()),
            ("namespace", self.namespace()),
        ];
        for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
            meta::put(&mut request, name, text);
        }
        request
    }
}

impl GroupVersionKind {
    fn to_value(&self) -> Value {
        json!({ "group": self.group, "version": self.version, "kind": self.kind })
    }
}

fn named(resource: &Resource) -> Value {
    json!({
        "group": resource.group,
        "version": resource.version,
        "resource": resource.plural,
    })
}

fn typed_options(kind: &str, dry_run: bool) -> Map<String, Value> {
    let mut options = Map::new();
    options.insert("kind".to_owned(), kind.into());
    options.insert("apiVersion".to_owned(), "meta.k8s.io/v1".into());
    if dry_run {
        options.insert("dryRun".to_owned(), json!(["All"]));
    }
    options
}
