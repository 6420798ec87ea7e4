//! Values against their schema: the walk of kube-openapi's validator, with its texts and its order.
//!
//! Fields are gone through by name, where the real server has no order.

use serde_json::{Map, Value};

use super::formats;
use super::numbers::{self, Number, is_whole};
use super::parts;
use crate::field::Path;
use crate::schema::ratchet::Pair;
use crate::schema::{Constraints, Kind, View};
use crate::status::Cause;

/// What a walk found.
#[derive(Debug, Default)]
pub(super) struct ValueMatch {
    pub(super) causes: Vec<Cause>,
    /// How much of the value was looked at: of several schemas that do not fit, the real server reports
    /// the one that came furthest.
    pub(super) matches: u64,
}

impl ValueMatch {
    pub(super) fn push(&mut self, cause: Cause) {
        if !self.causes.contains(&cause) {
            self.causes.push(cause);
        }
    }

    pub(super) fn extend(&mut self, causes: impl IntoIterator<Item = Cause>) {
        causes.into_iter().for_each(|cause| self.push(cause));
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.matches += other.matches;
        self.extend(other.causes);
    }

    pub(super) fn matched(&mut self) {
        self.matches += 1;
    }
}

/// A place in an object, with its schema and where the object itself lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site<'a> {
    pub(super) schema: View<'a>,
    pub(super) path: Path<'a>,
    /// Where the walk began: nothing, or `status`.
    pub(super) base: Path<'a>,
    pub(super) format: Option<&'a str>,
}

impl<'a> Site<'a> {
    pub(super) fn new(schema: View<'a>, path: Path<'a>, base: Path<'a>) -> Self {
        let format = schema.node().format.as_deref();
        Self {
            schema,
            path,
            base,
            format: format.filter(|format| formats::supported(schema.kind(), format)),
        }
    }

    fn constraints(&self) -> Option<&'a Constraints> {
        self.schema.node().constraints.as_deref()
    }

    /// The path of a cause.
    fn field(&self) -> String {
        field(self.base, &self.path)
    }

    pub(super) fn invalid(&self, value: &Value, why: &str) -> Cause {
        Cause::invalid(self.field(), value, why)
    }

    /// A cause that the real server does not put anywhere.
    pub(super) fn about_all(&self, why: &str) -> Cause {
        Cause::invalid(self.base, &Value::from(""), why)
    }

    fn wrong_type(&self, wanted: &str, got: &str) -> Cause {
        let path = self.path.dotted();
        let why = format!("{path} in body must be of type {wanted}: {got:?}");
        Cause::wrong_type(self.field(), &got.into(), &why)
    }
}

fn field(base: Path<'_>, path: &Path<'_>) -> String {
    let dotted = path.dotted();
    match dotted.trim_start_matches('.') {
        "" => base.to_string(),
        name if base.is_root() => name.to_owned(),
        name => format!("{base}.{name}"),
    }
}

/// What is wrong with a value. With a [`Pair`], what has not changed is not wrong.
pub(super) fn validate(value: &Value, site: Site<'_>, pair: Option<Pair<'_>>) -> ValueMatch {
    let mut outcome = ValueMatch::default();
    if value.is_null() {
        outcome.merge(of_type(value, site));
        outcome.merge(allowed(value, site));
    } else {
        all(value, site, pair, &mut outcome);
    }
    if !outcome.causes.is_empty() && pair.is_some_and(|pair| pair.is_unchanged()) {
        outcome.causes.clear();
    }
    outcome
}

