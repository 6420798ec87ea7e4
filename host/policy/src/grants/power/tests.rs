//! A test of each row: what its grant is, and what the operator reads about it.

use super::*;
use crate::grants::{Grants, VERBS};
use windlass_kube::api::Resource;

fn grant(group: &str, resource: &str, verbs: &[&str], namespaces: Namespaces) -> Grant {
    Grant {
        api_groups: vec![group.to_owned()],
        resources: vec![resource.to_owned()],
        resource_names: Vec::new(),
        verbs: verbs.iter().map(|&verb| verb.to_owned()).collect(),
        namespaces,
        adopt: false,
        finalizers: Vec::new(),
        owners: Owners::Primary,
        acknowledge: Vec::new(),
    }
}

fn only(name: &str) -> Namespaces {
    Namespaces::Only(vec![name.to_owned()])
}

/// What a grant without `acknowledge` is told; nothing if it is plain.
fn told(grant: Grant) -> String {
    let told = Grants::new(vec![grant]).err();
    told.map_or(String::new(), |told| told.to_string())
}

/// The places where a grant may hold: a row that is about one namespace holds there.
fn places(row: &PowerRow) -> Vec<Namespaces> {
    match row.verbs {
        _ if (row.group, row.resource) == LEASES => vec![only("other")],
        Verbs::WritesIn(namespace) => vec![only(namespace)],
        Verbs::Any | Verbs::Writes | Verbs::Contents | Verbs::Changes => {
            vec![Namespaces::SameAsPrimary, Namespaces::All, only("other")]
        }
    }
}

#[test]
fn who_only_deletes_is_told_what_a_deletion_does() {
    let runs = "a pod runs any image and can mount any Secret of its namespace";
    let stops = "it stops what others run in its namespace";
    // (group, resource, verbs; why)
    let rows: [(&str, &str, &[&str], &str); 5] = [
        ("batch", "jobs", &["get", "delete"], stops),
        ("batch", "jobs", &["create", "delete"], runs),
        ("batch", "jobs", &["patch"], runs),
        ("", "pods", &["*"], runs),
        (
            "",
            "endpoints",
            &["delete"],
            "it cuts a Service off from its pods",
        ),
    ];
    for (group, resource, verbs, why) in rows {
        let told = told(grant(group, resource, verbs, Namespaces::SameAsPrimary));
        assert!(told.contains(why), "{told}");
    }
}

#[test]
fn each_row_is_powerful_with_its_verbs_and_says_why() {
    for row in POWERFUL {
        assert!(row.why.len() > 10, "{row:?} has no reason");
        for (namespaces, verb) in places(row).iter().flat_map(|namespaces| {
            let verbs = VERBS.iter();
            verbs.map(move |verb| (namespaces.clone(), *verb))
        }) {
            let of_row = row.verbs.has(verb);
            let powerful = of_row || verb == DELETE_COLLECTION;
            let plain = grant(row.group, row.resource, &[verb], namespaces);
            let acknowledged = plain.clone().acknowledged();
            let words = acknowledged.acknowledge.join(", ");
            assert_eq!(words.contains(verb), powerful, "{row:?} {words}");
            assert!(Grants::new(vec![acknowledged]).is_ok(), "{row:?} {verb}");
            let told = told(plain);
            if powerful {
                let says = format!(
                    "[0]: {} is powerful: {}: ",
                    row.resource,
                    row.why_of(&[verb])
                );
                let write = format!("write `acknowledge: [{words}]` in this grant");
                let later = format!("{}: {}: ", row.resource, row.why_of(&[verb]));
                let comes_later = verb == DELETE_COLLECTION && told.contains(&later);
                assert_eq!(told.starts_with(&says) || comes_later, of_row, "{told}");
                assert!(told.ends_with(&write), "{told}");
            } else {
                assert_eq!(told, "", "{row:?} {verb}");
            }
        }
    }
}

