//! What a deletion does next, given the object and what the client asks for
//! (apiserver `registry/rest/delete.go`, `registry/generic/registry/store.go`).

use serde_json::{Value, json};

use crate::meta;
use crate::mutants::mutant;
use crate::request::options::{DeleteOptions, Propagation};
use crate::strategy::{Dependents, Strategy};

/// The finalizer that lets dependents stay.
pub(super) const ORPHAN: &str = "orphan";
/// The finalizer that waits for dependents.
pub(super) const FOREGROUND: &str = "foregroundDeletion";

/// What a deletion does next.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum DeletionStep {
    /// It has begun, and there is nothing to add.
    Stay,
    /// It waits in this state for finalizers, or for its time.
    Wait(Value),
    /// It goes, after this has been its state.
    End(Value),
    /// It goes.
    Go,
}

/// What a deletion of this object does next.
pub(super) fn next(
    old: &Value,
    options: &DeleteOptions,
    strategy: Strategy,
    now: &str,
) -> DeletionStep {
    let finalizers = finalizers(old, options, strategy.dependents);
    let mut new = old.clone();
    let list = (!finalizers.is_empty()).then(|| json!(finalizers));
    meta::set(&mut new, "finalizers", list);
    let begun = meta::is_deleting(old);
    let held = meta::number(old, "deletionGracePeriodSeconds");
    let seconds = if strategy.graceful {
        grace(old, options)
    } else {
        0
    };
    match held.filter(|_| begun && strategy.graceful) {
        // It is under way, and can only be made shorter.
        Some(held) => match options.grace_seconds {
            Some(asked) if asked.max(0) < held => {
                let began = later(meta::text(old, "deletionTimestamp"), -held);
                mark(&mut new, &began, seconds);
            }
            _ => return DeletionStep::Stay,
        },
        None if strategy.graceful || !begun => mark(&mut new, now, seconds),
        None => {}
    }
    if seconds == 0 && finalizers.is_empty() {
        return if strategy.graceful {
            DeletionStep::End(new)
        } else {
            DeletionStep::Go
        };
    }
    if new == *old {
        DeletionStep::Stay
    } else {
        DeletionStep::Wait(new)
    }
}

/// Marks an object as one that is being deleted since `began`, and has that long.
fn mark(object: &mut Value, began: &str, seconds: i64) {
    if !meta::is_deleting(object)
        && let Some(generation) = meta::number(object, "generation")
    {
        meta::set(object, "generation", Some((generation + 1).into()));
    }
    meta::set_text(object, "deletionTimestamp", &later(began, seconds));
    meta::set(object, "deletionGracePeriodSeconds", Some(seconds.into()));
}

/// How many seconds a pod is given: none before it is on a node, and none after it has ended.
fn grace(old: &Value, options: &DeleteOptions) -> i64 {
    let text = |at: &str| old.pointer(at).and_then(Value::as_str).unwrap_or_default();
    if text("/spec/nodeName").is_empty() || matches!(text("/status/phase"), "Failed" | "Succeeded")
    {
        return 0;
    }
    let own = old
        .pointer("/spec/terminationGracePeriodSeconds")
        .and_then(Value::as_i64);
    match options.grace_seconds.or(own).unwrap_or(0) {
        negative if negative < 0 => 1,
        seconds => seconds,
    }
}

fn later(now: &str, seconds: i64) -> String {
    let moment: Result<jiff::Timestamp, _> = now.parse();
    let later =
        moment.map(|moment| moment.saturating_add(jiff::SignedDuration::from_secs(seconds)));
    match later {
        Ok(Ok(later)) => meta::time(later),
        _ => now.to_owned(),
    }
}

