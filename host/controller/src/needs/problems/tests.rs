//! Each row: grants, the scope of the primary kind, and what is said about them.

use super::*;
use windlass_sandbox::Finalizes;

const PRIMARY: &str =
    "{ apiGroups: [x.dev], resources: [exes], verbs: [get, list, watch, patch], namespaces: all }";

/// The problems of a plugin for `exes` of `x.dev` that needs `verbs` on a resource; `!` before those that refuse it.
fn said(
    namespaced: Option<bool>,
    need: (&str, &str, &[&str]),
    finalizes: bool,
    grants: &str,
) -> Vec<String> {
    let grants: Vec<Grant> = serde_saphyr::from_str(grants).unwrap();
    let grants = grants.into_iter().map(Grant::acknowledged);
    let grants = Grants::new(grants.collect()).unwrap();
    let mut description = Description::asking(need.0, need.1, need.2);
    if finalizes {
        description.primaries[0].finalizes = Finalizes::Always;
    }
    let primary = PrimaryKind {
        group: "x.dev",
        plural: "exes",
        namespaced,
    };
    let found = find(&description, &grants, &[primary], &is_cluster_scoped);
    let line = |index: usize| (index == 1).then_some(14);
    let text = |problem: &GrantProblem| {
        let mark = if problem.refuses { "!" } else { "" };
        format!("{mark}{}", problem.text(line))
    };
    found.iter().map(text).collect()
}

const MAPS: (&str, &str, &[&str]) = ("", "configmaps", &["get"]);

#[test]
fn a_primary_kind_is_granted_somewhere_with_all_that_the_host_does() {
    let primary = |verbs: &str, namespaces: &str| {
        format!(
            "[{{ apiGroups: [x.dev], resources: [exes], verbs: [{verbs}], namespaces: {namespaces} }}]"
        )
    };
    let all = "get, list, watch";
    let paste = "; write: - { apiGroups: [x.dev], resources: [exes], verbs: [get, list, watch";
    let nowhere = format!(
        "!no grant says where it may watch its primary kind: grant watch on exes.x.dev with `namespaces: all` or a list of names{paste}], namespaces: all }}"
    );
    let verbs = |open: &str, verbs: &str, namespaces: &str| {
        format!(
            "!its primary kind needs a grant too: add {open} on exes.x.dev to grants{paste}{verbs}], namespaces: {namespaces} }}"
        )
    };
    let cases = [
        (Some(true), false, primary(all, "all"), None),
        (Some(true), false, primary(all, "[a]"), None),
        (None, false, primary(all, "[a]"), None),
        (Some(false), false, primary(all, "all"), None),
        (
            Some(true),
            false,
            primary(all, "same-as-primary"),
            Some(nowhere.clone()),
        ),
        (Some(true), false, "[]".to_owned(), Some(nowhere)),
        (
            Some(true),
            true,
            primary(all, "all"),
            Some(verbs("patch", ", patch", "all")),
        ),
        (
            Some(true),
            false,
            primary("watch", "[a]"),
            Some(verbs("get list", "", "[a]")),
        ),
        (
            Some(false),
            false,
            primary(all, "[a]"),
            Some(format!(
                "!exes.x.dev are cluster-scoped: grant watch on them with `namespaces: all`{paste}], namespaces: all }}"
            )),
        ),
    ];
    for (namespaced, finalizes, grants, want) in cases {
        let said = said(namespaced, MAPS, finalizes, &grants);
        assert_eq!(said, Vec::from_iter(want), "{grants}");
    }
}

#[test]
fn a_grant_that_covers_nothing_is_named_with_its_line() {
    let with = |grant: &str| format!("[{PRIMARY}, {{ {grant} }}]");
    let nodes = |namespaces: &str| {
        with(&format!(
            "apiGroups: [''], resources: [configmaps, nodes/status], verbs: [get]{namespaces}"
        ))
    };
    let void = "spec.grants[1] (line 14): nodes/status is cluster-scoped: only `namespaces: all` covers it; \
                write: - { apiGroups: [\"\"], resources: [nodes/status], verbs: [get], namespaces: all, acknowledge: [nodes/status/get] }";
    let need: (&str, &str, &[&str]) = ("", "nodes/status", &["get"]);
    for namespaces in ["", ", namespaces: same-as-primary", ", namespaces: [a]"] {
        let grants = nodes(namespaces);
        // What it needs it does not have; what it does not need it can do without.
        assert_eq!(said(Some(true), need, false, &grants), [format!("!{void}")]);
        assert_eq!(said(Some(true), MAPS, false, &grants), [void]);
        assert_eq!(said(None, MAPS, false, &grants), [void]);
    }
    assert_eq!(
        said(Some(true), need, false, &nodes(", namespaces: all")),
        [""; 0]
    );
    // Another grant covers it.
    let twice = format!(
        "[{PRIMARY}, {{ apiGroups: [''], resources: [nodes/status], verbs: [get] }}, \
         {{ apiGroups: [''], resources: [nodes/status], verbs: [get], namespaces: all }}]"
    );
    assert_eq!(said(Some(true), need, false, &twice), [void]);
    // Nobody knows these.
    let unknown = with("apiGroups: [y.dev], resources: [nodes], verbs: [get]");
    assert_eq!(said(Some(true), MAPS, false, &unknown), [""; 0]);
    let wild = with("apiGroups: [''], resources: ['*'], verbs: [get]");
    assert_eq!(said(Some(true), need, false, &wild), [""; 0]);
}

