//! Numbers that are given as a number or as a percentage, and what a rolling update makes of them.

use serde::Deserialize;

/// `3`, or `"25%"`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum IntOrPercent {
    /// A number.
    Int(i64),
    /// A percentage, with its sign.
    Percent(String),
}

/// How a fraction is made a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// To the next larger number.
    Up,
    /// To the next smaller number.
    Down,
}

impl IntOrPercent {
    /// The number, of `all` if it is a percentage. None if it is neither.
    pub fn of(&self, all: i64, round: Round) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            Self::Percent(text) => {
                let percent: i64 = text.strip_suffix('%')?.parse().ok()?;
                let hundredths = percent.checked_mul(all)?;
                let rest = match round {
                    Round::Up => i64::from(hundredths.rem_euclid(100) > 0),
                    Round::Down => 0,
                };
                Some(hundredths.div_euclid(100) + rest)
            }
        }
    }
}

/// How far a rolling update may go from the wanted number of replicas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// How many more replicas there may be.
    pub surge: i64,
    /// How many fewer may be available.
    pub unavailable: i64,
}

impl Bounds {
    /// The bounds for `replicas`. Percentages of surge are rounded up, and those of unavailable replicas down. If both are
    /// 0, an update could not move, so one replica may be unavailable.
    ///
    /// Source: `maxSurge` and `maxUnavailable` in the API reference of Deployments.
    pub fn of(
        surge: Option<&IntOrPercent>,
        unavailable: Option<&IntOrPercent>,
        replicas: i64,
    ) -> Self {
        let number = |value: Option<&IntOrPercent>, round| {
            let number = value.and_then(|value| value.of(replicas, round));
            number.unwrap_or(0).max(0)
        };
        let surge = number(surge, Round::Up);
        let unavailable = match number(unavailable, Round::Down) {
            0 if surge == 0 => 1,
            some => some,
        };
        Self {
            surge,
            unavailable: unavailable.min(replicas),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> IntOrPercent {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_rolling_update_can_always_move() {
        for (surge, unavailable, replicas, expected) in [
            ("\"25%\"", "\"25%\"", 10, (3, 2)),
            ("\"25%\"", "\"25%\"", 1, (1, 0)),
            ("0", "0", 4, (0, 1)),
            ("0", "\"1%\"", 4, (0, 1)),
            ("3", "2", 10, (3, 2)),
            ("1", "5", 2, (1, 2)),
            ("\"100%\"", "0", 7, (7, 0)),
            ("\"x\"", "\"7\"", 3, (0, 1)),
            ("0", "0", 0, (0, 0)),
        ] {
            let bounds = Bounds::of(Some(&read(surge)), Some(&read(unavailable)), replicas);
            let found = (bounds.surge, bounds.unavailable);
            assert_eq!(found, expected, "{surge} {unavailable} of {replicas}");
        }
    }
}