#[test]
fn the_page_has_a_line_for_each_powerful_kind() {
    const PAGE: &str = include_str!("../../../../../docs/security.md");
    let lines = POWERFUL.iter().map(|row| {
        let verbs = match row.verbs {
            Verbs::Any => "all".to_owned(),
            Verbs::Writes => "writes".to_owned(),
            Verbs::Contents => "`create`, `update`, `patch`".to_owned(),
            Verbs::Changes => "writes, but for `create`".to_owned(),
            Verbs::WritesIn(namespace) => format!("writes in `{namespace}`"),
        };
        let kind = crate::grants::used::spelled(row.group, row.resource);
        format!("| `{kind}` | {verbs} | {} |", row.why)
    });
    let (_, page) = PAGE.split_once("## Powerful kinds").unwrap();
    let page: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("| `"))
        .collect();
    assert_eq!(page, lines.collect::<Vec<_>>());
}

#[test]
fn a_kind_is_powerful_with_the_verbs_that_give_the_power() {
    let words = |group: &str, resource: &str| {
        let verbs = ["get", "create", "update", "patch", "delete"];
        grant(group, resource, &verbs, Namespaces::SameAsPrimary).acknowledgements()
    };
    assert_eq!(
        words("", "services"),
        ["services/create", "services/update", "services/patch"]
    );
    assert_eq!(
        words("", "limitranges"),
        [
            "limitranges/update",
            "limitranges/patch",
            "limitranges/delete"
        ]
    );
    assert_eq!(words("", "configmaps"), [""; 0]);
}

#[test]
fn what_is_powerful_of_any_kind_is_so_with_each_verb_that_grants_may_know() {
    let maps = |verbs: &[&str]| grant("", "configmaps", verbs, Namespaces::SameAsPrimary);
    let words = |grant: Grant| grant.acknowledgements().join(" ");
    assert_eq!(
        words(maps(&["get", "create", "update", "patch", "delete"])),
        ""
    );
    let all = "deletecollection";
    assert_eq!(words(maps(&["delete", all])), "configmaps/deletecollection");
    // A verb that nobody knows yet is not one that only reads.
    for verb in ["update", all] {
        let pods = grant("", "pods", &["get", verb], Namespaces::SameAsPrimary);
        assert_eq!(words(pods), format!("pods/{verb}"));
        let roles = resource(RBAC, "clusterroles");
        let own = Access {
            name: Some("windlass"),
            ..access(&roles, verb, "a")
        };
        assert!(is_hosts_own(&own), "{verb}");
    }
    let namespaces = grant("", "namespaces/finalize", &["update"], Namespaces::All);
    assert_eq!(words(namespaces), "namespaces/finalize/update");
}

#[test]
fn a_subresource_is_as_powerful_as_its_kind() {
    for row in POWERFUL.iter().filter(|row| !row.resource.contains('/')) {
        let status = format!("{}/status", row.resource);
        for namespaces in places(row) {
            let told = told(grant(row.group, &status, &["patch"], namespaces));
            assert!(told.contains(row.why), "{row:?}: {told}");
        }
    }
}

#[test]
fn no_row_is_there_twice_or_in_another_group() {
    for (index, row) in POWERFUL.iter().enumerate() {
        let same = |other: &PowerRow| (other.group, other.resource) == (row.group, row.resource);
        assert_eq!(POWERFUL.iter().position(same), Some(index), "{row:?}");
        let plain = grant("x.dev", row.resource, &["create", "get"], Namespaces::All);
        assert_eq!(told(plain), "", "{row:?}");
    }
}

#[test]
fn each_row_is_a_resource_of_kubernetes() {
    let built_in = windlass_apiserver::builtin::resources();
    // The embedded server does not serve these, nor does a real one before their features are on.
    let others = [
        "plugins",
        "clustertrustbundles",
        "leasecandidates",
        "podcertificaterequests",
    ];
    let is_one = |row: &PowerRow| {
        let (plural, subresource) = split_subresource(row.resource);
        built_in.iter().any(|resource| {
            (&*resource.group, &*resource.plural) == (row.group, plural)
                && subresource.is_none_or(|name| resource.subresource(name).is_some())
        })
    };
    for row in POWERFUL.iter().chain(NEVER) {
        assert!(is_one(row) != others.contains(&row.resource), "{row:?}");
    }
}

