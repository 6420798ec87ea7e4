//! `allOf`, `anyOf`, `oneOf` and `not`: schemas that speak of the same value.

use serde_json::Value;

use super::values::{Site, ValueMatch, validate as validate_value};
use crate::schema::SchemaNode;

/// What the parts of a schema say of a value. Nothing in them is spared for not having changed.
pub(super) fn validate(value: &Value, site: Site<'_>) -> ValueMatch {
    let mut outcome = ValueMatch::default();
    if let Some(constraints) = site.schema.node().constraints.as_deref() {
        any_of(value, &constraints.any_of, site, &mut outcome);
        one_of(value, &constraints.one_of, site, &mut outcome);
        all_of(value, &constraints.all_of, site, &mut outcome);
        if let Some(not) = constraints.not.as_deref()
            && part(value, not, site).causes.is_empty()
        {
            outcome.push(about(site, "must not validate the schema (not)"));
        }
    }
    outcome.matched();
    outcome
}

fn part(value: &Value, node: &SchemaNode, site: Site<'_>) -> ValueMatch {
    let schema = site.schema.part(node);
    validate_value(value, Site::new(schema, site.path, site.base), None)
}

fn about(site: Site<'_>, why: &str) -> crate::status::Cause {
    site.about_all(&format!("\"{}\" {why}", site.path.dotted()))
}

/// The failure that came furthest; the first of those that came equally far.
fn further(best: Option<ValueMatch>, found: ValueMatch) -> ValueMatch {
    match best {
        Some(best) if found.matches <= best.matches => best,
        _ => found,
    }
}

fn any_of(value: &Value, parts: &[SchemaNode], site: Site<'_>, outcome: &mut ValueMatch) {
    let mut best = None;
    for node in parts {
        let found = part(value, node, site);
        if found.causes.is_empty() {
            outcome.merge(found);
            return;
        }
        best = Some(further(best, found));
    }
    if let Some(best) = best {
        outcome.push(about(site, "must validate at least one schema (anyOf)"));
        outcome.merge(best);
    }
}

fn one_of(value: &Value, parts: &[SchemaNode], site: Site<'_>, outcome: &mut ValueMatch) {
    let mut best = None;
    let mut fits = Vec::new();
    for node in parts {
        let found = part(value, node, site);
        if found.causes.is_empty() {
            fits.push(found);
        } else if fits.is_empty() {
            best = Some(further(best, found));
        }
    }
    let one_only = "must validate one and only one schema (oneOf).";
    match (fits.len(), best) {
        (0, Some(best)) => {
            outcome.push(about(site, &format!("{one_only} Found none valid")));
            outcome.merge(best);
        }
        (0, None) => {}
        (1, _) => fits.into_iter().for_each(|fit| outcome.merge(fit)),
        (count, _) => {
            let why = format!("{one_only} Found {count} valid alternatives");
            outcome.push(about(site, &why));
        }
    }
}

fn all_of(value: &Value, parts: &[SchemaNode], site: Site<'_>, outcome: &mut ValueMatch) {
    let mut fits = 0;
    for node in parts {
        let found = part(value, node, site);
        fits += usize::from(found.causes.is_empty());
        outcome.merge(found);
    }
    if fits != parts.len() {
        let none = if fits == 0 { ". None validated" } else { "" };
        let why = format!("must validate all the schemas (allOf){none}");
        outcome.push(about(site, &why));
    }
}
