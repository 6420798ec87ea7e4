//! What is wrong with limit ranges.

use std::collections::BTreeSet;

use super::resources;
use super::spot::{Causes, Spot};
use crate::builtin::quantity::Amount;
use crate::names;
use crate::status::Cause;

const TYPES: [&str; 3] = ["Pod", "Container", "PersistentVolumeClaim"];
/// Above this, amounts are compared as whole numbers.
const MAX_MILLI: i128 = 9_223_372_036_854_775;

pub(super) fn limit_range(range: &Spot<'_>, causes: &mut Causes) {
    let limits = range.of("spec.limits");
    let mut seen = BTreeSet::new();
    for limit in limits.items() {
        let kind = limit.of("type");
        self::kind(&kind, causes);
        if !seen.insert(kind.text().to_owned()) {
            causes.push(Cause::duplicate(kind.path(), &kind.text().into()));
        }
        self::limit(&limit, causes);
    }
}

fn kind(kind: &Spot<'_>, causes: &mut Causes) {
    let text = kind.text();
    let problems = names::label_key(text);
    for why in &problems {
        kind.invalid_text(why, causes);
    }
    if problems.is_empty() && !text.contains('/') && !TYPES.contains(&text) {
        kind.invalid_text("must be a standard limit type or fully qualified", causes);
    }
}

fn limit(limit: &Spot<'_>, causes: &mut Causes) {
    let kind = limit.of("type");
    let is_pod = kind.text() == "Pod";
    let rule = if matches!(kind.text(), "Pod" | "Container") {
        resources::of_container
    } else {
        resources::name
    };
    let mut found = BTreeSet::new();
    for field in [
        "max",
        "min",
        "default",
        "defaultRequest",
        "maxLimitRequestRatio",
    ] {
        let amounts = limit.of(field);
        if is_pod && field.starts_with("default") {
            if !amounts.is_empty() {
                amounts.forbidden("may not be specified when `type` is 'Pod'", causes);
            }
            continue;
        }
        for (name, amount) in amounts.entries() {
            let wrong = rule(name);
            let cause = |why: &String| Cause::invalid(amount.path(), &name.into(), why);
            causes.extend(wrong.iter().map(cause));
            found.insert(name.to_owned());
        }
    }
    if kind.text() == "PersistentVolumeClaim"
        && !limit.of("min.storage").is_set()
        && !limit.of("max.storage").is_set()
    {
        let why = "either minimum or maximum storage value is required, but neither was provided";
        limit.of("limits").required(why, causes);
    }
    for name in &found {
        LimitBounds::of(limit, name, is_pod).judge(causes);
    }
}

/// An amount, where it stands, and how it is written.
struct LimitBound {
    path: String,
    text: String,
    amount: Amount,
}

impl LimitBound {
    fn of(limit: &Spot<'_>, field: &str, name: &str) -> Option<Self> {
        let amounts = limit.of(field);
        let spot = amounts.key(name);
        Some(Self {
            path: spot.path(),
            text: spot.text().to_owned(),
            amount: Amount::parse(spot.text())?,
        })
    }

    fn wrong(&self, shown: &Self, why: &str) -> Cause {
        Cause::invalid(self.path.clone(), &shown.text.clone().into(), why)
    }
}

/// What a range says of one resource.
struct LimitBounds<'a> {
    name: &'a str,
    min: Option<LimitBound>,
    max: Option<LimitBound>,
    default: Option<LimitBound>,
    request: Option<LimitBound>,
    ratio: Option<LimitBound>,
}

impl<'a> LimitBounds<'a> {
    fn of(limit: &Spot<'_>, name: &'a str, is_pod: bool) -> Self {
        let of = |field| LimitBound::of(limit, field, name);
        Self {
            name,
            min: of("min"),
            max: of("max"),
            default: of("default").filter(|_| !is_pod),
            request: of("defaultRequest").filter(|_| !is_pod),
            ratio: of("maxLimitRequestRatio"),
        }
    }

    fn judge(&self, causes: &mut Causes) {
        let Self {
            min,
            max,
            default,
            request,
            ..
        } = self;
        // Which is above which, whose place is told, and whose amount is shown.
        let rules = [
            (min, max, min, min, ["min value", "max value"]),
            (
                min,
                request,
                request,
                request,
                ["min value", "default request value"],
            ),
            (
                request,
                max,
                request,
                request,
                ["default request value", "max value"],
            ),
            (
                request,
                default,
                request,
                request,
                ["default request value", "default limit value"],
            ),
            (min, default, default, min, ["min value", "default value"]),
            (default, max, default, max, ["default value", "max value"]),
        ];
        for (high, low, told, shown, [high_is, low_is]) in rules {
            if let (Some(high), Some(low), Some(told), Some(shown)) = (high, low, told, shown)
                && high.amount.is_above(low.amount)
            {
                let (high, low) = (&high.text, &low.text);
                let why = format!("{high_is} {high} is greater than {low_is} {low}");
                causes.push(told.wrong(shown, &why));
            }
        }
        self.ratio(causes);
        self.shared(causes);
    }

    /// What cannot be shared is given in full.
    fn shared(&self, causes: &mut Causes) {
        let Self {
            default, request, ..
        } = self;
        let overcommits = resources::is_native(self.name) && !self.name.starts_with("hugepages-");
        if let (false, Some(default), Some(request)) = (overcommits, default, request)
            && default.amount != request.amount
        {
            let why = format!(
                "default value {} must equal to defaultRequest value {} in {}",
                default.text, request.text, self.name
            );
            causes.push(request.wrong(request, &why));
        }
    }

    fn ratio(&self, causes: &mut Causes) {
        let Some(ratio) = &self.ratio else { return };
        if ratio.amount.nanos() < 1_000_000_000 {
            let why = format!("ratio {} is less than 1", ratio.text);
            causes.push(ratio.wrong(ratio, &why));
        }
        let (Some(min), Some(max)) = (&self.min, &self.max) else {
            return;
        };
        let all = [ratio, max, min].map(|bound| bound.amount.nanos());
        let whole = all.map(|nanos| rounded_up(nanos, 1_000_000_000));
        let is_small = whole.iter().all(|value| *value < MAX_MILLI);
        let [wanted, high, low] = if is_small {
            let [ratio, max, min] = all.map(|nanos| rounded_up(nanos, 1_000_000));
            [ratio as f64 / 1000.0, max as f64, min as f64]
        } else {
            whole.map(|value| value as f64)
        };
        let most = high / low;
        if wanted > most {
            let most = go_float(most);
            let why = format!("ratio {} is greater than max/min = {most}", ratio.text);
            causes.push(ratio.wrong(ratio, &why));
        }
    }
}

/// `Quantity.Value` and `MilliValue` round away from zero.
fn rounded_up(nanos: i128, unit: i128) -> i128 {
    let (whole, rest) = (nanos / unit, nanos % unit);
    whole + rest.signum()
}

/// `%f`.
fn go_float(value: f64) -> String {
    match value {
        _ if value.is_nan() => "NaN".to_owned(),
        _ if value == f64::INFINITY => "+Inf".to_owned(),
        _ if value == f64::NEG_INFINITY => "-Inf".to_owned(),
        _ => format!("{value:.6}"),
    }
}
