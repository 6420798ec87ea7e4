//! The options of each verb, read and judged as the real server does
//! (apimachinery `meta/v1/validation` and `meta/internalversion/validation`).

use http::StatusCode;
use serde_json::{Value, json};

use super::query::Query;
use crate::json::texts;
use crate::registry::Resource;
use crate::selector::{FieldSelector, LabelSelector};
use crate::status::{Cause, Named, Refusal};

/// What a list or a watch asks for.
#[derive(Clone, Debug, Default)]
#[expect(missing_docs, reason = "the words of ListOptions")]
pub struct ListOptions {
    pub labels: LabelSelector,
    pub fields: FieldSelector,
    pub watch: bool,
    pub bookmarks: bool,
    pub resource_version: String,
    pub version_match: String,
    pub timeout_seconds: Option<i64>,
    pub limit: i64,
    pub continue_token: String,
    pub send_initial: Option<bool>,
}

/// What a create, an update or a patch asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words of PatchOptions")]
pub struct WriteOptions {
    pub dry_run: bool,
    pub field_manager: String,
    pub field_validation: FieldValidation,
    pub force: bool,
}

/// What happens to fields that nobody knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    /// They are dropped.
    Ignore,
    /// They are dropped, and the client is warned.
    #[default]
    Warn,
    /// The request is refused.
    Strict,
}

/// What a deletion asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words of DeleteOptions")]
pub struct DeleteOptions {
    pub dry_run: bool,
    pub grace_seconds: Option<i64>,
    pub uid: Option<String>,
    pub resource_version: Option<String>,
    pub propagation: Option<Propagation>,
    /// The old form of `propagation`; `Some(false)` makes the answer a 202.
    pub orphan: Option<bool>,
}

/// What becomes of the dependents of what is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words of DeleteOptions")]
pub enum Propagation {
    Background,
    Foreground,
    Orphan,
}

fn invalid(kind: &str, causes: Vec<Cause>) -> Result<(), Refusal> {
    if causes.is_empty() {
        return Ok(());
    }
    let kind = Named {
        group: "meta.k8s.io",
        resource: kind,
    };
    Err(Refusal::invalid(kind, "", causes))
}

impl ListOptions {
    /// Reads the options of a list or a watch of `resource`.
    ///
    /// # Errors
    /// 400 for what does not parse, 422 for what does not go together.
    pub fn read(query: &Query, resource: &Resource) -> Result<Self, Refusal> {
        let text = |name: &str| query.text(name).unwrap_or_default();
        let bad = |error: crate::selector::BadSelector| Refusal::bad_request(error.0);
        let mut options = Self {
            labels: LabelSelector::parse(text("labelSelector")).map_err(bad)?,
            fields: FieldSelector::parse(text("fieldSelector")).map_err(bad)?,
            watch: query.truth("watch").unwrap_or(false),
            bookmarks: query.truth("allowWatchBookmarks").unwrap_or(false),
            resource_version: text("resourceVersion").to_owned(),
            version_match: text("resourceVersionMatch").to_owned(),
            timeout_seconds: query.number("timeoutSeconds")?,
            limit: query.number("limit")?.unwrap_or(0),
            continue_token: text("continue").to_owned(),
            send_initial: query.truth("sendInitialEvents"),
        };
        // A watch from nothing or from 0 begins with what there is, whether it says so or not.
        let legacy = options.send_initial.is_none() && options.version_match.is_empty();
        if options.watch && legacy && matches!(options.resource_version.as_str(), "" | "0") {
            options.send_initial = Some(true);
            "NotOlderThan".clone_into(&mut options.version_match);
        }
        invalid("ListOptions", options.causes())?;
        options.fields.check(resource).map_err(bad)?;
        Ok(options)
    }

    /// Makes them those of a watch whose path says so (the deprecated form), of one object if it says that:
    /// it begins with what there is, without saying where that ends.
    ///
    /// # Errors
    /// 400 if another object is selected.
    pub fn watch_by_path(&mut self, name: Option<&str>) -> Result<(), Refusal> {
        if name.is_some_and(|name| !self.fields.only(name)) {
            let why = "fieldSelector metadata.name doesn't match requested name";
            return Err(Refusal::bad_request(why));
        }
        if !self.watch && matches!(self.resource_version.as_str(), "" | "0") {
            self.send_initial = Some(true);
        }
        Ok(())
    }

    fn causes(&self) -> Vec<Cause> {
        let mut causes = Vec::new();
        let forbidden = |field: &str, why: &str| Cause::forbidden(field, why);
        let with = "resourceVersionMatch";
        let matches = !self.version_match.is_empty();
        let not_older = self.version_match == "NotOlderThan";
        let allowed = |texts: &[&str]| -> Vec<String> {
            texts.iter().map(|text| (*text).to_owned()).collect()
        };
        let said = Value::from(self.version_match.as_str());
        if self.watch {
            if self.send_initial.is_some() && !not_older {
                let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
                causes.push(forbidden(with, why));
            }
            if matches {
                if self.send_initial.is_none() {
                    let why = "resourceVersionMatch is forbidden for watch unless \
                               sendInitialEvents is provided";
                    causes.push(forbidden(with, why));
                }
                if !not_older {
                    causes.push(Cause::unsupported(with, &said, &allowed(&["NotOlderThan"])));
                }
                if !self.continue_token.is_empty() {
                    let why = "resourceVersionMatch is forbidden when continue is provided";
                    causes.push(forbidden(with, why));
                }
            }
            return causes;
        }
        if matches {
            if self.resource_version.is_empty() {
                let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
                causes.push(forbidden(with, why));
            }
            if !self.continue_token.is_empty() {
                let why = "resourceVersionMatch is forbidden when continue is provided";
                causes.push(forbidden(with, why));
            }
            if !not_older && self.version_match != "Exact" {
                let all = allowed(&["Exact", "NotOlderThan", ""]);
                causes.push(Cause::unsupported(with, &said, &all));
            }
            if self.version_match == "Exact" && self.resource_version == "0" {
                let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
                causes.push(forbidden(with, why));
            }
        }
        if self.send_initial.is_some() {
            let why = "sendInitialEvents is forbidden for list";
            causes.push(forbidden("sendInitialEvents", why));
        }
        causes
    }
}

