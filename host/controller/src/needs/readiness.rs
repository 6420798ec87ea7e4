//! Whether a plugin is granted what it needs: one verdict and one text for all commands: pure.

use super::{CoverageQuery, GrantProblem, problems, wanted};
use windlass_policy::grants::{Grant, Grants};
use windlass_sandbox::Description;

/// What keeps a plugin from being started, or what it has to do without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// The needs that no grant covers, as the grant to add for each: `create configmaps`.
    pub missing: Vec<String>,
    /// What to write for them; or why some of it is never granted.
    pub to_grant: Result<Vec<Grant>, String>,
    /// What in the grants cannot work.
    pub problems: Vec<GrantProblem>,
}

impl Readiness {
    /// The verdict about a plugin with these `grants`.
    pub fn of(description: &Description, grants: &Grants, coverage: &CoverageQuery<'_>) -> Self {
        let scope = coverage.is_cluster_scoped;
        Self {
            missing: description.missing(grants),
            to_grant: wanted(description, grants, coverage),
            problems: problems(description, grants, &coverage.primaries, scope),
        }
    }

    /// What the plugin lacks and what to do about it, behind its name; nothing if it lacks nothing. `advice` says how to
    /// add grants.
    pub fn lack(&self, advice: impl FnOnce(&[Grant]) -> String) -> Option<String> {
        if self.missing.is_empty() {
            return None;
        }
        let advice = match &self.to_grant {
            Ok(grants) => advice(grants),
            Err(never) => format!("some of this access is never granted: {never}"),
        };
        Some(format!("{}; {advice}", lacks(&self.missing)))
    }

    /// What in the grants cannot work: first what keeps the plugin from being started, then what it can do without.
    /// `line` tells the line of a grant in its file.
    pub fn problems_told(&self, line: impl Fn(usize) -> Option<u64>) -> (Vec<String>, Vec<String>) {
        let (refused, notes): (Vec<_>, Vec<_>) = self.problems.iter().partition(|it| it.refuses);
        let told = |problems: Vec<&GrantProblem>| -> Vec<String> {
            let told = problems.into_iter().map(|problem| problem.text(&line));
            told.collect()
        };
        (told(refused), told(notes))
    }
}

/// That a plugin lacks grants, behind its name.
pub fn lacks(missing: &[String]) -> String {
    format!("needs access that is not granted: {}", missing.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::needs::PrimaryKind;
    use windlass_policy::grants::entries;

    fn readiness(needs: &[(&str, &str, &str)], grants: &str) -> Readiness {
        let mut description = Description::asking("", "configmaps", &[]);
        description.needs.clear();
        for (group, resource, verb) in needs {
            let more = Description::asking(group, resource, &[verb]);
            description.needs.extend(more.needs);
        }
        let grants: Vec<Grant> = serde_saphyr::from_str(grants).unwrap();
        let coverage = CoverageQuery {
            primaries: vec![PrimaryKind {
                group: "x.dev",
                plural: "xes",
                namespaced: Some(true),
            }],
            is_cluster_scoped: &|_, plural| plural == "nodes",
        };
        Readiness::of(&description, &Grants::new(grants).unwrap(), &coverage)
    }

    #[test]
    fn the_verdict_says_what_is_missing_and_what_cannot_work() {
        let primary =
            "{ apiGroups: [x.dev], resources: [xes], verbs: [get, list, watch], namespaces: all }";
        let maps = "{ apiGroups: [\"\"], resources: [configmaps], verbs: [create] }";
        let nodes =
            "{ apiGroups: [\"\"], resources: [nodes], verbs: [get], acknowledge: [nodes/get] }";
        let create = ("", "configmaps", "create");
        let leases = ("coordination.k8s.io", "leases", "get");
        let all = |grants: &[&str]| format!("[{}]", grants.join(", "));
        // (needs; grants; what is lacking; what refuses it; what it can do without)
        let rows = [
            (vec![create], all(&[primary, maps]), None, 0, 0),
            (
                vec![create],
                all(&[primary]),
                Some(
                    "needs access that is not granted: create configmaps; add - { apiGroups: [\"\"], resources: [configmaps], verbs: [create] }",
                ),
                0,
                0,
            ),
            (
                vec![create, leases],
                all(&[primary, maps]),
                Some(
                    "needs access that is not granted: get leases.coordination.k8s.io; some of this access is never granted: leases",
                ),
                0,
                0,
            ),
            (vec![create], all(&[maps]), None, 1, 0),
            (vec![create], all(&[primary, maps, nodes]), None, 0, 1),
            (
                vec![("", "nodes", "get")],
                all(&[primary, nodes]),
                None,
                1,
                0,
            ),
        ];
        for (needs, grants, lack, refusals, notes) in rows {
            let readiness = readiness(&needs, &grants);
            let told = readiness.lack(|grants| format!("add {}", entries(grants)));
            match (lack, &told) {
                (Some(lack), Some(told)) => assert!(told.starts_with(lack), "{told}"),
                (lack, told) => assert_eq!(told.as_deref(), lack, "{grants}"),
            }
            let (refused, noted) = readiness.problems_told(|_| None);
            assert_eq!((refused.len(), noted.len()), (refusals, notes), "{grants}");
        }
    }
}