#[test]
fn each_row_of_what_is_never_given_is_refused_with_its_reason() {
    for row in NEVER {
        for (group, resource) in [
            (row.group, row.resource.to_owned()),
            ("*", row.resource.to_owned()),
        ] {
            let mut never = grant(group, &resource, &["get"], Namespaces::All);
            never.acknowledge = never.acknowledgements();
            let want = format!("[0]: {resource}: a plugin is never given that: {}", row.why);
            assert_eq!(told(never), want);
        }
    }
    // Subresources do not lead around it.
    let mut never = grant(
        "windlass.dev",
        "plugins/status",
        &["patch"],
        Namespaces::All,
    );
    never.acknowledge = never.acknowledgements();
    assert!(told(never).contains("a plugin is never given that"));
    for (verb, why) in NEVER_VERBS {
        let mut never = grant("", "configmaps", &[verb], Namespaces::All);
        never.acknowledge = never.acknowledgements();
        let want = format!("[0]: the verb {verb}: a plugin is never given that: {why}");
        assert_eq!(told(never), want);
    }
}

#[test]
fn all_reasons_of_a_grant_are_told() {
    let mut many = grant("apps", "deployments", &["create"], Namespaces::All);
    many.resources.push("statefulsets".into());
    many.api_groups.push(String::new());
    many.resources
        .extend(["secrets".into(), "configmaps".into()]);
    assert_eq!(
        told(many),
        "[0]: secrets is powerful: it holds passwords, keys and tokens; deployments, statefulsets: a pod runs any \
         image and can mount any Secret of its namespace: if you want that, write `acknowledge: [secrets/create, \
         deployments.apps/create, statefulsets.apps/create, in all namespaces]` in this grant"
    );
    let wild = grant("*", "deployments", &["get", "patch"], Namespaces::All);
    let told = told(wild);
    assert!(
        told.contains("a wildcard in apiGroups") && told.contains("deployments: a pod runs"),
        "{told}"
    );
    let all = grant("", "configmaps", &["deletecollection"], Namespaces::All);
    let all = self::told(all);
    assert!(
        all.starts_with("[0]: deletecollection is powerful"),
        "{all}"
    );
    let update = grant("x.dev", "things/status", &["update"], Namespaces::All);
    assert_eq!(self::told(update), "");
}

fn resource(group: &str, plural: &str) -> Resource {
    Resource {
        group: group.into(),
        version: "v1".into(),
        kind: "K".into(),
        plural: plural.into(),
        namespaced: true,
    }
}

fn access<'a>(resource: &'a Resource, verb: &'a str, namespace: &'a str) -> Access<'a> {
    Access {
        verb,
        resource,
        subresource: None,
        namespace: Some(namespace),
        name: Some("a"),
    }
}

#[test]
fn config_maps_of_kube_system_are_written_only_by_a_grant_that_names_it() {
    let maps = resource("", "configmaps");
    let held = |namespaces: Namespaces| {
        let grant = grant("", "configmaps", &["get", "patch"], namespaces);
        Grants::new(vec![grant.acknowledged()]).unwrap()
    };
    let may = |grants: &Grants, verb: &str, namespace: &str| {
        grants.allow(&access(&maps, verb, namespace), Some("kube-system"))
    };
    for namespaces in [Namespaces::All, Namespaces::SameAsPrimary] {
        let grants = held(namespaces);
        assert!(may(&grants, "get", "kube-system"));
        assert!(!may(&grants, "patch", "kube-system"));
    }
    assert!(may(&held(Namespaces::All), "patch", "other"));
    assert!(may(&held(only("kube-system")), "patch", "kube-system"));
    // An acknowledged wildcard does not name it either.
    let wild = grant("*", "*", &["*"], Namespaces::All).acknowledged();
    let wild = Grants::new(vec![wild]).unwrap();
    assert!(may(&wild, "patch", "other") && !may(&wild, "patch", "kube-system"));
}