fn all(value: &Value, site: Site<'_>, pair: Option<Pair<'_>>, outcome: &mut ValueMatch) {
    let mut step = |found: ValueMatch| {
        outcome.merge(found);
        outcome.matched();
    };
    if site.schema.kind().is_some() || site.format.is_some() {
        step(of_type(value, site));
    }
    step(parts::validate(value, site));
    match value {
        Value::String(text) => {
            step(of_text(text, site));
            if let Some(format) = site.format.filter(|_| !is_number(site.schema.kind())) {
                step(of_format(format, text, site));
            }
        }
        Value::Number(number) => {
            let none = Constraints::default();
            let constraints = site.constraints().unwrap_or(&none);
            step(numbers::validate(Number::of(number), constraints, site));
        }
        Value::Array(items) => step(of_items(items, site, pair)),
        Value::Null | Value::Bool(_) | Value::Object(_) => {}
    }
    step(allowed(value, site));
    if let Value::Object(fields) = value {
        step(of_fields(fields, site, pair));
    }
    outcome.matched();
}

fn is_number(kind: Option<Kind>) -> bool {
    matches!(kind, Some(Kind::Integer | Kind::Number))
}

/// The type of a value and the format that it has by itself.
fn type_of(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::String(_) => ("string", ""),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
        Value::Number(number) => match Number::of(number) {
            Number::Int(_) => ("integer", "int64"),
            Number::Float(_) => ("number", "float64"),
        },
    }
}

fn of_type(value: &Value, site: Site<'_>) -> ValueMatch {
    let types = site.schema.json_types();
    let (own, own_format) = type_of(value);
    let wrong = |wanted: &str, got: &str| ValueMatch {
        causes: vec![site.wrong_type(wanted, got)],
        matches: 0,
    };
    let fine = ValueMatch {
        causes: Vec::new(),
        matches: 1,
    };
    if value.is_null() {
        return if types.is_empty() || site.schema.is_nullable() {
            fine
        } else {
            wrong(&types.join(","), "null")
        };
    }
    let whole = value.as_f64().is_some_and(is_whole);
    let fits = types.contains(&own)
        || (own == "number" && whole && types.contains(&"integer"))
        || (own == "integer" && types.contains(&"number"));
    let is_text_or_list = value.is_string() || value.is_array();
    match site.format {
        Some(format) if !is_text_or_list && !fits && own_format != format => {
            wrong(format, own_format)
        }
        Some(_) if is_text_or_list && !types.contains(&"number") && !types.contains(&"integer") => {
            fine
        }
        _ if types.is_empty() || fits => fine,
        _ => wrong(&types.join(","), own),
    }
}

fn of_text(text: &str, site: Site<'_>) -> ValueMatch {
    let mut outcome = ValueMatch::default();
    let Some(constraints) = site.constraints() else {
        return outcome;
    };
    let path = || site.path.dotted();
    let length = text.chars().count() as u64;
    if let Some(most) = constraints.max_length.filter(|most| length > *most) {
        outcome.push(Cause::too_long(site.field(), most));
    } else if let Some(least) = constraints.min_length.filter(|least| length < *least) {
        let why = format!("{} in body should be at least {least} chars long", path());
        outcome.push(site.invalid(&text.into(), &why));
    } else if let Some(pattern) = constraints.pattern.as_ref() {
        let why = match pattern.matches(text) {
            Ok(true) => return outcome,
            Ok(false) => format!("{} in body should match '{}'", path(), pattern.text()),
            Err(why) => {
                let pattern = pattern.text();
                let at = path();
                format!("{at} in body should match '{pattern}, but pattern is invalid: {why}'")
            }
        };
        outcome.push(site.invalid(&text.into(), &why));
    }
    outcome
}

fn of_format(format: &str, text: &str, site: Site<'_>) -> ValueMatch {
    let mut outcome = ValueMatch::default();
    if !formats::is_of(format, text) {
        let path = site.path.dotted();
        let shown = crate::status::shown::quoted(text);
        let why = format!("{path} in body must be of type {format}: {shown}");
        outcome.push(Cause::wrong_type(site.field(), &text.into(), &why));
    }
    outcome
}

