//! Where a plugin's primary kind is watched, and what its resource is called: from the grants alone.
//!
//! - A description names the kind, a grant the plural. What a cluster would say about the two is
//!   guessed as Kubernetes' clients guess it, unless the grants leave only one answer.

use std::collections::BTreeSet;

use windlass_policy::grants::{Grant, Grants, Namespaces, Scope, entries};
use windlass_sandbox::{Description, PrimaryWatch};

/// A primary kind, as far as grants say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GrantedPrimary {
    /// `examples.windlass.dev`.
    pub(super) group: String,
    /// `greetings`.
    pub(super) plural: String,
    /// Where it is watched.
    pub(super) scope: Scope,
}

/// Finds a primary kind of a plugin; for `*` each that its grants name. Whether the plugin may be started with it is for
/// [`windlass_controller::needs::problems`] to say.
///
/// # Errors
/// What to change in the grants.
pub(super) fn find(
    description: &Description,
    primary: &PrimaryWatch,
    grants: &Grants,
) -> Result<Vec<GrantedPrimary>, String> {
    let found = |group: &str, plural: &str| GrantedPrimary {
        group: group.to_owned(),
        scope: grants.watch_scope(group, plural, None),
        plural: plural.to_owned(),
    };
    if primary.is_every_kind() {
        let patterns = description.every_kind_patterns(grants).into_iter();
        return Ok(patterns
            .map(|(group, plural)| found(group, plural))
            .collect());
    }
    let plural = plural(description, primary, grants)?;
    Ok(vec![found(primary.group(), &plural)])
}

/// The plural of a primary kind, among what the grants let the plugin watch somewhere.
///
/// # Errors
/// What to change in the grants.
pub fn plural(
    description: &Description,
    primary: &PrimaryWatch,
    grants: &Grants,
) -> Result<String, String> {
    if primary.is_every_kind() {
        return Ok(primary.guessed_plural());
    }
    let (group, kind) = (primary.group(), &primary.kind);
    let guess = primary.guessed_plural();
    let others = description.primaries.iter().filter(|it| *it != primary);
    let others: BTreeSet<String> = others.map(PrimaryWatch::guessed_plural).collect();
    let named = places(primary, grants).flat_map(|grant| &grant.resources);
    let candidates: BTreeSet<&str> = named
        .filter(|resource| !resource.contains('/'))
        .map(|resource| if resource == "*" { &guess } else { resource })
        .map(String::as_str)
        .filter(|resource| *resource == guess || !others.contains(*resource))
        .collect();
    if candidates.contains(guess.as_str()) {
        return Ok(guess);
    }
    let mut candidates = candidates.into_iter();
    match (candidates.next(), candidates.next()) {
        (Some(only), None) => Ok(only.to_owned()),
        (None, _) => {
            let verbs = primary.verbs();
            let named = description.likely_plural(primary);
            let grant = Grant::suggested(group, &[&named], &verbs, Namespaces::All);
            Err(format!(
                "no grant says where it may watch its primary kind {kind}: grant watch on it with `namespaces: all` or a list of names; write: {}",
                entries([&grant])
            ))
        }
        (Some(first), Some(second)) => Err(format!(
            "its grants do not tell which resource of group {group:?} is its primary kind {kind}: {first}, {second} or another; grant watch on the others with `namespaces: same-as-primary`"
        )),
    }
}

/// Whether some grant lets the plugin watch a kind of the primary's group somewhere.
pub fn is_watched(primary: &PrimaryWatch, grants: &Grants) -> bool {
    places(primary, grants).next().is_some()
}

