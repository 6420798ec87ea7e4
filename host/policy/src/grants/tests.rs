//! Tables: which access which grant allows, and how powerful a grant is.

use super::*;

fn resource(group: &str, plural: &str, namespaced: bool) -> Resource {
    let text = |text: &str| text.to_owned();
    Resource {
        group: text(group),
        version: text("v1"),
        kind: text("K"),
        plural: text(plural),
        namespaced,
    }
}

fn grant(groups: &[&str], resources: &[&str], verbs: &[&str], namespaces: Namespaces) -> Grant {
    let list = |list: &[&str]| list.iter().map(|entry| (*entry).to_owned()).collect();
    Grant {
        api_groups: list(groups),
        resources: list(resources),
        resource_names: Vec::new(),
        verbs: list(verbs),
        namespaces,
        acknowledge: Vec::new(),
        adopt: false,
        finalizers: Vec::new(),
        owners: Owners::Primary,
    }
    .acknowledged()
}

fn only(names: &[&str]) -> Namespaces {
    Namespaces::Only(names.iter().map(|name| (*name).to_owned()).collect())
}

#[test]
fn access_is_allowed_only_where_a_grant_names_it() {
    let mut named = grant(&["apps"], &["deployments"], &["patch"], Namespaces::All);
    named.resource_names = vec!["web".into()];
    let named = named.acknowledged();
    let grants = Grants::new(vec![
        grant(
            &[""],
            &["configmaps"],
            &["get", "create"],
            Namespaces::SameAsPrimary,
        ),
        grant(
            &[""],
            &["configmaps", "configmaps/status"],
            &["delete"],
            only(&["shared"]),
        ),
        grant(&["x.dev"], &["*"], &["*"], Namespaces::All),
        named,
    ])
    .unwrap();
    let core = |plural| resource("", plural, true);
    let x = resource("x.dev", "things", false);
    let apps = resource("apps", "deployments", true);
    let cases = [
        (
            "get",
            &core("configmaps"),
            None,
            Some("home"),
            Some("a"),
            true,
        ),
        (
            "get",
            &core("configmaps"),
            None,
            Some("other"),
            Some("a"),
            false,
        ),
        ("get", &core("configmaps"), None, None, None, false),
        (
            "patch",
            &core("configmaps"),
            None,
            Some("home"),
            Some("a"),
            false,
        ),
        (
            "get",
            &core("secrets"),
            None,
            Some("home"),
            Some("a"),
            false,
        ),
        (
            "delete",
            &core("configmaps"),
            None,
            Some("shared"),
            Some("a"),
            true,
        ),
        (
            "delete",
            &core("configmaps"),
            Some("status"),
            Some("shared"),
            Some("a"),
            true,
        ),
        (
            "delete",
            &core("configmaps"),
            Some("scale"),
            Some("shared"),
            Some("a"),
            false,
        ),
        (
            "delete",
            &core("configmaps"),
            None,
            Some("home"),
            Some("a"),
            false,
        ),
        ("patch", &x, None, None, Some("a"), true),
        ("patch", &apps, None, Some("home"), Some("web"), true),
        ("patch", &apps, None, Some("home"), Some("db"), false),
        ("patch", &apps, None, Some("home"), None, false),
    ];
    for (verb, resource, subresource, namespace, name, want) in cases {
        let access = Access {
            verb,
            resource,
            subresource,
            namespace,
            name,
        };
        assert_eq!(grants.allow(&access, Some("home")), want, "{access}");
    }
}

#[test]
fn a_cluster_scoped_object_takes_a_grant_for_all_namespaces() {
    let things = resource("x.dev", "things", false);
    let access = Access {
        verb: "get",
        resource: &things,
        subresource: None,
        namespace: None,
        name: Some("a"),
    };
    for (namespaces, want) in [
        (Namespaces::All, true),
        (Namespaces::SameAsPrimary, false),
        (only(&["a"]), false),
    ] {
        let grants =
            Grants::new(vec![grant(&["x.dev"], &["things"], &["get"], namespaces)]).unwrap();
        assert_eq!(grants.allow(&access, None), want);
        assert_eq!(grants.allow(&access, Some("a")), want);
    }
}

