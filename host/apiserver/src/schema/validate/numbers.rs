//! Bounds of numbers: what kube-openapi makes of integers and floats.

use serde_json::Value;

use super::values::{Site, ValueMatch};
use crate::schema::{Constraints, Kind};
use crate::status::Cause;
use crate::status::shown::shown_float;

/// A number as Go holds it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Int(i64),
    Float(f64),
}

impl Number {
    pub(super) fn of(number: &serde_json::Number) -> Self {
        let float = || number.as_f64().unwrap_or(f64::NAN);
        number
            .as_i64()
            .map_or_else(|| Self::Float(float()), Self::Int)
    }

    fn float(self) -> f64 {
        match self {
            Self::Int(int) => int as f64,
            Self::Float(float) => float,
        }
    }

    fn format(self) -> String {
        match self {
            Self::Int(int) => int.to_string(),
            Self::Float(float) => shown_float(float),
        }
    }

    fn value(self) -> Value {
        match self {
            Self::Int(int) => int.into(),
            Self::Float(float) => float.into(),
        }
    }
}

/// Whether a float is a whole number, as Go's JSON helpers see it.
pub(super) fn is_whole(float: f64) -> bool {
    const MOST: f64 = 9_007_199_254_740_991.0;
    if !float.is_finite() || float.abs() > MOST {
        return false;
    }
    let whole = float.trunc();
    float == whole || (whole != 0.0 && (float - whole).abs() / (float.abs() + whole.abs()) < 1e-9)
}

/// What is wrong with a number.
pub(super) fn validate(number: Number, constraints: &Constraints, site: Site<'_>) -> ValueMatch {
    let mut outcome = ValueMatch::default();
    outcome.extend(site.in_range(number, "Checked"));
    if let Some(factor) = &constraints.multiple_of {
        multiple(number, Number::of(factor), site, &mut outcome);
    }
    if let Some(least) = &constraints.minimum {
        let bound = NumberBound {
            at: Number::of(least),
            exclusive: constraints.exclusive_minimum,
            words: ("Minimum boundary", "greater than"),
        };
        bound.check(number, site, &mut outcome, |value, bound| value < bound);
    }
    if let Some(most) = &constraints.maximum {
        let bound = NumberBound {
            at: Number::of(most),
            exclusive: constraints.exclusive_maximum,
            words: ("Maximum boundary", "less than"),
        };
        bound.check(number, site, &mut outcome, |value, bound| value > bound);
    }
    outcome.matched();
    outcome
}

fn multiple(number: Number, factor: Number, site: Site<'_>, outcome: &mut ValueMatch) {
    let misfit = site.in_range(factor, "MultipleOf");
    let native = misfit.is_none();
    outcome.extend(misfit);
    let path = site.path.dotted();
    let (factor, fits) = match number {
        Number::Int(int) if native => {
            let factor = factor.float() as i64;
            let fits = factor > 0 && int.checked_rem(factor) == Some(0);
            (Number::Int(factor), fits)
        }
        _ => {
            let by = factor.float();
            let times = if by < 1.0 {
                1.0 / by * number.float()
            } else {
                number.float() / by
            };
            (Number::Float(by), is_whole(times))
        }
    };
    if factor.float() <= 0.0 {
        let shown = factor.format();
        let why = format!("factor MultipleOf declared for {path} must be positive: {shown}");
        outcome.push(site.invalid(&factor.value(), &why));
    } else if !fits {
        let shown = factor.format();
        let why = format!("{path} in body should be a multiple of {shown}");
        outcome.push(site.invalid(&number.value(), &why));
    }
}

struct NumberBound {
    at: Number,
    exclusive: bool,
    words: (&'static str, &'static str),
}

impl NumberBound {
    fn check(
        &self,
        number: Number,
        site: Site<'_>,
        outcome: &mut ValueMatch,
        beyond: impl Fn(f64, f64) -> bool,
    ) {
        let misfit = site.in_range(self.at, self.words.0);
        let native = misfit.is_none();
        outcome.extend(misfit);
        // Integers beyond 2^53 meet bounds as integers, as in Go.
        let (bound, out) = match number {
            Number::Int(int) if native => {
                let bound = self.at.float() as i64;
                let out = if int == bound {
                    self.exclusive
                } else {
                    self.int_beyond(int, bound)
                };
                (Number::Int(bound), out)
            }
            _ => {
                let (value, bound) = (number.float(), self.at.float());
                let out = beyond(value, bound) || (self.exclusive && value == bound);
                (Number::Float(bound), out)
            }
        };
        if out {
            let path = site.path.dotted();
            let or_equal = if self.exclusive { "" } else { " or equal to" };
            let (words, shown) = (self.words.1, bound.format());
            let why = format!("{path} in body should be {words}{or_equal} {shown}");
            outcome.push(site.invalid(&number.value(), &why));
        }
    }

    fn int_beyond(&self, int: i64, bound: i64) -> bool {
        match self.words.1 {
            "less than" => int > bound,
            _ => int < bound,
        }
    }
}

impl Site<'_> {
    /// Whether a number fits the type and format of the schema; what is wrong if not.
    fn in_range(&self, number: Number, what: &str) -> Option<Cause> {
        let format = self.format.unwrap_or_default();
        let int = || match number {
            Number::Int(int) => Some(i128::from(int)),
            Number::Float(float) if float.fract() == 0.0 && float.abs() < 1e30 => {
                Some(float as i128)
            }
            Number::Float(_) => None,
        };
        let (name, fits) = match self.schema.kind() {
            Some(Kind::Integer) if format == "int32" => (
                "integer",
                int().is_some_and(|int| i32::try_from(int).is_ok()),
            ),
            Some(Kind::Integer) => (
                "integer",
                int().is_some_and(|int| i64::try_from(int).is_ok()),
            ),
            Some(Kind::Number) if format == "float" => {
                ("number", number.float().abs() <= f64::from(f32::MAX))
            }
            _ => return None,
        };
        if fits {
            return None;
        }
        let path = self.path.dotted();
        let format = match format {
            "" => "(default format)".to_owned(),
            format => format!("with format {format}"),
        };
        let why = format!("{what} value must be of type {name} {format} in {path}");
        Some(self.about_all(&why))
    }
}