/// The grants that say where kinds of the primary's group are watched.
fn places<'a>(primary: &'a PrimaryWatch, grants: &'a Grants) -> impl Iterator<Item = &'a Grant> {
    let says = |list: &[String], wanted: &str| list.iter().any(|it| it == "*" || it == wanted);
    grants.iter().filter(move |grant| {
        grant.namespaces != Namespaces::SameAsPrimary
            && says(&grant.api_groups, primary.group())
            && says(&grant.verbs, "watch")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(text: &str) -> Grants {
        let grants: Vec<Grant> = serde_saphyr::from_str(text).unwrap();
        let grants = grants.into_iter().map(Grant::acknowledged);
        Grants::new(grants.collect()).unwrap()
    }

    fn found(kind: &str, text: &str) -> Result<(String, Scope), String> {
        let described = Description {
            primaries: vec![PrimaryWatch::of("x.dev/v1", kind)],
            ..Description::asking("", "configmaps", &[])
        };
        let mut primary = find(&described, &described.primaries[0], &grants(text))?;
        let primary = primary.pop().unwrap();
        Ok((primary.plural, primary.scope))
    }

    #[test]
    fn the_plural_comes_from_the_grants_and_the_kind() {
        let all = "verbs: [get, list, watch], namespaces: all";
        let cases = [
            ("Thing", "things", "things"),
            ("Policy", "policies", "policies"),
            ("Gateway", "gateways", "gateways"),
            ("Thing", "things, others", "things"),
            ("Thing", "things, things/status", "things"),
            // Only one answer is left.
            ("Thing", "thingies", "thingies"),
            ("Thing", "thingies, thingies/status", "thingies"),
        ];
        for (kind, resources, want) in cases {
            let text = format!("[{{ apiGroups: [x.dev], resources: [{resources}], {all} }}]");
            let want = (want.to_owned(), Scope::All);
            assert_eq!(found(kind, &text), Ok(want), "{kind} {resources}");
        }
        let wild = format!("[{{ apiGroups: ['*'], resources: ['*'], {all} }}]");
        assert_eq!(found("Thing", &wild), Ok(("things".into(), Scope::All)));
    }

    #[test]
    fn every_kind_is_each_that_the_grants_name() {
        let read = "verbs: [get, list, watch]";
        let grants = grants(&format!(
            "[{{ apiGroups: [''], resources: [pods, pods/log, configmaps], {read}, namespaces: all }},
              {{ apiGroups: [x.dev], resources: ['*'], {read}, namespaces: [a] }},
              {{ apiGroups: [y.dev], resources: [things], {read} }}]"
        ));
        let described = Description {
            primaries: vec![PrimaryWatch::of("*", "*")],
            ..Description::asking("", "configmaps", &[])
        };
        let found = find(&described, &described.primaries[0], &grants).unwrap();
        let found: Vec<(&str, &str, &Scope)> = found
            .iter()
            .map(|it| (&*it.group, &*it.plural, &it.scope))
            .collect();
        let home = Scope::Namespaces(vec!["a".into()]);
        let want = [
            ("", "configmaps", &Scope::All),
            ("", "pods", &Scope::All),
            ("x.dev", "*", &home),
        ];
        assert_eq!(found, want);
    }

    #[test]
    fn it_is_watched_where_the_grants_name_a_place() {
        let primary = "apiGroups: [x.dev], resources: [things], verbs: [get, list, watch]";
        let found = found(
            "Thing",
            &format!(
                "[{{ {primary}, namespaces: [b, a] }}, {{ {primary}, namespaces: [c] }}, {{ {primary} }}]"
            ),
        );
        let places = ["a", "b", "c"].map(str::to_owned).to_vec();
        assert_eq!(found, Ok(("things".into(), Scope::Namespaces(places))));
    }

    #[test]
    fn what_cannot_be_told_is_an_error_that_says_what_to_write() {
        let all = "verbs: [get, list, watch], namespaces: all";
        let cases = [
            ("[]".to_owned(), "grant watch on it with `namespaces: all`"),
            (
                "[]".to_owned(),
                "write: - { apiGroups: [x.dev], resources: [things], verbs: [get, list, watch], namespaces: all }",
            ),
            (
                "[{ apiGroups: [x.dev], resources: [things], verbs: [get, list, watch] }]".into(),
                "no grant says where it may watch its primary kind Thing",
            ),
            (
                format!("[{{ apiGroups: [y.dev], resources: [things], {all} }}]"),
                "no grant says where",
            ),
            (
                format!("[{{ apiGroups: [x.dev], resources: [these, those], {all} }}]"),
                "its primary kind Thing: these, those or another",
            ),
        ];
        for (text, want) in cases {
            let error = found("Thing", &text).unwrap_err();
            assert!(error.contains(want), "{text}: {error}");
        }
    }
}