#[test]
fn no_wildcard_covers_secrets() {
    let secrets = resource("", "secrets");
    for (group, entry) in [("", "*"), ("*", "*")] {
        let mut wild = grant(group, entry, &["*"], Namespaces::All).acknowledged();
        let grants = Grants::new(vec![wild.clone()]).unwrap();
        for verb in VERBS {
            assert!(!grants.allow(&access(&secrets, verb, "a"), None), "{verb}");
            assert!(grants.allow(&access(&resource("", "services"), verb, "a"), None));
            assert!(!grants.cover_need(verb, "", "secrets", &[]));
        }
        assert!(grants.watch_scope("", "secrets", None).is_empty());
        // Beside a wildcard it can be named.
        wild.api_groups = vec![String::new()];
        wild.resources.push("secrets".into());
        let grants = Grants::new(vec![wild.acknowledged()]).unwrap();
        assert!(grants.allow(&access(&secrets, "get", "a"), None));
    }
    // A kind of another group that has the name is not a Secret.
    let other = grant("x.dev", "*", &["*"], Namespaces::All).acknowledged();
    let grants = Grants::new(vec![other]).unwrap();
    assert!(grants.allow(&access(&resource("x.dev", "secrets"), "get", "a"), None));
    let through = grant("*", "secrets", &["get"], Namespaces::All).acknowledged();
    assert!(told(through).contains("through a wildcard in apiGroups"));
}

#[test]
fn the_hosts_own_roles_and_policies_are_nobodys_to_write() {
    let policies = [
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
    ];
    for (group, plurals) in [
        (RBAC, ["clusterroles", "rolebindings"]),
        (ADMISSION, policies),
    ] {
        let mut all = grant(group, plurals[0], &["*"], Namespaces::All);
        all.resources.push(plurals[1].into());
        let grants = Grants::new(vec![all.acknowledged()]).unwrap();
        for (name, own) in [
            ("windlass", true),
            ("windlass-leases", true),
            ("windlass-system:windlass:greeter", true),
            ("team:view", false),
            ("windlasses", false),
            ("web", false),
        ] {
            for plural in plurals {
                let objects = resource(group, plural);
                let may = |verb| {
                    let access = Access {
                        name: Some(name),
                        ..access(&objects, verb, "a")
                    };
                    grants.allow(&access, None)
                };
                assert!(may("get"), "{name}");
                for verb in ["create", "update", "patch", "delete"] {
                    assert_eq!(may(verb), !own, "{verb} {plural} {name}");
                }
                let all = Access {
                    name: None,
                    ..access(&objects, "deletecollection", "a")
                };
                assert!(!grants.allow(&all, None), "its own are among them");
            }
        }
    }
}

#[test]
fn leases_are_given_in_namespaces_that_a_grant_names() {
    let of = |group: &str, resource: &str, namespaces| {
        let leases = grant(group, resource, &["get", "update"], namespaces);
        Grants::new(vec![leases.acknowledged()])
    };
    let group = "coordination.k8s.io";
    for namespaces in [Namespaces::All, Namespaces::SameAsPrimary] {
        for resource in ["leases", "leases/status"] {
            let told = of(group, resource, namespaces.clone()).unwrap_err();
            let told = told.to_string();
            assert!(
                told.contains("a grant for Leases lists its namespaces"),
                "{told}"
            );
        }
    }
    let told = of("*", "leases", only("a")).unwrap_err().to_string();
    assert!(told.contains("leases through a wildcard"), "{told}");
    let leases = resource(group, "leases");
    let given = of(group, "leases", only("a")).unwrap();
    let wild = of(group, "*", only("a")).unwrap();
    for (grants, namespace, may) in [
        (&given, "a", true),
        (&given, "b", false),
        (&wild, "a", false),
    ] {
        assert_eq!(
            grants.allow(&access(&leases, "update", namespace), Some("b")),
            may
        );
    }
    let told = given.leases_of_host("a").unwrap();
    assert!(told.starts_with("spec.grants[0]: leases in a, "), "{told}");
    assert_eq!(
        (given.leases_of_host("b"), wild.leases_of_host("a")),
        (None, None)
    );
}
