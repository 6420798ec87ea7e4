//! How many replicas each set gets: the rules of a rolling update, and of a change of size in the middle of one.
//!
//! Source: "Deployments" in the documentation of Kubernetes: rolling update, proportional scaling.

use crate::deployment::Spec;
use crate::set::{MOST, ReplicaSet, by_size, oldest_first, replicas};

/// A set gets another size: its name, and how many replicas.
pub(crate) type Sizes = Vec<(String, i64)>;

/// How many replicas the new set gets: as many as the surge allows beside the old sets.
pub(crate) fn of_new_set(spec: &Spec, new: &ReplicaSet, old: &[ReplicaSet]) -> i64 {
    let wanted = spec.replicas();
    if new.replicas() >= wanted || spec.recreates() {
        return wanted;
    }
    // Nobody knows how many pods a set has that has another size since its status was written.
    let is_unknown = |set: &ReplicaSet| set.status.observed_generation < set.metadata.generation;
    if old.iter().any(is_unknown) {
        return new.replicas();
    }
    // A set that was just made smaller still has the pods that its status counts.
    let there = |set: &ReplicaSet| set.replicas().max(set.status.replicas);
    let room = spec.most() - new.replicas() - old.iter().map(there).sum::<i64>();
    new.replicas() + room.clamp(0, wanted - new.replicas())
}

/// Which old sets get smaller, so that enough replicas stay available.
///
/// First go replicas that are not available. They help nobody, and would hold up the update. Then go available ones, those of
/// the oldest set first.
pub(crate) fn of_old_sets(spec: &Spec, new: &ReplicaSet, old: &[ReplicaSet]) -> Sizes {
    let mut old: Vec<ReplicaSet> = old.to_vec();
    old.sort_by_key(oldest_first);
    let kept = replicas(&old);
    let all = kept + new.replicas();
    let least = spec.least_available();
    let new_unavailable = new.replicas() - available(new);
    let most_down = all - least - new_unavailable;
    if kept == 0 || most_down <= 0 {
        return Sizes::new();
    }
    let mut sizes: Sizes = old.iter().map(named).collect();
    let mut rest = most_down;
    for (set, (_, size)) in old.iter().zip(&mut sizes) {
        let unavailable = *size - available(set);
        let down = unavailable.min(rest);
        *size -= down;
        rest -= down;
    }
    let mut rest = old.iter().chain([new]).map(available).sum::<i64>() - least;
    for (_, size) in &mut sizes {
        let down = (*size).min(rest.max(0));
        *size -= down;
        rest -= down;
    }
    let changed = old.iter().zip(sizes);
    let changed = changed.filter(|(set, (_, size))| set.replicas() != *size);
    changed.map(|(_, size)| size).collect()
}

/// How many replicas of a set are available, and stay. A set that was just made smaller says what it had before.
fn available(set: &ReplicaSet) -> i64 {
    set.status.available_replicas.min(set.replicas())
}

/// The sizes of all sets after the Deployment got another size: each set keeps its part of the replicas.
pub(crate) fn in_proportion(spec: &Spec, before: i64, sets: &[ReplicaSet]) -> Sizes {
    let wanted = spec.replicas();
    let allowed = if wanted > 0 { spec.most() } else { 0 };
    let change = allowed - replicas(sets);
    let mut sets = sets.to_vec();
    by_size(&mut sets, change > 0);
    let mut done = 0;
    let mut sizes = Sizes::new();
    for set in &sets {
        let part = if set.replicas() == 0 || change == 0 || change == done {
            0
        } else {
            let part = part(spec, before, set);
            let rest = change - done;
            if change > 0 {
                part.min(rest)
            } else {
                part.max(rest)
            }
        };
        done += part;
        sizes.push((set.metadata.name.clone(), set.replicas() + part));
    }
    if let Some((_, largest)) = sizes.first_mut() {
        *largest = (*largest + change - done).max(0);
    }
    sizes
}

/// By how much a set changes to keep its part. `before` stands in for the annotation of sets that do not say how many replicas
/// there could be.
fn part(spec: &Spec, before: i64, set: &ReplicaSet) -> i64 {
    if spec.replicas() == 0 {
        return -set.replicas();
    }
    let said = set.number(MOST).filter(|most| *most > 0);
    let before = said.unwrap_or(before).max(1);
    rounded(set.replicas() * spec.most(), before) - set.replicas()
}

/// A fraction as the nearest whole number. Halves are rounded up.
fn rounded(number: i64, of: i64) -> i64 {
    (2 * number + of).div_euclid(2 * of)
}