/// The finalizers after the garbage collector's two have been put in or taken out as the options say.
fn finalizers(old: &Value, options: &DeleteOptions, dependents: Dependents) -> Vec<String> {
    let held = meta::finalizers(old);
    let has = |name: &str| held.iter().any(|held| held == name);
    let (orphan, foreground) = match (options.orphan, options.propagation) {
        _ if dependents == Dependents::None => (false, false),
        (Some(orphan), _) => (orphan, false),
        (None, Some(policy)) => (
            policy == Propagation::Orphan,
            policy == Propagation::Foreground,
        ),
        (None, None) if has(ORPHAN) => (true, false),
        (None, None) if has(FOREGROUND) => (false, true),
        (None, None) => {
            let stay = dependents == Dependents::Orphaned;
            (mutant!(DependentsStayByDefault, stay, true), false)
        }
    };
    let ours = |name: &String| name == ORPHAN || name == FOREGROUND;
    let mut all: Vec<String> = held.iter().filter(|name| !ours(name)).cloned().collect();
    if orphan {
        all.push(ORPHAN.to_owned());
    }
    if foreground {
        all.push(FOREGROUND.to_owned());
    }
    let same = all.len() == held.len() && all.iter().all(|name| has(name));
    if same { held } else { all }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(finalizers: &[&str]) -> Value {
        json!({ "metadata": { "name": "a", "finalizers": finalizers, "generation": 1 } })
    }

    #[test]
    fn finalizers_and_propagation_decide_what_a_deletion_does() {
        let now = "2026-11-21T09:30:00Z";
        let with = |propagation| DeleteOptions {
            propagation,
            ..DeleteOptions::default()
        };
        let strategy = |plural| {
            let resources = crate::builtin::resources();
            let found = resources.iter().find(|resource| resource.plural == plural);
            Strategy::of(found.unwrap())
        };
        let does = |old: &Value, propagation, plural| match next(
            old,
            &with(propagation),
            strategy(plural),
            now,
        ) {
            DeletionStep::Wait(new) => Some(meta::finalizers(&new)),
            DeletionStep::Go | DeletionStep::End(_) => None,
            DeletionStep::Stay => Some(vec!["stays".to_owned()]),
        };
        let waits = |old: &Value, propagation| does(old, propagation, "configmaps");
        let background = Some(Propagation::Background);
        assert_eq!(
            does(&object(&[]), None, "jobs"),
            Some(vec![ORPHAN.to_owned()])
        );
        assert_eq!(does(&object(&[]), background, "jobs"), None);
        assert_eq!(
            does(&object(&[]), Some(Propagation::Orphan), "events"),
            None
        );
        let orphan = Some(Propagation::Orphan);
        let foreground = Some(Propagation::Foreground);
        assert_eq!(waits(&object(&[]), None), None);
        assert_eq!(waits(&object(&["x"]), None), Some(vec!["x".to_owned()]));
        assert_eq!(
            waits(&object(&[]), foreground),
            Some(vec![FOREGROUND.to_owned()])
        );
        assert_eq!(waits(&object(&[]), orphan), Some(vec![ORPHAN.to_owned()]));
        let mut begun = object(&["x"]);
        meta::set_text(&mut begun, "deletionTimestamp", now);
        meta::set(&mut begun, "deletionGracePeriodSeconds", Some(0.into()));
        assert_eq!(waits(&begun, None), Some(vec!["stays".to_owned()]));
    }

    #[test]
    fn a_pod_is_given_time_that_can_only_be_made_shorter() {
        let resources = crate::builtin::resources();
        let pods = resources.iter().find(|resource| resource.plural == "pods");
        let strategy = Strategy::of(pods.unwrap());
        let with = |grace_seconds| DeleteOptions {
            grace_seconds,
            ..DeleteOptions::default()
        };
        let pod = json!({
            "metadata": { "name": "a", "generation": 1 },
            "spec": { "nodeName": "n", "terminationGracePeriodSeconds": 30 },
        });
        let marked = |step| match step {
            DeletionStep::Wait(new) => (false, new["metadata"].clone()),
            DeletionStep::End(new) => (true, new["metadata"].clone()),
            other => panic!("{other:?}"),
        };
        let metadata = |at: &str, seconds: i64| {
            json!({
                "name": "a", "generation": 2, "deletionTimestamp": at, "deletionGracePeriodSeconds": seconds,
            })
        };
        let now = "2026-11-21T09:30:00Z";
        let begun = next(&pod, &with(None), strategy, now);
        assert_eq!(
            marked(begun.clone()),
            (false, metadata("2026-11-21T09:30:30Z", 30))
        );
        let DeletionStep::Wait(begun) = begun else {
            panic!()
        };
        let later = "2026-11-21T09:30:05Z";
        assert_eq!(
            next(&begun, &with(None), strategy, later),
            DeletionStep::Stay
        );
        assert_eq!(
            next(&begun, &with(Some(60)), strategy, later),
            DeletionStep::Stay
        );
        let shorter = next(&begun, &with(Some(7)), strategy, later);
        assert_eq!(
            marked(shorter),
            (false, metadata("2026-11-21T09:30:07Z", 7))
        );
        let force = next(&begun, &with(Some(0)), strategy, later);
        assert_eq!(marked(force), (true, metadata("2026-11-21T09:30:00Z", 0)));
        let mut loose = pod;
        loose["spec"]["nodeName"] = "".into();
        let at_once = next(&loose, &with(None), strategy, now);
        assert_eq!(marked(at_once), (true, metadata(now, 0)));
    }
}