#[test]
fn a_cluster_scoped_primary_has_no_namespace_of_its_own() {
    let grants =
        format!("[{PRIMARY}, {{ apiGroups: [''], resources: [configmaps], verbs: [get] }}]");
    let void = "!spec.grants[1] (line 14): `namespaces: same-as-primary` covers no configmaps: X is cluster-scoped, so it has no namespace; \
                write: - { apiGroups: [\"\"], resources: [configmaps], verbs: [get], namespaces: all }";
    assert_eq!(said(Some(false), MAPS, false, &grants), [void]);
    assert_eq!(said(Some(true), MAPS, false, &grants), [""; 0]);
    assert_eq!(said(None, MAPS, false, &grants), [""; 0]);
    let only = grants.replace("verbs: [get] }", "verbs: [get], namespaces: [a] }");
    assert_eq!(said(Some(false), MAPS, false, &only), [""; 0]);
}

#[test]
fn children_that_no_primary_can_own_are_named() {
    let maps = |namespaces: &str| {
        format!(
            "{{ apiGroups: [''], resources: [configmaps], verbs: [create, patch], namespaces: {namespaces} }}"
        )
    };
    let watched = |place: &str| PRIMARY.replace("all", place);
    let away = "spec.grants[1] (line 14): configmaps can be created only outside the namespaces of X: \
                one owns only what is in its own namespace, so apply-set is denied; \
                write: - { apiGroups: [\"\"], resources: [configmaps], verbs: [create, patch] }";
    let cases = [
        (watched("all"), vec![maps("[b]")], Some(away)),
        (watched("[a]"), vec![maps("[b]")], Some(away)),
        (watched("[a, b]"), vec![maps("[b]")], None),
        (watched("all"), vec![maps("all")], None),
        // Elsewhere and at home: that is meant.
        (
            watched("all"),
            vec![maps("[b]"), maps("same-as-primary")],
            None,
        ),
    ];
    for (primary, children, want) in cases {
        let grants = format!("[{primary}, {}]", children.join(", "));
        let said = said(Some(true), MAPS, false, &grants);
        assert_eq!(said, Vec::from_iter(want), "{grants}");
    }
    let namespaces = format!(
        "[{PRIMARY}, {{ apiGroups: [''], resources: [namespaces], verbs: [create], namespaces: all }}]"
    );
    let said_of = said(Some(true), MAPS, false, &namespaces);
    assert!(
        said_of.len() == 1
            && said_of[0]
                .starts_with("spec.grants[1] (line 14): namespaces is cluster-scoped and X is not"),
        "{said_of:?}"
    );
    // A cluster-scoped primary owns whatever it likes.
    assert_eq!(said(Some(false), MAPS, false, &namespaces), [""; 0]);
}

#[test]
fn every_kind_is_granted_somewhere_and_what_it_leaves_out_is_said() {
    let said = |grants: &str| {
        let grants: Vec<Grant> = serde_saphyr::from_str(grants).unwrap();
        let grants = grants.into_iter().map(Grant::acknowledged);
        let grants = Grants::new(grants.collect()).unwrap();
        let description = Description {
            primaries: vec![PrimaryWatch {
                finalizes: Finalizes::OnRequest,
                ..PrimaryWatch::of("*", "*")
            }],
            ..Description::asking("", "services", &["watch"])
        };
        let kinds = PrimaryKind::each(&description, &[]);
        let found = find(&description, &grants, &kinds, &is_cluster_scoped);
        let texts = found
            .iter()
            .map(|problem| (problem.refuses, problem.text(|_| None)));
        texts.collect::<Vec<_>>()
    };
    let all = "verbs: [get, list, watch, patch], namespaces: all";
    let maps = format!("{{ apiGroups: [''], resources: [configmaps], {all} }}");
    let [(refuses, text)] = said("[]").try_into().unwrap();
    assert!(
        refuses && text.contains("grant get list watch patch on each"),
        "{text}"
    );
    assert_eq!(said(&format!("[{maps}]")), []);
    // What it needs for something else is not among the kinds on purpose.
    let more = format!(
        "[{maps}, {{ apiGroups: [''], resources: [services, pods], verbs: [get, list, watch], namespaces: all }}]"
    );
    let [(refuses, text)] = said(&more).try_into().unwrap();
    assert!(!refuses);
    assert_eq!(
        text,
        "pods are not among the kinds of `*`: that takes patch too"
    );
}