fn named(set: &ReplicaSet) -> (String, i64) {
    (set.metadata.name.clone(), set.replicas())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::set::tests::set;

    fn spec(replicas: i64, surge: i64, unavailable: i64) -> Spec {
        let update = json!({ "maxSurge": surge, "maxUnavailable": unavailable });
        serde_json::from_value(json!({
            "replicas": replicas, "selector": {}, "template": {},
            "strategy": { "type": "RollingUpdate", "rollingUpdate": update },
        }))
        .unwrap()
    }

    fn sizes(sizes: &[(&str, i64)]) -> Sizes {
        let owned = sizes.iter().map(|(name, size)| ((*name).to_owned(), *size));
        owned.collect()
    }

    #[test]
    fn the_new_set_gets_the_room_that_the_surge_leaves() {
        for (wanted, surge, new, old, expected) in [
            (10, 3, 0, 10, 3),
            (10, 3, 3, 10, 3),
            (10, 3, 3, 8, 5),
            (10, 0, 0, 10, 0),
            (10, 3, 10, 0, 10),
            (4, 1, 6, 0, 4),
            (10, 3, 0, 20, 0),
        ] {
            let found = of_new_set(
                &spec(wanted, surge, 1),
                &set("new", new, 0),
                &[set("old", old, old)],
            );
            assert_eq!(found, expected, "{wanted} + {surge}: {new} beside {old}");
        }
    }

    #[test]
    fn pods_that_an_old_set_still_has_take_room() {
        let mut old = set("old", 4, 4);
        old.status.replicas = 5;
        let size = |old: ReplicaSet| of_new_set(&spec(5, 0, 1), &set("new", 0, 0), &[old]);
        assert_eq!(size(old.clone()), 0);
        old.status.replicas = 4;
        assert_eq!(size(old.clone()), 1);
        old.metadata.generation = 1;
        assert_eq!(size(old), 0);
    }

    #[test]
    fn old_sets_shrink_as_far_as_enough_is_available() {
        for (unavailable, new, old, expected) in [
            // Two may be unavailable.
            (
                2,
                set("new", 3, 0),
                vec![set("a", 10, 10)],
                sizes(&[("a", 8)]),
            ),
            // The new replicas are available.
            (
                2,
                set("new", 5, 5),
                vec![set("a", 8, 8)],
                sizes(&[("a", 3)]),
            ),
            // Nothing may go before the new ones are available.
            (0, set("new", 3, 0), vec![set("a", 10, 10)], sizes(&[])),
            // What is not available goes first, whatever its age.
            (
                0,
                set("new", 3, 3),
                vec![set("a", 8, 8), set("b", 2, 0)],
                sizes(&[("a", 7), ("b", 0)]),
            ),
            // Those of the oldest set go first.
            (
                2,
                set("new", 0, 0),
                vec![set("a", 1, 1), set("b", 9, 9)],
                sizes(&[("a", 0), ("b", 8)]),
            ),
            (2, set("new", 10, 10), vec![set("a", 0, 0)], sizes(&[])),
            // A set that was made smaller a moment ago: two replicas stay, whatever its status says.
            (
                9,
                set("new", 0, 0),
                vec![set("a", 2, 6)],
                sizes(&[("a", 1)]),
            ),
        ] {
            assert_eq!(
                of_old_sets(&spec(10, 3, unavailable), &new, &old),
                expected,
                "{old:?}"
            );
        }
    }

    #[test]
    fn each_set_keeps_its_part_of_the_replicas() {
        let with_most = |mut set: ReplicaSet, most: i64| {
            set.metadata
                .annotations
                .insert(MOST.to_owned(), most.to_string());
            set
        };
        let (first, second) = (set("a", 100, 100), set("b", 20, 0));
        let sets = [with_most(first, 120), with_most(second, 120)];
        for (wanted, surge, expected) in [
            (120, 20, sizes(&[("a", 117), ("b", 23)])),
            (50, 20, sizes(&[("a", 58), ("b", 12)])),
            (0, 20, sizes(&[("a", 0), ("b", 0)])),
            (100, 20, sizes(&[("a", 100), ("b", 20)])),
        ] {
            assert_eq!(
                in_proportion(&spec(wanted, surge, 0), 120, &sets),
                expected,
                "{wanted}"
            );
        }
        // Rounding leaves one, which the largest set gets.
        let sets = [set("a", 5, 5), set("b", 5, 5), set("c", 5, 5)];
        let found = in_proportion(&spec(16, 0, 1), 15, &sets);
        assert_eq!(found, sizes(&[("c", 6), ("b", 5), ("a", 5)]));
    }
}