#[test]
fn a_wildcard_does_not_reach_what_is_never_given() {
    let everything = grant(&["*"], &["*"], &["*"], Namespaces::All);
    let grants = Grants::new(vec![everything]).unwrap();
    let plugins = resource("windlass.dev", "plugins", true);
    let nodes = resource("", "nodes", false);
    let may = |resource, subresource| {
        let access = Access {
            verb: "get",
            resource,
            subresource,
            namespace: Some("a"),
            name: Some("a"),
        };
        grants.allow(&access, Some("a"))
    };
    assert!(!may(&plugins, None) && !may(&plugins, Some("status")) && !may(&nodes, Some("proxy")));
    assert!(may(&nodes, None));
    assert!(!grants.cover_need("watch", "windlass.dev", "plugins", &[]));
    assert!(
        grants
            .watch_scope("coordination.k8s.io", "leases", None)
            .is_empty()
    );
}

#[test]
fn a_refusal_says_what_was_wanted() {
    let secrets = resource("", "secrets", true);
    let access = Access {
        verb: "create",
        resource: &secrets,
        subresource: None,
        namespace: Some("x"),
        name: None,
    };
    assert_eq!(access.to_string(), "create secrets in namespace x");
}

#[test]
fn adoption_takes_a_grant_that_says_so_and_that_is_acknowledged() {
    let plain = grant(
        &[""],
        &["configmaps"],
        &["create", "patch"],
        Namespaces::All,
    );
    let adopting = Grant {
        adopt: true,
        finalizers: Vec::new(),
        owners: Owners::Primary,
        namespaces: only(&["n"]),
        ..plain.clone()
    };
    let unsaid = Grant {
        acknowledge: Vec::new(),
        ..adopting.clone()
    };
    let error = Grants::new(vec![plain.clone(), unsaid])
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("adopt is powerful: it takes over objects that somebody else made: ")
            && error.ends_with("`acknowledge: [configmaps/adopt, in namespace n]` in this grant"),
        "{error}"
    );
    let grants = Grants::new(vec![plain, adopting.acknowledged()]).unwrap();
    let (maps, secrets) = (
        resource("", "configmaps", true),
        resource("", "secrets", true),
    );
    let adopts = |verb, resource, namespace| {
        let access = Access {
            verb,
            resource,
            subresource: None,
            namespace: Some(namespace),
            name: Some("a"),
        };
        grants.allow_adoption(&access, Some("home"))
    };
    assert!(adopts("patch", &maps, "n"));
    assert!(
        !adopts("patch", &maps, "other"),
        "the other grant adopts not"
    );
    assert!(!adopts("delete", &maps, "n") && !adopts("patch", &secrets, "n"));
    let document = r#"{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"] }"#;
    let read: Grant = serde_json::from_str(document).unwrap();
    assert!(!read.adopt);
}

#[test]
fn a_wildcard_names_every_finalizer_but_the_hosts() {
    let maps = resource("", "configmaps", true);
    let access = Access {
        verb: "patch",
        resource: &maps,
        subresource: None,
        namespace: Some("home"),
        name: Some("a"),
    };
    // (the finalizers of the grant, the one that is asked for, whether it may be)
    let rows = [
        ("*", "example.com/hold", true),
        ("*", "kubernetes.io/pvc-protection", true),
        ("*", "foregroundDeletion", true),
        ("*", "windlass.dev/other", false),
        ("*", "", false),
        ("example.com/hold", "example.com/hold", true),
        ("example.com/hold", "example.com/other", false),
    ];
    for (held, asked, may) in rows {
        let grant = Grant {
            finalizers: vec![held.into()],
            ..grant(&[""], &["configmaps"], &["patch"], Namespaces::All)
        };
        let grants = Grants::new(vec![grant.acknowledged()]).unwrap();
        let allowed = grants.allow_finalizer(&access, Some("home"), asked);
        assert_eq!(allowed, may, "{held} {asked}");
    }
}

