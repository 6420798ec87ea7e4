//! `x-kubernetes-validations` of a schema: whether they are complete, and whether they compile.

use serde_json::Value;

use super::walk::{SchemaWalk, WalkContext};
use crate::crd::read::follow;
use crate::crd::shown;
use crate::crd::structural::unsupported;
use crate::field::Path;
use crate::json::{list, text};
use crate::schema::rules::{self, ResultType};
use crate::schema::{Schema, View};
use crate::status::Cause;

impl SchemaWalk {
    /// `x-kubernetes-validations`; whether they compile is looked at only if all else is fine so far.
    pub(super) fn rules(
        &mut self,
        schema: &Value,
        inside: WalkContext<'_>,
        at: Path<'_>,
        before: usize,
    ) {
        let all = at.child("x-kubernetes-validations");
        for (index, rule) in list(schema, "x-kubernetes-validations").iter().enumerate() {
            self.rule(schema, rule, all.index(index));
        }
        if !self.with_rules || !inside.rules || self.causes.len() > before {
            return;
        }
        let Ok(parsed) = Schema::parse(schema) else {
            return;
        };
        for (index, rule) in list(schema, "x-kubernetes-validations").iter().enumerate() {
            self.compiles(rule, parsed.view(), inside, all.index(index));
        }
    }

    fn compiles(&mut self, rule: &Value, schema: View<'_>, inside: WalkContext<'_>, at: Path<'_>) {
        let of = text(rule, "rule");
        if let Some(why) = rules::fault(of, schema, inside.is_root, ResultType::Bool) {
            let cause = Cause::invalid_as(at.child("rule"), &shown::rule(rule), &why);
            self.of_rules.push(cause);
            return;
        }
        let message = text(rule, "messageExpression");
        let wrong = || rules::fault(message, schema, inside.is_root, ResultType::Text);
        if let Some(why) = (!message.is_empty()).then(wrong).flatten() {
            let at = at.child("messageExpression");
            self.of_rules
                .push(Cause::invalid_as(at, &shown::rule(rule), &why));
        }
        let looks_back = rules::looks_back(of);
        if let Some(list) = inside.no_old_self.filter(|_| looks_back) {
            let why = format!(
                "oldSelf cannot be used on the uncorrelatable portion of the schema within {list}"
            );
            self.of_rules
                .push(Cause::invalid(at.child("rule"), &of.into(), &why));
        } else if let Some(said) = rule.get("optionalOldSelf").filter(|said| !said.is_null())
            && !looks_back
        {
            let why = "may not be set if oldSelf is not used in rule";
            self.of_rules
                .push(Cause::invalid(at.child("optionalOldSelf"), said, why));
        }
    }

    fn rule(&mut self, schema: &Value, rule: &Value, at: Path<'_>) {
        let said = |word: &str| text(rule, word);
        let (text, message) = (said("rule").trim(), said("message"));
        let breaks = |text: &str| text.contains(['\n', '\r']);
        if text.is_empty() {
            self.causes
                .push(Cause::required(at.child("rule"), "rule is not specified"));
        } else if !message.is_empty() && message.trim().is_empty() {
            self.invalid(
                at.child("message"),
                &message.into(),
                "must be non-empty if specified",
            );
        } else if breaks(message.trim()) {
            self.invalid(
                at.child("message"),
                &message.into(),
                "must not contain line breaks",
            );
        } else if breaks(text) && message.trim().is_empty() {
            let why = "message must be specified if rule contains line breaks";
            self.causes.push(Cause::required(at.child("message"), why));
        }
        let expression = said("messageExpression");
        if !expression.is_empty() && expression.trim().is_empty() {
            let why = "messageExpression must be non-empty if specified";
            self.causes
                .push(Cause::required(at.child("messageExpression"), why));
        }
        let reasons = ["Duplicate", "Forbidden", "Invalid", "Required"]
            .map(|reason| format!("FieldValue{reason}"));
        if let Some(reason) = rule.get("reason").and_then(Value::as_str)
            && !reasons.iter().any(|known| known == reason)
        {
            self.causes.push(Cause::unsupported(
                at.child("reason"),
                &reason.into(),
                &reasons,
            ));
        }
        self.field_path(schema, said("fieldPath"), at.child("fieldPath"));
    }

    fn field_path(&mut self, schema: &Value, path: &str, at: Path<'_>) {
        if !path.is_empty() && path.trim().is_empty() {
            self.invalid(at, &path.into(), "must be non-empty if specified");
        }
        if path.contains(['\n', '\r']) {
            self.invalid(at, &path.into(), "must not contain line breaks");
        }
        let is_wrong = || unsupported(schema).is_none() && follow(schema, path).is_err();
        if !path.is_empty() && is_wrong() {
            self.invalid(at, &path.into(), "must be a valid path");
        }
    }
}