/// Which options a write has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words of Kubernetes")]
pub enum WriteKind {
    Create,
    Update,
    Patch,
    Apply,
}

impl WriteOptions {
    /// Reads the options of a write.
    ///
    /// # Errors
    /// 422 for values that there are not.
    pub fn read(query: &Query, kind: WriteKind) -> Result<Self, Refusal> {
        let mut causes = Vec::new();
        let manager = query.text("fieldManager").unwrap_or_default();
        let force = query.truth("force");
        match kind {
            WriteKind::Apply if manager.is_empty() => {
                causes.push(Cause::required(
                    "fieldManager",
                    "is required for apply patch",
                ));
            }
            WriteKind::Patch if force.is_some() => {
                let why = "may not be specified for non-apply patch";
                causes.push(Cause::forbidden("force", why));
            }
            _ => {}
        }
        if manager.len() > 128 {
            causes.push(Cause {
                reason: "FieldValueTooLong",
                message: "Too long: may not be more than 128 bytes".to_owned(),
                field: "fieldManager".to_owned(),
            });
        }
        for (at, letter) in manager
            .char_indices()
            .filter(|(_, letter)| letter.is_control())
        {
            let why = format!(
                "invalid character U+{:04X} (at position {at})",
                u32::from(letter)
            );
            causes.push(Cause::invalid("fieldManager", &json!(manager), &why));
        }
        let dry_run = dry_run(&query.texts("dryRun"), &mut causes);
        let validation = query.text("fieldValidation").unwrap_or_default();
        let field_validation = match validation {
            "" | "Warn" => FieldValidation::Warn,
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            _ => {
                let all = ["", "Ignore", "Strict", "Warn"].map(str::to_owned);
                causes.push(Cause::unsupported(
                    "fieldValidation",
                    &json!(validation),
                    &all,
                ));
                FieldValidation::Warn
            }
        };
        let kind = match kind {
            WriteKind::Create => "CreateOptions",
            WriteKind::Update => "UpdateOptions",
            WriteKind::Patch | WriteKind::Apply => "PatchOptions",
        };
        invalid(kind, causes)?;
        Ok(Self {
            dry_run,
            field_manager: manager.to_owned(),
            field_validation,
            force: force.unwrap_or(false),
        })
    }
}

fn dry_run(said: &[String], causes: &mut Vec<Cause>) -> bool {
    if said.iter().any(|value| value != "All") {
        causes.push(Cause::unsupported(
            "dryRun",
            &json!(said),
            &["All".to_owned()],
        ));
    }
    !said.is_empty()
}

impl DeleteOptions {
    /// Reads the options of a deletion: from the body, or from the query if there is none.
    ///
    /// # Errors
    /// 400 for what does not parse, 422 for values that there are not.
    pub fn read(query: &Query, body: Option<&Value>) -> Result<Self, Refusal> {
        let mut causes = Vec::new();
        let mut options = Self::default();
        let (dry, policy);
        match body {
            Some(body) => {
                let text = |at: &str| body.pointer(at).and_then(Value::as_str).map(str::to_owned);
                options.grace_seconds = body.get("gracePeriodSeconds").and_then(Value::as_i64);
                options.uid = text("/preconditions/uid");
                options.resource_version = text("/preconditions/resourceVersion");
                options.orphan = body.get("orphanDependents").and_then(Value::as_bool);
                policy = text("/propagationPolicy");
                dry = texts(body, "dryRun").map(str::to_owned).collect();
            }
            None => {
                options.grace_seconds = query.number("gracePeriodSeconds")?;
                options.orphan = query.truth("orphanDependents");
                policy = query.text("propagationPolicy").map(str::to_owned);
                dry = query.texts("dryRun");
            }
        }
        options.propagation = match policy.as_deref() {
            None => None,
            Some("Background") => Some(Propagation::Background),
            Some("Foreground") => Some(Propagation::Foreground),
            Some("Orphan") => Some(Propagation::Orphan),
            Some(other) => {
                let all = ["Foreground", "Background", "Orphan", "nil"].map(str::to_owned);
                causes.push(Cause::unsupported("propagationPolicy", &json!(other), &all));
                None
            }
        };
        if policy.is_some() && options.orphan.is_some() {
            let why = "orphanDependents and deletionPropagation cannot be both set";
            causes.push(Cause::invalid("propagationPolicy", &json!(policy), why));
        }
        options.dry_run = dry_run(&dry, &mut causes);
        invalid("DeleteOptions", causes)?;
        Ok(options)
    }
}

/// 504 with the cause that clients wait on: the server has not come that far yet.
pub fn too_large_version(wanted: u64, current: u64) -> Refusal {
    let message = format!("Timeout: Too large resource version: {wanted}, current: {current}");
    let mut refusal = Refusal::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", message);
    refusal.details.retry_after = 1;
    refusal.details.causes = vec![Cause {
        reason: "ResourceVersionTooLarge",
        message: "Too large resource version".to_owned(),
        field: String::new(),
    }];
    refusal
}