#[test]
fn every_grant_that_is_wrong_is_told_at_once() {
    let powerful = |resource: &str| Grant {
        acknowledge: Vec::new(),
        ..grant(&[""], &[resource], &["get", "create"], Namespaces::All)
    };
    let plain = grant(&[""], &["configmaps"], &["get"], Namespaces::All);
    let odd = grant(&[""], &["configmaps"], &["see"], Namespaces::All);
    let all = vec![powerful("secrets"), plain, powerful("pods"), odd];
    let error = Grants::new(all).unwrap_err().to_string();
    let lines: Vec<&str> = error.lines().collect();
    let want = [
        "[0]: secrets is powerful: it holds passwords",
        "[2]: pods is powerful: a pod runs any image",
        "[3].verbs[0]: \"see\" is not one of",
    ];
    assert_eq!(lines.len(), want.len(), "{error}");
    for (line, want) in lines.iter().zip(want) {
        assert!(line.starts_with(want), "{error}");
    }
}

#[test]
fn the_scope_of_a_watch_is_the_union_of_its_grants() {
    let watch = |namespaces| grant(&[""], &["configmaps"], &["watch"], namespaces);
    let scope = |grants: Vec<Grant>, primary: Option<Scope>| {
        Grants::new(grants)
            .unwrap()
            .watch_scope("", "configmaps", primary.as_ref())
    };
    let names =
        |names: &[&str]| Scope::Namespaces(names.iter().map(|name| (*name).to_owned()).collect());
    assert_eq!(
        scope(vec![watch(only(&["b", "a"])), watch(only(&["a"]))], None),
        names(&["a", "b"])
    );
    assert_eq!(
        scope(vec![watch(only(&["b"])), watch(Namespaces::All)], None),
        Scope::All
    );
    assert_eq!(
        scope(vec![watch(Namespaces::SameAsPrimary)], Some(Scope::All)),
        Scope::All
    );
    assert!(scope(vec![watch(Namespaces::SameAsPrimary)], None).is_empty());
    // A grant for one object does not say where all of a primary kind are reconciled.
    let mut named = watch(Namespaces::All);
    named.resource_names = vec!["a".into()];
    let both = || vec![watch(only(&["a"])), named.clone()];
    assert_eq!(scope(both(), None), names(&["a"]));
    assert_eq!(scope(both(), Some(names(&["b"]))), Scope::All);
}

#[test]
fn a_need_is_covered_by_one_grant_that_names_all_of_it() {
    let mut named = grant(&[""], &["secrets"], &["get"], Namespaces::All);
    named.resource_names = vec!["a".into(), "b".into()];
    let named = named.acknowledged();
    let grants = Grants::new(vec![
        grant(
            &["apps"],
            &["deployments", "deployments/scale"],
            &["get"],
            Namespaces::All,
        ),
        named,
    ])
    .unwrap();
    let names =
        |names: &[&str]| -> Vec<String> { names.iter().map(|name| (*name).to_owned()).collect() };
    assert!(grants.cover_need("get", "apps", "deployments", &[]));
    assert!(grants.cover_need("get", "apps", "deployments/scale", &[]));
    assert!(!grants.cover_need("patch", "apps", "deployments", &[]));
    assert!(!grants.cover_need("get", "", "secrets", &[]));
    assert!(grants.cover_need("get", "", "secrets", &names(&["a"])));
    assert!(!grants.cover_need("get", "", "secrets", &names(&["c"])));
}

#[test]
fn a_grant_that_can_match_nothing_is_refused() {
    let core: &[&str] = &[""];
    let cases = [
        (
            grant(&[], &["pods"], &["get"], Namespaces::All),
            "[0].apiGroups: is an empty list: that grants nothing",
        ),
        (
            grant(core, &["pods"], &["get"], only(&[])),
            "[0].namespaces: is an empty list: that grants nothing",
        ),
        (
            grant(&["apps/v1"], &["deployments"], &["get"], Namespaces::All),
            "[0].apiGroups[0]: \"apps/v1\" has a version: write the group alone, such as apps",
        ),
        (
            grant(&["apps"], &["Deployment"], &["get"], Namespaces::All),
            "[0].resources[0]: \"Deployment\" is not a resource: write the plural in lower case, such as deployments",
        ),
    ];
    for (grant, want) in cases {
        assert_eq!(Grants::new(vec![grant]).unwrap_err().to_string(), want);
    }
}
