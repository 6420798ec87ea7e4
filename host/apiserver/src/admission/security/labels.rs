//! The labels of a namespace that say how safe its pods must be (pod-security-admission `api/helpers.go`).

use std::fmt;

use serde_json::{Value, json};

use crate::json::entries;
use crate::status::Cause;
use crate::store::Labels;

/// The prefix of all of these labels.
const PREFIX: &str = "pod-security.kubernetes.io/";

/// How safe a pod must be, from least to most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    #[default]
    Privileged,
    Baseline,
    Restricted,
}

/// The version of Kubernetes whose checks count: a minor version, or the latest one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PolicyVersion(pub(super) Option<u64>);

/// A level as it is in a version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LevelVersion {
    pub(super) level: Level,
    pub(super) version: PolicyVersion,
}

/// The demands of a namespace on its pods: the levels that refuse and that warn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ModePolicies {
    pub(super) enforce: LevelVersion,
    pub(super) audit: LevelVersion,
    pub(super) warn: LevelVersion,
}

impl Level {
    const ALL: [(Self, &'static str); 3] = [
        (Self::Privileged, "privileged"),
        (Self::Baseline, "baseline"),
        (Self::Restricted, "restricted"),
    ];

    fn parse(text: &str) -> Result<Self, &'static str> {
        let mut all = Self::ALL.iter();
        let found = all.find(|(_, word)| *word == text);
        let found = found.map(|(level, _)| *level);
        found.ok_or("must be one of privileged, baseline, restricted")
    }

    fn word(self) -> &'static str {
        let mut all = Self::ALL.iter();
        let found = all.find(|(level, _)| *level == self);
        found.map_or("", |(_, word)| word)
    }
}

impl PolicyVersion {
    fn parse(text: &str) -> Result<Self, &'static str> {
        if text == "latest" {
            return Ok(Self(None));
        }
        let minor = text.strip_prefix("v1.").filter(|minor| {
            let digits = minor.bytes().all(|digit| digit.is_ascii_digit());
            digits && (*minor == "0" || !minor.starts_with('0'))
        });
        let minor = minor.and_then(|minor| minor.parse::<u64>().ok());
        let minor = minor.filter(|minor| i64::try_from(*minor).is_ok());
        let minor = minor.ok_or("must be \"latest\" or \"v1.x\"")?;
        Ok(Self(Some(minor)))
    }
}

impl LevelVersion {
    /// Whether pods that were fine under the other level may not be fine under this one.
    pub(super) fn is_stricter_than(self, other: Self) -> bool {
        let is_relaxed = self.version == other.version && self.level <= other.level;
        self.level != Level::Privileged && !is_relaxed
    }
}

impl ModePolicies {
    /// Whether all pods are fine.
    pub(super) fn are_privileged(&self) -> bool {
        let all = [self.enforce, self.audit, self.warn];
        all.iter().all(|policy| policy.level == Level::Privileged)
    }
}

impl fmt::Display for LevelVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.version.0 {
            Some(minor) => write!(f, "{}:v1.{minor}", self.level.word()),
            None => write!(f, "{}:latest", self.level.word()),
        }
    }
}

/// The labels of an object.
pub(super) fn of(object: &Value) -> Labels {
    let metadata = object.get("metadata").unwrap_or(&Value::Null);
    let texts = entries(&metadata, "labels");
    let texts = texts.map(|(name, text)| (name.clone(), text.as_str().unwrap_or_default().into()));
    texts.collect()
}

/// Whether there is any label about the safety of pods.
pub(super) fn demand(labels: &Labels) -> bool {
    let mut from = labels.range(PREFIX.to_owned()..);
    from.next()
        .is_some_and(|(name, _)| name.starts_with(PREFIX))
}

/// The demands of labels, and their problems. A wrong label of `enforce` demands most, one of another mode nothing.
pub(super) fn read(labels: &Labels) -> (ModePolicies, Vec<Cause>) {
    let mut wrong = Vec::new();
    let enforce = mode(labels, "enforce", Level::Restricted, &mut wrong);
    let audit = mode(labels, "audit", Level::Privileged, &mut wrong);
    let mut warn = mode(labels, "warn", Level::Privileged, &mut wrong);
    let level = |mode: &str| labels.get(&format!("{PREFIX}{mode}"));
    let is_valid = level("enforce").is_some_and(|level| Level::parse(level).is_ok());
    if level("warn").is_none() && is_valid && enforce.level > warn.level {
        warn.level = enforce.level;
        if !labels.contains_key(&format!("{PREFIX}warn-version")) {
            warn.version = enforce.version;
        }
    }
    let policies = ModePolicies {
        enforce,
        audit,
        warn,
    };
    (policies, wrong)
}