fn of_items(items: &[Value], site: Site<'_>, pair: Option<Pair<'_>>) -> ValueMatch {
    let mut outcome = ValueMatch::default();
    if let Some(schema) = site.schema.items() {
        for (index, item) in items.iter().enumerate() {
            let pair = pair.and_then(|pair| pair.index(index));
            let site = Site::new(schema, site.path.index(index), site.base);
            outcome.merge(validate(item, site, pair));
        }
    }
    if let Some(constraints) = site.constraints() {
        let count = items.len();
        if let Some(least) = constraints
            .min_items
            .filter(|least| (count as u64) < *least)
        {
            let path = site.path.dotted();
            let why = format!("{path} in body should have at least {least} items");
            outcome.push(site.invalid(&count.into(), &why));
        }
        if let Some(most) = constraints.max_items.filter(|most| count as u64 > *most) {
            outcome.push(Cause::too_many(site.field(), count, most));
        }
        let mut before = items.iter().enumerate();
        let mut twice =
            || before.any(|(at, item)| items.iter().take(at).any(|other| other == item));
        if constraints.unique_items && twice() {
            let path = site.path.dotted();
            let why = format!("{path} in body shouldn't contain duplicates");
            outcome.push(site.invalid(&"".into(), &why));
        }
    }
    outcome.matched();
    outcome
}

/// `enum`. Go compares after it has made the value one of the type of the allowed one.
fn allowed(value: &Value, site: Site<'_>) -> ValueMatch {
    let mut outcome = ValueMatch::default();
    let allowed = site
        .constraints()
        .map(|all| all.allowed.as_slice())
        .unwrap_or_default();
    let same = |allowed: &Value| match (value, allowed) {
        (Value::Number(value), Value::Number(allowed)) => {
            match (Number::of(value), Number::of(allowed)) {
                (Number::Float(value), Number::Int(allowed)) => value as i64 == allowed,
                (Number::Int(value), Number::Float(allowed)) => value as f64 == allowed,
                (value, allowed) => value == allowed,
            }
        }
        (value, allowed) => !allowed.is_null() && value == allowed,
    };
    if !allowed.is_empty() && !allowed.iter().any(same) {
        let words: Vec<String> = allowed.iter().map(word).collect();
        outcome.push(Cause::unsupported(site.field(), value, &words));
    }
    outcome
}

fn word(allowed: &Value) -> String {
    match allowed {
        Value::String(text) => text.clone(),
        other => crate::status::shown::json(other),
    }
}

fn of_fields(fields: &Map<String, Value>, site: Site<'_>, pair: Option<Pair<'_>>) -> ValueMatch {
    let mut outcome = ValueMatch::default();
    let count = fields.len();
    if let Some(constraints) = site.constraints() {
        let least = constraints.min_properties;
        if let Some(least) = least.filter(|least| (count as u64) < *least) {
            let path = site.path.dotted();
            let why = format!("{path} in body should have at least {least} properties");
            outcome.push(site.invalid(&count.into(), &why));
        }
        let most = constraints.max_properties;
        if let Some(most) = most.filter(|most| count as u64 > *most) {
            outcome.push(Cause::too_many(site.field(), count, most));
        }
    }
    let values = site.schema.values();
    let entries = fields
        .iter()
        .filter(|(name, _)| site.schema.property(name).is_none());
    for (name, value) in entries {
        if let Some(schema) = values {
            let below = Site::new(schema, site.path.key(name), site.base);
            outcome.merge(validate(value, below, past(pair, name, site)));
        }
    }
    for (name, schema) in site.schema.properties() {
        if let Some(value) = fields.get(name) {
            let below = Site::new(schema, site.path.child(name), site.base);
            outcome.merge(validate(value, below, past(pair, name, site)));
        }
    }
    for name in &site.schema.node().required {
        if !fields.contains_key(name) {
            let path = site.path.key(name);
            outcome.push(Cause::required(field(site.base, &path), ""));
        }
    }
    outcome
}

/// What was in a field before. `apiVersion` and `kind` have no past: both are read as the same version.
fn past<'a>(pair: Option<Pair<'a>>, name: &str, site: Site<'_>) -> Option<Pair<'a>> {
    let is_type = site.path.is_root() && (name == "apiVersion" || name == "kind");
    pair.filter(|_| !is_type)?.key(name)
}