/// The demands of the two labels of a mode.
fn mode(labels: &Labels, mode: &str, otherwise: Level, wrong: &mut Vec<Cause>) -> LevelVersion {
    let mut found = LevelVersion::default();
    let mut judge = |name: &str, text: &str, why: &str| {
        let field = format!("metadata.labels[{name}]");
        wrong.push(Cause::invalid(field, &json!(text), why));
    };
    let name = format!("{PREFIX}{mode}");
    if let Some(text) = labels.get(&name) {
        found.level = Level::parse(text).unwrap_or_else(|why| {
            judge(&name, text, why);
            otherwise
        });
    }
    let name = format!("{PREFIX}{mode}-version");
    if let Some(text) = labels.get(&name) {
        found.version = PolicyVersion::parse(text).unwrap_or_else(|why| {
            judge(&name, text, why);
            PolicyVersion::default()
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        let pairs = pairs.iter();
        let pairs = pairs.map(|(name, text)| (format!("{PREFIX}{name}"), (*text).to_owned()));
        pairs.collect()
    }

    #[test]
    fn labels_say_a_level_and_a_version_for_each_mode() {
        for (pairs, said, wrong) in [
            (&[][..], ["privileged:latest"; 3], 0),
            (
                &[("enforce", "baseline")],
                ["baseline:latest", "privileged:latest", "baseline:latest"],
                0,
            ),
            (
                &[("enforce", "restricted"), ("enforce-version", "v1.24")],
                ["restricted:v1.24", "privileged:latest", "restricted:v1.24"],
                0,
            ),
            (
                &[("enforce", "baseline"), ("warn-version", "v1.0")],
                ["baseline:latest", "privileged:latest", "baseline:v1.0"],
                0,
            ),
            (
                &[
                    ("enforce", "restricted"),
                    ("warn", "baseline"),
                    ("audit", "restricted"),
                ],
                ["restricted:latest", "restricted:latest", "baseline:latest"],
                0,
            ),
            (
                &[("enforce", "none"), ("audit", "none"), ("warn", "none")],
                [
                    "restricted:latest",
                    "privileged:latest",
                    "privileged:latest",
                ],
                3,
            ),
            (
                &[
                    ("enforce-version", "v1.01"),
                    ("audit-version", "1.2"),
                    ("warn-version", "v1."),
                ],
                ["privileged:latest"; 3],
                3,
            ),
            (
                &[("enforce-version", "v1.99999999999999999999")],
                ["privileged:latest"; 3],
                1,
            ),
        ] {
            let labels = labels(pairs);
            let (policies, causes) = read(&labels);
            let modes = [policies.enforce, policies.audit, policies.warn];
            assert_eq!(modes.map(|mode| mode.to_string()), said, "{pairs:?}");
            assert_eq!(causes.len(), wrong, "{pairs:?}");
            assert_eq!(demand(&labels), !pairs.is_empty(), "{pairs:?}");
        }
        let (_, causes) = read(&labels(&[("warn", "some")]));
        let line = causes.first().map(Cause::line).unwrap_or_default();
        let wanted = "metadata.labels[pod-security.kubernetes.io/warn]: Invalid value: \"some\": must be one of \
                      privileged, baseline, restricted";
        assert_eq!(line, wanted);
    }

    #[test]
    fn existing_pods_are_judged_when_a_level_or_its_version_demands_more() {
        let of = |level, minor| LevelVersion {
            level,
            version: PolicyVersion(minor),
        };
        for (new, old, stricter) in [
            (of(Level::Baseline, None), of(Level::Privileged, None), true),
            (
                of(Level::Baseline, None),
                of(Level::Restricted, None),
                false,
            ),
            (
                of(Level::Baseline, Some(1)),
                of(Level::Restricted, None),
                true,
            ),
            (
                of(Level::Restricted, None),
                of(Level::Restricted, None),
                false,
            ),
            (
                of(Level::Privileged, Some(1)),
                of(Level::Baseline, None),
                false,
            ),
        ] {
            assert_eq!(new.is_stricter_than(old), stricter, "{new} after {old}");
        }
    }
}
